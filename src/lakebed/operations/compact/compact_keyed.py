"""Compaction of a primary-key table: picks buckets, merges their files, commits the result as a COMPACT snapshot.

Concurrent writes do not conflict: they add files that the compaction does not touch. If another compaction or an
overwrite deleted one of its files first, the commit raises a conflict and the new files are deleted. Where compactions
produce the table's changelog, it is part of the same commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import pyarrow as pa

from lakebed.engine import IN_PROCESS, Engine, Report
from lakebed.format import predicate as pred
from lakebed.format.commit_facts import FULLY_COMPACTED, encode_facts
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
from lakebed.operations.compact.compaction_rules import compaction_options
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.rows.keyed.keyed_compact import BucketWork, Compactor, Pick, joined
from lakebed.rows.keyed.keyed_read import KeyedReader


@dataclass(frozen=True, slots=True)
class KeyedCompactionPlan:
    """What a compaction of a primary-key table will do; planning writes nothing."""

    snapshot: Snapshot
    compactor: Compactor
    works: Sequence[BucketWork]

    @property
    def inputs(self) -> list[pa.Table]:
        """The entries of the files that are merged, one table for each bucket."""
        return [work.entries.take([file.row for file in work.unit.files]) for work in self.works]


def plan_keyed_compaction(
    store: TableStore,
    *,
    full: bool,
    where: pred.Node | None = None,
    partitions: pa.Array | None = None,
    unlogged: AbstractSet[str] = frozenset(),
) -> KeyedCompactionPlan | None:
    """Pick the files to merge in the latest snapshot, see :func:`compact_keyed_table`.

    ``None`` for a table without snapshots.
    """
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
    return KeyedCompactionPlan(latest, compactor, compactor.plan(entries, _pick(schema, full=full), unlogged))


def compact_keyed_table(
    store: TableStore,
    *,
    full: bool,
    where: pred.Node | None = None,
    partitions: pa.Array | None = None,
    report: Report | None = None,
    engine: Engine = IN_PROCESS,
    unlogged: AbstractSet[str] = frozenset(),
) -> Snapshot | None:
    """Compact the buckets that need it (or all, if ``full``) and commit the result.

    Args:
        store: The branch to compact.
        full: Whether every bucket is merged into its highest level.
        where: A condition over partition columns.
        partitions: The encoded partitions to look at; all of them without it.
        report: Called with the number of buckets done and of all.
        engine: Where the buckets are merged.
        unlogged: Names of files whose rows get no changelog, such as those of an overwrite.

    Returns:
        The new snapshot; ``None`` if there was nothing to do.
    """
    properties = begin() if where is not None or not full else {**begin(), **encode_facts({FULLY_COMPACTED: True})}
    plan = plan_keyed_compaction(store, full=full, where=where, partitions=partitions, unlogged=unlogged)
    if plan is None:
        return None
    done = engine.compact(plan.compactor, plan.works, report)
    with abort_unless_committed(done.abort):
        change = joined(done.results).change
        request = Commit(
            kind=CommitKind.COMPACT, plan=lambda _: change, planned_on=plan.snapshot.id, properties=properties
        )
        return commit(store, request)


def _pick(schema: TableSchema, *, full: bool) -> Pick:
    if full:
        return pick_full
    # Also with 'deletion-vectors.merge-on-read': readers that do not know this option skip level 0.
    return _universal_or_level0 if TableOptions(schema.options).looks_up else pick_universal


def _universal_or_level0(files: Sequence[LevelFile], options: CompactionOptions) -> CompactUnit | None:
    return pick_universal(files, options) or pick_level0(files, options)
