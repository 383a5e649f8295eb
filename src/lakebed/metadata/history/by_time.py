"""The snapshot of a time or of a watermark: the newest one that is not after it, or the oldest one that is not before.

Commit times need not ascend with the ids, because they are the clocks of many writers, and neither need watermarks. So
the answer depends on the time of every snapshot on one side of it, and a bisection by id could miss it. Times and
watermarks are in the history index, whose lines are proven to be up to date
(:mod:`lakebed.metadata.history.history_index`), so a search opens the snapshot that it returns and few others.
Snapshots without a line are opened, newest first, until the answer is certain, and get a line if the index can be
written. So do those whose line was written before lines had watermarks, if it is a watermark that is looked for. The
result is always that of opening all snapshots.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from lakebed.format.snapshot import NO_WATERMARK, Snapshot
from lakebed.metadata.history.pages import first_match
from lakebed.metadata.store import TableStore

_RECENT: Final = 8


def snapshot_at(store: TableStore, time_millis: int) -> Snapshot | None:
    """Returns the newest snapshot committed at or before a time, or ``None`` if all are later."""
    found, is_certain = _newest(
        store, lambda one: one.time_millis <= time_millis, partial(first_match, store, to_time=time_millis)
    )
    return found if is_certain else store.snapshots.at(time_millis)


def snapshot_since(store: TableStore, time_millis: int) -> Snapshot | None:
    """Returns the oldest snapshot committed at or after a time, or ``None`` if all are earlier."""
    found, is_certain = first_match(store, from_time=time_millis, is_oldest=True)
    return found if is_certain else store.snapshots.since(time_millis)


def snapshot_at_watermark(store: TableStore, watermark: int) -> Snapshot | None:
    """Returns the newest snapshot whose watermark is at most the given one, or ``None`` if there is none."""

    def fits(snapshot: Snapshot) -> bool:
        return snapshot.watermark not in {None, NO_WATERMARK} and snapshot.watermark <= watermark

    found, is_certain = _newest(store, fits, partial(first_match, store, to_watermark=watermark))
    return found if is_certain else store.snapshots.at_watermark(watermark)


def snapshot_since_watermark(store: TableStore, watermark: int) -> Snapshot | None:
    """Returns the oldest snapshot whose watermark is at least the given one, or ``None`` if there is none."""
    found, is_certain = first_match(store, from_watermark=watermark, is_oldest=True)
    return found if is_certain else store.snapshots.since_watermark(watermark)


def _newest(
    store: TableStore, fits: Callable[[Snapshot], bool], search: Callable[..., tuple[Snapshot | None, bool]]
) -> tuple[Snapshot | None, bool]:
    """Returns the newest snapshot that fits, and whether that is certain. The newest few are opened without the index.

    ``search`` finds it with the index, below the id ``before``.
    """
    latest = store.latest_snapshot()
    if latest is None or fits(latest):
        return latest, True
    lowest = max(0, latest.id - _RECENT)
    for snapshot in store.snapshots.read_many(list(range(latest.id - 1, lowest, -1))):
        if fits(snapshot):
            return snapshot, True
    return search(before=lowest + 1) if lowest else (None, True)
