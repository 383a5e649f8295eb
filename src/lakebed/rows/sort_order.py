"""The order of rows in a sorted compaction of an append table: by columns in turn, or along a curve.

``order`` sorts by the first column, then by the next. ``zorder`` and ``hilbert`` treat all columns alike: rows with
near values in any column are stored near each other, so that a condition on any of them skips files. For this, every
column becomes a 16-bit number: the position of the value among the quantiles of a sample, so that no column dominates
because its values are larger. The numbers of a row become its position on the curve. Nulls come first. An
unrepresentative sample only makes the files less even; the result is never wrong.
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
    """A strategy and the columns to sort by."""

    strategy: str
    columns: tuple[str, ...]

    @staticmethod
    def of(schema: TableSchema, strategy: str, columns: Sequence[str], *, where: str) -> SortOrder:
        """The order of these columns, or an error if the table cannot be sorted so."""
        if strategy not in STRATEGIES:
            raise OptionError(f"unknown sort strategy {strategy!r}; use one of {', '.join(STRATEGIES)}")
        if schema.primary_keys or TableOptions(schema.options).bucket > 0:
            raise UnsupportedError(
                f"{where}: only append tables without buckets are sorted by a compaction; "
                "leave out the columns to sort by"
            )
        if not columns:
            raise OptionError(f"{where}: name at least one column to sort by")
        for name in columns:
            if name not in schema.field_names:
                raise NotFoundError(unknown_name("column", name, schema.field_names, where=where))
            if name in schema.partition_keys:
                raise OptionError(
                    f"{where}: {name!r} is a partition column, and files never mix partitions; leave it out"
                )
            if not isinstance(schema.field(name).type, Atomic):
                raise UnsupportedError(f"{where}: {name!r} is nested, and nested values cannot be sorted; leave it out")
        if len(set(columns)) < len(columns):
            raise OptionError(f"{where}: columns to sort by are named more than once: {', '.join(columns)}")
        return SortOrder(strategy, tuple(columns))


@dataclass(frozen=True, slots=True)
class Sorter:
    """Sorts rows. Curves need quantiles of the values, which come from a sample."""

    order: SortOrder
    scales: tuple[Scale, ...] = ()

    @staticmethod
    def of(order: SortOrder, sample: pa.Table) -> Sorter:
        if order.strategy == "order":
            return Sorter(order)
        return Sorter(order, tuple(Scale.of(sample[name]) for name in order.columns))

    @property
    def keys(self) -> list[str]:
        """The columns that :meth:`with_keys` adds, to sort by in turn."""
        if self.order.strategy == "order":
            return list(self.order.columns)
        return [f"{_KEY}{i}" for i in range(-(-len(self.scales) * BITS // _WORD))]

    def with_keys(self, rows: pa.Table) -> pa.Table:
        """Return the rows with the columns to sort by."""
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
        """Sort rows that have their keys."""
        return rows.take(pa.array(order_by_key([rows[key] for key in self.keys]).rows))

    def cuts(self, sample: pa.Table, ranges: int) -> pa.Table:
        """Return keys that divide the order into ranges of about the same size, judged by the sample."""
        ordered = self.sorted(self.with_keys(sample)).select(self.keys)
        at = np.unique(np.arange(1, ranges) * len(ordered) // ranges)
        return ordered.take(pa.array(at, pa.int64()))

    def range_of(self, rows: pa.Table, cuts: pa.Table) -> npt.NDArray[np.int32]:
        """Return the number of the range of each row; a row that equals a cut belongs to the range after it."""
        both = pa.concat_tables([self.with_keys(rows).select(self.keys), cuts])
        ranks = ranks_of([column.combine_chunks() for column in both.columns])
        return np.searchsorted(ranks[len(rows) :], ranks[: len(rows)], side="right").astype(np.int32)


# ------------------------------------------------------------------------------------------------- columns as numbers


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps the values of a column to 16-bit numbers of the same order: positions among quantiles.

    ``prefix`` is the common prefix of all texts of the sample. It does not help to distinguish them.
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
        """Return the number of each value; only nulls have 0."""
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
    """Return numbers in the order of the values. Near values may get equal numbers; nulls get arbitrary ones."""
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
    """Return the eight bytes after the prefix; texts without the prefix are below or above all texts that have it."""
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
