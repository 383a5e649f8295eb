"""Group the rows of a batch by partition and bucket."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_BLOCK_ROWS: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of a table that share their key values, in their order: all of ``table``, or those at ``positions``."""

    values: tuple[object, ...]
    table: pa.Table
    positions: npt.NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        return len(self.table if self.positions is None else self.positions)

    @property
    def rows(self) -> pa.Table:
        return gather([self])[0]

    def split(self, parts: int) -> list[Group]:
        """The same rows in parts of about the same size."""
        cuts = itertools.pairwise(self.count * part // parts for part in range(parts + 1))
        if self.positions is None:
            return [Group(self.values, self.table.slice(a, b - a)) for a, b in cuts]
        return [Group(self.values, self.table, self.positions[a:b]) for a, b in cuts]


def group_rows(table: pa.Table, keys: Sequence[pa.ChunkedArray]) -> list[Group]:
    """Split a table by the values of its key columns; without keys all rows are one group.

    Rows that are already together are sliced; others are copied on access.
    """
    if not len(table):
        return []
    if not keys:
        return [Group((), table)]
    codes, values = _codes(keys)
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    if len(changes) + 1 == len(values):  # each group is one run
        bounds = itertools.pairwise([0, *changes.tolist(), len(codes)])
        return [Group(values[codes[a]], table.slice(a, b - a)) for a, b in bounds]
    if max(column.num_chunks for column in table.columns) > 2 + 8 * len(table) // _BLOCK_ROWS:
        table = table.combine_chunks()  # only once, because every group reads every chunk
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(values)))
    return list(map(Group, values, itertools.repeat(table), np.split(order, ends[:-1])))


def gather(groups: Sequence[Group]) -> list[pa.Table]:
    """The rows of some groups of one table.

    They are collected for all these groups at once, one block of the table after the other, so that each small
    group does not scan all of memory.
    """
    table = groups[0].table
    positions = [group.positions for group in groups if group.positions is not None]
    if not positions:
        return [group.table for group in groups]
    found: list[list[pa.RecordBatch]] = [[] for _ in groups]
    batches = table.to_batches(max_chunksize=_BLOCK_ROWS)
    starts = np.cumsum([0, *map(len, batches)])
    cuts = [np.searchsorted(rows, starts).tolist() for rows in positions]
    for number, batch in enumerate(batches):
        parts = [rows[cut[number] : cut[number + 1]] for rows, cut in zip(positions, cuts, strict=True)]
        taken = batch.take(pa.array(np.concatenate(parts) - starts[number]))
        ends = itertools.accumulate(map(len, parts), initial=0)
        for pieces, (a, b) in zip(found, itertools.pairwise(ends), strict=True):
            if b > a:
                pieces.append(taken.slice(a, b - a))
    return [pa.Table.from_batches(pieces, table.schema) for pieces in found]


def _codes(keys: Sequence[pa.ChunkedArray]) -> tuple[npt.NDArray[np.integer], list[tuple[object, ...]]]:
    """Return a small number per row for its combination of key values, and the combinations by that number."""
    code, values = _key_codes(keys[0])
    for key in keys[1:]:
        more, level = _key_codes(key)
        # Numbered again after every key, so that numbers never exceed the number of rows.
        used, code = np.unique(code.astype(np.int64) * len(level) + more, return_inverse=True)
        pairs = (divmod(number, len(level)) for number in used.tolist())
        values = [(*values[before], *level[index]) for before, index in pairs]
    dtype = np.int16 if len(values) < 2**15 else np.int64  # numpy sorts 16 bit numbers by radix
    return code.astype(dtype), values


def _key_codes(key: pa.ChunkedArray) -> tuple[npt.NDArray[np.integer], list[tuple[object, ...]]]:
    # Null gets its number by hand: Arrow cannot unify dictionaries of several chunks that contain a null.
    encoded = pc.dictionary_encode(key).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks)
    values: list[tuple[object, ...]] = [(value,) for value in encoded.dictionary.to_pylist()]
    codes = encoded.indices
    if codes.null_count:
        codes = codes.fill_null(len(values))
        values.append((None,))
    return codes.to_numpy(zero_copy_only=False), values
