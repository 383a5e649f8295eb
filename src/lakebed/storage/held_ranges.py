"""The part of a remote file's reader that does not depend on the storage: what is held, and where the next read is."""

from __future__ import annotations

import bisect
import io
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any


class HeldRanges(io.RawIOBase):
    """A remote file that is read. It holds its end and what was requested, and requests what is missing.

    A subclass says how bytes are requested: one range (:meth:`request`), and several at the same time
    (:meth:`request_all`).
    """

    def __init__(self, path: str, size: int, start: int, end: memoryview) -> None:
        super().__init__()
        self.path = path
        self._size = size
        self._position = 0
        self._starts = [start]
        self._parts = [end]

    @abstractmethod
    def request(self, start: int, end: int) -> memoryview:
        """Requests a range."""

    @abstractmethod
    def request_all(self, ranges: Sequence[tuple[int, int]]) -> Sequence[tuple[int, memoryview]]:
        """Requests ranges at the same time; returns parts of the file that contain them, each with its start."""

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Requests ranges of the file, each a start and an end, at the same time; those that are held are skipped."""
        missing = [(start, end) for start, end in ranges if end > start and self._held(start, end) is None]
        if not missing:
            return
        for start, data in self.request_all(missing):
            at = bisect.bisect_left(self._starts, start)
            self._starts.insert(at, start)
            self._parts.insert(at, data)

    def _held(self, start: int, end: int) -> memoryview | None:
        at = bisect.bisect_right(self._starts, start) - 1
        while at >= 0:  # ranges may overlap, but a few at most begin before a position
            first = self._starts[at]
            if end - first <= len(self._parts[at]):
                return self._parts[at][start - first : end - first]
            at -= 1
        return None

    def read(self, size: int | None = -1) -> Any:
        wanted = self._size if size is None or size < 0 else self._position + size
        start, end = self._position, min(wanted, self._size)
        if end <= start:
            return b""
        held = self._held(start, end)
        data = self.request(start, end) if held is None else held
        self._position = end
        return data

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
