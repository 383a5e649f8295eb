"""Tables about all tables of a lake, in the database ``sys``: made when they are read, and not there for ``SHOW TABLES``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import LakebedError, UnsupportedError
from lakebed.lake import Lake

DATABASE: Final = "sys"


@dataclass(frozen=True, slots=True)
class GlobalTable:
    """One of them; read like a system table of a table."""

    name: str
    rows: Callable[[], pa.Table]

    def scan(self, **travel: Any) -> GlobalTable:
        if travel:
            raise UnsupportedError(f"{DATABASE}.{self.name} tells what is there now, and has no versions")
        return self

    def to_arrow(self) -> pa.Table:
        return self.rows()


def global_table(lake: Lake, name: str) -> GlobalTable | None:
    """The table of a name (with its database), ``None`` if there is none; a database that is called so itself goes first."""
    database, _, table = name.partition(".")
    make = _GLOBAL_TABLES.get(table)
    if database != DATABASE or make is None or DATABASE in lake.databases():
        return None
    return GlobalTable(table, lambda: make(lake))


def _all_table_options(lake: Lake) -> pa.Table:
    """The options that each table of the lake has set; tables that cannot be opened (any more) are left out."""
    found: list[tuple[str, ...]] = []
    for database in lake.databases():
        for table in lake.tables(database):
            try:
                options = lake.table(f"{database}.{table}").options
            except LakebedError:
                continue
            found += [(database, table, key, value) for key, value in sorted(options.items())]
    return _texts(("database_name", "table_name", "key", "value"), found)


def _catalog_options(lake: Lake) -> pa.Table:
    return _texts(("key", "value"), [("warehouse", lake.warehouse)])


def _texts(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    schema = pa.schema([pa.field(name, pa.string(), nullable=False) for name in names])
    return pa.table(dict(zip(names, columns, strict=True)), schema)


_GLOBAL_TABLES: Final[Mapping[str, Callable[[Lake], pa.Table]]] = {
    "all_table_options": _all_table_options,
    "catalog_options": _catalog_options,
}
