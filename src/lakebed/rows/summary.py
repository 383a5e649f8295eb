"""Summaries of columns: the number of nulls and of distinct values, minimum, maximum and lengths.

A :class:`Summary` is built from batches. It is small however much it has seen, and two summaries can be merged, so
files can be read in any order and in any process. Everything is exact except the number of distinct values, which is
exact up to :data:`EXACT_VALUES` and within about one percent above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.binary_row import row_parts
from lakebed.format.statistics.table_statistics import (
    ColumnStatistics,
    bound_text,
    fixed_width,
    has_bounds,
    unmeasured_width,
)
from lakebed.format.types.data_types import Field, to_arrow

EXACT_VALUES: Final = 1 << 16
_INDEX_BITS: Final = 14
_REGISTERS: Final = 1 << _INDEX_BITS
_RANK_BITS: Final = 64 - _INDEX_BITS
_CHUNK_ROWS: Final = 65_536
_SEED: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)

_U64: TypeAlias = npt.NDArray[np.uint64]


# ------------------------------------------------------------------------------------------------- distinct values


@dataclass(slots=True)
class Distinct:
    """Counts distinct hashes: with a set while there are few, then with a sketch (HyperLogLog) of 16 KiB."""

    hashes: _U64 | None = field(default_factory=lambda: np.zeros(0, np.uint64))
    registers: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))

    def add(self, hashes: _U64) -> None:
        """Add hashes; repeated ones count once."""
        if self.hashes is None:
            self._sketch(hashes)
            return
        self.hashes = np.union1d(self.hashes, hashes)
        if len(self.hashes) > EXACT_VALUES:
            known, self.hashes = self.hashes, None
            self.registers = np.zeros(_REGISTERS, np.uint8)
            self._sketch(known)

    def join(self, other: Distinct) -> None:
        """Add what another one has seen."""
        if other.hashes is not None:
            self.add(other.hashes)
            return
        if self.hashes is not None:
            known, self.hashes = self.hashes, None
            self.registers = np.zeros(_REGISTERS, np.uint8)
            self._sketch(known)
        np.maximum(self.registers, other.registers, out=self.registers)

    def _sketch(self, hashes: _U64) -> None:
        """Update the registers: each keeps the longest run of zero bits among its hashes, plus one.

        The bits after the register index are 50 bits. A double stores them exactly, and its exponent is their length.
        """
        index = (hashes >> np.uint64(_RANK_BITS)).astype(np.int64)
        rest = (hashes << np.uint64(_INDEX_BITS)) >> np.uint64(_INDEX_BITS)
        _, lengths = np.frexp(rest.astype(np.float64))
        np.maximum.at(self.registers, index, (_RANK_BITS + 1 - lengths).astype(np.uint8))

    def count(self) -> int:
        """How many distinct hashes there were."""
        return _estimate(self.registers) if self.hashes is None else len(self.hashes)


def _estimate(registers: npt.NDArray[np.uint8]) -> int:
    """Estimate the count with Ertl's estimator, which needs no correction for few or very many values."""
    counts = np.bincount(registers, minlength=_RANK_BITS + 2).astype(np.float64)
    total = _REGISTERS * _tau(1 - counts[_RANK_BITS + 1] / _REGISTERS)
    for rank in range(_RANK_BITS, 0, -1):
        total = 0.5 * (total + counts[rank])
    total += _REGISTERS * _sigma(counts[0] / _REGISTERS)
    return round(_REGISTERS / (2 * math.log(2)) * _REGISTERS / total)


def _sigma(share: float) -> float:
    """Return the sum x + x^2 + 2 x^4 + 4 x^8 + ... for the share x of empty registers, which is less than 1."""
    total, weight = share, 1.0
    while share > 0:
        share *= share
        before = total
        total += share * weight
        weight += weight
        if total == before:
            break
    return total


def _tau(share: float) -> float:
    """Return the correction for saturated registers, from the share of the others."""
    if share in {0.0, 1.0}:
        return 0.0
    total, weight = 1 - share, 1.0
    while True:
        share = math.sqrt(share)
        before = total
        weight *= 0.5
        total -= (1 - share) ** 2 * weight
        if total == before:
            return total / 3


def _hashes(values: pa.Array, column: Field) -> _U64:
    """A hash of 64 bits for each value, none of which is null."""
    if pa.types.is_floating(values.type):
        # All NaN are one value, and so are 0.0 and -0.0.
        values = pc.if_else(
            pc.is_nan(values), pa.scalar(math.nan, values.type), pc.add(values, pa.scalar(0, values.type))
        )
    made = [np.zeros(0, np.uint64)]
    for parts in row_parts([values], [column.type], chunk_rows=_CHUNK_ROWS):
        state = _mixed(parts.slots[0] + _SEED)
        for variable in parts.variables:
            rows, word = np.flatnonzero(variable.words > 0), 0
            while rows.size:
                state[rows] = _mixed(state[rows] ^ variable.gather(rows, word))
                word += 1
                rows = rows[variable.words[rows] > word]
        made.append(state)
    return np.concatenate(made)


def _mixed(words: _U64) -> _U64:
    """Mix a word so that every bit of the result depends on every bit of the input."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return (words ^ (words >> np.uint64(31))) + _SEED


# --------------------------------------------------------------------------------------------------------- columns


@dataclass(slots=True)
class ColumnSummary:
    """The summary of one column. Bounds are Arrow arrays of the minima and maxima of batches."""

    column: Field
    nulls: int = 0
    values: int = 0
    characters: int = 0
    longest: int = 0
    bounds: pa.Array | None = None
    distinct: Distinct = field(default_factory=Distinct)

    def add(self, array: pa.Array) -> None:
        """Add the values of a batch."""
        self.nulls += array.null_count
        given = array.drop_null() if array.null_count else array
        if not len(given):
            return
        self.values += len(given)
        if fixed_width(self.column.type) is None:
            lengths = pc.utf8_length(given) if pa.types.is_string(given.type) else pc.binary_length(given)
            self.characters += pc.sum(lengths).as_py()
            self.longest = max(self.longest, pc.max(lengths).as_py())
        if has_bounds(self.column.type):
            self._widen(given)
        self.distinct.add(_hashes(given, self.column))

    def join(self, other: ColumnSummary) -> None:
        """Add what another one has seen."""
        self.nulls += other.nulls
        self.values += other.values
        self.characters += other.characters
        self.longest = max(self.longest, other.longest)
        if other.bounds is not None:
            self._widen(other.bounds)
        self.distinct.join(other.distinct)

    def _widen(self, values: pa.Array) -> None:
        """Extend the bounds. NaN is above everything, as in Spark; Arrow ignores it beside other numbers."""
        if self.bounds is not None:
            values = pa.concat_arrays([self.bounds, values])
        found = pc.min_max(values)
        least, greatest = found["min"], found["max"]
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            greatest = pa.scalar(math.nan, values.type)
        self.bounds = pa.array([least, greatest], values.type)

    def statistics(self) -> ColumnStatistics:
        """Return the summary in the form that ``ANALYZE`` writes."""
        kind = self.column.type
        width = fixed_width(kind)
        if width is None:
            average = -(-self.characters // self.values) if self.values else unmeasured_width(kind)
            longest = self.longest if self.values else average
        else:
            average = longest = width
        bounds = pa.nulls(2, to_arrow(kind)) if self.bounds is None else self.bounds
        return ColumnStatistics(
            column_id=self.column.id,
            distinct_count=min(self.distinct.count(), self.values),
            least=bound_text(bounds[0], kind),
            greatest=bound_text(bounds[1], kind),
            null_count=self.nulls,
            average_length=average,
            greatest_length=longest,
        )


@dataclass(slots=True)
class Summary:
    """The summary of some columns of a table."""

    rows: int
    columns: Sequence[ColumnSummary]

    @staticmethod
    def of(batches: Iterable[pa.RecordBatch], columns: Sequence[Field]) -> Summary:
        """Summarise batches whose first columns are these; of other columns only the rows are counted."""
        made = Summary(0, [ColumnSummary(column) for column in columns])
        for batch in batches:
            made.rows += batch.num_rows
            for summary, array in zip(made.columns, batch.columns[: len(columns)], strict=True):
                summary.add(array)
        return made

    def join(self, other: Summary) -> Summary:
        """Add what another one has seen, and return this one."""
        self.rows += other.rows
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.join(theirs)
        return self


def joined(summaries: Iterable[Summary], columns: Sequence[Field]) -> Summary:
    """Merge all of them into one."""
    return reduce(Summary.join, summaries, Summary.of((), columns))
