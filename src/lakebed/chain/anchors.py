"""Which full partitions must not be dropped: those that changes build on.

A partition of changes is read on top of the nearest earlier full partition of its group, its anchor. If that partition
is dropped and no earlier one is left, all rows that the changes do not mention disappear from every day up to the next
full partition.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.layout import ChainKeys, Link
from lakebed.errors import DataError, OptionError
from lakebed.format.partition_names import partition_table, partition_text
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore


def live_partitions(store: TableStore, snapshot: Snapshot | None) -> pa.Array:
    """The encoded partitions of a branch that have files in a snapshot."""
    return pc.unique(live_entries(store, snapshot)["partition"].combine_chunks())


def known_links(keys: ChainKeys, partitions: pa.Array) -> tuple[list[Link], list[dict[str, Any]]]:
    """The partitions whose values form a time, sorted by group and time, and the values of those that do not."""
    links: list[Link] = []
    timeless: list[dict[str, Any]] = []
    rows = partition_table(partitions, keys.schema.partition_fields).to_pylist()
    for encoded, values in zip(partitions.to_pylist(), rows, strict=True):
        try:
            links.append(keys.link(encoded, values))
        except DataError:
            timeless.append(values)
    return sorted(links, key=lambda one: (repr(one.group), one.time)), timeless


def by_group(links: Iterable[Link]) -> dict[tuple[Any, ...], list[Link]]:
    """The links of each group, sorted by time."""
    found: dict[tuple[Any, ...], list[Link]] = {}
    for link in sorted(links, key=lambda one: one.time):
        found.setdefault(link.group, []).append(link)
    return found


def needed_anchors(before: Iterable[Link], after: Iterable[Link], deltas: Iterable[Link]) -> list[tuple[Link, Link]]:
    """The full partitions that are in ``before`` but not in ``after``, and that changes need; each with such a change.

    A partition of changes needs its anchor if no earlier full partition would be left for it.
    """
    left, full = by_group(after), by_group(before)
    needed: dict[bytes, tuple[Link, Link]] = {}
    for group, changes in by_group(deltas).items():
        kept = {link.encoded for link in left.get(group, ())}
        first_left = min((link.time for link in left.get(group, ())), default=None)
        fulls = full.get(group, [])
        for change in changes:
            earlier = bisect.bisect_left(fulls, change.time, key=lambda link: link.time)
            is_safe = change.encoded in kept or (first_left is not None and first_left < change.time)
            if earlier and not is_safe:
                anchor = fulls[earlier - 1]
                needed.setdefault(anchor.encoded, (anchor, change))
    return list(needed.values())


def check_droppable(
    name: str, before: Iterable[Link], after: Iterable[Link], deltas: Iterable[Link], *, doing: str, instead: str
) -> None:
    """Raise if the change from ``before`` to ``after`` drops a full partition that changes need."""
    for anchor, change in needed_anchors(before, after, deltas):
        raise OptionError(
            f"table {name}: full partition {partition_text(anchor.values)} cannot be {doing}: the changes of "
            f"{partition_text(change.values)} and no earlier full partition build on it. Nothing was changed; {instead}"
        )
