"""ANALYZE on Spark: tasks read files and return summaries of the columns, of a few kilobytes.

The kernel is the one that runs in process, so the statistics are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.types.data_types import Field
from lakebed.operations.analyze import Work
from lakebed.rows.summary import Summary, joined
from lakebed.spark.file_jobs import run_job
from lakebed.spark.read.native_files import TASK_MERGE_BUDGET, Reader, Split, divide, pack, split_size
from lakebed.spark.read.read_frame import for_task, parallelism

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SummariseOnSpark:
    """Summarises the rows of files in tasks; a ``Summarise`` of :mod:`lakebed.operations.analyze`."""

    spark: SparkSession

    def __call__(self, works: Sequence[Work], columns: Sequence[Field]) -> Summary:
        tasks = [task for reader, entries in works if len(entries) for task in self._tasks(reader, entries)]
        if not tasks:
            return joined((), columns)
        numbers = self.spark.range(0, len(tasks), 1, len(tasks))
        return joined(run_job(numbers, _SummaryTask(tuple(tasks), tuple(columns))).results, columns)

    def _tasks(self, reader: Reader, entries: pa.Table) -> Iterator[tuple[Reader, Split]]:
        total = int(pc.sum(entries["file_size"]).as_py())
        size = split_size(total, len(entries), parallelism(self.spark))
        division = divide(reader, entries, native=False, split_bytes=size)
        travelling = for_task(reader, TASK_MERGE_BUDGET)
        yield from ((travelling, split) for split in pack(entries, division.grouped, reader.deleted, size))


@dataclass(frozen=True, slots=True)
class _SummaryTask:
    """The kernel: takes numbers of splits, returns a summary of their rows."""

    tasks: Sequence[tuple[Reader, Split]]
    columns: Sequence[Field]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Summary:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return joined((self._look(*self.tasks[number]) for number in numbers), self.columns)

    def _look(self, reader: Reader, split: Split) -> Summary:
        return Summary.of(replace(reader, deleted=split.deleted).batches(split.table()), self.columns)
