"""Merge a branch of an append-only table: adds the files of the branch to main, in one APPEND commit.

Both histories must be complete since their last common snapshot, and must only have added files. Otherwise a file that
main does not have could be one that main has rewritten, and its rows would be added twice. Each attempt of the commit
reads from the history of main which files it already has. So merging twice, or by two processes at once, adds each file
once.

Files keep their schema. A schema that main has with another id, because only options differ, gets the id of main; one
that main does not have is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError, OptionError, SchemaError, UnsupportedError
from lakebed.format.commit_facts import MERGED_BRANCH
from lakebed.format.manifest.manifest import ENTRY_SCHEMA, NO_ENTRIES, ManifestMeta
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_ADDS_ONLY: Final = frozenset({CommitKind.APPEND, CommitKind.ANALYZE})


def merge_branch(store: TableStore, name: str) -> Snapshot | None:
    """Add the files of a branch that main lacks; returns the snapshot, or ``None`` if main has all of them."""
    if name == store.paths.branch:
        raise OptionError(f"branch {name!r} of table {store.name} cannot be merged into itself; name another branch")
    branch = store.on_branch(name)
    _check_tables(store, branch)
    newest = branch.snapshots.latest()
    if newest is None:
        raise NotFoundError(f"branch {name!r} of table {store.name} has no snapshot to merge; write to it first")

    def plan(latest: Snapshot | None) -> Change:
        return Change(entries=_missing(store, branch, latest, newest))

    return commit(store, Commit(kind=CommitKind.APPEND, plan=plan, properties={MERGED_BRANCH: name}))


def _check_tables(store: TableStore, branch: TableStore) -> None:
    ours, theirs = store.schema(), branch.schema()
    if ours.primary_keys or theirs.primary_keys:
        raise UnsupportedError(
            f"table {store.name} has a primary key, and branches of such tables cannot be merged: it is unknown "
            "which of two rows is newer; fast-forward, or write the branch's rows to the table"
        )
    if _placement(ours) != _placement(theirs):
        raise SchemaError(
            f"branch {branch.paths.branch!r} of table {store.name} places rows in other partitions or buckets than the "
            "table; give both the same partition keys, bucket and bucket-key"
        )


def _placement(schema: TableSchema) -> tuple[object, ...]:
    options = TableOptions(schema.options)
    return schema.partition_keys, options.bucket, schema.bucket_keys, options.bucket_function


# --------------------------------------------------------------------------------------------------- histories


def _missing(store: TableStore, branch: TableStore, latest: Snapshot | None, newest: Snapshot) -> pa.Table:
    """Returns the files that were added on the branch and not on main, as entries for main."""
    parted = _parted(store, branch, latest, newest)
    theirs = _added(branch, parted, newest.id)
    ours = _added(store, parted, 0 if latest is None else latest.id)
    # Names of data files are unique in a table, so the name identifies the file.
    known = pc.is_in(theirs["file_name"], value_set=ours["file_name"].combine_chunks())
    return _with_our_schemas(store, branch, theirs.filter(pc.invert(known)))


def _parted(store: TableStore, branch: TableStore, latest: Snapshot | None, newest: Snapshot) -> int:
    """Returns the last common snapshot of both histories; 0 if there is none and both are complete."""
    ours, theirs = store.snapshots.ids(), branch.snapshots.ids()
    shared = sorted(set(ours) & set(theirs))
    low, high = 0, len(shared)  # up to ``low``, both have the same snapshot for an id
    while low < high:
        middle = (low + high) // 2
        if store.snapshots.find(shared[middle]) == branch.snapshots.find(shared[middle]):
            low = middle + 1
        else:
            high = middle
    if low:
        return shared[low - 1]
    if theirs and branch.snapshots.find(theirs[0]) in store.snapshots.tags().values():
        return theirs[0]  # it expired on main, but a tag of main has it
    ours_complete = latest is None or (bool(ours) and ours[0] == FIRST_SNAPSHOT_ID)
    if ours_complete and theirs and theirs[0] == FIRST_SNAPSHOT_ID:
        return 0
    raise UnsupportedError(
        f"the last common snapshot of branch {branch.paths.branch!r} and table {store.name} has expired, so it is "
        "unknown "
        f"which files are new on the branch (its newest snapshot is {newest.id}); write its rows to the table instead"
    )


def _added(store: TableStore, after: int, last: int) -> pa.Table:
    """Returns the files added by the snapshots from ``after`` (exclusive) to ``last``.

    Raises if they did anything else.
    """
    numbers = list(range(after + 1, last + 1))
    snapshots = store.snapshots.read_many(numbers)
    where = f"branch {store.paths.branch!r} of table {store.name}"
    if len(snapshots) != len(numbers):
        gone = min(set(numbers) - {snapshot.id for snapshot in snapshots})
        raise UnsupportedError(
            f"{where} cannot be merged: its snapshot {gone} has expired, so it is unknown whether files were only "
            "added "
            f"since snapshot {after}; write the branch's rows to the table instead"
        )
    metas: list[ManifestMeta] = []
    for snapshot in snapshots:
        delta = store.manifests.read_list(snapshot.delta_manifest_list)
        if snapshot.commit_kind not in _ADDS_ONLY or any(meta.num_deleted_files for meta in delta):
            raise UnsupportedError(
                f"{where} cannot be merged: its snapshot {snapshot.id} ({snapshot.commit_kind}) did more than add "
                "files, "
                "so its files and those of the other branch cannot be told apart; write the branch's rows to the table "
                "instead"
            )
        metas += delta
    return store.manifests.read_entries(metas) if metas else NO_ENTRIES


# ----------------------------------------------------------------------------------------------------- schemas


def _with_our_schemas(store: TableStore, branch: TableStore, entries: pa.Table) -> pa.Table:
    if entries["first_row_id"].null_count != len(entries):
        raise UnsupportedError(
            f"branch {branch.paths.branch!r} of table {store.name} has rows with row ids, which Lakebed does not "
            "assign; "
            "merge it with Apache Paimon"
        )
    ids = pc.unique(entries["schema_id"])
    ours = _known_schemas(store, ids.to_pylist())
    numbers = [_our_number(store, branch.schemas.get(schema_id), ours) for schema_id in ids.to_pylist()]
    mapped = pa.array(numbers, pa.int64()).take(pc.index_in(entries["schema_id"], value_set=ids))
    at = ENTRY_SCHEMA.get_field_index("schema_id")
    return entries.set_column(at, ENTRY_SCHEMA.field(at), mapped)


def _known_schemas(store: TableStore, wanted: Sequence[int]) -> list[TableSchema]:
    """Returns the schemas of main, those with the wanted ids first."""
    ids = store.schemas.ids()
    return [store.schemas.get(number) for number in sorted(ids, key=lambda number: (number not in wanted, number))]


def _our_number(store: TableStore, theirs: TableSchema, known: Sequence[TableSchema]) -> int:
    same = [one.id for one in known if (one.fields, one.partition_keys) == (theirs.fields, theirs.partition_keys)]
    if not same:
        raise SchemaError(
            f"the branch has files with columns {', '.join(theirs.field_names)} (its schema {theirs.id}), which table "
            f"{store.name} never had; make the same changes of columns in the table first"
        )
    return theirs.id if theirs.id in same else same[0]
