"""How rows are sorted when an append table is compacted: by columns in turn, or along a curve through all of them.

``order`` sorts by the first column, then the next. ``zorder`` and ``hilbert`` treat columns alike: rows that are near in any of
them come to lie near each other, so that conditions on each of them skip files. For that every column becomes a number of 16
bits, its place among the quantiles of a sample (thus no column outweighs another because its values are larger), and the
numbers of a row become its place on the curve. Nulls come first. What a sample does not show makes files less
even, never wrong: curves only say where rows lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError, OptionError, UnsupportedError, unknown_name
from lakebed.format.binary_row import text_values, unaligned_words
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Atomic
from lakebed.metadata.plan.key_ranks import ranks_of, sortable
from lakebed.options import TableOptions
from lakebed.rows.order import order_by_key

U64: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]

STRATEGIES: Final = ("order", "zorder", "hilbert")
BITS: Final = 16
_HIGHEST: Final = 2**BITS - 1
_KEY: Final = "__lakebed_sort_"
_SIGN: Final = np.uint64(1 << 63)
_TOP: Final = np.uint64(2**64 - 1)
_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class SortOrder:
    """A strategy and the columns that it sorts by."""

    strategy: str
    columns: tuple[str, ...]

    @staticmethod
    def of(schema: TableSchema, strategy: str, columns: Sequence[str], *, where: str) -> SortOrder:
        """The order of these columns, or an error if the table cannot be sorted so."""
        if strategy not in STRATEGIES:
            raise OptionError(f"rows are sorted by {', '.join(STRATEGIES)}, not {strategy!r}")
        if schema.primary_keys or TableOptions(schema.options).bucket > 0:
            raise UnsupportedError(
                f"{where}: only append tables without buckets are sorted while they are compacted; others have an order of "
                "their own, so leave the columns to sort by out"
            )
        if not columns:
            raise OptionError(f"{where}: say which columns to sort by")
        for name in columns:
            if name not in schema.field_names:
                raise NotFoundError(unknown_name("column", name, schema.field_names, where=where))
            if name in schema.partition_keys:
                raise OptionError(
                    f"{where}: {name!r} is a partition column, by which rows are apart already; leave it out"
                )
            if not isinstance(schema.field(name).type, Atomic):
                raise UnsupportedError(f"{where}: {name!r} is nested, and nested values have no order; leave it out")
        if len(set(columns)) < len(columns):
            raise OptionError(f"{where}: a column to sort by is named more than once: {', '.join(columns)}")
        return SortOrder(strategy, tuple(columns))


@dataclass(frozen=True, slots=True)
class Sorter:
    """Sorts rows; what a curve has to know of the values comes from a sample."""

    order: SortOrder
    scales: tuple[Scale, ...] = ()

    @staticmethod
    def of(order: SortOrder, sample: pa.Table) -> Sorter:
        if order.strategy == "order":
            return Sorter(order)
        return Sorter(order, tuple(Scale.of(sample[name]) for name in order.columns))

    @property
    def keys(self) -> list[str]:
        """The columns that :meth:`with_keys` gives rows, and that they are to be sorted by in turn."""
        if self.order.strategy == "order":
            return list(self.order.columns)
        return [f"{_KEY}{i}" for i in range(-(-len(self.scales) * BITS // _WORD))]

    def with_keys(self, rows: pa.Table) -> pa.Table:
        """Rows with the columns that they are to be sorted by."""
        if self.order.strategy == "order":
            return rows
        axes = [scale.places(rows[name]) for scale, name in zip(self.scales, self.order.columns, strict=True)]
        if self.order.strategy == "hilbert":
            axes = hilbert_axes(axes, BITS)
        for name, word in zip(self.keys, interleaved(axes, BITS), strict=True):
            rows = rows.append_column(name, pa.array((word ^ _SIGN).view(np.int64)))
        return rows

    def without_keys(self, rows: pa.Table) -> pa.Table:
        """The rows as they were before :meth:`with_keys`."""
        return rows if self.order.strategy == "order" else rows.drop_columns(self.keys)

    def sorted(self, rows: pa.Table) -> pa.Table:
        """Rows that have their keys, in order."""
        return rows.take(pa.array(order_by_key([rows[key] for key in self.keys]).rows))

    def cuts(self, sample: pa.Table, ranges: int) -> pa.Table:
        """Keys that cut the order into about so many ranges of the same size, as far as the sample tells."""
        ordered = self.sorted(self.with_keys(sample)).select(self.keys)
        at = np.unique(np.arange(1, ranges) * len(ordered) // ranges)
        return ordered.take(pa.array(at, pa.int64()))

    def range_of(self, rows: pa.Table, cuts: pa.Table) -> npt.NDArray[np.int32]:
        """The number of the range that each row belongs to; a row that is equal to a cut is of the range after it."""
        both = pa.concat_tables([self.with_keys(rows).select(self.keys), cuts])
        ranks = ranks_of([column.combine_chunks() for column in both.columns])
        return np.searchsorted(ranks[len(rows) :], ranks[: len(rows)], side="right").astype(np.int32)


# ------------------------------------------------------------------------------------------------- columns as numbers


@dataclass(frozen=True, slots=True)
class Scale:
    """Turns the values of a column into numbers of 16 bits in the same order: places among quantiles.

    ``prefix`` is what all texts of the sample begin with, which tells nothing.
    """

    prefix: bytes
    bounds: U64

    @staticmethod
    def of(sample: pa.ChunkedArray) -> Scale:
        array = sample.combine_chunks().drop_null()
        prefix = _common_prefix(array) if _is_text(array.type) else b""
        values = np.sort(_images(array, prefix))
        chosen = values[np.linspace(0, len(values) - 1, min(len(values), _HIGHEST)).astype(np.int64)]
        return Scale(prefix, np.unique(chosen))

    def places(self, column: pa.ChunkedArray) -> U64:
        """The number of each value; nulls have 0, and are together with no value of the sample."""
        array = column.combine_chunks()
        place = np.searchsorted(self.bounds, _images(array, self.prefix), side="right").astype(np.uint64)
        place = np.maximum(place, np.uint64(1)) * np.uint64(_HIGHEST) // np.uint64(max(1, len(self.bounds)))
        place[array.is_null().to_numpy(zero_copy_only=False)] = 0
        return place


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _common_prefix(array: pa.Array) -> bytes:
    if not len(array):
        return b""
    bounds = pc.min_max(array.cast(pa.binary()))
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    differs = np.flatnonzero([a != b for a, b in zip(low, high, strict=False)])
    return bytes(low[: differs[0]] if len(differs) else low[: min(len(low), len(high))])


def _images(array: pa.Array, prefix: bytes) -> U64:
    """Numbers in the order of the values, though near ones may be equal; whatever for nulls."""
    kind = array.type
    if _is_text(kind):
        return _text_images(array.cast(pa.binary()), prefix)
    if pa.types.is_decimal(kind):
        array = array.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    numbers = sortable(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.ascontiguousarray(numbers).view(np.uint64) ^ _SIGN


def _text_images(array: pa.Array, prefix: bytes) -> U64:
    """The eight bytes after the prefix; texts without it are below or above all that have it."""
    starts, lengths, data = text_values(array)
    head = pc.fill_null(pc.binary_slice(array, 0, len(prefix)), b"")
    fits: Bools = pc.equal(head, prefix).to_numpy(zero_copy_only=False)
    above: Bools = pc.greater(head, prefix).to_numpy(zero_copy_only=False)
    at = np.where(fits, starts + len(prefix), 0)
    rest = np.clip(np.where(fits, lengths - len(prefix), 0), 0, 8).astype(np.uint64)
    words = unaligned_words(data)[at].byteswap()  # the first bytes are the highest
    mask = np.where(rest > 0, _TOP << (np.uint64(64) - np.maximum(rest, np.uint64(1)) * np.uint64(8)), np.uint64(0))
    return np.where(fits, words & mask, np.where(above, _TOP, np.uint64(0)))


# ------------------------------------------------------------------------------------------------------------- curves


def interleaved(axes: Sequence[U64], bits: int) -> list[U64]:
    """The lowest ``bits`` bits of all axes in turn, the highest first, as words of 64 bits.

    >>> [hex(word) for word in interleaved([np.array([0b11], np.uint64), np.array([0b01], np.uint64)], 2)[0]]
    ['0xb000000000000000']
    """
    words: list[U64] = []
    for number in range(bits * len(axes)):
        bit, axis = divmod(number, len(axes))
        if number % _WORD == 0:
            words.append(np.zeros(len(axes[0]), np.uint64))
        value = (axes[axis] >> np.uint64(bits - 1 - bit)) & np.uint64(1)
        words[-1] |= value << np.uint64(_WORD - 1 - number % _WORD)
    return words


def hilbert_axes(axes: Sequence[U64], bits: int) -> list[U64]:
    """Coordinates turned so that, interleaved, they are the place on Hilbert's curve (after J. Skilling, 2004)."""
    turned = [axis.copy() for axis in axes]
    last = len(turned) - 1
    for bit in range(bits - 1, 0, -1):
        one, below = np.uint64(1 << bit), np.uint64((1 << bit) - 1)
        for i in range(len(turned)):
            inverts = (turned[i] & one) != 0
            swap = np.where(inverts, np.uint64(0), (turned[0] ^ turned[i]) & below)
            turned[0] ^= np.where(inverts, below, swap)
            if i:
                turned[i] ^= swap
    for i in range(1, len(turned)):
        turned[i] ^= turned[i - 1]
    gray = np.zeros(len(turned[0]), np.uint64)
    for bit in range(bits - 1, 0, -1):
        gray ^= np.where((turned[last] & np.uint64(1 << bit)) != 0, np.uint64((1 << bit) - 1), np.uint64(0))
    return [axis ^ gray for axis in turned]
