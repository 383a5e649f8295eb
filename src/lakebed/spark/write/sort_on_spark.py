"""Sorted compaction of append tables on Spark.

One task reads, sorts and writes a partition that fits into about one file. A larger partition is divided into ranges of
the sort order, by a sample that the driver takes. Tasks read files and send the rows to the owners of their ranges as
blocks of Arrow (see :mod:`lakebed.spark.write.exchange`); owners sort and write them. Rows are never converted to rows
of Spark, which has fewer types than a table.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import Report, Rewritten
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.append.append_compact import AppendCompactor
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.sort_order import Sorter
from lakebed.rows.sorted_rows import sampled, sorted_portions
from lakebed.spark.file_jobs import JobFiles, Outcome, check_arrived, run_job, spill_folder
from lakebed.spark.session import map_in_arrow
from lakebed.spark.write.compact_on_spark import marked, rewrite_packs
from lakebed.spark.write.exchange import SENT, Block, Leaver, local_folder, received, run_over, sender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SENDER_BYTES: Final = 128 * 1024 * 1024
"""The number of bytes of files that one task reads and sends to the owners."""
_RANGE_SHARE: Final = 0.8
"""The size of a range as a share of the target file size: a larger range would leave a small second file."""


def sort_packs(
    spark: SparkSession, compactor: AppendCompactor, packs: Sequence[pa.Table], report: Report | None
) -> Rewritten:
    """Rewrites packs of files, each sorted; if that fails, the files that were written are deleted."""
    ranges = [_ranges(compactor, pack) for pack in packs]
    small = [pack for pack, count in zip(packs, ranges, strict=True) if count == 1]
    large = [(pack, count) for pack, count in zip(packs, ranges, strict=True) if count > 1]

    def report_small(done: int, _all: int) -> None:
        if report is not None:
            report(done, len(packs))

    written = [rewrite_packs(spark, compactor, small, report_small)]

    def abort() -> None:
        for one in written:
            one.abort()

    with abort_unless_committed(abort):
        for number, (pack, count) in enumerate(large, 1):
            written.append(_sorted_by_range(spark, compactor, pack, count))
            report_small(len(small) + number, len(packs))
    return Rewritten([part for one in written for part in one.parts], abort)


def _ranges(compactor: AppendCompactor, pack: pa.Table) -> int:
    size = int(pc.sum(pack["file_size"]).as_py())
    target = compactor.layout.target_size
    return 1 if size <= target else int(size / (target * _RANGE_SHARE)) + 1


def _sorted_by_range(spark: SparkSession, compactor: AppendCompactor, pack: pa.Table, ranges: int) -> Rewritten:
    assert compactor.order is not None  # noqa: S101 - for the type checker
    store, schema = compactor.layout.store, compactor.layout.schema
    sorter, cuts = sampled(compactor.reader, pack, compactor.order, ranges=ranges)
    assert cuts is not None  # noqa: S101 - for the type checker
    files = JobFiles.new()
    owner = _Owner(store, schema, files, sorter, pickle.dumps(pack))
    place = _ByRange(sorter, cuts)
    units = [pickle.dumps((unit, marked(compactor.reader.deleted, unit))) for unit in _units(pack)]
    numbers = spark.range(0, len(units), 1, len(units))

    def remove() -> None:
        files.remove(store, schema)

    with abort_unless_committed(remove):
        with local_folder(spark) as folder:
            if folder is None:
                read = _FromFiles(store, schema, units, sender(place, ranges))
                outcome = run_job(map_in_arrow(numbers, read, SENT).repartition(ranges, "place"), owner)
            else:
                leave = _FromFiles(store, schema, units, Leaver(place, ranges, folder))
                left = run_job(numbers, leave)
                outcome = run_over(spark, left.results, owner.write)
                outcome = Outcome(outcome.results, outcome.repeated or left.repeated)
        parts: list[pa.Table] = outcome.results
        check_arrived(store, schema, *parts)
        if outcome.repeated:
            files.remove(store, schema, keep=[name for part in parts for name in part["file_name"].to_pylist()])
    return Rewritten(parts, remove)


def _units(pack: pa.Table) -> list[pa.Table]:
    """Groups neighbouring files, one group per task."""
    before = np.cumsum(pack["file_size"].to_numpy()) - pack["file_size"].to_numpy()
    starts = np.flatnonzero(np.diff(before // _SENDER_BYTES, prepend=-1)).tolist()
    return [pack.slice(start, stop - start) for start, stop in zip(starts, [*starts[1:], len(pack)], strict=True)]


@dataclass(frozen=True, slots=True)
class _ByRange:
    """Sends rows to the owner of their range of the sort order."""

    sorter: Sorter
    cuts: pa.Table

    def __call__(self, rows: pa.Table, _count: int) -> npt.NDArray[np.int32]:
        return self.sorter.range_of(rows, self.cuts)


@dataclass(frozen=True, slots=True)
class _FromFiles:
    """The kernel that reads files: takes numbers of units, passes their rows to ``then``."""

    store: TableStore
    schema: TableSchema
    units: list[bytes]
    then: Callable[[Iterator[pa.RecordBatch]], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Any:
        return self.then(self._rows(batches))

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                unit, deleted = pickle.loads(self.units[number])  # noqa: S301 - our own bytes
                yield from FileReader(self.store, self.schema, self.schema.fields, None, deleted).batches(unit)


@dataclass(frozen=True, slots=True)
class _Owner:
    """The kernel that sorts and writes: takes blocks of neighbouring ranges, returns the entries of new files."""

    store: TableStore
    schema: TableSchema
    files: JobFiles
    sorter: Sorter
    pack: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> pa.Table | None:
        return self.write(received(batches))

    def write(self, blocks: Iterator[Block]) -> pa.Table | None:
        layout = FileLayout(self.store, self.schema, TableOptions(self.schema.options), self.files.attempt(self.store))
        reader = FileReader(self.store, self.schema, self.schema.fields, None, DeletedRows())
        compactor = AppendCompactor(layout, reader)
        rows = (block.rows for block in blocks)
        with abort_unless_committed(compactor.abort):
            portions = sorted_portions(rows, self.sorter, compactor.budget, spill_folder())
            written = compactor.write(pickle.loads(self.pack), portions)  # noqa: S301 - our own bytes
        return written if len(written) else None
