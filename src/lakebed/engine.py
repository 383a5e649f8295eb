"""Engines run the kernels of operations: in this process, or on Spark (:mod:`lakebed.spark.spark_engine`).

Operations plan the work, pass it to an engine, and commit the files that it returns. An engine only writes files: it
makes no snapshot, and if it fails it deletes the files that it wrote. :mod:`lakebed.spark.choose_engine` chooses the
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.buckets.index_writer import IndexWriter, load_nothing, partition_loader
from lakebed.buckets.partition_assigners import DynamicBuckets
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import NO_ENTRIES
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.hash_indexes import PartitionIndex
from lakebed.metadata.plan.next_sequences import NextSequences
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.append.append_compact import AppendCompactor
from lakebed.rows.append.append_write import AppendWriter
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.keyed.keyed_compact import BucketResult, BucketWork, Compactor
from lakebed.rows.keyed.keyed_write import KeyedWriter
from lakebed.rows.open_data import open_batches

Report: TypeAlias = Callable[[int, int], None]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Entries of files that were written and not committed yet; ``abort`` deletes the files.

    ``index`` are hash indexes of dynamic buckets with new keys. ``built_on`` are the indexes of the written partitions
    by which the buckets of rows were chosen.
    """

    data: pa.Table
    changelog: pa.Table = field(default_factory=lambda: NO_ENTRIES)
    abort: Callable[[], None] = _nothing
    index: tuple[IndexEntry, ...] = ()
    built_on: Mapping[bytes, PartitionIndex] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Where and how rows are written; for ``row_kind`` see :meth:`KeyedWriter.write`.

    ``replaces``: the commit deletes everything else in their partitions, so dynamic buckets start empty.
    """

    store: TableStore
    schema: TableSchema
    row_kind: str | int | None
    changelog: bool
    next_sequences: NextSequences
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Compacted:
    """The results of compacted buckets; ``abort`` deletes the files that were written."""

    results: Sequence[BucketResult]
    abort: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The entries of the files that replace packs of files; ``abort`` deletes the files."""

    parts: Sequence[pa.Table]
    abort: Callable[[], None]


class Engine(Protocol):
    """Runs kernels over rows or files."""

    def write(self, plan: WritePlan, data: Any) -> NewFiles:
        """Write rows as new files."""

    def compact(self, compactor: Compactor, works: Sequence[BucketWork], report: Report | None) -> Compacted:
        """Compact buckets; ``report`` is called with the number of buckets done and of all."""

    def rewrite(self, compactor: AppendCompactor, packs: Sequence[pa.Table], report: Report | None) -> Rewritten:
        """Rewrite packs of files of an append table; ``report`` is called with the number of packs done and of all."""


class InProcess:
    """Runs everything in this process, on a few threads."""

    def write(self, plan: WritePlan, data: Any) -> NewFiles:
        layout = FileLayout(plan.store, plan.schema, TableOptions(plan.schema.options))
        if plan.schema.primary_keys:
            return _write_keyed(layout, plan, data)
        writer = AppendWriter(layout)
        with abort_unless_committed(writer.abort):
            writer.write(_opened(plan, data))
            return NewFiles(writer.finish(), abort=writer.abort)

    def compact(self, compactor: Compactor, works: Sequence[BucketWork], report: Report | None) -> Compacted:
        done: list[BucketResult] = []
        with abort_unless_committed(compactor.abort), ThreadPoolExecutor(compactor.threads) as pool:
            for result in pool.map(compactor.run, works):
                done.append(result)
                if report is not None:
                    report(len(done), len(works))
        return Compacted(done, compactor.abort)

    def rewrite(self, compactor: AppendCompactor, packs: Sequence[pa.Table], report: Report | None) -> Rewritten:
        parts: list[pa.Table] = []
        with abort_unless_committed(compactor.abort), ThreadPoolExecutor(compactor.threads) as pool:
            for part in pool.map(compactor.rewrite, packs):
                parts.append(part)
                if report is not None:
                    report(len(parts), len(packs))
        return Rewritten(parts, compactor.abort)


def _opened(plan: WritePlan, data: Any) -> pa.Table | pa.RecordBatchReader:
    needed = TableOptions(plan.schema.options).sequence_field
    where = f"table {plan.store.name}"
    return open_batches(data, plan.schema.fields, where=where, row_kind=plan.row_kind, needed=needed)


def _write_keyed(layout: FileLayout, plan: WritePlan, data: Any) -> NewFiles:
    buckets = None
    if has_dynamic_buckets(plan.schema):
        buckets = DynamicBuckets(plan.schema, load_nothing if plan.replaces else partition_loader(plan.store))
    writer = KeyedWriter(layout, plan.next_sequences, bucket_of=buckets, changelog=plan.changelog)
    indexes = IndexWriter(layout)

    def abort() -> None:
        writer.abort()
        indexes.abort()

    with abort_unless_committed(abort):
        writer.write(_opened(plan, data), row_kind=plan.row_kind)
        written = writer.finish()
        index = () if buckets is None else indexes.write(buckets.updates())
    return NewFiles(written.data, written.changelog, abort, index, {} if buckets is None else buckets.built_on)


IN_PROCESS: Final = InProcess()
