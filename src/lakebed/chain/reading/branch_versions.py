"""At which snapshots of the two data branches main of a chain table is read.

Without time travel these are the latest snapshots at one instant. The delta branch is read, then the full branch, then
the delta branch again; if it has a new snapshot, both are read again. If it has none, both snapshots were the latest
ones when the full branch was read. If the delta branch keeps changing, its older snapshot is used, so the full branch
is at least as new. Then a compaction is seen completely, because it does not remove changes. If an overwrite of changes
is seen only by the full partitions that it emptied, the read shows the state before that overwrite.

With time travel each branch is read as of the same time. A branch that was empty then has no snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakebed.chain.layout import ChainTable
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.history.by_time import snapshot_at

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class BranchVersions:
    """The snapshots of the full branch and of the delta branch that a read uses."""

    full: Snapshot | None
    delta: Snapshot | None

    def __str__(self) -> str:
        full, delta = ("none" if one is None else str(one.id) for one in (self.full, self.delta))
        return f"{full} of full partitions, {delta} of changes"


def latest_versions(chain: ChainTable) -> BranchVersions:
    """The latest snapshots of both branches at one instant."""
    delta = chain.delta.snapshots.latest()
    for _ in range(_TRIES):
        full = chain.full.snapshots.latest()
        again = chain.delta.snapshots.latest()
        if again == delta:
            break
        delta = again
    else:
        full = chain.full.snapshots.latest()
    return BranchVersions(full, delta)


def versions_at(chain: ChainTable, time_millis: int) -> BranchVersions:
    """The snapshots of both branches as of a time."""
    return BranchVersions(snapshot_at(chain.full, time_millis), snapshot_at(chain.delta, time_millis))
