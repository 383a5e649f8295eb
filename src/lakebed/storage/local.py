"""The storage of tables on the local disk.

``create_exclusive`` writes a hidden temporary file and then calls ``link``. The kernel lets exactly one process
succeed, and readers only see complete files. A file system without hard links is refused, because renaming after a
check would lose commits. With a :class:`~lakebed.storage.base.Sync` the temporary file is flushed before ``link`` and
the folder after it (:mod:`lakebed.storage.flush`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow.fs as pafs

from lakebed.errors import AlreadyExistsError, NotFoundError, StorageError
from lakebed.storage.base import FileInfo, RangedFile, Sync, UnfinishedUpload
from lakebed.storage.flush import flush, flush_one

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_HINTS = {
    errno.ENOSPC: "no space left on the device; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; nothing was changed",
    errno.EACCES: "permission denied; check the folder's owner and mode",
    errno.EPERM: "operation not permitted; check the folder's owner and mode",
}


@contextlib.contextmanager
def explained(action: str, path: str) -> Iterator[None]:
    """Converts errors of the operating system to errors of Lakebed, with the path and what to do."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError(f"cannot {action} {path}: there is no such file") from None
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"cannot {action} {path}: {hint}") from error


def _opened(path: str) -> BinaryIO:
    """Opens a file; a pipe or a device in its place is refused, because reading it could wait for ever."""
    return open(path, "rb", opener=_open_regular)


def _open_regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):  # open() itself refuses a folder
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file; delete it, or restore the file from a backup")


class LocalStorage:
    """A :class:`~lakebed.storage.base.Storage` on the local disk."""

    is_remote = False
    can_rename = True
    can_append = True
    has_ranges = False

    def read(self, path: str) -> bytes:
        with explained("read", path), _opened(path) as file:
            return file.read()

    def read_stamped(self, path: str) -> tuple[bytes, str | None]:
        stamp = self.stamp(path)  # first, so that it is not newer than the content
        return self.read(path), stamp

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        with explained("read", path), _opened(path) as file:
            file.seek(offset)
            return file.read(length)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_link(self, path: str) -> bool:
        return os.path.islink(path)  # noqa: PTH114 - a Path costs as much as the call

    def size(self, path: str) -> int:
        with explained("stat", path):
            return Path(path).stat().st_size

    def stamp(self, path: str) -> str | None:
        try:
            with explained("stat", path):
                found = os.stat(path)  # noqa: PTH116 - a Path costs as much as the call
        except NotFoundError:
            return None
        return f"{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        found = []
        try:
            with explained("list", path), os.scandir(path) as entries:
                for entry in entries:
                    if entry.name.startswith(".") and not hidden:
                        continue
                    try:
                        info = entry.stat()
                    except FileNotFoundError:  # deleted during the listing
                        continue
                    modified = info.st_mtime_ns // 1_000_000
                    found.append(FileInfo(entry.name, entry.is_dir(), info.st_size, modified, entry.is_symlink()))
        except NotFoundError:
            return []
        return found

    def list_tree(self, path: str) -> Iterator[tuple[str, FileInfo]]:
        for info in self.list(path, hidden=True):
            inner = f"{path}/{info.name}"
            if info.is_dir and not info.is_link:
                yield from self.list_tree(inner)
            else:
                yield inner, info

    def write(self, path: str, data: bytes) -> None:
        with explained("write", path):
            _write_new(path, data)

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> bool:
        if os.path.lexists(path):  # saves a temporary file; the link below decides
            return False
        temporary = _temporary_of(path)
        with explained("create", path):
            _write_new(temporary, data)
            try:
                if sync is not None:
                    flush((*sync.files, temporary), sync.below)
                if still is not None and not still():
                    return False
                os.link(temporary, path)
            except FileExistsError:
                return False
            except FileNotFoundError:
                if still is None:
                    raise
                return False  # another process renamed the folder, with the temporary file
            except OSError as error:
                if error.errno in _NO_LINKS:  # not a missing permission: writing the temporary file succeeded
                    raise StorageError(
                        f"cannot create {path}: this file system has no hard links, which safe commits need; "
                        "put the warehouse on a local POSIX file system"
                    ) from error
                raise
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)  # noqa: PTH108 - as above
            if sync is not None:
                flush_one(path.rpartition("/")[0])
        return True

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:
        temporary = _temporary_of(path)
        with explained("write", path):
            try:
                _write_new(temporary, data)
                if sync is not None:
                    flush((*sync.files, temporary), sync.below)
                if gap:
                    # ext4 flushes a file that is renamed over another one, which may take milliseconds
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)  # noqa: PTH108 - as above
                os.replace(temporary, path)  # noqa: PTH105 - as above
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
                raise
            if sync is not None:
                flush_one(path.rpartition("/")[0])

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        with explained("flush files of", below):
            flush(paths, below)

    def append(self, path: str, data: bytes) -> None:
        with explained("write", path):
            try:
                file = open(path, "ab", buffering=0)  # noqa: PTH123, SIM115 - closed below; one write, so nothing mixes
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    Path(path).parent.mkdir()
                file = open(path, "ab", buffering=0)  # noqa: PTH123, SIM115
            with file:
                file.write(data)

    def delete(self, path: str) -> None:
        with contextlib.suppress(NotFoundError), explained("delete", path):
            Path(path).unlink()

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def delete_tree(self, path: str) -> None:
        while os.path.lexists(path):
            # rmtree stops when another process deletes a file first, so repeat
            with contextlib.suppress(NotFoundError), explained("delete", path):
                shutil.rmtree(path)

    def delete_folder_markers(self, path: str) -> None:
        """Does nothing: folders exist here."""

    def unfinished_uploads(self, path: str) -> tuple[UnfinishedUpload, ...]:  # noqa: ARG002
        """Returns none: a file that is being written is a file here."""
        return ()

    def abort_upload(self, upload: UnfinishedUpload) -> None:
        """Does nothing: there are none here."""

    def delete_empty_folder(self, path: str) -> bool:
        try:
            with explained("delete", path):
                Path(path).rmdir()
        except NotFoundError:
            return False
        except StorageError as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                return False
            raise
        return True

    def make_folder(self, path: str) -> None:
        with explained("create", path):
            Path(path).mkdir(parents=True, exist_ok=True)

    def rename_folder(self, source: str, target: str) -> None:
        if os.path.lexists(target):
            raise AlreadyExistsError(f"cannot rename {source}: {target} already exists")
        with explained("rename", source):
            Path(source).rename(target)

    def copy(self, source: str, target: str) -> None:
        with explained("copy", source):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)

    def open_ranges(self, path: str) -> RangedFile:
        raise StorageError(f"cannot open {path} by ranges: the local disk has no use for that")

    def arrow_filesystem(self) -> pafs.FileSystem:
        return pafs.LocalFileSystem()


def _temporary_of(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{uuid.uuid4()}.tmp")  # noqa: PTH118 - paths are strings here


def _write_new(path: str, data: bytes) -> None:
    """Creates a file that must not exist, and its folders. Deletes the file again if writing fails."""
    try:
        file = open(path, "xb")  # noqa: PTH123, SIM115 - closed below
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "xb")  # noqa: PTH123, SIM115
    try:
        with file:
            file.write(data)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(path).unlink()
        raise
