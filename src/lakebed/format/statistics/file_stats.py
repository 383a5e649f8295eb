"""Column statistics of data files and manifests: collected, truncated, encoded as SimpleStats, and decoded.

Statistics come from Arrow tables or Parquet footers; options of the table decide how much is kept. A bound never
excludes an existing row. A floating-point column with NaN has no bounds, because Spark sorts NaN above everything and
Parquet footers ignore it. Zero is -0.0 as a minimum and 0.0 as a maximum. The maximum of a truncated string is rounded
up. Unknown values are null.

Bounds are Python values as Arrow returns them. TIMESTAMP(7..9), and dates and times that Python cannot represent, are
numbers in units of the Arrow type since the epoch.
"""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import DataError
from lakebed.format.binary_row import EMPTY_ROW, decode_rows, encode_few_rows, row_arities
from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    Atomic,
    DataType,
    Field,
    nullable,
    to_arrow,
)
from lakebed.options import StatsMode, TableOptions

# ------------------------------------------------------------------------------------------------------- modes

_THIN_KEY_MODE: Final = StatsMode("truncate", 128)


def column_modes(
    field_names: Sequence[str],
    options: TableOptions,
    *,
    level: int | None = None,
    thin_keys: Collection[str] = (),
) -> list[StatsMode]:
    """Returns the statistics mode of each column of a file at ``level`` (None: the table has no levels).

    The mode of the column itself comes first. ``thin_keys`` are key columns that files do not repeat
    (``data-file.thin-mode``). They keep long bounds, because they stand in for the key. After the first
    ``metadata.stats-keep-first-n-columns`` columns nothing is kept.
    """
    default = options.stats_mode
    if level is not None:
        default = options.stats_mode_per_level.get(level, default)
    keep = options.stats_keep_first_columns
    modes: list[StatsMode] = []
    counted = 0
    for name in field_names:
        own = options.column(name).stats_mode
        if own is not None:
            modes.append(own)
        elif name in thin_keys:
            modes.append(_THIN_KEY_MODE)
            continue
        else:
            modes.append(StatsMode("none") if 0 <= keep <= counted else default)
        counted += 1
    return modes


# ----------------------------------------------------------------------------------------------------- collect


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Bounds and null count of one column. Bounds are ``None`` if they are unknown or all values are null."""

    min: Any = None
    max: Any = None
    null_count: int | None = None


def collect_from_arrow(table: pa.Table) -> list[ColumnStats]:
    """Returns exact statistics of each column; of nested columns only the null count."""
    return [_collect(column) for column in table.columns]


def _collect(column: pa.ChunkedArray) -> ColumnStats:
    kind = column.type
    unbounded = ColumnStats(null_count=column.null_count)
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return unbounded
    if pa.types.is_dictionary(kind):
        return _collect(column.cast(kind.value_type))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _collect(column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()))
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(column)).as_py():
        return unbounded
    bounds = pc.min_max(column)
    return _zero_safe(replace(unbounded, min=_python(bounds["min"]), max=_python(bounds["max"])))


def _python(scalar: pa.Scalar) -> Any:
    if not scalar.is_valid:
        return None
    if pa.types.is_timestamp(scalar.type) and scalar.type.unit == "ns":
        return scalar.value
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return scalar.value


def _zero_safe(stats: ColumnStats) -> ColumnStats:
    """Returns bounds that cover both zeros: -0.0 equals 0.0 in SQL, but sorts before it in Java."""
    low, high = stats.min, stats.max
    if isinstance(low, float) and low == 0:
        low = -0.0
    if isinstance(high, float) and high == 0:
        high = 0.0
    return replace(stats, min=low, max=high)


# ---------------------------------------------------------------------------------------------- Parquet footers

_INT32_ROOTS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "DATE", "TIME"})
_PARQUET_UNITS: Final = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def collect_from_parquet(metadata: pq.FileMetaData, fields: Sequence[Field]) -> list[ColumnStats | None]:
    """Returns the statistics of each field from the footer of a file, without reading its data.

    A field is ``None`` if the footer is not enough: no statistics or not in all row groups, values too long for a
    footer, INT96, nested fields, and FLOAT and DOUBLE, whose footers ignore NaN.
    """
    schema = metadata.schema
    leaves = {schema.column(i).name: i for i in range(len(schema)) if schema.column(i).path == schema.column(i).name}
    return [_footer_stats(metadata, leaves.get(field.name), field.type) for field in fields]


def _footer_stats(metadata: pq.FileMetaData, leaf: int | None, data_type: DataType) -> ColumnStats | None:
    if leaf is None or not isinstance(data_type, Atomic) or not _is_readable(metadata.schema.column(leaf), data_type):
        return None
    lows: list[Any] = []
    highs: list[Any] = []
    null_count = 0
    for number in range(metadata.num_row_groups):
        chunk = metadata.row_group(number).column(leaf)
        if not chunk.num_values:
            continue
        found = chunk.statistics if chunk.is_stats_set else None
        if found is None or not found.has_null_count:
            return None
        null_count += found.null_count
        if found.has_min_max:
            lows.append(_sortable(found.min_raw, data_type))
            highs.append(_sortable(found.max_raw, data_type))
        elif found.null_count < chunk.num_values:
            return None
    if not lows:
        return ColumnStats(null_count=null_count)
    try:
        return ColumnStats(_from_raw(min(lows), data_type), _from_raw(max(highs), data_type), null_count)
    except UnicodeDecodeError:  # a writer that truncated the bounds inside a character
        return None


def _is_readable(leaf: pq.ColumnSchema, data_type: Atomic) -> bool:
    """Returns whether the physical column stores this type as :func:`_from_raw` expects it."""
    root, physical = data_type.root, leaf.physical_type
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        return bool(physical == "BYTE_ARRAY")
    if root in _INT32_ROOTS:
        return bool(physical == "INT32")
    logical = json.loads(leaf.logical_type.to_json())
    if root in TIMESTAMP_ROOTS:
        unit = _PARQUET_UNITS.get(logical.get("timeUnit"))
        return bool(physical == "INT64" and unit == to_arrow(data_type).unit)
    if root == "DECIMAL":
        return (logical.get("precision"), logical.get("scale")) == data_type.params
    return (root, physical) in {("BOOLEAN", "BOOLEAN"), ("BIGINT", "INT64")}


def _sortable(raw: Any, data_type: Atomic) -> Any:
    if data_type.root == "DECIMAL" and isinstance(raw, bytes):
        return int.from_bytes(raw, "big", signed=True)
    return raw.encode() if isinstance(raw, str) else raw


def _from_raw(raw: Any, data_type: Atomic) -> Any:
    if data_type.root in STRING_ROOTS:
        return raw.decode()
    if data_type.root == "DECIMAL":
        digits = tuple(int(digit) for digit in str(abs(raw)))
        return decimal.Decimal((int(raw < 0), digits, -data_type.params[1]))
    if data_type.root in {"DATE", "TIME"} or data_type.root in TIMESTAMP_ROOTS:
        return _python(pa.scalar(raw, to_arrow(data_type)))
    return raw


# ---------------------------------------------------------------------------------------------------- truncate


def truncate_min(value: Any, length: int) -> Any:
    """Returns a lower bound of at most ``length`` characters or bytes; other values are unchanged.

    >>> truncate_min("lakebed", 4)
    'lake'
    """
    return value[:length] if isinstance(value, str | bytes) else value


def truncate_max(value: Any, length: int) -> Any:
    r"""Returns an upper bound of at most ``length`` characters or bytes, or ``None``; other values are unchanged.

    >>> truncate_max("lakebed", 4), truncate_max("lake", 4), truncate_max(b"\xff\xff", 1)
    ('lakf', 'lake', None)
    """
    if not isinstance(value, str | bytes) or len(value) <= length:
        return value
    for end in range(length, 0, -1):
        if isinstance(value, bytes):
            if value[end - 1] < 0xFF:
                return value[: end - 1] + bytes([value[end - 1] + 1])
        elif ord(value[end - 1]) < 0x10FFFF:
            following = ord(value[end - 1]) + 1
            # surrogates are not characters: the character after U+D7FF is U+E000
            return value[: end - 1] + chr(0xE000 if following == 0xD800 else following)
    return None


# ------------------------------------------------------------------------------------------------------- build


@dataclass(frozen=True, slots=True)
class SimpleStats:
    """Statistics as manifests hold them: two encoded rows and one null count per column."""

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...]


EMPTY_STATS: Final = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())


def build_value_stats(
    stats: Sequence[ColumnStats | None], fields: Sequence[Field], modes: Sequence[StatsMode], *, dense: bool
) -> tuple[SimpleStats, tuple[str, ...] | None]:
    """Returns the value statistics of a file and its ``_VALUE_STATS_COLS``.

    Statistics of a column are ``None`` if nothing is known. Nested columns have none, as in Java. With ``dense`` the
    rows have only the columns with statistics, and the names list them (``None``: all columns). Otherwise the rows have
    a field for every column, and the names are ``None``.
    """
    if not len(stats) == len(fields) == len(modes):
        raise DataError(
            f"{len(stats)} statistics and {len(modes)} modes for {len(fields)} columns; give one of each per column"
        )
    shaped = [
        _shaped(known, mode) if isinstance(field.type, Atomic) else None
        for known, field, mode in zip(stats, fields, modes, strict=True)
    ]
    if not dense:
        return _simple([known or ColumnStats() for known in shaped], [field.type for field in fields]), None
    kept = [(known, field) for known, field in zip(shaped, fields, strict=True) if known is not None]
    names = tuple(field.name for _, field in kept)
    simple = _simple([known for known, _ in kept], [field.type for _, field in kept])
    return simple, (None if len(kept) == len(fields) else names)


def build_full_stats(stats: Sequence[ColumnStats], types: Sequence[DataType]) -> SimpleStats:
    """Returns statistics of every column, not truncated: those of keys and of partitions."""
    return _simple(stats, types)


def _shaped(stats: ColumnStats | None, mode: StatsMode) -> ColumnStats | None:
    if stats is None or mode.kind == "none" or stats == ColumnStats():
        return None
    if mode.kind == "counts":
        return ColumnStats(null_count=stats.null_count)
    if mode.kind == "truncate":
        high = truncate_max(stats.max, mode.length)
        low = None if high is None else truncate_min(stats.min, mode.length)
        return replace(stats, min=low, max=high)
    return stats


def _simple(stats: Sequence[ColumnStats], types: Sequence[DataType]) -> SimpleStats:
    for known in stats:
        for bound in (known.min, known.max):
            if isinstance(bound, float) and math.isnan(bound):
                raise DataError("NaN cannot be a bound; a column with NaN has no minimum and maximum")
    wide = [nullable(data_type) for data_type in types]
    low, high = encode_few_rows([[known.min for known in stats], [known.max for known in stats]], wide)
    return SimpleStats(low, high, tuple(known.null_count for known in stats))


# ------------------------------------------------------------------------------------------------------ decode


@dataclass(frozen=True, slots=True)
class StatsColumns:
    """Statistics of many files, one array per column and one element per file; null where nothing is known."""

    mins: list[pa.Array]
    maxs: list[pa.Array]
    null_counts: list[pa.Array]


def decode_stats(
    min_rows: pa.Array | pa.ChunkedArray,
    max_rows: pa.Array | pa.ChunkedArray,
    null_counts: pa.Array | pa.ChunkedArray,
    types: Sequence[DataType],
    *,
    where: str = "the statistics",
    only: Sequence[int] | None = None,
) -> StatsColumns:
    """Returns the statistics of many files; nulls for files with empty statistics or with another number of columns.

    ``only`` lists the numbers of the columns that are decoded; by default all are.
    """
    low, high, counts = (
        rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
        for rows in (min_rows, max_rows, null_counts)
    )
    arity = len(types)
    fits = (row_arities(low, where=where) == arity) & (row_arities(high, where=where) == arity)
    back: pa.Array | None = None
    if not fits.all():
        back = pa.array(np.cumsum(fits) - 1, pa.int64(), mask=~fits)
        low, high = low.filter(pa.array(fits)), high.filter(pa.array(fits))
    mins, maxs = (
        [
            column if back is None else column.take(back)
            for column in decode_rows(rows, types, where=where, overflow_as_null=True, only=only)
        ]
        for rows in (low, high)
    )
    return StatsColumns(mins, maxs, _count_columns(counts, fits, arity, range(arity) if only is None else only))


def _count_columns(counts: pa.Array, fits: npt.NDArray[np.bool_], arity: int, numbers: Sequence[int]) -> list[pa.Array]:
    """Element i of every list as an array; null where the list has another length than the rows have fields."""
    usable = fits & (np.asarray(pc.list_value_length(counts).fill_null(-1)) == arity)
    offsets = np.asarray(counts.offsets)[:-1].astype(np.int64)
    values = counts.values.cast(pa.int64())
    return [values.take(pa.array(np.where(usable, offsets + i, 0), pa.int64(), mask=~usable)) for i in numbers]
