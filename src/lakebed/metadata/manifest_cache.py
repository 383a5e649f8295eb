"""A cache of decoded manifests by path, in memory and optionally on disk. Manifest files never change.

Readers that need the same manifest at the same time decode it once. In memory the least recently used manifests are
dropped when the cache has too many bytes; optionally all are dropped some time after their last use. On disk they are
Arrow files, which are memory-mapped. They may be deleted at any time, and a damaged file is replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from lakebed.format.human_text import count_text, size_text
from lakebed.storage.file_cache import make_room

CACHE_BYTES: Final = 256 * 1024 * 1024
DISK_BYTES: Final = 4 * 1024**3
_SUFFIX: Final = ".arrow"
SMALL_FILE_BYTES: Final = 16 * 1024 * 1024
"""The largest total size of the cached lists and index manifests, as files; decoded they take several times that."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """How often the cache of decoded manifests was used, and what it contains now.

    Attributes:
        hits: How many manifests were found in memory.
        disk_hits: How many were found on disk.
        misses: How many were read and decoded.
        manifests: How many the cache holds now.
        bytes: The memory that they take.

    Example:
        >>> print(CacheStatistics(hits=3, disk_hits=0, misses=1, manifests=1, bytes=2048))
        4 manifests asked for, 75% known (3 in memory, 0 on disk); holds 1 manifest, 2.0 KiB
    """

    hits: int
    disk_hits: int
    misses: int
    manifests: int
    bytes: int

    def __str__(self) -> str:
        asked = self.hits + self.disk_hits + self.misses
        share = f"{(self.hits + self.disk_hits) / asked:.0%}" if asked else "none"
        return (
            f"{count_text(asked, 'manifest')} asked for, {share} known ({self.hits:,} in memory, {self.disk_hits:,} on "
            f"disk); holds {count_text(self.manifests, 'manifest')}, {size_text(self.bytes)}"
        )


class DiskCache:
    """Decoded manifests in a folder of this machine, shared by its processes."""

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int = DISK_BYTES) -> None:
        self._folder = Path(folder)
        self._max_bytes = max_bytes

    def get(self, path: str) -> pa.Table | None:
        place = self._place(path)
        try:
            with pa.memory_map(str(place)) as mapped:
                table = pa.ipc.open_file(mapped).read_all()
            os.utime(place)
        except (OSError, pa.ArrowException):
            return None
        return table

    def put(self, path: str, table: pa.Table) -> None:
        """Stores a manifest; does nothing if the folder cannot be written."""
        place = self._place(path)
        with contextlib.suppress(OSError, pa.ArrowException):
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary = place.with_name(f".{place.name}.{uuid.uuid4()}")
            with pa.OSFile(str(temporary), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)
            temporary.replace(place)
            make_room(self._folder, _SUFFIX, self._max_bytes)

    def _place(self, path: str) -> Path:
        return self._folder / f"{hashlib.sha256(path.encode()).hexdigest()[:40]}{_SUFFIX}"


class SmallFileCache:
    """Decoded manifest lists and index manifests by path, in memory; the least recently used are dropped."""

    def __init__(self, max_bytes: int = SMALL_FILE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def load(self, path: str, read: Callable[[], tuple[_T, int]]) -> _T:
        """Returns the content of a path; ``read`` returns it with its size in bytes if it is not cached."""
        with self._lock:
            if path in self._held:
                self._held.move_to_end(path)
                content: _T = self._held[path][0]
                return content
        content, size = read()
        self.put(path, content, size)
        return content

    def holds(self, path: str) -> bool:
        with self._lock:
            return path in self._held

    def put(self, path: str, content: object, size: int) -> None:
        """Stores what was read or written; ``size`` is the size of the file, and stands for the memory it takes."""
        with self._lock:
            if path in self._held or size > self._max_bytes:
                return
            self._held[path] = content, size
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._bytes -= self._held.popitem(last=False)[1][1]

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
            self._bytes = 0


class ManifestCache:
    """Decoded manifests of all tables that share it; ``small`` holds manifest lists and index manifests."""

    def __init__(
        self, max_bytes: int = CACHE_BYTES, *, expire_after: float | None = None, disk: DiskCache | None = None
    ) -> None:
        self._max_bytes = max_bytes
        self._expire_after = expire_after
        self._disk = disk
        self.small = SmallFileCache(min(max_bytes, SMALL_FILE_BYTES))
        self._tables: OrderedDict[str, tuple[pa.Table, float]] = OrderedDict()
        self._loading: dict[str, Future[pa.Table]] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self.hits = self.disk_hits = self.misses = 0

    def load(self, path: str, decode: Callable[[], pa.Table]) -> pa.Table:
        """Returns the manifest of a path. ``decode`` is called if it is not cached and no other thread decodes it."""
        with self._lock:
            table = self._held(path)
            if table is not None:
                self.hits += 1
                return table
            future = self._loading.get(path)
            mine = future is None
            if future is None:
                future = self._loading[path] = Future()
            else:
                self.hits += 1
        if not mine:
            return future.result()
        try:
            table = self._from_disk_or(path, decode)
            self.put(path, table)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._loading[path]
        future.set_result(table)
        return table

    def _from_disk_or(self, path: str, decode: Callable[[], pa.Table]) -> pa.Table:
        table = None if self._disk is None else self._disk.get(path)
        if table is not None:
            self.disk_hits += 1
            return table
        self.misses += 1
        table = decode()
        if self._disk is not None:
            self._disk.put(path, table)
        return table

    def _held(self, path: str) -> pa.Table | None:
        now = time.monotonic()
        if self._expire_after is not None:
            while self._tables and next(iter(self._tables.values()))[1] < now - self._expire_after:
                self._drop_oldest()
        held = self._tables.get(path)
        if held is None:
            return None
        self._tables[path] = (held[0], now)
        self._tables.move_to_end(path)
        return held[0]

    def holds(self, path: str) -> bool:
        """Returns whether a manifest is in memory."""
        with self._lock:
            return path in self._tables

    def put(self, path: str, table: pa.Table) -> None:
        """Stores a manifest that was decoded or written."""
        with self._lock:
            if path in self._tables or table.nbytes > self._max_bytes:
                return
            self._tables[path] = (table, time.monotonic())
            self._bytes += table.nbytes
            while self._bytes > self._max_bytes:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._bytes -= self._tables.popitem(last=False)[1][0].nbytes

    def clear(self) -> None:
        """Drops all manifests from memory."""
        self.small.clear()
        with self._lock:
            self._tables.clear()
            self._bytes = 0

    def statistics(self) -> CacheStatistics:
        """Returns how often the cache was used so far."""
        with self._lock:
            return CacheStatistics(self.hits, self.disk_hits, self.misses, len(self._tables), self._bytes)
