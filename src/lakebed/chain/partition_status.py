"""The state of a chain table, partition by partition: what there is, and what a read of it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lakebed.chain.layout import ChainTable
from lakebed.chain.reading.branch_versions import latest_moment
from lakebed.chain.reading.explain import MAIN, ViewCost, costs
from lakebed.chain.reading.read_chain import ChainParts, read_chain
from lakebed.operations.read import BranchRead

DELTA: Final = "delta"


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition of a chain table.

    ``kind`` says which branches have it: ``main``, ``full``, ``delta`` or ``full+delta``; ``cost`` how it is read now. A
    ``stale`` full partition is not read, but put together from others. ``bytes_saved`` is about what a full copy of the
    partition would take more than its changes do.
    """

    kind: str
    group: tuple[object, ...]
    cost: ViewCost
    stale: bool
    bytes_saved: int = 0


def chain_status(chain: ChainTable) -> list[PartitionStatus]:
    """Every partition that a chain table has: main's first, the others by group and time."""
    schema = chain.main.schema()
    main = BranchRead(chain.main, schema, chain.main.snapshots.latest(), schema.fields, None)
    read = read_chain(main, chain, latest_moment(chain))
    kinds = _kinds(read)
    changes = _bytes_by_partition(read.plan.delta.files)
    views = iter(read.plan.views)
    found = []
    for cost in costs(read):
        if cost.kind == MAIN:
            found.append(PartitionStatus(MAIN, (), cost, stale=False))
            continue
        link = next(views).partition
        kind, stale = kinds[link.encoded], link.encoded in read.plan.stale
        saved = cost.bytes - cost.bytes_saved - changes.get(link.encoded, 0) if kind == DELTA else 0
        found.append(PartitionStatus(kind, link.group, cost, stale, saved))
    return found


def _bytes_by_partition(files: pa.Table) -> dict[bytes, int]:
    sums = files.group_by("partition", use_threads=False).aggregate([("file_size", "sum")])
    return dict(zip(sums["partition"].to_pylist(), sums["file_size_sum"].to_pylist(), strict=True))


def _kinds(read: ChainParts) -> dict[bytes, str]:
    full = {link.encoded for link in read.plan.full.links}
    delta = {link.encoded for link in read.plan.delta.links}
    names = ((full & delta, "full+delta"), (full - delta, "full"), (delta - full, DELTA))
    return {code: name for codes, name in names for code in codes}
