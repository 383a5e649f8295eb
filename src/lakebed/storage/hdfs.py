"""The storage of tables on HDFS: paths are URLs such as ``hdfs://namenode:8020/warehouse/db.db/t``.

``create_exclusive`` writes a hidden temporary file and then renames it without overwriting. The name node lets exactly
one process succeed, and readers only see complete files. A plain create would be exclusive too, but its file is visible
and empty until it is closed. ``replace`` renames with overwriting, and ``rename_folder`` is one rename.

There is no append: HDFS lets only one process append to a file at a time, and one that dies keeps others out for a
minute. A closed file is on all of its data nodes and its name is in the log of the name node, so ``sync`` does nothing.
Data nodes flush a closed file to their disks only with ``dfs.datanode.synconclose``; without it, a power cut of all
data nodes of a file can lose it.

The client reads ``core-site.xml`` and ``hdfs-site.xml`` in ``HADOOP_CONF_DIR`` (name services, Kerberos).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow.fs as pafs

from lakebed.errors import AlreadyExistsError, NotFoundError, OutcomeUnknownError, StorageError
from lakebed.optional import check_installed
from lakebed.storage.arrow_files import RemoteFiles
from lakebed.storage.base import FileInfo, Sync, UnfinishedUpload
from lakebed.storage.hdfs_errors import answer_name, explained_hdfs
from lakebed.storage.hdfs_files import HdfsFile, HdfsWriter
from lakebed.storage.location import parse_location
from lakebed.storage.round_trips import note_request, run_together

if TYPE_CHECKING:
    from hdfs_native import Client, FileReader, FileStatus

_DELETED_AT_ONCE: Final = 8
_DEADLINE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.2
_BLOCK_PAUSE_SECONDS: Final = 0.01
_COPIED_AT_ONCE: Final = 8 * 1024 * 1024


class HdfsStorage:
    """A :class:`~lakebed.storage.base.Storage` on HDFS.

    Args:
        settings: Settings of the Hadoop client (``dfs.*``) that win over those of ``HADOOP_CONF_DIR``.
    """

    is_remote = True
    can_rename = True
    can_append = False
    has_ranges = True

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = dict(settings or {})
        self._clients: dict[tuple[int, str], Client] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the settings, without open connections. Tasks on other machines open the same storage."""
        return HdfsStorage, (self._settings,)

    def __repr__(self) -> str:
        return "<HdfsStorage>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HdfsStorage) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._settings.items())))

    def _open(self, path: str) -> tuple[Client, str]:
        """Returns the client of a path, which is opened once in each process, and the path on its name node."""
        location = parse_location(path)
        if location.service != "hdfs":
            raise StorageError(f"cannot open {path}: it is not on HDFS")
        place = (os.getpid(), location.host)
        with self._lock:
            client = self._clients.get(place)
            if client is None:
                client = self._clients[place] = open_client(f"{location.scheme}://{location.host}", self._settings)
        return client, f"/{location.key}"

    # ------------------------------------------------------------------------------------------------- reading

    def read(self, path: str) -> bytes:
        client, name = self._open(path)
        note_request("get", path)
        with explained_hdfs("read", path):
            return self._reader(client, name, path).read()

    def read_stamped(self, path: str) -> tuple[bytes, str | None]:
        stamp = self.stamp(path)  # first, so that it is not newer than the content
        return self.read(path), stamp

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        client, name = self._open(path)
        note_request("get", path)
        with explained_hdfs("read", path):
            reader = self._reader(client, name, path)
            wanted = min(length, len(reader) - offset)  # the client fails behind the end
            return reader.read_range(offset, wanted) if wanted > 0 else b""

    def _reader(self, client: Client, name: str, path: str) -> FileReader:
        """Opens a file whose blocks are known.

        A name node with ``dfs.namenode.file.close.num-committed-allowed`` closes files before data nodes have reported
        their last block. Until then the client shows a file of one block as empty. So an empty file is looked up.
        """
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while True:
            reader = client.read(name)
            if len(reader) > 0:
                return reader
            note_request("head", path)
            if client.get_file_info(name).length == 0:
                return reader
            if time.monotonic() > deadline:
                raise StorageError(f"cannot read {path}: no data node has reported its last block")
            time.sleep(_BLOCK_PAUSE_SECONDS)
            note_request("get", path)

    def exists(self, path: str) -> bool:
        return self._status(path) is not None

    def is_link(self, path: str) -> bool:  # noqa: ARG002 - HDFS has no links
        return False

    def size(self, path: str) -> int:
        found = self._status(path)
        if found is None:
            raise NotFoundError(f"cannot stat {path}: there is no such file")
        return found.length

    def stamp(self, path: str) -> str | None:
        found = self._status(path)
        if found is None:
            return None
        return f"{found.modification_time}-{found.access_time}-{found.length}"

    def _status(self, path: str) -> FileStatus | None:
        client, name = self._open(path)
        note_request("head", path)
        try:
            with explained_hdfs("stat", path):
                return client.get_file_info(name)
        except NotFoundError:
            return None

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        found = [(name, info) for name, info in self._listed(path, recursive=False) if name]
        return [info for _, info in found if hidden or not info.name.startswith(".")]

    def list_tree(self, path: str) -> Iterator[tuple[str, FileInfo]]:
        for name, info in self._listed(path, recursive=True):
            if not info.is_dir:
                yield f"{path}/{name}", info

    def _listed(self, path: str, *, recursive: bool) -> Iterator[tuple[str, FileInfo]]:
        """Returns the files and folders below a folder, with their paths relative to it."""
        client, name = self._open(path)
        note_request("list", path)
        with contextlib.suppress(NotFoundError), explained_hdfs("list", path):
            for status in client.list_status(name, recursive):
                if status.path == name and not status.isdir:
                    raise StorageError(f"cannot list {path}: Not a directory")
                inner = status.path.removeprefix(name).lstrip("/")
                last = inner.rpartition("/")[2]
                yield inner, FileInfo(last, status.isdir, status.length, status.modification_time)

    # ------------------------------------------------------------------------------------------------- writing

    def write(self, path: str, data: bytes) -> None:
        client, name = self._open(path)
        note_request("put", path)
        with explained_hdfs("write", path):
            _write_new(client, name, data)

    def create_exclusive(
        self,
        path: str,
        data: bytes,
        still: Callable[[], bool] | None = None,
        *,
        sync: Sync | None = None,  # noqa: ARG002 - a closed file is on its data nodes
    ) -> bool:
        if self.exists(path):  # saves a temporary file; the rename below decides
            return False
        client, name = self._open(path)
        temporary = _temporary_of(name)
        note_request("put", path)
        with explained_hdfs("create", path):
            _write_new(client, temporary, data)
        try:
            if still is not None and not still():
                return False
            return self._rename_new(path, temporary, data, may_vanish=still is not None)
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                client.delete(temporary)

    def _rename_new(self, path: str, temporary: str, data: bytes, *, may_vanish: bool) -> bool:
        """Gives a temporary file its name, unless the name is taken.

        If the answer of the name node is lost, the rename is sent again. If the first one happened, the answer is then
        that the temporary file is missing, and the content of the file decides whose it is.
        """
        client, name = self._open(path)
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while True:
            note_request("put", path)
            try:
                with explained_hdfs("create", path):
                    client.rename(temporary, name, False)
            except NotFoundError:
                try:
                    return self.read(path) == data
                except NotFoundError:  # another process renamed the folder, with the temporary file
                    if may_vanish:
                        return False
                raise
            except StorageError as error:
                if isinstance(error.__cause__, FileExistsError):
                    return False
                if not error.may_have_happened:
                    raise
                if time.monotonic() > deadline:
                    raise OutcomeUnknownError(
                        f"{error}. It is unknown whether the file was created; look before trying again"
                    ) from error
                time.sleep(_PAUSE_SECONDS)
            else:
                return True

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:  # noqa: ARG002
        client, name = self._open(path)
        temporary = _temporary_of(name)
        note_request("put", path)
        with explained_hdfs("write", path):
            _write_new(client, temporary, data)
            try:
                client.rename(temporary, name, True)
            except BaseException:
                with contextlib.suppress(OSError, RuntimeError):
                    client.delete(temporary)
                raise

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """Does nothing: a closed file is on its data nodes."""

    def append(self, path: str, data: bytes) -> None:  # noqa: ARG002 - the signature of the interface
        raise StorageError(f"cannot append to {path}: HDFS does not let several processes append to a file")

    # ------------------------------------------------------------------------------------------------ deleting

    def delete(self, path: str) -> None:
        client, name = self._open(path)
        found = self._status(path)
        if found is None:
            return
        if found.isdir:  # the client would delete an empty folder
            raise StorageError(f"cannot delete {path}: Is a directory")
        note_request("delete", path)
        with contextlib.suppress(NotFoundError), explained_hdfs("delete", path):
            client.delete(name)

    def delete_many(self, paths: Sequence[str]) -> None:
        run_together([partial(self.delete, path) for path in paths], threads=_DELETED_AT_ONCE)

    def delete_tree(self, path: str) -> None:
        client, name = self._open(path)
        note_request("delete", path)
        with contextlib.suppress(NotFoundError), explained_hdfs("delete", path):
            client.delete(name, True)

    def delete_folder_markers(self, path: str) -> None:
        """Does nothing: folders exist here."""

    def unfinished_uploads(self, path: str) -> tuple[UnfinishedUpload, ...]:  # noqa: ARG002
        """Returns none: a file that is being written is a file here."""
        return ()

    def abort_upload(self, upload: UnfinishedUpload) -> None:
        """Does nothing: there are none here."""

    def delete_empty_folder(self, path: str) -> bool:
        client, name = self._open(path)
        found = self._status(path)
        if found is None or not found.isdir:
            return False
        note_request("delete", path)
        try:
            with explained_hdfs("delete", path):
                return client.delete(name)
        except NotFoundError:
            return False
        except StorageError as error:
            if answer_name(error.__cause__) == "PathIsNotEmptyDirectoryException":
                return False
            raise

    def make_folder(self, path: str) -> None:
        client, name = self._open(path)
        note_request("put", path)
        with explained_hdfs("create", path):
            client.mkdirs(name, create_parent=True)

    def rename_folder(self, source: str, target: str) -> None:
        client, name = self._open(source)
        if self.exists(target):
            raise AlreadyExistsError(f"cannot rename {source}: {target} already exists")
        note_request("put", target)
        try:
            with explained_hdfs("rename", source):
                client.rename(name, self._open(target)[1], False)
        except StorageError as error:
            if isinstance(error.__cause__, FileExistsError):
                raise AlreadyExistsError(f"cannot rename {source}: {target} already exists") from None
            raise

    def copy(self, source: str, target: str) -> None:
        """Copies a file through this process, in pieces."""
        reader = self.open_ranges(source)
        with self._open_writer(target) as writer:
            while piece := reader.read(_COPIED_AT_ONCE):
                writer.write(piece)

    # ----------------------------------------------------------------------------------------------- data files

    def open_ranges(self, path: str) -> HdfsFile:
        client, name = self._open(path)
        note_request("get", path)
        with explained_hdfs("read", path):
            return HdfsFile(self._reader(client, name, path), path)

    def _open_writer(self, path: str) -> HdfsWriter:
        client, name = self._open(path)
        note_request("put", path)
        with explained_hdfs("write", path):
            return HdfsWriter(client.create(name), path)

    def arrow_filesystem(self) -> pafs.FileSystem:
        return pafs.PyFileSystem(RemoteFiles(self, self._open_writer))


def open_client(url: str, settings: Mapping[str, str]) -> Client:
    """Returns a client of a name node or name service.

    Raises:
        UnsupportedError: The library is not installed.
    """
    check_installed(url, "hdfs_native")
    from hdfs_native import Client  # noqa: PLC0415 - optional

    with explained_hdfs("open", url):
        return Client(url, dict(settings))


def _temporary_of(name: str) -> str:
    folder, _, last = name.rpartition("/")
    return f"{folder}/.{last}.{uuid.uuid4()}.tmp"


def _write_new(client: Client, name: str, data: bytes) -> None:
    """Creates a file that must not exist, and its folders. Deletes the file again if writing fails."""
    writer = client.create(name)
    try:
        if data:
            writer.write(data)
        writer.close()
    except BaseException:
        with contextlib.suppress(OSError, RuntimeError):
            client.delete(name)
        raise
