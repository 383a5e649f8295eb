"""Numbers that stand for values: by order (to compare columns of any type) and by identity (to group nested values).

Both work on whole arrays and follow Java: strings and bytes compare as unsigned bytes, NaN is the largest number and
equals itself, -0.0 is smaller than 0.0, null is the smallest value and equals null.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.rows.merge_engines.key_history import Bools, Ints, one_array

_INTEGERS_BY_WIDTH = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def order_keys(array: pa.Array) -> Ints:
    """Return an integer for each value, in the order of the values; arbitrary at nulls."""
    kind = array.type
    if pa.types.is_floating(kind):
        return _float_order(array)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        if pa.types.is_temporal(kind):
            array = array.view(_INTEGERS_BY_WIDTH[kind.bit_width])
        return np.asarray(pc.fill_null(array.cast(pa.int64()), 0), np.int64)
    return np.asarray(pc.rank(array, sort_keys="ascending", tiebreaker="dense"), np.int64)


def _float_order(array: pa.Array) -> Ints:
    floats = np.array(pc.fill_null(array, 0))
    floats[np.isnan(floats)] = np.nan
    bits = floats.view(np.int32 if floats.itemsize == 4 else np.int64).astype(np.int64)
    largest = np.int64(2**31 - 1 if floats.itemsize == 4 else 2**63 - 1)
    return np.where(bits < 0, bits ^ largest, bits)


def row_ranks(columns: Sequence[pa.ChunkedArray | pa.Array]) -> Ints:
    """The rank of each row by these columns, compared one after the other: 0 where all are null."""
    ranks = _ranks(one_array(columns[0]))
    for column in columns[1:]:
        ranks = _paired(ranks, _ranks(one_array(column)))
    return ranks


def _ranks(array: pa.Array) -> Ints:
    """Ranks from 1 on, 0 at nulls; always below 2^32, so that two of them fit into one number."""
    keys = order_keys(array)
    low = int(keys.min(initial=0))
    # Dense already, or nearly so: no need to sort.
    ranks = (keys - low if int(keys.max(initial=0)) - low < 2**31 else _dense(keys)) + 1
    if array.null_count:
        ranks[~np.asarray(array.is_valid())] = 0
    return ranks


def _dense(numbers: Ints) -> Ints:
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _paired(left: Ints, right: Ints) -> Ints:
    """Return dense ranks of pairs; (0, 0) stays 0 if it occurs, and everything else is above it."""
    pairs = left * (right.max(initial=0) + 1) + right
    ranks = _dense(pairs)
    return ranks if (pairs == 0).any() else ranks + 1


def identity_codes(array: pa.Array) -> Ints:
    """The same number for equal values and different ones for others, nested values included; 0 for null."""
    kind = array.type
    if pa.types.is_struct(kind):
        codes = np.zeros(len(array), np.int64)
        for position in range(kind.num_fields):
            codes = _paired(codes, identity_codes(array.field(position)))
    elif pa.types.is_map(kind):
        codes = _map_codes(array)
    elif pa.types.is_list(kind):
        codes = _sequence_codes(np.asarray(array.offsets, np.int64), identity_codes(array.values))
    else:
        return _ranks(array)
    return _with_nulls(codes + 1, array)


def _with_nulls(codes: Ints, array: pa.Array) -> Ints:
    if array.null_count:
        codes[~np.asarray(array.is_valid())] = 0
    return codes


def _map_codes(array: pa.Array) -> Ints:
    """Maps are equal if they hold the same entries, in any order."""
    offsets = np.asarray(array.offsets, np.int64)
    span = slice(int(offsets[0]), int(offsets[-1]))
    owners = np.repeat(np.arange(len(array)), np.diff(offsets))
    keys = identity_codes(array.keys)[span]
    entries = _paired(keys, identity_codes(array.items)[span])
    return _sequence_codes(offsets - offsets[0], entries[np.lexsort((keys, owners))])


def _sequence_codes(offsets: Ints, items: Ints) -> Ints:
    """Return numbers for runs of items, in one pass per position of the longest run."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    codes = np.zeros(len(lengths), np.int64)
    for position in range(int(lengths.max(initial=0))):
        longer: Bools = lengths > position
        codes[longer] = _paired(codes[longer], items[starts[longer] + position])
    # Numbers of runs that ended earlier may coincide: runs of different lengths are never equal.
    return _paired(codes, lengths)
