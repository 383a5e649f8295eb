"""Columns of old files as the table's schema has them now, for what Spark's own Parquet reader reads.

A file is read by the names that its own schema gives its fields, which the ids tie to today's: this also serves files whose
writer stored no ids. Only what Spark does exactly as our kernels do is done here; :func:`reads_like` says what that is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from lakebed.format.types.data_types import (
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    nullable,
)
from lakebed.format.types.widening import can_widen
from lakebed.rows.files.evolve import same_type
from lakebed.spark.columns import spark_type
from lakebed.spark.predicates import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

_FLOATS: Final = frozenset({"FLOAT", "DOUBLE"})


# ------------------------------------------------------------------------------------------------- what is possible


def is_readable(data_type: DataType) -> bool:
    """Whether Spark's Parquet reader reads this type as it is stored: not times, nor nanoseconds."""
    match data_type:
        case Atomic(root, params):
            return root != "TIME" and not (root in TIMESTAMP_ROOTS and params[0] > 6)
        case Array(element):
            return is_readable(element)
        case Map(key, value):
            return is_readable(key) and is_readable(value)
        case Row(fields):
            return _are_distinct(fields) and all(is_readable(field.type) for field in fields)


def _are_distinct(fields: Iterable[Field]) -> bool:
    """Spark finds columns of a file whatever their case."""
    names = [field.name.lower() for field in fields]
    return len(set(names)) == len(names)


def reads_like(old: DataType, new: DataType) -> bool:
    """Whether Spark makes of stored values of the old type what our kernels make of them."""
    match old, new:
        case Atomic(), Atomic():
            return same_type(old, new) or (new.root not in STRING_ROOTS and can_widen(nullable(old), nullable(new)))
        case Array(old_element), Array(new_element):
            return reads_like(old_element, new_element)
        case Map(old_key, old_value), Map(new_key, new_value):
            return same_type(old_key, new_key) and reads_like(old_value, new_value)
        case Row(old_fields), Row(new_fields):
            by_id = {field.id: field.type for field in old_fields}
            # A struct none of whose fields the file has would be read as null.
            kept = [field for field in new_fields if field.id in by_id]
            return bool(kept) and all(reads_like(by_id[field.id], field.type) for field in kept)
        case _:
            return False


# ------------------------------------------------------------------------------------------------------ expressions


def as_now(column: Column, old: DataType, new: DataType) -> Column:
    """A column of a file in today's type, for types of which :func:`reads_like` is true."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    if same_type(old, new):
        return _guarded(column, new)
    match old, new:
        case Array(old_element), Array(new_element):
            return F.transform(column, lambda value: as_now(value, old_element, new_element))
        case Map(_, old_value), Map(_, new_value):
            return F.transform_values(column, lambda _, value: as_now(value, old_value, new_value))
        case Row(old_fields), Row(new_fields):
            by_id = {field.id: field for field in old_fields}
            parts = [
                as_now(column[by_id[field.id].name], by_id[field.id].type, field.type)
                if field.id in by_id
                else absent(field.type)
                for field in new_fields
            ]
            made = F.struct(*(part.alias(field.name) for part, field in zip(parts, new_fields, strict=True)))
            return F.when(column.isNotNull(), made)
        case _:
            return _guarded(column.cast(spark_type(new)), new)


def absent(data_type: DataType) -> Column:
    """Null of a type: what a column is in files from before it was added."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return F.lit(None).cast(spark_type(data_type))


def _guarded(column: Column, data_type: DataType) -> Column:
    """The same values, out of reach of filters on Parquet's statistics where these hide NaN.

    Writers that leave NaN out of the bounds of a row group (Arrow does) make Spark skip row groups whose NaN a filter such
    as ``x > 5`` takes. A factor of one changes no value, and Spark does not look through it.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    match data_type:
        case Atomic(root) if root in _FLOATS:
            return column * F.lit(1.0).cast(root.lower())
        case Row(fields):
            for field in fields:
                inner = column.getField(field.name)
                if _holds_floats(field.type):
                    column = column.withField(quoted(field.name), _guarded(inner, field.type))
            return column
        case _:
            return column


def _holds_floats(data_type: DataType) -> bool:
    match data_type:
        case Atomic(root):
            return root in _FLOATS
        case Row(fields):
            return any(_holds_floats(field.type) for field in fields)
        case _:  # Spark pushes no filters on elements
            return False
