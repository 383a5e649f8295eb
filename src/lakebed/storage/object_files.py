"""Data files on object stores as Arrow opens them.

Arrow reads and writes through Python file objects whose work is done by the object store's client, outside of Python's
lock. Measured on a local server, both directions take the time of Arrow's own S3 file system (docs/design.md), and one
set of credentials, retries and errors serves everything.

* A file that is read is opened with one request for its end, which holds the footer of a Parquet file; a small file is
  read whole by it. :meth:`~lakebed.storage.held_ranges.HeldRanges.prefetch` requests many ranges at the same time.
* A file that is written is uploaded in parts while it is written. A file that fits into one part is one put. If writing
  fails, the upload is aborted and no file appears.
"""

from __future__ import annotations

import io
import queue
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import obstore

from lakebed.errors import StorageError
from lakebed.storage.file_cache import FileCache
from lakebed.storage.held_ranges import HeldRanges
from lakebed.storage.location import parse_location
from lakebed.storage.object_errors import explained_remote
from lakebed.storage.round_trips import note_request

TAIL_BYTES: Final = 256 * 1024
_TAILS_BYTES: Final = 64 * 1024 * 1024
_PART_BYTES: Final = 8 * 1024 * 1024
_WAITING_PARTS: Final = 4
_ABORTED: Final = object()


@dataclass(frozen=True, slots=True)
class Tail:
    """The size of a file, and its content from ``start`` to the end."""

    size: int
    start: int
    data: memoryview


class TailCache:
    """The ends of the data files that were opened last. Data files never change, and no name is used twice."""

    def __init__(self, max_bytes: int = _TAILS_BYTES) -> None:
        self._max_bytes = max_bytes
        self._tails: OrderedDict[str, Tail] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, path: str) -> Tail | None:
        with self._lock:
            found = self._tails.get(path)
            if found is not None:
                self._tails.move_to_end(path)
            return found

    def put(self, path: str, tail: Tail) -> None:
        with self._lock:
            if path in self._tails:
                return
            self._tails[path] = tail
            self._bytes += len(tail.data)
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._tails.popitem(last=False)[1].data)


def open_object(bucket: Any, path: str, tails: TailCache, cache: FileCache | None, *, has_suffixes: bool) -> ObjectFile:
    """Opens a file to read; one request, or none if it or its end is cached. A cache on disk gets the whole file.

    A service without ranges that count from the end (``has_suffixes``) is asked for the size first.
    """
    tail = tails.get(path)
    if cache is not None:
        content = cache.get(path)
        if content is not None:
            return ObjectFile(bucket, path, Tail(len(content), 0, content))
    if tail is None:
        key = parse_location(path).key
        wanted: Any = {"range": {"suffix": TAIL_BYTES}}
        if not has_suffixes:
            note_request("head", path)
            with explained_remote("read", path):
                size = int(obstore.head(bucket, key)["size"])
            wanted = {"range": (max(0, size - TAIL_BYTES), size)} if size else {}
        note_request("get", path)
        with explained_remote("read", path):
            found = obstore.get(bucket, key, options=wanted)
            tail = Tail(int(found.meta["size"]), found.range[0], memoryview(found.bytes()).cast("B"))
        tails.put(path, tail)
    if cache is not None and cache.takes(tail.size):
        data = tail.data
        if tail.start:
            note_request("get", path)
            with explained_remote("read", path):
                data = memoryview(obstore.get(bucket, parse_location(path).key).bytes()).cast("B")
        cache.put(path, data)
        tail = Tail(tail.size, 0, data)
    return ObjectFile(bucket, path, tail)


class ObjectFile(HeldRanges):
    """A file of an object store that is read."""

    def __init__(self, bucket: Any, path: str, tail: Tail) -> None:
        super().__init__(path, tail.size, tail.start, tail.data)
        self._bucket = bucket
        self._key = parse_location(path).key
        self._tail = tail

    def fork(self) -> ObjectFile:
        """Returns the same file with a position of its own, which holds only the end of the file."""
        return ObjectFile(self._bucket, self.path, self._tail)

    def request(self, start: int, end: int) -> memoryview:
        note_request("get", self.path)
        with explained_remote("read", self.path):
            return memoryview(obstore.get_range(self._bucket, self._key, start=start, end=end)).cast("B")

    def request_all(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, memoryview]]:
        note_request("get", self.path)
        starts, ends = zip(*ranges, strict=True)
        with explained_remote("read", self.path):
            found = obstore.get_ranges(self._bucket, self._key, starts=starts, ends=ends)
            return [(start, memoryview(data).cast("B")) for start, data in zip(starts, found, strict=True)]


class Upload(io.RawIOBase):
    """A file that is written: uploaded by a thread while it grows. It appears when it is closed."""

    def __init__(self, bucket: Any, path: str) -> None:
        super().__init__()
        self._bucket = bucket
        self._path = path
        self._key = parse_location(path).key
        self._part: list[bytes] = []
        self._part_bytes = 0
        self._position = 0
        self._queue: queue.Queue[Any] = queue.Queue(_WAITING_PARTS)
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._is_failed = False
        self._is_ended = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        copied = bytes(data)  # Arrow uses its buffer again after the call
        self._part.append(copied)
        self._part_bytes += len(copied)
        self._position += len(copied)
        if self._part_bytes >= _PART_BYTES:
            self._hand_over()
        return len(copied)

    def _hand_over(self) -> None:
        if self._thread is None:
            context = copy_context()
            self._thread = threading.Thread(target=context.run, args=(self._upload,), daemon=True)
            self._thread.start()
        part, self._part, self._part_bytes = b"".join(self._part), [], 0
        self._queue.put(part)
        if self._error is not None:
            self._raise()

    def _upload(self) -> None:
        """Uploads parts until the end is signalled. After a failure it takes the remaining parts and drops them."""
        try:
            note_request("put", self._path)
            obstore.put(self._bucket, self._key, self._parts(), chunk_size=_PART_BYTES, use_multipart=True)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that writes
            self._error = error
            while not self._is_ended:
                self._take()

    def _parts(self) -> Iterator[bytes]:
        while (part := self._take()) is not None:
            if part is _ABORTED:
                raise _AbortedError
            yield part

    def _take(self) -> Any:
        """Takes a part or the signal of the end, after which nothing comes."""
        part = self._queue.get()
        self._is_ended = part is None or part is _ABORTED
        return part

    def close(self) -> None:
        """Finishes the file, unless writing failed: then the upload is aborted."""
        if self.closed:
            return
        super().close()
        if self._is_failed:
            self._end(_ABORTED)
            return
        if self._thread is None:
            note_request("put", self._path)
            with explained_remote("write", self._path):
                obstore.put(self._bucket, self._key, b"".join(self._part), use_multipart=False)
            return
        if self._part:
            self._queue.put(b"".join(self._part))
        self._end(None)
        if self._error is not None:
            self._raise()

    def abort(self) -> None:
        """Drops the file. Closing it afterwards does nothing."""
        self._is_failed = True
        self.close()

    def _end(self, signal: object) -> None:
        if self._thread is not None:
            self._queue.put(signal)
            self._thread.join()

    def _raise(self) -> NoReturn:
        error = self._error
        self._is_failed = True
        with explained_remote("write", self._path):
            if isinstance(error, Exception):
                raise error
        raise StorageError(f"cannot write {self._path}: the upload was interrupted") from error


class _AbortedError(Exception):
    """Ends an upload whose writer failed; the client then aborts it in the store."""
