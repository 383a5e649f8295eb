"""One table as its user sees it. Delegates to the layers below and decides little itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import (
    CommitOutcomeUnknownError,
    DataError,
    OptionError,
    SchemaError,
    UnsupportedError,
    unknown_name,
)
from lakebed.format import predicate as pred
from lakebed.format.evolution import Change as SchemaChange
from lakebed.format.evolution import SetOption, apply_changes
from lakebed.format.index_manifest import IndexEntry
from lakebed.format.manifest import ADD, NO_ENTRIES
from lakebed.format.schema import TableSchema
from lakebed.format.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from lakebed.format.types import to_arrow
from lakebed.metadata.commit import Change, Commit, append, commit
from lakebed.metadata.overwrite import replace_matching, replace_partitions
from lakebed.metadata.scan import ScanRequest, live_entries, partition_mask, scan
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions, check_existing, check_new
from lakebed.rows.conform import open_batches
from lakebed.rows.delete import Deletion, delete_rows
from lakebed.rows.read import DeletedRows, FileReader
from lakebed.rows.where import parse_where
from lakebed.rows.write import AppendWriter, FileLayout, continue_sequences
from lakebed.scan import Scan, find_snapshot


class Table:
    """A Paimon table, or one branch of it. Get one with ``lake.table("db.t")``."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        store.schema()  # a table that is not there fails here, not later

    # ---------------------------------------------------------------------------------------------- what it is

    @property
    def name(self) -> str:
        """The name it was opened by."""
        return self._store.name

    @property
    def path(self) -> str:
        """The folder of the table."""
        return self._store.paths.root

    @property
    def branch_name(self) -> str:
        """The branch that is read and written."""
        return self._store.paths.branch

    @property
    def schema(self) -> TableSchema:
        """The latest schema: columns, keys, options, comment."""
        return self._store.schema()

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema."""
        return self.schema.arrow_schema

    @property
    def options(self) -> Mapping[str, str]:
        """The options as they are stored."""
        return self.schema.options

    @property
    def warnings(self) -> list[str]:
        """What Lakebed does not know about this table's options; somebody else may."""
        return check_existing(self.options, where=f"table {self.name}", writing=False)

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} {column.type}" for column in self.schema.fields)
        branch = "" if self.branch_name == "main" else f" branch={self.branch_name}"
        return f"<Table {self.name}{branch}: {columns}>"

    # ----------------------------------------------------------------------------------------------- reading

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        version: int | str | None = None,
        timestamp: Any = None,
        tag: str | None = None,
    ) -> Scan:
        """Describe a read: some columns, the rows that satisfy a SQL expression, at some version.

        ``version`` is a snapshot id or a tag, ``timestamp`` epoch milliseconds, a datetime or ISO text. Nothing is read
        until the scan is asked for rows.
        """
        self._check_supported(writing=False)
        version, timestamp, tag = self._travel(version, timestamp, tag)
        snapshot = find_snapshot(self._store, version=version, timestamp=timestamp, tag=tag)
        travelled = version is not None or timestamp is not None or tag is not None
        schema = self._store.schemas.get(snapshot.schema_id) if snapshot is not None and travelled else self.schema
        return Scan(self._store, columns=columns, where=where, snapshot=snapshot, schema=schema)

    def _travel(self, version: int | str | None, timestamp: Any, tag: str | None) -> tuple[Any, Any, Any]:
        """The version asked for in the call, else the one that the table's own ``scan.*`` options ask for."""
        if version is not None or timestamp is not None or tag is not None:
            return version, timestamp, tag
        options = TableOptions(self.options)
        own_version = options.get("scan.snapshot-id") or options.get("scan.version")
        own_timestamp = options.get("scan.timestamp-millis") or options.get("scan.timestamp")
        return own_version, own_timestamp, options.get("scan.tag-name")

    def latest_snapshot(self) -> Snapshot | None:
        """The newest snapshot, ``None`` if nothing was committed yet."""
        return self._store.snapshots.latest()

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """One snapshot by its id."""
        return self._store.snapshots.get(snapshot_id)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot that still exists, oldest first."""
        return self._store.snapshots.read_many(self._store.snapshots.ids())

    # ------------------------------------------------------------------------------------------------ writing

    def write(
        self, data: Any, *, commit_user: str | None = None, commit_identifier: int | None = None
    ) -> Snapshot | None:
        """Append rows; gives the new snapshot, or ``None`` if there were no rows.

        With ``commit_user`` and ``commit_identifier`` a repeated call with the same two commits once.
        """
        self._check_supported(writing=True)

        def make(entries: pa.Table) -> Commit:
            return append(Change(entries=entries), **self._identity(commit_user, commit_identifier))

        return self._write_and_commit(data, make)

    def overwrite(self, data: Any, partition: Mapping[str, Any] | None = None) -> Snapshot | None:
        """Replace rows by others.

        With ``partition`` (all or some of the partition columns) exactly what lies there is replaced, and all rows must
        belong there. Without it, a partitioned table has just those partitions replaced that the data has rows of (unless
        ``dynamic-partition-overwrite`` is false), any other table is replaced whole.
        """
        self._check_supported(writing=True)
        schema = self.schema
        node = None if partition is None else partition_predicate(schema, partition)
        dynamic = (
            partition is None
            and bool(schema.partition_keys)
            and TableOptions(schema.options).dynamic_partition_overwrite
        )

        def make(entries: pa.Table) -> Commit:
            if dynamic:
                plan = replace_partitions(self._store, entries)
            else:
                self._check_inside(entries, node)
                plan = replace_matching(self._store, node, entries)
            return Commit(kind=CommitKind.OVERWRITE, plan=plan, **self._identity(None, None))

        return self._write_and_commit(data, make)

    def delete(self, where: str) -> Snapshot | None:
        """Delete the rows that satisfy a SQL expression; files that hold some of them are rewritten without them.

        Gives the new snapshot, or ``None`` if no row matched.
        """
        self._check_supported(writing=True)
        schema = self.schema
        node = parse_where(where, schema.fields)
        latest = self.latest_snapshot()
        if latest is None:
            return None
        index = self._store.manifests.read_index(latest.index_manifest)
        reader = FileReader(self._store, schema, schema.fields, node, DeletedRows.of(self._store, index))
        entries = scan(self._store, ScanRequest(snapshot=latest, schema=schema, predicate=node)).entries
        writer = AppendWriter(self._layout(schema))
        deletion: Deletion | None = None
        try:
            deletion = delete_rows(reader, entries, index, writer, f"index-{uuid.uuid4()}")
            change = self._numbered(deletion.change)
            request = Commit(
                kind=CommitKind.APPEND,
                plan=lambda _: change,
                planned_on=latest.id,
                operation="DELETE",
                **self._identity(None, None),
            )
            return commit(self._store, request)
        except CommitOutcomeUnknownError:
            raise
        except BaseException:
            writer.abort()
            self._remove_index_files(deletion.change.index if deletion else ())
            raise

    def truncate(self) -> Snapshot | None:
        """Delete all rows; earlier snapshots keep theirs. ``None`` if there was nothing to delete."""
        return self._drop(None)

    def drop_partition(self, partition: Mapping[str, Any]) -> Snapshot | None:
        """Delete a partition, or all partitions that a part of the partition columns names."""
        if not partition:
            raise OptionError("name at least one partition column, or use truncate() to delete everything")
        return self._drop(partition_predicate(self.schema, partition))

    def _drop(self, node: pred.Node | None) -> Snapshot | None:
        plan = replace_matching(self._store, node, NO_ENTRIES)
        return commit(
            self._store,
            Commit(kind=CommitKind.OVERWRITE, plan=plan, operation="TRUNCATE", **self._identity(None, None)),
        )

    # ----------------------------------------------------------------------------------------------- changing

    def alter(self, *changes: SchemaChange) -> TableSchema:
        """Change columns, options or the comment; gives the new schema. All changes are made, or none.

        See :mod:`lakebed.changes` for what there is. Types may be given as text.
        """
        where = f"table {self.name}"
        check_new({c.key: c.value for c in changes if isinstance(c, SetOption)}, where=where)
        has_snapshots = self.latest_snapshot() is not None

        def derive(current: TableSchema) -> TableSchema:
            return apply_changes(current, changes, time_millis=time.time_ns() // 1_000_000, has_snapshots=has_snapshots)

        return self._store.schemas.change(derive)

    # --------------------------------------------------------------------------------------- branches and tags

    def branches(self) -> list[str]:
        """The names of the branches besides main."""
        return self._store.branch_names()

    def branch(self, name: str) -> Table:
        """The same table on another branch."""
        return Table(self._store.on_branch(name))

    def tags(self) -> dict[str, Snapshot]:
        """Every tag and the snapshot it holds."""
        return self._store.snapshots.tags()

    # ------------------------------------------------------------------------------------------------- inside

    def _check_supported(self, *, writing: bool) -> None:
        schema = self.schema
        if schema.primary_keys:
            raise UnsupportedError(
                f"table {self.name} has a primary key; reading and writing its rows is not supported yet. "
                "Its metadata can be read: try the system tables, like $files"
            )
        check_existing(schema.options, where=f"table {self.name}", writing=writing)

    def _identity(self, user: str | None, identifier: int | None) -> dict[str, Any]:
        prefix = TableOptions(self.options).commit_user_prefix
        own = f"{prefix}_{uuid.uuid4()}" if prefix else str(uuid.uuid4())
        if (user is None) != (identifier is None):
            raise OptionError("give commit_user and commit_identifier together, or neither")
        return {"user": user or own, "identifier": BATCH_IDENTIFIER if identifier is None else identifier}

    def _layout(self, schema: TableSchema) -> FileLayout:
        return FileLayout(self._store, schema, TableOptions(schema.options))

    def _write_and_commit(self, data: Any, make: Callable[[pa.Table], Commit]) -> Snapshot | None:
        """Write files, then commit them; whatever fails, no file is left behind that no snapshot refers to."""
        writer = AppendWriter(self._layout(self.schema))
        try:
            writer.write(open_batches(data))
            entries = self._numbered(Change(entries=writer.finish())).entries
            made = commit(self._store, make(entries))
        except CommitOutcomeUnknownError:
            raise
        except BaseException:
            writer.abort()
            raise
        return made

    def _numbered(self, change: Change) -> Change:
        """Fixed buckets number their rows on; other append files count from 0."""
        entries = change.entries
        if TableOptions(self.options).bucket <= 0 or not len(entries):
            return change
        live = live_entries(self._store, self.latest_snapshot(), pc.unique(entries["partition"].combine_chunks()))
        is_add = pc.equal(entries["kind"], ADD)
        added = continue_sequences(entries.filter(is_add), live)
        return replace(change, entries=pa.concat_tables([entries.filter(pc.invert(is_add)), added]))

    def _check_inside(self, entries: pa.Table, node: pred.Node | None) -> None:
        if node is None or not len(entries):
            return
        mask = partition_mask(entries, node, self.schema)
        if mask is not None and not mask.all():
            raise DataError(
                f"the data holds rows outside of the partition to be overwritten ({pred.to_text(node)}); "
                "leave them out, or overwrite without naming a partition. Nothing was written"
            )

    def _remove_index_files(self, index: Sequence[IndexEntry]) -> None:
        for entry in index:
            if entry.kind == ADD:
                self._store.storage.delete(self._store.paths.index(entry.file_name))


def partition_predicate(schema: TableSchema, partition: Mapping[str, Any]) -> pred.Node:
    """The predicate that a partition spec means; values may be given as text."""
    if not partition:
        return pred.TRUE
    parts: list[pred.Node] = []
    for name, value in partition.items():
        if name not in schema.partition_keys:
            raise SchemaError(unknown_name("partition column", name, schema.partition_keys, where="the partition"))
        wanted = to_arrow(schema.field(name).type)
        if value is None:
            parts.append(pred.IsNull(name, negated=False))
            continue
        try:
            scalar = pa.scalar(value) if isinstance(value, str) else pa.scalar(value, wanted)
            parts.append(pred.Compare(name, "=", scalar.cast(wanted)))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(f"partition column {name!r} is {schema.field(name).type}, not {value!r}: {error}") from None
    return pred.conjunction(parts)
