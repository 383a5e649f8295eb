"""Replace rows of an append table: UPDATE, DELETE and MERGE in SQL rewrite the files that they read, in one commit.

The commit deletes the files that were read and adds the new ones. Rows that other commits add meanwhile stay. If
another commit deleted one of the files first (a delete, a compaction, an overwrite), the commit raises a conflict and
the table is unchanged.
"""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa

from lakebed.engine import IN_PROCESS, Engine, NewFiles
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.store import TableStore
from lakebed.operations.delete import remove_index_files
from lakebed.operations.write import write_files
from lakebed.rows.append.append_delete import without_vectors


def replace_rows(
    store: TableStore,
    planned_on: Snapshot,
    entries: pa.Table,
    data: Any,
    who: Identity,
    *,
    operation: str,
    engine: Engine = IN_PROCESS,
) -> Snapshot | None:
    """Replace the files of ``entries``, which are live in ``planned_on``, by files with the rows of ``data``."""
    old_index = store.manifests.read_index(planned_on.index_manifest)
    index: tuple[IndexEntry, ...] = ()

    def make(files: NewFiles) -> Commit:
        nonlocal index
        index = without_vectors(store, old_index, entries, f"index-{uuid.uuid4()}")
        change = Change(entries=pa.concat_tables([as_deletes(entries), files.data]), index=index)
        return Commit(
            kind=CommitKind.APPEND,
            plan=lambda _: change,
            planned_on=planned_on.id,
            operation=operation,
            user=who.user,
            identifier=who.identifier,
        )

    with abort_unless_committed(lambda: remove_index_files(store, index)):
        return write_files(store, data, make, engine=engine)
