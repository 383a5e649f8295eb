"""The Spark data source ``lakebed``; Spark finds it by the name of this package, without registering.

.. code-block:: python

    spark.read.format("lakebed").option("warehouse", "/data/lake").load("shop.orders")
    spark.read.format("lakebed").option("version", 3).load("/data/lake/shop.db/orders")
    frame.write.format("lakebed").option("warehouse", "/data/lake").mode("append").save("shop.orders")

A table is named by its folder, or by ``warehouse`` and its name; a name may carry a branch or a system table
(``shop.orders$branch_dev``, ``shop.orders$snapshots``).

| option | for | means |
|---|---|---|
| `warehouse` | both | the folder of the warehouse that a name belongs to |
| `columns` | reading | the columns to read: `id, name`, or a JSON list |
| `where` | reading | a SQL condition: only such rows are read |
| `version`, `tag`, `timestamp` | reading | the snapshot to read; also `scan.snapshot-id`, `scan.version`, `scan.tag-name`, `scan.timestamp`, `scan.timestamp-millis` |
| `partition` | overwriting | the partition to replace: `dt=20250101, region=eu`, or a JSON object |
| `partitionOverwriteMode` | overwriting | `dynamic` replaces the partitions that the data has rows of, `static` everything |
| `row_kind` | writing | the column that says what each row is: `+I`, `+U`, `-U` or `-D` |

Any other option is one of the table's own (`branch`, `write-only`, ...), for this read or write only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceWriter
from pyspark.sql.types import StructType

import lakebed
from lakebed.errors import NotFoundError, OptionError, SchemaError, unknown_name
from lakebed.format.types import Field, field_from_arrow
from lakebed.lake import Lake
from lakebed.spark.columns import spark_schema
from lakebed.spark.source import RowsReader, ScanReader, TableWriter, WriteMode
from lakebed.spark.worker_errors import plain_errors
from lakebed.storage import LocalStorage

_READING: Final = frozenset({"columns", "where"})
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
_WRITING: Final = frozenset({"partition", "partitionoverwritemode", "row_kind"})
_DATABASE_SUFFIX: Final = ".db"
_PLACE: Final = frozenset({"path", "warehouse"})


class DefaultSource(DataSource):  # type: ignore[misc]
    """The data source ``lakebed``."""

    @classmethod
    def name(cls) -> str:
        """What follows ``format(`` in Spark."""
        return "lakebed"

    def schema(self) -> StructType:
        """The columns that a read gives."""
        with plain_errors():
            return spark_schema(_fields(self._scan()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns that Spark asks for: all of the scan's, or those that the user named in ``schema``."""
        with plain_errors():
            return self._reader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """A writer of rows with this schema, which must be the table's."""
        with plain_errors():
            return self._writer(schema, overwrite=overwrite)

    def _reader(self, schema: StructType) -> DataSourceReader:
        scan = self._scan()
        fields = {field.name: field for field in _fields(scan)}
        where = f"table {self._options().get('path')}"
        for column in schema:
            if column.name not in fields:
                raise SchemaError(unknown_name("column", column.name, fields, where=where))
            own = spark_schema([fields[column.name]])[0].dataType
            if column.dataType != own or not column.nullable:
                given = column.dataType.simpleString() + ("" if column.nullable else " not null")
                raise SchemaError(
                    f"column {column.name!r} of {where} is {own.simpleString()}, not {given}; read it as it is and cast it"
                )
        if schema.names != list(fields):
            scan = self._scan(schema.names)
        return ScanReader(scan.parts) if isinstance(scan, lakebed.Scan) else RowsReader(scan.to_arrow)

    def _writer(self, schema: StructType, *, overwrite: bool) -> DataSourceWriter:
        options = self._options()
        self._refuse(options, (*_READING, *_VERSION), "is for reading")
        table = self._table(options, _WRITING)
        if not isinstance(table, lakebed.Table):
            raise OptionError(f"{table.name} is a system table; it can only be read")
        mode = WriteMode(overwrite, _partition(options), _dynamic(options), options.get("row_kind"))
        if not overwrite and (mode.partition is not None or mode.dynamic is not None):
            raise OptionError("options 'partition' and 'partitionOverwriteMode' are for mode(\"overwrite\")")
        return TableWriter(table._store, schema, mode)  # noqa: SLF001 - one product, two packages

    # ------------------------------------------------------------------------------------------------- options

    def _options(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.options.items()}

    def _refuse(self, options: Mapping[str, str], names: tuple[str, ...], why: str) -> None:
        for name in names:
            if name in options:
                raise OptionError(f"option {name!r} {why}; leave it out")

    def _table(self, options: Mapping[str, str], known: frozenset[str] | Mapping[str, str]) -> Any:
        """The table that the options name; those of them that are nobody else's are options of the table."""
        own = {name: value for name, value in options.items() if name not in known and name not in _PLACE}
        path, warehouse = options.get("path"), options.get("warehouse")
        if path is None:
            raise OptionError(
                'name the table: load("/folder/of/the/table"), or option("warehouse", ...) and load("database.table")'
            )
        if warehouse is not None:
            if not Path(warehouse.removeprefix("file://")).is_dir():
                raise NotFoundError(f"there is no warehouse at {warehouse}")
            return lakebed.connect(warehouse).table(path, options=own)
        return _open_folder(path).table(_name_of_folder(path), options=own)

    def _scan(self, columns: list[str] | None = None) -> Any:
        options = self._options()
        self._refuse(options, tuple(_WRITING), "is for writing")
        table = self._table(options, {**dict.fromkeys(_READING, ""), **_VERSION})
        wanted = columns or _columns(options)
        if isinstance(table, lakebed.Table):
            return table.scan(wanted, options.get("where"), **_version(options))
        self._refuse(options, tuple(_VERSION), "is not for system tables")
        return table.scan(wanted, options.get("where"))


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
