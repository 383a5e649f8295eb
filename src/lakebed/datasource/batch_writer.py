"""Batch writes of the data source ``lakebed``: tasks write files, then the driver makes one commit.

Spark commits and aborts near the driver and writes in tasks; both sides exchange only pickled messages. Spark
distributes the rows, so every task may write to every bucket. ``table.write(frame)`` shuffles the rows first and writes
fewer files.

Files of tasks become visible with the commit. Spark also calls ``abort`` after ``commit`` has raised an error.
Therefore
``abort`` checks first whether the snapshot exists, and deletes nothing if it does or if the check fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.datasource.source_options import (
    Options,
    overwrites_dynamically,
    plain_names,
    replaced_partition,
    writable_table,
)
from lakebed.engine import NewFiles
from lakebed.errors import (
    CommitOutcomeUnknownError,
    DataError,
    LakebedError,
    OptionError,
    UnsupportedError,
    unknown_name,
)
from lakebed.format.manifest.manifest import NO_ENTRIES
from lakebed.format.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.format.types.spark_types import fields_from_spark
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, append, commit, find_committed
from lakebed.metadata.commit.durable import sync_written
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_after_write import compact_after_write, finish_committed
from lakebed.operations.overwrite import replacing
from lakebed.operations.write import numbered
from lakebed.options import TableOptions, check_existing
from lakebed.rows.append.append_write import AppendWriter
from lakebed.rows.conform import conform
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import data_file_paths
from lakebed.rows.keyed.keyed_write import KeyedWriter
from lakebed.spark.file_jobs import check_arrived
from lakebed.spark.worker_errors import plain_errors
from lakebed.spark.write.write_mode import WriteMode
from lakebed.table.internals import store_of
from lakebed.table_checks import check_keyed
from lakebed.table_kinds import rules_of

_TASK_BYTES: Final = 256 * 1024 * 1024
"""The bytes that a task holds in memory before it spills or writes."""
_TASK_SEQUENCES: Final = 1 << 31
"""The distance between the first sequence numbers of two tasks, so that no two rows get the same number."""


def make_writer(options: Options, schema: StructType, *, overwrite: bool) -> DataSourceWriter:
    """Returns a writer of rows with this schema."""
    with plain_errors():
        given = plain_names(options)
        table = writable_table(given)
        mode = WriteMode(overwrite, replaced_partition(given), overwrites_dynamically(given), given.get("row_kind"))
        if not overwrite and (mode.partition is not None or mode.dynamic is not None):
            raise OptionError("options 'partition' and 'partitionOverwriteMode' are for mode(\"overwrite\")")
        return TableWriter(store_of(table), schema, mode)


@dataclass
class FilesWritten(WriterCommitMessage):  # type: ignore[misc]
    """The files that one task wrote: their entries, serialised by Arrow."""

    data: bytes
    changelog: bytes


def check_frame(store: TableStore, frame: StructType, mode: WriteMode) -> None:
    """Raises an error if the table cannot be written, or the columns do not fit it."""
    schema = store.schema()
    where = f"table {store.name}"
    check_existing(schema.options, where=where, writing=True)
    check_keyed(schema, where)
    row_kind = mode.row_kind
    fields = fields_from_spark(frame)
    if row_kind is not None:
        if not schema.primary_keys:
            raise DataError(f"{where} has no primary key, so its rows have no row kind; leave row_kind out")
        if mode.overwrite:
            raise DataError(f"{where}: rows that replace others have no row kind; leave row_kind out")
        names = [field.name for field in fields]
        if row_kind not in names:
            raise DataError(unknown_name("column", row_kind, names, where=f"the data for {where}"))
        if row_kind not in schema.field_names:
            fields = tuple(field for field in fields if field.name != row_kind)
    conform(_empty(fields), schema.fields, where=where)


class TableWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes rows into a table with one commit."""

    def __init__(self, store: TableStore, frame: StructType, mode: WriteMode, who: Identity | None = None) -> None:
        schema = store.schema()
        self._store = store
        self._mode = mode
        self._who = Identity.of(schema) if who is None else who
        self._latest = store.snapshots.latest()
        self._after = 0 if self._latest is None else self._latest.id
        check_frame(store, frame, mode)
        if has_dynamic_buckets(schema):
            raise UnsupportedError(
                f"table {store.name} has dynamic buckets, which need a shuffle that Spark does not make for a data source; "
                "write the frame with lake.table(...).write(frame), or with SQL"
            )
        if mode.overwrite:
            replacing(store, mode.partition, self._who)  # raises an error now if the partition does not exist

    def write(self, iterator: Iterator[pa.RecordBatch]) -> FilesWritten:
        """Runs in a task: writes files."""
        with plain_errors():
            return self._written(iterator)

    def _written(self, iterator: Iterator[pa.RecordBatch]) -> FilesWritten:
        self._store.check_seen()
        writer = self._writer()
        with abort_unless_committed(writer.abort):
            first = next(iterator, None)
            if first is None:
                return FilesWritten(_to_bytes(NO_ENTRIES), _to_bytes(NO_ENTRIES))
            rows = pa.RecordBatchReader.from_batches(first.schema, _chain(first, iterator))
            if isinstance(writer, KeyedWriter):
                writer.write(rows, row_kind=self._mode.row_kind)
                written = writer.finish()
                sync_written(self._store, self._store.schema(), (written.data, written.changelog))
                return FilesWritten(_to_bytes(written.data), _to_bytes(written.changelog))
            writer.write(rows)
            data = writer.finish()
            sync_written(self._store, self._store.schema(), [data])
            return FilesWritten(_to_bytes(data), _to_bytes(NO_ENTRIES))

    def _writer(self) -> KeyedWriter | AppendWriter:
        schema = self._store.schema()
        layout = FileLayout(self._store, schema, TableOptions(schema.options))
        if not schema.primary_keys:
            return AppendWriter(layout, threads=1, budget=_TASK_BYTES)
        keeps = not self._mode.overwrite and layout.options.changelog_producer == "input"
        return KeyedWriter(layout, self._next_sequences, changelog=keeps, threads=1, budget=_TASK_BYTES)

    def _next_sequences(self, partitions: pa.Array) -> dict[tuple[bytes, int], int]:
        """Returns the first sequence numbers of this task, for each bucket of some partitions."""
        context = TaskContext.get()
        own = _TASK_SEQUENCES * (0 if context is None else context.partitionId())
        total = TableOptions(self._store.schema().options).bucket
        starts = {(partition, bucket): own for partition in partitions.to_pylist() for bucket in range(total)}
        live = live_entries(self._store, self._latest, partitions)
        highest = live.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
        for row in highest.to_pylist():
            starts[row["partition"], row["bucket"]] = row["max_sequence_number_max"] + 1 + own
        return starts

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commits the files that the tasks wrote."""
        with plain_errors():
            self._commit(_joined(messages))

    def _commit(self, files: NewFiles) -> None:
        schema = self._store.schema()
        check_arrived(self._store, schema, files.data, files.changelog)
        if not schema.primary_keys:
            files = replace(files, data=numbered(self._store, schema, files.data))
        if self._mode.overwrite:
            make = replacing(self._store, self._mode.partition, self._who, dynamic=self._mode.dynamic)
            request = make(files)
        else:
            change = Change(entries=files.data, changelog=files.changelog)
            request = append(change, user=self._who.user, identifier=self._who.identifier)
        made = rules_of(self._store).write(lambda guard: commit(self._store, guard(request)))
        if made is not None and schema.primary_keys:
            # After an error Spark would abort the write, so none may be raised from here on.
            with contextlib.suppress(CommitOutcomeUnknownError):
                compact_after_write(self._store, schema, files.data, changelog=not self._mode.overwrite)

    def finish(self, done: Snapshot) -> None:
        """Runs what follows a commit, for a commit that an earlier attempt made."""
        finish_committed(self._store, done, changelog=not self._mode.overwrite)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Deletes the files that the tasks wrote, unless they are committed."""
        try:
            if self.committed() is not None:
                return
        except LakebedError:
            return  # unknown, so nothing is deleted; orphan removal finds files that are not committed
        self.remove(messages)

    def remove(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Deletes the files that the tasks wrote."""
        schema = self._store.schema()
        files = _joined(messages)
        for entries in (files.data, files.changelog):
            for path in data_file_paths(self._store, schema, entries):
                with contextlib.suppress(LakebedError):
                    self._store.storage.delete(path)

    def committed(self) -> Snapshot | None:
        """Returns the snapshot of this write, ``None`` if it is not committed."""
        kind = CommitKind.OVERWRITE if self._mode.overwrite else CommitKind.APPEND
        after = self._after if self._who.identifier == BATCH_IDENTIFIER else 0
        return find_committed(self._store, self._who.user, self._who.identifier, kind, after=after)


def _empty(fields: Sequence[Field]) -> pa.Table:
    return pa.schema([field_to_arrow(field).with_nullable(True) for field in fields]).empty_table()


def _chain(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _joined(messages: Sequence[WriterCommitMessage | None]) -> NewFiles:
    """Returns the files of all tasks; a task that failed has no message."""
    done = [message for message in messages if isinstance(message, FilesWritten)]
    data = [pa.ipc.open_stream(message.data).read_all() for message in done]
    changelog = [pa.ipc.open_stream(message.changelog).read_all() for message in done]
    return NewFiles(pa.concat_tables([NO_ENTRIES, *data]), pa.concat_tables([NO_ENTRIES, *changelog]))


def _to_bytes(entries: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, entries.schema) as stream:
        stream.write_table(entries)
    return bytes(sink.getvalue().to_pybytes())
