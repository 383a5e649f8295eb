"""BinaryRow: Paimon's row bytes, encoded from and decoded to Arrow columns a batch at a time.

A row is ``null bits | one 8-byte slot per field | variable part``, little-endian, and on disk carries its arity before
it as 4 big-endian bytes. Fixed-width values and strings of up to 7 bytes live in their slot; longer strings, DECIMAL
with precision > 18 and TIMESTAMP with precision > 3 live in the variable part, in pieces of whole 8-byte words.

The bytes are canonical (zero padding, no gaps), because rows are compared and hashed as bytes. There is no Python loop
over rows. Bytes that cannot be decoded raise :class:`CorruptError`. ARRAY, MAP and ROW fields can only be null, because
keys, partitions and statistics have no other values of these types.

Null DECIMAL(p > 18) and TIMESTAMP(p > 3) have two encodings. Java keeps 16 or 8 zero bytes in the variable part and
their offset in the slot; pypaimon writes a zero slot and no bytes. Lakebed writes the encoding of Java, or that of
pypaimon with ``compact_nulls``, and decodes both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import CorruptError, DataError, UnsupportedError
from lakebed.format.types.data_types import BINARY_ROOTS, STRING_ROOTS, TIMESTAMP_ROOTS, Atomic, DataType, to_arrow

EMPTY_ROW: Final = bytes(12)
"""The row without fields: ``_PARTITION`` of an unpartitioned table, and min and max of empty statistics."""

U8: TypeAlias = npt.NDArray[np.uint8]
U64: TypeAlias = npt.NDArray[np.uint64]
I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_ENCODE_ROWS: Final = 16_384
_INLINE: Final = 7
_LOW_BYTES: Final = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
_LOW_32: Final = np.uint64(0xFFFF_FFFF)
_32: Final = np.uint64(32)
_56: Final = np.uint64(56)
_NUMPY_OF: Final[dict[str, tuple[type[Any], type[Any]]]] = {
    # root: (type in Arrow's buffer, the unsigned type of the same width that goes into the slot)
    "TINYINT": (np.int8, np.uint8),
    "SMALLINT": (np.int16, np.uint16),
    "INT": (np.int32, np.uint32),
    "DATE": (np.int32, np.uint32),
    "TIME": (np.int32, np.uint32),
    "BIGINT": (np.int64, np.uint64),
    "FLOAT": (np.float32, np.uint32),
    "DOUBLE": (np.float64, np.uint64),
}


# ------------------------------------------------------------------------------------------------ parts of rows


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable part of one column: for each row ``lengths`` bytes of ``data``, padded to ``words``."""

    words: I64
    starts: I64
    lengths: I64
    data: U8

    def gather(self, rows: I64 | slice, word: I64 | int) -> U64:
        """Returns the given 8-byte word of the given rows, zero beyond their length."""
        skip = np.multiply(word, 8)
        values = unaligned_words(self.data)[self.starts[rows] + skip]
        left = self.lengths[rows] - skip
        if left.size and left.min() < 8:
            values &= _LOW_BYTES[np.clip(left, 0, 8)]
        return values


@dataclass(frozen=True, slots=True)
class RowParts:
    """A batch of rows by column: all parts of their bytes, in order."""

    rows: int
    null_words: list[U64 | None]  # None: no nulls among the fields of that word
    slots: list[U64]
    variables: list[Variable]

    @property
    def fixed_size(self) -> int:
        return 8 * (len(self.null_words) + len(self.slots))


@dataclass(frozen=True, slots=True)
class _Column:
    slots: U64  # without the offset of the variable part
    nulls: Bools | None
    variable: Variable | None = None


def _null_word_count(arity: int) -> int:
    """Returns the number of 8-byte words of the null bits; the first byte is the row kind."""
    return (arity + 8 + 63) // 64


def unaligned_words(data: U8) -> U64:
    """Returns every 8-byte window of some bytes as a little-endian number: element i starts at byte i."""
    return np.ndarray((len(data) - 7,), np.dtype("<u8"), buffer=data.data, strides=(1,))


def row_parts(
    columns: Sequence[pa.Array | pa.ChunkedArray],
    types: Sequence[DataType],
    *,
    chunk_rows: int,
    compact_nulls: bool = False,
) -> Iterator[RowParts]:
    """Yields the parts of all rows, at most ``chunk_rows`` at a time."""
    if len(columns) != len(types):
        raise DataError(f"got {len(columns)} columns for {len(types)} types; give one column per type")
    for arrays in aligned_batches(columns, chunk_rows):
        yield _batch_parts(
            [_column(array, kind, compact_nulls) for array, kind in zip(arrays, types, strict=True)], len(arrays[0])
        )


def aligned_batches(columns: Sequence[pa.Array | pa.ChunkedArray], chunk_rows: int) -> Iterator[list[pa.Array]]:
    """Yields the columns in batches that are cut at the same rows."""
    if not columns:
        return
    try:
        table = pa.Table.from_arrays(list(columns), names=[str(i) for i in range(len(columns))])
    except pa.ArrowInvalid as error:
        raise DataError(f"the columns of a row must have the same number of rows: {error}") from None
    if max(column.num_chunks for column in table.columns) > 1 + table.num_rows // 4096:
        table = table.combine_chunks()  # many tiny chunks cost more than one copy
    for batch in table.to_batches(max_chunksize=chunk_rows):
        if batch.num_rows:
            yield batch.columns


def _batch_parts(columns: list[_Column], rows: int) -> RowParts:
    null_words: list[U64 | None] = [None] * _null_word_count(len(columns))
    slots: list[U64] = []
    variables: list[Variable] = []
    offset = np.full(rows, 8 * (len(null_words) + len(columns)), np.int64)
    for i, column in enumerate(columns):
        if column.nulls is not None:
            word, bit = divmod(i + 8, 64)
            bits = column.nulls.astype(np.uint64) << np.uint64(bit)
            known = null_words[word]
            null_words[word] = bits if known is None else known | bits
        if column.variable is None:
            slots.append(column.slots)
            continue
        words = column.variable.words
        slots.append(column.slots | np.where(words > 0, offset, 0).astype(np.uint64) << _32)
        variables.append(column.variable)
        offset += words * 8
    return RowParts(rows, null_words, slots, variables)


# ---------------------------------------------------------------------------------------------- Arrow to parts


def _column(array: pa.Array, data_type: DataType, compact_nulls: bool) -> _Column:
    array = conform(array, data_type)
    nulls: Bools | None = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if not isinstance(data_type, Atomic):
        return _Column(np.zeros(len(array), np.uint64), nulls)
    root, params = data_type.root, data_type.params
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        return _text_column(array, nulls)
    if root == "DECIMAL":
        halves = fixed_values(array, np.uint64, per_row=2)
        if params[0] > 18:
            return _wide_decimal_column(halves, nulls, compact_nulls)
        return _Column(_zeroed(np.ascontiguousarray(halves[:, 0]), nulls), nulls)
    if root in TIMESTAMP_ROOTS:
        values = fixed_values(array, np.int64)
        if params[0] > 3:
            return _split_timestamp_column(values, nulls, params[0], compact_nulls)
        return _Column(_zeroed(values.view(np.uint64), nulls), nulls)
    if root == "BOOLEAN":
        truth = np.asarray(array.cast(pa.uint8()).fill_null(0), np.uint64)
        return _Column(truth, nulls)
    stored, unsigned = _NUMPY_OF[root]
    return _Column(_zeroed(fixed_values(array, stored).view(unsigned).astype(np.uint64, copy=False), nulls), nulls)


def conform(array: pa.Array, data_type: DataType) -> pa.Array:
    """Returns the array with exactly the Arrow type of ``data_type``; only casts that keep every value are made."""
    wanted = to_arrow(data_type)
    given = array.type
    if not isinstance(data_type, Atomic):
        if array.null_count != len(array):
            raise UnsupportedError(f"a {data_type} value cannot be part of a key, a partition or statistics")
        return array
    if given == wanted:
        return array
    if pa.types.is_null(given):
        return pa.nulls(len(array), wanted)
    if pa.types.is_dictionary(given):
        return conform(array.dictionary_decode(), data_type)
    if _same_values(given, wanted):
        return array.cast(wanted)
    raise DataError(f"a column of type {data_type} needs Arrow type {wanted}, not {given}; cast the column first")


def _same_values(given: pa.DataType, wanted: pa.DataType) -> bool:
    if wanted == pa.string():
        return given in (pa.large_string(), pa.string_view())
    if wanted == pa.binary():
        return given in (pa.large_binary(), pa.binary_view()) or pa.types.is_fixed_size_binary(given)
    if pa.types.is_decimal(wanted) and pa.types.is_decimal(given):
        return bool((given.precision, given.scale) == (wanted.precision, wanted.scale))
    return False


def fixed_values(array: pa.Array, dtype: type[Any], *, per_row: int = 1) -> npt.NDArray[Any]:
    """Returns the values of a fixed-width array without a copy; where the array is null they are arbitrary."""
    item = np.dtype(dtype).itemsize * per_row
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        flat = np.zeros(len(array) * per_row, dtype)
    else:
        flat = np.frombuffer(buffer, dtype, count=len(array) * per_row, offset=array.offset * item)
    return flat if per_row == 1 else flat.reshape(-1, per_row)


def text_values(array: pa.Array) -> tuple[I64, I64, U8]:
    """Returns starts, lengths and bytes of a string or binary array.

    Nulls have length 0; 8 more bytes follow at the end.
    """
    _, offsets_buffer, data_buffer = array.buffers()
    if offsets_buffer is None or not len(array):
        return np.zeros(len(array), np.int64), np.zeros(len(array), np.int64), np.zeros(8, np.uint8)
    offsets = np.frombuffer(offsets_buffer, np.int32, count=len(array) + 1, offset=array.offset * 4).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros(last - first + 8, np.uint8)
    if last > first:
        data[:-8] = np.frombuffer(data_buffer, np.uint8, count=last - first, offset=first)
    lengths = np.diff(offsets)
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return offsets[:-1] - first, lengths, data


def _zeroed(slots: U64, nulls: Bools | None) -> U64:
    return slots if nulls is None else np.where(nulls, np.uint64(0), slots)


def _text_column(array: pa.Array, nulls: Bools | None) -> _Column:
    starts, lengths, data = text_values(array)
    long = lengths > _INLINE
    any_long, all_long = bool(long.any()), bool(long.all())
    slots = lengths.astype(np.uint64)
    if not all_long:
        head = unaligned_words(data)[starts] & _LOW_BYTES[np.minimum(lengths, _INLINE)]
        head |= (slots | np.uint64(0x80)) << _56
        slots = np.where(long, slots, head) if any_long else head
    words = lengths + 7 >> 3
    if not all_long:
        words[~long] = 0
    variable = Variable(words, starts, lengths, data) if any_long else None
    return _Column(_zeroed(slots, nulls), nulls, variable)


def _padded(matrix: npt.NDArray[Any], nulls: Bools | None, compact_nulls: bool) -> Variable:
    """Returns a variable part with the same number of words in every row, except where compact nulls have none."""
    rows, width = len(matrix), matrix.itemsize * matrix.shape[1]
    words = np.full(rows, width // 8, np.int64)
    if nulls is not None and compact_nulls:
        words[nulls] = 0
    data = np.concatenate([np.ascontiguousarray(matrix).view(np.uint8).ravel(), np.zeros(8, np.uint8)])
    return Variable(words, np.arange(rows, dtype=np.int64) * width, np.full(rows, width, np.int64), data)


def _wide_decimal_column(halves: U64, nulls: Bools | None, compact_nulls: bool) -> _Column:
    """Minimal big-endian two's complement of a 128-bit number, at the front of 16 bytes."""
    if nulls is not None:
        halves = np.where(nulls[:, None], np.uint64(0), halves)
    big = np.ascontiguousarray(halves).view(np.uint8)[:, ::-1]
    magnitude = big ^ np.where(big[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    first = np.argmax(magnitude != 0, axis=1)
    lead = np.take_along_axis(magnitude, first[:, None], axis=1)[:, 0]
    # one more byte if the first significant bit would be read as the sign; 0 and -1 need one byte
    lengths = np.where(lead == 0, 1, 16 - first + (lead >= 0x80))
    source = np.arange(16) + (16 - lengths)[:, None]
    shifted = np.where(source < 16, np.take_along_axis(big, np.minimum(source, 15), axis=1), np.uint8(0))
    return _Column(_zeroed(lengths.astype(np.uint64), nulls), nulls, _padded(shifted, nulls, compact_nulls))


def _split_timestamp_column(values: I64, nulls: Bools | None, precision: int, compact_nulls: bool) -> _Column:
    per_milli, nanos_per = (1000, 1000) if precision <= 6 else (1_000_000, 1)
    if nulls is not None:
        values = np.where(nulls, 0, values)
    millis = values // per_milli
    nanos = ((values - millis * per_milli) * nanos_per).astype(np.uint64)
    return _Column(nanos, nulls, _padded(millis.reshape(-1, 1), nulls, compact_nulls))


# ------------------------------------------------------------------------------------------------------ encode


def encode_rows(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType], *, compact_nulls: bool = False
) -> pa.BinaryArray:
    """Returns the bytes of each row, arity prefix included. Without columns there are no rows: use ``EMPTY_ROW``."""
    parts = row_parts(columns, types, chunk_rows=_ENCODE_ROWS, compact_nulls=compact_nulls)
    chunks = [_encode_batch(batch) for batch in parts]
    if not chunks:
        return pa.array([], pa.binary())
    try:
        return pa.concat_arrays(chunks) if len(chunks) > 1 else chunks[0]
    except pa.ArrowInvalid:
        raise _too_large() from None


def encode_row(values: Sequence[object], types: Sequence[DataType], *, compact_nulls: bool = False) -> bytes:
    """Returns the bytes of one row of Python values, arity prefix included.

    >>> from lakebed.format.types.data_types import Atomic
    >>> encode_row([1, "a"], [Atomic("INT"), Atomic("STRING")]).hex()
    '00000002000000000000000001000000000000006100000000000081'
    """
    return encode_few_rows([values], types, compact_nulls=compact_nulls)[0]


def encode_few_rows(
    rows: Sequence[Sequence[object]], types: Sequence[DataType], *, compact_nulls: bool = False
) -> list[bytes]:
    """Returns the bytes of a few rows of Python values; two rows cost little more than one."""
    for values in rows:
        if len(values) != len(types):
            raise DataError(f"got {len(values)} values for {len(types)} types; give one value per type")
    if not types:
        return [EMPTY_ROW] * len(rows)
    try:
        columns = [pa.array(values, to_arrow(kind)) for *values, kind in zip(*rows, types, strict=True)]
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        names, shown = ", ".join(map(str, types)), " and ".join(repr(tuple(values)) for values in rows)
        raise DataError(f"the values {shown} do not fit the types ({names}): {error}") from error
    encoded: list[bytes] = encode_rows(columns, types, compact_nulls=compact_nulls).to_pylist()
    return encoded


def _encode_batch(parts: RowParts) -> pa.BinaryArray:
    rows, arity = parts.rows, len(parts.slots)
    fixed = np.zeros((rows, len(parts.null_words) + arity), np.uint64)
    for i, word in enumerate([*parts.null_words, *parts.slots]):
        if word is not None:
            fixed[:, i] = word
    head = np.empty((rows, 1 + 2 * fixed.shape[1]), np.uint32)
    head[:, 0] = np.array([arity], ">u4").view("<u4")
    head[:, 1:] = fixed.view(np.uint32)

    # All lengths are multiples of 4 from here, so the output is an array of 4-byte words.
    sizes = np.full(rows, head.shape[1], np.int64)
    for variable in parts.variables:
        sizes += 2 * variable.words
    ends = np.cumsum(sizes)
    if ends[-1] * 4 > np.iinfo(np.int32).max:
        raise _too_large()
    if parts.variables:
        out = np.empty(ends[-1], np.uint32)
        position = ends - sizes
        out[position[:, None] + np.arange(head.shape[1])] = head
        position += head.shape[1]
        for variable in parts.variables:
            _scatter(variable, position, out)
            position += 2 * variable.words
    else:
        out = head.ravel()
    offsets = np.zeros(rows + 1, np.int32)
    offsets[1:] = ends * 4
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(out)])


def _scatter(variable: Variable, position: I64, out: npt.NDArray[np.uint32]) -> None:
    """Copies the variable part of one column to its rows; ``position`` counts 4-byte words of ``out``."""
    words = variable.words
    row_of = np.repeat(np.arange(len(words)), words)
    word_of = np.arange(len(row_of)) - np.repeat(np.cumsum(words) - words, words)
    pairs = variable.gather(row_of, word_of).view(np.uint32)
    target = position[row_of] + 2 * word_of
    out[target] = pairs[0::2]
    out[target + 1] = pairs[1::2]


def _too_large() -> DataError:
    return DataError("the encoded rows are larger than 2 GiB; encode fewer rows at a time")


# ------------------------------------------------------------------------------------------------------ decode


@dataclass(frozen=True, slots=True)
class _Rows:
    """Encoded rows as flat bytes.

    ``begins`` is the position of each row after its arity, ``sizes`` its number of bytes.
    """

    begins: I64
    sizes: I64
    data: U8
    arity: int
    where: str

    @property
    def fixed_size(self) -> int:
        return self.slot_at(self.arity)

    def slot_at(self, index: int) -> int:
        return 8 * (_null_word_count(self.arity) + index)

    def word(self, offset: int) -> U64:
        return unaligned_words(self.data)[self.begins + offset]

    def check(self, valid: Bools, what: str) -> None:
        if not valid.all():
            raise CorruptError(f"row {int(np.argmin(valid))} of {self.where} is corrupt: {what}")


def row_arities(rows: pa.BinaryArray | pa.ChunkedArray, *, where: str = "the encoded rows") -> I64:
    """Returns the number of fields of each encoded row; -1 where there is no row (null, or no byte at all)."""
    starts, lengths, data = text_values(_as_binary(rows))
    present = lengths > 0
    if (lengths[present] < len(EMPTY_ROW)).any():
        raise CorruptError(f"{where} hold a row of less than {len(EMPTY_ROW)} bytes; it is truncated")
    arities = (unaligned_words(data)[starts] & _LOW_32).astype(np.uint32).byteswap().astype(np.int64)
    return np.where(present, arities, -1)


def decode_rows(
    rows: pa.BinaryArray | pa.ChunkedArray,
    types: Sequence[DataType],
    *,
    where: str = "the encoded rows",
    overflow_as_null: bool = False,
    only: Sequence[int] | None = None,
) -> list[pa.Array]:
    """Returns one Arrow array per field, or per field of these numbers; ``where`` names the rows in errors.

    Java can store a TIMESTAMP(9) that Arrow's nanoseconds cannot hold (before 1677, after 2262); it is an error
    unless ``overflow_as_null``.
    """
    array = _as_binary(rows)
    if array.null_count:
        raise CorruptError(f"{where} hold nulls; every row must be present")
    starts, lengths, data = text_values(array)
    arities = row_arities(array, where=where)
    table = _Rows(starts + 4, lengths - 4, data, len(types), where)
    table.check(arities == len(types), f"it does not have the {len(types)} fields of the schema")
    table.check((table.sizes >= table.fixed_size) & (table.sizes % 8 == 0), "it is truncated")
    numbers = range(len(types)) if only is None else only
    return [_decode_column(table, i, types[i], overflow_as_null) for i in numbers]


def _as_binary(rows: pa.BinaryArray | pa.ChunkedArray) -> pa.BinaryArray:
    array = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
    return array if array.type == pa.binary() else array.cast(pa.binary())


def _decode_column(rows: _Rows, index: int, data_type: DataType, overflow_as_null: bool) -> pa.Array:
    count = len(rows.begins)
    word, bit = divmod(index + 8, 64)
    nulls: Bools = (rows.word(8 * word) >> np.uint64(bit) & np.uint64(1)).astype(np.bool_)
    arrow = to_arrow(data_type)
    if not isinstance(data_type, Atomic):
        rows.check(nulls, f"field {index} of type {data_type} is not null")
        return pa.nulls(count, arrow)
    if nulls.all():
        return pa.nulls(count, arrow)
    slots = rows.word(rows.slot_at(index))
    root, params = data_type.root, data_type.params
    if root in STRING_ROOTS or root in BINARY_ROOTS:
        return _decode_text(rows, index, slots, nulls, arrow)
    if root == "DECIMAL":
        halves = _wide_decimals(rows, index, slots, nulls) if params[0] > 18 else _sign_extended(slots)
        return _fixed_array(halves, nulls, arrow)
    if root in TIMESTAMP_ROOTS and params[0] > 3:
        values, too_far = _joined_timestamps(rows, index, slots, nulls, params[0])
        if too_far.any() and not overflow_as_null:
            raise UnsupportedError(f"{rows.where} hold a {data_type} beyond the range of Arrow's {arrow}")
        return _fixed_array(values, nulls | too_far, arrow)
    if root == "BOOLEAN":
        return pa.array((slots & np.uint64(0xFF)) != 0, mask=nulls)
    unsigned = np.uint64 if root in TIMESTAMP_ROOTS else _NUMPY_OF[root][1]
    return _fixed_array(slots.astype(unsigned), nulls, arrow)


def _fixed_array(values: npt.NDArray[Any], nulls: Bools, arrow: pa.DataType) -> pa.Array:
    validity = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    return pa.Array.from_buffers(arrow, len(nulls), [validity, pa.py_buffer(np.ascontiguousarray(values))])


def _pointers(rows: _Rows, index: int, slots: U64, present: Bools, lengths: I64) -> I64:
    """Returns where in the data the pieces begin that slots point at; checked to lie inside their rows."""
    offsets = (slots >> _32).astype(np.int64)
    inside = (offsets >= rows.fixed_size) & (offsets + lengths <= rows.sizes)
    rows.check(inside | ~present, f"field {index} points outside of the row")
    return np.where(present, rows.begins + offsets, 0)


def _decode_text(rows: _Rows, index: int, slots: U64, nulls: Bools, arrow: pa.DataType) -> pa.Array:
    inline = (slots >> np.uint64(63)).astype(np.bool_)
    inline_lengths = (slots >> _56 & np.uint64(0x7F)).astype(np.int64)
    rows.check(~inline | nulls | (inline_lengths <= _INLINE), f"field {index} has an impossible length")
    lengths = np.where(inline, inline_lengths, (slots & _LOW_32).astype(np.int64))
    lengths[nulls] = 0
    far = _pointers(rows, index, slots, ~inline & ~nulls, lengths)
    starts = np.where(inline, rows.begins + rows.slot_at(index), far)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    offsets[1:] = np.cumsum(lengths)
    source = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    validity = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(rows.data[source])]
    array = pa.Array.from_buffers(arrow, len(lengths), buffers)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptError(f"field {index} of {rows.where} is not valid text: {error}") from None
    return array


def _sign_extended(slots: U64) -> U64:
    return np.stack([slots, (slots.view(np.int64) >> 63).view(np.uint64)], axis=1)


def _wide_decimals(rows: _Rows, index: int, slots: U64, nulls: Bools) -> U8:
    lengths = (slots & _LOW_32).astype(np.int64)
    rows.check(nulls | ((lengths >= 1) & (lengths <= 16)), f"field {index} has an impossible length")
    lengths[nulls] = 1
    starts = _pointers(rows, index, slots, ~nulls, lengths)
    back = np.arange(16)  # the last byte first, which is Arrow's order
    source = starts[:, None] + np.maximum(lengths[:, None] - 1 - back, 0)
    sign = np.where(rows.data[starts] >= 0x80, np.uint8(0xFF), np.uint8(0))
    return np.where(back < lengths[:, None], rows.data[source], sign[:, None])


def _joined_timestamps(rows: _Rows, index: int, slots: U64, nulls: Bools, precision: int) -> tuple[I64, Bools]:
    """Returns epoch microseconds or nanoseconds, and which of them do not fit into 64 bits."""
    nanos = (slots & _LOW_32).astype(np.int64)
    rows.check(nulls | (nanos < 1_000_000), f"field {index} has more nanoseconds than a millisecond")
    starts = _pointers(rows, index, slots, ~nulls, np.full(len(slots), 8, np.int64))
    millis = unaligned_words(rows.data)[starts].view(np.int64)
    per_milli, nanos_per = (1000, 1000) if precision <= 6 else (1_000_000, 1)
    rest = nanos // nanos_per
    most, most_rest = divmod(np.iinfo(np.int64).max, per_milli)
    least, least_rest = divmod(np.iinfo(np.int64).min, per_milli)
    too_far = (millis > most) | (millis < least)
    too_far |= ((millis == most) & (rest > most_rest)) | ((millis == least) & (rest < least_rest))
    # in the last millisecond of the range the product overflows, and the sum overflows back
    return millis * per_milli + rest, too_far & ~nulls
