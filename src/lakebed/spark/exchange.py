"""The shuffle of a write: all rows of a partition and bucket to one task, as blocks of Arrow rather than as rows.

Tasks that read the frame find out where each row belongs, collect the rows of each place into blocks, and Spark shuffles
the blocks, a few kilobytes to :data:`BLOCK_BYTES` each. That costs a fraction of shuffling rows: Spark turns every row into
Arrow once instead of after the shuffle, and neither sorts nor copies them one by one. A block tells the order of its rows
within the frame, which decides which of two rows of a key is the newer one.

Places are told apart by a number that Spark's own hash sends to the wanted shuffle partition, because then adaptive
execution joins those that turn out small: a few rows make one task, however many buckets the table has. Where a value does
not fit its column, any place will do: the task that gets the row refuses it. A wrong place would cost a file, never a row,
as writers look at the bucket again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.errors import LakebedError
from lakebed.format.murmur import hash_bytes, hash_rows
from lakebed.format.schema import TableSchema
from lakebed.options import TableOptions
from lakebed.rows.conform import conform
from lakebed.rows.partitions import gather, group_rows
from lakebed.spark.session import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Places: TypeAlias = npt.NDArray[np.int32]

BLOCK_BYTES: Final = 64 * 1024
"""Rows of a block; Spark hands over a thousand blocks at a time (:func:`lakebed.spark.session.fast_batches`)."""

ORDER: Final = "__lakebed_order"
_WINDOW_BYTES: Final = 32 * 1024 * 1024
_SENT: Final = "place int, first bigint, columns binary, rows binary"
_TASK_BITS: Final = 33


def to_owners(frame: DataFrame, schema: TableSchema, partitions: int) -> DataFrame:
    """Blocks of the frame's rows, those of a partition and bucket in one task; ``partitions`` is how many Spark makes."""
    sender = _Sender(schema, tuple(_numbers_of(partitions)))
    return map_in_arrow(frame, sender, _SENT).repartition("place")


def received(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.Table]:
    """The rows of blocks, in tables of about so many bytes, with a column :data:`ORDER`.

    Within a table, rows of a place lie together, in their order.
    """
    held: list[_Block] = []
    size = 0
    for batch in batches:
        for place, first, columns, rows in zip(*(batch[name] for name in batch.schema.names), strict=True):
            block = pa.ipc.read_record_batch(rows.as_buffer(), _read_schema(columns.as_py()))
            held.append(_Block(place.as_py(), first.as_py(), block))
            size += block.nbytes
        if size >= limit:
            yield _joined(held)
            held, size = [], 0
    if held:
        yield _joined(held)


@dataclass(frozen=True, slots=True)
class _Block:
    place: int
    first: int
    rows: pa.RecordBatch


def _joined(blocks: Sequence[_Block]) -> pa.Table:
    ordered = sorted(blocks, key=lambda block: (block.place, block.first))
    numbers = [np.arange(block.first, block.first + len(block.rows)) for block in ordered]
    rows = pa.Table.from_batches([block.rows for block in ordered]).combine_chunks()
    return rows.append_column(ORDER, pa.array(np.concatenate(numbers)))


@lru_cache(maxsize=8)
def _read_schema(columns: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(columns))


# --------------------------------------------------------------------------------------------------- in a task


@dataclass(frozen=True, slots=True)
class _Sender:
    """The kernel of the sending side: rows in, blocks out. ``numbers`` are the places."""

    schema: TableSchema
    numbers: tuple[int, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext  # noqa: PLC0415 - only in a worker

        context = TaskContext.get()
        first = context.partitionId() << _TASK_BITS if context is not None else 0
        for window in _windows(batch for batch in batches if len(batch)):
            yield self._blocks(window, first)
            first += len(window)

    def _blocks(self, window: pa.Table, first: int) -> pa.RecordBatch:
        places = places_of(window, self.schema, len(self.numbers))
        groups = group_rows(window, [pa.chunked_array([pa.array(places)])])
        numbers: list[int] = []
        firsts: list[int] = []
        ends = [0]
        sink = pa.BufferOutputStream()
        for group, rows in zip(groups, gather(groups), strict=True):
            start = first
            for batch in rows.to_batches(max_chunksize=max(1, len(rows) * BLOCK_BYTES // max(1, rows.nbytes))):
                numbers.append(self.numbers[int(group.values[0])])  # type: ignore[call-overload]
                firsts.append(start)
                sink.write(batch.serialize())
                ends.append(sink.tell())
                start += len(batch)
        columns = pa.repeat(pa.scalar(window.schema.serialize().to_pybytes(), pa.binary()), len(numbers))
        offsets = pa.py_buffer(np.array(ends, np.int32))
        blocks = pa.BinaryArray.from_buffers(pa.binary(), len(numbers), [None, offsets, sink.getvalue()])
        arrays = [pa.array(numbers, pa.int32()), pa.array(firsts, pa.int64()), columns, blocks]
        return pa.RecordBatch.from_arrays(arrays, ["place", "first", "columns", "rows"])


def _windows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches together, so that the blocks made of them are not too small."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _WINDOW_BYTES:
            yield pa.Table.from_batches(held).combine_chunks()
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def places_of(rows: pa.Table, schema: TableSchema, count: int) -> Places:
    """Which of so many places each row goes to; 0 if the writer is going to refuse the rows."""
    options = TableOptions(schema.options)
    partition, keys = schema.partition_fields, schema.select(schema.bucket_keys)
    wanted = {*schema.partition_keys, *schema.bucket_keys}
    given = {name: rows[name] for name in rows.column_names if name in wanted}
    if not given:  # all rows have the same key, by default
        return np.zeros(len(rows), np.int32)
    try:
        fitting = conform(pa.table(given), [*partition, *(key for key in keys if key not in partition)], where="")
        columns = [fitting[key.name] for key in keys]
        place = bucket_of_rows(columns, [key.type for key in keys], options.bucket, options.bucket_function)
        if partition:
            columns = [fitting[field.name] for field in partition]
            place = place + hash_rows(columns, [field.type for field in partition])  # wraps around, which is as good
        return np.mod(place, np.int32(count))
    except LakebedError:
        return np.zeros(len(rows), np.int32)


@lru_cache(maxsize=8)
def _numbers_of(partitions: int) -> list[int]:
    """For each shuffle partition, a number that Spark's hash sends there."""
    numbers: dict[int, int] = {}
    candidate = 0
    while len(numbers) < partitions:
        numbers.setdefault(hash_bytes(candidate.to_bytes(4, "little")) % partitions, candidate)
        candidate += 1
    return [numbers[place] for place in range(partitions)]
