"""Compaction of a primary-key table: picks buckets, merges their files, commits the result as a COMPACT snapshot.

Concurrent writes are not disturbed: they add files that the compaction does not touch. If another compaction or an
overwrite took away one of its files first, the commit fails with a conflict and everything written is removed. Where
compactions produce the table's changelog, it is part of the same commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import IN_PROCESS, Engine, Report
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.history.compactions import begin
from lakebed.metadata.plan.file_scan import live_entries, partition_mask
from lakebed.metadata.plan.levels import (
    CompactionOptions,
    CompactUnit,
    LevelFile,
    pick_full,
    pick_level0,
    pick_universal,
)
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.rows.keyed.keyed_compact import Compactor, Pick, joined
from lakebed.rows.keyed.keyed_read import KeyedReader

FULLY_COMPACTED: Final = {"lakebed.full-compaction": "true"}
"""What the snapshot of a compaction of everything notes of itself."""


def compaction_options(options: TableOptions) -> CompactionOptions:
    """The options of a table that decide about compaction."""

    def number(name: str, default: int) -> int:
        value = options.get(name)
        return value if isinstance(value, int) else default

    trigger = number("num-sorted-run.compaction-trigger", 5)
    return CompactionOptions(
        trigger=trigger,
        num_levels=max(2, number("num-levels", trigger + 1)),  # what is compacted never goes to level 0
        max_size_amplification=number("compaction.max-size-amplification-percent", 200),
        size_ratio=number("compaction.size-ratio", 1),
        target_file_size=options.target_file_size(is_primary_key=True),
    )


def skips_level0(schema: TableSchema) -> bool:
    """Whether readers of a table leave out level 0, so that rows are seen only once compacted."""
    options = TableOptions(schema.options)
    marked = options.deletion_vectors_enabled and not options.get("deletion-vectors.merge-on-read")
    return bool(schema.primary_keys) and (marked or options.get("merge-engine") == "first-row")


def must_follow(schema: TableSchema) -> bool:
    """Whether a write is complete only once compacted: its rows are not seen before, or the changelog lacks them."""
    producer = TableOptions(schema.options).changelog_producer
    return bool(schema.primary_keys) and (skips_level0(schema) or producer in {"lookup", "full-compaction"})


def due_for_full(store: TableStore, schema: TableSchema, written: pa.Array) -> pa.Array | None:
    """The encoded partitions that ``full-compaction.delta-commits`` wants compacted now, ``None`` if none.

    ``written`` are those of the commit just made. Commits count since the last compaction of everything; more of them than
    the option says are there when compactions gave way to others, and are looked at up to a limit.
    """
    wanted = TableOptions(schema.options).full_compaction_delta_commits
    if wanted is None:
        return None
    number = store.snapshots.latest_id() or 0
    counted: list[Snapshot] = []
    while number and len(counted) < wanted * 4 + 16:
        snapshot = store.snapshots.find(number)
        if snapshot is None or FULLY_COMPACTED.items() <= snapshot.properties.items():
            break
        if snapshot.commit_kind is CommitKind.APPEND:
            counted.append(snapshot)
        number -= 1
    if len(counted) < wanted:
        return None
    metas = [meta for snapshot in counted for meta in store.manifests.read_list(snapshot.delta_manifest_list)]
    found = store.manifests.read_entries(metas)["partition"].combine_chunks()
    return pc.unique(pa.concat_arrays([found, written]))


def compact(
    store: TableStore,
    *,
    full: bool,
    where: pred.Node | None = None,
    partitions: pa.Array | None = None,
    report: Report | None = None,
    engine: Engine = IN_PROCESS,
    unlogged: AbstractSet[str] = frozenset(),
) -> Snapshot | None:
    """Compact what needs it (or everything, if ``full``); gives the new snapshot, ``None`` if there was nothing to do.

    ``partitions`` are the encoded ones to look at, all if there are none. Of files named ``unlogged``, as those that an
    overwrite wrote, no changelog is made.
    """
    begun = begin() if where is not None or not full else {**begin(), **FULLY_COMPACTED}
    latest = store.snapshots.latest()
    if latest is None:
        return None
    schema = store.schema()
    options = TableOptions(schema.options)
    entries = live_entries(store, latest, partitions)
    mask = partition_mask(entries, where, schema)
    if mask is not None:
        entries = entries.filter(pa.array(mask))
    index = store.manifests.read_index(latest.index_manifest)
    deleted = DeletedRows.of(store, index)
    compactor = Compactor(
        FileLayout(store, schema, options),
        KeyedReader(store, schema, schema.fields, deleted=deleted),
        compaction_options(options),
        index,
    )
    done = engine.compact(compactor, compactor.plan(entries, _pick(schema, full=full), unlogged), report)
    with abort_unless_committed(done.abort):
        change = joined(done.results).change
        return commit(
            store,
            Commit(kind=CommitKind.COMPACT, plan=lambda _: change, planned_on=latest.id, properties=begun),
        )


def _pick(schema: TableSchema, *, full: bool) -> Pick:
    if full:
        return pick_full
    # Also where readers of marked files merge level 0: a reader that does not know that option sees the rows too.
    return _universal_or_level0 if TableOptions(schema.options).looks_up else pick_universal


def _universal_or_level0(files: Sequence[LevelFile], options: CompactionOptions) -> CompactUnit | None:
    return pick_universal(files, options) or pick_level0(files, options)
