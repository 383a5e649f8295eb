"""Deletion vectors: which physical rows of a data file are deleted, as Roaring bitmaps inside an index file.

An index file is one version byte (1) followed by blobs without gaps: ``size | magic | bitmap | CRC32``. The magic
distinguishes two kinds that are read: bitmap32, and bitmap64, which Iceberg uses. Only bitmap32 is written, because
pypaimon cannot read the other. A blob with a wrong size, magic, checksum or bitmap raises :class:`CorruptError`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from lakebed.errors import CorruptError, DataError

_VERSION: Final = b"\x01"
_MAGIC_32: Final = struct.pack(">i", 1581511376)
_MAGIC_64: Final = struct.pack("<i", 1681511377)
_FRAME: Final = 8  # the size before and the checksum after


@dataclass(frozen=True, slots=True)
class VectorRange:
    """The place of the deletion vector of one data file in an index file; ``length`` is without size and checksum."""

    file_name: str
    offset: int
    length: int
    cardinality: int | None = None


def read_deletion_vector(
    blob: bytes, *, where: str, length: int | None = None, cardinality: int | None = None
) -> npt.NDArray[np.int64]:
    """Returns the deleted positions, ascending, from the bytes of an index file that begin at the vector's offset.

    Bytes after the vector are ignored. ``length`` and ``cardinality``, where given, are those of the manifest and must
    agree; bitmap32 counts its length without size and checksum, bitmap64 with them.
    """
    if len(blob) < _FRAME + 4:
        raise _corrupt(where, f"only {len(blob)} bytes are left in the file")
    size = int.from_bytes(blob[:4], "big", signed=True)
    if not 4 <= size <= len(blob) - _FRAME:
        raise _corrupt(where, f"it claims {size} bytes, the file has {len(blob) - _FRAME}")
    body = blob[4 : 4 + size]
    magic = body[:4]
    if magic not in (_MAGIC_32, _MAGIC_64):
        raise _corrupt(where, f"its magic is {magic.hex()}, neither bitmap32 nor bitmap64")
    if length is not None and length != size + (_FRAME if magic == _MAGIC_64 else 0):
        raise _corrupt(where, f"the manifest gives it {length} bytes, the file {size}")
    if zlib.crc32(body) != int.from_bytes(blob[4 + size : _FRAME + size], "big"):
        raise _corrupt(where, "its checksum does not match")
    kind = BitMap if magic == _MAGIC_32 else BitMap64
    try:
        bitmap = kind.deserialize(body[4:])
    except ValueError:
        raise _corrupt(where, "its bitmap cannot be decoded") from None
    positions = np.asarray(bitmap.to_array()).astype(np.int64)
    if cardinality is not None and cardinality != len(positions):
        raise _corrupt(where, f"the manifest says {cardinality} deleted rows, the bitmap {len(positions)}")
    return positions


def write_deletion_vectors(vectors: Mapping[str, npt.ArrayLike]) -> tuple[bytes, list[VectorRange]]:
    """Returns an index file with one bitmap32 per data file name, and the place of each."""
    blobs = [_VERSION]
    ranges: list[VectorRange] = []
    offset = len(_VERSION)
    for file_name, given in vectors.items():
        positions = np.unique(np.asarray(given, np.int64))
        if positions.size and not 0 <= positions[0] <= positions[-1] < 2**31:
            raise DataError(f"a position to delete in {file_name} is outside of 0 to {2**31 - 1}")
        bitmap = BitMap(positions.astype(np.uint32))
        bitmap.run_optimize()
        body = _MAGIC_32 + bitmap.serialize()
        blobs.append(struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body)))
        ranges.append(VectorRange(file_name, offset, len(body), len(positions)))
        offset += len(body) + _FRAME
    return b"".join(blobs), ranges


def _corrupt(where: str, why: str) -> CorruptError:
    return CorruptError(f"the deletion vector in {where} is corrupt: {why}")
