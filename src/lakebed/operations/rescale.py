"""Rescale: rewrites partitions with another number of buckets, in one commit.

The option ``bucket`` of the table does not change; the entries of files record the number of buckets of their
partition. If another commit changes one of the partitions meanwhile, the commit raises a conflict and the table is
unchanged.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import IN_PROCESS, Engine, NewFiles
from lakebed.errors import CommitConflictError, OptionError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compaction_rules import skips_level0
from lakebed.operations.overwrite import lifted, replace_partitions
from lakebed.operations.read import BranchRead
from lakebed.operations.write import Guard, unguarded, write_files
from lakebed.options import TableOptions


def checked_buckets(schema: TableSchema, buckets: int | None, name: str) -> int:
    """Returns the requested number of buckets, by default that of the option ``bucket``; raises if it is not valid."""
    own = TableOptions(schema.options).bucket
    if own <= 0:
        raise UnsupportedError(
            f"table {name} has no fixed number of buckets ('bucket' = {own}), so it cannot be rescaled: -1 means that the "
            "number is dynamic (primary-key tables), or that there are no buckets (append tables)"
        )
    wanted = own if buckets is None else buckets
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise OptionError(f"the number of buckets is {wanted!r}; it must be an integer of at least 1")
    return wanted


def whole_partitions(
    store: TableStore, schema: TableSchema, planned_on: Snapshot, where: pred.Node | None
) -> BranchRead:
    """Returns a read of all rows of the partitions, also of those at level 0 that other reads skip.

    Their files are replaced, so a row that is not read would be lost.

    Raises:
        UnsupportedError: There are such rows, and only a compaction can merge them.
    """
    merging = schema.with_options({**schema.options, TableOptions.deletion_vectors_merge_on_read.name: "true"})
    read = BranchRead(store, merging, planned_on, schema.fields, where)
    if skips_level0(merging):
        levels = live_entries(store, planned_on, read.partitions())["level"]
        if pc.any(pc.equal(levels, 0)).as_py():
            raise UnsupportedError(
                f"table {store.name} has rows that are not compacted yet, and rescaling would lose them; call compact() first"
            )
    return read


def rescale(
    store: TableStore,
    planned_on: Snapshot,
    rows: Any,
    buckets: int,
    who: Identity,
    *,
    engine: Engine = IN_PROCESS,
    guard: Guard = unguarded,
) -> Snapshot | None:
    """Write the rows of whole partitions of a snapshot with another number of buckets."""
    target = store.with_options({TableOptions.bucket.name: str(buckets)})
    schema = target.schema()

    def make(files: NewFiles) -> Commit:
        entries = lifted(files.data, schema)
        partitions = pc.unique(entries["partition"].combine_chunks())
        read = _names(live_entries(store, planned_on, partitions))
        replace = replace_partitions(target, entries)

        def plan(latest: Snapshot | None) -> Change:
            if latest != planned_on and not _names(live_entries(store, latest, partitions)).equals(read):
                raise CommitConflictError(
                    f"table {store.name}: its partitions changed while their rows were spread over {buckets} buckets; "
                    "nothing was committed, rescale again"
                )
            return replace(latest)

        return Commit(kind=CommitKind.OVERWRITE, plan=plan, user=who.user, identifier=who.identifier)

    return write_files(target, rows, make, changelog=False, engine=engine, guard=guard)


def _names(entries: pa.Table) -> pa.Array:
    """Returns the names of files in a fixed order."""
    names = entries["file_name"].combine_chunks()
    return names.take(pc.array_sort_indices(names))
