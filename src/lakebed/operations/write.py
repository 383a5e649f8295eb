"""Rows into a table: append, or upsert where there is a primary key.

Files are written first, then one commit makes them visible; whatever fails, no file is left behind that no snapshot refers
to. A primary-key table is compacted afterwards where it needs it, unless it is ``write-only``: that is a commit of its own,
and losing it to a concurrent one loses nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.dynamic import has_dynamic_buckets
from lakebed.buckets.rebucket import commit_upsert
from lakebed.engine import IN_PROCESS, Engine, NewFiles, WritePlan
from lakebed.errors import CommitConflictError, CommitOutcomeUnknownError, DataError, LakebedError, OptionError
from lakebed.format.manifest.manifest import ADD
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, append, commit, find_committed
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.next_sequences import next_sequences
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_keyed import compact_keyed_table
from lakebed.operations.compact.compaction_rules import due_for_full, must_follow
from lakebed.options import TableOptions
from lakebed.rows.append.append_write import continue_sequences

__all__ = [
    "Guard",
    "Identity",
    "NewFiles",
    "compact_after_write",
    "finish_committed",
    "numbered",
    "unguarded",
    "write",
    "write_files",
]

Guard: TypeAlias = Callable[[Commit], Commit]
"""Makes a commit keep to the rules of a table of some kind, by looking at what it is about to do."""

_LOG: Final = logging.getLogger("lakebed")
_VISIBLE_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Identity:
    """Who commits, and under which number: the same pair is committed once."""

    user: str
    identifier: int = BATCH_IDENTIFIER

    @staticmethod
    def of(schema: TableSchema, user: str | None = None, identifier: int | None = None) -> Identity:
        if (user is None) != (identifier is None):
            raise OptionError("give commit_user and commit_identifier together, or neither")
        if user is not None and identifier is not None:
            return Identity(user, identifier)
        prefix = TableOptions(schema.options).commit_user_prefix
        return Identity(f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4()))


def unguarded(request: Commit) -> Commit:
    """No rules but those of every commit."""
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
    """Append or upsert rows; gives the new snapshot, or ``None`` if there were no rows."""
    if who.identifier != BATCH_IDENTIFIER:
        # Looked up before writing too, so that a repeated call writes no files that nobody would refer to.
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
    """Write rows as files and make the commit that ``make`` builds of them; with a changelog if the table keeps one.

    ``replaces``: the commit takes away all else that the partitions of the rows hold.
    """
    schema = store.schema()
    if not schema.primary_keys and row_kind is not None:
        raise DataError(f"table {store.name} has no primary key, so its rows have no row kind; leave row_kind out")
    keeps = changelog and bool(schema.primary_keys) and TableOptions(schema.options).changelog_producer == "input"
    files = engine.write(WritePlan(store, schema, row_kind, keeps, next_sequences(store), replaces), data)
    with abort_unless_committed(files.abort):
        if not schema.primary_keys:
            files = replace(files, data=numbered(store, schema, files.data))
        if has_dynamic_buckets(schema) and not replaces:
            made = commit_upsert(store, schema, guard(make(files)), files.built_on)
        else:
            made = commit(store, guard(make(files)))
    if made is not None and schema.primary_keys:
        compact_after_write(store, schema, files.data, engine, changelog=changelog)
    return made


def finish_committed(store: TableStore, done: Snapshot, engine: Engine = IN_PROCESS, *, changelog: bool = True) -> None:
    """What follows a write that was committed before: whoever made it may have died before its rows could be seen."""
    schema = store.schema()
    if schema.primary_keys and must_follow(schema):
        entries = store.manifests.read_entries(store.manifests.read_list(done.delta_manifest_list))
        compact_after_write(store, schema, entries.filter(pc.equal(entries["kind"], ADD)), engine, changelog=changelog)


def numbered(store: TableStore, schema: TableSchema, entries: pa.Table) -> pa.Table:
    """Fixed buckets of append tables number their rows on; other append files count from 0."""
    if TableOptions(schema.options).bucket <= 0 or not len(entries):
        return entries
    partitions = pc.unique(entries["partition"].combine_chunks())
    return continue_sequences(entries, live_entries(store, store.snapshots.latest(), partitions))


def compact_after_write(
    store: TableStore, schema: TableSchema, written: pa.Table, engine: Engine = IN_PROCESS, *, changelog: bool = True
) -> None:
    """Compact the buckets of the partitions just written, where they need it or everything is due.

    Whatever becomes of that, the write is committed, and its caller must not take it for failed. Where readers skip level
    0 or compactions make the changelog, a compaction that gave way to another one is tried again. Without ``changelog``
    there is to be none of the rows just written.
    """
    if TableOptions(schema.options).write_only:
        return
    partitions = pc.unique(written["partition"].combine_chunks())
    unlogged = frozenset() if changelog else frozenset(written["file_name"].to_pylist())
    for _ in range(_VISIBLE_TRIES if must_follow(schema) else 1):
        try:
            due = due_for_full(store, schema, partitions)
            compact_keyed_table(
                store,
                full=due is not None,
                partitions=partitions if due is None else due,
                engine=engine,
                unlogged=unlogged,
            )
        except CommitConflictError as conflict:
            _LOG.info("table %s: compaction after a write gave way to another commit: %s", store.name, conflict)
        except CommitOutcomeUnknownError:
            raise
        except LakebedError as problem:
            _LOG.warning("table %s: rows were written, but not compacted: %s", store.name, problem)
            return
        else:
            return
