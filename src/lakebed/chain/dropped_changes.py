"""Changes that were dropped although full partitions hold them: clean-up, which changes no view of the partitions.

A full partition *holds* the changes that are merged into it. Once such changes are dropped, the full partition is the
only place that has their rows, so it must not be rebuilt, dropped or emptied:

* A full partition that was built (:mod:`lakebed.chain.maintenance.compact_chain`) holds the changes that were dropped
  after its build read them, and whatever its anchor holds.
* A full partition that was written by hand is complete by definition. It holds all changes up to its day.

A day between two full partitions whose changes were dropped has no view any more: what the earlier full partition holds
is not the state of that day. A day after the last full partition has a view: no full partition holds the dropped
changes, so they count as if they had never been written.

The branch logs tell what was dropped (:mod:`lakebed.chain.branch_log`). A partition of changes that is overwritten
later no longer counts as dropped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakebed.chain.anchors import by_group, known_links
from lakebed.chain.branch_log import DROPPED, DROPPED_BY_EXPIRY, BranchLog
from lakebed.chain.layout import ChainKeys, Link
from lakebed.format.commit_facts import Lineage


@dataclass(frozen=True)
class DroppedChanges:
    """The dropped partitions of changes by group, each with the snapshot that dropped it, and the log of the builds."""

    keys: ChainKeys
    by_group: Mapping[tuple[Any, ...], Sequence[tuple[Link, int]]]
    full_log: BranchLog
    full_id: int

    @staticmethod
    def of(keys: ChainKeys, full_log: BranchLog, full_id: int, delta_log: BranchLog, delta_id: int) -> DroppedChanges:
        """From the logs of both branches, up to two snapshots."""
        dropped: dict[bytes, int] = {}
        for partition in delta_log.writes:
            last = delta_log.last(partition, delta_id)
            if last is not None and last.kind in {DROPPED, DROPPED_BY_EXPIRY}:
                dropped[partition] = last.first
        links = known_links(keys, pa.array(list(dropped), pa.binary()))[0]
        groups = {
            group: [(link, dropped[link.encoded]) for link in members] for group, members in by_group(links).items()
        }
        return DroppedChanges(keys, groups, full_log, full_id)

    def held_by(self, full: Link, *, since: dt.datetime | None, upto: dt.datetime | None = None) -> list[Link]:
        """The dropped changes that a full partition holds, of days after ``since`` and up to ``upto`` or its own."""
        end = full.time if upto is None else upto
        found = [
            (link, snapshot)
            for link, snapshot in self.by_group.get(full.group, ())
            if (since is None or link.time > since) and link.time <= end
        ]
        if not found:
            return []
        lineage = self.full_log.lineage(full.encoded, self.full_id)
        return [link for link, snapshot in found if self._is_held(lineage, link, snapshot)]

    def _is_held(self, lineage: Lineage | None, change: Link, dropped_at: int) -> bool:
        while lineage is not None:
            if dropped_at > lineage.delta_snapshot:
                return True
            anchor = self._time_of(lineage.anchor)
            if anchor is None or change.time > anchor:
                return False  # dropped before the build, which would have read it
            lineage = None if lineage.anchor_build is None else self.full_log.builds.get(lineage.anchor_build)
        return True  # written by hand

    def _time_of(self, partition: bytes | None) -> dt.datetime | None:
        links = [] if partition is None else known_links(self.keys, pa.array([partition], pa.binary()))[0]
        return links[0].time if links else None

    # -------------------------------------------------------------------------------------------------- questions

    def has_view(self, day: Link, usable: Sequence[Link]) -> bool:
        """Whether the state of a day is known that no branch has; ``usable`` are the full partitions that are read."""
        if day.group not in self.by_group:
            return True
        fulls = [link for link in usable if link.group == day.group]
        later = min((link for link in fulls if link.time > day.time), key=lambda link: link.time, default=None)
        earlier = max((link.time for link in fulls if link.time <= day.time), default=None)
        return later is None or not self.held_by(later, since=earlier, upto=day.time)

    def sole_holders(
        self,
        gone: Collection[bytes],
        fulls: Sequence[Link],
        deltas: Sequence[Link],
        *,
        added: Sequence[Link] = (),
        overwritten: Collection[bytes] = (),
    ) -> list[tuple[Link, Link]]:
        """The full partitions among ``gone`` without which views would lack dropped changes, each with such a change.

        ``fulls`` are the full partitions before they are removed, ``added`` those that are new, and ``deltas`` the
        changes that are left. Changes that are ``overwritten`` are not lost. A view lacks the changes if it merges over
        the day of the removed partition: the view of a later day that has changes, or any later day if an earlier full
        partition is left and no later one.
        """
        if not self.by_group:
            return []
        left = by_group([*(link for link in fulls if link.encoded not in gone), *added])
        live, found = by_group(deltas), []
        for full in fulls:
            if full.encoded not in gone or full.group not in self.by_group:
                continue
            times = [link.time for link in left.get(full.group, ())]
            earlier = max((time for time in times if time <= full.time), default=None)
            later = min((time for time in times if time > full.time), default=None)
            merged = any(
                full.time <= link.time and (later is None or link.time < later) for link in live.get(full.group, ())
            )
            if not merged and (later is not None or earlier is None):
                continue
            held = self.held_by(full, since=earlier)
            found += [(full, change) for change in held if change.encoded not in overwritten][:1]
        return found
