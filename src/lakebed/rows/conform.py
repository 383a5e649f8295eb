"""Rows from outside, made to fit a table or refused.

Columns are matched by name, in any order. A value is cast where nothing can be lost (wider numbers, dictionaries, large
strings, other time units and zones); anything else is a :class:`DataError` that names the column and the first offending
value. Nothing is written before the whole batch fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError, unknown_name
from lakebed.format.schema import default_scalar
from lakebed.format.types import (
    BINARY_ROOTS,
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    field_to_arrow,
    to_arrow,
)


def open_batches(data: Any) -> pa.Table | pa.RecordBatchReader:
    """What a user hands over as rows: Arrow tables, batches and streams, pandas and Polars frames, lists of dicts."""
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if type(data).__module__.split(".")[0] == "polars":
        frame = data.collect() if type(data).__name__ == "LazyFrame" else data
        return frame.to_arrow()
    if type(data).__module__.split(".")[0] == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if isinstance(data, Sequence) and data and all(isinstance(row, dict) for row in data):
        return pa.Table.from_pylist(list(data))
    raise DataError(
        f"cannot write {type(data).__name__}: give an Arrow table, batch or stream, a pandas or Polars frame, "
        "or a list of dictionaries"
    )


def conform(table: pa.Table, fields: Sequence[Field], *, where: str) -> pa.Table:
    """The same rows with exactly the table's columns, order and types, or an error and nothing else."""
    _check_names(table.column_names, fields, where)
    columns = []
    for field in fields:
        if field.name in table.column_names:
            column = _cast(table[field.name], field.type, f"column {field.name!r} of {where}")
        else:
            column = _default_column(field, len(table))
        _check_values(column, field.type, f"column {field.name!r} of {where}")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema([field_to_arrow(field) for field in fields]))


def _check_names(names: Sequence[str], fields: Sequence[Field], where: str) -> None:
    known = [field.name for field in fields]
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise DataError(f"the data for {where} has column {repeated[0]!r} more than once")
    for name in names:
        if name not in known:
            raise DataError(unknown_name("column", name, known, where=where) + ". Nothing was written")
    missing = [field.name for field in fields if field.name not in names and field.default is None]
    if missing:
        raise DataError(
            f"the data for {where} lacks column(s) {', '.join(map(repr, missing))}; add them "
            "(as nulls where the table allows it). Nothing was written"
        )


def _default_column(field: Field, rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(default_scalar(field), rows)])


def _cast(column: pa.ChunkedArray, data_type: DataType, where: str) -> pa.ChunkedArray:
    wanted = to_arrow(data_type)
    given = column.type
    if given == wanted:
        return column
    if pa.types.is_dictionary(given):
        return _cast(column.cast(given.value_type), data_type, where)
    if not _can_cast(given, data_type):
        raise DataError(
            f"{where} is {data_type}, but the data has {given}; cast it before writing. Nothing was written"
        )
    try:
        return column.cast(wanted)
    except (pa.ArrowException, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise DataError(f"{where}: a value does not fit {data_type} ({reason}). Nothing was written") from None


def _can_cast(given: pa.DataType, wanted: DataType) -> bool:
    """Whether values of an Arrow type mean the same in a column's type, where they fit."""
    kinds = pa.types
    if kinds.is_null(given):
        return True
    match wanted:
        case Array(element):
            lists = kinds.is_list(given) or kinds.is_large_list(given) or kinds.is_list_view(given)
            return bool(lists or kinds.is_fixed_size_list(given)) and _can_cast(given.value_type, element)
        case Map(key, value):
            return bool(kinds.is_map(given)) and _can_cast(given.key_type, key) and _can_cast(given.item_type, value)
        case Row(fields):
            if not kinds.is_struct(given):
                return False
            names = {given.field(i).name: given.field(i).type for i in range(given.num_fields)}
            return set(names) == {f.name for f in fields} and all(_can_cast(names[f.name], f.type) for f in fields)
        case Atomic(root):
            return _can_cast_atomic(given, root)


def _can_cast_atomic(given: pa.DataType, root: str) -> bool:
    kinds = pa.types
    if root in STRING_ROOTS:
        return bool(kinds.is_string(given) or kinds.is_large_string(given) or kinds.is_string_view(given))
    if root in BINARY_ROOTS:
        return bool(
            kinds.is_binary(given)
            or kinds.is_large_binary(given)
            or kinds.is_fixed_size_binary(given)
            or kinds.is_binary_view(given)
        )
    if root in {"TINYINT", "SMALLINT", "INT", "BIGINT"}:
        return bool(kinds.is_integer(given))
    if root in {"FLOAT", "DOUBLE"}:
        return bool(kinds.is_floating(given) or kinds.is_integer(given))
    if root == "DECIMAL":
        return bool(kinds.is_decimal(given) or kinds.is_integer(given))
    if root == "DATE":
        return bool(kinds.is_date(given))
    if root == "TIME":
        return bool(kinds.is_time(given))
    if root in TIMESTAMP_ROOTS:
        # A wall clock time is not a moment, nor the reverse: the user has to say which zone is meant.
        return bool(kinds.is_timestamp(given)) and (given.tz is None) == (root == "TIMESTAMP")
    return bool(root == "BOOLEAN" and kinds.is_boolean(given))


def _check_values(column: pa.ChunkedArray, data_type: DataType, where: str) -> None:
    """Nulls, lengths and nested parts of a column that already has the right Arrow type."""
    if not data_type.nullable and column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise DataError(f"{where} is NOT NULL, but row {row} of the data is null there. Nothing was written")
    match data_type:
        case Atomic(root, params) if root in {"CHAR", "VARCHAR"}:
            _check_length(pc.utf8_length(column), params[0], "characters", data_type, where)
        case Atomic(root, params) if root in {"BINARY", "VARBINARY"}:
            _check_length(pc.binary_length(column), params[0], "bytes", data_type, where)
        case Atomic():
            return
        case _:
            for name, part, part_type in _parts(column, data_type):
                _check_values(part, part_type, f"{name} in {where}")


def _parts(column: pa.ChunkedArray, data_type: DataType) -> Iterator[tuple[str, pa.ChunkedArray, DataType]]:
    """The columns inside a nested column, without what lies below nulls."""
    match data_type:
        case Array(element):
            yield "an element", pc.list_flatten(column), element
        case Map(key, value):
            chunks = [chunk.filter(chunk.is_valid()) for chunk in column.chunks]
            keys = [chunk.keys.slice(*_span(chunk)) for chunk in chunks]
            items = [chunk.items.slice(*_span(chunk)) for chunk in chunks]
            yield "a key", pa.chunked_array(keys, to_arrow(key)), key
            yield "a value", pa.chunked_array(items, to_arrow(value)), value
        case Row(fields):
            present = column.filter(column.is_valid())
            for field in fields:
                yield f"field {field.name!r}", pc.struct_field(present, field.name), field.type


def _span(maps: pa.MapArray) -> tuple[int, int]:
    if len(maps) == 0:
        return 0, 0
    offsets = maps.offsets
    return offsets[0].as_py(), offsets[-1].as_py() - offsets[0].as_py()


def _check_length(lengths: pa.ChunkedArray, limit: int, unit: str, data_type: DataType, where: str) -> None:
    longest = pc.max(lengths).as_py()
    if longest is not None and longest > limit:
        raise DataError(f"{where} is {data_type}, but a value has {longest} {unit}. Nothing was written")
