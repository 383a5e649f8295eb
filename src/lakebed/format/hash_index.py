"""The HASH index file of a dynamic bucket: the row hashes of its keys, as big-endian int32 back to back.

The file is a set without header or checksum; its order is free (Java writes hash-set order). Ours is ascending, and
hashes are handed out ascending, so that they can be searched and merged.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lakebed.errors import CorruptError


def decode(data: bytes, *, where: str = "the hash index") -> npt.NDArray[np.int32]:
    """The hashes in a file, ascending and each once; ``where`` names the file in errors.

    >>> decode(bytes.fromhex("5759f99ed206e547")).tolist()
    [-771300025, 1465514398]
    """
    if len(data) % 4:
        raise CorruptError(f"{where} has {len(data)} bytes, which is no multiple of 4; the file is truncated")
    return np.unique(np.frombuffer(data, ">i4").astype(np.int32))


def encode(hashes: npt.ArrayLike) -> bytes:
    """The file that holds these hashes, ascending and each once."""
    return np.unique(np.asarray(hashes, np.int32)).astype(">i4").tobytes()
