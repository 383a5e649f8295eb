"""Data files on HDFS as Arrow opens them: Python files whose work is done by the client, outside of Python's lock.

A file that is opened holds its end, which contains the footer of a Parquet file; a small file is read whole.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakebed.storage.hdfs_errors import explained_hdfs
from lakebed.storage.held_ranges import HeldRanges
from lakebed.storage.round_trips import note_request, run_together

if TYPE_CHECKING:
    from hdfs_native import FileReader, FileWriter

_TAIL_BYTES: Final = 256 * 1024
_NEAR_BYTES: Final = 1024 * 1024
_WRITTEN_AT_ONCE: Final = 4 * 1024 * 1024


class HdfsFile(HeldRanges):
    """A file on HDFS that is read."""

    def __init__(self, reader: FileReader, path: str, tail: memoryview | None = None) -> None:
        size = len(reader)
        start = max(0, size - _TAIL_BYTES)
        self._reader = reader
        self._tail = _read_range(reader, path, start, size) if tail is None else tail
        super().__init__(path, size, start, self._tail)

    def fork(self) -> HdfsFile:
        """Returns the same file with a position of its own, which holds only the end of the file."""
        return HdfsFile(self._reader, self.path, self._tail)

    def request(self, start: int, end: int) -> memoryview:
        return _read_range(self._reader, self.path, start, end)

    def request_all(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, memoryview]]:
        parts = joined(ranges)
        found = run_together([partial(self.request, start, end) for start, end in parts])
        return [(start, data) for (start, _), data in zip(parts, found, strict=True)]


def _read_range(reader: FileReader, path: str, start: int, end: int) -> memoryview:
    note_request("get", path)
    with explained_hdfs("read", path):
        return memoryview(reader.read_range(start, end - start))


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
