"""Where the kernels of an operation run: on Spark if there is a session or a Spark DataFrame, else in this process.

Spark is optional, so the Spark engine is imported only when it is chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed.engine import IN_PROCESS, Engine
from lakebed.spark.session import check_running, is_spark_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def engine_on(spark: SparkSession | None) -> Engine:
    """Returns the engine for work on files: tasks of the session, or this process without one."""
    if spark is None:
        return IN_PROCESS
    check_running(spark)
    from lakebed.spark.spark_engine import OnSpark  # noqa: PLC0415 - Spark is optional

    return OnSpark(spark)


def engine_for(data: Any) -> Engine:
    """Returns the engine that writes data: Spark for the rows of a Spark DataFrame, this process for all others."""
    return engine_on(data.sparkSession) if is_spark_frame(data) else IN_PROCESS
