"""What the options of a read or write name: a table, some columns and rows of it, a version, a way to write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceWriter
from pyspark.sql.types import StructType

import lakebed
from lakebed.errors import NotFoundError, OptionError, SchemaError, unknown_name
from lakebed.format.types import Field, field_from_arrow
from lakebed.lake import Lake
from lakebed.spark.columns import spark_schema
from lakebed.spark.source import RowsReader, ScanReader, TableWriter, WriteMode
from lakebed.spark.worker_errors import plain_errors
from lakebed.storage import LocalStorage

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
_READING: Final = frozenset({"columns", "where", *_VERSION})
_WRITING: Final = frozenset({"partition", "partitionoverwritemode", "row_kind"})
_DATABASE_SUFFIX: Final = ".db"


def read_schema(options: Options) -> StructType:
    """The columns that a read with these options gives."""
    with plain_errors():
        return spark_schema(_fields(_scan(_plain(options))))


def make_reader(options: Options, schema: StructType) -> DataSourceReader:
    """A reader of the columns in ``schema``, which must be of the types that they are."""
    with plain_errors():
        given = _plain(options)
        scan = _scan(given)
        fields = {field.name: field for field in _fields(scan)}
        _check_columns(schema, fields, f"table {given['path']}")
        if schema.names != list(fields):
            scan = _scan(given, schema.names)
        return ScanReader(scan.parts) if isinstance(scan, lakebed.Scan) else RowsReader(scan.to_arrow)


def make_writer(options: Options, schema: StructType, *, overwrite: bool) -> DataSourceWriter:
    """A writer of rows with this schema."""
    with plain_errors():
        given = _plain(options)
        _refuse(given, _READING, "is for reading")
        table = _table(given)
        if not isinstance(table, lakebed.Table):
            raise OptionError(f"{table.name} is a system table; it can only be read")
        mode = WriteMode(overwrite, _partition(given), _dynamic(given), given.get("row_kind"))
        if not overwrite and (mode.partition is not None or mode.dynamic is not None):
            raise OptionError("options 'partition' and 'partitionOverwriteMode' are for mode(\"overwrite\")")
        return TableWriter(table._store, schema, mode)  # noqa: SLF001 - one product, two packages


# -------------------------------------------------------------------------------------------------- the table and its scan


def _plain(options: Options) -> dict[str, str]:
    """The options by their names in small letters, as Spark treats names of options alike whatever their case."""
    return {name.lower(): value for name, value in options.items()}


def _refuse(options: Options, names: Iterable[str], why: str) -> None:
    for name in sorted(names):
        if name in options:
            raise OptionError(f"option {name!r} {why}; leave it out")


def _table(options: Options) -> Any:
    """The table that the options name; those of them that are nobody else's are options of the table."""
    own = {name: value for name, value in options.items() if name not in _PLACE | _READING | _WRITING}
    path, warehouse = options.get("path"), options.get("warehouse")
    if path is None:
        raise OptionError(
            'name the table: load("/folder/of/the/table"), or option("warehouse", ...) and load("database.table")'
        )
    if warehouse is None:
        return _open_folder(path).table(_name_of_folder(path), options=own)
    if not Path(warehouse.removeprefix("file://")).is_dir():
        raise NotFoundError(f"there is no warehouse at {warehouse}")
    return lakebed.connect(warehouse).table(path, options=own)


def _scan(options: Options, columns: list[str] | None = None) -> Any:
    _refuse(options, _WRITING, "is for writing")
    table = _table(options)
    wanted = columns or _columns(options)
    if isinstance(table, lakebed.Table):
        return table.scan(wanted, options.get("where"), **_version(options))
    _refuse(options, _VERSION, "is not for system tables")
    return table.scan(wanted, options.get("where"))


def _check_columns(schema: StructType, fields: Mapping[str, Field], where: str) -> None:
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
    schema: pa.Schema = scan.schema if isinstance(scan, lakebed.Scan) else scan.to_arrow().schema
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


def _columns(options: Mapping[str, str]) -> list[str] | None:
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
