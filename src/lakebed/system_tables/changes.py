"""``$audit_log`` and ``$binlog``: the rows of a table, or what changed in it, with the kind of each row.

As of one version both show its rows, deletes that no compaction dropped yet among them. Of an interval they show the changes
in the order of the commits. ``$binlog`` has every column as an array: one value, or for an update the values before and after
it; the two rows of an update then are one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.schema import TableSchema
from lakebed.metadata.scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact import skips_level0
from lakebed.operations.incremental import FILE_COLUMN, IncrementalRead, as_inserts
from lakebed.operations.interval import Interval
from lakebed.options import TableOptions
from lakebed.rows.changelog import UPDATE_AFTER, UPDATE_BEFORE
from lakebed.rows.difference import equal_rows
from lakebed.rows.keyed_read import KeyedReader
from lakebed.rows.merge import KIND_COLUMN, ROW_KINDS, SEQUENCE_COLUMN
from lakebed.rows.read import DeletedRows, FileReader

_KIND = pa.field("rowkind", pa.string(), nullable=False)


def audit_log(store: TableStore, interval: Interval | None = None) -> pa.Table:
    """``$audit_log``: rows with their kinds, and if the table's options ask for them with their sequence numbers."""
    schema = store.schema()
    rows = _rows(store, schema, interval)
    table = rows.select(schema.field_names)
    if schema.primary_keys and TableOptions(schema.options).get("table-read.sequence-number.enabled"):
        table = table.add_column(0, pa.field(SEQUENCE_COLUMN, pa.int64()), rows[SEQUENCE_COLUMN])
    return table.add_column(0, _KIND, _texts(rows[KIND_COLUMN].to_numpy()))


def binlog(store: TableStore, interval: Interval | None = None) -> pa.Table:
    """``$binlog``: rows with their kinds, columns as arrays; an update is one row with two values in each of them."""
    schema = store.schema()
    rows = _rows(store, schema, interval)
    kinds = rows[KIND_COLUMN].to_numpy()
    pairs = _is_pair(rows, kinds, schema)
    first = np.ones(len(rows), np.bool_)
    first[1:] = ~pairs
    starts = np.flatnonzero(first)
    offsets = pa.array(np.append(starts, len(rows)), pa.int32())
    columns = [pa.array([], pa.string()) if not len(rows) else _texts(kinds[offsets.to_numpy()[1:] - 1])]
    fields = [_KIND]
    for column in schema.field_names:
        values = rows[column].combine_chunks()
        columns.append(pa.ListArray.from_arrays(offsets, values, type=pa.list_(pa.field("element", values.type))))
        fields.append(pa.field(column, columns[-1].type))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _is_pair(rows: pa.Table, kinds: np.ndarray, schema: TableSchema) -> np.ndarray:
    """For each row but the last, whether it and the next are the two rows of one update: of one key, in one file."""
    pairs = (kinds[:-1] == UPDATE_BEFORE) & (kinds[1:] == UPDATE_AFTER)
    told = [FILE_COLUMN, *schema.primary_keys]
    before = np.flatnonzero(pairs)
    if len(before):
        told_by = rows.select(told)
        pairs[before] = equal_rows(told_by.take(pa.array(before)), told_by.take(pa.array(before + 1)))
    return np.asarray(pairs)


def _texts(kinds: np.ndarray) -> pa.Array:
    return pa.array(ROW_KINDS).take(pa.array(kinds))


def _rows(store: TableStore, schema: TableSchema, interval: Interval | None) -> pa.Table:
    """Rows with sequence number, kind and the number of their file."""
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
    return rows.append_column(FILE_COLUMN, pa.array(np.arange(len(rows))))
