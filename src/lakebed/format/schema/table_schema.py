"""One version of a table's schema: its columns, keys and options, and its text in ``schema-N``.

A :class:`TableSchema` is a value: nothing here reads or writes files, and a change of schema makes a new value
(``evolution``). Reading accepts every format version up to 3 and ignores unknown keys; writing is always complete, in
the key order and layout of Paimon's own writer. ``create_schema`` checks what must hold for any Paimon reader: names,
keys, types of key columns, defaults. The values of options are not checked here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import time
from functools import cached_property
from itertools import count
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import ROLL_BACK, CorruptError, SchemaError, UnsupportedError, unknown_name
from lakebed.format.human_text import count_text, table_lines
from lakebed.format.printed import Printed
from lakebed.format.row_kind import KIND_COLUMN, KIND_TEXT_COLUMN
from lakebed.format.snapshot import load_json_object
from lakebed.format.types.data_types import (
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    field_to_arrow,
    field_to_json,
    nested_fields,
    not_null,
    parse_field,
    to_arrow,
)
from lakebed.format.types.nested_defaults import nested_value
from lakebed.options import TableOptions

CURRENT_VERSION: Final = 3
SEQUENCE_COLUMN: Final = "_SEQUENCE_NUMBER"
RESERVED_NAMES: Final = frozenset({SEQUENCE_COLUMN, KIND_COLUMN, "_LEVEL", KIND_TEXT_COLUMN, "_ROW_ID"})
KEY_PREFIX: Final = "_KEY_"
_REQUIRED: Final = ("id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options")


@dataclass(frozen=True, kw_only=True, repr=False)
class TableSchema(Printed):
    """The columns, keys and options of a table from one ALTER to the next. Never change ``options`` in place.

    Attributes:
        id: Its number; every change of the schema counts one up.
        fields: The columns.
        highest_field_id: The largest id that a column ever had.
        partition_keys: The names of the partition columns.
        primary_keys: The names of the columns of the primary key.
        options: The options that the table stores.
        comment: The comment of the table.
        time_millis: When the schema was made, in epoch milliseconds.
        version: The version of the file format.
    """

    id: int
    fields: tuple[Field, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    comment: str | None = None
    time_millis: int = 0
    version: int = CURRENT_VERSION

    def __str__(self) -> str:
        lines = [f"schema {self.id}, {count_text(len(self.fields), 'column')}:"]
        lines += [f"  {line}" for line in table_lines([[column.name, str(column.type)] for column in self.fields])]
        if self.partition_keys:
            lines.append(f"partitioned by {', '.join(self.partition_keys)}")
        if self.primary_keys:
            lines.append(f"primary key {', '.join(self.primary_keys)}")
        lines += [f"option {key} = {value}" for key, value in sorted(self.options.items())]
        return "\n".join(lines)

    @classmethod
    def from_json(cls, text: str | bytes, *, where: str) -> TableSchema:
        """Returns the schema in a file's text; ``where`` names the file in errors."""
        raw = load_json_object(text, where=where)
        version = 1 if raw.get("version") is None else raw["version"]
        if not isinstance(version, int):
            raise CorruptError(f"{where} has no usable version: {version!r}; restore the file")
        if version > CURRENT_VERSION:
            raise UnsupportedError(
                f"{where} has format version {version}, this Lakebed knows versions up to {CURRENT_VERSION}: "
                "the table was written by a newer Paimon, upgrade Lakebed to read it"
            )
        missing = [key for key in _REQUIRED if raw.get(key) is None]
        if missing:
            raise CorruptError(f"{where} lacks {', '.join(missing)}; restore the file or drop the table")
        schema = _from_raw(raw, version, where)
        _check_read(schema, where)
        return schema

    def to_json(self) -> str:
        """Returns the text of ``schema-<id>``, laid out as Paimon lays it out."""
        raw: dict[str, Any] = {
            "version": self.version,
            "id": self.id,
            "fields": [field_to_json(column) for column in self.fields],
            "highestFieldId": self.highest_field_id,
            "partitionKeys": list(self.partition_keys),
            "primaryKeys": list(self.primary_keys),
            "options": dict(self.options),
        }
        # A null comment would be read by Java as the text "null".
        if self.comment is not None:
            raw["comment"] = self.comment
        raw["timeMillis"] = self.time_millis
        return _java_json(raw, 0)

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.fields)

    @cached_property
    def fields_by_id(self) -> Mapping[int, Field]:
        """The columns by id; nested fields are found inside their column."""
        return {column.id: column for column in self.fields}

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow fields, without metadata."""
        return pa.schema([field_to_arrow(column) for column in self.fields])

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {column.name: position for position, column in enumerate(self.fields)}

    def index(self, name: str) -> int:
        """Returns the position of a column."""
        position = self._positions.get(name)
        if position is None:
            raise SchemaError(unknown_name("column", name, self.field_names))
        return position

    def field(self, name: str) -> Field:
        """Returns the column of this name."""
        return self.fields[self.index(name)]

    def select(self, names: Iterable[str]) -> tuple[Field, ...]:
        """Returns the columns of these names, in the order of the names."""
        return tuple(self.field(name) for name in names)

    @property
    def partition_fields(self) -> tuple[Field, ...]:
        return self.select(self.partition_keys)

    @property
    def trimmed_primary_key(self) -> tuple[str, ...]:
        """The primary key without the partition keys: what identifies a row inside its partition."""
        return tuple(name for name in self.primary_keys if name not in self.partition_keys)

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns whose hash is a row's bucket. Names in ``bucket-key`` are split on commas and not trimmed."""
        keys = TableOptions(self.options).bucket_key
        return keys if any(key.strip() for key in keys) else self.trimmed_primary_key

    def with_options(self, options: Mapping[str, str]) -> TableSchema:
        """Returns the same schema with these options instead of its own."""
        return replace(self, options=dict(options))


# ------------------------------------------------------------------------------------------------- JSON


def _from_raw(raw: Mapping[str, Any], version: int, where: str) -> TableSchema:
    try:
        options = {str(key): _option_text(value) for key, value in raw["options"].items()}
        # What older versions meant by an absent option.
        if version <= 1:
            options.setdefault("bucket", "1")
        if version <= 2:
            options.setdefault("file.format", "orc")
        return TableSchema(
            version=version,
            id=int(raw["id"]),
            fields=tuple(_read_field(column) for column in raw["fields"]),
            highest_field_id=int(raw["highestFieldId"]),
            partition_keys=_names(raw["partitionKeys"]),
            primary_keys=_names(raw["primaryKeys"]),
            options=options,
            comment=raw.get("comment"),
            time_millis=int(raw.get("timeMillis") or 0),
        )
    except UnsupportedError as error:
        raise UnsupportedError(f"{where}: {error}") from None
    except (SchemaError, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise CorruptError(f"{where} is not a table schema ({error}); {ROLL_BACK}") from None


def _read_field(raw: Mapping[str, Any]) -> Field:
    try:
        return parse_field(raw)
    except UnsupportedError as error:
        raise UnsupportedError(f"column {raw.get('name')!r}: {error}") from None


def _names(raw: object) -> tuple[str, ...]:
    if not isinstance(raw, list) or not all(isinstance(name, str) for name in raw):
        raise ValueError(f"{raw!r} is not a list of column names")
    return tuple(raw)


def _option_text(value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case _:
            raise ValueError(f"{value!r} is not the value of an option")


def _check_read(schema: TableSchema, where: str) -> None:
    """Raises CorruptError for what no reader could resolve; everything else is left as it was written."""
    for what, values in (("id", [f.id for f in schema.fields]), ("name", list(schema.field_names))):
        repeated = _repeated(values)
        if repeated:
            raise CorruptError(f"{where} has two columns with the {what} {repeated[0]!r}; restore the file")
    for name in (*schema.partition_keys, *schema.primary_keys):
        if name not in schema.field_names:
            raise CorruptError(f"{where}: {unknown_name('key column', name, schema.field_names)}; restore the file")


def _java_json(value: object, level: int) -> str:
    """Returns JSON as Jackson's pretty printer writes it: ``"key" : value``, and lists on one line."""
    match value:
        case dict():
            if not value:
                return "{ }"
            pad = "  " * (level + 1)
            lines = (f"{pad}{_java_json(key, 0)} : {_java_json(item, level + 1)}" for key, item in value.items())
            return "{\n" + ",\n".join(lines) + "\n" + "  " * level + "}"
        case list():
            return f"[ {', '.join(_java_json(item, level) for item in value)} ]" if value else "[ ]"
        case _:
            return json.dumps(value, ensure_ascii=False)


# ---------------------------------------------------------------------------------------------- creation


def create_schema(
    columns: Sequence[Field],
    *,
    partition_by: Sequence[str] = (),
    primary_key: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    time_millis: int,
) -> TableSchema:
    """Returns the first schema of a new table, with ids for all columns.

    Keys are checked and made NOT NULL. Options that list keys become the lists of keys.

    >>> from lakebed.format.types.data_types import parse_type
    >>> columns = [Field(0, "id", parse_type("BIGINT")), Field(0, "v", parse_type("STRING"))]
    >>> schema = create_schema(columns, primary_key=["id"], time_millis=0)
    >>> [(f.id, f.name, str(f.type)) for f in schema.fields]
    [(0, 'id', 'BIGINT NOT NULL'), (1, 'v', 'STRING')]
    """
    kept = dict(options or {})
    partition_keys = _keys_from(kept, "partition", partition_by)
    primary_keys = _keys_from(kept, "primary-key", primary_key)
    if not columns:
        raise SchemaError("a table needs at least one column")
    check_columns(columns)
    check_case(columns)
    _check_keys(columns, partition_keys, primary_keys)
    keyed = tuple(replace(c, type=not_null(c.type)) if c.name in primary_keys else c for c in columns)
    fields = assign_ids(keyed, 0)
    return TableSchema(
        id=0,
        fields=fields,
        highest_field_id=highest_id(fields),
        partition_keys=partition_keys,
        primary_keys=primary_keys,
        options=kept,
        comment=comment,
        time_millis=time_millis,
    )


def _keys_from(options: dict[str, str], option: str, given: Sequence[str]) -> tuple[str, ...]:
    """Returns a list of keys from its option or its argument, and removes the option."""
    if option not in options:
        return tuple(given)
    names = tuple(name.strip() for name in options.pop(option).split(",") if name.strip())
    if given and tuple(given) != names:
        raise SchemaError(
            f"option {option!r} says {', '.join(names)}, but the table was given {', '.join(given)}; "
            "name the columns in one place"
        )
    return names


def _check_keys(columns: Sequence[Field], partition_keys: tuple[str, ...], primary_keys: tuple[str, ...]) -> None:
    by_name = {column.name: column for column in columns}
    for what, names in (("partition column", partition_keys), ("primary key column", primary_keys)):
        repeated = _repeated(names)
        if repeated:
            raise SchemaError(f"{what} {repeated[0]!r} is named twice; name it once")
        for name in names:
            if name not in by_name:
                raise SchemaError(unknown_name(what, name, by_name))
            if not isinstance(by_name[name].type, Atomic):
                raise SchemaError(f"{what} {name!r} is {by_name[name].type}; only columns of simple types can be keys")
    if primary_keys and set(primary_keys) <= set(partition_keys):
        raise SchemaError(
            f"the primary key ({', '.join(primary_keys)}) must have a column that is not a partition column, "
            "or a partition could hold only one row; add a column to the primary key"
        )


def check_columns(fields: Sequence[Field]) -> None:
    """Raises SchemaError for columns with blank, repeated or reserved names, or with a default that does not fit."""
    for name in (column.name for column in fields):
        if name in RESERVED_NAMES or name.startswith(KEY_PREFIX):
            raise SchemaError(f"column name {name!r} is reserved for Paimon's own columns; choose another name")
    _check_names(fields, "the table")
    for column in (*fields, *(inner for outer in fields for inner in nested_fields(outer.type))):
        if isinstance(column.type, Row | Array | Map):
            for row in _rows(column.type):
                _check_names(row.fields, f"column {column.name!r}")
        check_default(column)


def check_case(fields: Sequence[Field]) -> None:
    """Raises SchemaError for columns whose names differ in case only, which SQL engines cannot tell apart.

    It checks new tables. Tables of other writers that have such columns can be read.
    """
    first: dict[str, str] = {}
    for column in fields:
        other = first.setdefault(column.name.casefold(), column.name)
        if other != column.name:
            raise SchemaError(differ_in_case(other, column.name))


def differ_in_case(name: str, other: str) -> str:
    """Returns the message for two columns whose names differ in case only."""
    return (
        f"the columns {name!r} and {other!r} differ in case only, and SQL engines cannot tell them apart; "
        "rename one of them"
    )


def _check_names(fields: Sequence[Field], where: str) -> None:
    names = [column.name for column in fields]
    if any(not name.strip() for name in names):
        raise SchemaError(f"{where} has a field with a blank name; give it a name")
    repeated = _repeated(names)
    if repeated:
        raise SchemaError(f"{where} has two fields named {repeated[0]!r}; rename one of them")
    if not names:
        raise SchemaError(f"{where} has a ROW without fields; give it at least one")


def _rows(data_type: DataType) -> Iterator[Row]:
    """Yields the ROWs that make up a type, not those inside their fields."""
    match data_type:
        case Row():
            yield data_type
        case Array(element):
            yield from _rows(element)
        case Map(key, value):
            yield from _rows(key)
            yield from _rows(value)


def _repeated(values: Sequence[Any]) -> list[Any]:
    return [value for value, times in Counter(values).items() if times > 1]


def check_default(column: Field) -> None:
    """Raises SchemaError for a default value that is not a value of the column's type."""
    if column.default is not None:
        default_scalar(column)


def default_scalar(column: Field) -> pa.Scalar:
    """Returns the value that a row written without this column gets: null if the column has no default.

    >>> default_scalar(Field(0, "d", Atomic("DECIMAL", (4, 2)), default="1.5"))
    <pyarrow.Decimal128Scalar: Decimal('1.50')>
    """
    default, data_type = column.default, column.type
    if default is None:
        return pa.scalar(None, to_arrow(data_type))
    if not isinstance(data_type, Atomic):
        return _nested_default(column, default)
    if data_type.root == "TIMESTAMP_LTZ":
        raise SchemaError(
            f"column {column.name!r} is {data_type}, and its default would be a different instant in each time zone; "
            "leave the default out"
        )
    fits = data_type.root not in {"CHAR", "VARCHAR"} or len(default) <= data_type.params[0]
    try:
        # Arrow does not cast text to times.
        value = pa.scalar(time.fromisoformat(default) if data_type.root == "TIME" else default)
        scalar = value.cast(to_arrow(data_type)) if fits else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        scalar = None
    if scalar is None:
        raise SchemaError(f"default {default!r} of column {column.name!r} is not a value of type {data_type}")
    return scalar


def _nested_default(column: Field, default: str) -> pa.Scalar:
    def leaf(text: str, kind: Atomic) -> Any:
        return default_scalar(Field(column.id, column.name, kind, default=text)).as_py()

    try:
        return pa.scalar(nested_value(default, column.type, leaf), to_arrow(column.type))
    except (SchemaError, pa.ArrowException, TypeError, ValueError) as error:
        raise SchemaError(
            f"default {default!r} of column {column.name!r} is not a value of type {column.type}: {error}; write it with "
            "array(...), map(...), struct(...) or named_struct(...)"
        ) from None


# ---------------------------------------------------------------------------------------------- field ids


def assign_ids(columns: Iterable[Field], first: int) -> tuple[Field, ...]:
    """Returns columns with new ids for them and for all fields inside them, counted from ``first``.

    A column is numbered before the fields inside it; a field of a ROW is numbered after the fields inside it. This is
    the order of Paimon's writers; readers only need unique ids.
    """
    ids = count(first)
    return tuple(replace(column, id=next(ids), type=_number_inside(column.type, ids)) for column in columns)


def _number_inside(data_type: DataType, ids: Iterator[int]) -> DataType:
    match data_type:
        case Atomic():
            return data_type
        case Array(element):
            return replace(data_type, element=_number_inside(element, ids))
        case Map(key, value):
            return replace(data_type, key=_number_inside(key, ids), value=_number_inside(value, ids))
        case Row(fields):
            # The keyword arguments are evaluated in this order: first the inside, then the field itself.
            return replace(
                data_type, fields=tuple(replace(f, type=_number_inside(f.type, ids), id=next(ids)) for f in fields)
            )


def highest_id(fields: Iterable[Field]) -> int:
    """Returns the largest id of these columns and of all fields inside them; -1 if there are none."""
    return max((f.id for column in fields for f in (column, *nested_fields(column.type))), default=-1)


# ------------------------------------------------------------------------------------------------ Parquet

# Elements, keys and values have no id in the schema; Paimon's Parquet writer gives them ids of this form.
_STRUCTURED_ID_BASE: Final = (2**31 - 1) // 4
_STRUCTURED_ID_DEPTHS: Final = 1 << 10


def parquet_schema(fields: Iterable[Field]) -> pa.Schema:
    """Returns the Arrow schema for writing Parquet: every column, field, element, key and value has its field id."""
    return pa.schema([_parquet_field(column) for column in fields])


def _parquet_field(column: Field) -> pa.Field:
    return _with_id(column.name, _parquet_type(column.type, column.id, 0), column.nullable, column.id)


def _parquet_type(data_type: DataType, owner: int, depth: int) -> pa.DataType:
    """Returns the type with ids inside; ``depth`` counts the arrays and maps between it and the field ``owner``."""
    inner = owner * _STRUCTURED_ID_DEPTHS + depth + 1
    match data_type:
        case Atomic():
            return to_arrow(data_type)
        case Array(element):
            arrow = _parquet_type(element, owner, depth + 1)
            return pa.list_(_with_id("element", arrow, element.nullable, _STRUCTURED_ID_BASE + inner))
        case Map(key, value):
            key_arrow = _parquet_type(key, owner, depth + 1)
            value_arrow = _parquet_type(value, owner, depth + 1)
            return pa.map_(
                _with_id("key", key_arrow, False, _STRUCTURED_ID_BASE - inner),
                _with_id("value", value_arrow, value.nullable, _STRUCTURED_ID_BASE + inner),
            )
        case Row(fields):
            return pa.struct([_parquet_field(inside) for inside in fields])


def _with_id(name: str, arrow: pa.DataType, is_nullable: bool, field_id: int) -> pa.Field:
    return pa.field(name, arrow, is_nullable, {"PARQUET:field_id": str(field_id)})
