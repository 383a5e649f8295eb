"""Paimon's column types: what they are, their text in a schema file, and their Arrow counterparts.

A type is an immutable value. ``parse_type`` and ``type_to_json`` are the two directions of the text in
``schema-N``; ``to_arrow`` and ``from_arrow`` the two directions to Arrow. Types that Lakebed does not support
(VARIANT, BLOB, GEOMETRY, GEOGRAPHY, VECTOR, MULTISET) are refused with :class:`UnsupportedError`, never read as
something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from lakebed.errors import SchemaError, UnsupportedError

MAX_LENGTH: Final = 2**31 - 1
UNSUPPORTED_ROOTS: Final = frozenset({"VARIANT", "BLOB", "GEOMETRY", "GEOGRAPHY", "VECTOR", "MULTISET"})

_PLAIN_ROOTS: Final = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING", "BYTES"}
)
_LENGTH_ROOTS: Final = frozenset({"CHAR", "VARCHAR", "BINARY", "VARBINARY"})
TIMESTAMP_ROOTS: Final = frozenset({"TIMESTAMP", "TIMESTAMP_LTZ"})
STRING_ROOTS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})
BINARY_ROOTS: Final = frozenset({"BINARY", "VARBINARY", "BYTES"})
_ALIASES: Final = {
    "INTEGER": "INT",
    "DOUBLE PRECISION": "DOUBLE",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
}


@dataclass(frozen=True, slots=True)
class Atomic:
    """A type without parts. ``params`` holds (length,), (precision,) or (precision, scale) where it has any."""

    root: str
    params: tuple[int, ...] = ()
    nullable: bool = True

    def __str__(self) -> str:
        return type_text(self)


@dataclass(frozen=True, slots=True)
class Array:
    """A list of elements of one type."""

    element: DataType
    nullable: bool = True

    def __str__(self) -> str:
        return type_text(self)


@dataclass(frozen=True, slots=True)
class Map:
    """Keys to values; keys are never null."""

    key: DataType
    value: DataType
    nullable: bool = True

    def __str__(self) -> str:
        return type_text(self)


@dataclass(frozen=True, slots=True)
class Row:
    """Named fields, each with an id of its own."""

    fields: tuple[Field, ...]
    nullable: bool = True

    def __str__(self) -> str:
        return type_text(self)


DataType: TypeAlias = Atomic | Array | Map | Row


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or a field inside of one.

    Attributes:
        id: Its number, which never changes and is never given to another field.
        name: Its name.
        type: Its type.
        description: Its comment.
        default: Its default value, as text.
    """

    id: int
    name: str
    type: DataType
    description: str | None = None
    default: str | None = None

    @property
    def nullable(self) -> bool:
        return self.type.nullable


def not_null(data_type: DataType) -> DataType:
    """Returns the same type, not nullable."""
    return replace(data_type, nullable=False)


def nullable(data_type: DataType) -> DataType:
    """Returns the same type, nullable."""
    return replace(data_type, nullable=True)


# ---------------------------------------------------------------------------------------------- text and JSON

_ATOMIC: Final = re.compile(
    r"^(?P<root>[A-Z_]+(?: PRECISION)?)\s*(?:\(\s*(?P<params>[0-9]+(?:\s*,\s*[0-9]+)*)\s*\))?"
    r"(?P<ltz>\s+WITH\s+LOCAL\s+TIME\s+ZONE)?(?P<ntz>\s+WITHOUT\s+TIME\s+ZONE)?(?P<null>\s+(?:NOT\s+)?NULL)?$"
)
_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*")


def parse_type(value: object) -> DataType:
    """Returns the type that a schema file means: a string for atomic types, an object for nested ones.

    >>> parse_type("DECIMAL(10, 2) NOT NULL")
    Atomic(root='DECIMAL', params=(10, 2), nullable=False)
    """
    if isinstance(value, str):
        return _parse_atomic(value)
    if isinstance(value, Mapping):
        return _parse_nested(value)
    raise SchemaError(f"a column type must be a string or an object, not {value!r}")


def _parse_atomic(text: str) -> Atomic:
    plain = text.strip().upper()
    named = re.match(r"[A-Z]+", plain)
    if named and named[0] in UNSUPPORTED_ROOTS:  # whatever their parameters look like
        raise _unsupported(named[0])
    match = _ATOMIC.match(plain)
    if match is None:
        raise SchemaError(f"cannot parse column type {text!r}")
    root = _ALIASES.get(match["root"], match["root"])
    params = tuple(int(part) for part in match["params"].split(",")) if match["params"] else ()
    is_nullable = "NOT" not in (match["null"] or "")
    if match["ltz"] and root == "TIMESTAMP":
        root = "TIMESTAMP_LTZ"
    elif match["ltz"] or (match["ntz"] and root not in {"TIMESTAMP", "TIME"}):
        raise SchemaError(f"cannot parse column type {text!r}")
    return _atomic(root, params, is_nullable, text)


def _atomic(root: str, params: tuple[int, ...], is_nullable: bool, text: str) -> Atomic:
    """Fill in defaults and check the ranges of an atomic type's parameters."""
    if root in _PLAIN_ROOTS:
        wanted: tuple[int, ...] = ()
    elif root in _LENGTH_ROOTS:
        wanted = params or (1,)
        if len(wanted) != 1 or not 1 <= wanted[0] <= MAX_LENGTH:
            raise SchemaError(f"the length in {text!r} must be between 1 and {MAX_LENGTH}")
        if root in {"VARCHAR", "VARBINARY"} and wanted[0] == MAX_LENGTH:
            return Atomic("STRING" if root == "VARCHAR" else "BYTES", (), is_nullable)
    elif root == "DECIMAL":
        wanted = (*params, 0)[:2] if params else (10, 0)
        if len(params) > 2 or not (1 <= wanted[0] <= 38 and 0 <= wanted[1] <= wanted[0]):
            raise SchemaError(f"{text!r}: precision must be 1 to 38 and scale 0 to the precision")
    elif root == "TIME":
        wanted = params or (0,)
        if len(wanted) != 1 or not 0 <= wanted[0] <= 9:
            raise SchemaError(f"the precision in {text!r} must be between 0 and 9")
    elif root in TIMESTAMP_ROOTS:
        wanted = params or (6,)
        if len(wanted) != 1 or not 0 <= wanted[0] <= 9:
            raise SchemaError(f"the precision in {text!r} must be between 0 and 9")
    else:
        raise SchemaError(f"unknown column type {text!r}")
    if params and not wanted:
        raise SchemaError(f"type {root} takes no parameters, got {text!r}")
    return Atomic(root, wanted, is_nullable)


def _parse_nested(value: Mapping[str, Any]) -> DataType:
    words = str(value.get("type", "")).upper().split()
    root = words[0] if words else ""
    is_nullable = words[1:] in ([], ["NULL"])
    if root in UNSUPPORTED_ROOTS:
        raise _unsupported(root)
    if not is_nullable and words[1:] != ["NOT", "NULL"]:
        raise SchemaError(f"cannot parse column type {value.get('type')!r}")
    try:
        if root == "ARRAY":
            return Array(parse_type(value["element"]), is_nullable)
        if root == "MAP":
            return Map(parse_type(value["key"]), parse_type(value["value"]), is_nullable)
        if root == "ROW":
            return Row(tuple(parse_field(field) for field in value["fields"]), is_nullable)
    except KeyError as missing:
        raise SchemaError(f"column type {root} lacks its {missing.args[0]!r}: {dict(value)!r}") from None
    raise SchemaError(f"unknown column type {dict(value)!r}")


def _unsupported(root: str) -> UnsupportedError:
    return UnsupportedError(
        f"column type {root} is not supported by Lakebed; read this table with Apache Paimon, "
        "or create it without that column"
    )


def type_to_json(data_type: DataType) -> str | dict[str, Any]:
    """Returns what a schema file holds for this type, in Paimon's own spelling."""
    suffix = "" if data_type.nullable else " NOT NULL"
    match data_type:
        case Atomic():
            return atomic_text(data_type) + suffix
        case Array(element):
            return {"type": "ARRAY" + suffix, "element": type_to_json(element)}
        case Map(key, value):
            return {"type": "MAP" + suffix, "key": type_to_json(key), "value": type_to_json(value)}
        case Row(fields):
            return {"type": "ROW" + suffix, "fields": [field_to_json(field) for field in fields]}


def atomic_text(data_type: Atomic) -> str:
    """Returns an atomic type without its nullability, in Paimon's own spelling."""
    root, params = data_type.root, data_type.params
    if root == "TIMESTAMP_LTZ":
        return f"TIMESTAMP({params[0]}) WITH LOCAL TIME ZONE"
    return f"{root}({', '.join(map(str, params))})" if params else root


def type_text(data_type: DataType) -> str:
    """Returns a type as SQL text for people: ``MAP<STRING NOT NULL, INT>``."""
    suffix = "" if data_type.nullable else " NOT NULL"
    match data_type:
        case Atomic():
            return atomic_text(data_type) + suffix
        case Array(element):
            return f"ARRAY<{type_text(element)}>{suffix}"
        case Map(key, value):
            return f"MAP<{type_text(key)}, {type_text(value)}>{suffix}"
        case Row(fields):
            inner = ", ".join(f"{quoted_name(field.name)} {type_text(field.type)}" for field in fields)
            return f"ROW<{inner}>{suffix}"


def quoted_name(name: str) -> str:
    """Returns a name as SQL text: as it is if it is a plain word, in backquotes otherwise.

    >>> quoted_name("id"), quoted_name("a b")
    ('id', '`a b`')
    """
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def parse_field(value: Mapping[str, Any]) -> Field:
    """Returns one element of ``fields`` in a schema file."""
    try:
        return Field(
            int(value["id"]),
            str(value["name"]),
            parse_type(value["type"]),
            value.get("description"),
            value.get("defaultValue"),
        )
    except KeyError as missing:
        raise SchemaError(f"a field of the schema lacks its {missing.args[0]!r}: {dict(value)!r}") from None


def field_to_json(field: Field) -> dict[str, Any]:
    """Returns the reverse of :func:`parse_field`; absent descriptions and defaults are left out."""
    out: dict[str, Any] = {"id": field.id, "name": field.name, "type": type_to_json(field.type)}
    if field.description is not None:
        out["description"] = field.description
    if field.default is not None:
        out["defaultValue"] = field.default
    return out


def nested_fields(data_type: DataType) -> Iterator[Field]:
    """Yields every field below a type, depth first, rows inside arrays and maps included."""
    match data_type:
        case Atomic():
            return
        case Array(element):
            yield from nested_fields(element)
        case Map(key, value):
            yield from nested_fields(key)
            yield from nested_fields(value)
        case Row(fields):
            for field in fields:
                yield field
                yield from nested_fields(field.type)


# ---------------------------------------------------------------------------------------------------- Arrow

_ARROW_OF: Final[dict[str, pa.DataType]] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
}


def to_arrow(data_type: DataType) -> pa.DataType:
    """Returns the Arrow type in which rows of this type are read and written.

    >>> to_arrow(Atomic("TIMESTAMP_LTZ", (3,)))
    TimestampType(timestamp[ms, tz=UTC])
    """
    match data_type:
        case Atomic(root, params):
            if root in STRING_ROOTS:
                return pa.string()
            if root in BINARY_ROOTS:
                return pa.binary()
            if root == "DECIMAL":
                return pa.decimal128(*params)
            if root in TIMESTAMP_ROOTS:
                unit = "ms" if params[0] <= 3 else "us" if params[0] <= 6 else "ns"
                return pa.timestamp(unit, tz="UTC" if root == "TIMESTAMP_LTZ" else None)
            return _ARROW_OF[root]
        case Array(element):
            return pa.list_(pa.field("element", to_arrow(element), element.nullable))
        case Map(key, value):
            return pa.map_(
                pa.field("key", to_arrow(key), nullable=False), pa.field("value", to_arrow(value), value.nullable)
            )
        case Row(fields):
            return pa.struct([field_to_arrow(field) for field in fields])


def field_to_arrow(field: Field) -> pa.Field:
    """Returns a column as an Arrow field: name, type and nullability, no metadata."""
    return pa.field(field.name, to_arrow(field.type), field.nullable)


_ATOMIC_OF_ARROW: Final[dict[pa.DataType, Atomic]] = {
    pa.bool_(): Atomic("BOOLEAN"),
    pa.int8(): Atomic("TINYINT"),
    pa.int16(): Atomic("SMALLINT"),
    pa.int32(): Atomic("INT"),
    pa.int64(): Atomic("BIGINT"),
    pa.float32(): Atomic("FLOAT"),
    pa.float64(): Atomic("DOUBLE"),
    pa.string(): Atomic("STRING"),
    pa.large_string(): Atomic("STRING"),
    pa.string_view(): Atomic("STRING"),
    pa.binary(): Atomic("BYTES"),
    pa.large_binary(): Atomic("BYTES"),
    pa.binary_view(): Atomic("BYTES"),
    pa.date32(): Atomic("DATE"),
    pa.time32("s"): Atomic("TIME", (0,)),
    pa.time32("ms"): Atomic("TIME", (3,)),
}
_PRECISION_OF_UNIT: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def from_arrow(arrow: pa.DataType, *, is_nullable: bool = True) -> DataType:
    """Returns the Paimon type for an Arrow type; nested field ids are all 0 and assigned when a schema is made."""
    if arrow in _ATOMIC_OF_ARROW:
        return replace(_ATOMIC_OF_ARROW[arrow], nullable=is_nullable)
    if pa.types.is_dictionary(arrow):
        return from_arrow(arrow.value_type, is_nullable=is_nullable)
    if pa.types.is_decimal(arrow) and 0 <= arrow.scale <= arrow.precision <= 38:
        return Atomic("DECIMAL", (arrow.precision, arrow.scale), is_nullable)
    if pa.types.is_fixed_size_binary(arrow):
        return Atomic("BINARY", (arrow.byte_width,), is_nullable)
    if pa.types.is_timestamp(arrow):
        root = "TIMESTAMP" if arrow.tz is None else "TIMESTAMP_LTZ"
        return Atomic(root, (_PRECISION_OF_UNIT[arrow.unit],), is_nullable)
    if pa.types.is_map(arrow):
        key = from_arrow(arrow.key_type, is_nullable=False)
        return Map(key, from_arrow(arrow.item_type, is_nullable=arrow.item_field.nullable), is_nullable)
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_list_view(arrow):
        return Array(from_arrow(arrow.value_type, is_nullable=arrow.value_field.nullable), is_nullable)
    if pa.types.is_struct(arrow):
        return Row(tuple(field_from_arrow(arrow.field(i)) for i in range(arrow.num_fields)), is_nullable)
    raise UnsupportedError(f"Arrow type {arrow} has no Paimon counterpart that Lakebed supports; cast the column first")


def field_from_arrow(field: pa.Field) -> Field:
    """Returns a column from an Arrow field; the id is 0 until a schema assigns one."""
    return Field(0, field.name, from_arrow(field.type, is_nullable=field.nullable))
