"""What reading a chain table cost: counted while rows are read in this process."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MergeCost:
    """One merge, or one file that was read without any: seconds, bytes of files, rows that came out."""

    merged: bool
    seconds: float
    bytes_read: int
    rows: int


@dataclass(slots=True)
class ChainMetrics:
    """Adds up over a scan. Merges run side by side, so their seconds may be more than have passed."""

    costs: list[MergeCost] = field(default_factory=list)

    def add(self, cost: MergeCost) -> None:
        self.costs.append(cost)

    @property
    def read_seconds(self) -> float:
        """Time spent on partitions that are put together: reading and merging."""
        return sum(cost.seconds for cost in self.costs)

    @property
    def merge_seconds(self) -> float:
        """The part of it that went into files that had to be merged."""
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
            f"chain read: {self.rows:,} rows of {self.bytes_read:,} bytes in {self.read_seconds:.3f} s, "
            f"{self.merge_seconds:.3f} s of them in {self.merges} merges"
        )
