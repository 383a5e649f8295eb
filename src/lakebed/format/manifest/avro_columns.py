"""Encodes Arrow columns as Avro records, a column at a time, without a Python object per record.

The bytes of a record are the bytes of its fields one after the other. So each field becomes a column of byte strings,
and the columns are joined row by row. Only the types of manifests are supported: int, long (also as a timestamp),
string, bytes, records, arrays of these, and unions of null and one of these.
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
        present = values.is_valid()
        if values.null_count == len(values):
            return pa.repeat(_NULL, len(values))
        inner = pc.binary_join_element_wise(_PRESENT, _encode(kind[1], _filled(values)), _NOTHING)
        return inner if values.null_count == 0 else pc.if_else(present, inner, _NULL)
    name = kind["type"] if isinstance(kind, dict) else kind
    if name in _INTEGERS:
        return _varints(values.cast(pa.int64()).to_numpy(zero_copy_only=False))
    if name == "array":
        return _encode_lists(kind["items"], values)
    sizes = pc.binary_length(values).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return pc.binary_join_element_wise(_varints(sizes), values.cast(pa.binary()), _NOTHING)


def _filled(values: pa.Array) -> pa.Array:
    """Returns the values with a placeholder for nulls, so that every row can be encoded."""
    if values.null_count == 0:
        return values
    if pa.types.is_list(values.type):
        return pc.if_else(values.is_valid(), values, pa.scalar([], values.type))
    empty = pa.scalar(0, pa.int64()).cast(values.type) if not _is_text(values.type) else pa.scalar("").cast(values.type)
    return pc.fill_null(values, empty)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _encode_lists(items: Any, values: pa.Array) -> pa.Array:
    """Returns encoded arrays: one block with the length and the items, then an empty block."""
    offsets = values.offsets.to_numpy()
    encoded = _encode(items, values.flatten()) if offsets[-1] > offsets[0] else pa.array([], pa.binary())
    joined = pc.binary_join(
        pa.ListArray.from_arrays(pa.array(offsets - offsets[0], pa.int32()), encoded), pa.scalar(b"", pa.binary())
    )
    counts = np.diff(offsets).astype(np.int64)
    whole = pc.binary_join_element_wise(_varints(counts), joined, _NULL, _NOTHING)
    return pc.if_else(pa.array(counts == 0), _NULL, whole)


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
    marker = header[-16:]
    offsets = np.frombuffer(records.buffers()[1], np.int32, len(records) + 1, records.offset * 4)
    data = memoryview(records.buffers()[2])
    out = [header]
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
