"""The rows of ``$binlog``: an update is one row, and every column is an array.

The array has one value, or the values before and after the update.

The two rows of an update, -U and +U, have the same key and commit. Usually they are adjacent in one file, but a writer
may have started a new file between them. So a -U waits for the next row of its key: if that is a +U, both become one
row at the position of the +U. A -U or +U without a counterpart becomes a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.format.row_kind import UPDATE_AFTER, UPDATE_BEFORE, Kinds, kinds_from_texts, kinds_to_texts
from lakebed.rows.difference import equal_rows, row_codes
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.streams.stream_files import ROW_KIND, How, Part, StreamReader

I64: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_GROUP: Final = "_GROUP"
"""A column of entries: the group of files that are read together."""


def binlog_schema(columns: pa.Schema) -> pa.Schema:
    """Returns the schema of a binlog: the row kind, and each column as an array."""
    return pa.schema([ROW_KIND, *(pa.field(one.name, pa.list_(pa.field("element", one.type))) for one in columns)])


# -------------------------------------------------------------------------------------------------------------- packing


@dataclass(frozen=True, slots=True)
class Packing:
    """Which changes form each row of a binlog.

    ``told`` are the positions of changes, those of one row adjacent. ``ends`` are the positions in ``told`` where each
    row ends. ``waiting`` are changes whose counterpart has not been read yet.
    """

    told: I64
    ends: I64
    waiting: I64

    def rows(self, changes: pa.Table, kinds: Kinds, names: Sequence[str]) -> pa.Table:
        """Returns the rows of the binlog with columns of the changes."""
        offsets = pa.array(np.concatenate(([0], self.ends)), pa.int32())
        told = pa.array(self.told)
        texts = kinds_to_texts(kinds[self.told[self.ends - 1]])
        schema = binlog_schema(pa.schema([changes.schema.field(name) for name in names]))
        lists = [
            pa.ListArray.from_arrays(offsets, changes[name].take(told).combine_chunks(), type=schema.field(name).type)
            for name in names
        ]
        return pa.Table.from_arrays([texts, *lists], schema=schema)


def pack(kinds: Kinds, keys: pa.Table, *, more: bool = False) -> Packing:
    """Find the updates among changes of one commit; with ``more`` to come, a last -U of its key waits."""
    count = len(kinds)
    before = np.full(count, -1, np.int64)  # the -U of each +U
    halves = np.flatnonzero((kinds[:-1] == UPDATE_BEFORE) & (kinds[1:] == UPDATE_AFTER))
    halves = halves[equal_rows(keys.take(pa.array(halves)), keys.take(pa.array(halves + 1)))]
    before[halves + 1] = halves
    alone = kinds == UPDATE_BEFORE
    alone[halves] = False
    waiting = np.zeros(count, np.bool_)
    if alone.any():
        codes = row_codes(keys)
        order = np.argsort(codes, kind="stable")
        follows = np.append(codes[order[1:]] == codes[order[:-1]], False)
        halves = np.flatnonzero(follows[:-1] & alone[order[:-1]] & (kinds[order[1:]] == UPDATE_AFTER))
        before[order[halves + 1]] = order[halves]
        alone[order[halves]] = False
        waiting[order[~follows]] = more & alone[order[~follows]]
    is_half = np.zeros(count, np.bool_)
    is_half[before[before >= 0]] = True
    rows = np.flatnonzero(~is_half & ~waiting)
    both = before[rows] >= 0
    ends = np.cumsum(1 + both)
    told = np.empty(ends[-1] if len(ends) else 0, np.int64)
    told[ends - 1] = rows
    told[ends[both] - 2] = before[rows[both]]
    return Packing(told, ends, np.flatnonzero(waiting))


# -------------------------------------------------------------------------------------------------------------- reading


def grouped(part: Part) -> Part:
    """Returns a part whose entries have a column with the group of files that must be read together."""
    numbers = np.repeat(np.arange(len(part.groups)), [len(group) for group in part.groups])
    column = np.empty(len(part.entries), np.int64)
    column[np.concatenate(part.groups)] = numbers
    return replace(part, entries=part.entries.append_column(_GROUP, pa.array(column)))


@dataclass(frozen=True)
class BinlogReader:
    """Reads files as rows of a binlog. ``changes`` reads rows with kinds; its columns include the key."""

    changes: StreamReader
    names: tuple[str, ...]

    @staticmethod
    def over(reader: StreamReader) -> BinlogReader:
        """Returns a binlog reader over another reader."""
        names = tuple(column.name for column in reader.columns)
        keys = [key for key in reader.schema.primary_keys if key not in names]
        columns = (*reader.columns, *reader.schema.select(keys))
        return BinlogReader(replace(reader, columns=columns, kinds=True), names)

    @property
    def plain(self) -> FileReader:
        """Read files whose rows need no merging."""
        return self.changes.plain

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        columns = self.changes.plain.arrow_schema
        return binlog_schema(pa.schema([columns.field(name) for name in self.names]))

    def batches(self, entries: pa.Table, deleted: DeletedRows) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the files of one task."""
        if self.changes.how is not How.CHANGES or not self.changes.schema.primary_keys:
            for batch in self.changes.batches(entries, deleted):
                kinds = kinds_from_texts(batch.column(0))
                alone = np.arange(len(batch))
                packing = Packing(alone, alone + 1, alone[:0])
                yield from packing.rows(pa.Table.from_batches([batch]), kinds, self.names).to_batches()
            return
        groups = entries[_GROUP].to_numpy()
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(entries)], strict=True):
            yield from self._updates(entries.slice(start, end - start))

    def _updates(self, files: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yields the rows of files of one bucket and commit; keeps only the waiting rows of earlier files."""
        held = self.changes.arrow_schema.empty_table()
        for number in range(len(files)):
            found = self.changes.batches(files.slice(number, 1), DeletedRows())
            rows = pa.concat_tables([held, pa.Table.from_batches(found, schema=held.schema)]).combine_chunks()
            kinds = kinds_from_texts(rows[ROW_KIND.name].combine_chunks())
            keys = rows.select(list(self.changes.schema.primary_keys))
            packing = pack(kinds, keys, more=number + 1 < len(files))
            held = rows.take(pa.array(packing.waiting))
            yield from packing.rows(rows, kinds, self.names).to_batches()
