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
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE_CACHE_BYTES: Final = 16 * 1024**3
_SUFFIX: Final = ".data"
_LARGEST_SHARE: Final = 4  # a file of more than a quarter of the cache would replace too many others


@dataclass(frozen=True, slots=True)
class FileCache:
    """A folder with copies of data files. ``max_bytes`` limits all of them together."""

    folder: str
    max_bytes: int = FILE_CACHE_BYTES

    def get(self, path: str, size: int | None = None) -> memoryview | None:
        """Returns the content of a file without reading it; ``None`` if it is not cached or has another size."""
        place = self._place(path)
        try:
            with place.open("rb") as file:
                length = os.fstat(file.fileno()).st_size
                if not length or (size is not None and length != size):
                    return None
                content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            os.utime(place)
        except (OSError, ValueError):
            return None
        return content

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
                temporary.write_bytes(data)
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
