"""How each partition of a table that merges branches is read, and what that costs. Known from metadata alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lakebed.format.human_text import count_text, size_text

MAIN: Final = "main"
FULL: Final = "full"
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class PartitionCost:
    """How one partition is read.

    ``kind`` is ``main`` (from main), ``full`` (a full partition, read as it is), ``chain`` (a full partition merged
    with later changes) or ``carried`` (a day without changes, which shows the merged state of that day). ``anchor`` is
    the full partition that the merge begins with, ``depth`` the number of partitions of changes. ``rows_to_merge``
    counts the rows of all files if any of them must be merged. ``bytes_saved`` estimates how many bytes less a read
    would open after a compaction; it assumes that the new full partition is as large as the anchor.
    """

    partition: str
    kind: str
    anchor: str | None
    depth: int
    files: int
    bytes: int
    rows_to_merge: int
    bytes_saved: int
    stale: bool = False

    def __str__(self) -> str:
        files = f"{count_text(self.files, 'file')}, {size_text(self.bytes)}"
        if self.kind in (MAIN, FULL):
            return f"{self.partition}: {self.kind}, {files}"
        start = "no anchor" if self.anchor is None else f"anchor {self.anchor}"
        why = ", full partition is stale" if self.stale else ""
        return (
            f"{self.partition}: {self.kind}, {start}, depth {self.depth}, {files}, "
            f"{count_text(self.rows_to_merge, 'row')} to merge{why}; compaction would save "
            f"{size_text(self.bytes_saved)} and the merge"
        )


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition of a chain table, as ``$chain`` lists it.

    ``kind`` names the branches that have it: ``main``, ``full``, ``delta`` or ``full+delta``. ``group`` is the group as
    text (``region=eu``), ``None`` without one. ``cost`` tells how the partition is read now; the full copy of a
    ``stale`` partition is not read. ``bytes_saved`` estimates how many bytes more a full copy would take than the
    changes do. ``time`` is the time that the partition stands for, ``None`` for partitions of main.
    """

    kind: str
    group: str | None
    cost: PartitionCost
    stale: bool
    bytes_saved: int = 0
    time: dt.datetime | None = None


def cost_lines(costs: Sequence[PartitionCost]) -> Iterator[str]:
    """The costs as lines of text; of many partitions the first ones."""
    yield from map(str, costs[:_SHOWN])
    if len(costs) > _SHOWN:
        yield f"and {len(costs) - _SHOWN} more partitions"
