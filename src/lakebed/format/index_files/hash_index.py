"""The HASH index file of a dynamic bucket: the row hashes of its keys, as big-endian int32 back to back.

The file is a set without header or checksum, in any order (Java writes the order of its hash set). Lakebed writes
hashes in ascending order and returns them so, because they are searched and merged.

A damaged index is dangerous: a key that it lacks gets a second row in another bucket. So Lakebed appends the CRC-32 of
a file to its name (:func:`checked_name`); for other readers a name has no meaning. :func:`check` compares a file with
its name and with the size and number of hashes in its entry. Files of other writers have no checksum in their name, and
only size and number are compared. :func:`read` checks first.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

from lakebed.errors import CorruptError
from lakebed.format.human_text import count_text
from lakebed.format.manifest.index_manifest import IndexEntry

_FEW: Final = 16
_CHECKSUM: Final = re.compile(r"-crc32-([0-9a-f]{8})$")


def checked_name(stem: str, data: bytes) -> str:
    """Returns the name of a new index file: ``stem`` and the checksum of its content.

    >>> checked_name("index-7a-0", bytes.fromhex("5759f99ed206e547"))
    'index-7a-0-crc32-93468648'
    """
    return f"{stem}-crc32-{zlib.crc32(data):08x}"


def check(data: bytes, entry: IndexEntry, *, where: str) -> None:
    """Raises CorruptError if a file is not what its entry and the checksum in its name say; ``where`` is its path."""
    if len(data) != entry.file_size:
        raise _damaged(where, f"it has {count_text(len(data), 'byte')}, but its manifest says {entry.file_size:,}")
    if len(data) != 4 * entry.row_count:
        raise _damaged(
            where, f"its {count_text(len(data), 'byte')} are not the {entry.row_count:,} hashes of its manifest"
        )
    checksum = _CHECKSUM.search(entry.file_name)
    if checksum is not None and zlib.crc32(data) != int(checksum[1], 16):
        raise _damaged(where, f"its checksum is {zlib.crc32(data):08x}, but its name says {checksum[1]}")


def read(data: bytes, entry: IndexEntry, *, where: str) -> npt.NDArray[np.int32]:
    """Returns the hashes in the file of an entry, ascending; raises CorruptError if the file is damaged."""
    check(data, entry, where=where)
    hashes = decode(data, where=where)
    if len(hashes) != entry.row_count:
        twice = count_text(entry.row_count - len(hashes), "hash", "hashes")
        raise _damaged(where, f"it has {twice} more than once")
    return hashes


def _damaged(where: str, why: str) -> CorruptError:
    return CorruptError(
        f"hash index {where} is damaged: {why}. A write that trusts it would store keys twice; "
        "rebuild_index(dry_run=False) rebuilds the index from the data files"
    )


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
    """Returns which of a few hashes are in a file, without sorting the file. Call :func:`check` first.

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
