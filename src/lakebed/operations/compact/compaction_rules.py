"""When a primary-key table has to be compacted, and whether its rows are visible before that."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.commit_facts import FULLY_COMPACTED, read_flag
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.plan.levels import CompactionOptions
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions


def compaction_options(options: TableOptions) -> CompactionOptions:
    """Returns the options of a table that decide which files a compaction merges."""
    return CompactionOptions(
        trigger=options.num_sorted_run_compaction_trigger,
        num_levels=options.num_levels,
        max_size_amplification=options.compaction_max_size_amplification,
        size_ratio=options.compaction_size_ratio,
        target_file_size=options.target_file_size(is_primary_key=True),
    )


def skips_level0(schema: TableSchema) -> bool:
    """Whether readers of a table skip level 0, so that rows are visible only after a compaction."""
    return bool(schema.primary_keys) and TableOptions(schema.options).skips_level0


def must_follow(schema: TableSchema) -> bool:
    """Whether a write needs a compaction to be complete: to make its rows visible, or to write its changelog."""
    producer = TableOptions(schema.options).changelog_producer
    return bool(schema.primary_keys) and (skips_level0(schema) or producer in {"lookup", "full-compaction"})


def due_for_full(store: TableStore, schema: TableSchema, written: pa.Array) -> pa.Array | None:
    """Returns the encoded partitions that ``full-compaction.delta-commits`` wants compacted now, else ``None``.

    ``written`` are the partitions of the commit just made. Commits are counted since the last full compaction. There
    may be more of them than the option says, because a compaction gives way to other commits; the count stops at a
    limit.
    """
    wanted = TableOptions(schema.options).full_compaction_delta_commits
    if wanted is None:
        return None
    number = store.snapshots.latest_id() or 0
    counted: list[Snapshot] = []
    while number and len(counted) < wanted * 4 + 16:
        snapshot = store.snapshots.find(number)
        if snapshot is None or read_flag(snapshot.properties, FULLY_COMPACTED):
            break
        if snapshot.commit_kind is CommitKind.APPEND:
            counted.append(snapshot)
        number -= 1
    if len(counted) < wanted:
        return None
    metas = [meta for snapshot in counted for meta in store.manifests.read_list(snapshot.delta_manifest_list)]
    found = store.manifests.read_entries(metas)["partition"].combine_chunks()
    return pc.unique(pa.concat_arrays([found, written]))
