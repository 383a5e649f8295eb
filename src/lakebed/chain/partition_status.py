"""The partitions of a chain table, as ``$chain`` lists them: which branches have each, and what a read of it costs."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lakebed.chain.layout import ChainTable
from lakebed.chain.reading.branch_versions import latest_versions
from lakebed.chain.reading.read_chain import ChainParts, read_chain
from lakebed.chain.reading.read_costs import costs
from lakebed.format.partition_names import partition_text
from lakebed.operations.read import BranchRead
from lakebed.table_rules.partition_costs import MAIN, PartitionStatus

DELTA: Final = "delta"


def chain_status(chain: ChainTable) -> list[PartitionStatus]:
    """All partitions of a chain table: those of main first, the others by group and time."""
    schema = chain.main.schema()
    main = BranchRead(chain.main, schema, chain.main.snapshots.latest(), schema.fields, None)
    read = read_chain(main, chain, latest_versions(chain))
    kinds = _kinds(read)
    changes = _bytes_by_partition(read.plan.delta.files)
    views = iter(read.plan.views)
    found = []
    for cost in costs(read):
        if cost.kind == MAIN:
            found.append(PartitionStatus(MAIN, None, cost, stale=False))
            continue
        link = next(views).partition
        kind, stale = kinds[link.encoded], link.encoded in read.plan.stale
        saved = cost.bytes - cost.bytes_saved - changes.get(link.encoded, 0) if kind == DELTA else 0
        group = partition_text({name: link.values[name] for name in chain.keys.group}) or None
        found.append(PartitionStatus(kind, group, cost, stale, saved, link.time))
    return found


def _bytes_by_partition(files: pa.Table) -> dict[bytes, int]:
    sums = files.group_by("partition", use_threads=False).aggregate([("file_size", "sum")])
    return dict(zip(sums["partition"].to_pylist(), sums["file_size_sum"].to_pylist(), strict=True))


def _kinds(read: ChainParts) -> dict[bytes, str]:
    full = {link.encoded for link in read.plan.full.links}
    delta = {link.encoded for link in read.plan.delta.links}
    names = ((full & delta, "full+delta"), (full - delta, "full"), (delta - full, DELTA))
    return {code: name for codes, name in names for code in codes}
