"""What SQL and the data source need of tables and scans, and users do not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from lakebed.errors import NotFoundError, UnsupportedError
from lakebed.format.schema.evolution import Change
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.store import TableStore
from lakebed.operations.delete import check_removes, delete_by_rewrite, rewrites_deletes
from lakebed.operations.read_changes import Part
from lakebed.operations.replace_rows import replace_rows as replace_files
from lakebed.operations.replace_table import replaced_schema
from lakebed.operations.rescale import whole_partitions
from lakebed.rows.merge_engines.merge_rows import MergeSpec
from lakebed.scan import Scan
from lakebed.spark.choose_engine import engine_for
from lakebed.table import Table
from lakebed.table_checks import checked_schema
from lakebed.table_kinds import rules_of


def store_of(table: Table) -> TableStore:
    """Returns the store of a table, on the branch and with the options that it was opened with."""
    return table._store  # noqa: SLF001 - this module is the one way to it


def parts_of(scan: Scan) -> tuple[Part, ...]:
    """Returns what a scan reads of each branch; for most tables one part."""
    return scan._parts  # noqa: SLF001 - this module is the one way to it


def partitions_of(scan: Scan) -> pa.Array:
    """Returns the partitions that have files to read, as encoded rows."""
    return scan._partitions()  # noqa: SLF001 - this module is the one way to it


def check_row_changes(table: Table) -> None:
    """Raises if single rows cannot be changed, as in main of a chain table."""
    rules_of(store_of(table)).check_row_changes()


def check_row_deletes(table: Table) -> None:
    """Raises for a primary-key table whose merge engine cannot delete single rows."""
    if table.schema.primary_keys:
        check_removes(MergeSpec.of(table.schema), table.name)


def must_rewrite_deletes(table: Table) -> bool:
    """Whether a DELETE rewrites the files of a primary-key table, because its merge engine has no deletes.

    Raises:
        UnsupportedError: Rows of the table cannot be deleted.
    """
    return rewrites_deletes(store_of(table))


def delete_keys(table: Table, scan: Scan, keys: pa.Table) -> Snapshot | None:
    """Deletes rows of a primary-key table by rewriting its files.

    Args:
        table: The table.
        scan: The scan in which the rows were found.
        keys: The partitions and keys of the rows.

    Returns:
        The new snapshot; ``None`` if there are no rows.
    """
    store = store_of(table)
    who = Identity.of(checked_schema(store, writing=True))
    run = partial(delete_by_rewrite, store, scan.snapshot, keys, who)
    return table._by_the_rules(lambda guard: run(guard=guard))  # noqa: SLF001 - this module is the one way to it


def with_changes(table: Table, changes: Sequence[Change]) -> Table:
    """Returns the table with changes of its columns, which the next write of rows to it stores.

    The changes of a chain table concern several branches, so they are stored at once.
    """
    store = store_of(table)
    rules, derive = table._altering(changes)  # noqa: SLF001 - this module is the one way to it
    if rules.changes_branches:
        table.alter(*changes)
        return table
    latest = store.schemas.latest()
    if latest is None:
        raise NotFoundError(f"table {table.name} does not exist")
    changed = derive(latest, rules.changes, store.snapshots.latest() is not None)
    return Table(store.with_next_schema(changed), table._spark)  # noqa: SLF001 - this module is the one way to it


def replace_table(table: Table, made: Table) -> None:
    """Gives a table the columns, keys, options and rows of another one; its snapshots, tags and branches stay.

    Raises:
        UnsupportedError: The other table has other partition columns (:func:`can_replace` tells).
    """
    store, source = store_of(table), store_of(made)
    latest = source.snapshots.latest()
    with replaced_schema(store, made.schema):
        if latest is None:
            return
        schema = source.schema()
        read = whole_partitions(source, schema, latest, None)
        session = table._spark  # noqa: SLF001 - this module is the one way to it
        rows: Any = pa.RecordBatchReader.from_batches(schema.arrow_schema, read.batches())
        if session is not None:
            from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional

            rows = to_spark(session, [read])
        table.write(rows)


def replace_rows(table: Table, scan: Scan, data: Any, *, operation: str) -> Snapshot | None:
    """Replaces all rows of the files that a scan of an append table reads, in one commit.

    UPDATE, DELETE and MERGE read the files that hold rows to change, and write back what the rows become. The commit
    fails if another one has removed one of these files.

    Args:
        table: An append table.
        scan: A scan of the table that reads the files.
        data: The rows that take the place of theirs.
        operation: The name of the statement, which the snapshot records.

    Returns:
        The new snapshot; ``None`` if nothing changed.
    """
    store = store_of(table)
    schema = checked_schema(store, writing=True)
    if schema.primary_keys or scan.snapshot is None:
        raise UnsupportedError(f"table {table.name} has no files to rewrite: write() the rows instead")
    parts = parts_of(scan)
    if len(parts) > 1:
        raise UnsupportedError(f"table {table.name} is read together with another branch; change each by its own name")
    entries, who, engine = parts[0].result.entries, Identity.of(schema), engine_for(data)
    rules = rules_of(store)  # before the commit: a failure afterwards would hide that it was made
    rules.before_commit()
    made = replace_files(store, scan.snapshot, entries, data, who, operation=operation, engine=engine)
    if made is not None:
        rules.after_commit()
    return made
