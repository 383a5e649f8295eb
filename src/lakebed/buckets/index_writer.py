"""Dynamic buckets in this process: what a write has to know of a partition, and the index files that it leaves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.placement import KnownPartition, LoadPartition
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.hash_indexes import BucketIndexUpdate, load_latest
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout


def partition_loader(store: TableStore) -> LoadPartition:
    """Loads partitions as they are at the moment when they are asked for."""
    by_size = TableOptions(store.schema().options).dynamic_bucket_target_size is not None

    def load(partition: bytes) -> KnownPartition:
        index, hashes = load_latest(store, partition)
        return KnownPartition(
            index, hashes, bytes_per_row(store, store.snapshots.latest(), partition) if by_size else None
        )

    return load


def load_nothing(_partition: bytes) -> KnownPartition:
    """For an overwrite: what was there goes, so its keys are nobody's."""
    return KnownPartition()


def bytes_per_row(store: TableStore, snapshot: Snapshot | None, partition: bytes) -> float | None:
    """What a row of a partition takes on disk, ``None`` if there is none yet."""
    live = live_entries(store, snapshot, pa.array([partition], pa.binary()))
    rows = pc.sum(live["row_count"]).as_py()
    return pc.sum(live["file_size"]).as_py() / rows if rows else None


class IndexWriter:
    """Writes index files that wait for their commit, and removes them if there will be none."""

    def __init__(self, layout: FileLayout) -> None:
        self._layout = layout
        self.paths: list[str] = []

    def write(self, updates: Iterable[BucketIndexUpdate]) -> tuple[IndexEntry, ...]:
        """The entries of new index files, for the buckets that need one."""
        store, made = self._layout.store, []
        for update in updates:
            name = f"index-{self._layout.unique}-{next(self._layout.numbers)}"
            self.paths.append(store.paths.index(name))  # first, as a write that fails may leave a file
            made.append(update.write(store, name))
        return tuple(entry for entry in made if entry is not None)

    def abort(self) -> None:
        """Remove everything that was written."""
        for path in self.paths:
            with contextlib.suppress(Exception):
                self._layout.store.storage.delete(path)
