"""The compaction that follows a write to a primary-key table, unless the table is ``write-only``.

It is a commit of its own. If it fails, the rows stay written and a later write or ``compact()`` compacts them.
"""

from __future__ import annotations

import logging
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import IN_PROCESS, Engine
from lakebed.errors import CommitConflictError, CommitOutcomeUnknownError, LakebedError
from lakebed.format.manifest.manifest import ADD
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_keyed import compact_keyed_table
from lakebed.operations.compact.compaction_rules import due_for_full, must_follow
from lakebed.options import TableOptions

_LOG: Final = logging.getLogger("lakebed")
_VISIBLE_TRIES: Final = 20


def compact_after_write(
    store: TableStore, schema: TableSchema, written: pa.Table, engine: Engine = IN_PROCESS, *, changelog: bool = True
) -> None:
    """Compact the buckets of the partitions just written, where the table's options ask for it.

    The write is committed, so a compaction that fails is logged and not raised. If it loses to another commit, it is
    retried where readers depend on it: they skip level 0, or the compaction makes the changelog. Without ``changelog``
    the rows just written get none.
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


def finish_committed(store: TableStore, done: Snapshot, engine: Engine = IN_PROCESS, *, changelog: bool = True) -> None:
    """Compact after a write that was committed by an earlier call, which may have crashed before its compaction."""
    schema = store.schema()
    if schema.primary_keys and must_follow(schema):
        entries = store.manifests.read_entries(store.manifests.read_list(done.delta_manifest_list))
        compact_after_write(store, schema, entries.filter(pc.equal(entries["kind"], ADD)), engine, changelog=changelog)
