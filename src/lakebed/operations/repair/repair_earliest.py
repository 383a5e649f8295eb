"""Repair of a history with holes: one of its snapshots becomes the earliest.

Snapshots before it go, oldest first, and the hint follows; what only they needed is left to orphan removal. For a table whose
older snapshots were lost or damaged, so that readers stumble over them. Tags and branches stay as they are. Nothing is
touched unless every snapshot from the given one to the latest is there.
"""

from __future__ import annotations

from lakebed.errors import CorruptError, NotFoundError
from lakebed.metadata.store import TableStore


def repair_earliest_snapshot(store: TableStore, snapshot_id: int) -> int:
    """Make a snapshot the earliest of its branch; gives the id that was the earliest before."""
    ids = store.snapshots.ids()
    if not ids:
        raise NotFoundError(f"table {store.name} has no snapshots, so none can be its earliest")
    store.snapshots.get(snapshot_id)  # one that is not there says so itself
    there = set(ids)
    missing = [number for number in range(snapshot_id, ids[-1]) if number not in there]
    if missing:
        raise CorruptError(
            f"table {store.name}: snapshot {missing[0]} is missing between {snapshot_id} and the latest, {ids[-1]}; "
            f"the earliest can be {missing[-1] + 1} at the least. Nothing was changed"
        )
    store.storage.replace(store.paths.earliest_hint, str(snapshot_id).encode())
    for number in ids:
        if number < snapshot_id:
            store.storage.delete(store.paths.snapshot(number))
    return ids[0]
