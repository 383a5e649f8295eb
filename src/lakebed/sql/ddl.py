"""Converts the CREATE TABLE and ALTER TABLE of Spark to Lakebed's columns, keys, options and schema changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lakebed.errors import OptionError, SchemaError, UnsupportedError
from lakebed.format.schema import evolution as change
from lakebed.format.types.data_types import DataType, Field
from lakebed.format.types.nested_defaults import is_constructor
from lakebed.format.types.spark_types import DEFAULT_KEY, fields_from_spark
from lakebed.format.types.sql_types import parse_literal
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.options_in_names import DELTA_MERGE_SCHEMA

_PROVIDERS: Final = ("paimon", "lakebed")
PATH: Final = "path"
_KEY_NAMES: Final = ("primary-key", "primary_key")
_PRIMARY_KEY: Final = "PrimaryKey"  # Spark's class of the constraint
# Properties that Spark sets itself; none of them is an option of a table.
_SPARKS_OWN: Final = frozenset(
    {"provider", "comment", "location", "owner", "external", "is_managed_location", "table_type", "collation"}
)
_STORED_AS: Final = "hive.stored-as"
_REPLACING: Final = {"DeleteColumn", "AddColumn"}  # in one statement only REPLACE COLUMNS has both
_OPTION_COPY: Final = "option."
_OF_WRITE: Final = DELTA_MERGE_SCHEMA.lower()  # an option of a writer is none of the table that it creates
_STRING: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "%": "\\%", "_": "\\_"}


@dataclass(frozen=True, slots=True)
class Definition:
    """The table that a CREATE TABLE describes."""

    columns: tuple[Field, ...]
    partition_by: tuple[str, ...]
    primary_key: tuple[str, ...]
    options: dict[str, str]
    comment: str | None


def definition(
    jvm: Jvm,
    columns: Any,
    transforms: Iterable[Any],
    properties: Mapping[str, str],
    constraints: Iterable[Any],
    place: str,
) -> Definition:
    """Returns the table that Spark's columns, partition transforms, properties and constraints describe.

    ``place`` is the folder of the table. A location is accepted if it is this folder, as in what SHOW CREATE TABLE
    shows.
    """
    provider = properties.get("provider")
    if provider is not None and provider.lower() not in _PROVIDERS:
        raise UnsupportedError(
            f'format("{provider}"): tables of this catalog are Paimon tables; write format("paimon"), or leave it out'
        )
    if _STORED_AS in properties:
        raise UnsupportedError(
            "STORED AS: option 'file.format' says how the files of a table are written; leave STORED AS out"
        )
    if properties.get("external") == "true":
        raise UnsupportedError("EXTERNAL: a table is stored in the folder of its database; leave EXTERNAL out")
    for name, what in (("location", "LOCATION"), (PATH, f"option {PATH!r}")):
        given = properties.get(name)
        if given is not None and properties.get("is_managed_location") != "true" and not _same_place(given, place):
            raise UnsupportedError(f"{what}: a table is stored in the folder of its database, {place}; leave it out")
    own = {
        name: value
        for name, value in properties.items()
        if name not in {*_SPARKS_OWN, PATH, *_KEY_NAMES}
        and name.lower() != _OF_WRITE
        and not name.startswith(_OPTION_COPY)
    }
    fields = struct_fields(jvm.connector.catalog.CatalogV2Util.v2ColumnsToStructType(columns))
    return Definition(
        fields,
        tuple(_partition_column(transform) for transform in transforms),
        _primary_key(properties, constraints),
        own,
        properties.get("comment"),
    )


def _primary_key(properties: Mapping[str, str], constraints: Iterable[Any]) -> tuple[str, ...]:
    """Returns the columns of the primary key: those of a property, or of the constraint PRIMARY KEY."""
    given = [
        tuple(column.strip() for column in properties[name].split(",")) for name in _KEY_NAMES if name in properties
    ]
    if len(given) > 1:
        raise OptionError("'primary-key' and 'primary_key' are the same option; give one of them")
    for constraint in constraints:
        if constraint.getClass().getSimpleName() != _PRIMARY_KEY:
            raise UnsupportedError(
                f"{constraint.toDDL()}: tables know no constraint but PRIMARY KEY (...) NOT ENFORCED; leave it out"
            )
        given.append(tuple(name for column in constraint.columns() for name in _path(column)))
    if len(set(given)) > 1:
        raise OptionError(
            "the constraint PRIMARY KEY and the option 'primary-key' name other columns; give one of them"
        )
    return given[0] if given else ()


def _same_place(given: str, place: str) -> bool:
    """Returns whether two texts name the same folder.

    >>> _same_place("file:///w/d.db/t/", "/w/d.db/t"), _same_place("/w/d.db/u", "/w/d.db/t")
    (True, False)
    """
    one, other = (re.sub(r"^file:/+", "/", text).rstrip("/") for text in (given, place))
    return one == other


def _partition_column(transform: Any) -> str:
    if transform.name() != "identity":
        raise UnsupportedError(
            f"{transform.toString()}: tables are partitioned by plain columns; for buckets set "
            "TBLPROPERTIES ('bucket' = 'n', 'bucket-key' = 'column')"
        )
    (name,) = _path(transform.references()[0])
    return name


def struct_fields(struct: Any) -> tuple[Field, ...]:
    """Returns the columns of a ``StructType`` in the JVM."""
    from pyspark.sql.types import StructType  # noqa: PLC0415 - Spark is optional

    raw = json.loads(struct.json())
    defaults = [column["metadata"].pop(DEFAULT_KEY, None) for column in raw["fields"]]
    return tuple(
        field if text is None else replace(field, default=_literal(text, (field.name,)))
        for field, text in zip(fields_from_spark(StructType.fromJson(raw)), defaults, strict=True)
    )


# ------------------------------------------------------------------------------------------------------- changes


def changes(jvm: Jvm, given: Sequence[Any], has_column: Callable[[tuple[str, ...]], bool]) -> list[change.Change]:
    """Converts Spark's changes of a table to schema changes."""
    found: list[change.Change] = []
    if len(given) > 1 and {item.getClass().getSimpleName() for item in given} == _REPLACING:
        raise UnsupportedError(
            "ALTER TABLE ... REPLACE COLUMNS would drop all columns with their values; add and drop columns one by one"
        )
    for item in given:
        kind = item.getClass().getSimpleName()
        if kind == "DeleteColumn":
            path = _path(item)
            if has_column(path) or not item.ifExists():
                found.append(change.DropColumn(path))
            continue
        make = _CHANGES.get(kind)
        if make is None:
            raise UnsupportedError(f"ALTER TABLE: {kind} is not a change that Paimon tables know")
        found.append(make(jvm, item))
    return found


def _add(jvm: Jvm, item: Any) -> change.Change:
    data_type = replace(_type(jvm, item.dataType(), _path(item)), nullable=bool(item.isNullable()))
    default = item.defaultValue()
    position = None if item.position() is None else _position(item.position())
    text = None if default is None else _literal(default.getSql(), _path(item))
    return change.AddColumn(_path(item), data_type, item.comment(), position, text)


def _set_property(_jvm: Jvm, item: Any) -> change.Change:
    name, value = item.property(), item.value()
    if name == "comment":
        return change.UpdateComment(value)
    return change.SetOption(_plain(name), value)


def _drop_constraint(_jvm: Jvm, _item: Any) -> change.Change:
    raise UnsupportedError(
        "ALTER TABLE: constraints cannot be dropped; the only one, PRIMARY KEY (...) NOT ENFORCED, is given in CREATE TABLE"
    )


def _remove_property(_jvm: Jvm, item: Any) -> change.Change:
    name = item.property()
    return change.UpdateComment(None) if name == "comment" else change.RemoveOption(_plain(name))


def _plain(name: str) -> str:
    if name in _KEY_NAMES:
        raise UnsupportedError("ALTER TABLE: the primary key cannot change; create a new table and copy the rows")
    if name in _SPARKS_OWN:
        raise UnsupportedError(f"ALTER TABLE: {name!r} is not a property that a Paimon table has")
    return name


_CHANGES: Final[Mapping[str, Callable[[Jvm, Any], change.Change]]] = {
    "AddColumn": _add,
    "RenameColumn": lambda _, item: change.RenameColumn(_path(item), item.newName()),
    "UpdateColumnType": lambda jvm, item: change.UpdateColumnType(
        _path(item), _type(jvm, item.newDataType(), _path(item))
    ),
    "UpdateColumnNullability": lambda _, item: change.UpdateColumnNullability(_path(item), bool(item.nullable())),
    "UpdateColumnComment": lambda _, item: change.UpdateColumnComment(_path(item), item.newComment()),
    "UpdateColumnPosition": lambda _, item: change.UpdateColumnPosition(_path(item), _position(item.position())),
    "UpdateColumnDefaultValue": lambda _, item: change.UpdateColumnDefault(
        _path(item), _literal(item.newDefaultValue(), _path(item)) if item.newDefaultValue() else None
    ),
    "SetProperty": _set_property,
    "RemoveProperty": _remove_property,
    "DropConstraint": _drop_constraint,
}


def _path(item: Any) -> tuple[str, ...]:
    return tuple(item.fieldNames())


def _type(jvm: Jvm, data_type: Any, path: tuple[str, ...]) -> DataType:
    struct = jvm.sql.types.StructType().add(path[-1], data_type)
    (column,) = struct_fields(struct)
    return column.type


def _position(position: Any) -> change.Position:
    return change.After(position.column()) if position.getClass().getSimpleName() == "After" else change.First()


def _literal(text: str, path: tuple[str, ...]) -> str | None:
    r"""Returns the value of a literal of Spark's SQL.

    >>> _literal(r"'it\'s'", ("a",)), _literal("'it''s'", ("a",)), _literal("DATE '2024-01-01'", ("a",))
    ("it's", "it's", '2024-01-01')
    >>> _literal("array(1, 2)", ("a",))
    'array(1, 2)'
    """
    if is_constructor(text):
        return text
    if _STRING.fullmatch(text):
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1].replace("''", "'"))
    try:
        return parse_literal(text)
    except SchemaError:
        raise SchemaError(f"column {'.'.join(path)!r}: a default is a literal, not {text!r}") from None
