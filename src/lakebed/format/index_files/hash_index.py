"""The HASH index file of a dynamic bucket: the row hashes of its keys, as big-endian int32 back to back.

The file is a set without header or checksum, in any order (Java writes the order of its hash set). Lakebed writes
hashes in ascending order and returns them so, because they are searched and merged.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from lakebed.errors import CorruptError

_FEW: Final = 16


def decode(data: bytes, *, where: str = "the hash index") -> npt.NDArray[np.int32]:
    """Returns the hashes in a file, ascending and each once; ``where`` names the file in errors.

    >>> decode(bytes.fromhex("5759f99ed206e547")).tolist()
    [-771300025, 1465514398]
    """
    if len(data) % 4:
        raise CorruptError(f"{where} has {len(data)} bytes, which is not a multiple of 4; the file is truncated")
    return ascending(np.frombuffer(data, ">i4").astype(np.int32))


def encode(hashes: npt.ArrayLike) -> bytes:
    """Returns the file that holds these hashes, ascending and each once."""
    return ascending(np.asarray(hashes, np.int32)).astype(">i4").tobytes()


def holds(data: bytes, hashes: npt.NDArray[np.int32], *, where: str = "the hash index") -> npt.NDArray[np.bool_]:
    """Returns which of a few hashes are in a file, without sorting the file.

    >>> holds(bytes.fromhex("5759f99ed206e547"), np.array([5, 1465514398], np.int32)).tolist()
    [False, True]
    """
    if len(data) % 4:
        raise CorruptError(f"{where} has {len(data)} bytes, which is not a multiple of 4; the file is truncated")
    stored = np.frombuffer(data, np.int32)
    swapped = hashes.astype(">i4").view(np.int32)  # the bytes as they are in the file
    if len(swapped) <= _FEW:
        return np.array([(stored == one).any() for one in swapped], np.bool_)
    return np.isin(swapped, stored)


def ascending(hashes: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Returns the hashes sorted and without duplicates.

    Most are sorted already; numpy's ``unique`` takes ten times as long.
    """
    if bool((hashes[1:] > hashes[:-1]).all()):
        return hashes
    ordered = np.sort(hashes)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    unique: npt.NDArray[np.int32] = ordered[first]
    return unique
