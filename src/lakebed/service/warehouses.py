"""The warehouses of a service, and the way from the names in a request to a table.

A name is a name: it holds no ``$`` (which would open a system table), no separator and no dot at its beginning. What it opens is
read through :class:`~lakebed.service.confined_storage.ConfinedStorage`, so it cannot lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import NotFoundError, unknown_name
from lakebed.format.paths import TablePaths
from lakebed.lake import Lake
from lakebed.metadata.store import TableStore
from lakebed.service.confined_storage import ConfinedStorage, Writes
from lakebed.service.models.tables import TableKind
from lakebed.service.settings import Settings
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
        """A path below the warehouse without the warehouse's own."""
        return path.removeprefix(f"{self.path}/")


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A branch of a table that a request is about."""

    warehouse: Warehouse
    database: str
    name: str
    table: Table
    store: TableStore

    @property
    def full_name(self) -> str:
        return f"{self.database}.{self.name}"

    def on_branch(self, branch: str) -> OpenTable:
        """The same table on another branch."""
        return OpenTable(
            self.warehouse, self.database, self.name, self.table.branch(branch), self.store.on_branch(branch)
        )


class Warehouses:
    """Every warehouse that a service shows."""

    def __init__(self, settings: Settings) -> None:
        writes = Writes.HISTORY_INDEX
        if settings.allow_actions or settings.read_only:
            writes = Writes.EVERYTHING if settings.allow_actions else Writes.NOTHING
        self._warehouses: dict[str, Warehouse] = {}
        for name, folder in settings.warehouses.items():
            path = str(Path(folder).resolve())
            storage = ConfinedStorage(path, writes)
            self._warehouses[name] = Warehouse(name, path, Lake(path, storage, {}), storage)

    def __iter__(self) -> Iterator[Warehouse]:
        return iter(self._warehouses.values())

    def get(self, name: str) -> Warehouse:
        """A warehouse by its name."""
        found = self._warehouses.get(name)
        if found is None:
            raise NotFoundError(unknown_name("warehouse", name, self._warehouses))
        return found

    def open(self, warehouse: str, database: str, table: str, branch: str | None) -> OpenTable:
        """A table, on its main branch unless another is named."""
        home = self.get(warehouse)
        for what, name in (("database", database), ("table", table)):
            if "$" in name or (what == "database" and "." in name):
                raise NotFoundError(f"{name!r} is not the name of a {what}")
        opened = home.lake.table(f"{database}.{table}", options={"branch": branch or ""})
        paths = TablePaths(opened.path, opened.branch_name)
        return OpenTable(home, database, table, opened, TableStore(home.storage, paths, opened.name))


def kind_of(opened: OpenTable) -> TableKind:
    """What kind of table it is."""
    if rules_of(opened.store).chain_branches() is not None:
        return "chain"
    return "primary-key" if opened.table.schema.primary_keys else "append"
