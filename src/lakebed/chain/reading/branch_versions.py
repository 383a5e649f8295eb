"""Which snapshots of the two data branches a read of a chain table goes together with.

Without time travel these are the latest ones at one instant: the delta branch is read, then the full branch, then the delta
branch again, and if it has moved on meanwhile all of that once more. Found unmoved, both snapshots were the latest when the
full branch was read. A delta branch that never rests is read *before* the full branch: then the full branch is at least as
new. So a compaction is seen in no worse way than completely (it takes nothing away from the deltas), and an overwrite of deltas
whose truncation of the full branch is seen, but not the new deltas, gives the state before it.

With time travel each branch is read as of the same time; a branch that was empty then has no snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakebed.chain.layout import ChainTable
from lakebed.format.snapshot import Snapshot

_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class BranchVersions:
    """The snapshots of the branch of full partitions and of the branch of changes."""

    full: Snapshot | None
    delta: Snapshot | None

    def __str__(self) -> str:
        full, delta = ("none" if one is None else str(one.id) for one in (self.full, self.delta))
        return f"{full} of full partitions, {delta} of changes"


def latest_versions(chain: ChainTable) -> BranchVersions:
    """The state of both branches now."""
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
    """The state of both branches at a time."""
    return BranchVersions(chain.full.snapshots.at(time_millis), chain.delta.snapshots.at(time_millis))
