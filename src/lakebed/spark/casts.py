"""Casts the columns of a frame as Spark's INSERT does: ANSI store assignment.

Numbers are cast to other numbers if each value fits, dates and timestamps to each other, and all of these to texts.
Only casts that Lakebed's writers do not do are done here, in Spark. The writers raise an error for all other types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import DataError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Field
from lakebed.spark.columns import spark_type
from lakebed.spark.predicates import named
from lakebed.spark.worker_errors import error_record

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_NUMBERS: Final = _WHOLE | {"float", "double", "decimal"}
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_SHOWN: Final = _NUMBERS | _TIMES | {"boolean"}


def as_inserted(frame: DataFrame, schema: TableSchema, table: str) -> DataFrame:
    """Returns the frame with casts for columns that Spark's INSERT would cast and writers would not."""
    fields = {field.name: field for field in schema.fields}
    columns = [_as_stored(column, fields.get(column.name), table) for column in frame.schema]
    return frame if all(column is None for column in columns) else frame.select(*_named(frame, columns))


def _named(frame: DataFrame, columns: list[Column | None]) -> list[Column]:
    return [
        named(name) if column is None else column.alias(name)
        for name, column in zip(frame.columns, columns, strict=True)
    ]


def _as_stored(column: Any, field: Field | None, table: str) -> Column | None:
    """Returns the cast column, ``None`` if no cast is needed."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    if field is None:
        return None
    wanted = spark_type(field.type)
    given_kind, wanted_kind = _kind(column.dataType), _kind(wanted)
    value = named(column.name)
    if (wanted_kind == "string" and given_kind in _SHOWN) or (
        given_kind != wanted_kind and {given_kind, wanted_kind} <= _TIMES
    ):
        return value.cast(wanted)
    if not {given_kind, wanted_kind} <= _NUMBERS or _writers_cast(given_kind, wanted_kind):
        return None
    error = DataError(
        f"column {field.name!r} of {table} is {field.type}, "
        f"but a value of the data ({column.dataType.simpleString()}) does not fit. Nothing was written"
    )
    fitting = value.try_cast(wanted)
    return F.when(value.isNotNull() & fitting.isNull(), F.raise_error(F.lit(error_record(error)))).otherwise(fitting)


def _kind(data_type: Any) -> str:
    return str(data_type.simpleString()).partition("(")[0].partition("<")[0].replace("varchar", "string")


def _writers_cast(given: str, wanted: str) -> bool:
    """Whether writers cast such numbers and check that they fit."""
    if given in _WHOLE:
        return True
    if wanted in ("float", "double"):
        return given != "decimal"
    return given == wanted == "decimal"
