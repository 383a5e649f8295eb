"""A table as the sink of a stream, ``writeStream.format("lakebed")``: each batch is committed exactly once.

The commit records the id of the query as its user and the number of the batch as its identifier. The checkpoint of a
query keeps both. A batch that runs again after a crash finds its snapshot, and deletes the files that it wrote again.
This works as long as the snapshot of the last batch has not expired.

The tasks of the query write files without a shuffle, so each task writes to every bucket that it has rows of. Dynamic
buckets need one writer that knows all keys: there tasks stage their rows, and the driver writes them
(:mod:`lakebed.datasource.stream_staging`). :mod:`lakebed.datasource.foreach_batch` is an alternative with a shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
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
    """The files or rows of one task, and the id of its query."""

    query_id: str
    part: FilesWritten | RowsStaged


class TableStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the batches of a stream into a table."""

    def __init__(self, store: TableStore, frame: StructType, mode: WriteMode) -> None:
        self._store = store
        self._frame = frame
        self._mode = mode
        check_frame(store, frame, mode)  # raises an error if the stream cannot be written

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
        # A new writer for each batch: sequence numbers continue those of the latest snapshot.
        return BatchWritten(query_id, TableWriter(self._store, self._frame, self._mode).write(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Commits a batch, unless it is committed already."""
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
            rules = rules_of(self._store)  # before the commit: a failure afterwards would hide that it was made
            writer.commit(batch.files)
            rules.after_commit()

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Deletes the files of a batch, unless it is committed."""
        batch = _Batch.of(messages)
        if batch is None:
            return
        remove_staged(self._store, batch.staged)
        if batch.files:
            self._writer(batch, batchId).abort(batch.files)

    def _commit_staged(self, batch: _Batch, who: Identity) -> None:
        """Writes the staged rows, unless the batch is committed already, and deletes the staged files."""
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
    """The messages of the tasks of a batch: files, or staged rows."""

    query_id: str
    files: list[FilesWritten]
    staged: list[RowsStaged]

    @staticmethod
    def of(messages: Sequence[WriterCommitMessage | None]) -> _Batch | None:
        """Returns ``None`` if no task has written."""
        done = [message for message in messages if isinstance(message, BatchWritten)]
        if not done:
            return None
        parts = [message.part for message in done]
        files = [part for part in parts if isinstance(part, FilesWritten)]
        return _Batch(done[0].query_id, files, [part for part in parts if isinstance(part, RowsStaged)])
