"""What it costs to merge the partitions of several branches, counted while this process reads rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakebed.format.human_text import count_text, size_text


@dataclass(frozen=True, slots=True)
class MergeCost:
    """One merge, or one file that was read without a merge: seconds, bytes of its files, rows of its result."""

    merged: bool
    seconds: float
    bytes_read: int
    rows: int


@dataclass(slots=True)
class ReadMetrics:
    """The costs of one scan. Merges run in parallel, so the sum of their seconds may exceed the elapsed time."""

    costs: list[MergeCost] = field(default_factory=list)

    def add(self, cost: MergeCost) -> None:
        self.costs.append(cost)

    @property
    def read_seconds(self) -> float:
        """Seconds spent on reading and merging."""
        return sum(cost.seconds for cost in self.costs)

    @property
    def merge_seconds(self) -> float:
        """The part of :attr:`read_seconds` that was spent on files that had to be merged."""
        return sum(cost.seconds for cost in self.costs if cost.merged)

    @property
    def merges(self) -> int:
        return sum(cost.merged for cost in self.costs)

    @property
    def bytes_read(self) -> int:
        return sum(cost.bytes_read for cost in self.costs)

    @property
    def rows(self) -> int:
        return sum(cost.rows for cost in self.costs)

    def __str__(self) -> str:
        return (
            f"chain read: {count_text(self.rows, 'row')} from {size_text(self.bytes_read)} in "
            f"{self.read_seconds:.3f} s, {self.merge_seconds:.3f} s of them in {count_text(self.merges, 'merge')}"
        )
