"""Changes that replace whole partitions: overwrite, drop partition, truncate.

The deletes are computed from the snapshot that the commit lands on, so whatever others added meanwhile to a replaced
partition goes too: the overwrite is as if it came after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred
from lakebed.format.index_manifest import IndexEntry
from lakebed.format.manifest import DELETE, NO_ENTRIES, as_deletes
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit import Change
from lakebed.metadata.scan import ScanRequest, live_entries, partition_mask, scan
from lakebed.metadata.store import TableStore


def replace_partitions(
    store: TableStore, new: pa.Table, index: Sequence[IndexEntry] = ()
) -> Callable[[Snapshot | None], Change]:
    """Replace exactly the partitions of the new files (dynamic overwrite); ``index`` are index files that come with them."""
    partitions = pc.unique(new["partition"].combine_chunks())

    def plan(latest: Snapshot | None) -> Change:
        old = live_entries(store, latest, partitions)
        replaced = set(partitions.to_pylist())
        return _change(store, latest, old, new, lambda partition: partition in replaced, index)

    return plan


def delete_partitions(
    store: TableStore, partitions: pa.Array, still: Callable[[pa.Table], pa.Array] | None = None
) -> Callable[[Snapshot | None], Change]:
    """Delete whole partitions, given as encoded rows.

    ``still`` picks those that are to go out of their live files, for whoever must look again after a lost race.
    """

    def plan(latest: Snapshot | None) -> Change:
        old = live_entries(store, latest, partitions)
        going = partitions if still is None else still(old)
        replaced = set(going.to_pylist())
        old = old.filter(pc.is_in(old["partition"], value_set=going))
        return _change(store, latest, old, NO_ENTRIES, lambda partition: partition in replaced)

    return plan


def replace_matching(
    store: TableStore, where: pred.Node | None, new: pa.Table, index: Sequence[IndexEntry] = ()
) -> Callable[[Snapshot | None], Change]:
    """Replace the partitions that satisfy a predicate over partition columns, or the whole table for ``None``."""

    def plan(latest: Snapshot | None) -> Change:
        if latest is None:
            return Change(entries=new, index=tuple(index))
        schema = store.schema()
        old = scan(store, ScanRequest(snapshot=latest, schema=schema, predicate=where)).entries

        def is_replaced(partition: bytes) -> bool:
            mask = partition_mask(pa.table({"partition": pa.array([partition], pa.binary())}), where, schema)
            return mask is None or bool(mask[0])

        return _change(store, latest, old, new, is_replaced, index)

    return plan


def _change(
    store: TableStore,
    latest: Snapshot | None,
    old: pa.Table,
    new: pa.Table,
    is_replaced: Callable[[bytes], bool],
    new_index: Sequence[IndexEntry] = (),
) -> Change:
    """The old files go and the new ones come; index files go with the partitions that they belong to."""
    live = store.manifests.read_index(None if latest is None else latest.index_manifest)
    gone = (replace(entry, kind=DELETE) for entry in live if is_replaced(entry.partition))
    return Change(entries=pa.concat_tables([as_deletes(old), new]), index=(*gone, *new_index))
