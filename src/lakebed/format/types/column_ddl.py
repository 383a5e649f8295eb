"""Columns from a DDL string, a pyarrow Schema, a Spark StructType, Arrow, pandas or Polars data, or fields of Lakebed.

:func:`to_columns` accepts all of them. The ids of the returned columns are 0; they are assigned when a table or column
is created.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import SchemaError, UnsupportedError
from lakebed.format.types.data_types import Field, field_from_arrow, not_null
from lakebed.format.types.spark_types import fields_from_spark
from lakebed.format.types.sql_types import Reader

_CLAUSES: Final = "NOT NULL, DEFAULT, COMMENT"


def parse_columns(text: str) -> tuple[Field, ...]:
    """Returns the columns that a DDL string lists, in Spark's or Paimon's spelling.

    ``TIMESTAMP`` means what it means in ISO SQL and in Paimon: no time zone, precision 6 (``TIMESTAMP_NTZ`` is the
    same). For an instant, Spark's ``TIMESTAMP``, write ``TIMESTAMP_LTZ`` or ``TIMESTAMP(6) WITH LOCAL TIME ZONE``.
    Names that are not plain words are in backquotes. Keys are not part of the text: tables take ``primary_key=[...]``
    and ``partition_by=[...]``.

    >>> text = "id BIGINT NOT NULL COMMENT 'key', `a b` STRUCT<x: INT>, d DECIMAL(10,2) DEFAULT 0"
    >>> for column in parse_columns(text):
    ...     print(column.name, column.type, column.description, column.default)
    id BIGINT NOT NULL key None
    a b ROW<x INT> None None
    d DECIMAL(10, 2) None 0
    """
    reader = Reader(text, "the columns")
    columns = [_column(reader)]
    while reader.accept_symbol(","):
        columns.append(_column(reader))
    if reader.token.kind != "end":
        raise reader.error(f"expected ',' or one of {_CLAUSES}")
    return tuple(columns)


def _column(reader: Reader) -> Field:
    start = reader.token
    name = reader.name()
    if start.kind == "word" and name.upper() == "PRIMARY" and reader.is_word("KEY"):
        raise reader.error("the primary key is not part of the columns; pass primary_key=[...]", start, found=False)
    reader.accept_symbol(":")
    data_type = reader.data_type()
    description = default = None
    seen: set[str] = set()
    while reader.is_word("NOT", "NULL", "DEFAULT", "COMMENT"):
        clause = reader.take()
        word = clause.text.upper()
        kind = "NULL" if word == "NOT" else word
        if kind in seen:
            raise reader.error(f"column {name!r} has two clauses about {kind}", clause, found=False)
        seen.add(kind)
        match word:
            case "NOT":
                reader.expect_word("NULL")
                data_type = not_null(data_type)
            case "DEFAULT":
                default = reader.literal()
            case "COMMENT":
                description = reader.string()
    return Field(0, name, data_type, description, default)


def to_columns(schema: Any) -> tuple[Field, ...]:
    """Returns the columns of a DDL string, a pyarrow Schema, a Spark StructType, data or a sequence of fields.

    Data is an Arrow table, batch or stream, or a pandas or Polars frame. Its rows are not read.

    >>> [str(column.type) for column in to_columns(pa.schema({"a": pa.int32(), "b": pa.timestamp("us", "UTC")}))]
    ['INT', 'TIMESTAMP(6) WITH LOCAL TIME ZONE']
    """
    if isinstance(schema, str):
        return parse_columns(schema)
    if isinstance(schema, pa.Schema):
        return tuple(field_from_arrow(column) for column in schema)
    if hasattr(schema, "jsonValue"):
        return fields_from_spark(schema)
    arrow = _schema_of_data(schema)
    if arrow is not None:
        return tuple(map(_inferred, arrow))
    if isinstance(schema, Iterable):
        columns = tuple(schema)
        if all(isinstance(column, Field) for column in columns):
            return columns
    raise SchemaError(
        f"cannot take columns from a {type(schema).__name__}; give a DDL string like 'id BIGINT, v STRING', "
        "a pyarrow Schema, Arrow, pandas or Polars data, or a Spark StructType"
    )


def _schema_of_data(data: Any) -> pa.Schema | None:
    """Returns the Arrow schema of data with columns, without its rows; ``None`` for anything else."""
    kind = f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"
    if kind == "pandas.DataFrame":
        return pa.Schema.from_pandas(data, preserve_index=False)
    if kind in {"polars.DataFrame", "polars.LazyFrame"}:
        empty = data.head(0)
        return (empty.collect() if kind == "polars.LazyFrame" else empty).to_arrow().schema
    schema = getattr(data, "schema", None)
    if isinstance(schema, pa.Schema):
        return schema
    if hasattr(data, "__arrow_c_schema__"):
        return pa.schema(data)
    return pa.RecordBatchReader.from_stream(data).schema if hasattr(data, "__arrow_c_stream__") else None


def _inferred(column: pa.Field) -> Field:
    """Returns a column of data; raises an error that names it if its type is unknown or has no counterpart."""
    if pa.types.is_null(column.type):
        raise SchemaError(
            f"column {column.name!r} has only nulls, so its type is unknown; give the columns as text, or cast it first"
        )
    try:
        return field_from_arrow(column)
    except UnsupportedError as error:
        raise UnsupportedError(f"column {column.name!r}: {error}") from None
