"""Reads the manifests of large tables on Spark: tasks decode and prune the entries and return the rest to the driver.

The result of a scan is the same as without Spark. Tables with little metadata are planned in this process, which is
faster than starting tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.manifest.manifest import ADD, NO_ENTRIES, ManifestMeta, fold
from lakebed.metadata.plan.file_scan import ScanMode, ScanRequest, without_misses
from lakebed.metadata.store import TableStore
from lakebed.spark.session import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB_BYTES: Final = 64 * 1024 * 1024
"""A Spark job reads manifests if they have at least this number of bytes (about half a million files)."""
JOB_FILES: Final = 2000
"""A Spark job reads manifests if there are at least this many."""
_TASK_BYTES: Final = 8 * 1024 * 1024
_TASK_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class ManifestJob:
    """Reads manifests, on Spark if there are enough of them.

    A ``ReadManifests`` of :mod:`lakebed.metadata.plan.file_scan`.
    """

    spark: SparkSession
    job_bytes: int = JOB_BYTES
    job_files: int = JOB_FILES

    def __call__(self, store: TableStore, request: ScanRequest, metas: Sequence[ManifestMeta]) -> pa.Table:
        if len(metas) < self.job_files and sum(meta.file_size for meta in metas) < self.job_bytes:
            return store.manifests.read_entries(metas)
        parts = tuple(_parts(metas))
        numbers = self.spark.range(0, len(parts), 1, len(parts))
        kernel = partial(_run, store, _for_tasks(request, metas), parts)
        job = map_in_arrow(numbers, kernel, "part int, entries binary")
        found = sorted(job.collect(), key=lambda row: row.part)
        entries = pa.concat_tables([NO_ENTRIES, *(pa.ipc.open_stream(bytes(row.entries)).read_all() for row in found)])
        if request.mode is ScanMode.ALL and request.predicate is not None:
            # Tasks skip files by their statistics, but not the DELETE entries of these files.
            entries = fold(entries, partial=True, where=f"snapshot {request.snapshot.id} of {store.name}")
            entries = entries.filter(pc.equal(entries["kind"], ADD))
        return entries


def _for_tasks(request: ScanRequest, metas: Sequence[ManifestMeta]) -> ScanRequest:
    """Returns a request that can be pickled: it lists the matching buckets for each number of buckets."""
    if request.buckets_of is None:
        return request
    totals = {meta.total_buckets for meta in metas if meta.total_buckets is not None}
    return replace(request, buckets_of={total: request.buckets_of(total) for total in totals}.get)


def _parts(metas: Sequence[ManifestMeta]) -> Iterator[tuple[ManifestMeta, ...]]:
    """Groups neighbouring manifests, one group per task."""
    part: list[ManifestMeta] = []
    for meta in metas:
        part.append(meta)
        if len(part) >= _TASK_FILES or sum(held.file_size for held in part) >= _TASK_BYTES:
            yield tuple(part)
            part = []
    if part:
        yield tuple(part)


def _run(
    store: TableStore,
    request: ScanRequest,
    parts: Sequence[Sequence[ManifestMeta]],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: takes numbers of parts, yields their pruned entries as bytes."""
    store.check_seen()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            entries = without_misses(store, request, store.manifests.read_entries(parts[number]))
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, entries.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
                stream.write_table(entries.combine_chunks())
            columns = [pa.array([number], pa.int32()), pa.array([sink.getvalue().to_pybytes()], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=["part", "entries"])
