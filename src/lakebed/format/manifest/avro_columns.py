"""Encodes Arrow columns as Avro records, a column at a time, without a Python object per record.

The bytes of a record are the bytes of its fields one after the other. So each field becomes a column of byte strings,
and the columns are joined row by row. The types of manifests and of data files are supported: all primitive ones,
decimals, dates and times, records, arrays, maps, and unions of null and one of these.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Columns: TypeAlias = "Mapping[str, pa.Array | pa.ChunkedArray | Columns]"

BLOCK_BYTES: Final = 256 * 1024
"""The approximate number of bytes of records in one block before compression."""

_NULL: Final = pa.scalar(b"\x00", pa.binary())
_PRESENT: Final = pa.scalar(b"\x02", pa.binary())
_NOTHING: Final = pa.scalar(b"", pa.binary())
_INTEGERS: Final = ("int", "long")
_FIXED: Final = {"boolean": np.uint8, "float": np.dtype("<f4"), "double": np.dtype("<f8")}


def encode_records(schema: Mapping[str, Any], columns: Columns, count: int) -> pa.Array:
    """Returns the bytes of each record.

    ``columns`` has a column for each field of the schema; for a nested record it has the columns of that record.
    """
    if count == 0:
        return pa.array([], pa.binary())
    parts = []
    for field in schema["fields"]:
        column = columns[field["name"]]
        kind = field["type"]
        if isinstance(column, Mapping):
            parts.append(encode_records(kind, column, count))
        else:
            parts.append(_encode(kind, column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column))
    return pc.binary_join_element_wise(*parts, _NOTHING)


def _encode(kind: Any, values: pa.Array) -> pa.Array:
    if isinstance(kind, list):
        if values.null_count == len(values):
            return pa.repeat(_NULL, len(values))
        inner = pc.binary_join_element_wise(_PRESENT, _encode(kind[1], values), _NOTHING)
        return inner if values.null_count == 0 else pc.if_else(values.is_valid(), inner, _NULL)
    name = kind["type"] if isinstance(kind, dict) else kind
    if name == "array":
        return _encode_lists(kind["items"], values)
    if name == "map":
        return _encode_maps(kind["values"], values)
    if name == "record":
        return encode_records(kind, _fields_of(kind, values), len(values))
    if name == "bytes" and pa.types.is_decimal(values.type):
        return _decimals(values)
    if name in _INTEGERS:
        if pa.types.is_date(values.type) or pa.types.is_time(values.type):
            values = values.cast(pa.int32())
        return _varints(_filled(values.cast(pa.int64())).to_numpy(zero_copy_only=False))
    values = _filled(values)
    if name in _FIXED:
        numbers = values.to_numpy(zero_copy_only=False).astype(_FIXED[name])
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * numbers.itemsize
        return _bytes_of(np.ascontiguousarray(numbers).view(np.uint8), offsets)
    sizes = pc.binary_length(values).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return pc.binary_join_element_wise(_varints(sizes), values.cast(pa.binary()), _NOTHING)


def _filled(values: pa.Array) -> pa.Array:
    """Returns the values with a placeholder for nulls, so that every row can be encoded."""
    if values.null_count == 0:
        return values
    if _is_text(values.type):
        return pc.fill_null(values, pa.scalar("").cast(values.type))
    if pa.types.is_boolean(values.type):
        return pc.fill_null(values, False)
    return pc.fill_null(values, pa.scalar(0).cast(values.type))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _fields_of(kind: Mapping[str, Any], values: pa.Array) -> Columns:
    """Returns the columns of records; those of a null record have any values, which are replaced as a whole."""
    return {field["name"]: values.field(number) for number, field in enumerate(kind["fields"])}


def _encode_lists(items: Any, values: pa.Array) -> pa.Array:
    """Returns encoded arrays: a block with the length and the items, then an empty one. A map is a list of records."""
    if pa.types.is_map(values.type):
        values = _as_list(values)
    flat = values.flatten()  # without what null lists hold
    return _in_blocks(_encode(items, flat) if len(flat) else pa.array([], pa.binary()), values)


def _encode_maps(kind: Any, values: pa.Array) -> pa.Array:
    """Returns encoded maps with texts as keys: like arrays, of keys and values."""
    values = _as_list(values)
    flat = values.flatten()
    if not len(flat):
        return _in_blocks(pa.array([], pa.binary()), values)
    pairs = pc.binary_join_element_wise(_encode("string", flat.field(0)), _encode(kind, flat.field(1)), _NOTHING)
    return _in_blocks(pairs, values)


def _as_list(values: pa.MapArray) -> pa.ListArray:
    """Returns a map as a list of its entries."""
    entries = pa.StructArray.from_arrays([values.keys, values.items], names=["key", "value"])
    offsets = pa.concat_arrays([values.offsets])  # a mask needs offsets of their own
    return pa.ListArray.from_arrays(offsets, entries, mask=values.is_null() if values.null_count else None)


def _in_blocks(encoded: pa.Array, values: pa.ListArray) -> pa.Array:
    """Returns the items of each list in one block, from the encoded items of all lists; null lists are empty."""
    counts = pc.fill_null(pc.list_value_length(values), 0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), encoded), pa.scalar(b"", pa.binary()))
    whole = pc.binary_join_element_wise(_varints(counts), joined, _NULL, _NOTHING)
    return pc.if_else(pa.array(counts == 0), _NULL, whole)


def _decimals(values: pa.Array) -> pa.Array:
    """Returns the unscaled numbers of decimals as Java writes them: length, then the fewest bytes, highest first."""
    little = np.frombuffer(values.buffers()[1], np.uint8, len(values) * 16, values.offset * 16).reshape(-1, 16)
    big = np.where(values.is_valid().to_numpy(zero_copy_only=False)[:, None], little[:, ::-1], 0).astype(np.uint8)
    # A leading byte is left out if it only repeats the sign of the byte after it.
    sign = np.where(big[:, 1:] >= 0x80, 0xFF, 0)
    needless = np.logical_and.accumulate(big[:, :-1] == sign, axis=1).sum(axis=1)
    sizes = (16 - needless).astype(np.int64)
    data = big[np.arange(16) >= needless[:, None]]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pc.binary_join_element_wise(_varints(sizes), _bytes_of(data, offsets), _NOTHING)


def _varints(values: npt.NDArray[np.int64]) -> pa.Array:
    """Returns each number as Avro encodes it: zigzag, then seven bits per byte, lowest first."""
    folded = ((values << 1) ^ (values >> 63)).view(np.uint64)
    highest = int(folded.max()) if len(folded) else 0
    width = max(1, -(-highest.bit_length() // 7))
    if width == 1:
        return _bytes_of(folded.astype(np.uint8), np.arange(len(folded) + 1, dtype=np.int32))
    shifts = np.arange(0, 7 * width, 7, dtype=np.uint64)
    digits = ((folded[:, None] >> shifts) & np.uint64(0x7F)).astype(np.uint8)
    length = np.ones(len(folded), np.int32)
    for step in range(1, width):
        length += folded >= np.uint64(1) << np.uint64(7 * step)
    place = np.arange(width)
    digits[place < (length - 1)[:, None]] |= 0x80
    return _bytes_of(digits[place < length[:, None]], np.concatenate([[0], np.cumsum(length)]).astype(np.int32))


def _bytes_of(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32]) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


# ------------------------------------------------------------------------------------------------- the container


def container(header: bytes, records: pa.Array, *, codec: str, level: int) -> bytes:
    """Returns an Avro file with encoded records; ``header`` is an empty file, which ends with the sync marker."""
    return header + blocks(header, records, codec=codec, level=level)


def blocks(header: bytes, records: pa.Array, *, codec: str, level: int) -> bytes:
    """Returns the blocks of encoded records that can follow ``header`` and the blocks before."""
    marker = header[-16:]
    offsets = np.frombuffer(records.buffers()[1], np.int32, len(records) + 1, records.offset * 4)
    data = memoryview(records.buffers()[2])
    out = []
    start = 0
    while start < len(records):
        end = int(np.searchsorted(offsets, offsets[start] + BLOCK_BYTES, side="left"))
        end = min(max(end, start + 1), len(records))
        packed = _compressed(bytes(data[offsets[start] : offsets[end]]), codec, level)
        out += [_varint(end - start), _varint(len(packed)), packed, marker]
        start = end
    return b"".join(out)


def _compressed(block: bytes, codec: str, level: int) -> bytes:
    if codec == "zstandard":
        return bytes(pa.Codec("zstd", compression_level=level).compress(block, asbytes=True))
    if codec == "deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(block) + packer.flush()
    if codec == "snappy":
        return bytes(pa.Codec("snappy").compress(block, asbytes=True)) + zlib.crc32(block).to_bytes(4, "big")
    if codec == "bzip2":
        return bz2.compress(block)
    return block


def _varint(number: int) -> bytes:
    return bytes(_varints(np.array([number], np.int64))[0].as_py())
