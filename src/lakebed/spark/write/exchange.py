"""The exchange of a write: all rows of a partition and bucket to one task, as blocks of Arrow rather than as rows.

Tasks that read the frame find out where each row belongs and collect the rows of each place into blocks. That costs a fraction
of shuffling rows: Spark turns every row into Arrow once, and neither sorts nor copies them one by one. A block tells the order
of its rows within the frame, which decides which of two rows of a key is the newer one.

How blocks get to their owners depends on where tasks run. On a cluster Spark shuffles them (:func:`to_owners`); places are then
told apart by a number that Spark's own hash sends to the wanted shuffle partition, because so adaptive execution joins those
that turn out small. Where all tasks run on the driver's machine, blocks wait in files there (:class:`Leaver`) and tasks
are told which to take (:func:`run_over`); the files are gone when the job is.

Where a value does not fit its column, any place will do: the task that gets the row refuses it. A wrong place would cost a file,
never a row, as writers look at the bucket again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.errors import LakebedError
from lakebed.format.binary_row import encode_row
from lakebed.format.murmur import hash_bytes, hash_rows
from lakebed.format.schema.table_schema import TableSchema
from lakebed.options import TableOptions
from lakebed.rows.conform import conform
from lakebed.rows.grouping import gather, group_rows
from lakebed.spark.jobs import Outcome, run_here, run_job
from lakebed.spark.session import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Places: TypeAlias = npt.NDArray[np.int32]
Place: TypeAlias = "Callable[[pa.Table, int], Places]"
"""Tells which of so many places each row goes to."""
Work: TypeAlias = "Callable[[Iterator[Block]], Iterable[pa.Table]]"

BLOCK_BYTES: Final = 64 * 1024
"""Rows of a block, at most."""
HANDED_BLOCKS: Final = 1024
"""Where Spark shuffles blocks, it hands over so many at a time, which all have to be in memory."""
ORDER: Final = "__lakebed_order"

WINDOW_BYTES: Final = 32 * 1024 * 1024
_TASK_BYTES: Final = 64 * 1024 * 1024
_LEAST_BYTES: Final = 1024 * 1024
_TASKS_PER_CORE: Final = 2
SENT: Final = "place int, first bigint, columns binary, rows binary"
_TASK_BITS: Final = 33


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one place; ``first`` is the number of the first of them within the frame."""

    place: int
    first: int
    rows: pa.RecordBatch


def joined(blocks: Iterable[Block], limit: int) -> Iterator[pa.Table]:
    """The rows of blocks, in tables of about so many bytes, with a column :data:`ORDER` if they had none yet.

    Within a table, rows of a place lie together, in their order.
    """
    held: list[Block] = []
    size = 0
    for block in blocks:
        held.append(block)
        size += block.rows.nbytes
        if size >= limit:
            yield _in_order(held)
            held, size = [], 0
    if held:
        yield _in_order(held)


def _in_order(blocks: Sequence[Block]) -> pa.Table:
    ordered = sorted(blocks, key=lambda block: (block.place, block.first))
    rows = pa.Table.from_batches([block.rows for block in ordered]).combine_chunks()
    if ORDER in rows.column_names:
        return rows
    numbers = [np.arange(block.first, block.first + len(block.rows)) for block in ordered]
    return rows.append_column(ORDER, pa.array(np.concatenate(numbers)))


# -------------------------------------------------------------------------------------------- blocks that Spark shuffles


def to_owners(
    frame: DataFrame, place: Place, partitions: int, work: Work | None = None, *, budget: int | None = None
) -> DataFrame:
    """Blocks of the frame's rows, those of a place in one task; ``partitions`` is how many Spark makes.

    With ``work`` the frame is one of blocks already, and tables made of them go through it first. What either side holds
    at a time is in proportion to a ``budget`` in bytes.
    """
    kernel = _Sender(place, tuple(_numbers_of(partitions)), work, budget)
    return map_in_arrow(frame, kernel, SENT).repartition("place")


def sender(place: Place, partitions: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The kernel that makes blocks (columns :data:`SENT`) of rows, for a shuffle by place into so many partitions."""
    return _Sender(place, tuple(_numbers_of(partitions)), None, None)


def received(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    """What came of :func:`to_owners`, in a task."""
    for batch in batches:
        for place, first, columns, rows in zip(*batch.columns, strict=True):
            block = pa.ipc.read_record_batch(rows.as_buffer(), _read_schema(columns.as_py()))
            yield Block(place.as_py(), first.as_py(), block)


@lru_cache(maxsize=8)
def _read_schema(columns: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(columns))


@dataclass(frozen=True, slots=True)
class _Sender:
    """The kernel of the sending side: rows in, blocks out. ``numbers`` are the places."""

    place: Place
    numbers: tuple[int, ...]
    work: Work | None
    budget: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        half = WINDOW_BYTES * 2 if self.budget is None else self.budget // 2
        most, block = min(WINDOW_BYTES, half), min(BLOCK_BYTES, max(1, half // HANDED_BLOCKS))
        windows = _windows(batches, most) if self.work is None else _numbered(self.work(received(batches)))
        for window, first in windows:
            sink = pa.BufferOutputStream()
            made = _blocks(window, first, self.place(window, len(self.numbers)), sink, block)
            offsets = pa.py_buffer(np.array([0, *made.ends], np.int32))
            columns = [
                pa.array([self.numbers[place] for place in made.places], pa.int32()),
                pa.array(made.firsts, pa.int64()),
                pa.repeat(pa.scalar(made.columns, pa.binary()), len(made.places)),
                pa.BinaryArray.from_buffers(pa.binary(), len(made.places), [None, offsets, sink.getvalue()]),
            ]
            yield pa.RecordBatch.from_arrays(columns, ["place", "first", "columns", "rows"])


@lru_cache(maxsize=8)
def _numbers_of(partitions: int) -> list[int]:
    """For each shuffle partition, a number that Spark's hash sends there."""
    numbers: dict[int, int] = {}
    candidate = 0
    while len(numbers) < partitions:
        numbers.setdefault(hash_bytes(candidate.to_bytes(4, "little")) % partitions, candidate)
        candidate += 1
    return [numbers[place] for place in range(partitions)]


# ---------------------------------------------------------------------------------------- blocks that wait in local files


@contextlib.contextmanager
def local_folder(spark: SparkSession) -> Iterator[str | None]:
    """A new folder for blocks, if all tasks of the session run on this machine; it is removed in the end."""
    if not hasattr(spark, "_jsparkSession") or not re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master):
        yield None
        return
    given = os.environ.get("SPARK_LOCAL_DIRS") or spark.conf.get("spark.local.dir", "") or ""
    with tempfile.TemporaryDirectory(prefix="lakebed-blocks-", dir=given.split(",")[0] or None) as folder:
        yield folder


@dataclass(frozen=True, slots=True)
class LeftBlocks:
    """What one task left in a file, one block after the other."""

    file: str
    columns: bytes
    places: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]

    def at(self, mask: npt.NDArray[np.bool_]) -> LeftBlocks:
        """Only some of the blocks."""
        parts = (values[mask] for values in (self.places, self.firsts, self.starts, self.sizes))
        return LeftBlocks(self.file, self.columns, *parts)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Block]:
        schema = _read_schema(self.columns)
        with pa.memory_map(self.file) as mapped:
            data = mapped.read_buffer()
        lists = (values.tolist() for values in (self.places, self.firsts, self.starts, self.sizes))
        for place, first, start, size in zip(*lists, strict=True):
            yield Block(place, first, pa.ipc.read_record_batch(data.slice(start, size), schema))


@dataclass(frozen=True, slots=True)
class Leaver:
    """The kernel that leaves the rows of a frame as blocks in files."""

    place: Place
    places: int
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> LeftBlocks | None:
        return self.leave(_windows(batches, WINDOW_BYTES))

    def leave(self, windows: Iterable[tuple[pa.Table, int]]) -> LeftBlocks | None:
        """Leave tables, each with the number of its first row."""
        file = f"{self.folder}/{uuid.uuid4()}"
        made: list[_Blocks] = []
        with pa.OSFile(file, "wb") as sink:
            for window, first in windows:
                made.append(_blocks(window, first, self.place(window, self.places), sink, BLOCK_BYTES))
        if not made:
            return None
        ends = np.array([0, *itertools.chain.from_iterable(blocks.ends for blocks in made)], np.int64)
        places = np.array([place for blocks in made for place in blocks.places], np.int32)
        firsts = np.array([first for blocks in made for first in blocks.firsts], np.int64)
        return LeftBlocks(file, made[0].columns, places, firsts, ends[:-1], np.diff(ends))


@dataclass(frozen=True, slots=True)
class OverPacks:
    """The kernel over packs of blocks: numbers of packs in, what becomes of the blocks of each of them out."""

    packs: list[list[LeftBlocks]]
    work: Callable[[Iterator[Block]], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[Any]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return [self.work(itertools.chain.from_iterable(self.packs[number])) for number in numbers]


def run_over(spark: SparkSession, left: Sequence[LeftBlocks], work: Callable[[Iterator[Block]], Any]) -> Outcome:
    """Run work over blocks, all blocks of a place together: in tasks, or here where there is little of it."""
    parallelism = int(spark.sparkContext.defaultParallelism)
    packs = packed(left, parallelism)
    kernel = OverPacks(packs, work)
    if sum(int(blocks.sizes.sum()) for blocks in left) < _LEAST_BYTES:
        outcome = run_here(kernel, len(packs))
    else:
        outcome = run_job(spark.range(0, len(packs), 1, min(len(packs), _TASKS_PER_CORE * parallelism)), kernel)
    results = (result for of_task in outcome.results for result in of_task)
    return Outcome([result for result in results if result is not None], outcome.repeated)


def packed(left: Sequence[LeftBlocks], tasks: int) -> list[list[LeftBlocks]]:
    """The blocks of each task: places stay whole, and small ones are joined as far as that leaves work for so many tasks."""
    if not left:
        return []
    places = np.concatenate([blocks.places for blocks in left])
    sizes = np.bincount(places, np.concatenate([blocks.sizes for blocks in left]))
    most = min(_TASK_BYTES, max(_LEAST_BYTES, sizes.sum() / tasks))
    used = np.flatnonzero(sizes)
    owners = np.zeros(len(sizes), np.int64)
    owners[used] = _owners(sizes[used].tolist(), most)
    return [
        [blocks.at(mask) for blocks in left if (mask := owners[blocks.places] == task).any()]
        for task in range(int(owners.max()) + 1)
    ]


def _owners(sizes: Sequence[float], most: float) -> list[int]:
    """Neighbours together until they are so much."""
    owners: list[int] = []
    held = 0.0
    for size in sizes:
        begins = not owners or held + size > most
        owners.append(0 if not owners else owners[-1] + begins)
        held = size if begins else held + size
    return owners


# ------------------------------------------------------------------------------------------------------ making blocks


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Blocks that were written one after the other, and where each ends."""

    places: list[int]
    firsts: list[int]
    ends: list[int]
    columns: bytes


def _numbered(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, int]]:
    """Tables with the number of their first row; they come from one task of many."""
    from pyspark import TaskContext  # noqa: PLC0415 - only in a worker

    context = TaskContext.get()
    first = context.partitionId() << _TASK_BITS if context is not None else 0
    for table in tables:
        yield table, first
        first += len(table)


def _windows(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[tuple[pa.Table, int]]:
    """Batches together, so that the blocks made of them are not too small, and the number of their first row."""
    return _numbered(_large(batches, most))


def _large(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if len(batch):
            held.append(batch)
            size += batch.nbytes
        if held and size >= most:
            yield pa.Table.from_batches(held).combine_chunks()
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _blocks(window: pa.Table, first: int, places: Places, sink: pa.NativeFile, most: int) -> _Blocks:
    made = _Blocks([], [], [], window.schema.serialize().to_pybytes())
    groups = group_rows(window, [pa.chunked_array([pa.array(places)])])
    for group, rows in zip(groups, gather(groups), strict=True):
        start = first
        for batch in rows.to_batches(max_chunksize=max(1, len(rows) * most // max(1, rows.nbytes))):
            made.places.append(int(group.values[0]))  # type: ignore[call-overload]
            made.firsts.append(start)
            sink.write(batch.serialize())
            made.ends.append(sink.tell())
            start += len(batch)
    return made


# -------------------------------------------------------------------------------------------------- where rows belong


def fitting_keys(rows: pa.Table, schema: TableSchema, keys: Sequence[str]) -> pa.Table | None:
    """The partition columns and some keys as the table has them; ``None`` if the writer is going to refuse the rows."""
    names = list(dict.fromkeys([*schema.partition_keys, *keys]))
    given = {name: rows[name] for name in rows.column_names if name in names}
    try:
        return conform(pa.table(given), schema.select(names), where="") if given else None
    except LakebedError:
        return None


def partition_hashes(rows: pa.Table, schema: TableSchema) -> Places:
    """The hash of each row's partition, which for a table without partitions is that of an empty row."""
    fields = schema.partition_fields
    if not fields:
        return np.full(len(rows), hash_bytes(encode_row((), ())[4:]), np.int32)
    return hash_rows([rows[field.name] for field in fields], [field.type for field in fields])


@dataclass(frozen=True, slots=True)
class ByBucket:
    """Rows of a table with a fixed number of buckets."""

    schema: TableSchema

    def __call__(self, rows: pa.Table, count: int) -> Places:
        """Which of so many places each row goes to; 0 if the writer is going to refuse the rows."""
        options, keys = TableOptions(self.schema.options), self.schema.select(self.schema.bucket_keys)
        fitting = fitting_keys(rows, self.schema, self.schema.bucket_keys)
        if fitting is None:
            return np.zeros(len(rows), np.int32)
        columns, types = [fitting[key.name] for key in keys], [key.type for key in keys]
        try:
            bucket = bucket_of_rows(columns, types, options.bucket, options.bucket_function)
        except LakebedError:
            return np.zeros(len(rows), np.int32)
        return place_of(bucket, partition_hashes(fitting, self.schema), count)


def place_of(bucket: Places, partition: Places, count: int) -> Places:
    """The place of a bucket of a partition, by the partition's hash."""
    place: Places = np.mod(bucket + partition, np.int32(count))  # the sum wraps around, which is as good
    return place
