"""Replace a table: other columns, keys and options, while its snapshots, tags and branches stay.

All rows are deleted under the old schema, and the manifests are merged to none, because readers decode manifests with
the schema of the snapshot that names them. Then the new schema is added. A read of an earlier snapshot uses the schema
of that snapshot. If a step fails, the table is given back its rows and its schema.

Partition columns must stay the same: paths of files and entries of manifests depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lakebed.errors import CommitConflictError, UnsupportedError
from lakebed.format.schema.table_schema import TableSchema, assign_ids, highest_id
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_manifests import compact_manifests
from lakebed.operations.drop_partitions import drop_partitions
from lakebed.operations.rollback import rollback_to
from lakebed.options import TableOptions


def can_replace(old: TableSchema, new: TableSchema) -> bool:
    """Whether a table can get another schema and keep its history."""

    def kind(schema: TableSchema) -> list[tuple[str, str]]:
        return [(field.name, str(field.type)) for field in schema.partition_fields]

    chain = any(TableOptions(schema.options).chain_table_enabled for schema in (old, new))
    return kind(old) == kind(new) and not chain


@contextmanager
def replaced_schema(store: TableStore, wanted: TableSchema) -> Iterator[None]:
    """Gives a table another schema and no rows; takes that back if what follows fails."""
    old, before = store.schemas.latest(), store.snapshots.latest()
    if old is None or not can_replace(old, wanted):
        raise UnsupportedError(f"table {store.name} cannot be replaced: its partition columns would change")
    try:
        if before is not None:
            drop_partitions(store, None, Identity.of(old))
            compact_manifests(store)
        _set_schema(store, old, wanted)
        yield
    except BaseException:
        if store.schemas.latest() != old:
            store.schemas.change(
                lambda latest: replace(old, id=latest.id + 1, highest_field_id=latest.highest_field_id)
            )
        if before is not None:
            rollback_to(store, snapshot=before.id)
        raise


def _set_schema(store: TableStore, old: TableSchema, wanted: TableSchema) -> None:
    emptied = store.snapshots.latest()
    fields = assign_ids(wanted.fields, old.highest_field_id + 1)
    made = replace(wanted, id=old.id + 1, fields=fields, highest_field_id=highest_id(fields))
    if not store.schemas.create(made, after=old) or store.snapshots.latest() != emptied:
        raise CommitConflictError(f"table {store.name} was changed while it was replaced; replace it again")
