"""The warehouses of a service, and how the names in a request are resolved to a table.

Names must not contain ``$`` (which would open a system table) or a separator, and must not start with a dot. Tables are
read through :class:`~lakebed.service.confined_storage.ConfinedStorage`, so they cannot be outside of the warehouse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakebed.catalogs.named_warehouses import NamedWarehouse
from lakebed.catalogs.warehouse_options import check_warehouse_options
from lakebed.errors import NotFoundError, unknown_name
from lakebed.format.paths import TablePaths
from lakebed.lake import Lake
from lakebed.metadata.store import TableStore
from lakebed.service.confined_storage import ConfinedStorage, Writes
from lakebed.service.models.tables import TableKind
from lakebed.service.settings import Settings
from lakebed.storage import is_remote_path, open_storage, plain_path
from lakebed.storage.location import parse_location
from lakebed.table import Table
from lakebed.table_kinds import rules_of


@dataclass(frozen=True, slots=True)
class Warehouse:
    """One warehouse and the storage below it."""

    name: str
    path: str
    lake: Lake
    storage: ConfinedStorage

    def relative(self, path: str) -> str:
        """Returns a path relative to the warehouse."""
        return path.removeprefix(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A branch of a table that a request names."""

    warehouse: Warehouse
    database: str
    name: str
    table: Table
    store: TableStore

    @property
    def full_name(self) -> str:
        return f"{self.database}.{self.name}"

    def on_branch(self, branch: str) -> OpenTable:
        """Returns the same table on another branch."""
        return OpenTable(
            self.warehouse, self.database, self.name, self.table.branch(branch), self.store.on_branch(branch)
        )


class Warehouses:
    """All warehouses of a service."""

    def __init__(self, settings: Settings) -> None:
        writes = Writes.HISTORY_INDEX
        if settings.allow_actions or settings.read_only:
            writes = Writes.EVERYTHING if settings.allow_actions else Writes.NOTHING
        self._warehouses: dict[str, Warehouse] = {}
        for name, given in settings.warehouses.items():
            named = NamedWarehouse(given) if isinstance(given, str) else given
            path = plain_path(named.path) if is_remote_path(named.path) else str(Path(named.path).resolve())
            check_warehouse_options(named.options, parse_location(path).service)
            storage = ConfinedStorage(path, writes, open_storage(path, named.options))
            self._warehouses[name] = Warehouse(name, path, Lake(path, storage, named.options), storage)

    def __iter__(self) -> Iterator[Warehouse]:
        return iter(self._warehouses.values())

    def get(self, name: str) -> Warehouse:
        """Returns a warehouse by its name."""
        found = self._warehouses.get(name)
        if found is None:
            raise NotFoundError(unknown_name("warehouse", name, self._warehouses))
        return found

    def open(self, warehouse: str, database: str, table: str, branch: str | None) -> OpenTable:
        """Open a table on the given branch, or on main."""
        home = self.get(warehouse)
        for what, name in (("database", database), ("table", table)):
            if "$" in name or (what == "database" and "." in name):
                raise NotFoundError(f"{name!r} is not the name of a {what}")
        opened = home.lake.table(f"{database}.{table}", options={"branch": branch or ""})
        paths = TablePaths(opened.path, opened.branch_name)
        own = TableStore(home.storage.below(opened.path), paths, opened.name)
        return OpenTable(home, database, table, Table(own), own)


def kind_of(opened: OpenTable) -> TableKind:
    """Returns the kind of a table."""
    if rules_of(opened.store).chain_branches() is not None:
        return "chain"
    return "primary-key" if opened.table.schema.primary_keys else "append"
