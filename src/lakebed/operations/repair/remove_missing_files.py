"""Remove entries of data files that do not exist from the latest snapshot, so that the other rows can be read again.

The rows of the missing files are already lost. Older snapshots and tags still refer to the files. The commit only
deletes entries. If another commit deletes one of these entries first (a compaction that had already read the file),
this one raises a conflict.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.data_file_paths import path_array
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.delete import remove_index_files
from lakebed.rows.append.append_delete import without_vectors
from lakebed.storage import run_together

_THREADS: Final = 8


def remove_missing_files(store: TableStore, *, dry_run: bool) -> list[str]:
    """Remove the entries of missing files from the table; returns the paths of the files."""
    latest = store.snapshots.latest()
    if latest is None:
        return []
    schema = store.schema()
    entries = live_entries(store, latest)
    paths = path_array(store, schema, entries)
    found = run_together([partial(store.storage.exists, path) for path in paths.to_pylist()], _THREADS)
    is_missing = pa.array(~np.array(found, np.bool_))
    gone = entries.filter(is_missing)
    missing: list[str] = paths.filter(is_missing).to_pylist()
    if dry_run or not missing:
        return missing
    index: tuple[IndexEntry, ...] = ()
    with abort_unless_committed(lambda: remove_index_files(store, index)):
        index = without_vectors(store, store.manifests.read_index(latest.index_manifest), gone, f"index-{uuid.uuid4()}")
        change = Change(entries=as_deletes(gone), index=index)
        who = Identity.of(schema)
        commit(
            store,
            Commit(
                kind=CommitKind.APPEND,
                plan=lambda _: change,
                planned_on=latest.id,
                operation="DELETE",
                user=who.user,
                identifier=who.identifier,
            ),
        )
    return missing
