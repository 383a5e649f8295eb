"""Tables about all tables of a lake, in the database ``sys``. They are computed on read.

``SHOW TABLES`` does not list them.
"""

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
    """A table about all tables; it is read like a system table."""

    name: str
    rows: Callable[[], pa.Table]
    known_columns: None = None

    def scan(self, **travel: Any) -> GlobalTable:
        if travel:
            raise UnsupportedError(f"{DATABASE}.{self.name} shows the current state and has no versions")
        return self

    def to_arrow(self) -> pa.Table:
        return self.rows()


def global_table(lake: Lake, name: str) -> GlobalTable | None:
    """Returns the table ``sys.<name>``, ``None`` if there is none. A real database ``sys`` takes precedence."""
    database, _, table = name.partition(".")
    make = _GLOBAL_TABLES.get(table.lower())
    if database != DATABASE or make is None or DATABASE in lake.databases():
        return None
    return GlobalTable(table.lower(), lambda: make(lake))


def _all_table_options(lake: Lake) -> pa.Table:
    """Returns the options of all tables, without tables that cannot be opened."""
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
