"""Data files on HDFS as Arrow opens them: Python files whose work is done by the client, outside of Python's lock.

A file that is opened holds its end, which contains the footer of a Parquet file; a small file is read whole.
"""

from __future__ import annotations

import bisect
import io
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakebed.storage.hdfs_errors import explained_hdfs
from lakebed.storage.round_trips import note_request, run_together

if TYPE_CHECKING:
    from hdfs_native import FileReader, FileWriter

_TAIL_BYTES: Final = 256 * 1024
_NEAR_BYTES: Final = 1024 * 1024
_WRITTEN_AT_ONCE: Final = 4 * 1024 * 1024


class HdfsFile(io.RawIOBase):
    """A file that is read. It holds what was requested, and requests what is missing."""

    def __init__(self, reader: FileReader, path: str, tail: bytes | None = None) -> None:
        super().__init__()
        self._reader = reader
        self._path = path
        self._size = len(reader)
        self._position = 0
        start = max(0, self._size - _TAIL_BYTES)
        self._tail = self._request(start, self._size) if tail is None else tail
        self._starts = [start]
        self._parts = [self._tail]

    def fork(self) -> HdfsFile:
        """Returns the same file with a position of its own, which holds only the end of the file."""
        return HdfsFile(self._reader, self._path, self._tail)

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Requests ranges of the file, each a start and an end, at the same time; those that are held are skipped."""
        missing = joined([(start, end) for start, end in ranges if end > start and self._held(start, end) is None])
        found = run_together([partial(self._request, start, end) for start, end in missing])
        for (start, _), data in zip(missing, found, strict=True):
            at = bisect.bisect_left(self._starts, start)
            self._starts.insert(at, start)
            self._parts.insert(at, data)

    def _request(self, start: int, end: int) -> bytes:
        note_request("get", self._path)
        with explained_hdfs("read", self._path):
            return self._reader.read_range(start, end - start)

    def _held(self, start: int, end: int) -> memoryview | None:
        at = bisect.bisect_right(self._starts, start) - 1
        while at >= 0:  # ranges may overlap, but a few at most begin before a position
            offset = start - self._starts[at]
            if end - self._starts[at] <= len(self._parts[at]):
                return memoryview(self._parts[at])[offset : offset + end - start]
            at -= 1
        return None

    def read(self, size: int | None = -1) -> Any:
        wanted = self._size if size is None or size < 0 else self._position + size
        start, end = self._position, min(wanted, self._size)
        if end <= start:
            return b""
        self._position = end
        held = self._held(start, end)
        return self._request(start, end) if held is None else held

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def size(self) -> int:
        """Returns the size of the file; Arrow asks for it."""
        return self._size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class HdfsWriter(io.RawIOBase):
    """A file that is written, in pieces of some megabytes. Its end is on the data nodes once it is closed."""

    def __init__(self, writer: FileWriter, path: str) -> None:
        super().__init__()
        self._writer = writer
        self._path = path
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        copied = bytes(data)  # Arrow uses its buffer again after the call
        self._waiting.append(copied)
        self._waiting_bytes += len(copied)
        self._position += len(copied)
        if self._waiting_bytes >= _WRITTEN_AT_ONCE:
            self._send()
        return len(copied)

    def _send(self) -> None:
        data, self._waiting, self._waiting_bytes = b"".join(self._waiting), [], 0
        with explained_hdfs("write", self._path):
            self._writer.write(data)

    def close(self) -> None:
        """Writes the rest and completes the file."""
        if self.closed:
            return
        super().close()
        try:
            if self._waiting:
                self._send()
        finally:
            with explained_hdfs("write", self._path):
                self._writer.close()  # also after a failure, because it ends the lease


def joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins ranges that are near each other, because a request costs more than the bytes between them.

    >>> joined([(5_000_000, 6_000_000), (0, 100), (200, 300)])
    [(0, 300), (5000000, 6000000)]
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start - found[-1][1] <= _NEAR_BYTES:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
