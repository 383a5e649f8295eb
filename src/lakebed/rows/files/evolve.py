"""Rows of an old file as the query's schema wants them.

Columns and nested fields are matched by id, whatever they were called when the file was written. A field that the file
lacks is null; one whose type was changed since is cast, which the rules of schema changes guarantee to work. A column
that became STRING gets the text that Paimon's Java readers give its old values. (They agree on years 0 to 9999; of
floating point numbers, which only others let become STRING, the text is that of Java 19 and later.)
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CorruptError
from lakebed.format.java_text import cast_to_text
from lakebed.format.types.data_types import (
    STRING_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    field_to_arrow,
    to_arrow,
)


def same_type(old: DataType, new: DataType) -> bool:
    """Whether stored values need no change to be of the new type: equal ids, names and types all the way down."""
    match old, new:
        case Atomic(), Atomic():
            return bool(to_arrow(old) == to_arrow(new))
        case Array(old_element), Array(new_element):
            return same_type(old_element, new_element)
        case Map(old_key, old_value), Map(new_key, new_value):
            return same_type(old_key, new_key) and same_type(old_value, new_value)
        case Row(old_fields), Row(new_fields):
            return [(f.id, f.name) for f in old_fields] == [(f.id, f.name) for f in new_fields] and all(
                same_type(a.type, b.type) for a, b in zip(old_fields, new_fields, strict=True)
            )
        case _:
            return False


def evolve(table: pa.Table, file_fields: Sequence[Field], wanted: Sequence[Field], *, where: str) -> pa.Table:
    """Columns of a file, named as in the file, turned into the wanted columns."""
    by_id = {field.id: field for field in file_fields}
    columns = []
    for field in wanted:
        old = by_id.get(field.id)
        if old is None:
            columns.append(pa.chunked_array([pa.nulls(len(table), to_arrow(field.type))]))
        else:
            columns.append(_column(table[old.name], old.type, field.type, f"column {field.name!r} of {where}"))
    # Nullability is the table's promise, not the file's: a column may have become nullable since.
    schema = pa.schema([field_to_arrow(field).with_nullable(True) for field in wanted])
    return pa.Table.from_arrays(columns, schema=schema)


def _column(column: pa.ChunkedArray, old: DataType, new: DataType, where: str) -> pa.ChunkedArray:
    wanted = to_arrow(new)
    if same_type(old, new) and column.type == wanted:
        return column
    try:
        chunks = [_array(chunk, old, new) for chunk in column.chunks]
    except pa.ArrowException as error:
        raise CorruptError(f"{where}: a stored {old} cannot be read as {new}: {error}") from None
    return pa.chunked_array(chunks, wanted)


def _array(array: pa.Array, old: DataType, new: DataType) -> pa.Array:
    wanted = to_arrow(new)
    match old, new:
        case Row(old_fields), Row(new_fields):
            by_id = {field.id: (i, field) for i, field in enumerate(old_fields)}
            parts = []
            for field in new_fields:
                if field.id in by_id:
                    index, before = by_id[field.id]
                    parts.append(_array(pc.struct_field(array, [index]), before.type, field.type))
                else:
                    parts.append(pa.nulls(len(array), to_arrow(field.type)))
            return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=array.is_null())
        case Array(old_element), Array(new_element):
            values = _array(array.values, old_element, new_element)
            return pa.ListArray.from_arrays(own_offsets(array), values, type=wanted, mask=null_mask(array))
        case Map(old_key, old_value), Map(new_key, new_value):
            keys = _array(array.keys, old_key, new_key)
            items = _array(array.items, old_value, new_value)
            return pa.MapArray.from_arrays(own_offsets(array), keys, items, type=wanted, mask=null_mask(array))
        case Atomic(root), Atomic("STRING") if root not in STRING_ROOTS:
            return cast_to_text(array, old).cast(wanted)
        case _:
            return array.cast(wanted)


# ------------------------------------------------------------------------------------------------- nested arrays


def own_offsets(array: pa.Array) -> pa.Array:
    """Returns the offsets of a list or map array as an array of their own: masks need offsets that start at zero."""
    return pa.concat_arrays([array.offsets]) if array.offsets.offset else array.offsets


def null_mask(array: pa.Array) -> pa.Array | None:
    """Returns which lists or maps of an array are null; ``None`` if none is."""
    return array.is_null() if array.null_count else None
