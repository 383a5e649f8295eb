"""The rows of a table seen another way: what is compacted already, and rows with their kinds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.schema import TableSchema
from lakebed.metadata.scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact import compaction_options
from lakebed.options import TableOptions
from lakebed.rows.keyed_read import KeyedReader
from lakebed.rows.merge import KIND_COLUMN, ROW_KINDS
from lakebed.rows.read import DeletedRows, FileReader


def read_optimised(store: TableStore) -> pa.Table:
    """``$ro``: what is in the highest level, read without any merge; all rows of an append table."""
    schema, entries, deleted = _current(store)
    if schema.primary_keys:
        top = compaction_options(TableOptions(schema.options)).max_level
        entries = entries.filter(pc.equal(entries["level"], top))
    return FileReader(store, schema, schema.fields, None, deleted).read(entries)


def audit_log(store: TableStore) -> pa.Table:
    """``$audit_log``: the current rows with their kinds, deletes that no compaction dropped yet among them."""
    schema, entries, deleted = _current(store)
    if schema.primary_keys:
        reader = KeyedReader(store, schema, schema.fields, None, deleted)
        rows = reader.read_with_kinds(entries)
        kinds = rows[KIND_COLUMN].to_numpy()
        rows = rows.select(schema.field_names)
    else:
        rows = FileReader(store, schema, schema.fields, None, deleted).read(entries)
        kinds = np.zeros(len(rows), np.int8)
    texts = pa.array(ROW_KINDS).take(pa.array(kinds))
    return rows.add_column(0, pa.field("rowkind", pa.string(), nullable=False), texts)


def _current(store: TableStore) -> tuple[TableSchema, pa.Table, DeletedRows]:
    latest = store.snapshots.latest()
    index = store.manifests.read_index(None if latest is None else latest.index_manifest)
    return store.schema(), live_entries(store, latest), DeletedRows.of(store, index)
