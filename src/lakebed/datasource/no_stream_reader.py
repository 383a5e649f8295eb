"""The stream reader for versions of PySpark that cannot read Lakebed's streams: it raises an error that says so.

The error is raised when Spark asks for the first position. Spark would replace an error that is raised earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from lakebed.errors import UnsupportedError
from lakebed.spark.worker_errors import plain_errors


class NoStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """Raises UnsupportedError in all methods."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Raises UnsupportedError."""
        _refuse()

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Raises UnsupportedError."""
        _refuse()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002 - Spark's names
        """Raises UnsupportedError."""
        _refuse()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - Spark's name
        """Raises UnsupportedError."""
        _refuse()


def _refuse() -> NoReturn:
    with plain_errors():
        raise UnsupportedError("streams of Lakebed tables need PySpark 4.2 or newer; batch reads do not")
