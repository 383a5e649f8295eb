"""What each day of a chain table is read from, and what a day without changes (a gap day) shows.

* A partition that the full branch has is read from there alone: it already contains the changes of the same day.
* Any other partition is its *anchor* merged with later changes. The anchor is the latest full partition of the same
  group before it. The changes are all partitions of changes after the anchor, up to and including the asked one.
  Without an anchor they are all changes up to the asked one.
* A *gap day* is a day that a query names and that no branch has. It shows the same merge: the state as of that day,
  *carried* over from the days before it. With ``chain-table.gap-read = strict`` it has no rows, and it is not passed to
  this module. Nor is a gap day whose changes were dropped (:mod:`lakebed.chain.dropped_changes`).
* *Skipped* full partitions (stale ones, or those that a compaction rebuilds) are neither read nor used as anchors.

Anchors and changes are looked up whether or not the query asks for them; the query only decides which partitions are
returned. Partitions of main are read from main. They are passed only to be left out (*hidden*), and are never anchors.

These functions are pure: lists of partitions in, views out, no I/O.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from lakebed.chain.layout import Link

Group: TypeAlias = tuple[Any, ...]


class Kind(StrEnum):
    """How a partition of a chain table is read; ``CARRIED`` is a gap day."""

    FULL = "full"
    CHAIN = "chain"
    CARRIED = "carried"


@dataclass(frozen=True, slots=True)
class View:
    """One partition of a read, and the partitions that its rows come from, oldest first."""

    partition: Link
    kind: Kind
    anchor: Link | None = None
    deltas: tuple[Link, ...] = ()

    @property
    def depth(self) -> int:
        """The number of partitions of changes that are merged."""
        return len(self.deltas)


@dataclass(frozen=True, slots=True)
class _Chain:
    """The partitions of one group in one branch, sorted by time."""

    links: tuple[Link, ...]
    times: tuple[Any, ...]

    @staticmethod
    def of(links: Iterable[Link]) -> _Chain:
        ordered = tuple(sorted(links, key=lambda link: (link.time, link.encoded)))
        return _Chain(ordered, tuple(link.time for link in ordered))


_EMPTY = _Chain((), ())


@dataclass(frozen=True)
class Chains:
    """The chains of a table by group: full partitions that may be anchors, and partitions of changes."""

    full: Mapping[Group, _Chain]
    delta: Mapping[Group, _Chain]

    @staticmethod
    def of(full: Iterable[Link], delta: Iterable[Link], skipped: Collection[bytes] = ()) -> Chains:
        usable = (link for link in full if link.encoded not in skipped)
        return Chains(_by_group(usable), _by_group(delta))

    def view(self, asked: Link, kind: Kind = Kind.CHAIN) -> View | None:
        """What a partition is merged from; ``None`` if no branch has a partition at or before its time."""
        fulls, deltas = self.full.get(asked.group, _EMPTY), self.delta.get(asked.group, _EMPTY)
        before = bisect_left(fulls.times, asked.time)
        anchor = fulls.links[before - 1] if before else None
        start = 0 if anchor is None else bisect_right(deltas.times, anchor.time)
        found = deltas.links[start : bisect_right(deltas.times, asked.time)]
        return View(asked, kind, anchor, found) if anchor is not None or found else None


def _by_group(links: Iterable[Link]) -> dict[Group, _Chain]:
    found: dict[Group, list[Link]] = {}
    for link in links:
        found.setdefault(link.group, []).append(link)
    return {group: _Chain.of(members) for group, members in found.items()}


def plan_views(
    full: Sequence[Link],
    delta: Sequence[Link],
    *,
    skipped: Collection[bytes] = (),
    hidden: Collection[bytes] = (),
    asked: Collection[bytes] | None = None,
    gaps: Sequence[Link] = (),
) -> list[View]:
    """How each partition that a query asks for is read, sorted by group and time.

    ``asked`` are the encoded partitions that satisfy the condition of the query (``None``: all). ``gaps`` are the gap
    days that the query names one by one; those that exist after all are ignored.
    """
    chains = Chains.of(full, delta, skipped)
    existing = {link.encoded: link for link in (*full, *delta)}
    direct = {link.encoded for link in full if link.encoded not in skipped}
    views: list[View | None] = []
    for code, link in existing.items():
        if code in hidden or (asked is not None and code not in asked):
            continue
        views.append(View(link, Kind.FULL) if code in direct else chains.view(link))
    missing = {link.encoded: link for link in gaps if link.encoded not in existing and link.encoded not in hidden}
    views += [chains.view(link, Kind.CARRIED) for link in missing.values()]
    found = [view for view in views if view is not None]
    return sorted(found, key=lambda view: (repr(view.partition.group), view.partition.time, view.partition.encoded))
