"""A table as a source of a stream: Spark asks where it stands, gets positions as small JSON, and reads what lies between two.

Spark keeps one process for the questions of a query (where to begin, how far the next batch goes, which files that is), so what
was listed of a large first snapshot is remembered there. Tasks get files with all that is needed to read them.
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
"""A stream without new rows still says so often that it is there, or its consumer might expire."""


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads a table as a stream.

    ``open_stream`` is called with Spark's first question, not before: what is raised while Spark makes its reader, it loses.
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
        """Where a query without a checkpoint begins."""
        with plain_errors():
            return self._stream.start().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Whether batches are limited. Spark knows one limit at a time; ours are all kept in :meth:`latestOffset`."""
        with plain_errors():
            return ReadMaxFiles(self._limits.files or _MOST_FILES) if self._limits.any else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """From now on, what is committed later does not count."""
        with plain_errors():
            self._until = self._stream.latest_id()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """How far the next batch goes."""
        with plain_errors():
            limits = NO_LIMITS if isinstance(limit, ReadAllAvailable) else self._limits
            position = Position.from_json(start)
            if time.monotonic() - self._noted > _NOTE_SECONDS:
                self._note(position)
            return self._stream.advance(position, limits, self._until).to_json()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the table is, for Spark's report on how far a query lags behind."""
        with plain_errors():
            return Position(self._stream.latest_id() + 1).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The files between two positions, packed into tasks; in order, as later rows replace earlier ones."""
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
        """Runs in a task: the rows of some files."""
        reader: StreamReader | BinlogReader
        split: Split
        reader, split = partition.value
        with plain_errors():
            schema = spark_arrow_schema(reader.arrow_schema)
            for batch in reader.batches(split.table(), split.deleted):
                yield from spark_batches(batch, schema)

    def commit(self, end: dict[str, Any]) -> None:
        """A batch is done, for good; the stream's consumer need no longer keep what it read."""
        with plain_errors():
            self._note(Position.from_json(end))

    def _note(self, position: Position) -> None:
        self._stream.note(position)
        self._noted = time.monotonic()
