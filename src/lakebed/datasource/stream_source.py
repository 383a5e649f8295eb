"""A table as the source of a stream, ``readStream.format("lakebed")``: Spark reads the files between two positions.

Spark plans a query in one process: the first position, the end of the next batch, and its files. So the list of files
of a large first snapshot is kept there. Tasks get the files and all that is needed to read them. Positions are small
JSON objects.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from lakebed.spark.columns import spark_arrow_schema, spark_batches
from lakebed.spark.read.native_files import Split, check_readable, pack, split_size
from lakebed.spark.worker_errors import plain_errors
from lakebed.streams.binlog import BinlogReader
from lakebed.streams.positions import NO_LIMITS, Limits, Position
from lakebed.streams.stream_files import StreamReader
from lakebed.streams.table_stream import TableStream

_MOST_FILES: Final = 2**31 - 1
_NOTE_SECONDS: Final = 60
"""How often a stream without new rows records its position; otherwise its consumer might expire."""


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads a table as a stream.

    ``open_stream`` is called with the first position that Spark asks for: Spark loses errors that are raised earlier.
    """

    def __init__(self, open_stream: Callable[[], tuple[TableStream, Limits]]) -> None:
        self._open_stream = open_stream
        self._until: int | None = None
        self._noted = time.monotonic()

    @cached_property
    def _opened(self) -> tuple[TableStream, Limits]:
        return self._open_stream()

    @property
    def _stream(self) -> TableStream:
        return self._opened[0]

    @property
    def _limits(self) -> Limits:
        return self._opened[1]

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Returns the first position of a query without a checkpoint."""
        with plain_errors():
            return self._stream.start().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Returns whether batches are limited. Spark knows only one limit; :meth:`latestOffset` applies all of them."""
        with plain_errors():
            return ReadMaxFiles(self._limits.files or _MOST_FILES) if self._limits.any else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Ends the stream at the latest snapshot."""
        with plain_errors():
            self._until = self._stream.latest_id()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Returns the end of the next batch."""
        with plain_errors():
            limits = NO_LIMITS if isinstance(limit, ReadAllAvailable) else self._limits
            position = Position.from_json(start)
            if time.monotonic() - self._noted > _NOTE_SECONDS:
                self._note(position)
            return self._stream.advance(position, limits, self._until).to_json()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Returns the end of the table, for metrics of how far a query lags behind."""
        with plain_errors():
            return Position(self._stream.latest_id() + 1).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Returns the files between two positions, packed into tasks, in order: later rows replace earlier ones."""
        with plain_errors():
            batches = self._stream.read(Position.from_json(start), Position.from_json(end))
            sizes = pa.chunked_array(
                [batch.part.entries["file_size"].combine_chunks() for batch in batches], pa.int64()
            )
            size = split_size(int(sum(sizes.to_numpy())), len(sizes), os.cpu_count() or 1)
            found = []
            for batch in batches:
                check_readable(batch.reader.plain, batch.part.entries)
                splits = pack(batch.part.entries, batch.part.groups, batch.part.deleted, size)
                found += [InputPartition((batch.reader, split)) for split in splits]
            return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in a task: yields the rows of some files."""
        reader: StreamReader | BinlogReader
        split: Split
        reader, split = partition.value
        with plain_errors():
            reader.plain.store.check_seen()
            schema = spark_arrow_schema(reader.arrow_schema)
            for batch in reader.batches(split.table(), split.deleted):
                yield from spark_batches(batch, schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Records the end of a completed batch in the stream's consumer, so that older snapshots may expire."""
        with plain_errors():
            self._note(Position.from_json(end))

    def _note(self, position: Position) -> None:
        self._stream.note(position)
        self._noted = time.monotonic()
