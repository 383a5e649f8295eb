"""What a stream reads on a Spark that cannot read one of ours: nothing, and a sentence that says why.

It is told when Spark asks for the first position. Told when the reader is made, Spark would put an error of its own in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from lakebed.errors import UnsupportedError
from lakebed.spark.worker_errors import plain_errors


class NoStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """Refuses whatever it is asked."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Refused."""
        _refuse()

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Refused."""
        _refuse()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002 - Spark's names
        """Refused."""
        _refuse()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - Spark's name
        """Refused."""
        _refuse()


def _refuse() -> NoReturn:
    with plain_errors():
        raise UnsupportedError("streams of Lakebed tables need PySpark 4.2 or newer; batch reads do not")
