"""The result of ``ANALYZE`` as JSON: rows and bytes of a table, and the distribution of the values of some columns.

The file is in ``statistics/``, and a snapshot refers to it. Its layout is that of Paimon; unknown keys are ignored. The
bounds of a column are texts in the form that Paimon parses: a date as days, a time of day as milliseconds, a timestamp
as wall-clock time in UTC. Texts and bytes have no bounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import CorruptError
from lakebed.format.java_text import timestamp_texts, value_text
from lakebed.format.snapshot import load_json_object
from lakebed.format.types.data_types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, Atomic, DataType

FILE_PREFIX: Final = "stat-"
_ROOTS_BY_WIDTH: Final = {
    1: ("BOOLEAN", "TINYINT"),
    2: ("SMALLINT",),
    4: ("INT", "FLOAT", "DATE"),
    8: ("BIGINT", "DOUBLE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"),
}
_WIDTHS: Final = {root: width for width, roots in _ROOTS_BY_WIDTH.items() for root in roots}
_COUNTED_ROOTS: Final = frozenset({"DATE", "TIME"})
_COMPACT_DIGITS: Final = 18
_UNKNOWN_TEXT_WIDTH: Final = 20
_UNKNOWN_BYTES_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """The distribution of the values of a column. Lengths count characters of texts, and bytes of other types."""

    column_id: int
    distinct_count: int | None = None
    least: str | None = None
    greatest: str | None = None
    null_count: int | None = None
    average_length: int | None = None
    greatest_length: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """The statistics of a snapshot.

    ``record_count`` counts rows after merging, ``byte_count`` their share of the files.
    """

    snapshot_id: int
    schema_id: int
    record_count: int | None = None
    byte_count: int | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


# Paimon's keys and our attributes, in the order in which Paimon writes them.
_TABLE_KEYS: Final = (
    ("snapshotId", "snapshot_id"),
    ("schemaId", "schema_id"),
    ("mergedRecordCount", "record_count"),
    ("mergedRecordSize", "byte_count"),
)
_COLUMN_KEYS: Final = (
    ("colId", "column_id"),
    ("distinctCount", "distinct_count"),
    ("min", "least"),
    ("max", "greatest"),
    ("nullCount", "null_count"),
    ("avgLen", "average_length"),
    ("maxLen", "greatest_length"),
)
_TEXTS: Final = frozenset({"min", "max"})


# ---------------------------------------------------------------------------------------------------------- as text


def statistics_to_json(statistics: TableStatistics) -> str:
    """Returns the text of a statistics file."""
    raw: dict[str, Any] = _present(statistics, _TABLE_KEYS)
    return _pretty({**raw, "colStats": _columns_to_dict(statistics.columns)})


def columns_to_json(columns: Mapping[str, ColumnStatistics]) -> str:
    """Returns the columns alone, as the system table shows them.

    >>> print(columns_to_json({"id": ColumnStatistics(column_id=0, distinct_count=3)}))
    {
      "id" : {
        "colId" : 0,
        "distinctCount" : 3
      }
    }
    """
    return _pretty(_columns_to_dict(columns)) if columns else "{ }"


def statistics_from_json(text: str | bytes, *, where: str) -> TableStatistics:
    """Returns the statistics in a file's text; ``where`` names the file in errors."""
    raw = load_json_object(text, where=where, advice="analyze the table again")
    columns = raw.get("colStats") or {}
    if not isinstance(columns, dict) or not all(isinstance(column, dict) for column in columns.values()):
        raise CorruptError(f"{where}: colStats must be an object of objects; analyze the table again")
    found = {
        name: ColumnStatistics(**_values(column, _COLUMN_KEYS, ("colId",), f"{where}: column {name!r}"))
        for name, column in columns.items()
    }
    return TableStatistics(**_values(raw, _TABLE_KEYS, ("snapshotId", "schemaId"), where), columns=found)


def _values(raw: Mapping[str, Any], keys: Iterable[tuple[str, str]], needed: Iterable[str], where: str) -> Any:
    missing = [key for key in needed if raw.get(key) is None]
    if missing:
        raise CorruptError(f"{where} lacks {', '.join(missing)}; analyze the table again")
    values = {}
    for key, name in keys:
        value = raw.get(key)
        if value is None:
            continue
        if type(value) is not (str if key in _TEXTS else int):
            wanted = "a text" if key in _TEXTS else "a whole number"
            raise CorruptError(f"{where}: {key} must be {wanted}, not {value!r}; analyze the table again")
        values[name] = value
    return values


def _present(statistics: object, keys: Iterable[tuple[str, str]]) -> dict[str, Any]:
    raw = {key: getattr(statistics, name) for key, name in keys}
    return {key: value for key, value in raw.items() if value is not None}


def _columns_to_dict(columns: Mapping[str, ColumnStatistics]) -> dict[str, Any]:
    return {name: _present(column, _COLUMN_KEYS) for name, column in columns.items()}


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, separators=(",", " : "), ensure_ascii=False)


# ---------------------------------------------------------------------------------------------------------- columns


def is_analyzable(data_type: DataType) -> bool:
    """Returns whether a column of this type has statistics: every type that is not nested."""
    return isinstance(data_type, Atomic)


def has_bounds(data_type: DataType) -> bool:
    """Returns whether a column of this type has a minimum and a maximum."""
    return isinstance(data_type, Atomic) and data_type.root not in STRING_ROOTS | BINARY_ROOTS


def fixed_width(data_type: DataType) -> int | None:
    """Returns the length of every value of a type; ``None`` for texts and bytes, whose lengths are measured.

    >>> fixed_width(Atomic("DECIMAL", (18, 2))), fixed_width(Atomic("DECIMAL", (38, 2))), fixed_width(Atomic("STRING"))
    (8, 16, None)
    """
    if not isinstance(data_type, Atomic):
        return None
    if data_type.root == "DECIMAL":
        return 8 if data_type.params[0] <= _COMPACT_DIGITS else 16
    return _WIDTHS.get(data_type.root)


def unmeasured_width(data_type: DataType) -> int:
    """Returns the length for a column of texts or bytes in which every value is null, as Spark estimates it."""
    is_text = isinstance(data_type, Atomic) and data_type.root in STRING_ROOTS
    return _UNKNOWN_TEXT_WIDTH if is_text else _UNKNOWN_BYTES_WIDTH


def bound_text(value: pa.Scalar, data_type: DataType) -> str | None:
    """Returns a bound as Paimon writes it; ``None`` for null.

    >>> bound_text(pa.scalar(19482, pa.date32()), Atomic("DATE"))
    '19482'
    >>> bound_text(pa.scalar(0, pa.timestamp("us", "UTC")), Atomic("TIMESTAMP_LTZ", (6,)))
    '1970-01-01 00:00:00.000000'
    >>> bound_text(pa.scalar(1e10), Atomic("DOUBLE"))
    '1.0E10'
    """
    if not value.is_valid:
        return None
    if isinstance(data_type, Atomic) and data_type.root in TIMESTAMP_ROOTS:
        wall_clock = pa.array([value]).cast(pa.timestamp(value.type.unit))
        return str(timestamp_texts(wall_clock, data_type.params[0])[0].as_py())
    if (
        isinstance(data_type, Atomic) and data_type.root in _COUNTED_ROOTS
    ):  # also for years that Python does not support
        return str(value.cast(pa.int32()).as_py())
    return value_text(value.as_py(), data_type, internal=True)
