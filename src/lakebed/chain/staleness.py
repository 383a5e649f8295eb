"""Which full partitions are stale: built of changes, or of an anchor, that somebody replaced since.

The commit that overwrites changes is the mark itself: nothing else has to be written for later full partitions to be stale,
so nothing can be forgotten, and overwrites by other engines count too. What must be known is kept by the branch logs
(:mod:`lakebed.chain.branch_log`): which commits overwrote which partition, and of what each full partition was built.

A full partition is stale (reads skip it, a compaction builds it anew)

* if it was built (by :mod:`lakebed.chain.compact_chain`), nobody wrote to it since, and changes of a day from its anchor's to its
  own, or its anchor, were overwritten after they were read; or if its anchor was stale in that sense. Dropping changes counts
  if the anchor is still there to build on; letting them expire never does;
* if the changes of its own day were overwritten after it was written: such a partition is emptied right after that commit,
  and one that is still there shows that somebody died in between.

Where a stale partition could not be built again, because what it was built of expired, it stays in use. What is appended to
old changes makes nothing stale. A partition that was written by hand since it was built has no lineage any more.

Times of commits are compared where a partition has no lineage; the clocks of writers must agree as far as they matter.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.anchors import by_group, known_links, live_partitions, needed_anchors
from lakebed.chain.branch_log import APPENDED, DROPPED, GONE, OVERWRITTEN, BranchLog, branch_log
from lakebed.chain.layout import ChainTable, Link
from lakebed.errors import LakebedError
from lakebed.format.commit_facts import Lineage
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.plan.file_scan import live_entries


def stale_partitions(chain: ChainTable, full: Snapshot | None, delta: Snapshot | None) -> frozenset[bytes]:
    """The encoded partitions of the full branch, at these snapshots of the two branches, that reads must skip."""
    return ChainState(chain, full, delta).stale


def remember(chain: ChainTable) -> None:
    """Note what was committed to both branches, while its snapshots are there; what goes wrong is no matter of a commit."""
    with contextlib.suppress(LakebedError):
        state = ChainState.latest(chain)
        _ = state.full_log, state.delta_log


@dataclass(frozen=True)
class ChainState:
    """The two branches of a chain table at two snapshots. Reads what it is asked for, and that once."""

    chain: ChainTable
    full: Snapshot | None
    delta: Snapshot | None

    @staticmethod
    def latest(chain: ChainTable) -> ChainState:
        """As it is now.

        The changes are looked at first: what is compacted between the two looks is then seen twice, and not missed.
        """
        delta = chain.delta.snapshots.latest()
        return ChainState(chain, chain.full.snapshots.latest(), delta)

    # --------------------------------------------------------------------------------------------- what there is

    @cached_property
    def full_log(self) -> BranchLog:
        return branch_log(self.chain.full, self.full, appends=True)

    @cached_property
    def delta_log(self) -> BranchLog:
        return branch_log(self.chain.delta, self.delta, appends=False)

    @cached_property
    def fulls(self) -> list[Link]:
        """The full partitions by group and time, stale ones too; those whose values make up no time are left out."""
        return known_links(self.chain.keys, live_partitions(self.chain.full, self.full))[0]

    @cached_property
    def deltas(self) -> list[Link]:
        """The partitions of changes by group and time."""
        return known_links(self.chain.keys, live_partitions(self.chain.delta, self.delta))[0]

    @cached_property
    def _full_by_code(self) -> dict[bytes, Link]:
        return {link.encoded: link for link in self.fulls}

    @cached_property
    def _delta_codes(self) -> frozenset[bytes]:
        return frozenset(link.encoded for link in self.deltas)

    @property
    def _full_id(self) -> int:
        return 0 if self.full is None else self.full.id

    @property
    def _delta_id(self) -> int:
        return 0 if self.delta is None else self.delta.id

    def lineage(self, partition: bytes) -> Lineage | None:
        """Of what a full partition was built; ``None`` if it was written otherwise, or that is not known any more."""
        return self.full_log.lineage(partition, self._full_id)

    # ------------------------------------------------------------------------------------------------- staleness

    @cached_property
    def stale(self) -> frozenset[bytes]:
        """The full partitions that reads must skip."""
        if self.full is None:
            return frozenset()
        return frozenset(self._outdated_builds()) | self.lost_truncations

    @cached_property
    def lost_truncations(self) -> frozenset[bytes]:
        """Full partitions that should have been emptied when the changes of their day were overwritten."""
        if self.full is None:
            return frozenset()
        return frozenset(
            partition
            for partition, millis in self._overwritten_days()
            if self._written_before(partition, millis) and self.may_go({partition})
        )

    def _outdated_builds(self) -> Iterator[bytes]:
        for partition in self.full_log.writes:
            lineage = self.lineage(partition)
            if lineage is not None and self.is_outdated(lineage) and self._can_be_built(lineage):
                yield partition

    def is_outdated(self, lineage: Lineage) -> bool:
        """Whether what a partition was built of was replaced since."""
        seen: Lineage | None = lineage
        while seen is not None:
            if self._is_replaced(seen):
                return True
            seen = None if seen.anchor_build is None else self.full_log.builds.get(seen.anchor_build)
        return False

    def _is_replaced(self, lineage: Lineage) -> bool:
        return self._has_new_changes(lineage) or self._has_new_anchor(lineage)

    def _has_new_changes(self, lineage: Lineage) -> bool:
        """Whether changes of the days from the anchor on were overwritten, there before or not, or dropped."""
        codes = [lineage.partition] if lineage.anchor is None else [lineage.partition, lineage.anchor]
        ends = {link.encoded: link for link in known_links(self.chain.keys, pa.array(codes, pa.binary()))[0]}
        if lineage.partition not in ends:
            return False
        built, anchor = ends[lineage.partition], ends.get(lineage.anchor or b"")
        for link in self._rewritten_changes.get(built.group, ()):
            if link.time > built.time or (anchor is not None and link.time < anchor.time):
                continue
            since = {one.kind for one in self.delta_log.after(link.encoded, lineage.delta_snapshot, self._delta_id)}
            dropped = DROPPED in since and link.encoded in lineage.deltas and lineage.anchor in self._full_by_code
            if OVERWRITTEN in since or dropped:
                return True
        return False

    @cached_property
    def _rewritten_changes(self) -> dict[tuple[Any, ...], list[Link]]:
        """The partitions of changes, there or not, that were overwritten or dropped at some time, by group."""
        return by_group(known_links(self.chain.keys, pa.array(list(self.delta_log.writes), pa.binary()))[0])

    def _has_new_anchor(self, lineage: Lineage) -> bool:
        """Whether the anchor was overwritten, or dropped and written again."""
        if lineage.anchor is None:
            return False
        was_dropped = False
        for write in self.full_log.after(lineage.anchor, lineage.full_snapshot, self._full_id):
            if write.kind == OVERWRITTEN or (write.kind == APPENDED and was_dropped):
                return True
            was_dropped = was_dropped or write.kind == DROPPED
        return False

    def _can_be_built(self, lineage: Lineage) -> bool:
        own = self._full_by_code.get(lineage.partition)
        if own is None:
            return False
        if lineage.anchor is None:
            return all(partition in self._delta_codes for partition in lineage.deltas)
        return any(link.group == own.group and link.time < own.time for link in self.fulls)

    def _overwritten_days(self) -> Iterator[tuple[bytes, int]]:
        """Partitions of changes that were overwritten or dropped, with the time of that."""
        for partition, writes in self.delta_log.writes.items():
            millis = [
                one.time_millis for one in writes if one.kind in {OVERWRITTEN, DROPPED} and one.first <= self._delta_id
            ]
            if millis:
                yield partition, max(millis)

    def _written_before(self, partition: bytes, millis: int) -> bool:
        """Whether a full partition is there that nobody built, and that was written before a moment."""
        last = self.full_log.last(partition, self._full_id)
        if last is None:
            return partition in self._full_by_code and self._newest_file(partition) < millis
        is_gone = last.kind in {DROPPED, GONE}
        return not is_gone and last.build is None and last.time_millis < millis and partition in self._full_by_code

    def _newest_file(self, partition: bytes) -> float:
        """When the newest file of a full partition was written, where snapshots do not tell any more."""
        entries = live_entries(self.chain.full, self.full, pa.array([partition], pa.binary()))
        newest = pc.max(entries["creation_time"]).as_py()
        return float(newest.timestamp() * 1000)

    @property
    def usable(self) -> list[Link]:
        """The full partitions that are read, and may be anchors."""
        return [link for link in self.fulls if link.encoded not in self.stale]

    def may_go(self, partitions: set[bytes]) -> bool:
        """Whether these full partitions may go, as far as changes need them."""
        left = [link for link in self.fulls if link.encoded not in partitions]
        return not needed_anchors(self.fulls, left, self.deltas)
