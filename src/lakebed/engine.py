"""Where the kernels of an operation run: in this process, or wherever another :class:`Engine` takes them.

Operations plan, hand over what is to be done, and commit what comes back. An engine writes files and nothing else: it makes
no snapshot, and if it fails it has removed what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa

from lakebed.buckets.dynamic import has_dynamic_buckets
from lakebed.buckets.index_writer import IndexWriter, load_nothing, partition_loader
from lakebed.buckets.placement import DynamicBuckets
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
from lakebed.rows.conform import open_batches
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.keyed.keyed_compact import BucketResult, BucketWork, Compactor
from lakebed.rows.keyed.keyed_write import KeyedWriter

Report: TypeAlias = Callable[[int, int], None]


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Entries of files that were written and wait for their commit; ``abort`` removes them if there will be none.

    ``index`` are hash indexes of dynamic buckets that got new keys, ``built_on`` the indexes of the partitions written to
    as they were when the buckets of rows were chosen.
    """

    data: pa.Table
    changelog: pa.Table = field(default_factory=lambda: NO_ENTRIES)
    abort: Callable[[], None] = _nothing
    index: tuple[IndexEntry, ...] = ()
    built_on: Mapping[bytes, PartitionIndex] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Rows to be written: into what, of which kind (see :meth:`KeyedWriter.write`), with a changelog or without.

    ``replaces``: what their partitions hold goes, so dynamic buckets begin anew.
    """

    store: TableStore
    schema: TableSchema
    row_kind: str | int | None
    changelog: bool
    next_sequences: NextSequences
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of the buckets of a compaction; ``abort`` removes what was written."""

    results: Sequence[BucketResult]
    abort: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The entries of what became of packs of files; ``abort`` removes what was written."""

    parts: Sequence[pa.Table]
    abort: Callable[[], None]


class Engine(Protocol):
    """Runs kernels over rows or files."""

    def write(self, plan: WritePlan, data: Any) -> NewFiles:
        """Write rows as new files."""

    def compact(self, compactor: Compactor, works: Sequence[BucketWork], report: Report | None) -> Compacted:
        """Compact buckets; ``report`` is told the number of buckets done and of all."""

    def rewrite(self, compactor: AppendCompactor, packs: Sequence[pa.Table], report: Report | None) -> Rewritten:
        """Rewrite packs of files of an append table; ``report`` is told the number of packs done and of all."""


class InProcess:
    """Everything in this process, on a few threads."""

    def write(self, plan: WritePlan, data: Any) -> NewFiles:
        layout = FileLayout(plan.store, plan.schema, TableOptions(plan.schema.options))
        if plan.schema.primary_keys:
            return _write_keyed(layout, plan, data)
        writer = AppendWriter(layout)
        with abort_unless_committed(writer.abort):
            writer.write(open_batches(data))
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
        writer.write(open_batches(data), row_kind=plan.row_kind)
        written = writer.finish()
        index = () if buckets is None else indexes.write(buckets.updates())
    return NewFiles(written.data, written.changelog, abort, index, {} if buckets is None else buckets.built_on)


IN_PROCESS: Final = InProcess()
