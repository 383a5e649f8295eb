"""``$ro``: the rows of a table that are fully compacted."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compaction_rules import compaction_options
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows, FileReader


def read_optimised(store: TableStore) -> pa.Table:
    """``$ro``: the rows in the highest level, which need no merge; all rows of an append table."""
    schema, entries, deleted = _current(store)
    if schema.primary_keys:
        top = compaction_options(TableOptions(schema.options)).max_level
        entries = entries.filter(pc.equal(entries["level"], top))
    return FileReader(store, schema, schema.fields, None, deleted).read(entries)


def _current(store: TableStore) -> tuple[TableSchema, pa.Table, DeletedRows]:
    latest = store.snapshots.latest()
    index = store.manifests.read_index(None if latest is None else latest.index_manifest)
    return store.schema(), live_entries(store, latest), DeletedRows.of(store, index)
