"""Rows of one batch of a stream on their way from tasks to the driver, which alone knows the buckets of keys.

A task puts its rows, made to fit the table, into a file of Arrow's beside the table's indexes. Its name says that it is temporary:
no reader looks for it, and if everybody dies, removal of orphan files finds it. The driver reads the files one after another, a batch
of rows at a time, and removes them whatever became of the commit: nothing refers to them.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from lakebed.errors import LakebedError, SchemaError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore
from lakebed.rows.conform import conform


@dataclass
class RowsStaged(WriterCommitMessage):  # type: ignore[misc]
    """Where the rows of one task are; ``None`` if it had none."""

    path: str | None


def stage_rows(store: TableStore, batches: Iterator[pa.RecordBatch], row_kind: str | None) -> RowsStaged:
    """Runs in a task: keep rows for the driver. ``row_kind`` names the column that says what each row is, if there is one."""
    schema = store.schema()
    columns = _staged_schema(schema, row_kind)
    path = f"{store.paths.indexes}/.rows-{uuid.uuid4()}.tmp"
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with contextlib.ExitStack() as opened:
        writer: pa.RecordBatchStreamWriter | None = None
        try:
            for batch in batches:
                if not len(batch):
                    continue
                if writer is None:
                    store.storage.make_folder(store.paths.indexes)
                    sink = opened.enter_context(store.storage.arrow_filesystem().open_output_stream(path))
                    writer = opened.enter_context(pa.ipc.new_stream(sink, columns, options=options))
                writer.write_table(_fitting(pa.Table.from_batches([batch]), schema, columns, store.name))
        except BaseException:
            opened.close()
            remove_staged(store, [RowsStaged(path)])
            raise
    return RowsStaged(None if writer is None else path)


def staged_rows(store: TableStore, staged: Sequence[RowsStaged], row_kind: str | None) -> pa.RecordBatchReader:
    """The rows of all tasks, in their order."""
    columns = _staged_schema(store.schema(), row_kind)

    def read() -> Iterator[pa.RecordBatch]:
        files = store.storage.arrow_filesystem()
        for path in (part.path for part in staged if part.path is not None):
            with files.open_input_stream(path) as source, pa.ipc.open_stream(source) as rows:
                if not rows.schema.equals(columns):
                    raise SchemaError(
                        f"the columns of table {store.name} changed while a batch of a stream was written; start the query "
                        "again. Nothing was written"
                    )
                yield from rows

    return pa.RecordBatchReader.from_batches(columns, read())


def remove_staged(store: TableStore, staged: Sequence[RowsStaged]) -> None:
    """Remove the rows that wait."""
    for part in staged:
        if part.path is not None:
            with contextlib.suppress(LakebedError):
                store.storage.delete(part.path)


def _staged_schema(schema: TableSchema, row_kind: str | None) -> pa.Schema:
    columns = schema.arrow_schema
    if row_kind is None or row_kind in schema.field_names:
        return columns
    return columns.append(pa.field(row_kind, pa.string()))


def _fitting(rows: pa.Table, schema: TableSchema, columns: pa.Schema, name: str) -> pa.Table:
    """Rows as the table has them; the column of their kinds, if the table has none such, comes last."""
    beside = [column for column in columns.names if column not in schema.field_names]
    made = conform(rows.drop_columns(beside), schema.fields, where=f"table {name}")
    for column in beside:
        made = made.append_column(columns.field(column), rows[column].cast(pa.string()))
    return made
