"""Rows of an append table instead of others: whole files go, new ones take their place, in one commit.

What is replaced are the files that were read, and no others: rows that somebody adds meanwhile stay, and if one of the files
is gone by then (deleted from, compacted, overwritten) the commit fails and nothing has changed.
"""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa

from lakebed.engine import IN_PROCESS, Engine
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit
from lakebed.metadata.store import TableStore
from lakebed.operations.delete import remove_index_files
from lakebed.operations.write import Identity, NewFiles, write_files
from lakebed.rows.append.append_delete import without_vectors


def rewrite_files(
    store: TableStore,
    planned_on: Snapshot,
    entries: pa.Table,
    data: Any,
    who: Identity,
    *,
    operation: str,
    engine: Engine = IN_PROCESS,
) -> Snapshot | None:
    """Put rows in the place of the files of ``entries``, which are live in the snapshot ``planned_on``."""
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
