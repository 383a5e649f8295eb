"""The storage of tables on object stores: S3 and what speaks its protocol, Google Cloud Storage, Azure Blob Storage.

Folders are prefixes of names here. There is no rename and no append, and what was acknowledged survives a power cut.

``create_exclusive`` is one conditional put: the store refuses it if the name exists. Every such put carries a random
token. If an answer is lost, or the client sent the put twice, the token in the store says whether the file is ours. A
put without an answer is sent again until the store says whose the name is, because a request that is still on its way
must not create the file after the caller gave up. If no answer comes before the deadline, the error says that the
outcome is unknown (:class:`~lakebed.errors.OutcomeUnknownError`).

A store that ignores the condition would lose commits. Before the first exclusive create, a put of a name that exists
shows whether it does (:meth:`ObjectStorage.check_conditional_put`).

A store that has never answered this storage may not exist, so the first request fails after a few seconds. A store
that has answered is waited for until ``storage.retry-deadline``, so that it may restart under its readers and writers.
The client library has one rule for all requests of a client, so there are two clients: the first answer of a bucket
opens the second one.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, ParamSpec, TypeVar, cast

import obstore
import pyarrow.fs as pafs
from obstore.exceptions import AlreadyExistsError as ObjectExistsError
from obstore.exceptions import NotSupportedError, PreconditionError

from lakebed.errors import NotFoundError, OutcomeUnknownError, StorageError, UnsupportedError
from lakebed.storage.arrow_files import RemoteFiles
from lakebed.storage.base import FileInfo, Sync, UnfinishedUpload
from lakebed.storage.folder_markers import delete_marker, without_markers
from lakebed.storage.location import Location, Service, parse_location
from lakebed.storage.object_errors import CutOffError, explained_remote, is_busy, is_conflict, is_refused_condition
from lakebed.storage.object_files import ObjectFile, TailCache, Upload, open_object
from lakebed.storage.open_bucket import is_provider_itself, open_bucket, waiting_for
from lakebed.storage.resolved_settings import resolved
from lakebed.storage.round_trips import note_request, run_together
from lakebed.storage.storage_options import ObjectSettings
from lakebed.storage.unfinished_uploads import abort_upload, list_uploads

_TOKEN: Final = "lakebedtoken"  # noqa: S105 - the name of an attribute: Azure allows no hyphen, proxies no underscore
_PROBE: Final = ".lakebed/conditional-put"
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_DELETED_AT_ONCE: Final = 1000


def _repeatable(call: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Repeats a request that may be made twice if its answer was cut off, until the deadline of the storage."""

    @functools.wraps(call)
    def repeated(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        storage = cast("ObjectStorage", arguments[0])
        deadline, pause = time.monotonic() + storage.settings.deadline_seconds, _FIRST_PAUSE
        while True:
            try:
                return call(*arguments, **named)
            except CutOffError:
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    return repeated


class ObjectStorage:
    """A :class:`~lakebed.storage.base.Storage` on the buckets of one service.

    Args:
        service: The service.
        settings: Endpoint, credentials and limits.
        root: The folder below which the storage may write a file to test conditional puts; the warehouse.
    """

    is_remote = True
    can_rename = False
    can_append = False
    has_ranges = True

    def __init__(self, service: Service, settings: ObjectSettings, root: str) -> None:
        self._service = service
        self._settings = settings
        self._root = root
        self._buckets: dict[tuple[str, str], Any] = {}
        self._answered: dict[tuple[str, str], Any] = {}
        self._tails = TailCache()
        self._is_conditional = False
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the settings, without open connections. Tasks on other machines open the same storage."""
        return _unpickled, (self._service, self.settings, self._root)

    def __repr__(self) -> str:
        return f"<ObjectStorage {self._root}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectStorage):
            return False
        return (self._service, self._settings, self._root) == (other._service, other._settings, other._root)

    def __hash__(self) -> int:
        return hash((self._service, self._root))

    @property
    def settings(self) -> ObjectSettings:
        """The settings with which other processes open the same storage: those of the environment are in them."""
        return resolved(self._settings, parse_location(self._root))

    def bucket(self, location: Location) -> Any:
        """Returns the client of a bucket. It is opened once, and once more when the bucket has answered."""
        return self._answered.get((location.scheme, location.host)) or self._first_client(location)

    def _first_client(self, location: Location) -> Any:
        """Returns the client that does not wait for the store until the deadline."""
        place = (location.scheme, location.host)
        with self._lock:
            found = self._buckets.get(place)
            if found is None:
                found = self._buckets[place] = open_bucket(location, self._settings)
            return found

    @contextlib.contextmanager
    def _request(self, action: str, path: str) -> Iterator[None]:
        """Converts errors of a request, and notes that the store answered it.

        Raises:
            CutOffError: The connection ended within the answer, or the first answer ever was that the store is busy.
        """
        try:
            with explained_remote(action, path):
                yield
        except NotFoundError:
            self._note_answer(path)
            raise
        except StorageError as error:
            if is_busy(error.__cause__) and self._note_answer(path):
                raise CutOffError(str(error)) from error.__cause__
            raise
        self._note_answer(path)

    def _note_answer(self, path: str) -> bool:
        """Opens the client that waits for the store; returns whether this was the first answer of the bucket."""
        location = parse_location(path)
        place = (location.scheme, location.host)
        if place in self._answered:
            return False
        first = self._first_client(location)
        with self._lock:
            is_new = place not in self._answered
            if is_new:
                self._answered[place] = waiting_for(first, self._settings)
            return is_new

    def _open(self, path: str) -> tuple[Any, str]:
        location = parse_location(path)
        if location.service != self._service:
            raise StorageError(f"cannot open {path}: it is not on the storage of {self._root}")
        return self.bucket(location), location.key

    # ------------------------------------------------------------------------------------------------- reading

    @_repeatable
    def read(self, path: str) -> bytes:
        bucket, key = self._open(path)
        note_request("get", path)
        with self._request("read", path):
            return bytes(obstore.get(bucket, key).bytes())

    @_repeatable
    def read_stamped(self, path: str) -> tuple[bytes, str | None]:
        bucket, key = self._open(path)
        note_request("get", path)
        with self._request("read", path):
            found = obstore.get(bucket, key)
            return bytes(found.bytes()), _stamp(found.meta)

    @_repeatable
    def read_range(self, path: str, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        bucket, key = self._open(path)
        note_request("get", path)
        with self._request("read", path):
            try:
                return bytes(obstore.get_range(bucket, key, start=offset, length=length))
            except obstore.exceptions.BaseError:
                if offset < obstore.head(bucket, key)["size"]:
                    raise
                return b""  # the range begins behind the end of the file

    def exists(self, path: str) -> bool:
        return self._head(path) is not None

    def is_link(self, path: str) -> bool:  # noqa: ARG002 - object stores have no links
        return False

    def size(self, path: str) -> int:
        found = self._head(path)
        if found is None:
            raise NotFoundError(f"cannot stat {path}: there is no such file")
        return int(found["size"])

    def stamp(self, path: str) -> str | None:
        found = self._head(path)
        return None if found is None else _stamp(found)

    @_repeatable
    def _head(self, path: str) -> Any:
        bucket, key = self._open(path)
        note_request("head", path)
        try:
            with self._request("stat", path):
                return obstore.head(bucket, key)
        except NotFoundError:
            return None

    @_repeatable
    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        bucket, key = self._open(path)
        note_request("list", path)
        with self._request("list", path):
            found = obstore.list_with_delimiter(bucket, key or None)
        infos = [FileInfo(name.rpartition("/")[2], True, 0, 0) for name in found["common_prefixes"]]
        for each in found["objects"]:
            if each["path"] != key:  # else it is the empty object with which other engines mark a folder
                name = each["path"].rpartition("/")[2]
                infos.append(FileInfo(name, False, each["size"], _millis(each["last_modified"])))
        return [info for info in infos if hidden or not info.name.startswith(".")]

    def list_tree(self, path: str) -> Iterator[tuple[str, FileInfo]]:
        """Returns all files below a folder with their whole paths; a thousand for each request."""
        _, key = self._open(path)
        prefix = path.removesuffix("/").removesuffix(key)
        for each in without_markers(self._objects(path), lambda name: self.exists(prefix + name), key):
            name = each["path"].rpartition("/")[2]
            yield prefix + each["path"], FileInfo(name, False, each["size"], _millis(each["last_modified"]))

    def _objects(self, path: str) -> Iterator[Mapping[str, Any]]:
        """Returns all objects below a folder, with the markers of folders under the names of the folders."""
        bucket, key = self._open(path)
        last: str | None = None
        deadline = time.monotonic() + self._settings.deadline_seconds
        while True:
            note_request("list", path)
            try:
                with self._request("list", path):
                    for chunk in obstore.list(bucket, key or None, offset=last, chunk_size=_DELETED_AT_ONCE):
                        yield from chunk
                        last = chunk[-1]["path"]
                        deadline = time.monotonic() + self._settings.deadline_seconds
            except CutOffError:
                if time.monotonic() + _FIRST_PAUSE > deadline:
                    raise
                time.sleep(_FIRST_PAUSE)
            else:
                return

    # ------------------------------------------------------------------------------------------------- writing

    def write(self, path: str, data: bytes) -> None:
        self._put("write", path, data)

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:  # noqa: ARG002
        self._put("write", path, data)

    @_repeatable
    def _put(self, action: str, path: str, data: bytes) -> None:
        bucket, key = self._open(path)
        note_request("put", path)
        with self._request(action, path):
            obstore.put(bucket, key, data)

    def create_exclusive(
        self,
        path: str,
        data: bytes,
        still: Callable[[], bool] | None = None,
        *,
        sync: Sync | None = None,  # noqa: ARG002 - what the store acknowledged survives
    ) -> bool:
        self.check_conditional_put()
        if still is not None and not still():
            return False
        if not self._is_conditional:  # a single writer is guaranteed
            if self.exists(path):
                return False
            self._put("create", path, data)
            return True
        return self._create(path, data, str(uuid.uuid4()))

    def _create(self, path: str, data: bytes, token: str) -> bool:
        """Sends a conditional put until the store says whose the name is."""
        bucket, key = self._open(path)
        deadline = time.monotonic() + self._settings.deadline_seconds
        pause = _FIRST_PAUSE
        while True:
            note_request("put", path)
            try:
                with self._request("create", path):
                    obstore.put(bucket, key, data, mode="create", attributes={_TOKEN: token})
            except StorageError as error:
                cause = error.__cause__
                if isinstance(cause, (ObjectExistsError, PreconditionError)):
                    return self._is_ours(path, token)
                if not is_conflict(cause) and not error.may_have_happened:
                    raise
                if time.monotonic() + pause > deadline:
                    raise OutcomeUnknownError(
                        f"{error}. It is unknown whether the file was created; look before trying again"
                    ) from error
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                return True

    def _is_ours(self, path: str, token: str) -> bool:
        """Returns whether a file that exists was created by the put with this token."""
        try:
            return self._token_of(path) == token
        except NotFoundError:
            return False  # it was deleted again meanwhile, so another process created it
        except StorageError as error:
            raise OutcomeUnknownError(
                f"{error}. {path} exists, but it is unknown who created it; look before trying again"
            ) from error

    @_repeatable
    def _token_of(self, path: str) -> object:
        bucket, key = self._open(path)
        note_request("get", path)
        with self._request("read", path):
            return obstore.get(bucket, key).attributes.get(_TOKEN)

    def check_conditional_put(self) -> None:
        """Raises UnsupportedError if the store ignores the condition of a put; asks it once in each process."""
        if self._is_conditional or self._settings.single_writer:
            return
        if is_provider_itself(parse_location(self._root), self._settings):
            self._is_conditional = True
            return
        path = f"{self._root}/{_PROBE}"
        for _ in range(2):  # the first put may create the file; the second one must be refused
            is_refused = self._probe(path)
            if is_refused is None:
                break
            if is_refused:
                self._is_conditional = True
                return
        raise UnsupportedError(
            f"cannot write to {self._root}: this object store has no conditional put, so two writers could overwrite "
            "each other's commits. Use a store that has it (Amazon S3, MinIO, R2, Google Cloud Storage, Azure), or a "
            "catalog that arbitrates between writers; or, if never more than one process writes to the warehouse, "
            "open it with the option 'commit.single-writer' = 'true'"
        )

    @_repeatable
    def _probe(self, path: str) -> bool | None:
        """Returns whether the store refused to create a file because it exists; ``None`` if it knows no conditions.

        The client that waits until the deadline would do that for a store that answers that it knows no conditions.
        """
        location = parse_location(path)
        bucket = self._first_client(location)
        note_request("put", path)
        try:
            with self._request("create", path):
                obstore.put(bucket, location.key, b"", mode="create")
        except StorageError as error:
            if isinstance(error.__cause__, (ObjectExistsError, PreconditionError)):
                return True
            if is_refused_condition(error.__cause__) or isinstance(error.__cause__, NotSupportedError):
                return None
            if error.may_have_happened and (location.scheme, location.host) in self._answered:
                raise CutOffError(str(error)) from error.__cause__
            raise
        return False

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """Does nothing: what the store acknowledged survives."""

    def append(self, path: str, data: bytes) -> None:  # noqa: ARG002 - the signature of the interface
        raise StorageError(f"cannot append to {path}: object stores do not append to files")

    # ------------------------------------------------------------------------------------------------ deleting

    @_repeatable
    def delete(self, path: str) -> None:
        bucket, key = self._open(path)
        note_request("delete", path)
        with contextlib.suppress(NotFoundError), self._request("delete", path):
            obstore.delete(bucket, key)

    def delete_many(self, paths: Sequence[str]) -> None:
        by_bucket: dict[Any, list[str]] = {}
        for path in paths:
            location = parse_location(path)
            by_bucket.setdefault((location.scheme, location.host), []).append(path)
        batches = [
            group[start : start + _DELETED_AT_ONCE]
            for group in by_bucket.values()
            for start in range(0, len(group), _DELETED_AT_ONCE)
        ]
        run_together([lambda batch=batch: self._delete_batch(batch) for batch in batches])  # type: ignore[misc]

    @_repeatable
    def _delete_batch(self, paths: Sequence[str]) -> None:
        bucket = self._open(paths[0])[0]
        note_request("delete", f"{paths[0]} and {len(paths) - 1} more")
        try:
            with self._request("delete", paths[0]):
                obstore.delete(bucket, [parse_location(path).key for path in paths])
        except NotFoundError:  # some services stop at a missing file
            for path in paths:
                self.delete(path)

    def delete_tree(self, path: str) -> None:
        while found := [name for name, _ in self.list_tree(path)]:
            self.delete_many(found)
        self.delete_folder_markers(path)

    def delete_folder_markers(self, path: str) -> None:
        location = parse_location(path)
        empty = [str(each["path"]) for each in self._objects(path) if not each["size"]]
        run_together([lambda key=key: self._delete_marker(replace(location, key=key)) for key in empty])  # type: ignore[misc]

    def unfinished_uploads(self, path: str) -> Iterator[UnfinishedUpload]:
        return list_uploads(parse_location(path), self._settings)

    def abort_upload(self, upload: UnfinishedUpload) -> None:
        abort_upload(parse_location(upload.path), self._settings, upload.upload_id)

    def _delete_marker(self, location: Location) -> None:
        note_request("delete", f"{location}/")
        delete_marker(location, self._settings)

    def delete_empty_folder(self, path: str) -> bool:  # noqa: ARG002 - the signature of the interface
        return False

    def make_folder(self, path: str) -> None:
        """Does nothing: a folder exists as long as files are in it."""

    def rename_folder(self, source: str, target: str) -> None:
        raise StorageError(f"cannot rename {source} to {target}: object stores do not rename folders")

    @_repeatable
    def copy(self, source: str, target: str) -> None:
        """Copies a file within its bucket, without moving its bytes through this process."""
        bucket, key = self._open(source)
        note_request("copy", target)
        with self._request("copy", source):
            obstore.copy(bucket, key, parse_location(target).key)

    # ----------------------------------------------------------------------------------------------- data files

    @_repeatable
    def open_ranges(self, path: str) -> ObjectFile:
        with self._request("read", path):
            bucket, _ = self._open(path)
            has_suffixes = self._service != "azure"
            return open_object(bucket, path, self._tails, self._settings.file_cache, has_suffixes=has_suffixes)

    def arrow_filesystem(self) -> pafs.FileSystem:
        return pafs.PyFileSystem(RemoteFiles(self, self._upload))

    def _upload(self, path: str) -> Upload:
        return Upload(self._open(path)[0], path)


@lru_cache(maxsize=16)
def _unpickled(service: Service, settings: ObjectSettings, root: str) -> ObjectStorage:
    """Returns a storage that was sent to this process; tasks that run here one after the other share connections."""
    return ObjectStorage(service, settings, root)


def _stamp(meta: Mapping[str, Any]) -> str:
    return f"{meta['e_tag']}-{meta['version']}-{meta['size']}-{_millis(meta['last_modified'])}"


def _millis(moment: dt.datetime) -> int:
    return round(moment.timestamp() * 1000)
