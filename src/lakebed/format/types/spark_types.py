"""Paimon types to and from Spark's, through Spark's own JSON form; no JVM, and no pyspark until one is asked for.

| Paimon                       | Spark                                                                     |
|------------------------------|---------------------------------------------------------------------------|
| TIMESTAMP(p)                 | timestamp_ntz; comes back with precision 6                                 |
| TIMESTAMP(p) WITH LOCAL ...  | timestamp; comes back with precision 6                                     |
| TIME(p)                      | time(p), at most 6 (Spark 4.1 and later)                                   |
| CHAR(n), VARCHAR(n)          | string, with Spark's own note on the column that keeps the length          |
| BINARY(n), VARBINARY(n)      | binary; comes back as BYTES                                                |

Comments and nullability are kept both ways. A default of a Spark column is taken where it is a literal. Field ids do
not exist in Spark and come back as 0. Intervals, variants, void, collated strings, geometry and user-defined types are
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import SchemaError, UnsupportedError
from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    STRING_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    atomic_text,
    quoted_name,
)
from lakebed.format.types.nested_defaults import is_constructor
from lakebed.format.types.sql_types import parse_data_type, parse_literal
from lakebed.optional import check_installed

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

CHAR_VARCHAR_KEY: Final = "__CHAR_VARCHAR_TYPE_STRING"
DEFAULT_KEY: Final = "CURRENT_DEFAULT"
_COLLATIONS_KEY: Final = "__COLLATIONS"

_NAME_OF: Final = {
    "BOOLEAN": "boolean",
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP_LTZ": "timestamp",
}
_TYPE_OF: Final = {
    **{name: Atomic(root, (6,) if root.startswith("TIMESTAMP") else ()) for root, name in _NAME_OF.items()},
    "string": Atomic("STRING"),
    "binary": Atomic("BYTES"),
}
_WITH_PARAMS: Final = re.compile(r"(?:decimal\(\s*\d+\s*,\s*\d+\s*\)|(?:char|varchar|time)\(\s*\d+\s*\))")
# How Spark names a type inside a longer type text, where that is not its name in JSON.
_CATALOG_NAME: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


# ----------------------------------------------------------------------------------------------- to Spark


def to_spark_json(data_type: DataType) -> str | dict[str, Any]:
    """Returns a type as Spark writes it to JSON.

    Whether it is nullable is stored in the column or container around it.

    >>> to_spark_json(Array(Atomic("TIMESTAMP", (3,), nullable=False)))
    {'type': 'array', 'elementType': 'timestamp_ntz', 'containsNull': False}
    """
    match data_type:
        case Atomic():
            return _atomic_name(data_type)
        case Array(element):
            return {"type": "array", "elementType": to_spark_json(element), "containsNull": element.nullable}
        case Map(key, value):
            return {
                "type": "map",
                "keyType": to_spark_json(key),
                "valueType": to_spark_json(value),
                "valueContainsNull": value.nullable,
            }
        case Row(fields):
            return {"type": "struct", "fields": [_field_json(column) for column in fields]}


def _atomic_name(data_type: Atomic) -> str:
    root, params = data_type.root, data_type.params
    if root in STRING_ROOTS:
        return "string"
    if root in BINARY_ROOTS:
        return "binary"
    if root == "DECIMAL":
        return f"decimal({params[0]},{params[1]})"
    if root == "TIME":
        return f"time({min(params[0], 6)})"
    return _NAME_OF[root]


def _field_json(column: Field) -> dict[str, Any]:
    metadata = {} if column.description is None else {"comment": column.description}
    return {
        "name": column.name,
        "type": to_spark_json(column.type),
        "nullable": column.nullable,
        "metadata": metadata,
    }


def fields_to_spark_json(fields: Iterable[Field]) -> dict[str, Any]:
    """Columns as the JSON of a Spark StructType."""
    columns = []
    for column in fields:
        raw = _field_json(column)
        if _has_length(column.type):
            # Spark notes the full type on the outermost column, and only there.
            raw["metadata"][CHAR_VARCHAR_KEY] = _catalog_text(column.type)
        columns.append(raw)
    return {"type": "struct", "fields": columns}


def schema_to_spark(fields: Iterable[Field]) -> StructType:
    """Columns as a Spark StructType."""
    check_installed("this", "pyspark")
    from pyspark.sql.types import StructType as SparkStruct  # noqa: PLC0415 - Spark is optional

    return SparkStruct.fromJson(fields_to_spark_json(fields))


def _has_length(data_type: DataType) -> bool:
    match data_type:
        case Atomic(root):
            return root in {"CHAR", "VARCHAR"}
        case Array(element):
            return _has_length(element)
        case Map(key, value):
            return _has_length(key) or _has_length(value)
        case Row(fields):
            return any(_has_length(column.type) for column in fields)


def _catalog_text(data_type: DataType) -> str:
    """Returns a type in Spark's short text, lengths included: ``array<varchar(3)>``."""
    match data_type:
        case Atomic(root):
            if root in {"CHAR", "VARCHAR"}:
                return atomic_text(data_type).lower()
            name = _atomic_name(data_type)
            return _CATALOG_NAME.get(name, name)
        case Array(element):
            return f"array<{_catalog_text(element)}>"
        case Map(key, value):
            return f"map<{_catalog_text(key)},{_catalog_text(value)}>"
        case Row(fields):
            return f"struct<{','.join(f'{quoted_name(f.name)}:{_catalog_text(f.type)}' for f in fields)}>"


# --------------------------------------------------------------------------------------------- from Spark


def from_spark(data_type: Any) -> DataType:
    """Returns the Paimon type of a Spark DataType (anything with ``jsonValue``), nullable; a StructType is a ROW."""
    return _from_json(data_type.jsonValue())


def fields_from_spark(struct: Any) -> tuple[Field, ...]:
    """Returns the columns of a Spark StructType."""
    row = from_spark(struct)
    if not isinstance(row, Row):
        raise SchemaError(f"columns come from a Spark StructType, not from {struct!r}")
    return row.fields


def _from_json(raw: object) -> DataType:
    if isinstance(raw, str):
        return _atomic_from_name(raw)
    match raw:
        case {"type": "array", "elementType": element, "containsNull": contains_null}:
            return Array(replace(_from_json(element), nullable=bool(contains_null)))
        case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": contains_null}:
            value_type = replace(_from_json(value), nullable=bool(contains_null))
            return Map(replace(_from_json(key), nullable=False), value_type)
        case {"type": "struct", "fields": fields}:
            return Row(tuple(_field_from_json(column) for column in fields))
        case {"type": root}:
            raise _unsupported(str(root))
    raise _unsupported(repr(raw))


def _atomic_from_name(name: str) -> DataType:
    known = _TYPE_OF.get(name)
    if known is not None:
        return known
    if _WITH_PARAMS.fullmatch(name):
        return parse_data_type(name, spark=True)
    raise _unsupported(name)


def _unsupported(name: str) -> UnsupportedError:
    return UnsupportedError(f"Spark type {name} has no Paimon counterpart that Lakebed supports; cast the column first")


def _field_from_json(raw: Mapping[str, Any]) -> Field:
    name, metadata = raw["name"], raw.get("metadata") or {}
    if _COLLATIONS_KEY in metadata:
        raise UnsupportedError(f"column {name!r} is a collated string, which Paimon does not have; use a plain string")
    try:
        data_type = _from_json(raw["type"])
    except UnsupportedError as error:
        raise UnsupportedError(f"column {name!r}: {error}") from None
    if CHAR_VARCHAR_KEY in metadata:
        data_type = _with_lengths(data_type, parse_data_type(metadata[CHAR_VARCHAR_KEY], spark=True))
    default = metadata.get(DEFAULT_KEY)
    return Field(
        0,
        name,
        replace(data_type, nullable=bool(raw.get("nullable", True))),
        metadata.get("comment"),
        None if default is None else default if is_constructor(default) else parse_literal(default),
    )


def _with_lengths(data_type: DataType, noted: DataType) -> DataType:
    """Returns a type with the lengths of its strings taken from Spark's note; all else, nullability too, is its own."""
    match data_type, noted:
        case Atomic(root="STRING"), Atomic(root="CHAR" | "VARCHAR"):
            return replace(noted, nullable=data_type.nullable)
        case Array(element), Array(noted_element):
            return replace(data_type, element=_with_lengths(element, noted_element))
        case Map(key, value), Map(noted_key, noted_value):
            return replace(data_type, key=_with_lengths(key, noted_key), value=_with_lengths(value, noted_value))
        case Row(fields), Row(noted_fields) if len(fields) == len(noted_fields):
            pairs = zip(fields, noted_fields, strict=True)
            return replace(
                data_type, fields=tuple(replace(f, type=_with_lengths(f.type, other.type)) for f, other in pairs)
            )
        case _:
            return data_type
