"""Changes that replace whole partitions: overwrite, drop partition, truncate.

The deletes are computed from the snapshot that the commit lands on, so whatever others added meanwhile to a replaced
partition goes too: the overwrite is as if it came after them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred
from lakebed.format.index_manifest import IndexEntry
from lakebed.format.manifest import DELETE, as_deletes
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit import Change
from lakebed.metadata.scan import ScanRequest, live_entries, partition_mask, scan
from lakebed.metadata.store import TableStore


def replace_partitions(store: TableStore, new: pa.Table) -> Callable[[Snapshot | None], Change]:
    """Replace exactly the partitions of the new files (dynamic overwrite)."""
    partitions = pc.unique(new["partition"].combine_chunks())

    def plan(latest: Snapshot | None) -> Change:
        old = live_entries(store, latest, partitions)
        return _change(store, latest, old, new)

    return plan


def replace_matching(store: TableStore, where: pred.Node | None, new: pa.Table) -> Callable[[Snapshot | None], Change]:
    """Replace the partitions that satisfy a predicate over partition columns, or the whole table for ``None``."""

    def plan(latest: Snapshot | None) -> Change:
        if latest is None:
            return Change(entries=new)
        request = ScanRequest(snapshot=latest, schema=store.schema(), predicate=where)
        return _change(store, latest, scan(store, request).entries, new, where)

    return plan


def _change(
    store: TableStore, latest: Snapshot | None, old: pa.Table, new: pa.Table, where: pred.Node | None = None
) -> Change:
    index = _index_deletes(store, latest, old, where)
    return Change(entries=pa.concat_tables([as_deletes(old), new]), index=tuple(index))


def _index_deletes(
    store: TableStore, latest: Snapshot | None, old: pa.Table, where: pred.Node | None
) -> list[IndexEntry]:
    """Index files go with the partitions that they belong to."""
    live = store.manifests.read_index(None if latest is None else latest.index_manifest)
    if not live:
        return []
    partitions = set(old["partition"].to_pylist())
    if where is not None:
        listed = pa.table({"partition": pa.array([entry.partition for entry in live], pa.binary())})
        mask = partition_mask(listed, where, store.schema())
        if mask is not None:
            partitions |= set(listed.filter(pa.array(mask))["partition"].to_pylist())
    return [replace(entry, kind=DELETE) for entry in live if entry.partition in partitions]
