"""What each row of a key does to a column, and the resulting steps.

The rows of a key are together, oldest first. A merge is defined row by row: an accumulator per column starts as null.
Each row may first *replace* it with its own value (``base``), and then acts on it: ``ADD`` (aggregate the value),
``OLD`` (aggregate a value that came too late), ``TAKE`` (retract the value) or ``SKIP``. The kernels do not iterate
over rows: they use closed forms over whole arrays. This module contains what they share.

Row indices are positions in the table; -1 means "no row".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints: TypeAlias = npt.NDArray[np.int64]
Ops: TypeAlias = npt.NDArray[np.int8]
Bools: TypeAlias = npt.NDArray[np.bool_]

SKIP, ADD, OLD, TAKE, BASE = range(5)
NOWHERE: Final = -1


def valid_mask(column: pa.ChunkedArray) -> Bools | None:
    """Which values are not null; None if all are."""
    if column.null_count == 0:
        return None
    mask: Bools = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return mask


def take_rows(column: pa.ChunkedArray, rows: Ints) -> pa.ChunkedArray:
    """The values at these rows, null at -1."""
    missing = rows < 0
    if not missing.any():
        return column.take(pa.array(rows))
    return column.take(pa.array(rows, mask=missing))


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array, as buffers are read from it."""
    if isinstance(column, pa.ChunkedArray):
        return (
            column.chunk(0)
            if column.num_chunks == 1
            else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        )
    return column


@dataclass(frozen=True)
class Keys:
    """Rows in runs of the same key: ``starts`` of the runs, ascending from 0, and the number of rows."""

    starts: Ints
    rows: int

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.starts, append=self.rows)

    @cached_property
    def last(self) -> Ints:
        """The newest row of each key."""
        return self.starts + self.lengths - 1

    @cached_property
    def of_row(self) -> Ints:
        """The key, as a number, of each row."""
        return np.repeat(np.arange(len(self)), self.lengths)

    # One running maximum over all rows is several times faster than a reduction per key.

    def last_where(self, mask: Bools) -> Ints:
        """The newest row of each key where the mask holds, or -1."""
        found = np.maximum.accumulate(np.where(mask, np.arange(self.rows), NOWHERE))[self.last]
        return np.where(found < self.starts, NOWHERE, found)

    def first_where(self, mask: Bools) -> Ints:
        """The oldest row of each key where the mask holds, or -1."""
        found = np.minimum.accumulate(np.where(mask, np.arange(self.rows), self.rows)[::-1])[::-1][self.starts]
        return np.where(found > self.last, NOWHERE, found)

    def any_where(self, mask: Bools) -> Bools:
        """Which keys have a row where the mask holds."""
        found: Bools = self.last_where(mask) >= 0
        return found


@dataclass(frozen=True)
class History:
    """What the rows do to one column, or to several columns that behave alike."""

    keys: Keys
    base: Bools
    ops: Ops

    @cached_property
    def last_base(self) -> Ints:
        """The newest row of each key that replaces the accumulator, or -1. What is older no longer matters."""
        return self.keys.last_where(self.base)

    @cached_property
    def live(self) -> Bools:
        """Rows that are not replaced by a later one."""
        alive: Bools = np.arange(self.keys.rows) >= self.last_base[self.keys.of_row]
        return alive

    @cached_property
    def plain(self) -> bool:
        """Whether all actions are ADD."""
        return bool((self.ops == ADD).all()) and not self.base.any()

    def has(self, op: int) -> bool:
        return bool((self.ops == op).any())

    def without(self, op: int) -> History:
        """Return the history without this action."""
        if not self.has(op):
            return self
        return History(self.keys, self.base, np.where(self.ops == op, SKIP, self.ops).astype(np.int8))

    def steps(self, valid: Bools | None) -> Steps:
        """The live actions on values that are not null, in order; a base comes before the action of its own row."""
        wanted = self.live if valid is None else self.live & valid
        bases = np.flatnonzero(wanted & self.base)
        acts = np.flatnonzero(wanted & (self.ops != SKIP))
        rows = np.concatenate([bases, acts])
        ops = np.concatenate([np.full(len(bases), BASE, np.int8), self.ops[acts]])
        if len(bases):
            order = np.argsort(rows, kind="stable")
            rows, ops = rows[order], ops[order]
        return Steps(rows, ops, self.keys.of_row[rows], len(self.keys))


@dataclass(frozen=True)
class Steps:
    """Actions on one column in order: the row, its action, and its key (ascending)."""

    rows: Ints
    ops: Ops
    keys: Ints
    key_count: int

    def where(self, mask: Bools) -> Steps:
        return Steps(self.rows[mask], self.ops[mask], self.keys[mask], self.key_count)

    @cached_property
    def runs(self) -> Runs:
        return Runs.of(self.keys)

    @cached_property
    def counts(self) -> Ints:
        """Number of steps of each key."""
        return np.bincount(self.keys, minlength=self.key_count).astype(np.int64)

    def key_has(self, mask: Bools) -> Bools:
        """Which keys have a step where the mask holds."""
        found = np.zeros(self.key_count, np.bool_)
        found[self.keys[mask]] = True
        return found


@dataclass(frozen=True)
class Runs:
    """Runs of equal numbers in a sorted array: where each starts, how long it is, and the number."""

    starts: Ints
    lengths: Ints
    ids: Ints

    @staticmethod
    def of(sorted_ids: Ints) -> Runs:
        if not len(sorted_ids):
            return Runs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
        starts = np.flatnonzero(np.concatenate([[True], sorted_ids[1:] != sorted_ids[:-1]]))
        return Runs(starts, np.diff(starts, append=len(sorted_ids)), sorted_ids[starts])

    @property
    def of_item(self) -> Ints:
        """The number of the run that each item is in."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def passes(self) -> Iterator[tuple[npt.NDArray[Any], Ints]]:
        """Iterate in lockstep: first the first item of every run, then all second ones, and so on.

        Yields (runs, items). For work that depends on the item before: as many passes as the longest run has items.
        """
        order = np.argsort(-self.lengths, kind="stable")
        lengths, starts = self.lengths[order], self.starts[order]
        longest = int(lengths[0]) if len(lengths) else 0
        for position in range(longest):
            active = int(np.searchsorted(-lengths, -position, side="left"))
            yield order[:active], starts[:active] + position
