"""Delete rows.

Append tables rewrite the files with matching rows. Primary-key tables write a delete for each key; if their merge
engine has no deletes, they rewrite the files with the keys, as Paimon's Spark connector does.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import NewFiles
from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import ADD
from lakebed.format.row_kind import DELETE
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.branch_roles import BranchRole, branch_role
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, append, commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import ScanRequest, live_entries, scan
from lakebed.metadata.store import TableStore
from lakebed.operations.write import Guard, numbered, unguarded, write_files
from lakebed.options import TableOptions
from lakebed.rows.append.append_delete import delete_rows, without_vectors
from lakebed.rows.append.append_write import AppendWriter
from lakebed.rows.conform import conform
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.keyed.keyed_delete import KeyedDelete, identity_fields, not_compacted
from lakebed.rows.keyed.keyed_read import KeyedReader
from lakebed.rows.merge_engines.merge_rows import MergeSpec


def delete_from_append_table(store: TableStore, node: pred.Node, who: Identity) -> Snapshot | None:
    """Rewrite the files with matching rows; returns ``None`` if no row matched."""
    latest = store.snapshots.latest()
    if latest is None:
        return None
    schema = store.schema()
    index = store.manifests.read_index(latest.index_manifest)
    reader = FileReader(store, schema, schema.fields, node, DeletedRows.of(store, index))
    entries = scan(store, ScanRequest(snapshot=latest, schema=schema, predicate=node)).entries
    writer = AppendWriter(FileLayout(store, schema, TableOptions(schema.options)))
    change = Change()
    with abort_unless_committed(writer.abort, lambda: remove_index_files(store, change.index)):
        change = delete_rows(reader, entries, index, writer, f"index-{uuid.uuid4()}").change
        is_add = pc.equal(change.entries["kind"], ADD)
        added = numbered(store, schema, change.entries.filter(is_add))
        whole = replace(change, entries=pa.concat_tables([change.entries.filter(pc.invert(is_add)), added]))
        request = Commit(
            kind=CommitKind.APPEND,
            plan=lambda _: whole,
            planned_on=latest.id,
            operation="DELETE",
            user=who.user,
            identifier=who.identifier,
        )
        return commit(store, request)


def delete_from_keyed_table(
    store: TableStore, matching: pa.Table, who: Identity, guard: Guard = unguarded
) -> Snapshot | None:
    """Write a delete for each of these rows; returns ``None`` if there are none."""
    check_removes(MergeSpec.of(store.schema()), store.name)
    if not len(matching):
        return None

    def make(files: NewFiles) -> Commit:
        change = Change(entries=files.data, changelog=files.changelog, index=files.index)
        return append(change, user=who.user, identifier=who.identifier, operation="DELETE")

    return write_files(store, matching, make, row_kind=DELETE, guard=guard)


def rewrites_deletes(store: TableStore) -> bool:
    """Whether a delete rewrites the files of a primary-key table, because its merge engine has no deletes.

    Raises:
        UnsupportedError: Rows cannot be deleted at all: deletes are ignored, or this is a branch of a chain table,
            where a delete must also remove the row from later views.
    """
    schema = store.schema()
    spec = MergeSpec.of(schema)
    if _removes(spec):
        check_removes(spec, store.name)
        return False
    if branch_role(schema.options, store.paths.branch) is not BranchRole.ORDINARY:
        check_removes(spec, store.name)
    return True


def delete_by_rewrite(
    store: TableStore, planned_on: Snapshot | None, keys: pa.Table, who: Identity, guard: Guard = unguarded
) -> Snapshot | None:
    """Rewrite the files that hold rows of a primary-key table.

    Args:
        store: The branch.
        planned_on: The snapshot in which the rows were found.
        keys: The partitions and keys of the rows.
        who: The author of the commit.
        guard: The rules of the table for its commits.

    Returns:
        The new snapshot; ``None`` if there are no rows.

    Raises:
        UnsupportedError: Several files have rows with one of the keys, or rows wait for a compaction to be visible.
    """
    if planned_on is None:
        return None
    schema = store.schema()
    layout = FileLayout(store, schema, TableOptions(schema.options))
    index = store.manifests.read_index(planned_on.index_manifest)
    run = KeyedDelete(layout, KeyedReader(store, schema, schema.fields, deleted=DeletedRows.of(store, index)))
    if layout.options.skips_level0 and pc.any(pc.equal(live_entries(store, planned_on)["level"], 0)).as_py():
        raise not_compacted(layout)
    if not len(keys):
        return None
    keys = conform(keys, identity_fields(layout), where=f"table {store.name}")
    entries = live_entries(store, planned_on, pc.unique(run.partitions(keys)))
    change = Change()
    with abort_unless_committed(run.abort, lambda: remove_index_files(store, change.index)):
        held, changed = run.run(entries, keys)
        if not len(held):
            return None
        change = Change(entries=changed, index=without_vectors(store, index, held, f"index-{uuid.uuid4()}"))
        request = Commit(
            kind=CommitKind.APPEND,
            plan=lambda _: change,
            planned_on=planned_on.id,
            operation="DELETE",
            user=who.user,
            identifier=who.identifier,
        )
        return commit(store, guard(request))


def _removes(spec: MergeSpec) -> bool:
    return spec.engine == "deduplicate" or spec.remove_on_delete or any(group.removes for group in spec.groups)


def check_removes(spec: MergeSpec, name: str) -> None:
    """Raise for merge engines where a delete does not remove the row: it is ignored, or only retracts values."""
    if spec.ignore_delete or not _removes(spec):
        why = "it ignores deletes ('ignore-delete')" if spec.ignore_delete else f"its 'merge-engine' is {spec.engine}"
        option = {
            "partial-update": "; create it with 'partial-update.remove-record-on-delete' for that",
            "aggregation": "; create it with 'aggregation.remove-record-on-delete' for that",
        }
        hint = "" if spec.ignore_delete else option.get(spec.engine, "")
        raise UnsupportedError(
            f"rows of table {name} cannot be deleted one by one: {why}{hint}. Nothing was written; "
            "overwrite() replaces rows, drop_partition() and truncate() drop them"
        )


def remove_index_files(store: TableStore, index: Sequence[IndexEntry]) -> None:
    """Delete the index files of a change that was not committed."""
    for entry in index:
        if entry.kind == ADD:
            store.storage.delete(store.paths.index(entry.file_name))
