"""Changes of a table's schema, and the schema that results from them.

``apply_changes`` takes a schema and a list of changes and returns the next schema (id + 1); nothing is read or written.
Changes are applied in order, all or none. The rules are those of Paimon. A change is refused if old files could not be
read with the new schema:

* A new column is nullable, because old rows have no value for it. It gets the next free id; ids are never used twice.
* A rename keeps the id. Options that name the column (``bucket-key``, ``sequence.field``, ``fields.<column>.*``)
  follow.
* Partition and primary key columns cannot be dropped or change their type, and partition columns cannot be renamed. The
  types of columns of the bucket key cannot change, because their hashes would. Columns named in options cannot be
  dropped.
* A type can only change if every old value is a value of the new type (:func:`can_widen`).
* Nullable columns cannot become NOT NULL.
* Options that decide how existing files are read cannot change once there is a snapshot
  (:func:`~lakebed.format.schema.option_changes.check_option_change`).

A path names a column: a string for a column of the table, a tuple for a field inside it. Fields of a ROW have their
names, the element of an ARRAY is ``"element"``, the value of a MAP is ``"value"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lakebed.errors import SchemaError, unknown_name
from lakebed.format.schema.option_changes import (
    check_option_change,
    named_columns,
    rename_in_options,
)
from lakebed.format.schema.table_schema import (
    CURRENT_VERSION,
    TableSchema,
    assign_ids,
    check_columns,
    check_default,
    differ_in_case,
    highest_id,
)
from lakebed.format.types.data_types import STRING_ROOTS, Array, Atomic, DataType, Field, Map, Row
from lakebed.format.types.sql_types import parse_data_type
from lakebed.format.types.widening import can_widen
from lakebed.options import ColumnOptions, TableOptions

__all__ = [
    "AddColumn",
    "After",
    "Before",
    "Change",
    "DropColumn",
    "First",
    "Last",
    "Path",
    "Position",
    "RemoveOption",
    "RenameColumn",
    "SetOption",
    "UpdateColumnComment",
    "UpdateColumnDefault",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
    "apply_changes",
    "can_widen",
]

Path: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class First:
    """Before all other columns of the same parent."""


@dataclass(frozen=True, slots=True)
class Last:
    """After all other columns of the same parent."""


@dataclass(frozen=True, slots=True)
class After:
    """Right after a column of the same parent."""

    name: str


@dataclass(frozen=True, slots=True)
class Before:
    """Right before a column of the same parent."""

    name: str


Position: TypeAlias = First | Last | After | Before


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Adds a column; the type may be given as text.

    A default applies to rows written from now on; in old rows the column is null.
    """

    path: Path
    type: DataType | str
    description: str | None = None
    position: Position | None = None
    default: str | None = None


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Renames a column; ``new_name`` is only the last part of its path."""

    path: Path
    new_name: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drops a column. Its id is never used again."""

    path: Path


@dataclass(frozen=True, slots=True)
class UpdateColumnType:
    """Changes the type of a column to a wider one. Its nullability stays."""

    path: Path
    type: DataType | str


@dataclass(frozen=True, slots=True)
class UpdateColumnNullability:
    """Makes a column nullable."""

    path: Path
    nullable: bool


@dataclass(frozen=True, slots=True)
class UpdateColumnComment:
    """Changes or removes the comment of a column."""

    path: Path
    comment: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnDefault:
    """Changes or removes the value for rows that are written without this column."""

    path: Path
    default: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnPosition:
    """Moves a column among those of the same parent."""

    path: Path
    position: Position


@dataclass(frozen=True, slots=True)
class SetOption:
    """Sets an option."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoveOption:
    """Removes an option, so that its default applies."""

    key: str


@dataclass(frozen=True, slots=True)
class UpdateComment:
    """Changes or removes the comment of the table."""

    comment: str | None


Change: TypeAlias = (
    AddColumn
    | RenameColumn
    | DropColumn
    | UpdateColumnType
    | UpdateColumnNullability
    | UpdateColumnComment
    | UpdateColumnDefault
    | UpdateColumnPosition
    | SetOption
    | RemoveOption
    | UpdateComment
)


def apply_changes(
    schema: TableSchema, changes: Sequence[Change], *, time_millis: int, has_snapshots: bool = True
) -> TableSchema:
    """Returns the next schema of the table, or the same one if the changes change nothing.

    ``has_snapshots`` says whether the table may have files; immutable options can only change while it has none.
    """
    changed = schema
    for change in changes:
        changed = _apply(changed, change, has_snapshots)
    if changed == schema:
        return schema
    # Schemas of older versions were converted when they were read, so the new schema has the current version.
    return replace(changed, id=schema.id + 1, time_millis=time_millis, version=CURRENT_VERSION)


def _apply(schema: TableSchema, change: Change, has_snapshots: bool) -> TableSchema:
    match change:
        case AddColumn():
            return _add(schema, change)
        case RenameColumn():
            return _rename(schema, _parts(change.path), change.new_name)
        case DropColumn():
            return _drop(schema, _parts(change.path))
        case UpdateColumnType():
            return _retype(schema, _parts(change.path), _type_of(change))
        case UpdateColumnNullability():
            return _change_nullability(schema, _parts(change.path), change.nullable)
        case UpdateColumnComment():
            return _edit_field(schema, change.path, lambda f: replace(f, description=change.comment))
        case UpdateColumnDefault():
            return _edit_field(schema, change.path, lambda f: _with_default(f, change.default))
        case UpdateColumnPosition():
            return _move(schema, _parts(change.path), change.position)
        case SetOption():
            check_option_change(schema.options, change.key, change.value, has_snapshots)
            return schema.with_options({**schema.options, change.key: change.value})
        case RemoveOption():
            check_option_change(schema.options, change.key, None, has_snapshots)
            return schema.with_options({k: v for k, v in schema.options.items() if k != change.key})
        case UpdateComment():
            return replace(schema, comment=change.comment)


# ----------------------------------------------------------------------------------------------- columns


def _type_of(change: AddColumn | UpdateColumnType) -> DataType:
    return parse_data_type(change.type) if isinstance(change.type, str) else change.type


def _add(schema: TableSchema, change: AddColumn) -> TableSchema:
    path = _parts(change.path)
    data_type = _type_of(change)
    if not data_type.nullable:
        raise SchemaError(
            f"new column {_dotted(path)!r} cannot be NOT NULL, because old rows have no value for it; add it nullable"
        )
    column = Field(0, path[-1], data_type, change.description, change.default)
    highest = max(schema.highest_field_id, highest_id(schema.fields))
    (column,) = assign_ids([column], highest + 1)
    position = change.position
    if position is None and len(path) == 1:
        position = _default_position(schema)

    def insert(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        _check_free(fields, path[-1], path)
        return _placed(fields, column, position or Last(), path)

    added = _edit_fields(schema, path, insert)
    check_columns(added.fields)
    return replace(added, highest_field_id=highest_id([column]))


def _default_position(schema: TableSchema) -> Position | None:
    before_partition = TableOptions(schema.options).add_column_before_partition
    first = next((name for name in schema.field_names if name in schema.partition_keys), None)
    return Before(first) if before_partition and first is not None else None


def _rename(schema: TableSchema, path: tuple[str, ...], new_name: str) -> TableSchema:
    if path[-1] == new_name:
        return _edit_field(schema, path, lambda column: column)
    _refuse_for(schema.partition_keys, path, "partition column", "renamed")

    def rename(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        index = _find(fields, path[-1], path[:-1])
        _check_free(fields, new_name, (*path[:-1], new_name), instead_of=path[-1])
        return (*fields[:index], replace(fields[index], name=new_name), *fields[index + 1 :])

    renamed = _edit_fields(schema, path, rename)
    check_columns(renamed.fields)
    if len(path) > 1:
        _refuse_nested_key(schema, path, "renamed")
        return renamed
    keys = tuple(new_name if name == path[0] else name for name in schema.primary_keys)
    return replace(renamed, primary_keys=keys, options=rename_in_options(schema.options, path[0], new_name))


def _drop(schema: TableSchema, path: tuple[str, ...]) -> TableSchema:
    _refuse_for(schema.partition_keys, path, "partition column", "dropped")
    _refuse_for(schema.primary_keys, path, "primary key column", "dropped")

    def drop(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        index = _find(fields, path[-1], path[:-1])
        if len(fields) == 1:
            place = f"column {_dotted(path[:-1])!r}" if path[1:] else "the table"
            raise SchemaError(f"{_dotted(path)!r} is the last field of {place} and cannot be dropped")
        return (*fields[:index], *fields[index + 1 :])

    dropped = _edit_fields(schema, path, drop)
    if len(path) > 1:
        _refuse_nested_key(schema, path, "dropped")
        return dropped
    naming = [key for key, value in schema.options.items() if path[0] in named_columns(key, value)]
    if naming:
        raise SchemaError(f"column {path[0]!r} cannot be dropped: option {naming[0]!r} names it; change that first")
    return dropped


def _retype(schema: TableSchema, path: tuple[str, ...], new: DataType) -> TableSchema:
    _refuse_for(schema.partition_keys, path, "partition column", "retyped")
    _refuse_for(schema.primary_keys, path, "primary key column", "retyped")

    def retype(old: DataType) -> DataType:
        if old.nullable and not new.nullable:
            raise _null_to_not_null(path)
        wanted = replace(new, nullable=old.nullable)
        if wanted == old:
            return old
        _refuse_for(schema.bucket_keys, path, "bucket key column", "retyped")
        if isinstance(old, Row | Array | Map):
            raise SchemaError(
                f"column {_dotted(path)!r} is {old}, whose type cannot change as a whole; change the fields inside it, "
                "by name, 'element' or 'value'"
            )
        if not can_widen(old, wanted):
            raise SchemaError(
                f"column {_dotted(path)!r} cannot change from {old} to {wanted}: not every old value would be one of "
                "the new type; add a new column instead"
            )
        if path[0] in TableOptions(schema.options).sequence_field and old.root not in STRING_ROOTS:
            _refuse_text(path, wanted)
        return wanted

    return _edit_type(schema, path, retype)


def _refuse_text(path: tuple[str, ...], wanted: DataType) -> None:
    if isinstance(wanted, Atomic) and wanted.root in STRING_ROOTS:
        raise SchemaError(f"sequence field {_dotted(path)!r} cannot become {wanted}: its values would sort as text")


def _change_nullability(schema: TableSchema, path: tuple[str, ...], is_nullable: bool) -> TableSchema:
    if is_nullable:
        _refuse_for(schema.primary_keys, path, "primary key column", "made nullable")

    def change(old: DataType) -> DataType:
        if old.nullable and not is_nullable:
            raise _null_to_not_null(path)
        return replace(old, nullable=is_nullable)

    return _edit_type(schema, path, change)


def _move(schema: TableSchema, path: tuple[str, ...], position: Position) -> TableSchema:
    def move(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        index = _find(fields, path[-1], path[:-1])
        return _placed((*fields[:index], *fields[index + 1 :]), fields[index], position, path)

    return _edit_fields(schema, path, move)


def _placed(fields: tuple[Field, ...], column: Field, position: Position, path: tuple[str, ...]) -> tuple[Field, ...]:
    match position:
        case First():
            index = 0
        case Last():
            index = len(fields)
        case After(name):
            index = _find(fields, name, path[:-1]) + 1
        case Before(name):
            index = _find(fields, name, path[:-1])
    return (*fields[:index], column, *fields[index:])


def _with_default(column: Field, default: str | None) -> Field:
    changed = replace(column, default=default)
    check_default(changed)
    return changed


def _refuse_for(names: Sequence[str], path: tuple[str, ...], what: str, done: str) -> None:
    if len(path) == 1 and path[0] in names:
        raise SchemaError(f"{what} {path[0]!r} cannot be {done}; create a new table and copy the rows")


def _null_to_not_null(path: tuple[str, ...]) -> SchemaError:
    return SchemaError(
        f"column {_dotted(path)!r} cannot become NOT NULL, because old rows may hold nulls; leave it nullable"
    )


# ------------------------------------------------------------------------------------------------- paths


def _parts(path: Path) -> tuple[str, ...]:
    parts = (path,) if isinstance(path, str) else path
    if not parts:
        raise SchemaError("the path of a column needs at least one name")
    return parts


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path)


def _edit_type(schema: TableSchema, path: tuple[str, ...], edit: Callable[[DataType], DataType]) -> TableSchema:
    """Returns the schema with the type at a path replaced."""
    table = _at(Row(schema.fields), path, (), edit)
    assert isinstance(table, Row)  # noqa: S101 - a path of at least one name ends inside the table
    return replace(schema, fields=table.fields)


def _edit_fields(
    schema: TableSchema, path: tuple[str, ...], edit: Callable[[tuple[Field, ...]], tuple[Field, ...]]
) -> TableSchema:
    """Returns the schema with the list of fields that the last name of a path belongs to replaced."""

    def in_row(data_type: DataType) -> DataType:
        if not isinstance(data_type, Row):
            raise SchemaError(f"column {_dotted(path[:-1])!r} is {data_type} and has no field {path[-1]!r}")
        return replace(data_type, fields=edit(data_type.fields))

    return _edit_type(schema, path[:-1], in_row)


def _edit_field(schema: TableSchema, path: Path, edit: Callable[[Field], Field]) -> TableSchema:
    parts = _parts(path)

    def in_list(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        index = _find(fields, parts[-1], parts[:-1])
        return (*fields[:index], edit(fields[index]), *fields[index + 1 :])

    return _edit_fields(schema, parts, in_list)


def _at(
    data_type: DataType, path: tuple[str, ...], walked: tuple[str, ...], edit: Callable[[DataType], DataType]
) -> DataType:
    if not path:
        return edit(data_type)
    head, rest, reached = path[0], path[1:], (*walked, path[0])
    match data_type:
        case Row(fields):
            index = _find(fields, head, walked)
            inside = replace(fields[index], type=_at(fields[index].type, rest, reached, edit))
            return replace(data_type, fields=(*fields[:index], inside, *fields[index + 1 :]))
        case Array(element) if head == "element":
            return replace(data_type, element=_at(element, rest, reached, edit))
        case Map(_, value) if head == "value":
            return replace(data_type, value=_at(value, rest, reached, edit))
        case Map() if head == "key":
            raise SchemaError(f"the key of map {_dotted(walked)!r} cannot be changed; only its value can")
    inside_name = {Array: ", only 'element'", Map: ", only 'value'"}.get(type(data_type), "")
    raise SchemaError(f"column {_dotted(walked)!r} is {data_type} and has no field {head!r}{inside_name}")


def _find(fields: tuple[Field, ...], name: str, parent: tuple[str, ...]) -> int:
    names = [column.name for column in fields]
    if name not in names:
        where = f"column {_dotted(parent)!r}" if parent else ""
        raise SchemaError(unknown_name("field" if parent else "column", name, names, where=where))
    return names.index(name)


def _check_free(fields: tuple[Field, ...], name: str, path: tuple[str, ...], *, instead_of: str | None = None) -> None:
    others = [column.name for column in fields if column.name != instead_of]
    if name in others:
        raise SchemaError(f"there is already a column {_dotted(path)!r}; choose another name")
    similar = next((other for other in others if other.casefold() == name.casefold()), None)
    if similar is not None and len(path) == 1:
        raise SchemaError(differ_in_case(similar, name))


def _refuse_nested_key(schema: TableSchema, path: tuple[str, ...], done: str) -> None:
    column = TableOptions(schema.options).column(path[0])
    if path[-1] in column.nested_key:
        option = column.stored_name(ColumnOptions.nested_key)
        raise SchemaError(f"field {_dotted(path)!r} cannot be {done}: option {option!r} names it; change that first")
