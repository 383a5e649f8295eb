"""A read of a table: the version that it shows, and the parts of branches that it consists of."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.operations.read_changes import Part
from lakebed.table_rules.partition_costs import PartitionCost
from lakebed.table_rules.read_metrics import ReadMetrics


@dataclass(frozen=True)
class ReadVersion:
    """The snapshot that a read shows, and the schema of its result.

    ``time_travel`` tells whether the caller asked for a version, instead of reading the latest one.
    """

    snapshot: Snapshot | None
    schema: TableSchema
    time_travel: bool = False

    def __str__(self) -> str:
        return "no snapshot yet" if self.snapshot is None else f"snapshot {self.snapshot.id}"


@dataclass(frozen=True)
class PlannedRead:
    """The parts of a planned read, in the order in which their rows are returned."""

    parts: tuple[Part, ...]

    @property
    def metrics(self) -> ReadMetrics | None:
        """What merging branches has cost so far; ``None`` if the read does not merge branches."""
        return None

    def partitions(self) -> pa.Array:
        """The encoded partitions that the read shows."""
        return pc.unique(pa.chunked_array([part.result.entries["partition"].combine_chunks() for part in self.parts]))

    def partition_column(self, part: Part) -> pa.ChunkedArray:
        """For each file of a part the encoded partition under which its rows are shown."""
        return part.result.entries["partition"]

    def costs(self) -> tuple[PartitionCost, ...]:
        """How each partition is read; empty if the read does not merge branches."""
        return ()
