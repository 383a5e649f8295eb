"""What drivers are asked to do; importable, because it travels to them by name."""

from __future__ import annotations

from typing import Any


def application(spark: Any) -> str:
    return str(spark.sparkContext.applicationId)


def versions(spark: Any) -> set[str]:
    from lakebed.spark.session import worker_versions
    return worker_versions(spark)
