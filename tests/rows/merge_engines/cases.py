"""Histories as data: from plain values to sorted rows, through the kernels, and back to plain values."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from tests.rows.merge_engines.reference import identity, is_unordered

from lakebed.format.row_kind import KIND_COLUMN
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema, create_schema
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, field_to_arrow, parse_type
from lakebed.rows.merge_engines.merge_rows import MergeSpec, SortedRows, merge_rows

Record = tuple[int, dict[str, Any]]


def table_schema(
    fields: Sequence[tuple[str, Any]], options: dict[str, str], primary_key: Sequence[str] = ("k",)
) -> TableSchema:
    columns = [Field(0, name, parse_type(kind)) for name, kind in fields]
    return create_schema(columns, primary_key=list(primary_key), options=options, time_millis=0)


def arrow_value(value: Any, kind: DataType) -> Any:
    """A plain value as pyarrow takes it."""
    if value is None:
        return None
    match kind:
        case Atomic("DECIMAL"):
            return Decimal(value)
        case Atomic("FLOAT" | "DOUBLE"):
            return float(value)
        case Array(element):
            return [arrow_value(item, element) for item in value]
        case Map(key, item):
            return [(arrow_value(k, key), arrow_value(v, item)) for k, v in value]
        case Row(fields):
            return {f.name: arrow_value(v, f.type) for f, v in zip(fields, value, strict=True)}
    return value


def plain_value(value: Any, kind: DataType) -> Any:
    """The other way round."""
    if value is None:
        return None
    match kind:
        case Array(element):
            return [plain_value(item, element) for item in value]
        case Map(key, item):
            return [[plain_value(k, key), plain_value(v, item)] for k, v in value]
        case Row(fields):
            return [plain_value(value[f.name], f.type) for f in fields]
        case Atomic("FLOAT"):
            return np.float32(value)
    return value


def sorted_rows(schema: TableSchema, histories: Sequence[Sequence[Record]], first_sequence: int = 0) -> SortedRows:
    """All keys in one table; sequence numbers count within each key."""
    records = [record for history in histories for record in history]
    columns = {}
    for column in schema.fields:
        values = [arrow_value(row[column.name], column.type) for _, row in records]
        columns[column.name] = pa.array(values, field_to_arrow(column).type)
    columns[SEQUENCE_COLUMN] = pa.array(
        [first_sequence + i for history in histories for i in range(len(history))], pa.int64()
    )
    columns[KIND_COLUMN] = pa.array([kind for kind, _ in records], pa.int8())
    lengths = np.array([len(history) for history in histories], np.int64)
    return SortedRows(pa.table(columns), np.cumsum(lengths) - lengths)


def merged_records(schema: TableSchema, rows: SortedRows) -> list[tuple[int, int, dict[str, Any]]]:
    """(kind, sequence number, row) of each merged key, by the kernels."""
    return records_of(schema, merge_rows(MergeSpec.of(schema), rows, schema.field_names))


def records_of(schema: TableSchema, table: pa.Table) -> list[tuple[int, int, dict[str, Any]]]:
    table.validate(full=True)
    out = []
    for row in table.to_pylist():
        values = {c.name: plain_value(row[c.name], c.type) for c in schema.fields}
        out.append((row[KIND_COLUMN], row[SEQUENCE_COLUMN], values))
    return out


def comparable(schema: TableSchema, row: dict[str, Any]) -> dict[str, Any]:
    """A merged row in a form where equal means equal: numbers by their digits, sets without order."""
    return {name: _comparable(value, is_unordered(schema, name)) for name, value in row.items()}


def _comparable(value: Any, unordered: bool) -> Any:
    if isinstance(value, list):
        items = [_comparable(item, unordered=False) for item in value]
        return sorted(items, key=repr) if unordered else items
    if isinstance(value, float | np.floating):
        return f"{type(value).__name__} {identity(float(value))!r}"
    return value
