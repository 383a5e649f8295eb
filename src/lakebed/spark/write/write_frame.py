"""Writes the rows of a Spark DataFrame as new files of a table, for append, upsert and overwrite.

The driver checks the names and types of the columns and casts them as Spark's INSERT does, before a job runs. Then one
shuffle (:mod:`lakebed.spark.write.exchange`) sends the rows of each partition and bucket to one task, which sorts and
writes them. The driver makes one commit of the files that the tasks report.

Tables without buckets need a shuffle only if they are partitioned. Tasks with too few rows for a file return them to
the driver, which writes one file of them. Of rows with the same key, the last one in the frame is the newest, as it is
in process.

A task holds ``write-buffer-size`` of rows in memory. Sorted rows beyond that are spilled to the local disk and merged.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.choose_dynamic import Spread, has_dynamic_buckets
from lakebed.engine import NewFiles, WritePlan
from lakebed.errors import LakebedError
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import NO_ENTRIES
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import field_to_arrow, quoted_name
from lakebed.format.types.spark_types import fields_from_spark
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.durable import sync_written
from lakebed.metadata.data_file_paths import data_file_paths
from lakebed.metadata.hash_indexes import PartitionIndex, indexes_of
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.append.append_write import AppendWriter
from lakebed.rows.conform import conform
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.keyed.keyed_write import KeyedWriter
from lakebed.spark.casts import as_inserted
from lakebed.spark.file_jobs import JobFiles, Outcome, check_arrived, run_job, spill_folder
from lakebed.spark.session import unmeasured_batches
from lakebed.spark.session_settings import set_for_now
from lakebed.spark.worker_errors import java_causes
from lakebed.spark.write.assign_buckets import BUCKET, Assigned, Assigning, BucketOwner, ByAssigner, ByGivenBucket
from lakebed.spark.write.exchange import (
    HANDED_BLOCKS,
    ORDER,
    Block,
    ByBucket,
    Leaver,
    joined,
    local_folder,
    received,
    run_over,
    to_owners,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOCAL_BATCH: Final = 8192
_SHUFFLED_BATCH: Final = HANDED_BLOCKS
"""Rows that Spark passes to Python at once. With a shuffle as many blocks come at once, so they are fewer."""
_ADVISED_BYTES: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_SHUFFLED_PER_STORED: Final = 2
"""Rows in a shuffle are at least this many times as large as in a file."""
_TOO_LARGE: Final = frozenset(
    {
        "org.apache.arrow.vector.util.OversizedAllocationException",
        "org.apache.arrow.memory.OutOfMemoryException",
        "java.lang.OutOfMemoryError",
    }
)
"""What Spark throws if the rows of one batch, with texts of megabytes, do not fit into memory."""

SMALL_BYTES: Final = 1024 * 1024
"""A task with fewer bytes of rows returns them to the driver, if the table has neither buckets nor partitions."""


def write_frame(plan: WritePlan, frame: DataFrame) -> NewFiles:
    """Writes the rows of a frame as new files; if that fails, the files are deleted."""
    frame = as_inserted(frame, plan.schema, f"table {plan.store.name}")
    check_columns(plan, frame.schema)
    files = JobFiles.new()
    task = _WriteTask.of(plan, files)
    with abort_unless_committed(lambda: files.remove(plan.store, plan.schema)):
        outcome = _run(frame, plan, task)
        parts: list[_Written] = outcome.results
        data = pa.concat_tables([NO_ENTRIES, *(part.data for part in parts), *_gathered(task, parts)])
        changelog = pa.concat_tables([NO_ENTRIES, *(part.changelog for part in parts)])
        index = tuple(entry for part in parts for entry in part.index)
        check_arrived(plan.store, plan.schema, data, changelog)
        if outcome.repeated:
            kept = [*data["file_name"].to_pylist(), *changelog["file_name"].to_pylist()]
            files.remove(plan.store, plan.schema, keep=[*kept, *(entry.file_name for entry in index)])

    def abort() -> None:
        paths = [data_file_paths(plan.store, plan.schema, entries) for entries in (data, changelog)]
        for path in itertools.chain(*paths, (plan.store.paths.index(entry.file_name) for entry in index)):
            with contextlib.suppress(LakebedError):
                plan.store.storage.delete(path)

    return NewFiles(data, changelog, abort, index, _built_on(plan, task, data) if task.is_dynamic else {})


def _built_on(plan: WritePlan, task: _WriteTask, data: pa.Table) -> dict[bytes, PartitionIndex]:
    """Returns the indexes that the buckets were chosen by, of the partitions that were written to."""
    indexes = indexes_of(plan.store, task.indexed)
    none = PartitionIndex(0 if task.indexed is None else task.indexed.id)
    return {partition: indexes.get(partition, none) for partition in pc.unique(data["partition"]).to_pylist()}


def check_columns(plan: WritePlan, columns: Any) -> None:
    """Raises an error if names or types do not fit the table: it writes an empty Arrow table with these columns."""
    known = {field.name: field for field in fields_from_spark(_without_void(columns))}
    arrow = [
        field_to_arrow(known[column.name]).with_nullable(True)
        if column.name in known
        else pa.field(column.name, pa.null())
        for column in columns
    ]
    nothing = pa.schema(arrow).empty_table()
    layout = FileLayout(plan.store, plan.schema, TableOptions(plan.schema.options))
    if plan.schema.primary_keys:
        writer = KeyedWriter(layout, lambda _: {}, bucket_of=lambda rows: np.zeros(len(rows), np.int32))
        writer.write(nothing, row_kind=plan.row_kind)
    else:
        AppendWriter(layout).write(nothing)


def _without_void(columns: Any) -> Any:
    """Returns the columns without those of type void, which hold only nulls and fit any column."""
    return type(columns)([column for column in columns if column.dataType.typeName() != "void"])


# ------------------------------------------------------------------------------------------------ on the driver


def _run(frame: DataFrame, plan: WritePlan, task: _WriteTask) -> Outcome:
    try:
        with (
            local_folder(frame.sparkSession) as folder,
            unmeasured_batches(frame, _SHUFFLED_BATCH if folder is None else _LOCAL_BATCH),
        ):
            return _jobs(frame, plan.schema, task, folder)
    except Exception as error:
        if _TOO_LARGE.isdisjoint(java_causes(error)):
            raise
    task.files.remove(plan.store, plan.schema)
    with local_folder(frame.sparkSession) as folder:
        return _jobs(frame, plan.schema, task, folder)


def _jobs(frame: DataFrame, schema: TableSchema, task: _WriteTask, folder: str | None) -> Outcome:
    """Writes the rows of a frame in tasks; a task gets all rows of the buckets that it writes to."""
    spark = frame.sparkSession
    places = _shuffle_partitions(spark)
    if task.is_dynamic:
        return _jobs_with_assigners(frame, task, places, folder)
    if TableOptions(schema.options).bucket <= 0:
        return _job_without_buckets(frame, schema, task)
    if folder is None:
        return run_job(to_owners(frame, ByBucket(schema), places, budget=task.budget), task)
    left = run_job(frame, Leaver(ByBucket(schema), places, folder)).results
    return run_over(spark, left, task.write_blocks)


def _jobs_with_assigners(frame: DataFrame, task: _WriteTask, places: int, folder: str | None) -> Outcome:
    """Writes to dynamic buckets: rows are sent to assigners first, then to the owners of their buckets."""
    spark, schema = frame.sparkSession, task.schema
    parallelism = int(spark.sparkContext.defaultParallelism) if folder is not None else places
    spread = Spread.of(TableOptions(schema.options), parallelism=parallelism)
    assigning = Assigning(task.store, schema, spread, task.indexed)
    if folder is None:
        sent = to_owners(frame, ByAssigner(schema, spread), spread.channels, budget=task.budget)
        return run_job(to_owners(sent, ByGivenBucket(schema), places, assigning, budget=task.budget), task)
    left = run_job(frame, Leaver(ByAssigner(schema, spread), spread.channels, folder)).results
    assigned = run_over(spark, left, Assigned(assigning, Leaver(ByGivenBucket(schema), places, folder))).results
    return run_over(spark, assigned, task.write_blocks)


def _job_without_buckets(frame: DataFrame, schema: TableSchema, task: _WriteTask) -> Outcome:
    """Writes the frame as it is, or with the rows of a partition together if the table is partitioned."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark is optional

    keys = [F.col(quoted_name(name)) for name in schema.partition_keys if name in frame.columns]
    if not keys:
        return run_job(frame, task)
    # Adaptive execution joins small partitions and splits large ones. The size that it regards as large by default is
    # too small for a file. It keeps all cores busy whatever the size is.
    target = TableOptions(schema.options).target_file_size(is_primary_key=False)
    with set_for_now(frame.sparkSession, {_ADVISED_BYTES: f"{_SHUFFLED_PER_STORED * target}b"}):
        return run_job(frame.hint("rebalance", *keys), task)


def _shuffle_partitions(spark: SparkSession) -> int:
    """Returns the number of shuffle partitions that Spark uses by default."""
    adaptive = all(
        spark.conf.get(name, "true") == "true"
        for name in ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled")
    )
    usual = spark.conf.get("spark.sql.shuffle.partitions") or "200"
    first = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
    return int(spark.conf.get(first, usual) or usual) if adaptive else int(usual)


def _gathered(task: _WriteTask, parts: Sequence[_Written]) -> list[pa.Table]:
    """Writes the rows that tasks returned; returns the entries of the files."""
    rows = [part.rows for part in parts if part.rows is not None]
    if not rows:
        return []
    writer = AppendWriter(task.layout())
    writer.rewrite(pa.concat_tables(rows))
    return [writer.finish()]


# --------------------------------------------------------------------------------------------------- in a task


@dataclass(frozen=True, slots=True)
class _Written:
    """The files that a task wrote, or the rows that it returns to the driver."""

    data: pa.Table
    changelog: pa.Table
    rows: pa.Table | None = None
    index: tuple[IndexEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class _WriteTask:
    """The kernel: takes rows of some buckets, writes files."""

    store: TableStore
    schema: TableSchema
    files: JobFiles
    row_kind: str | int | None
    changelog: bool
    sequences: Mapping[tuple[bytes, int], int]
    budget: int
    leaves_small: bool
    indexed: Snapshot | None = None
    """The snapshot whose indexes are used for dynamic buckets; ``None`` if all existing rows are replaced."""

    @property
    def is_dynamic(self) -> bool:
        return has_dynamic_buckets(self.schema)

    @staticmethod
    def of(plan: WritePlan, files: JobFiles) -> _WriteTask:
        options = TableOptions(plan.schema.options)
        grows = has_dynamic_buckets(plan.schema) and not plan.replaces
        return _WriteTask(
            plan.store,
            plan.schema,
            files,
            plan.row_kind,
            plan.changelog,
            plan.next_sequences(None) if plan.schema.primary_keys else {},
            options.write_buffer_size,
            options.bucket <= 0 and not plan.schema.partition_keys and not plan.schema.primary_keys,
            plan.store.snapshots.latest() if grows else None,
        )

    def layout(self) -> FileLayout:
        return FileLayout(self.store, self.schema, TableOptions(self.schema.options), self.files.attempt(self.store))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> _Written | None:
        first = next(batches, None)
        if first is None:
            return None
        batches = itertools.chain([first], batches)
        if self.leaves_small:
            small, batches = _up_to(SMALL_BYTES, batches)
            if small is not None:
                rows = conform(small, self.schema.fields, where=f"table {self.store.name}")
                return _Written(NO_ENTRIES, NO_ENTRIES, rows)
        if TableOptions(self.schema.options).bucket > 0 or self.is_dynamic:
            return self.write_blocks(received(batches))
        return self.write([pa.RecordBatchReader.from_batches(first.schema, batches)])

    def write_blocks(self, blocks: Iterable[Block]) -> _Written:
        """Writes the rows of blocks, which are all rows of their buckets."""
        return self.write(joined(blocks, self.budget))

    def write(self, parts: Iterable[pa.Table | pa.RecordBatchReader]) -> _Written:
        """Writes rows: a stream of them, or tables with a column :data:`ORDER`."""
        writer = self._writer()
        with abort_unless_committed(writer.abort):
            if isinstance(writer, KeyedWriter):
                owner = BucketOwner(self.store, self.schema, self.indexed) if self.is_dynamic else None
                for part in parts:
                    writer.write(part, row_kind=self.row_kind, order=ORDER, bucket=BUCKET if owner else None)
                    if owner is not None:
                        owner.take(part)
                written = writer.finish()
                index = () if owner is None else owner.write(self.layout())
                sync_written(self.store, self.schema, (written.data, written.changelog), index)
                return _Written(written.data, written.changelog, index=index)
            for part in parts:
                ordered = isinstance(part, pa.Table)
                writer.write(part.drop_columns(ORDER) if ordered else part)
            data = writer.finish()
            sync_written(self.store, self.schema, [data])
            return _Written(data, NO_ENTRIES)

    def _writer(self) -> KeyedWriter | AppendWriter:
        if not self.schema.primary_keys:
            return AppendWriter(self.layout(), threads=1, budget=self.budget)
        return KeyedWriter(
            self.layout(),
            lambda _: self.sequences,
            threads=1,
            changelog=self.changelog,
            budget=self.budget,
            spill_folder=spill_folder(),
        )


def _up_to(limit: int, batches: Iterator[pa.RecordBatch]) -> tuple[pa.Table | None, Iterator[pa.RecordBatch]]:
    """Returns all rows as a table if they have fewer bytes than ``limit``, else all batches again."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= limit:
            return None, itertools.chain(held, batches)
    return pa.Table.from_batches(held), iter(())
