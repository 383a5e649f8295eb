"""Compaction on Spark: the driver plans and commits, tasks read and write the files.

A task compacts one bucket, or several small ones. The driver sends only names of files. Tasks read the files
themselves, which is two to three times faster than sending rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import Compacted, Report, Rewritten
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import ADD
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.durable import sync_written
from lakebed.metadata.plan.levels import CompactionOptions
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.append.append_compact import AppendCompactor
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.keyed.keyed_compact import BucketResult, BucketWork, Compactor
from lakebed.rows.keyed.keyed_read import KeyedReader
from lakebed.rows.sort_order import SortOrder
from lakebed.spark.file_jobs import JobFiles, check_arrived, run_job, spill_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK_BYTES: Final = 64 * 1024 * 1024
"""Small buckets share a task up to this number of bytes of files."""

MERGE_BUDGET: Final = 256 * 1024 * 1024
"""A task merges a bucket in pieces of this size (of files on disk)."""

_TASK_BUCKETS: Final = 32


def compact_buckets(
    spark: SparkSession, compactor: Compactor, works: Sequence[BucketWork], report: Report | None
) -> Compacted:
    """Compacts buckets in tasks; if that fails, the files that were written are deleted."""
    if not works:
        return Compacted([], lambda: None)
    store, schema = compactor.layout.store, compactor.layout.schema
    files = JobFiles.new()
    packs = packed([replace(work, index=_index_of(work, compactor.index)) for work in works], TASK_BYTES)
    task = _CompactTask(store, schema, files, compactor.options, [pickle.dumps(pack) for pack in packs], MERGE_BUDGET)

    def watch(tasks: int) -> None:
        done = sum(len(pack) for pack in packs[:tasks])
        if report is not None and done < len(works):
            report(done, len(works))

    def remove() -> None:
        files.remove(store, schema)

    with abort_unless_committed(remove):
        numbers = spark.range(0, len(packs), 1, len(packs))
        outcome = run_job(numbers, task, None if report is None else watch)
        results: list[BucketResult] = [result for part in outcome.results for result in part]
        written = [entries for result in results for entries in (result.entries, result.changelog)]
        check_arrived(store, schema, *(entries.filter(pc.equal(entries["kind"], ADD)) for entries in written))
        if outcome.repeated:
            files.remove(store, schema, keep=list(_names(results)))
    if report is not None:
        report(len(works), len(works))
    return Compacted(results, remove)


def packed(works: Sequence[BucketWork], size: int) -> list[list[BucketWork]]:
    """Divides the works among tasks: first the large ones, one per task, then small ones together."""
    packs: list[list[BucketWork]] = []
    held = size
    for work in sorted(works, key=_bytes, reverse=True):
        if held + _bytes(work) > size or len(packs[-1]) >= _TASK_BUCKETS:
            packs.append([])
            held = 0
        packs[-1].append(work)
        held += _bytes(work)
    return packs


def _bytes(work: BucketWork) -> int:
    return sum(file.size for file in work.unit.files)


def _index_of(work: BucketWork, index: Sequence[IndexEntry]) -> tuple[IndexEntry, ...]:
    place = work.entries["partition"][0].as_py(), work.entries["bucket"][0].as_py()
    return tuple(entry for entry in index if (entry.partition, entry.bucket) == place)


def _names(results: Sequence[BucketResult]) -> Iterator[str]:
    """The names of the files that a compaction wrote or refers to."""
    for result in results:
        yield from result.entries["file_name"].to_pylist()
        yield from result.changelog["file_name"].to_pylist()
        yield from (entry.file_name for entry in result.index)


@dataclass(frozen=True, slots=True)
class _CompactTask:
    """The kernel: takes numbers of packs, returns the results of their buckets."""

    store: TableStore
    schema: TableSchema
    files: JobFiles
    options: CompactionOptions
    packs: list[bytes]
    budget: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[BucketResult]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        works: list[BucketWork] = [work for number in numbers for work in pickle.loads(self.packs[number])]  # noqa: S301 - our own bytes
        return [self._run(work) for work in works]

    def _run(self, work: BucketWork) -> BucketResult:
        layout = FileLayout(self.store, self.schema, TableOptions(self.schema.options), self.files.attempt(self.store))
        deleted = DeletedRows.of(self.store, work.index)
        reader = KeyedReader(self.store, self.schema, self.schema.fields, deleted=deleted, budget=self.budget)
        compactor = Compactor(layout, reader, self.options, work.index, threads=1)
        with abort_unless_committed(compactor.abort):
            result = compactor.run(work)
            sync_written(self.store, self.schema, (result.entries, result.changelog), result.index)
            return result


# --------------------------------------------------------------------------------------------------- append tables


def rewrite_packs(
    spark: SparkSession, compactor: AppendCompactor, packs: Sequence[pa.Table], report: Report | None
) -> Rewritten:
    """Rewrites packs of files of an append table, one pack per task.

    If that fails, the files that were written are deleted.
    """
    if not packs:
        return Rewritten([], lambda: None)
    store, schema = compactor.layout.store, compactor.layout.schema
    files = JobFiles.new()
    shipped = [pickle.dumps((pack, marked(compactor.reader.deleted, pack))) for pack in packs]
    task = _RewriteTask(store, schema, files, shipped, compactor.order)

    def watch(tasks: int) -> None:
        if report is not None and tasks < len(packs):
            report(tasks, len(packs))

    def remove() -> None:
        files.remove(store, schema)

    with abort_unless_committed(remove):
        numbers = spark.range(0, len(packs), 1, len(packs))
        outcome = run_job(numbers, task, None if report is None else watch)
        parts: list[pa.Table] = [part for results in outcome.results for part in results]
        check_arrived(store, schema, *parts)
        if outcome.repeated:
            files.remove(store, schema, keep=[name for part in parts for name in part["file_name"].to_pylist()])
    if report is not None:
        report(len(packs), len(packs))
    return Rewritten(parts, remove)


def marked(deleted: DeletedRows, pack: pa.Table) -> DeletedRows:
    """The deletion vectors of a pack's files."""
    names = set(zip(pack["partition"].to_pylist(), pack["file_name"].to_pylist(), strict=True))
    return DeletedRows({key: place for key, place in deleted.by_file.items() if key in names})


@dataclass(frozen=True, slots=True)
class _RewriteTask:
    """The kernel: takes numbers of packs, returns the entries of their new files."""

    store: TableStore
    schema: TableSchema
    files: JobFiles
    packs: list[bytes]
    order: SortOrder | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[pa.Table]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return [self._run(*pickle.loads(self.packs[number])) for number in numbers]  # noqa: S301 - our own bytes

    def _run(self, pack: pa.Table, deleted: DeletedRows) -> pa.Table:
        layout = FileLayout(self.store, self.schema, TableOptions(self.schema.options), self.files.attempt(self.store))
        reader = FileReader(self.store, self.schema, self.schema.fields, None, deleted)
        compactor = AppendCompactor(layout, reader, order=self.order, folder=spill_folder())
        with abort_unless_committed(compactor.abort):
            written = compactor.rewrite(pack)
            sync_written(self.store, self.schema, [written])
            return written
