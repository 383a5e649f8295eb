"""Compaction of an append table: merges small files, or sorts whole partitions, and commits a COMPACT snapshot.

Concurrent appends do not conflict. If a delete, an overwrite or another compaction deleted one of its files first, the
commit raises a conflict and the new files are deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakebed.engine import IN_PROCESS, Engine, Report
from lakebed.format import predicate as pred
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.history.compactions import begin
from lakebed.metadata.plan.file_scan import live_entries, partition_mask
from lakebed.metadata.plan.small_files import SmallFilePolicy, by_bucket, pick_small_files
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.append.append_compact import AppendCompactor
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.sort_order import SortOrder


@dataclass(frozen=True, slots=True)
class AppendCompactionPlan:
    """What a compaction of an append table will do; planning writes nothing.

    ``inputs`` are the entries of the files that are rewritten, one table for each pack of files.
    """

    snapshot: Snapshot
    compactor: AppendCompactor
    inputs: Sequence[pa.Table]


def plan_append_compaction(
    store: TableStore, *, full: bool, where: pred.Node | None = None, order: SortOrder | None = None
) -> AppendCompactionPlan | None:
    """Pick the files to rewrite in the latest snapshot, see :func:`compact_append_table`.

    ``None`` if there is no snapshot.
    """
    latest = store.snapshots.latest()
    if latest is None:
        return None
    schema = store.schema()
    options = TableOptions(schema.options)
    entries = live_entries(store, latest)
    mask = partition_mask(entries, where, schema)
    if mask is not None:
        entries = entries.filter(pa.array(mask))
    index = store.manifests.read_index(latest.index_manifest)
    deleted = DeletedRows.of(store, index)
    if order is None:
        packs = pick_small_files(
            entries,
            SmallFilePolicy.of(options, full=full),
            deleted_rows=_deleted_counts(entries, deleted),
            ordered=options.bucket > 0,
        )
    else:
        packs = by_bucket(entries)
    reader = FileReader(store, schema, schema.fields, None, deleted)
    compactor = AppendCompactor(FileLayout(store, schema, options), reader, index, order=order)
    return AppendCompactionPlan(latest, compactor, [entries.take(pack) for pack in packs])


def compact_append_table(
    store: TableStore,
    *,
    full: bool,
    where: pred.Node | None = None,
    order: SortOrder | None = None,
    report: Report | None = None,
    engine: Engine = IN_PROCESS,
) -> Snapshot | None:
    """Merge small files (all of them, if ``full``) and commit the result.

    Args:
        store: The branch to compact.
        full: Whether all files are merged, not only small ones.
        where: A condition over partition columns.
        order: Rewrites all files, the rows of each partition sorted.
        report: Called with the number of packs of files done and of all.
        engine: Where the files are rewritten.

    Returns:
        The new snapshot; ``None`` if there was nothing to do.
    """
    properties = begin()
    plan = plan_append_compaction(store, full=full, where=where, order=order)
    if plan is None:
        return None
    done = engine.rewrite(plan.compactor, plan.inputs, report)
    with abort_unless_committed(done.abort, plan.compactor.abort):
        change = plan.compactor.change(plan.inputs, done.parts)
        request = Commit(
            kind=CommitKind.COMPACT, plan=lambda _: change, planned_on=plan.snapshot.id, properties=properties
        )
        return commit(store, request)


def _deleted_counts(entries: pa.Table, deleted: DeletedRows) -> np.ndarray:
    """How many rows of each file are marked as deleted."""
    counts = np.zeros(len(entries), np.int64)
    if deleted.by_file:
        keys = zip(entries["partition"].to_pylist(), entries["file_name"].to_pylist(), strict=True)
        for row, key in enumerate(keys):
            if key in deleted.by_file:
                counts[row] = deleted.by_file[key][1].cardinality or 0
    return counts
