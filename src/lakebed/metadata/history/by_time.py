"""The snapshot of a time: the newest one committed at or before it, or the oldest one at or after it.

Commit times need not ascend with the ids, because they are the clocks of many writers. So the answer depends on the
time of every snapshot on one side of it, and a bisection by id could miss it. The times are in the history index, whose
lines are proven to be up to date (:mod:`lakebed.metadata.history.history_index`), so a search opens the snapshot that
it returns and few others. Snapshots without a line are opened, newest first, until the answer is certain, and get a
line if the index can be written. The result is always that of opening all snapshots.
"""

from __future__ import annotations

from typing import Final

from lakebed.format.snapshot import Snapshot
from lakebed.metadata.history.pages import first_match
from lakebed.metadata.store import TableStore

_RECENT: Final = 8


def snapshot_at(store: TableStore, time_millis: int) -> Snapshot | None:
    """Returns the newest snapshot committed at or before a time, or ``None`` if all are later."""
    latest = store.latest_snapshot()
    if latest is None or latest.time_millis <= time_millis:
        return latest
    lowest = max(0, latest.id - _RECENT)
    for snapshot in store.snapshots.read_many(list(range(latest.id - 1, lowest, -1))):
        if snapshot.time_millis <= time_millis:
            return snapshot
    if not lowest:
        return None
    found, is_certain = first_match(store, to_time=time_millis, before=lowest + 1)
    return found if is_certain else store.snapshots.at(time_millis)


def snapshot_since(store: TableStore, time_millis: int) -> Snapshot | None:
    """Returns the oldest snapshot committed at or after a time, or ``None`` if all are earlier."""
    found, is_certain = first_match(store, from_time=time_millis, is_oldest=True)
    return found if is_certain else store.snapshots.since(time_millis)
