"""Columns as the reader of a file format returns them, in the Arrow types of their table.

ORC and Avro have fewer types than a table: ORC has no TIME and one precision of timestamps, Avro has one kind of small
numbers. Their readers give other types for the same values, which are converted here. Nested fields are matched by
name, because the schema of a file is that of its entry.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row, to_arrow
from lakebed.rows.files.evolve import null_mask, own_offsets


def as_stored(table: pa.Table, fields: Sequence[Field], *, padded: bool = False) -> pa.Table:
    """Returns columns in the types of these fields; a column that the file lacks is null.

    With ``padded``, the format pads CHAR to its length: trailing spaces are removed, as Java's readers do.
    """
    columns = []
    for field in fields:
        wanted = to_arrow(field.type)
        if field.name not in table.column_names:
            columns.append(pa.chunked_array([pa.nulls(len(table), wanted)]))
            continue
        chunks = [_array(chunk, field.type, padded) for chunk in table[field.name].chunks]
        columns.append(pa.chunked_array(chunks, wanted))
    return pa.table(columns, schema=pa.schema([pa.field(field.name, to_arrow(field.type)) for field in fields]))


def _array(array: pa.Array, data_type: DataType, padded: bool) -> pa.Array:
    wanted = to_arrow(data_type)
    match data_type:
        case Row(fields):
            parts = [_child(array, field, padded) for field in fields]
            return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=array.is_null())
        case Array(element):
            values = _array(array.values, element, padded)
            return pa.ListArray.from_arrays(own_offsets(array), values, type=wanted, mask=null_mask(array))
        case Map(key, value):
            keys, items = _pairs(array)
            return pa.MapArray.from_arrays(
                own_offsets(array), _array(keys, key, padded), _array(items, value, padded),
                type=wanted, mask=null_mask(array),
            )  # fmt: skip
        case Atomic():
            return _atomic(array, data_type, padded)


def _child(array: pa.Array, field: Field, padded: bool) -> pa.Array:
    number = array.type.get_field_index(field.name)
    if number < 0:
        return pa.nulls(len(array), to_arrow(field.type))
    return _array(pc.struct_field(array, [number]), field.type, padded)


def _pairs(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Returns keys and values of a map, also of one that the file holds as an array of records (Avro)."""
    if pa.types.is_map(array.type):
        return array.keys, array.items
    return array.values.field(0), array.values.field(1)


def _atomic(array: pa.Array, data_type: Atomic, padded: bool) -> pa.Array:
    wanted = to_arrow(data_type)
    if data_type.root == "CHAR" and padded:
        array = pc.utf8_rtrim(array, " ")
    if array.type == wanted:
        return array
    if pa.types.is_timestamp(array.type):
        # A cast between zones would shift the values: both are numbers since the epoch in UTC.
        same_unit = array.cast(pa.timestamp(wanted.unit, array.type.tz), safe=False)
        return same_unit.cast(pa.int64()).cast(wanted)
    return array.cast(wanted)
