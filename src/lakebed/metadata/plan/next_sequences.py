"""The next sequence numbers of the buckets of a primary-key table: one above the highest number in their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

import pyarrow as pa

from lakebed.format.snapshot import Snapshot
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore

NextSequences: TypeAlias = Callable[[pa.Array | None], Mapping[tuple[bytes, int], int]]
"""Returns the first free sequence number of each bucket of some encoded partitions (``None``: all)."""


def next_sequences(store: TableStore) -> NextSequences:
    """Returns a function for the first free sequence number of each bucket; all calls use the same snapshot."""
    # Append tables never call it.
    latest = cache(store.latest_snapshot if store.has_just_looked() else store.snapshots.latest)
    return lambda partitions: sequences_at(store, latest(), partitions)


def sequences_at(
    store: TableStore, snapshot: Snapshot | None, partitions: pa.Array | None
) -> dict[tuple[bytes, int], int]:
    """Returns the first free sequence number of each bucket in a snapshot; absent ones start at 0."""
    live = live_entries(store, snapshot, partitions)
    highest = live.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
    return {(row["partition"], row["bucket"]): row["max_sequence_number_max"] + 1 for row in highest.to_pylist()}
