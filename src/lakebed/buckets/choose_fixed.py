"""Computes the buckets of rows in a table with a fixed number of buckets (``bucket`` > 0), a batch at a time.

``bucket-function.type`` chooses among ``default`` (row hash, Java remainder, absolute value), ``mod`` (one INT or
BIGINT key, floor modulus) and ``hive`` (Hive's own hash). All writers of a table must agree, so
types that a function does not support raise an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import DataError, OptionError, unknown_name
from lakebed.format.binary_row import aligned_batches, conform, fixed_values, text_values
from lakebed.format.murmur import hash_rows
from lakebed.format.types.data_types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, Atomic, DataType

_CHUNK_ROWS: Final = 65_536

_Columns: TypeAlias = Sequence[pa.Array | pa.ChunkedArray]
_Buckets: TypeAlias = npt.NDArray[np.int32]
_U32: TypeAlias = npt.NDArray[np.uint32]


def bucket_of_rows(
    columns: _Columns, types: Sequence[DataType], num_buckets: int, function: str = "default"
) -> _Buckets:
    """Returns the bucket of each row, given the columns of the bucket key.

    >>> bucket_of_rows([pa.array([0, 1, -1], pa.int32())], [Atomic("INT")], 4).tolist()
    [3, 2, 3]
    """
    if not 1 <= num_buckets <= np.iinfo(np.int32).max:
        raise OptionError(f"a fixed number of buckets must be positive, got {num_buckets}; set option 'bucket'")
    if function not in _FUNCTIONS:
        raise OptionError(unknown_name("bucket function", function, _FUNCTIONS, where="option bucket-function.type"))
    if len(columns) != len(types):
        raise DataError(f"got {len(columns)} columns for {len(types)} bucket keys; give one column per key")
    if not types:
        raise OptionError("a table with fixed buckets needs a bucket key; set option 'bucket-key' or a primary key")
    for data_type in types:
        if not isinstance(data_type, Atomic):
            raise OptionError(f"a column of type {data_type} cannot be a bucket key; choose another 'bucket-key'")
    return _FUNCTIONS[function](columns, types, num_buckets)


def _default(columns: _Columns, types: Sequence[DataType], num_buckets: int) -> _Buckets:
    # fmod is the remainder with the sign of the dividend, as in Java; its absolute value cannot overflow
    return np.abs(np.fmod(hash_rows(columns, types), np.int32(num_buckets)))


def _mod(columns: _Columns, types: Sequence[DataType], num_buckets: int) -> _Buckets:
    roots = [kind.root if isinstance(kind, Atomic) else str(kind) for kind in types]
    if roots not in (["INT"], ["BIGINT"]):
        raise OptionError(
            f"bucket function 'mod' needs exactly one bucket key of type INT or BIGINT, not ({', '.join(roots)}); "
            "change 'bucket-key' or 'bucket-function.type'"
        )
    dtype = np.int32 if roots == ["INT"] else np.int64
    out = np.empty(len(columns[0]), np.int32)
    done = 0
    for (array,) in aligned_batches(columns, _CHUNK_ROWS):
        # a null counts as 0
        values = fixed_values(conform(array, types[0]).fill_null(0), dtype)
        out[done : done + len(values)] = np.mod(values, num_buckets)
        done += len(values)
    return out


def _hive(columns: _Columns, types: Sequence[DataType], num_buckets: int) -> _Buckets:
    for data_type in types:
        if isinstance(data_type, Atomic) and data_type.root in TIMESTAMP_ROOTS:
            raise OptionError(
                f"bucket function 'hive' has no hash for type {data_type}; "
                "change 'bucket-key' or 'bucket-function.type'"
            )
    chunks = [np.zeros(0, np.uint32)]
    for arrays in aligned_batches(columns, _CHUNK_ROWS):
        state = np.zeros(len(arrays[0]), np.uint32)
        for array, data_type in zip(arrays, types, strict=True):
            state = state * np.uint32(31) + _hive_hash(conform(array, data_type), data_type)
        chunks.append(state)
    return ((np.concatenate(chunks) & np.uint32(0x7FFF_FFFF)) % np.uint32(num_buckets)).astype(np.int32)


_FUNCTIONS: Final[dict[str, Callable[[_Columns, Sequence[DataType], int], _Buckets]]] = {
    "default": _default,
    "mod": _mod,
    "hive": _hive,
}


# --------------------------------------------------------------------------------------------------- Hive's hash

_INTS: Final[dict[str, type[Any]]] = {
    "TINYINT": np.int8,
    "SMALLINT": np.int16,
    "INT": np.int32,
    "DATE": np.int32,
    "TIME": np.int32,
}


def _hive_hash(array: pa.Array, data_type: DataType) -> _U32:
    """Returns the hash of Hive for every value; 0 for null."""
    hashes = _hive_values(array, data_type)
    if array.null_count:
        hashes = np.where(array.is_null().to_numpy(zero_copy_only=False), np.uint32(0), hashes)
    return hashes


def _hive_values(array: pa.Array, data_type: DataType) -> _U32:
    root = data_type.root if isinstance(data_type, Atomic) else ""
    if root in _INTS:
        return fixed_values(array, _INTS[root]).astype(np.int32).view(np.uint32)
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        return _hive_text(array)
    if root == "BOOLEAN":
        return np.asarray(array.cast(pa.uint8()).fill_null(0), np.uint32)
    if root == "BIGINT":
        return _folded(fixed_values(array, np.uint64))
    if root == "FLOAT":
        return _java_bits(fixed_values(array, np.float32), np.uint32, 0x7FC0_0000)
    if root == "DOUBLE":
        return _folded(_java_bits(fixed_values(array, np.float64), np.uint64, 0x7FF8_0000_0000_0000))
    return _hive_decimal(fixed_values(array, np.uint32, per_row=4), array.type.scale)


def _folded(values: npt.NDArray[np.uint64]) -> _U32:
    return (values ^ values >> np.uint64(32)).astype(np.uint32)


def _java_bits(values: npt.NDArray[Any], unsigned: type[Any], nan: int) -> npt.NDArray[Any]:
    """Returns the bits of floats as Java hashes them, with one zero and one NaN."""
    bits = np.where(values == 0, unsigned(0), values.view(unsigned))
    out: npt.NDArray[Any] = np.where(np.isnan(values), unsigned(nan), bits)
    return out


def _hive_text(array: pa.Array) -> _U32:
    """``31 * h + byte`` over signed bytes: each byte times the power of 31 of its distance from the end."""
    starts, lengths, data = text_values(array)
    powers = np.full(int(lengths.max(initial=0)) + 1, 31, np.uint32)
    powers[0] = 1
    powers = np.cumprod(powers, dtype=np.uint32)
    begins = np.cumsum(lengths) - lengths
    position = np.arange(int(lengths.sum())) - np.repeat(begins, lengths)
    signed = data[np.repeat(starts, lengths) + position].view(np.int8).astype(np.int32).view(np.uint32)
    sums = np.zeros(len(signed) + 1, np.uint32)
    np.cumsum(signed * powers[np.repeat(lengths, lengths) - 1 - position], dtype=np.uint32, out=sums[1:])
    hashes: _U32 = sums[begins + lengths] - sums[begins]
    return hashes


def _hive_decimal(limbs: npt.NDArray[np.uint32], scale: int) -> _U32:
    """``BigDecimal.hashCode`` without trailing zeros: ``31 * hash(unscaled) + scale``; ``limbs`` little end first."""
    negative = limbs[:, 3] >> np.uint32(31) == 1
    magnitude = _absolute(limbs.astype(np.uint64), negative)
    scales = np.full(len(limbs), scale, np.int64)
    scales[~magnitude.any(axis=1)] = 0
    rows = np.flatnonzero(scales)
    while rows.size:
        quotient, rest = _divided_by_ten(magnitude[rows])
        even = rest == 0
        rows = rows[even]
        magnitude[rows] = quotient[even]
        scales[rows] -= 1
        rows = rows[scales[rows] > 0]
    hashes = np.zeros(len(limbs), np.uint32)
    for limb in (3, 2, 1, 0):
        hashes = hashes * np.uint32(31) + magnitude[:, limb].astype(np.uint32)
    hashes = np.where(negative, -hashes, hashes)
    return hashes * np.uint32(31) + scales.astype(np.uint32)


def _absolute(limbs: npt.NDArray[np.uint64], negative: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    mask = np.uint64(0xFFFF_FFFF)
    flipped = np.where(negative[:, None], limbs ^ mask, limbs)
    carry = negative.astype(np.uint64)
    for limb in range(4):
        total = flipped[:, limb] + carry
        flipped[:, limb] = total & mask
        carry = total >> np.uint64(32)
    return flipped


def _divided_by_ten(limbs: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    quotient = np.empty_like(limbs)
    rest = np.zeros(len(limbs), np.uint64)
    for limb in (3, 2, 1, 0):
        value = rest << np.uint64(32) | limbs[:, limb]
        quotient[:, limb], rest = np.divmod(value, np.uint64(10))
    return quotient, rest
