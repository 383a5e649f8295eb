"""The files that consecutive snapshots deleted, from their delta manifests; expiry may delete them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.manifest.manifest import ADD, DELETE, NO_ENTRIES
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.references.candidates import file_names
from lakebed.metadata.store import TableStore


def deleted_files(store: TableStore, snapshots: Sequence[Snapshot]) -> tuple[pa.Table, pa.Array]:
    """Returns the DELETE entries of these snapshots, and the names among their files that were added again.

    A file that changes its level is deleted and added under the same name in one commit, so within a commit the ADD
    counts.
    """
    tables = []
    store.manifests.read_lists_ahead(snapshot.delta_manifest_list for snapshot in snapshots)
    for number, snapshot in enumerate(snapshots):
        metas = store.manifests.read_list(snapshot.delta_manifest_list)
        if snapshot.commit_kind is CommitKind.OVERWRITE or any(meta.num_deleted_files for meta in metas):
            entries = store.manifests.read_entries(metas)
            tables.append(entries.append_column("commit", pa.array(np.full(len(entries), number))))
    if not tables:
        return NO_ENTRIES, pa.array([], pa.string())
    entries = pa.concat_tables(tables)
    deletes = entries.filter(pc.equal(entries["kind"], DELETE))
    deleted = _last_commits(deletes)
    added = _last_commits(entries.filter(pc.equal(entries["kind"], ADD)))
    place = pc.index_in(deleted["name"].combine_chunks(), value_set=added["name"].combine_chunks())
    last_added = pc.take(added["commit_max"].combine_chunks(), place).fill_null(-1)
    again = pc.greater_equal(last_added, deleted["commit_max"].combine_chunks())
    return deletes.drop_columns(["commit"]), deleted["name"].combine_chunks().filter(again)


def _last_commits(entries: pa.Table) -> pa.Table:
    """Returns, for each file and extra file, the last commit that has an entry of it."""
    extras = entries["extra_files"].combine_chunks()
    commits = entries["commit"].combine_chunks()
    both = pa.concat_arrays([commits, commits.take(pc.list_parent_indices(extras))])
    return pa.table({"name": file_names(entries), "commit": both}).group_by("name").aggregate([("commit", "max")])
