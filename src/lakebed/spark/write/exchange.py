"""The exchange of a write: sends all rows of a partition and bucket to one task, as blocks of Arrow.

Tasks that read the frame compute the place of each row (the task that will write it) and collect the rows of a place in
blocks. This is much cheaper than a shuffle of rows: Spark converts each row to Arrow once, and does not sort or copy
single rows. A block records the position of its rows in the frame, which decides which of two rows with the same key is
newer.

On a cluster, Spark shuffles the blocks (:func:`to_owners`). A place is then identified by a number that Spark's hash
maps to the wanted shuffle partition, so that adaptive execution can join small partitions. If all tasks run on the
machine of the driver, blocks are left in local files (:class:`Leaver`), and each task is told which blocks to read
(:func:`run_over`). The files are deleted with the job.

Rows with a value that does not fit its column may be sent to any place: the task that gets them raises the error. A
wrong place never loses a row, since writers compute the bucket again; it only costs an additional file.
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

from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import LakebedError
from lakebed.format.binary_row import encode_row
from lakebed.format.murmur import hash_bytes, hash_rows
from lakebed.format.schema.table_schema import TableSchema
from lakebed.options import TableOptions
from lakebed.rows.conform import conform
from lakebed.rows.grouping import gather, group_rows
from lakebed.spark.file_jobs import Outcome, run_here, run_job
from lakebed.spark.session import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Places: TypeAlias = npt.NDArray[np.int32]
Place: TypeAlias = "Callable[[pa.Table, int], Places]"
"""Returns the place of each row, given the rows and the number of places."""
Work: TypeAlias = "Callable[[Iterator[Block]], Iterable[pa.Table]]"

BLOCK_BYTES: Final = 64 * 1024
"""The maximal number of bytes of a block."""
HANDED_BLOCKS: Final = 1024
"""The number of shuffled blocks that Spark passes to a task at once; all of them have to fit into memory."""
ORDER: Final = "__lakebed_order"

WINDOW_BYTES: Final = 32 * 1024 * 1024
_TASK_BYTES: Final = 64 * 1024 * 1024
_LEAST_BYTES: Final = 1024 * 1024
_TASKS_PER_CORE: Final = 2
SENT: Final = "place int, first bigint, columns binary, rows binary"
_TASK_BITS: Final = 33


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one place; ``first`` is the position of the first one in the frame."""

    place: int
    first: int
    rows: pa.RecordBatch


def joined(blocks: Iterable[Block], limit: int) -> Iterator[pa.Table]:
    """Yields the rows of blocks in tables of about ``limit`` bytes, with a column :data:`ORDER`.

    The rows of a place are adjacent in a table, in their order.
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


# -------------------------------------------------------------------------------------------- blocks that Spark
# shuffles


def to_owners(
    frame: DataFrame, place: Place, partitions: int, work: Work | None = None, *, budget: int | None = None
) -> DataFrame:
    """Returns a frame of blocks with the rows of a frame, shuffled so that one task gets all blocks of a place.

    ``partitions`` is the number of shuffle partitions. With ``work`` the frame already consists of blocks, and their
    rows pass through ``work`` first. Memory on both sides is proportional to ``budget``, in bytes.
    """
    kernel = _Sender(place, tuple(_numbers_of(partitions)), work, budget)
    return map_in_arrow(frame, kernel, SENT).repartition("place")


def sender(place: Place, partitions: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the kernel that makes blocks (columns :data:`SENT`) of rows, for a shuffle by place."""
    return _Sender(place, tuple(_numbers_of(partitions)), None, None)


def received(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    """Runs in a task: yields the blocks of a frame that :func:`to_owners` made."""
    for batch in batches:
        for place, first, columns, rows in zip(*batch.columns, strict=True):
            block = pa.ipc.read_record_batch(rows.as_buffer(), _read_schema(columns.as_py()))
            yield Block(place.as_py(), first.as_py(), block)


@lru_cache(maxsize=8)
def _read_schema(columns: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(columns))


@dataclass(frozen=True, slots=True)
class _Sender:
    """The kernel of the sending side: takes rows, yields blocks. ``numbers`` are the places."""

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
    """Returns for each shuffle partition a number that Spark's hash maps to it."""
    numbers: dict[int, int] = {}
    candidate = 0
    while len(numbers) < partitions:
        numbers.setdefault(hash_bytes(candidate.to_bytes(4, "little")) % partitions, candidate)
        candidate += 1
    return [numbers[place] for place in range(partitions)]


# ---------------------------------------------------------------------------------------- blocks that wait in local
# files


@contextlib.contextmanager
def local_folder(spark: SparkSession) -> Iterator[str | None]:
    """Makes a folder for blocks if all tasks of the session run on this machine; deletes it at the end."""
    if not hasattr(spark, "_jsparkSession") or not re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master):
        yield None
        return
    given = os.environ.get("SPARK_LOCAL_DIRS") or spark.conf.get("spark.local.dir", "") or ""
    with tempfile.TemporaryDirectory(prefix="lakebed-blocks-", dir=given.split(",")[0] or None) as folder:
        yield folder


@dataclass(frozen=True, slots=True)
class LeftBlocks:
    """The blocks that one task left in a file."""

    file: str
    columns: bytes
    places: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]

    def at(self, mask: npt.NDArray[np.bool_]) -> LeftBlocks:
        """Returns some of the blocks."""
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
    """The kernel that writes the rows of a frame as blocks into a local file."""

    place: Place
    places: int
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> LeftBlocks | None:
        return self.leave(_windows(batches, WINDOW_BYTES))

    def leave(self, windows: Iterable[tuple[pa.Table, int]]) -> LeftBlocks | None:
        """Writes the rows of tables; each table comes with the position of its first row."""
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
    """The kernel over packs of blocks: takes numbers of packs, returns the result of each."""

    packs: list[list[LeftBlocks]]
    work: Callable[[Iterator[Block]], Any]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[Any]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return [self.work(itertools.chain.from_iterable(self.packs[number])) for number in numbers]


def run_over(spark: SparkSession, left: Sequence[LeftBlocks], work: Callable[[Iterator[Block]], Any]) -> Outcome:
    """Runs work over blocks, all blocks of a place together: in tasks, or here if there is little to do."""
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
    """Divides blocks among tasks. A place is never divided; small places are joined as long as all tasks have work."""
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
    """Groups neighbours up to a size."""
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
    """Blocks that were written one after the other, with the position where each ends."""

    places: list[int]
    firsts: list[int]
    ends: list[int]
    columns: bytes


def _numbered(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, int]]:
    """Yields tables with the position of their first row; the positions of different tasks do not overlap."""
    from pyspark import TaskContext  # noqa: PLC0415 - only in a worker

    context = TaskContext.get()
    first = context.partitionId() << _TASK_BITS if context is not None else 0
    for table in tables:
        yield table, first
        first += len(table)


def _windows(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[tuple[pa.Table, int]]:
    """Joins batches, so that their blocks do not get too small; yields them with the position of the first row."""
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
    """Returns the partition columns and some key columns in the table's types.

    ``None`` if the writer will refuse the rows.
    """
    names = list(dict.fromkeys([*schema.partition_keys, *keys]))
    given = {name: rows[name] for name in rows.column_names if name in names}
    try:
        return conform(pa.table(given), schema.select(names), where="") if given else None
    except LakebedError:
        return None


def partition_hashes(rows: pa.Table, schema: TableSchema) -> Places:
    """Returns the hash of each row's partition; without partitions, that of an empty row."""
    fields = schema.partition_fields
    if not fields:
        return np.full(len(rows), hash_bytes(encode_row((), ())[4:]), np.int32)
    return hash_rows([rows[field.name] for field in fields], [field.type for field in fields])


@dataclass(frozen=True, slots=True)
class ByBucket:
    """Sends rows of a table with a fixed number of buckets to the owner of their bucket."""

    schema: TableSchema

    def __call__(self, rows: pa.Table, count: int) -> Places:
        """Returns the place of each row, below ``count``; 0 for rows that the writer will refuse."""
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
    """Returns the place of a bucket, given the hash of its partition."""
    place: Places = np.mod(bucket + partition, np.int32(count))  # an overflow of the sum does no harm
    return place
