"""Schema evolution for files that Spark's Parquet reader reads: old columns in the types of the current schema.

The columns of a file are read by the names in the schema of the file, and field ids connect them with the current
columns. Files without stored ids can be read this way too. Spark converts only types for which its result equals that
of Lakebed's reader, see :func:`reads_like`.
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
    """Whether Spark's Parquet reader can read this type; it cannot read TIME and timestamps in nanoseconds."""
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
    """Whether names differ in more than case: Spark ignores the case of the columns of a file."""
    names = [field.name.lower() for field in fields]
    return len(set(names)) == len(names)


def reads_like(old: DataType, new: DataType) -> bool:
    """Whether Spark converts values of the old type to the same values as Lakebed's reader."""
    match old, new:
        case Atomic(), Atomic():
            return same_type(old, new) or (new.root not in STRING_ROOTS and can_widen(nullable(old), nullable(new)))
        case Array(old_element), Array(new_element):
            return reads_like(old_element, new_element)
        case Map(old_key, old_value), Map(new_key, new_value):
            return same_type(old_key, new_key) and reads_like(old_value, new_value)
        case Row(old_fields), Row(new_fields):
            by_id = {field.id: field.type for field in old_fields}
            # Spark reads a struct as null if the file has none of its fields.
            kept = [field for field in new_fields if field.id in by_id]
            return bool(kept) and all(reads_like(by_id[field.id], field.type) for field in kept)
        case _:
            return False


# ------------------------------------------------------------------------------------------------------ expressions


def as_now(column: Column, old: DataType, new: DataType) -> Column:
    """Returns a column of a file in the current type; the types must satisfy :func:`reads_like`."""
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
    """Returns null of a type: the value of a column in files that were written before it was added."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    return F.lit(None).cast(spark_type(data_type))


def _guarded(column: Column, data_type: DataType) -> Column:
    """Returns the same values in a form that keeps Spark from testing filters on Parquet's statistics.

    Statistics of a row group ignore NaN in files that Arrow wrote. Spark would skip row groups with NaN for a filter
    such as
    ``x > 5``, which is true for NaN. Multiplying by one changes no value and stops Spark from pushing the filter down.
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
        case _:  # Spark pushes no filters on elements down
            return False
