"""The rows of one table that another table does not have: a difference of multisets.

Two rows are equal if all their values are: null equals null, NaN equals NaN, lists and maps are compared element by
element in their stored order. Every column becomes numbers that are equal exactly where its values are. The numbers
of a row are packed into one.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_ROOM: Final = 2**62
_NEAR: Final = 2**31


def not_in(rows: pa.Table, others: pa.Table) -> Mask:
    """Return which rows remain when each row of ``others`` removes one equal row. Both tables have the same schema.

    >>> rows = pa.table({"k": [1, 1, 2, None]})
    >>> not_in(rows, pa.table({"k": pa.array([1, None, 7], pa.int64())})).tolist()
    [False, True, True, False]
    """
    if not len(others) or not len(rows):
        return np.ones(len(rows), np.bool_)
    codes = _dense(row_codes(pa.concat_tables([others, rows])))
    theirs, ours = codes[: len(others)], codes[len(others) :]
    taken = np.bincount(theirs, minlength=int(codes.max()) + 1)
    order = np.argsort(ours, kind="stable")
    ordered = ours[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    lengths = np.diff(np.append(starts, len(ordered)))
    rank = np.arange(len(ordered)) - np.repeat(starts, lengths)
    mask = np.empty(len(rows), np.bool_)
    mask[order] = rank >= taken[ordered]
    return mask


def equal_rows(rows: pa.Table, others: pa.Table) -> Mask:
    """Return which rows equal the row at the same position of another table with the same columns.

    >>> equal_rows(pa.table({"k": [1, 2]}), pa.table({"k": [1, 3]})).tolist()
    [True, False]
    """
    same = np.ones(len(rows), np.bool_)
    for name in rows.column_names:
        both = pa.concat_arrays([*rows[name].chunks, *others[name].chunks])
        codes = _codes(both)
        same &= codes[: len(rows)] == codes[len(rows) :]
    return same


def row_codes(table: pa.Table) -> Codes:
    """A number for each row, the same for equal rows."""
    return _packed([_codes(column.combine_chunks()) for column in table.columns], len(table))


def _codes(array: pa.Array | pa.ChunkedArray) -> Codes:
    """A number for each value, the same for equal values; 0 for null."""
    if isinstance(array, pa.ChunkedArray):  # too large for one chunk
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_struct(array.type):
        codes = _packed([_codes(child) for child in array.flatten()], len(array))
    elif pa.types.is_list(array.type) or pa.types.is_map(array.type):
        codes = _list_codes(array)
    else:
        return _value_codes(array)
    return np.where(np.asarray(array.is_valid()), _dense(codes) + 1, 0)


def _value_codes(array: pa.Array) -> Codes:
    """Use whole numbers with a small range as they are; look other values up in a dictionary."""
    if pa.types.is_signed_integer(array.type):
        bounds = pc.min_max(array)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if low is not None and high - low < _NEAR:
            return np.asarray(pc.fill_null(pc.add(pc.subtract(array.cast(pa.int64()), low), 1), 0), np.int64)
    return np.asarray(pc.fill_null(array.dictionary_encode().indices, -1), np.int64) + 1


def _list_codes(array: pa.Array) -> Codes:
    """Lists by the bytes of their elements' codes."""
    lists = _entries(array) if pa.types.is_map(array.type) else array
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    elements = np.ascontiguousarray(_codes(lists.flatten()))
    offsets = np.concatenate(([0], np.cumsum(lengths))) * elements.itemsize
    buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(elements)]
    texts = pa.Array.from_buffers(pa.large_binary(), len(array), buffers)
    return np.asarray(texts.dictionary_encode().indices, np.int64)


def _entries(array: pa.MapArray) -> pa.ListArray:
    """A map as the list of its entries."""
    return array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))


def _packed(columns: list[Codes], count: int) -> Codes:
    """Several numbers per row as one."""
    packed = np.zeros(count, np.int64)
    width = 1
    for column in columns:
        room = int(column.max(initial=0)) + 1
        if width * room >= _ROOM:
            packed = _dense(packed)
            width = int(packed.max(initial=0)) + 1
        packed = packed * room + column
        width *= room
    return packed


def _dense(codes: Codes) -> Codes:
    """Return numbers from 0 on that are equal where the given ones are."""
    return np.asarray(pa.array(codes).dictionary_encode().indices, np.int64)
