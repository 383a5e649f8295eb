"""Write rows to a table: append them, or upsert them where there is a primary key.

Files are written first, then one commit makes them visible. If anything fails before the commit, the files are deleted.
A primary-key table is compacted afterwards where it needs it (:mod:`lakebed.operations.compact.compact_after_write`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.buckets.rebucket import commit_upsert
from lakebed.engine import IN_PROCESS, Engine, NewFiles, WritePlan
from lakebed.errors import DataError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, append, commit, find_committed
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.next_sequences import next_sequences
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_after_write import compact_after_write, finish_committed
from lakebed.options import TableOptions
from lakebed.rows.append.append_write import continue_sequences

Guard: TypeAlias = Callable[[Commit], Commit]
"""Returns the commit to make instead of the given one: it raises where it would break a rule of the table."""


def unguarded(request: Commit) -> Commit:
    """Returns the commit unchanged: the table has no rules of its own."""
    return request


def write(
    store: TableStore,
    data: Any,
    *,
    row_kind: str | None,
    who: Identity,
    engine: Engine = IN_PROCESS,
    guard: Guard = unguarded,
) -> Snapshot | None:
    """Append or upsert rows; returns the new snapshot, or ``None`` if there were no rows."""
    if who.identifier != BATCH_IDENTIFIER:
        # Looked up before writing, so that a repeated call writes no files in vain.
        done = find_committed(store, who.user, who.identifier, CommitKind.APPEND)
        if done is not None:
            finish_committed(store, done, engine)
            return done

    def make(files: NewFiles) -> Commit:
        change = Change(entries=files.data, changelog=files.changelog, index=files.index)
        return append(change, user=who.user, identifier=who.identifier)

    return write_files(store, data, make, row_kind=row_kind, engine=engine, guard=guard)


def write_files(
    store: TableStore,
    data: Any,
    make: Callable[[NewFiles], Commit],
    *,
    row_kind: str | int | None = None,
    changelog: bool = True,
    replaces: bool = False,
    engine: Engine = IN_PROCESS,
    guard: Guard = unguarded,
) -> Snapshot | None:
    """Write rows as files and make the commit that ``make`` builds of them.

    Args:
        store: The branch to write to.
        data: The rows, in any form that the engine reads.
        make: Builds the commit from the files.
        row_kind: The column with the row kinds, or one kind for all rows.
        changelog: Whether changelog files are written too, if the table has ``changelog-producer`` = ``input``.
        replaces: Whether the commit deletes everything else in the partitions of the rows.
        engine: Where the files are written.
        guard: The rules of the table for its commits.

    Returns:
        The new snapshot; ``None`` if there was nothing to commit.
    """
    schema = store.schema()
    if not schema.primary_keys and row_kind is not None:
        raise DataError(f"table {store.name} has no primary key, so its rows have no row kind; leave row_kind out")
    keeps = changelog and bool(schema.primary_keys) and TableOptions(schema.options).changelog_producer == "input"
    files = engine.write(WritePlan(store, schema, row_kind, keeps, next_sequences(store), replaces), data)
    with abort_unless_committed(files.abort):
        store.publish_schema()
        if not schema.primary_keys:
            files = replace(files, data=numbered(store, schema, files.data))
        if has_dynamic_buckets(schema) and not replaces:
            made = commit_upsert(store, schema, guard(make(files)), files.built_on)
        else:
            made = commit(store, guard(make(files)))
    if made is not None and schema.primary_keys:
        compact_after_write(store, schema, files.data, engine, changelog=changelog)
    return made


def numbered(store: TableStore, schema: TableSchema, entries: pa.Table) -> pa.Table:
    """Returns entries whose sequence numbers go on in each fixed bucket; other append files count from 0."""
    if TableOptions(schema.options).bucket <= 0 or not len(entries):
        return entries
    partitions = pc.unique(entries["partition"].combine_chunks())
    return continue_sequences(entries, live_entries(store, store.snapshots.latest(), partitions))
