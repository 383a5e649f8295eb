"""Convert rows from outside to the columns of a table, or refuse them.

Columns are matched by name, in any order. A value is cast if the cast cannot lose information (wider numbers,
dictionaries, large strings, other time units and zones). Everything else raises :class:`DataError` with the column
and the first offending value. Nothing is written before the whole batch fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError, unknown_name
from lakebed.format.schema.table_schema import default_scalar
from lakebed.format.types.data_types import (
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

STREAM_BYTES: Final = 256 * 1024 * 1024
"""How many bytes of a stream are in memory at a time."""


def conform(table: pa.Table, fields: Sequence[Field], *, where: str) -> pa.Table:
    """Return the same rows with exactly the table's columns, order and types, or raise an error."""
    _check_names(table.column_names, fields, where)
    columns = []
    for field in fields:
        if field.name in table.column_names:
            column = cast_column(table[field.name], field.type, f"column {field.name!r} of {where}")
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


def cast_column(column: pa.ChunkedArray, data_type: DataType, where: str) -> pa.ChunkedArray:
    """Return the same values in the type of a column, or raise an error if one of them would change."""
    wanted = to_arrow(data_type)
    given = column.type
    if given == wanted:
        return column
    if pa.types.is_dictionary(given):
        return cast_column(column.cast(given.value_type), data_type, where)
    if pa.types.is_list_view(given) or pa.types.is_large_list_view(given):
        return cast_column(_without_views(column), data_type, where)
    if pa.types.is_float64(given) and wanted == pa.float32():
        return _narrowed(column, data_type, where)
    if not _can_cast(given, data_type):
        raise DataError(
            f"{where} is {data_type}, but the data has {given}; cast it before writing. Nothing was written"
        )
    try:
        if pa.types.is_integer(given) and pa.types.is_decimal(wanted):
            # Arrow refuses unless every number of the type fits; what counts is whether these numbers fit.
            column = column.cast(pa.decimal256(76, wanted.scale))
        cast = column.cast(_nullable_inside(wanted))
    except (pa.ArrowException, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise DataError(f"{where}: a value does not fit {data_type} ({reason}). Nothing was written") from None
    return pa.chunked_array([_labelled(chunk, wanted) for chunk in cast.chunks], wanted)


def _labelled(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return the same array with the wanted nullability inside; nulls are checked later."""
    if array.type == wanted:
        return array
    mask = array.is_null()
    if pa.types.is_struct(wanted):
        parts = [_labelled(array.field(i), field.type) for i, field in enumerate(wanted)]
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=mask)
    offsets = pa.concat_arrays([array.offsets])  # a mask needs a copy of the offsets
    if pa.types.is_map(wanted):
        items = _labelled(array.items, wanted.item_type)
        return pa.MapArray.from_arrays(offsets, array.keys, items, type=wanted, mask=mask)
    return pa.ListArray.from_arrays(offsets, _labelled(array.values, wanted.value_type), type=wanted, mask=mask)


def _nullable_inside(arrow: pa.DataType) -> pa.DataType:
    """Return the type with nullable parts.

    Arrow's cast takes a null below a null row as a null in a NOT NULL field.
    """
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(f.name, _nullable_inside(f.type)) for f in arrow])
    if pa.types.is_list(arrow):
        return pa.list_(pa.field(arrow.value_field.name, _nullable_inside(arrow.value_type)))
    if pa.types.is_map(arrow):
        return pa.map_(
            arrow.key_field, arrow.item_field.with_type(_nullable_inside(arrow.item_type)).with_nullable(True)
        )
    return arrow


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert list views to lists. Arrow's own cast returns lists with a missing offset."""
    chunks = []
    for chunk in column.chunks:
        lengths = np.asarray(pc.list_value_length(chunk).fill_null(0), np.int64)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
        chunks.append(pa.LargeListArray.from_arrays(offsets, chunk.flatten(), mask=chunk.is_null()))
    return pa.chunked_array(chunks, pa.large_list(column.type.value_type))


def _narrowed(column: pa.ChunkedArray, data_type: DataType, where: str) -> pa.ChunkedArray:
    """Cast DOUBLE to FLOAT, or raise if a value would change; Arrow's own cast would round."""
    narrow = column.cast(pa.float32())
    back = narrow.cast(pa.float64())
    changed = pc.and_(pc.not_equal(back, column), pc.invert(pc.is_nan(column)))
    if pc.any(changed).as_py():
        value = column.filter(changed)[0].as_py()
        raise DataError(f"{where}: {value!r} does not fit {data_type}; cast it before writing. Nothing was written")
    return narrow


def _can_cast(given: pa.DataType, wanted: DataType) -> bool:
    """Whether values of an Arrow type mean the same in the type of a column, if they fit."""
    kinds = pa.types
    if kinds.is_null(given):
        return True
    if kinds.is_dictionary(given):
        return _can_cast(given.value_type, wanted)
    match wanted:
        case Array(element):
            lists = kinds.is_list(given) or kinds.is_large_list(given)
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
        fits = kinds.is_floating(given) and not (root == "FLOAT" and kinds.is_float64(given))
        return bool(fits or kinds.is_integer(given))
    if root == "DECIMAL":
        return bool(kinds.is_decimal(given) or kinds.is_integer(given))
    if root == "DATE":
        return bool(kinds.is_date(given))
    if root == "TIME":
        return bool(kinds.is_time(given))
    if root in TIMESTAMP_ROOTS:
        # A wall clock time is not an instant, nor the reverse: the user has to say which zone is meant.
        return bool(kinds.is_timestamp(given)) and (given.tz is None) == (root == "TIMESTAMP")
    return bool(root == "BOOLEAN" and kinds.is_boolean(given))


def _check_values(column: pa.ChunkedArray, data_type: DataType, where: str) -> None:
    """Check nulls, lengths and nested parts of a column that already has the right Arrow type."""
    if not data_type.nullable and column.null_count:
        row = f"row {pc.index(pc.is_null(column), True).as_py()}" if where.startswith("column") else "a row"
        raise DataError(f"{where} is NOT NULL, but {row} of the data has a null there. Nothing was written")
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
    """Return the columns inside a nested column, without values below nulls."""
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


def portions(data: pa.Table | pa.RecordBatchReader, limit: int | None = None) -> Iterator[pa.Table]:
    """Yield a table as it is, and a stream in tables of about this many bytes."""
    limit = STREAM_BYTES if limit is None else limit
    if isinstance(data, pa.Table):
        yield data
        return
    batches: list[pa.RecordBatch] = []
    held = 0
    for batch in data:
        batches.append(batch)
        held += batch.nbytes
        if held >= limit:
            yield pa.Table.from_batches(batches, data.schema)
            batches, held = [], 0
    yield pa.Table.from_batches(batches, data.schema)
