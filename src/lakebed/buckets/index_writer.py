"""Dynamic buckets in this process: loads the index of a partition for a write, and writes new index files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.partition_assigners import KnownPartition, LoadPartition
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.hash_indexes import BucketIndexUpdate, load_latest
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout


def partition_loader(store: TableStore) -> LoadPartition:
    """Returns a function that loads a partition of the latest snapshot."""
    by_size = TableOptions(store.schema().options).dynamic_bucket_target_size is not None

    def load(partition: bytes) -> KnownPartition:
        index, hashes = load_latest(store, partition)
        return KnownPartition(
            index, hashes, bytes_per_row(store, store.snapshots.latest(), partition) if by_size else None
        )

    return load


def load_nothing(_partition: bytes) -> KnownPartition:
    """Used by an overwrite: the partition is replaced, so it starts without known keys."""
    return KnownPartition()


def bytes_per_row(store: TableStore, snapshot: Snapshot | None, partition: bytes) -> float | None:
    """Returns the size of a row of a partition on disk; ``None`` for an empty partition."""
    live = live_entries(store, snapshot, pa.array([partition], pa.binary()))
    rows = pc.sum(live["row_count"]).as_py()
    return pc.sum(live["file_size"]).as_py() / rows if rows else None


class IndexWriter:
    """Writes index files before their commit; ``abort`` deletes them."""

    def __init__(self, layout: FileLayout) -> None:
        self._layout = layout
        self.paths: list[str] = []

    def write(self, updates: Iterable[BucketIndexUpdate]) -> tuple[IndexEntry, ...]:
        """Write index files for the buckets that need one; returns their entries."""
        layout = self._layout
        made = [
            update.write(layout.store, f"index-{layout.unique}-{next(layout.numbers)}", self.paths)
            for update in updates
        ]
        return tuple(entry for entry in made if entry is not None)

    def abort(self) -> None:
        """Delete all files that were written."""
        for path in self.paths:
            with contextlib.suppress(Exception):
                self._layout.store.storage.delete(path)
