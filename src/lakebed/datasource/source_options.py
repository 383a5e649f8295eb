"""The options of ``format("lakebed")``: which table, columns, rows, version and partition a read or a write means."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from lakebed.errors import NotFoundError, OptionError, SchemaError, unknown_name
from lakebed.format.partition_names import parse_partition_spec
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.format.types.data_types import Array, Field, field_from_arrow
from lakebed.lake import Lake, connect, open_any
from lakebed.options import TableOptions
from lakebed.scan import Scan
from lakebed.spark.columns import spark_schema
from lakebed.storage import open_storage, plain_path
from lakebed.storage.location import is_remote_path, parse_location
from lakebed.storage.storage_options import storage_option
from lakebed.streams.stream_files import ROW_KIND
from lakebed.system_tables import SystemScan, SystemTable
from lakebed.table import Table

Options = Mapping[str, str]

_PLACE: Final = frozenset({"path", "warehouse"})
_VERSION: Final = {
    "version": "version",
    TableOptions.scan_snapshot_id.name: "version",
    TableOptions.scan_version.name: "version",
    "tag": "tag",
    TableOptions.scan_tag_name.name: "tag",
    "timestamp": "timestamp",
    TableOptions.scan_timestamp.name: "timestamp",
    TableOptions.scan_timestamp_millis.name: "timestamp",
    "versionasof": "version",
    "timestampasof": "timestamp",
}
_MILLIS: Final = TableOptions.scan_timestamp_millis.name
_SNAPSHOT_ID: Final = TableOptions.scan_snapshot_id.name
STREAM_STARTS: Final = frozenset({_SNAPSHOT_ID, TableOptions.scan_timestamp.name, _MILLIS})
_READING: Final = frozenset({"columns", "where", *_VERSION})
_WRITING: Final = frozenset({"partition", "partitionoverwritemode", "row_kind"})
STREAM_LIMITS: Final = {
    TableOptions.read_stream_max_files.name.lower(): "files",
    TableOptions.read_stream_max_bytes.name.lower(): "size",
    TableOptions.read_stream_max_rows.name.lower(): "rows",
    "read.stream.maxsnapshotspertrigger": "snapshots",
}
NEW_COLUMNS: Final = "read.stream.newcolumns"
CHECKPOINT: Final = "checkpointlocation"
_STREAMING: Final = frozenset({*STREAM_LIMITS, NEW_COLUMNS, CHECKPOINT})
KINDS: Final = TableOptions.read_changelog.name
SEQUENCES: Final = TableOptions.table_read_sequence_number.name
AUDIT_LOG: Final = "$audit_log"
BINLOG: Final = "$binlog"
_DATABASE_SUFFIX: Final = ".db"


def plain_names(options: Options) -> dict[str, str]:
    """Returns the options with lower-case names: Spark ignores the case of option names."""
    return {name.lower(): value for name, value in options.items()}


# ----------------------------------------------------------------------------------------------------- the table


def readable_table(options: Options) -> Table | SystemTable:
    """Opens the table of a batch read. Options that the data source does not know are options of the table."""
    return open_table(options, _PLACE | _READING | _WRITING | _STREAMING)


def writable_table(options: Options) -> Table:
    """Opens the table of a write; raises OptionError for a system table or an option that is for reading."""
    _refuse(options, {*_READING, *STREAM_LIMITS, NEW_COLUMNS}, "is for reading")
    table = readable_table(options)
    if not isinstance(table, Table):
        raise OptionError(f"{table.name} is a system table; it can only be read")
    return table


def stream_table(options: Options) -> Table:
    """Opens the table that a stream reads. The options that say where the stream starts are options of the table."""
    _refuse(options, _WRITING, "is for writing")
    _refuse(options, {name for name in _VERSION if not name.startswith("scan.")}, "is for batches, see 'scan.mode'")
    named = {TableOptions.scan_tag_name.name, TableOptions.scan_version.name}
    _refuse(options, named, "is for batches; a stream begins with 'scan.snapshot-id'")
    table = open_table(options, _PLACE | _WRITING | _STREAMING | {"columns", "where"})
    if not isinstance(table, Table):
        raise OptionError(
            f"{table.name} is a system table and cannot be read as a stream; only ...$audit_log and ...$binlog can"
        )
    return table


def open_table(options: Options, others: frozenset[str]) -> Table | SystemTable:
    """Opens the table that ``path`` and ``warehouse`` name.

    Options outside of ``others`` are passed on to the table.
    """
    settings = {name: value for name, value in options.items() if storage_option(name) is not None}
    own = {name: value for name, value in options.items() if name not in others and name not in settings}
    path, warehouse = options.get("path"), options.get("warehouse")
    if path is None:
        raise OptionError(
            'name the table: load("/folder/of/the/table"), or option("warehouse", ...) and load("database.table")'
        )
    if warehouse is None:
        folder = _folder(path)
        return open_any(_existing(posixpath.dirname(folder), settings, path), _name_of_folder(folder), options=own)
    place = plain_path(warehouse)
    if not is_remote_path(place) and not open_storage(place, settings).exists(place):
        raise NotFoundError(f"there is no warehouse at {warehouse}")
    return open_any(connect(place, options=settings), path, options=own)


def _folder(path: str) -> str:
    """Returns the folder of a table as Lakebed writes it; raises OptionError if the path cannot be one."""
    is_remote = is_remote_path(path)
    plain = plain_path(path) if is_remote else path.removeprefix("file://").rstrip("/")
    inner = f"/{parse_location(plain).key}" if is_remote else plain
    if not inner.startswith("/") or not posixpath.dirname(inner).endswith(_DATABASE_SUFFIX):
        raise OptionError(
            f"{path!r} is not the folder of a table (/warehouse/database.db/table); to name a table as database.table, "
            'add option("warehouse", ...)'
        )
    return plain


def _existing(database: str, settings: Options, path: str) -> Lake:
    """Opens the warehouse that contains the folder of a database."""
    warehouse = posixpath.dirname(database)
    storage = open_storage(warehouse, settings)
    if not storage.is_remote and not storage.exists(database):
        raise NotFoundError(f"there is no table at {path}: {database} does not exist")
    return Lake(warehouse, storage, {})


def _name_of_folder(folder: str) -> str:
    database, _, table = folder.rpartition("/")
    return f"{posixpath.basename(database).removesuffix(_DATABASE_SUFFIX)}.{table}"


def _refuse(options: Options, names: Iterable[str], why: str) -> None:
    for name in sorted(names):
        if name in options:
            raise OptionError(f"option {name!r} {why}; leave it out")


# ------------------------------------------------------------------------------------------- the scan and its columns


def open_scan(options: Options, columns: list[str] | None = None) -> Scan | SystemScan:
    """Returns the scan that the options describe, of these columns instead of the option ``columns`` if given."""
    _refuse(options, _WRITING, "is for writing")
    table = readable_table(options)
    wanted = columns or chosen_columns(options)
    if isinstance(table, Table):
        return table.scan(wanted, options.get("where"), **_version(options))
    _refuse(options, _VERSION, "is not for system tables")
    return table.scan(wanted, options.get("where"))


def fields_of_scan(scan: Scan | SystemScan) -> list[Field]:
    """Returns the columns of a scan; the rows of a system table are computed to know them."""
    schema: pa.Schema = scan.schema if isinstance(scan, Scan) else scan.to_arrow().schema
    return [field_from_arrow(column) for column in schema]


def read_fields(options: Options) -> list[Field]:
    """Returns the columns of a read.

    A stream may start at a time for which a batch read finds no snapshot. Its columns are those of the latest schema.
    """
    try:
        return fields_of_scan(open_scan(options))
    except NotFoundError:
        if not any(name in options for name in STREAM_STARTS):
            raise
        return fields_of_scan(open_scan({name: value for name, value in options.items() if name not in STREAM_STARTS}))


def fields_with_kinds(options: Options, *, updates: bool) -> list[Field]:
    """Returns the columns of ``$audit_log``, or of ``$binlog`` with ``updates``, without reading rows."""
    every = read_fields({name: value for name, value in options.items() if name not in {"columns", "where"}})
    system = [field_from_arrow(ROW_KIND)]
    table = readable_table(options)
    if updates:
        every = as_arrays(every)
    elif (
        isinstance(table, Table)
        and table.schema.primary_keys
        and TableOptions(table.options).table_read_sequence_number
    ):
        system.append(field_from_arrow(pa.field(SEQUENCE_COLUMN, pa.int64())))
    fields = {field.name: field for field in (*system, *every)}
    names = chosen_columns(options) or list(fields)
    for name in names:
        if name not in fields:
            where = f"table {options['path']}{BINLOG if updates else AUDIT_LOG}"
            raise NotFoundError(unknown_name("column", name, fields, where=where))
    return [fields[name] for name in names]


def wants_kinds(options: Options) -> bool:
    """Whether each row comes with its kind: asked for by option ``read.changelog`` or by ``$audit_log``."""
    return TableOptions(options).read_changelog or options.get("path", "").endswith(AUDIT_LOG)


def wants_updates(options: Options) -> bool:
    """Whether each update is one row with arrays of the values before and after: asked for by ``$binlog``."""
    return options.get("path", "").endswith(BINLOG)


def without_kinds(options: Options) -> dict[str, str]:
    """Returns the same options for the table itself."""
    plain = {name: value for name, value in options.items() if name != KINDS}
    return plain | {"path": plain.get("path", "").removesuffix(AUDIT_LOG).removesuffix(BINLOG)}


def as_arrays(fields: Iterable[Field]) -> list[Field]:
    """Returns the columns with the types that ``$binlog`` gives them: arrays of the table's types."""
    return [replace(field, type=Array(field.type)) for field in fields]


def check_columns(schema: StructType, fields: Mapping[str, Field], where: str) -> None:
    """Raises SchemaError for a column that does not exist, or is requested with another type."""
    for column in schema:
        if column.name not in fields:
            raise SchemaError(unknown_name("column", column.name, fields, where=where))
        own = spark_schema([fields[column.name]])[0].dataType
        if column.dataType != own or not column.nullable:
            given = column.dataType.simpleString() + ("" if column.nullable else " not null")
            raise SchemaError(
                f"column {column.name!r} of {where} is {own.simpleString()}, not {given}; read it as it is and cast it"
            )


# ----------------------------------------------------------------------------------------------------- single options


def _version(options: Options) -> dict[str, Any]:
    given = {name: options[name] for name in _VERSION if name in options}
    if len(given) > 1:
        raise OptionError(f"options {' and '.join(map(repr, given))} both name a version; give one of them")
    return {_VERSION[name]: _number_or_text(name, value) for name, value in given.items()}


def _number_or_text(name: str, value: str) -> Any:
    """Returns the number that an option holds as text, or the text of one that may hold more."""
    if name in {_SNAPSHOT_ID, _MILLIS}:
        try:
            return int(value)
        except ValueError:
            raise OptionError(f"option {name!r} must be a number, not {value!r}") from None
    return value


def chosen_columns(options: Options) -> list[str] | None:
    """Returns the columns that option ``columns`` names, ``None`` without it."""
    text = options.get("columns")
    if text is None:
        return None
    if text.lstrip().startswith("["):
        listed = _json("columns", text)
        if not all(isinstance(name, str) for name in listed):
            raise OptionError(f"option 'columns' must be a list of names, not {text!r}")
        return list(listed)
    return [name.strip() for name in text.split(",")]


def replaced_partition(options: Options) -> dict[str, Any] | None:
    """Returns the partition that option ``partition`` names, ``None`` without it."""
    text = options.get("partition")
    if text is None:
        return None
    if text.lstrip().startswith("{"):
        return dict(_json("partition", text))
    return dict(parse_partition_spec(text, "option 'partition', unless it is a JSON object,"))


def overwrites_dynamically(options: Options) -> bool | None:
    """Returns what option ``partitionOverwriteMode`` says, ``None`` without it."""
    value = options.get("partitionoverwritemode")
    if value is None:
        return None
    if value.lower() not in {"dynamic", "static"}:
        raise OptionError(f"option 'partitionOverwriteMode' must be dynamic or static, not {value!r}")
    return value.lower() == "dynamic"


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError(f"option {name!r} is not JSON: {text!r} ({error})") from None
