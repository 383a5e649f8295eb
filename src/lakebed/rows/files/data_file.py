"""Writes data files: Arrow in, files near the target size and their entries out.

Both kinds of tables use it. Append tables store their columns as they are. Primary-key tables store the key columns,
the sequence number and the row kind in front of them. Readers do not see the files before their entries are
committed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.binary_row import EMPTY_ROW, encode_row
from lakebed.format.manifest.manifest import ADD, SOURCE_APPEND
from lakebed.format.partition_names import partition_folder
from lakebed.format.row_kind import KIND_COLUMN, is_retraction
from lakebed.format.schema.table_schema import KEY_PREFIX, SEQUENCE_COLUMN, TableSchema
from lakebed.format.statistics.file_stats import (
    EMPTY_STATS,
    ColumnStats,
    SimpleStats,
    build_full_stats,
    build_value_stats,
    collect_from_arrow,
    column_modes,
)
from lakebed.format.types.data_types import Atomic, Field, not_null
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.avro_rows import AvroOutput
from lakebed.rows.files.codecs import library_codec
from lakebed.rows.files.orc import OrcOutput
from lakebed.rows.files.parquet_output import ParquetOutput
from lakebed.storage import explained

_KEY_ID: Final = (2**31 - 1) // 2
_SEQUENCE_FIELD: Final = Field(2**31 - 2, SEQUENCE_COLUMN, Atomic("BIGINT", nullable=False))
_KIND_FIELD: Final = Field(2**31 - 3, KIND_COLUMN, Atomic("TINYINT", nullable=False))
_CODEC_IN_NAMES: Final = {"zstd": ".zst", "gzip": ".gz", "bzip2": ".bz2", "none": ""}
_MAX_GROUP_ROWS: Final = 1024 * 1024
_ROW_GROUP_BYTES: Final = 128 * 1024 * 1024
_STRIPE: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class FileLayout:
    """How files of a table are written: everything that its schema and options decide."""

    store: TableStore
    schema: TableSchema
    options: TableOptions
    unique: str = field(default_factory=lambda: str(uuid.uuid4()))
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def format_at(self, place: FilePlace) -> tuple[str, str]:
        """The format and codec of a new file."""
        is_changelog = place.prefix == self.options.changelog_file_prefix != self.options.data_file_prefix
        level = place.level if self.keys else None
        return (
            self.options.file_format(level, is_changelog=is_changelog),
            self.options.file_compression(level, is_changelog=is_changelog),
        )

    def new_name(self, place: FilePlace) -> str:
        form, codec = self.format_at(place)
        if not self.options.suffix_includes_compression:
            codec = "none"
        suffix = _CODEC_IN_NAMES.get(codec, f".{codec}")  # as Paimon names files
        return f"{place.prefix}{self.unique}-{next(self.numbers)}{suffix}.{form}"

    def folder(self, partition: Sequence[object], bucket: int) -> str:
        path = partition_folder(self.schema, partition, self.options)
        return self.store.paths.bucket(path, bucket, directory=self.options.data_file_directory)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        """The trimmed primary key; empty for append tables."""
        return self.schema.select(self.schema.trimmed_primary_key)

    @property
    def is_thin(self) -> bool:
        """Whether files leave out the key columns, which the table's own columns repeat."""
        return self.options.data_file_thin_mode

    @cached_property
    def stored_fields(self) -> tuple[Field, ...]:
        """The columns of a file, in order."""
        if not self.keys:
            return self.schema.fields
        if self.is_thin:
            return (_SEQUENCE_FIELD, _KIND_FIELD, *self.schema.fields)
        keys = tuple(Field(_KEY_ID + key.id, KEY_PREFIX + key.name, not_null(key.type)) for key in self.keys)
        return (*keys, _SEQUENCE_FIELD, _KIND_FIELD, *self.schema.fields)

    @cached_property
    def floats(self) -> tuple[str, ...]:
        """The floating point columns, whose statistics Parquet gets wrong where there is a NaN."""
        return tuple(
            column.name
            for column in self.schema.fields
            if isinstance(column.type, Atomic) and column.type.root in {"FLOAT", "DOUBLE"}
        )

    @cached_property
    def target_size(self) -> int:
        return self.options.target_file_size(is_primary_key=bool(self.keys))


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The partition and bucket that files belong to, with their folder."""

    partition: tuple[object, ...]
    bucket: int
    level: int = 0
    source: int = SOURCE_APPEND
    prefix: str = "data-"


class RollingFiles:
    """Writes the files of one place in turn, each near the target size. Rows of keyed tables come in key order."""

    def __init__(self, layout: FileLayout, place: FilePlace, paths: list[str]) -> None:
        self._layout = layout
        self._place = place
        self._paths = paths
        self._folder = layout.folder(place.partition, place.bucket)
        self._current: _OpenFile | None = None
        self._done: list[dict[str, Any]] = []

    def write(self, rows: pa.Table) -> None:
        """Write rows with the table's columns, for keyed tables also sequence number and kind."""
        step = _row_group_rows(rows, self._layout.target_size, self._layout.options.row_group_bytes)
        with_nan = frozenset(name for name in self._layout.floats if pc.any(pc.is_nan(rows[name])).as_py())
        if self._current is not None and not with_nan <= self._current.without_stats:
            self._finish()
        for start in range(0, len(rows), step):
            if self._current is None:
                self._current = self._start(rows, with_nan)
            if self._current.write(rows.slice(start, step)) >= self._layout.target_size:
                self._finish()

    def close(self) -> list[dict[str, Any]]:
        """Close the current file; return an entry for each file written."""
        self._finish()
        return self._done

    def discard(self) -> None:
        """Stop writing the current file; its owner deletes it."""
        if self._current is not None:
            with contextlib.suppress(Exception):
                self._current.close()
            self._current = None

    def _start(self, rows: pa.Table, with_nan: frozenset[str]) -> _OpenFile:
        path = f"{self._folder}/{self._layout.new_name(self._place)}"
        self._layout.store.storage.make_folder(self._folder)
        self._paths.append(path)
        return _OpenFile(self._layout, self._place, path, with_nan, rows)

    def _finish(self) -> None:
        if self._current is not None:
            file, self._current = self._current, None
            file.close()
            self._done.append(_entry(self._layout, self._place, file))


class _OpenFile:
    """A file being written, and the facts about its rows that a Parquet footer will not contain.

    Footers leave NaN out of their bounds. Readers that sort NaN above everything would skip row groups that they have
    to read. Therefore columns with NaN (``without_stats``) get no bounds at all. Of files of other formats, the
    statistics of all columns are computed.
    """

    def __init__(
        self, layout: FileLayout, place: FilePlace, path: str, without_stats: frozenset[str], first: pa.Table
    ) -> None:
        self.path = path
        self.size = 0
        self.rows = 0
        self.without_stats = without_stats
        self.stats: dict[str, ColumnStats] = {}
        self.keys = _KeyRange(layout) if layout.keys else None
        self._layout = layout
        with explained("write", path):
            self._sink = layout.store.storage.arrow_filesystem().open_output_stream(path)
            try:
                self._output = self._open(place, first)
            except BaseException:
                self._sink.close()
                raise
        is_parquet = isinstance(self._output, ParquetOutput)
        self._counted = layout.floats if is_parquet else layout.schema.field_names

    def _open(self, place: FilePlace, first: pa.Table) -> ParquetOutput | OrcOutput | AvroOutput:
        layout, fields, options = self._layout, self._layout.stored_fields, self._layout.options
        form, named = layout.format_at(place)
        codec = library_codec(form, named)
        match form:
            case "orc":
                return OrcOutput(self._sink, fields, codec, min(layout.target_size, options.row_group_bytes or _STRIPE))
            case "avro":
                return AvroOutput(self._sink, fields, codec, options.zstd_level)
            case _:
                return ParquetOutput(self._sink, fields, codec, options.zstd_level, self.without_stats, first)

    def write(self, rows: pa.Table) -> int:
        """Write rows, in Parquet one row group; return the bytes written so far."""
        columns = [rows[column.name.removeprefix(KEY_PREFIX)] for column in self._layout.stored_fields]
        with explained("write", self.path), self._given_up_on_failure():
            written = self._output.write(columns)
            for name, part in zip(self._counted, collect_from_arrow(rows.select(self._counted)), strict=True):
                self.stats[name] = _joined(self.stats.get(name, ColumnStats(null_count=0)), part)
            if self.keys is not None:
                self.keys.add(rows)
            self.rows += len(rows)
            return written

    def close(self) -> None:
        with explained("write", self.path), contextlib.closing(self._sink):
            with self._given_up_on_failure():
                self._output.close()
            self.size = int(self._sink.tell())
        for name in self.without_stats:
            self.stats[name] = ColumnStats(null_count=self.stats[name].null_count)

    def column_stats(self) -> list[ColumnStats | None]:
        """Return the statistics of the table's columns, once the file is closed."""
        fields = self._layout.schema.fields
        footer = self._output.stats(fields) if isinstance(self._output, ParquetOutput) else [None] * len(fields)
        return [self.stats.get(column.name, known) for column, known in zip(fields, footer, strict=True)]

    @contextlib.contextmanager
    def _given_up_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._output.give_up()
            raise


class _KeyRange:
    """What an entry of a keyed file says beyond its columns: key range, sequence range, number of retractions."""

    def __init__(self, layout: FileLayout) -> None:
        self._keys = layout.keys
        self._first: tuple[object, ...] = ()
        self._last: tuple[object, ...] = ()
        self._stats: list[ColumnStats] = []
        self.min_sequence = 2**63 - 1
        self.max_sequence = -1
        self.retractions = 0

    def add(self, rows: pa.Table) -> None:
        names = [key.name for key in self._keys]
        first, last = (tuple(rows[name][at].as_py() for name in names) for at in (0, len(rows) - 1))
        stats = collect_from_arrow(rows.select(names))
        self._stats = [_joined(a, b) for a, b in zip(self._stats, stats, strict=True)] if self._stats else stats
        self._first, self._last = self._first or first, last
        bounds = pc.min_max(rows[SEQUENCE_COLUMN])
        self.min_sequence = min(self.min_sequence, bounds["min"].as_py())
        self.max_sequence = max(self.max_sequence, bounds["max"].as_py())
        kinds = rows[KIND_COLUMN].to_numpy()
        self.retractions += int(is_retraction(kinds).sum())

    @property
    def bounds(self) -> tuple[bytes, bytes]:
        types = [key.type for key in self._keys]
        return encode_row(self._first, types), encode_row(self._last, types)

    @property
    def stats(self) -> SimpleStats:
        return build_full_stats(self._stats, [key.type for key in self._keys])


def _entry(layout: FileLayout, place: FilePlace, file: _OpenFile) -> dict[str, Any]:
    schema = layout.schema
    collected = file.column_stats()
    thin_keys = [key.name for key in layout.keys] if layout.is_thin else []
    modes = column_modes(schema.field_names, layout.options, level=place.level, thin_keys=thin_keys)
    values, cols = build_value_stats(collected, schema.fields, modes, dense=layout.options.stats_dense_store)
    keys = file.keys
    low, high = (EMPTY_ROW, EMPTY_ROW) if keys is None else keys.bounds
    key_stats = EMPTY_STATS if keys is None else keys.stats
    return {
        "kind": ADD,
        "partition": encode_row(place.partition, [column.type for column in schema.partition_fields]),
        "bucket": place.bucket,
        "total_buckets": layout.options.bucket,
        "file_name": file.path.rsplit("/", 1)[-1],
        "file_size": file.size,
        "row_count": file.rows,
        "min_key": low,
        "max_key": high,
        "key_min": key_stats.min_values,
        "key_max": key_stats.max_values,
        "key_null_counts": list(key_stats.null_counts),
        "value_min": values.min_values,
        "value_max": values.max_values,
        "value_null_counts": list(values.null_counts),
        "min_sequence_number": 0 if keys is None else keys.min_sequence,
        "max_sequence_number": file.rows - 1 if keys is None else keys.max_sequence,
        "schema_id": schema.id,
        "level": place.level,
        "extra_files": [],
        "creation_time": dt.datetime.now().replace(tzinfo=None),  # noqa: DTZ005 - the format wants wall clock time
        "delete_row_count": 0 if keys is None else keys.retractions,
        "embedded_index": None,
        "file_source": place.source,
        "value_stats_cols": None if cols is None else list(cols),
        "external_path": None,
        "first_row_id": None,
        "write_cols": None,
        "write_cols_sequences": None,
    }


def _joined(one: ColumnStats, other: ColumnStats) -> ColumnStats:
    """Merge the statistics of two parts of a column; a part without bounds contains only nulls."""
    lows = [part.min for part in (one, other) if part.min is not None]
    highs = [part.max for part in (one, other) if part.max is not None]
    nulls = (one.null_count or 0) + (other.null_count or 0)
    return ColumnStats(min(lows, default=None), max(highs, default=None), nulls)


def _row_group_rows(rows: pa.Table, target_bytes: int, row_group_bytes: int | None) -> int:
    """Return the rows per row group: enough to compress well, few enough to stop near the target size."""
    per_row = max(1, rows.nbytes // max(1, len(rows)))
    wanted = min(row_group_bytes or _ROW_GROUP_BYTES, target_bytes) // per_row
    return int(max(1, min(_MAX_GROUP_ROWS, wanted)))
