"""``$audit_log`` and ``$binlog``: the rows of a table, or its changes, with the kind of each row.

Without an interval both return the rows of one version, including deletes that no compaction has dropped yet. For an
interval they return the changes in the order of the commits. In ``$binlog`` every column is an array. It holds one
value, or the values before and after an update, so that an update is one row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.row_kind import KIND_COLUMN, KIND_TEXT_COLUMN, kinds_to_texts
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.interval import Interval
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compaction_rules import skips_level0
from lakebed.operations.read_changes import COMMIT_COLUMN, IncrementalRead, as_inserts
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.keyed.keyed_read import KeyedReader
from lakebed.streams.binlog import pack

_KIND = pa.field(KIND_TEXT_COLUMN, pa.string(), nullable=False)


def audit_log(store: TableStore, interval: Interval | None = None) -> pa.Table:
    """``$audit_log``: rows with their kinds, and their sequence numbers if the option for them is set."""
    schema = store.schema()
    rows = _rows(store, schema, interval)
    table = rows.select(schema.field_names)
    if schema.primary_keys and TableOptions(schema.options).table_read_sequence_number:
        table = table.add_column(0, pa.field(SEQUENCE_COLUMN, pa.int64()), rows[SEQUENCE_COLUMN])
    return table.add_column(0, _KIND, kinds_to_texts(rows[KIND_COLUMN].to_numpy()))


def binlog(store: TableStore, interval: Interval | None = None) -> pa.Table:
    """``$binlog``: rows with their kinds and columns as arrays; an update is one row with two values in each array."""
    schema = store.schema()
    rows = _rows(store, schema, interval)
    kinds = rows[KIND_COLUMN].to_numpy()
    packing = pack(kinds, rows.select([COMMIT_COLUMN, *schema.primary_keys]))
    packed = packing.rows(rows, kinds, schema.field_names)
    return packed.set_column(0, _KIND, packed[_KIND.name])


def _rows(store: TableStore, schema: TableSchema, interval: Interval | None) -> pa.Table:
    """Returns rows with their sequence number, kind and commit number."""
    if interval is not None:
        return IncrementalRead(store, schema, interval, schema.fields, None).with_kinds()
    latest = store.snapshots.latest()
    deleted = DeletedRows.of(store, store.manifests.read_index(None if latest is None else latest.index_manifest))
    entries = live_entries(store, latest)
    if not schema.primary_keys:
        return as_inserts(FileReader(store, schema, schema.fields, None, deleted).read(entries))
    if skips_level0(schema):
        entries = entries.filter(pc.greater(entries["level"], 0))
    rows = KeyedReader(store, schema, schema.fields, None, deleted).read_with_kinds(entries)
    return rows.append_column(COMMIT_COLUMN, pa.array(np.zeros(len(rows), np.int64)))
