"""Rows of a batch of a stream that tasks stage for the driver, which assigns dynamic buckets.

A task writes its rows, in the types of the table, to an Arrow file in the folder of the table's indexes. The file has
the name of a temporary file: no reader opens it, and removal of orphan files deletes it after a crash. The driver reads
the files in order, a batch of rows at a time, and deletes them whether the commit succeeds or not.
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
    """The file with the rows of one task; ``None`` if it had none."""

    path: str | None


def stage_rows(store: TableStore, batches: Iterator[pa.RecordBatch], row_kind: str | None) -> RowsStaged:
    """Stages rows for the driver, in a task. ``row_kind`` names the column with the kind of each row, if any."""
    store.check_seen()
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
    """Returns the rows of all tasks, in order."""
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
    """Deletes staged files."""
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
    """Returns the rows in the types of the table; a column of row kinds that the table does not have comes last."""
    beside = [column for column in columns.names if column not in schema.field_names]
    made = conform(rows.drop_columns(beside), schema.fields, where=f"table {name}")
    for column in beside:
        made = made.append_column(columns.field(column), rows[column].cast(pa.string()))
    return made
