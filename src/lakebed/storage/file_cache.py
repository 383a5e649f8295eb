"""Data files of a remote storage on the disk of this machine, so that repeated reads need no requests.

Data files never change and no name is used twice, so a cached file is always right. The folder is shared by the
processes of the machine. The files that were used last are kept, up to a number of bytes. A file of the
folder may be deleted at any time. If the disk is full or the folder cannot be written, files are read from the storage.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE_CACHE_BYTES: Final = 16 * 1024**3
_SUFFIX: Final = ".data"
_TRAILER: Final = struct.Struct("<Q8s")  # the size of the content, and a mark: a truncated copy lacks them
_MARK: Final = b"lakebed1"
_LARGEST_SHARE: Final = 4  # a file of more than a quarter of the cache would replace too many others


@dataclass(frozen=True, slots=True)
class FileCache:
    """A folder with copies of data files. ``max_bytes`` limits all of them together."""

    folder: str
    max_bytes: int = FILE_CACHE_BYTES

    def get(self, path: str) -> memoryview | None:
        """Returns the content of a file, mapped into memory; ``None`` if it is not cached as a whole."""
        place = self._place(path)
        try:
            with place.open("rb") as file:
                found = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            size, mark = _TRAILER.unpack(found[-_TRAILER.size :])
            os.utime(place)
        except (OSError, ValueError, struct.error):  # an empty file cannot be mapped
            return None
        return found[:size] if mark == _MARK and size + _TRAILER.size == len(found) else None

    def takes(self, size: int) -> bool:
        """Returns whether a file of this size is cached."""
        return 0 < size <= self.max_bytes // _LARGEST_SHARE

    def put(self, path: str, data: Any) -> None:
        """Stores a file; does nothing if the folder cannot be written."""
        place = self._place(path)
        temporary = place.with_name(f".{place.name}.{uuid.uuid4()}.tmp")
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    file.write(_TRAILER.pack(len(data), _MARK))
                temporary.replace(place)
            finally:
                temporary.unlink(missing_ok=True)
            make_room(self.folder, _SUFFIX, self.max_bytes)

    def _place(self, path: str) -> Path:
        return Path(self.folder) / f"{hashlib.sha256(path.encode()).hexdigest()[:40]}{_SUFFIX}"


def make_room(folder: str | os.PathLike[str], suffix: str, max_bytes: int) -> None:
    """Deletes the files of a cache that were not used for the longest time, until the rest fits."""
    held = []
    for entry in os.scandir(folder):
        if entry.name.endswith(suffix):
            with contextlib.suppress(FileNotFoundError):  # another process made room
                held.append((entry.stat(), entry.path))
    total = sum(stat.st_size for stat, _ in held)
    for stat, path in sorted(held, key=lambda file: file[0].st_mtime):
        if total <= max_bytes:
            return
        Path(path).unlink(missing_ok=True)
        total -= stat.st_size
