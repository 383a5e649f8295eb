"""What the options of a read or write name: a table, some columns and rows of it, a version, a way to write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceWriter
from pyspark.sql.types import StructType

from lakebed.datasource.source import RowsReader, ScanReader, TableWriter, WriteMode
from lakebed.errors import NotFoundError, OptionError, SchemaError, unknown_name
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.format.types.data_types import Array, Field, field_from_arrow
from lakebed.lake import Lake, connect
from lakebed.options import TableOptions
from lakebed.scan import Scan
from lakebed.spark.columns import spark_schema
from lakebed.spark.worker_errors import plain_errors
from lakebed.storage import LocalStorage
from lakebed.streams.stream_files import ROW_KIND
from lakebed.table import Table

Options = Mapping[str, str]

_PLACE: Final = frozenset({"path", "warehouse"})
_VERSION: Final = {
    "version": "version",
    "scan.snapshot-id": "version",
    "scan.version": "version",
    "tag": "tag",
    "scan.tag-name": "tag",
    "timestamp": "timestamp",
    "scan.timestamp": "timestamp",
    "scan.timestamp-millis": "timestamp",
}
STREAM_STARTS: Final = frozenset({"scan.snapshot-id", "scan.timestamp", "scan.timestamp-millis"})
_READING: Final = frozenset({"columns", "where", *_VERSION})
_WRITING: Final = frozenset({"partition", "partitionoverwritemode", "row_kind"})
STREAM_LIMITS: Final = {
    "read.stream.maxfilespertrigger": "files",
    "read.stream.maxbytespertrigger": "size",
    "read.stream.maxrowspertrigger": "rows",
    "read.stream.maxsnapshotspertrigger": "snapshots",
}
NEW_COLUMNS: Final = "read.stream.newcolumns"
CHECKPOINT: Final = "checkpointlocation"
_STREAMING: Final = frozenset({*STREAM_LIMITS, NEW_COLUMNS, CHECKPOINT})
KINDS: Final = "read.changelog"
SEQUENCES: Final = "table-read.sequence-number.enabled"
_AUDIT_LOG: Final = "$audit_log"
_BINLOG: Final = "$binlog"
_DATABASE_SUFFIX: Final = ".db"


def read_schema(options: Options) -> StructType:
    """The columns that a read with these options gives."""
    with plain_errors():
        given = plain_names(options)
        if wants_updates(given) or wants_kinds(given):
            return spark_schema(_fields_with_kinds(without_kinds(given), updates=wants_updates(given)))
        return spark_schema(read_fields(given))


def read_fields(options: Options) -> list[Field]:
    """The columns of a read. A stream may begin at a moment of which a batch read finds no version: it has today's."""
    try:
        return _fields(_scan(options))
    except NotFoundError:
        if not any(name in options for name in STREAM_STARTS):
            raise
        return _fields(_scan({name: value for name, value in options.items() if name not in STREAM_STARTS}))


def _fields_with_kinds(options: Options, *, updates: bool) -> list[Field]:
    """The columns of ``$audit_log`` or ``$binlog``, without reading it: a stream of it is asked for its columns too."""
    every = read_fields({name: value for name, value in options.items() if name not in {"columns", "where"}})
    system = [field_from_arrow(ROW_KIND)]
    table = _table(options)
    if updates:
        every = as_arrays(every)
    elif table.schema.primary_keys and TableOptions(table.options).get(SEQUENCES):
        system.append(field_from_arrow(pa.field(SEQUENCE_COLUMN, pa.int64())))
    fields = {field.name: field for field in (*system, *every)}
    names = chosen_columns(options) or list(fields)
    for name in names:
        if name not in fields:
            raise NotFoundError(
                unknown_name(
                    "column", name, fields, where=f"table {options['path']}{_BINLOG if updates else _AUDIT_LOG}"
                )
            )
    return [fields[name] for name in names]


def wants_kinds(options: Options) -> bool:
    """Whether rows are asked for with what they are: through the option, or the name of the table."""
    asked = options.get(KINDS, "false").strip().lower()
    if asked not in {"true", "false"}:
        raise OptionError(f"option {KINDS!r} must be true or false, not {asked!r}")
    return asked == "true" or options.get("path", "").endswith(_AUDIT_LOG)


def wants_updates(options: Options) -> bool:
    """Whether updates are asked for as one row each, with arrays of what was before and after."""
    return options.get("path", "").endswith(_BINLOG)


def as_arrays(fields: Iterable[Field]) -> list[Field]:
    """Columns as ``$binlog`` has them."""
    return [replace(field, type=Array(field.type)) for field in fields]


def without_kinds(options: Options) -> dict[str, str]:
    """The same options for the table itself."""
    plain = {name: value for name, value in options.items() if name != KINDS}
    return plain | {"path": plain.get("path", "").removesuffix(_AUDIT_LOG).removesuffix(_BINLOG)}


def make_reader(options: Options, schema: StructType) -> DataSourceReader:
    """A reader of the columns in ``schema``, which must be of the types that they are."""
    with plain_errors():
        given = plain_names(options)
        if wants_updates(given) or wants_kinds(given):
            plain = without_kinds(given)
            given = plain | {"path": plain["path"] + (_BINLOG if wants_updates(given) else _AUDIT_LOG)}
        scan = _scan(given)
        fields = {field.name: field for field in _fields(scan)}
        check_columns(schema, fields, f"table {given['path']}")
        if schema.names != list(fields):
            scan = _scan(given, schema.names)
        return ScanReader(scan.parts) if isinstance(scan, Scan) else RowsReader(scan.to_arrow)


def make_writer(options: Options, schema: StructType, *, overwrite: bool) -> DataSourceWriter:
    """A writer of rows with this schema."""
    with plain_errors():
        given = plain_names(options)
        table = writable(given)
        mode = WriteMode(overwrite, _partition(given), _dynamic(given), given.get("row_kind"))
        if not overwrite and (mode.partition is not None or mode.dynamic is not None):
            raise OptionError("options 'partition' and 'partitionOverwriteMode' are for mode(\"overwrite\")")
        return TableWriter(table._store, schema, mode)  # noqa: SLF001 - one product, two packages


def writable(options: Options) -> Table:
    """The table that a write names."""
    _refuse(options, {*_READING, *STREAM_LIMITS, NEW_COLUMNS}, "is for reading")
    table = _table(options)
    if not isinstance(table, Table):
        raise OptionError(f"{table.name} is a system table; it can only be read")
    return table


# -------------------------------------------------------------------------------------------------- the table and its scan


def plain_names(options: Options) -> dict[str, str]:
    """The options by their names in small letters, as Spark treats names of options alike whatever their case."""
    return {name.lower(): value for name, value in options.items()}


def _refuse(options: Options, names: Iterable[str], why: str) -> None:
    for name in sorted(names):
        if name in options:
            raise OptionError(f"option {name!r} {why}; leave it out")


def _table(options: Options) -> Any:
    """The table that the options name; those of them that are nobody else's are options of the table."""
    return open_table(options, _PLACE | _READING | _WRITING | _STREAMING)


def stream_table(options: Options) -> Table:
    """The table that a stream reads; the options that say where it begins are options of the table."""
    _refuse(options, _WRITING, "is for writing")
    _refuse(options, {name for name in _VERSION if not name.startswith("scan.")}, "is for batches, see 'scan.mode'")
    _refuse(options, {"scan.tag-name", "scan.version"}, "is for batches; a stream begins with 'scan.snapshot-id'")
    table = open_table(options, _PLACE | _WRITING | _STREAMING | {"columns", "where"})
    if not isinstance(table, Table):
        raise OptionError(f"{table.name} is a system table, which is no stream; only ...$audit_log and ...$binlog are")
    return table


def open_table(options: Options, others: frozenset[str]) -> Any:
    """The table that options name, with those options of its own that are not among ``others``."""
    own = {name: value for name, value in options.items() if name not in others}
    path, warehouse = options.get("path"), options.get("warehouse")
    if path is None:
        raise OptionError(
            'name the table: load("/folder/of/the/table"), or option("warehouse", ...) and load("database.table")'
        )
    if warehouse is None:
        return _open_folder(path).table(_name_of_folder(path), options=own)
    if not Path(warehouse.removeprefix("file://")).is_dir():
        raise NotFoundError(f"there is no warehouse at {warehouse}")
    return connect(warehouse).table(path, options=own)


def _scan(options: Options, columns: list[str] | None = None) -> Any:
    _refuse(options, _WRITING, "is for writing")
    table = _table(options)
    wanted = columns or chosen_columns(options)
    if isinstance(table, Table):
        return table.scan(wanted, options.get("where"), **_version(options))
    _refuse(options, _VERSION, "is not for system tables")
    return table.scan(wanted, options.get("where"))


def check_columns(schema: StructType, fields: Mapping[str, Field], where: str) -> None:
    """Refuse columns that are not there, or not of the type that they are asked for."""
    for column in schema:
        if column.name not in fields:
            raise SchemaError(unknown_name("column", column.name, fields, where=where))
        own = spark_schema([fields[column.name]])[0].dataType
        if column.dataType != own or not column.nullable:
            given = column.dataType.simpleString() + ("" if column.nullable else " not null")
            raise SchemaError(
                f"column {column.name!r} of {where} is {own.simpleString()}, not {given}; read it as it is and cast it"
            )


def _open_folder(path: str) -> Lake:
    """The warehouse around the folder of a table."""
    folder = Path(path.removeprefix("file://"))
    if not path.removeprefix("file://").startswith("/") or folder.parent.suffix != _DATABASE_SUFFIX:
        raise OptionError(
            f"{path!r} is not the folder of a table (/warehouse/database.db/table); to name a table as database.table, "
            'add option("warehouse", ...)'
        )
    if not folder.parent.is_dir():
        raise NotFoundError(f"there is no table at {path}: {folder.parent} does not exist")
    return Lake(str(folder.parent.parent), LocalStorage(), {})


def _name_of_folder(path: str) -> str:
    folder = Path(path.removeprefix("file://"))
    return f"{folder.parent.name.removesuffix(_DATABASE_SUFFIX)}.{folder.name}"


def _fields(scan: Any) -> list[Field]:
    schema: pa.Schema = scan.schema if isinstance(scan, Scan) else scan.to_arrow().schema
    return [field_from_arrow(column) for column in schema]


def _version(options: Mapping[str, str]) -> dict[str, Any]:
    given = {name: options[name] for name in _VERSION if name in options}
    if len(given) > 1:
        raise OptionError(f"options {' and '.join(map(repr, given))} both name a version; give one of them")
    return {_VERSION[name]: _moment(name, value) for name, value in given.items()}


def _moment(name: str, value: str) -> Any:
    """Epoch milliseconds come as text here, as all options do."""
    if name in {"scan.snapshot-id", "scan.timestamp-millis"} or (name == "timestamp" and value.isdigit()):
        try:
            return int(value)
        except ValueError:
            raise OptionError(f"option {name!r} must be a number, not {value!r}") from None
    return value


def chosen_columns(options: Mapping[str, str]) -> list[str] | None:
    """The columns that option ``columns`` names, ``None`` without it."""
    text = options.get("columns")
    if text is None:
        return None
    if text.lstrip().startswith("["):
        listed = _json("columns", text)
        if not all(isinstance(name, str) for name in listed):
            raise OptionError(f"option 'columns' must be a list of names, not {text!r}")
        return list(listed)
    return [name.strip() for name in text.split(",")]


def _partition(options: Mapping[str, str]) -> dict[str, Any] | None:
    text = options.get("partition")
    if text is None:
        return None
    if text.lstrip().startswith("{"):
        return dict(_json("partition", text))
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in pairs):
        raise OptionError(f"option 'partition' must be like dt=20250101, region=eu or a JSON object, not {text!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError(f"option {name!r} is not JSON: {text!r} ({error})") from None


def _dynamic(options: Mapping[str, str]) -> bool | None:
    value = options.get("partitionoverwritemode")
    if value is None:
        return None
    if value.lower() not in {"dynamic", "static"}:
        raise OptionError(f"option 'partitionOverwriteMode' must be dynamic or static, not {value!r}")
    return value.lower() == "dynamic"
