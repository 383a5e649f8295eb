"""When a full partition of a chain table is stale: what it was built from has been replaced since.

Reads skip a stale partition, and a compaction rebuilds it. A full partition is stale in two cases:

* It was built by :mod:`lakebed.chain.maintenance.compact_chain`, nothing was written to it since, and after it was
  built its anchor, or changes of a day from that of its anchor to its own, were overwritten. It is also stale if its
  anchor was stale in this sense.
* The changes of its own day were overwritten after it was written. The write that overwrites changes also empties the
  full partition of that day, by a second commit; the full partition still exists if the process died between the two
  commits.

Dropped changes make nothing stale, whoever dropped them: a full partition holds their rows
(:mod:`lakebed.chain.dropped_changes`). A commit that overwrites changes with no rows at all is not a drop. Lakebed
marks it (:data:`lakebed.format.commit_facts.CHAIN_REPLACED`), because its files look the same.

A partition that cannot be rebuilt, because its sources were dropped, is still read. Appending to old changes makes
nothing stale. A partition that was written by hand after it was built has no lineage any more.

The commit that overwrites changes is itself the mark. No second write is needed that a crash could prevent, and
overwrites by other engines count too. The branch logs (:mod:`lakebed.chain.branch_log`) keep which commits overwrote
which partition, and what each full partition was built from.

For partitions without a lineage the times of commits are compared, so the clocks of the writers must agree.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.anchors import by_group, known_links, live_partitions, needed_anchors
from lakebed.chain.branch_log import (
    APPENDED,
    DELETED,
    DROPPED,
    DROPPED_BY_EXPIRY,
    OVERWRITTEN,
    BranchLog,
    branch_log,
    touched,
)
from lakebed.chain.dropped_changes import DroppedChanges
from lakebed.chain.layout import ChainTable, Link
from lakebed.errors import LakebedError
from lakebed.format.commit_facts import Lineage
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.plan.file_scan import live_entries


def stale_partitions(chain: ChainTable, full: Snapshot | None, delta: Snapshot | None) -> frozenset[bytes]:
    """The encoded full partitions that reads must skip, at these snapshots of the two branches."""
    return ChainState(chain, full, delta).stale


def update_branch_logs(chain: ChainTable) -> None:
    """Add the latest commits to the branch logs, before their snapshots expire. Ignores errors."""
    with contextlib.suppress(LakebedError):
        state = ChainState.latest(chain)
        _ = state.full_log, state.delta_log


@dataclass(frozen=True)
class ChainState:
    """The two data branches of a chain table at two snapshots. Everything is read when first needed, and once."""

    chain: ChainTable
    full: Snapshot | None
    delta: Snapshot | None

    @staticmethod
    def latest(chain: ChainTable) -> ChainState:
        """The current state.

        The delta branch is read first, so a partition that is compacted between the two reads is not missed.
        """
        delta = chain.delta.snapshots.latest()
        return ChainState(chain, chain.full.snapshots.latest(), delta)

    # ---------------------------------------------------------------------------------------- logs and partitions

    @cached_property
    def full_log(self) -> BranchLog:
        return branch_log(self.chain.full, self.full, appends=True)

    @cached_property
    def delta_log(self) -> BranchLog:
        return branch_log(self.chain.delta, self.delta, appends=False)

    @cached_property
    def fulls(self) -> list[Link]:
        """The full partitions whose values form a time, including stale ones, by group and time."""
        return known_links(self.chain.keys, live_partitions(self.chain.full, self.full))[0]

    @cached_property
    def deltas(self) -> list[Link]:
        """The partitions of changes, by group and time."""
        return known_links(self.chain.keys, live_partitions(self.chain.delta, self.delta))[0]

    @cached_property
    def dropped(self) -> DroppedChanges:
        """The changes that were dropped, and which full partitions hold them."""
        return DroppedChanges.of(self.chain.keys, self.full_log, self._full_id, self.delta_log, self._delta_id)

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
        """What a full partition was built from; ``None`` if it was not built, or if that is not known any more."""
        return self.full_log.lineage(partition, self._full_id)

    # ------------------------------------------------------------------------------------------------- staleness

    @cached_property
    def stale(self) -> frozenset[bytes]:
        """The full partitions that reads must skip."""
        if self.full is None:
            return frozenset()
        outdated = frozenset(self._outdated_builds())
        return frozenset(self._rebuildable(outdated)) | self.lost_truncations

    @cached_property
    def lost_truncations(self) -> frozenset[bytes]:
        """Full partitions that still exist although the changes of their day were overwritten later."""
        if self.full is None:
            return frozenset()
        return frozenset(
            partition
            for partition, millis in self._overwritten_days()
            if self._written_before(partition, millis) and self.may_be_dropped({partition})
        )

    def _outdated_builds(self) -> Iterator[bytes]:
        for partition in self.full_log.writes:
            lineage = self.lineage(partition)
            if lineage is not None and self.is_outdated(lineage):
                yield partition

    def _rebuildable(self, outdated: frozenset[bytes]) -> Iterator[bytes]:
        """Those of these full partitions that can be rebuilt, oldest first: each decides what the next is built on."""
        for links in by_group(self.fulls).values():
            anchor: Link | None = None
            for position, link in enumerate(links):
                if link.encoded in outdated and self._can_be_built(link, anchor, links[:position]):
                    yield link.encoded
                elif link.encoded not in self.lost_truncations:
                    anchor = link

    def _can_be_built(self, link: Link, anchor: Link | None, earlier: Sequence[Link]) -> bool:
        """Whether nothing is missing; ``earlier`` full partitions that are not the anchor can be rebuilt themselves."""
        if self.lost_by_rebuilding(link, anchor):
            return False
        if earlier:
            return True
        lineage = self.lineage(link.encoded)
        return lineage is not None and lineage.anchor is None and self._delta_codes.issuperset(lineage.deltas)

    def lost_by_rebuilding(self, link: Link, anchor: Link | None) -> list[Link]:
        """The changes that only the full partition of a day has, because they were dropped since it was written."""
        if link.encoded not in self._full_by_code:
            return []
        return self.dropped.held_by(link, since=None if anchor is None else anchor.time)

    def is_outdated(self, lineage: Lineage) -> bool:
        """Whether a partition, or one of its anchors, was built from something that was replaced since."""
        seen: Lineage | None = lineage
        while seen is not None:
            if self._is_replaced(seen):
                return True
            seen = None if seen.anchor_build is None else self.full_log.builds.get(seen.anchor_build)
        return False

    def _is_replaced(self, lineage: Lineage) -> bool:
        return self._has_new_changes(lineage) or self._has_new_anchor(lineage)

    def _has_new_changes(self, lineage: Lineage) -> bool:
        """Whether changes of a day from that of the anchor on were overwritten, also those of a new day."""
        codes = [lineage.partition] if lineage.anchor is None else [lineage.partition, lineage.anchor]
        ends = {link.encoded: link for link in known_links(self.chain.keys, pa.array(codes, pa.binary()))[0]}
        if lineage.partition not in ends:
            return False
        built, anchor = ends[lineage.partition], ends.get(lineage.anchor or b"")
        for link in self._rewritten_changes.get(built.group, ()):
            if link.time > built.time or (anchor is not None and link.time < anchor.time):
                continue
            since = {one.kind for one in self.delta_log.after(link.encoded, lineage.delta_snapshot, self._delta_id)}
            if since & {OVERWRITTEN, DELETED}:
                return True
        return False

    @cached_property
    def _rewritten_changes(self) -> dict[tuple[Any, ...], list[Link]]:
        """The partitions of changes that were ever overwritten or dropped, by group; they need not exist any more."""
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

    def _overwritten_days(self) -> Iterator[tuple[bytes, int]]:
        """Partitions of changes that were overwritten, with the time of the last such commit."""
        for partition, writes in self.delta_log.writes.items():
            millis = [
                one.time_millis for one in writes if one.kind in {OVERWRITTEN, DELETED} and one.first <= self._delta_id
            ]
            if millis:
                yield partition, max(millis)

    def _written_before(self, partition: bytes, millis: int) -> bool:
        """Whether a full partition exists that no compaction built, and that was last written before a time."""
        last = self.full_log.last(partition, self._full_id)
        if last is None:
            return partition in self._full_by_code and self._newest_file(partition) < millis
        is_dropped = last.kind in {DROPPED, DROPPED_BY_EXPIRY}
        return not is_dropped and last.build is None and last.time_millis < millis and partition in self._full_by_code

    def _newest_file(self, partition: bytes) -> float:
        """When the newest file of a full partition was written; used if the snapshots of its commits have expired."""
        entries = live_entries(self.chain.full, self.full, pa.array([partition], pa.binary()))
        newest = pc.max(entries["creation_time"]).as_py()
        return float(newest.timestamp() * 1000)

    @property
    def usable(self) -> list[Link]:
        """The full partitions that are not stale: they are read, and may be anchors."""
        return [link for link in self.fulls if link.encoded not in self.stale]

    def may_be_dropped(self, partitions: set[bytes]) -> bool:
        """Whether no view needs these full partitions: as an anchor, or because they hold dropped changes."""
        left = [link for link in self.fulls if link.encoded not in partitions]
        if needed_anchors(self.fulls, left, self.deltas):
            return False
        return not self.dropped.sole_holders(partitions, self.fulls, self.deltas)

    def late_changes(self) -> set[bytes]:
        """Partitions of changes to which rows were appended after a full partition was built from them."""
        known = [lineage for link in self.fulls if (lineage := self.lineage(link.encoded)) is not None]
        if not known:
            return set()
        store, since = self.chain.delta, min(lineage.delta_snapshot for lineage in known)
        appended: dict[bytes, int] = {}
        for snapshot in store.snapshots.read_many([number for number in store.snapshots.ids() if number > since]):
            appended |= dict.fromkeys(touched(store, snapshot, appends=True), snapshot.id)
        return {
            delta
            for lineage in known
            for delta in lineage.deltas
            if appended.get(delta, 0) > lineage.delta_snapshot and lineage.partition not in self.stale
        }
