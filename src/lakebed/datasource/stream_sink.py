"""A table as the sink of a stream. Every batch is one commit, made once however often Spark runs the batch.

The commit bears the id of the query as its user and the number of the batch as its identifier. A query keeps both in its
checkpoint, so a batch that runs again after a crash finds its own snapshot, and what it wrote anew is removed. That holds as
long as the snapshot of the last batch has not expired.

This is ``format("lakebed")``: files are written right in the tasks of the query, without a shuffle, so every task writes to every
bucket that it has rows of. Dynamic buckets are chosen by one writer, so there tasks only keep their rows, and the driver writes
them (:mod:`lakebed.datasource.stream_staging`). :mod:`lakebed.datasource.foreach_batch` is the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lakebed.buckets.dynamic import has_dynamic_buckets
from lakebed.datasource.batch_writer import FilesWritten, TableWriter, check_frame
from lakebed.datasource.foreach_batch import QUERY_ID, commit_user
from lakebed.datasource.stream_staging import RowsStaged, remove_staged, stage_rows, staged_rows
from lakebed.errors import UnsupportedError
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import overwrite
from lakebed.operations.write import Guard, write
from lakebed.options import TableOptions
from lakebed.spark.worker_errors import plain_errors
from lakebed.spark.write.write_mode import WriteMode
from lakebed.table_kinds import rules_of


@dataclass
class BatchWritten(WriterCommitMessage):  # type: ignore[misc]
    """What one task wrote, and for which query."""

    query_id: str
    part: FilesWritten | RowsStaged


class TableStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the batches of a stream into a table."""

    def __init__(self, store: TableStore, frame: StructType, mode: WriteMode) -> None:
        self._store = store
        self._frame = frame
        self._mode = mode
        check_frame(store, frame, mode)  # refuses what cannot be written

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchWritten:
        """Runs in a task: writes files."""
        with plain_errors():
            context = TaskContext.get()
            query_id = None if context is None else context.getLocalProperty(QUERY_ID)
            if not query_id:
                raise UnsupportedError(
                    f"Spark does not tell which query writes to table {self._store.name}, so its batches could be written twice; "
                    "use foreachBatch(lakebed.stream_to(table, commit_user=...)) instead"
                )
            if has_dynamic_buckets(self._store.schema()):
                return BatchWritten(query_id, stage_rows(self._store, iterator, self._mode.row_kind))
        # One for each batch: rows are numbered from the latest snapshot on.
        return BatchWritten(query_id, TableWriter(self._store, self._frame, self._mode).write(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Make a batch visible, unless it is."""
        with plain_errors():
            batch = _Batch.of(messages)
            if batch is None:
                return
            if batch.staged:
                self._commit_staged(batch, self._identity(batch, batchId))
                return
            writer = self._writer(batch, batchId)
            if (done := writer.committed()) is not None:
                writer.remove(batch.files)
                writer.finish(done)
                return
            writer.commit(batch.files)
            rules_of(self._store).after_commit()

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Remove what a batch wrote, unless it did become visible."""
        batch = _Batch.of(messages)
        if batch is None:
            return
        remove_staged(self._store, batch.staged)
        if batch.files:
            self._writer(batch, batchId).abort(batch.files)

    def _commit_staged(self, batch: _Batch, who: Identity) -> None:
        """Write the rows that the tasks kept, unless this batch is there, and remove them from where they were kept."""
        store, mode = self._store, self._mode
        rules = rules_of(store)

        def run(guard: Guard) -> Snapshot | None:
            rows = staged_rows(store, batch.staged, mode.row_kind)
            if mode.overwrite:
                return overwrite(store, rows, mode.partition, who, dynamic=mode.dynamic, guard=guard)
            return write(store, rows, row_kind=mode.row_kind, who=who, guard=guard)

        try:
            made = rules.write(run)
        finally:
            remove_staged(store, batch.staged)
        if made is not None:
            rules.after_commit()

    def _identity(self, batch: _Batch, batch_id: int) -> Identity:
        prefix = TableOptions(self._store.schema().options).commit_user_prefix
        return Identity(commit_user(batch.query_id, prefix), batch_id)

    def _writer(self, batch: _Batch, batch_id: int) -> TableWriter:
        return TableWriter(self._store, self._frame, self._mode, self._identity(batch, batch_id))


@dataclass(frozen=True, slots=True)
class _Batch:
    """What the tasks of a batch did: they wrote files, or kept rows."""

    query_id: str
    files: list[FilesWritten]
    staged: list[RowsStaged]

    @staticmethod
    def of(messages: Sequence[WriterCommitMessage | None]) -> _Batch | None:
        """``None`` if no task has written."""
        done = [message for message in messages if isinstance(message, BatchWritten)]
        if not done:
            return None
        parts = [message.part for message in done]
        files = [part for part in parts if isinstance(part, FilesWritten)]
        return _Batch(done[0].query_id, files, [part for part in parts if isinstance(part, RowsStaged)])
