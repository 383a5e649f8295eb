"""Overwrite: new rows replace those of some partitions, or of the whole table.

The commit computes its deletes from the snapshot that it lands on. So it also deletes what other commits added
meanwhile to a replaced partition, as if the overwrite had started after them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import IN_PROCESS, Engine, NewFiles
from lakebed.errors import DataError
from lakebed.format import predicate as pred
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import DELETE, ENTRY_SCHEMA, NO_ENTRIES, as_deletes
from lakebed.format.partition_names import partition_predicate
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, find_committed
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import ScanRequest, live_entries, partition_mask, scan
from lakebed.metadata.plan.levels import by_bucket, level_files, sections
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_after_write import finish_committed
from lakebed.operations.compact.compaction_rules import compaction_options
from lakebed.operations.write import Guard, unguarded, write_files
from lakebed.options import TableOptions


def overwrite(
    store: TableStore,
    data: Any,
    partition: Mapping[str, Any] | None,
    who: Identity,
    *,
    dynamic: bool | None = None,
    engine: Engine = IN_PROCESS,
    guard: Guard = unguarded,
) -> Snapshot | None:
    """Replace a static partition, the partitions that the data has rows for, or the whole table."""
    if who.identifier != BATCH_IDENTIFIER:
        done = find_committed(store, who.user, who.identifier, CommitKind.OVERWRITE)
        if done is not None:
            finish_committed(store, done, engine, changelog=False)
            return done
    make = replacing(store, partition, who, dynamic=dynamic)
    return write_files(store, data, make, changelog=False, replaces=True, engine=engine, guard=guard)


def replacing(
    store: TableStore, partition: Mapping[str, Any] | None, who: Identity, *, dynamic: bool | None = None
) -> Callable[[NewFiles], Commit]:
    """Returns a function that builds the commit of an overwrite from the files that were written.

    With ``dynamic`` only the partitions that the data has rows for are replaced; the table's options decide by default.
    """
    schema = store.schema()
    node = partition_predicate(schema, partition) if partition else None
    chosen = TableOptions(schema.options).dynamic_partition_overwrite if dynamic is None else dynamic
    by_data = partition is None and bool(schema.partition_keys) and chosen

    def make(files: NewFiles) -> Commit:
        entries = lifted(files.data, schema)
        if not by_data:
            _check_inside(entries, node, schema)
        index = files.index
        plan = replace_partitions(store, entries, index) if by_data else replace_matching(store, node, entries, index)
        static_keys = None if by_data else tuple(partition or ())
        return Commit(
            kind=CommitKind.OVERWRITE,
            plan=plan,
            user=who.user,
            identifier=who.identifier,
            static_keys=static_keys,
        )

    return make


def lifted(entries: pa.Table, schema: TableSchema) -> pa.Table:
    """Returns entries with files on the highest level where nothing in their bucket overlaps them."""
    if not schema.primary_keys or not len(entries):
        return entries
    files = level_files(entries, [schema.field(name).type for name in schema.trimmed_primary_key])
    top = compaction_options(TableOptions(schema.options)).max_level
    levels = np.zeros(len(entries), np.int32)
    for rows in by_bucket(entries):
        in_bucket = [files[row] for row in rows.tolist()]
        if all(len(section) == 1 for section in sections(in_bucket)) and not any(f.has_deletes for f in in_bucket):
            levels[rows] = top
    position = ENTRY_SCHEMA.get_field_index("level")
    return entries.set_column(position, ENTRY_SCHEMA.field(position), pa.array(levels))


def _check_inside(entries: pa.Table, node: pred.Node | None, schema: TableSchema) -> None:
    mask = partition_mask(entries, node, schema)
    if node is not None and mask is not None and not mask.all():
        raise DataError(
            f"the data has rows outside of the partition to be overwritten ({pred.to_text(node)}); "
            "leave them out, or overwrite without naming a partition. Nothing was written"
        )


# ------------------------------------------------------------------------------------------------- the changes


def replace_partitions(
    store: TableStore, new: pa.Table, index: Sequence[IndexEntry] = ()
) -> Callable[[Snapshot | None], Change]:
    """Returns a plan that replaces the partitions of the new files (dynamic overwrite).

    ``index`` are their index files.
    """
    partitions = pc.unique(new["partition"].combine_chunks())

    def plan(latest: Snapshot | None) -> Change:
        old = live_entries(store, latest, partitions)
        replaced = set(partitions.to_pylist())
        return _change(store, latest, old, new, lambda partition: partition in replaced, index)

    return plan


def delete_partitions(
    store: TableStore, partitions: pa.Array, still: Callable[[pa.Table], pa.Array] | None = None
) -> Callable[[Snapshot | None], Change]:
    """Returns a plan that deletes whole partitions, given as encoded rows.

    ``still`` returns those to delete from their live files; it is called again for every attempt of the commit.
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
    """Returns a plan that replaces the partitions that satisfy a predicate, or the whole table for ``None``."""

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
    """Returns the change: old files are deleted, new ones added, and index files of replaced partitions deleted."""
    live = store.manifests.read_index(None if latest is None else latest.index_manifest)
    gone = (replace(entry, kind=DELETE) for entry in live if is_replaced(entry.partition))
    return Change(entries=pa.concat_tables([as_deletes(old), new]), index=(*gone, *new_index))
