"""Repair a history with gaps: makes one of its snapshots the earliest.

Deletes the snapshots before it, oldest first, and updates the hint; files that only they need are left to the removal
of orphan files. Use it for a table whose older snapshots were lost or damaged, so that reads fail. Tags and branches do
not change. Raises without a change unless every snapshot from the given one to the latest exists.
"""

from __future__ import annotations

from lakebed.errors import CorruptError, NotFoundError
from lakebed.metadata.store import TableStore


def repair_earliest_snapshot(store: TableStore, snapshot_id: int) -> int:
    """Make a snapshot the earliest of its branch; returns the id of the earliest one before."""
    ids = store.snapshots.ids()
    if not ids:
        raise NotFoundError(f"table {store.name} has no snapshots, so none can be its earliest")
    store.snapshots.get(snapshot_id)  # raises if it does not exist
    there = set(ids)
    missing = [number for number in range(snapshot_id, ids[-1]) if number not in there]
    if missing:
        raise CorruptError(
            f"table {store.name}: snapshot {missing[0]} is missing between {snapshot_id} and the latest, {ids[-1]}; "
            f"choose {missing[-1] + 1} or a later one as the earliest. Nothing was changed"
        )
    store.storage.replace(store.paths.earliest_hint, str(snapshot_id).encode())
    for number in ids:
        if number < snapshot_id:
            store.storage.delete(store.paths.snapshot(number))
    store.sync([store.paths.snapshots])
    return ids[0]
