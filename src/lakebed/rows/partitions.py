"""Which rows go to which partition and bucket: a batch in, its groups out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of a table that share their key values. ``rows`` gathers them when asked, in their order."""

    values: tuple[object, ...]
    table: pa.Table
    where: slice | npt.NDArray[np.int64]

    @property
    def rows(self) -> pa.Table:
        if isinstance(self.where, slice):
            return self.table.slice(self.where.start, self.where.stop - self.where.start)
        return self.table.take(pa.array(self.where))


def group_rows(table: pa.Table, keys: Sequence[pa.ChunkedArray]) -> list[Group]:
    """Split a table by the values of its key columns; without keys all rows are one group.

    Rows that already lie together are sliced, not copied; others are copied group by group, when a group is asked for.
    """
    if not len(table):
        return []
    if not keys:
        return [Group((), table, slice(0, len(table)))]
    codes, values = _codes(keys)
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    if len(changes) + 1 == len(values):  # each group is one run
        starts, ends = [0, *changes.tolist()], [*changes.tolist(), len(codes)]
        return [Group(values[codes[a]], table, slice(a, b)) for a, b in zip(starts, ends, strict=True)]
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(values) + 1))
    return [Group(value, table, order[bounds[i] : bounds[i + 1]]) for i, value in enumerate(values)]


def _codes(keys: Sequence[pa.ChunkedArray]) -> tuple[npt.NDArray[np.integer], list[tuple[object, ...]]]:
    """A small number per row for its combination of key values, and the combinations by that number."""
    code = np.zeros(len(keys[0]), np.int64)
    levels: list[list[object]] = []
    for key in keys:
        encoded = pc.dictionary_encode(key, null_encoding="encode").combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        code = code * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        levels.append(encoded.dictionary.to_pylist())
    used, code = np.unique(code, return_inverse=True) if len(keys) > 1 else (np.arange(len(levels[0])), code)
    values = []
    for number in used.tolist():
        parts = []
        for level in reversed(levels):
            number, index = divmod(number, len(level))  # noqa: PLW2901 - peels the mixed-radix number
            parts.append(level[index])
        values.append(tuple(reversed(parts)))
    dtype = np.int16 if len(values) < 2**15 else np.int64  # numpy sorts 16 bit numbers by radix
    return code.astype(dtype), values
