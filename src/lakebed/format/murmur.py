"""Paimon's row hash: murmur3_32 with seed 42 over the bytes of a BinaryRow without its arity prefix.

The hash is computed column by column on batches that fit into the CPU cache, without building the bytes of the rows.
The first 8 bytes of a row (row kind and null bits) are hashed too, so null and 0 have different hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import DataError
from lakebed.format.binary_row import RowParts, Variable, row_parts
from lakebed.format.types.data_types import DataType

_CHUNK_ROWS: Final = 65_536
_SEED: Final = 42
_C1: Final = 0xCC9E2D51
_C2: Final = 0x1B873593
_ADD: Final = 0xE6546B64
_F1: Final = 0x85EBCA6B
_F2: Final = 0xC2B2AE35
_MASK: Final = 0xFFFF_FFFF

_U32: TypeAlias = npt.NDArray[np.uint32]


def hash_rows(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType], *, compact_nulls: bool = False
) -> npt.NDArray[np.int32]:
    """Returns the hash of each row. ``compact_nulls`` as in :func:`lakebed.format.binary_row.encode_rows`.

    >>> import pyarrow as pa
    >>> from lakebed.format.types.data_types import Atomic
    >>> hash_rows([pa.array([0, 1, None], pa.int32())], [Atomic("INT")]).tolist()
    [-300363099, 1465514398, -1748325344]
    """
    out = np.empty(len(columns[0]) if columns else 0, np.uint32)
    scratch = np.empty((2, min(len(out), _CHUNK_ROWS)), np.uint32)
    done = 0
    for parts in row_parts(columns, types, chunk_rows=_CHUNK_ROWS, compact_nulls=compact_nulls):
        _hash_batch(parts, out[done : done + parts.rows], scratch[:, : parts.rows])
        done += parts.rows
    return out.view(np.int32)


def hash_bytes(data: bytes) -> int:
    """Returns the hash of one row's bytes, given without the arity prefix.

    >>> hash_bytes(bytes.fromhex("00000000000000000100000000000000"))
    1465514398
    """
    if len(data) % 4:
        raise DataError(f"the bytes of a row are whole 4-byte words, but there are {len(data)} bytes")
    state = _SEED
    for word in np.frombuffer(data, "<u4").tolist():
        k = word * _C1 & _MASK
        k = (k << 15 | k >> 17) * _C2 & _MASK
        state ^= k
        state = ((state << 13 | state >> 19) * 5 + _ADD) & _MASK
    state ^= len(data)
    state = (state ^ state >> 16) * _F1 & _MASK
    state = (state ^ state >> 13) * _F2 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _hash_batch(parts: RowParts, state: _U32, scratch: _U32) -> None:
    state.fill(_SEED)
    for word in [*parts.null_words, *parts.slots]:
        if word is None:
            _advance(state, scratch[1])
            _advance(state, scratch[1])
        else:
            _mix_pair(state, word, scratch)
    size: npt.NDArray[np.int64] | int = parts.fixed_size
    for variable in parts.variables:
        _mix_variable(state, variable, scratch)
        size = variable.words * 8 + size
    state ^= np.asarray(size).astype(np.uint32)
    _finish(state, scratch[0])


def _mix_variable(state: _U32, variable: Variable, scratch: _U32) -> None:
    """Hashes the variable part of one column, word by word; each step covers the rows that have such a word."""
    words = variable.words
    index = 0
    if words.min() > 0:
        _mix_pair(state, variable.gather(slice(None), 0), scratch)
        index = 1
    rows = np.flatnonzero(words > index)
    while rows.size:
        part = state[rows]
        _mix_pair(part, variable.gather(rows, index), scratch[:, : rows.size])
        state[rows] = part
        index += 1
        rows = rows[words[rows] > index]


def _mix_pair(state: _U32, words: npt.NDArray[np.uint64], scratch: _U32) -> None:
    """Hashes 8 bytes of every row: the low half, then the high half."""
    halves = words.view(np.uint32)
    k, other = scratch
    for half in (halves[0::2], halves[1::2]):
        np.multiply(half, np.uint32(_C1), out=k)
        np.left_shift(k, np.uint32(15), out=other)
        np.right_shift(k, np.uint32(17), out=k)
        np.bitwise_or(k, other, out=k)
        np.multiply(k, np.uint32(_C2), out=k)
        np.bitwise_xor(state, k, out=state)
        _advance(state, other)


def _advance(state: _U32, other: _U32) -> None:
    """The step after each word; a word of zeros is only this step."""
    np.left_shift(state, np.uint32(13), out=other)
    np.right_shift(state, np.uint32(19), out=state)
    np.bitwise_or(state, other, out=state)
    np.multiply(state, np.uint32(5), out=state)
    np.add(state, np.uint32(_ADD), out=state)


def _finish(state: _U32, other: _U32) -> None:
    for shift, factor in ((16, _F1), (13, _F2)):
        np.right_shift(state, np.uint32(shift), out=other)
        np.bitwise_xor(state, other, out=state)
        np.multiply(state, np.uint32(factor), out=state)
    np.right_shift(state, np.uint32(16), out=other)
    np.bitwise_xor(state, other, out=state)
