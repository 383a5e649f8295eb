"""What the read of each partition costs, from the metadata of its files alone, and what a compaction would save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.chain.reading.chain_reader import ANCHOR, ASKED, POSITION
from lakebed.chain.reading.plan_views import Kind, View
from lakebed.chain.reading.read_chain import ChainParts, ChainRead
from lakebed.format.partition_names import partition_table, partition_text
from lakebed.table_rules.partition_costs import MAIN, PartitionCost


def costs(chained: ChainParts) -> tuple[PartitionCost, ...]:
    """The cost of each partition of a planned read: those of main first, the others by group and time."""
    plan = chained.plan
    main, *others = chained.parts
    sizes = _sizes(main.result.entries, "partition")
    rows = partition_table(plan.main, main.schema.partition_fields).to_pylist()
    found = [
        PartitionCost(partition_text(row), MAIN, None, 0, *sizes.get(code, _NOTHING).of_file, 0, 0)
        for code, row in zip(plan.main.to_pylist(), rows, strict=True)
    ]
    sizes = {}
    for part in others:
        sizes |= _sizes(part.result.entries, ASKED if isinstance(part, ChainRead) else "partition")
    return (*found, *(_cost(view, sizes.get(view.partition.encoded, _NOTHING), plan.stale) for view in plan.views))


@dataclass(frozen=True, slots=True)
class _Size:
    files: int
    bytes: int
    rows: int
    anchor_bytes: int

    @property
    def of_file(self) -> tuple[int, int]:
        return self.files, self.bytes


_NOTHING: Final = _Size(0, 0, 0, 0)


def _sizes(entries: pa.Table, by: str) -> dict[bytes, _Size]:
    """Files, bytes and rows of entries, grouped by a column."""
    if POSITION in entries.column_names:
        anchors = np.where(entries[POSITION].to_numpy() == ANCHOR, entries["file_size"].to_numpy(), 0)
    else:
        anchors = np.zeros(len(entries), np.int64)
    table = entries.select([by, "file_size", "row_count"]).append_column("anchor", pa.array(anchors))
    sums = table.group_by(by, use_threads=False).aggregate(
        [("file_size", "count"), ("file_size", "sum"), ("row_count", "sum"), ("anchor", "sum")]
    )
    names = ["file_size_count", "file_size_sum", "row_count_sum", "anchor_sum"]
    columns = zip(*(sums[name].to_pylist() for name in names), strict=True)
    return dict(zip(sums[by].to_pylist(), (_Size(*values) for values in columns), strict=True))


def _cost(view: View, size: _Size, stale: frozenset[bytes]) -> PartitionCost:
    partition = partition_text(view.partition.values)
    if view.kind is Kind.FULL:
        return PartitionCost(partition, view.kind, None, 0, size.files, size.bytes, 0, 0)
    merged = size.rows if view.depth + (view.anchor is not None) > 1 else 0
    return PartitionCost(
        partition,
        view.kind,
        None if view.anchor is None else partition_text(view.anchor.values),
        view.depth,
        size.files,
        size.bytes,
        merged,
        size.bytes - size.anchor_bytes if size.anchor_bytes else 0,
        view.partition.encoded in stale,
    )
