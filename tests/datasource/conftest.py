"""The Spark session of tests/spark, for tests of the data source."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.conftest import ignore_warnings_of_spark, spark

__all__ = ["spark"]  # one process may run several of these folders, and has one JVM

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ignore_warnings_of_spark(items, HERE)
