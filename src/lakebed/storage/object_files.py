"""Data files on object stores as Arrow opens them.

Arrow reads and writes through Python file objects whose work is done by the object store's client, outside of Python's
lock. Measured on a local server, both directions take the time of Arrow's own S3 file system (docs/storage.md), and one
set of credentials, retries and errors serves everything.

* A file that is read is opened with one request for its end, which holds the footer of a Parquet file; a small file is
  read whole by it. :meth:`ObjectFile.prefetch` requests many ranges at the same time.
* A file that is written is uploaded in parts while it is written. A file that fits into one part is one put. If writing
  fails, the upload is aborted and no file appears.
"""

from __future__ import annotations

import bisect
import io
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import obstore
import pyarrow as pa
import pyarrow.fs as pafs

from lakebed.errors import NotFoundError, StorageError
from lakebed.storage.base import Storage
from lakebed.storage.file_cache import FileCache
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


class ObjectFile(io.RawIOBase):
    """A file that is read. It holds what was requested, and requests what is missing."""

    def __init__(self, bucket: Any, path: str, tail: Tail) -> None:
        super().__init__()
        self._bucket = bucket
        self._path = path
        self._key = parse_location(path).key
        self._tail = tail
        self._size = tail.size
        self._position = 0
        self._starts = [tail.start]
        self._parts = [tail.data]

    def fork(self) -> ObjectFile:
        """Returns the same file with a position of its own, which holds only the end of the file."""
        return ObjectFile(self._bucket, self._path, self._tail)

    def _hold(self, start: int, data: Any) -> None:
        at = bisect.bisect_left(self._starts, start)
        self._starts.insert(at, start)
        self._parts.insert(at, memoryview(data).cast("B"))

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Requests ranges of the file, each a start and an end, at the same time; those that are held are skipped."""
        missing = [(start, end) for start, end in ranges if end > start and self._held(start, end - start) is None]
        if not missing:
            return
        note_request("get", self._path)
        with explained_remote("read", self._path):
            starts, ends = zip(*missing, strict=True)
            found = obstore.get_ranges(self._bucket, self._key, starts=starts, ends=ends)
            for start, data in zip(starts, found, strict=True):
                self._hold(start, data)

    def _held(self, start: int, length: int) -> memoryview | None:
        at = bisect.bisect_right(self._starts, start) - 1
        while at >= 0:  # ranges may overlap, but a few at most begin before a position
            offset = start - self._starts[at]
            if offset + length <= len(self._parts[at]):
                return self._parts[at][offset : offset + length]
            at -= 1
        return None

    def read(self, size: int | None = -1) -> Any:
        left = self._size - self._position
        length = left if size is None or size < 0 else min(size, left)
        if length <= 0:
            return b""
        data = self._held(self._position, length)
        if data is None:
            note_request("get", self._path)
            with explained_remote("read", self._path):
                data = memoryview(obstore.get_range(self._bucket, self._key, start=self._position, length=length))
        self._position += length
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


class ObjectFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """Opens the data files of a remote storage for Arrow. ``upload`` opens a file to write."""

    def __init__(self, storage: Storage, upload: Callable[[str], io.RawIOBase]) -> None:
        self._storage = storage
        self._upload = upload

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFiles) and self._storage == other._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def get_type_name(self) -> str:
        return "lakebed-objects"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        found = []
        for path in paths:
            try:
                found.append(pafs.FileInfo(path, pafs.FileType.File, size=self._storage.size(path)))
            except NotFoundError:
                found.append(pafs.FileInfo(path, pafs.FileType.NotFound))
        return found

    def open_input_file(self, path: str) -> Any:
        try:
            return pa.PythonFile(self._storage.open_ranges(path), mode="r")
        except NotFoundError as error:
            raise FileNotFoundError(str(error)) from error

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:  # noqa: ARG002 - Arrow's signature
        return pa.PythonFile(self._upload(path), mode="w")

    def create_dir(self, path: str, recursive: bool) -> None:
        """Does nothing: folders are prefixes."""

    def delete_file(self, path: str) -> None:
        self._storage.delete(path)

    def get_file_info_selector(self, selector: Any) -> NoReturn:
        _not_needed("list", selector.base_dir)

    def delete_dir(self, path: str) -> NoReturn:
        _not_needed("delete", path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _not_needed("empty", path)

    def delete_root_dir_contents(self) -> NoReturn:
        _not_needed("empty", "/")

    def move(self, src: str, dest: str) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _not_needed("move", src)

    def copy_file(self, src: str, dest: str) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _not_needed("copy", src)

    def open_append_stream(self, path: str, metadata: Any) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _not_needed("append to", path)


def _not_needed(action: str, path: str) -> NoReturn:
    raise StorageError(f"cannot {action} {path}: tables are never changed this way")
