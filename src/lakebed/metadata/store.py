"""One branch of one table on one storage: the handle that everything below a table works with."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakebed.errors import NotFoundError
from lakebed.format.paths import BRANCH_PREFIX, MAIN_BRANCH, TablePaths
from lakebed.format.schema import TableSchema
from lakebed.metadata.manifests import Manifests
from lakebed.metadata.schemas import Schemas
from lakebed.metadata.snapshots import Snapshots
from lakebed.storage import Storage


@dataclass(frozen=True)
class TableStore:
    """The metadata of one branch. ``name`` is what the user calls the table, for messages."""

    storage: Storage
    paths: TablePaths
    name: str
    schemas: Schemas = field(init=False)
    snapshots: Snapshots = field(init=False)
    manifests: Manifests = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schemas", Schemas(self.storage, self.paths))
        object.__setattr__(self, "snapshots", Snapshots(self.storage, self.paths))
        object.__setattr__(self, "manifests", Manifests(self.storage, self.paths))

    def schema(self) -> TableSchema:
        """The latest schema."""
        latest = self.schemas.latest()
        if latest is None:
            raise NotFoundError(f"table {self.name} does not exist at {self.paths.root}")
        return latest

    def branch_names(self) -> list[str]:
        """The branches besides main, by name."""
        return sorted(
            info.name.removeprefix(BRANCH_PREFIX)
            for info in self.storage.list(self.paths.branches)
            if info.is_dir and info.name.startswith(BRANCH_PREFIX)
        )

    def on_branch(self, branch: str) -> TableStore:
        """The same table on another branch."""
        if branch != MAIN_BRANCH and branch not in self.branch_names():
            known = ", ".join([MAIN_BRANCH, *self.branch_names()])
            raise NotFoundError(f"table {self.name} has no branch {branch!r}; its branches: {known}")
        return TableStore(self.storage, self.paths.on_branch(branch), self.name)
