"""A table as the sink of a stream. Every batch is one commit, made once however often Spark runs the batch.

The commit bears the id of the query as its user and the number of the batch as its identifier. A query keeps both in its
checkpoint, so a batch that runs again after a crash finds its own snapshot, and what it wrote anew is removed. That holds as
long as the snapshot of the last batch has not expired.

This is ``format("lakebed")``: files are written right in the tasks of the query, without a shuffle, so every task writes to every
bucket that it has rows of. :mod:`lakebed.spark.stream_batches` is the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lakebed.chain.expire import expire_old_partitions
from lakebed.errors import UnsupportedError
from lakebed.metadata.store import TableStore
from lakebed.operations.maintain import after_commit
from lakebed.operations.write import Identity
from lakebed.options import TableOptions
from lakebed.spark.source import FilesWritten, TableWriter, WriteMode
from lakebed.spark.stream_batches import QUERY_ID, commit_user
from lakebed.spark.worker_errors import plain_errors


@dataclass
class BatchWritten(WriterCommitMessage):  # type: ignore[misc]
    """What one task wrote, and for which query."""

    query_id: str
    files: FilesWritten


class TableStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the batches of a stream into a table."""

    def __init__(self, store: TableStore, frame: StructType, mode: WriteMode) -> None:
        self._store = store
        self._frame = frame
        self._mode = mode
        TableWriter(store, frame, mode)  # refuses what cannot be written

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
        # One for each batch: rows are numbered from the latest snapshot on.
        return BatchWritten(query_id, TableWriter(self._store, self._frame, self._mode).write(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Make a batch visible, unless it is."""
        with plain_errors():
            writer, written = self._writer(messages, batchId)
            if writer is None:
                return
            if (done := writer.committed()) is not None:
                writer.remove(written)
                writer.finish(done)
                return
            writer.commit(written)
            after_commit(self._store, expire_old_partitions)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Remove what a batch wrote, unless it did become visible."""
        writer, written = self._writer(messages, batchId)
        if writer is not None:
            writer.abort(written)

    def _writer(
        self, messages: Sequence[WriterCommitMessage | None], batch_id: int
    ) -> tuple[TableWriter | None, list[FilesWritten]]:
        """The writer that commits a batch; ``None`` if no task has written."""
        done = [message for message in messages if isinstance(message, BatchWritten)]
        if not done:
            return None, []
        prefix = TableOptions(self._store.schema().options).commit_user_prefix
        who = Identity(commit_user(done[0].query_id, prefix), batch_id)
        return TableWriter(self._store, self._frame, self._mode, who), [message.files for message in done]
