"""Append tables: Arrow in, Parquet files and their entries out.

Rows are split by partition and bucket; each group becomes files of about ``target-file-size`` with Paimon's physical types
and field ids. Groups are written in parallel. Nothing here is visible to readers: a commit of the entries does that, and
``abort`` removes what was written when there will be none.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.format.binary_row import EMPTY_ROW, encode_row
from lakebed.format.manifest import ADD, NO_ENTRIES, SOURCE_APPEND, entries_from_rows
from lakebed.format.paths import partition_path
from lakebed.format.schema import TableSchema, parquet_schema
from lakebed.format.stats import (
    EMPTY_STATS,
    ColumnStats,
    build_value_stats,
    collect_from_arrow,
    collect_from_parquet,
    column_modes,
)
from lakebed.format.types import Atomic
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.conform import conform
from lakebed.rows.partitions import group_rows
from lakebed.storage import explained

UNAWARE_BUCKET: Final = 0
_STREAM_BYTES: Final = 256 * 1024 * 1024
_SPLIT_BYTES: Final = 64 * 1024 * 1024
_MAX_OPEN_FILES: Final = 256
_MAX_GROUP_ROWS: Final = 1024 * 1024
_ROW_GROUP_BYTES: Final = 128 * 1024 * 1024


@dataclass(frozen=True)
class FileLayout:
    """How files of a table are written: everything that its schema and options decide."""

    store: TableStore
    schema: TableSchema
    options: TableOptions
    unique: str = field(default_factory=lambda: str(uuid.uuid4()))

    def file_name(self, number: int) -> str:
        codec = f".{self.options.file_compression}" if self.options.suffix_includes_compression else ""
        return f"{self.options.data_file_prefix}{self.unique}-{number}{codec}.parquet"

    def folder(self, values: Sequence[object], bucket: int) -> str:
        fields = self.schema.partition_fields
        path = partition_path(
            [column.name for column in fields],
            [column.type for column in fields],
            values,
            default_name=self.options.partition_default_name,
            legacy_names=self.options.partition_legacy_name,
        )
        return self.store.paths.bucket(path, bucket, directory=self.options.data_file_directory or "")

    @property
    def parquet_options(self) -> dict[str, Any]:
        return {
            "compression": self.options.parquet_codec,
            "compression_level": self.options.zstd_level if self.options.parquet_codec == "zstd" else None,
            "store_schema": False,
            "store_decimal_as_integer": True,
            "version": "2.6",
        }


class AppendWriter:
    """Writes rows of one table as new files. Use it once: write, then ``finish`` or ``abort``."""

    def __init__(self, layout: FileLayout, *, threads: int | None = None) -> None:
        self._layout = layout
        self._schema = layout.schema
        self._threads = threads or os.cpu_count() or 1
        self._open: dict[tuple[object, ...], _RollingFile] = {}
        self._done: list[dict[str, Any]] = []
        self._paths: list[str] = []
        self._numbers = iter(range(2**62))

    def write(self, data: pa.Table | pa.RecordBatchReader) -> None:
        """Take rows, check that they fit the table, and write them."""
        where = f"table {self._layout.store.name}"
        for table in _portions(data):
            self._write_conformed(conform(table, self._schema.fields, where=where))

    def _write_conformed(self, table: pa.Table) -> None:
        jobs = list(self._jobs(table))
        if len(jobs) == 1:
            jobs[0].run()
        elif jobs:
            with ThreadPoolExecutor(self._threads) as pool:
                for future in [pool.submit(job.run) for job in jobs]:
                    future.result()
        if len(self._open) > _MAX_OPEN_FILES:
            self._close_all()

    def _jobs(self, table: pa.Table) -> Iterator[_Job]:
        """One job per file that rows of this table go to; each job owns its file."""
        schema = self._schema
        keys = [table[name] for name in schema.partition_keys]
        total = self._layout.options.bucket
        if total > 0:
            names = schema.bucket_keys
            function = self._layout.options.bucket_function
            buckets = bucket_of_rows(
                [table[name] for name in names], [schema.field(name).type for name in names], total, function
            )
            keys.append(pa.chunked_array([pa.array(buckets)]))
        groups = group_rows(table, keys)
        pieces = max(1, self._threads // max(1, len(groups))) if total <= 0 else 1
        for group in groups:
            bucket = int(group.values[-1]) if total > 0 else UNAWARE_BUCKET  # type: ignore[call-overload]
            partition = group.values[: len(schema.partition_keys)]
            rows = group.rows if pieces > 1 else None
            parts = 1 if rows is None else max(1, min(pieces, rows.nbytes // _SPLIT_BYTES))
            for part in range(parts):
                file = self._file(partition, bucket, part)
                if rows is None:
                    yield _Job(file, group)
                else:
                    start, end = len(rows) * part // parts, len(rows) * (part + 1) // parts
                    yield _Job(file, _Ready(rows.slice(start, end - start)))

    def _file(self, partition: tuple[object, ...], bucket: int, part: int) -> _RollingFile:
        key = (*map(_hashable, partition), bucket, part)
        if key not in self._open:
            self._open[key] = _RollingFile(self._layout, partition, bucket, self._numbers, self._paths)
        return self._open[key]

    def finish(self) -> pa.Table:
        """Close the files; gives ADD entries for them, to be committed. Sequence numbers count from 0 in each file."""
        self._close_all()
        return entries_from_rows(self._done) if self._done else NO_ENTRIES

    def abort(self) -> None:
        """Remove everything that was written."""
        for file in self._open.values():
            file.discard()
        self._open.clear()
        for path in self._paths:
            with contextlib.suppress(Exception):
                self._layout.store.storage.delete(path)

    def _close_all(self) -> None:
        for file in self._open.values():
            self._done.extend(file.close())
        self._open.clear()


@dataclass(frozen=True, slots=True)
class _Ready:
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class _Job:
    file: _RollingFile
    group: Any

    def run(self) -> None:
        self.file.write(self.group.rows)


class _RollingFile:
    """The files of one partition and bucket, one after the other, each near the target size."""

    def __init__(
        self,
        layout: FileLayout,
        partition: tuple[object, ...],
        bucket: int,
        numbers: Iterator[int],
        paths: list[str],
    ) -> None:
        self._layout = layout
        self._bucket = bucket
        self._numbers = numbers
        self._paths = paths
        self._partition = encode_row(partition, [column.type for column in layout.schema.partition_fields])
        self._folder = layout.folder(partition, bucket)
        self._arrow = parquet_schema(layout.schema.fields)
        self._floats = [
            column.name
            for column in layout.schema.fields
            if isinstance(column.type, Atomic) and column.type.root in {"FLOAT", "DOUBLE"}
        ]
        self._current: _OpenFile | None = None
        self._done: list[dict[str, Any]] = []

    def write(self, rows: pa.Table) -> None:
        target = self._layout.options.target_file_size(is_primary_key=False)
        step = _row_group_rows(rows, target, self._layout.options.row_group_bytes)
        for start in range(0, len(rows), step):
            if self._current is None:
                self._current = self._start()
            piece = rows.slice(start, step)
            if self._current.write(piece, self._floats) >= target:
                self._finish()

    def close(self) -> list[dict[str, Any]]:
        self._finish()
        return self._done

    def discard(self) -> None:
        if self._current is not None:
            with contextlib.suppress(Exception):
                self._current.close()
            self._current = None

    def _start(self) -> _OpenFile:
        name = self._layout.file_name(next(self._numbers))
        path = f"{self._folder}/{name}"
        storage = self._layout.store.storage
        storage.make_folder(self._folder)
        self._paths.append(path)
        with explained("write", path):
            sink = storage.arrow_filesystem().open_output_stream(path)
            return _OpenFile(name, path, sink, self._arrow, self._layout.parquet_options)

    def _finish(self) -> None:
        if self._current is None:
            return
        file, self._current = self._current, None
        self._done.append(self._entry(file, file.close()))

    def _entry(self, file: _OpenFile, metadata: pq.FileMetaData) -> dict[str, Any]:
        schema = self._layout.schema
        collected = collect_from_parquet(metadata, schema.fields)
        for i, column in enumerate(schema.fields):
            if column.name in file.floats:
                collected[i] = file.floats[column.name]
        options = schema.options
        modes = column_modes(schema.field_names, options, level=0)
        dense = TableOptions(options).stats_dense_store
        value_stats, cols = build_value_stats(collected, schema.fields, modes, dense=dense)
        total = self._layout.options.bucket
        return {
            "kind": ADD,
            "partition": self._partition,
            "bucket": self._bucket,
            "total_buckets": total,
            "file_name": file.name,
            "file_size": file.size,
            "row_count": metadata.num_rows,
            "min_key": EMPTY_ROW,
            "max_key": EMPTY_ROW,
            "key_min": EMPTY_STATS.min_values,
            "key_max": EMPTY_STATS.max_values,
            "key_null_counts": list(EMPTY_STATS.null_counts),
            "value_min": value_stats.min_values,
            "value_max": value_stats.max_values,
            "value_null_counts": list(value_stats.null_counts),
            "min_sequence_number": 0,
            "max_sequence_number": metadata.num_rows - 1,
            "schema_id": schema.id,
            "level": 0,
            "extra_files": [],
            "creation_time": dt.datetime.now().replace(tzinfo=None),  # noqa: DTZ005 - the format wants wall clock time
            "delete_row_count": 0,
            "embedded_index": None,
            "file_source": SOURCE_APPEND,
            "value_stats_cols": None if cols is None else list(cols),
            "external_path": None,
            "first_row_id": None,
            "write_cols": None,
            "write_cols_sequences": None,
        }


class _OpenFile:
    """A Parquet file being written, with what its footer will not tell about floating point columns."""

    def __init__(self, name: str, path: str, sink: Any, schema: pa.Schema, options: dict[str, Any]) -> None:
        self.name = name
        self.path = path
        self.size = 0
        self.floats: dict[str, ColumnStats] = {}
        self._with_nan: set[str] = set()
        self._sink = sink
        self._footers: list[pq.FileMetaData] = []
        self._schema = schema
        self._writer = pq.ParquetWriter(sink, schema, metadata_collector=self._footers, **options)

    def write(self, rows: pa.Table, float_columns: Sequence[str]) -> int:
        """One row group; gives the bytes written so far."""
        with explained("write", self.path):
            self._writer.write_table(pa.Table.from_arrays(rows.columns, schema=self._schema), row_group_size=len(rows))
            for name, stats in zip(float_columns, collect_from_arrow(rows.select(float_columns)), strict=True):
                self.floats[name] = _merge(self.floats.get(name, ColumnStats(null_count=0)), stats)
                if stats.min is None and stats.null_count != len(rows):
                    self._with_nan.add(name)
            return int(self._sink.tell())

    def close(self) -> pq.FileMetaData:
        with explained("write", self.path):
            self._writer.close()
            self.size = int(self._sink.tell())
            self._sink.close()
        for name in self._with_nan:
            self.floats[name] = ColumnStats(null_count=self.floats[name].null_count)
        return self._footers[0]


def _merge(one: ColumnStats, other: ColumnStats) -> ColumnStats:
    """The statistics of two parts of a column; a part without bounds is all null."""
    lows = [part.min for part in (one, other) if part.min is not None]
    highs = [part.max for part in (one, other) if part.max is not None]
    nulls = (one.null_count or 0) + (other.null_count or 0)
    return ColumnStats(min(lows, default=None), max(highs, default=None), nulls)


def _row_group_rows(rows: pa.Table, target_bytes: int, row_group_bytes: int | None) -> int:
    """Rows per row group: large enough to compress well, small enough to stop near the target size."""
    per_row = max(1, rows.nbytes // max(1, len(rows)))
    wanted = min(row_group_bytes or _ROW_GROUP_BYTES, target_bytes) // per_row
    return int(max(1, min(_MAX_GROUP_ROWS, wanted)))


def _portions(data: pa.Table | pa.RecordBatchReader) -> Iterator[pa.Table]:
    """A table as it is; a stream in tables of bounded size."""
    if isinstance(data, pa.Table):
        yield data
        return
    batches: list[pa.RecordBatch] = []
    held = 0
    for batch in data:
        batches.append(batch)
        held += batch.nbytes
        if held >= _STREAM_BYTES:
            yield pa.Table.from_batches(batches, data.schema)
            batches, held = [], 0
    yield pa.Table.from_batches(batches, data.schema)


def _hashable(value: object) -> object:
    """NaN is a partition like any other, but not equal to itself."""
    return "NaN" if isinstance(value, float) and value != value else value  # noqa: PLR0124


def continue_sequences(new: pa.Table, live: pa.Table) -> pa.Table:
    """Sequence numbers that go on where each bucket's live files end, as fixed-bucket tables have them."""
    highest = live.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
    next_of = {(row["partition"], row["bucket"]): row["max_sequence_number_max"] + 1 for row in highest.to_pylist()}
    firsts = []
    for row in new.select(["partition", "bucket", "row_count"]).to_pylist():
        key = (row["partition"], row["bucket"])
        firsts.append(next_of.get(key, 0))
        next_of[key] = firsts[-1] + row["row_count"]
    first = pa.array(firsts, pa.int64())
    last = pc.subtract(pc.add(first, new["row_count"]), 1)
    position = new.schema.get_field_index("min_sequence_number")
    with_first = new.set_column(position, new.schema.field(position), first)
    return with_first.set_column(position + 1, new.schema.field(position + 1), last)
