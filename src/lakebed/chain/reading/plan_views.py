"""What each partition of a chain table is read from. Pure: lists of partitions in, views out; no I/O.

* A partition that the full branch has is read from there, whole: changes of the same period are in it already.
* Any other one is its *anchor* with the changes after it merged in: the latest full partition of the same group before it,
  then every delta partition later than that one and not later than the asked one. Without an anchor, all deltas up to it.
* *Skipped* full partitions (stale ones, or one that is to be built anew) are neither read nor anchors.
* A partition that is asked for by name and that no branch has is *carried*: the same merge, which shows the state as of then.

Anchors and deltas are looked up whatever the query asks for; only which partitions come out is up to the query. Partitions
that main has are read from main and come in here only to be left out (*hidden*). They are no anchors.
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
    """How a partition of a chain table is read."""

    FULL = "full"
    CHAIN = "chain"
    CARRIED = "carried"


@dataclass(frozen=True, slots=True)
class View:
    """One partition as it is read: where its rows come from, oldest first."""

    partition: Link
    kind: Kind
    anchor: Link | None = None
    deltas: tuple[Link, ...] = ()

    @property
    def depth(self) -> int:
        """How many partitions of changes are merged."""
        return len(self.deltas)


@dataclass(frozen=True, slots=True)
class _Chain:
    """The partitions of one group in one branch, by time."""

    links: tuple[Link, ...]
    times: tuple[Any, ...]

    @staticmethod
    def of(links: Iterable[Link]) -> _Chain:
        ordered = tuple(sorted(links, key=lambda link: (link.time, link.encoded)))
        return _Chain(ordered, tuple(link.time for link in ordered))


_EMPTY = _Chain((), ())


@dataclass(frozen=True)
class Chains:
    """The chains of a table by group: full partitions that may be anchors, and deltas."""

    full: Mapping[Group, _Chain]
    delta: Mapping[Group, _Chain]

    @staticmethod
    def of(full: Iterable[Link], delta: Iterable[Link], skipped: Collection[bytes] = ()) -> Chains:
        usable = (link for link in full if link.encoded not in skipped)
        return Chains(_by_group(usable), _by_group(delta))

    def view(self, asked: Link, kind: Kind = Kind.CHAIN) -> View | None:
        """What a partition is merged from; ``None`` if there is nothing at or before its time."""
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
    named: Sequence[Link] = (),
) -> list[View]:
    """How each partition that a query asks for is read, by group and time.

    ``asked`` are the encoded partitions that satisfy the query's condition (``None``: all). ``named`` are those that it
    names one by one and that shall be carried if they do not exist; they satisfy the condition.
    """
    chains = Chains.of(full, delta, skipped)
    existing = {link.encoded: link for link in (*full, *delta)}
    direct = {link.encoded for link in full if link.encoded not in skipped}
    views: list[View | None] = []
    for code, link in existing.items():
        if code in hidden or (asked is not None and code not in asked):
            continue
        views.append(View(link, Kind.FULL) if code in direct else chains.view(link))
    missing = {link.encoded: link for link in named if link.encoded not in existing and link.encoded not in hidden}
    views += [chains.view(link, Kind.CARRIED) for link in missing.values()]
    found = [view for view in views if view is not None]
    return sorted(found, key=lambda view: (repr(view.partition.group), view.partition.time, view.partition.encoded))
