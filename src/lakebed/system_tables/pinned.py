"""A table store at one of its snapshots, for system tables of an earlier version."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakebed.format.paths import TablePaths
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.snapshots import Snapshots
from lakebed.metadata.store import TableStore
from lakebed.storage import Storage


@dataclass(frozen=True)
class PinnedStore(TableStore):
    """A store whose latest snapshot and schema are those of an earlier version."""

    snapshot: Snapshot | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "snapshots", _PinnedSnapshots(self.storage, self.paths, self.snapshot))

    def schema(self) -> TableSchema:
        return super().schema() if self.snapshot is None else self.schema_of(self.snapshot)


class _PinnedSnapshots(Snapshots):
    def __init__(self, storage: Storage, paths: TablePaths, pinned: Snapshot | None) -> None:
        super().__init__(storage, paths)
        self._pinned = pinned

    def latest(self) -> Snapshot | None:
        return self._pinned

    def latest_id(self) -> int | None:
        return None if self._pinned is None else self._pinned.id


def pinned(store: TableStore, snapshot: Snapshot | None) -> TableStore:
    """Returns a store of the same branch at a snapshot."""
    return PinnedStore(store.storage, store.paths, store.name, store.overlay, store.cache, snapshot=snapshot)
