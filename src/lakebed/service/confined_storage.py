"""The storage of a service: it sees only files below one folder, and writes only what is allowed.

The folder is the warehouse while a table is looked up, and the table itself afterwards.

On the local disk the operating system resolves every path, so ``..``, links and paths in manifests cannot lead out of
the folder. Other storages have no links: there a path must start with the folder, and a path with ``.`` or ``..`` in it
is refused. Files outside are not listed, and reading one raises :class:`~lakebed.errors.NotFoundError`. A write that is
not allowed raises :class:`~lakebed.errors.StorageError`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Final

import pyarrow.fs as pafs

from lakebed.errors import LakebedError, NotFoundError, StorageError
from lakebed.format.paths import HISTORY_PREFIX, SIDECAR_FOLDER
from lakebed.storage import FileInfo, LocalStorage, Storage, Sync, UnfinishedUpload, is_remote_path
from lakebed.storage.arrow_files import DataFileHandler
from lakebed.storage.base import RangedFile
from lakebed.storage.location import parse_location

_LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 4095
_HISTORY_INDEX: Final = f"/{SIDECAR_FOLDER}/{HISTORY_PREFIX}"


class Writes(Enum):
    """What may be written."""

    NOTHING = "nothing"
    HISTORY_INDEX = "the history index"
    EVERYTHING = "everything"


class ConfinedStorage:
    """A storage below one folder; the local disk unless another one is given."""

    def __init__(self, root: str, writes: Writes, storage: Storage | None = None) -> None:
        self._storage: Storage = LocalStorage() if storage is None else storage
        self._root = root.rstrip("/") if is_remote_path(root) else os.path.realpath(root)
        self._writes = writes
        self.is_remote = self._storage.is_remote
        self.can_rename = self._storage.can_rename
        self.can_append = self._storage.can_append
        self.has_ranges = self._storage.has_ranges

    def __repr__(self) -> str:
        return f"<ConfinedStorage {self._root}>"

    def below(self, folder: str) -> ConfinedStorage:
        """Returns the same storage for one folder of it, such as a table."""
        self.check_inside(folder)
        return ConfinedStorage(folder, self._writes, self._storage)

    def is_inside(self, path: str) -> bool:
        """Whether a path with all links resolved is below the root; ``False`` for an invalid file name."""
        try:
            if len(path) > _LONGEST_PATH or max(map(len, path.encode().split(b"/"))) > _LONGEST_NAME:
                return False
            if is_remote_path(self._root):
                return _is_below(path, self._root)
            real = os.path.realpath(path)
        except (ValueError, OSError):  # a NUL or an invalid character
            return False
        return real == self._root or real.startswith(f"{self._root}/")

    def check_inside(self, path: str) -> None:
        """Raise for a path outside of the folder."""
        if not self.is_inside(path):
            raise NotFoundError(
                f"cannot open {path}: it leads out of the warehouse or of its table, or its name is invalid"
            )

    def check_writable(self, path: str) -> None:
        """Raise for a path that must not be written."""
        self.check_inside(path)
        allowed = self._writes is Writes.EVERYTHING or (
            self._writes is Writes.HISTORY_INDEX and _HISTORY_INDEX in os.path.normpath(path)
        )
        if not allowed:
            raise StorageError(f"cannot write {path}: this service is read-only; start it with --allow-actions")

    # ------------------------------------------------------------------------------------------------- reading

    def read(self, path: str) -> bytes:
        self.check_inside(path)
        return self._storage.read(path)

    def read_stamped(self, path: str) -> tuple[bytes, str | None]:
        self.check_inside(path)
        return self._storage.read_stamped(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        self.check_inside(path)
        return self._storage.read_range(path, offset, length)

    def exists(self, path: str) -> bool:
        return self.is_inside(path) and self._storage.exists(path)

    def is_link(self, path: str) -> bool:
        return self._storage.is_link(path)

    def size(self, path: str) -> int:
        self.check_inside(path)
        return self._storage.size(path)

    def stamp(self, path: str) -> str | None:
        return self._storage.stamp(path) if self.is_inside(path) else None

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        if not self.is_inside(path):
            return []
        found = self._storage.list(path, hidden=hidden)
        links = [info.name for info in found if info.is_link]
        outside = {name for name in links if not self.is_inside(f"{path}/{name}")}
        return [info for info in found if info.name not in outside]

    def list_tree(self, path: str) -> Iterable[tuple[str, FileInfo]]:
        if not self.is_inside(path):
            return
        for name, info in self._storage.list_tree(path):
            if not info.is_link or self.is_inside(name):
                yield name, info

    # ------------------------------------------------------------------------------------------------- writing

    def write(self, path: str, data: bytes) -> None:
        self.check_writable(path)
        self._storage.write(path, data)

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> bool:
        self.check_writable(path)
        return self._storage.create_exclusive(path, data, still, sync=sync)

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:
        self.check_writable(path)
        self._storage.replace(path, data, gap=gap, sync=sync)

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        self._storage.sync(paths, below=below)

    def append(self, path: str, data: bytes) -> None:
        self.check_writable(path)
        self._storage.append(path, data)

    def delete(self, path: str) -> None:
        self.check_writable(path)
        self._storage.delete(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.check_writable(path)
        self._storage.delete_many(paths)

    def delete_tree(self, path: str) -> None:
        self.check_writable(path)
        self._storage.delete_tree(path)

    def delete_folder_markers(self, path: str) -> None:
        self.check_writable(path)
        self._storage.delete_folder_markers(path)

    def unfinished_uploads(self, path: str) -> Iterable[UnfinishedUpload]:
        self.check_inside(path)
        return self._storage.unfinished_uploads(path)

    def abort_upload(self, upload: UnfinishedUpload) -> None:
        self.check_writable(upload.path)
        self._storage.abort_upload(upload)

    def delete_empty_folder(self, path: str) -> bool:
        self.check_writable(path)
        return self._storage.delete_empty_folder(path)

    def make_folder(self, path: str) -> None:
        self.check_writable(path)
        self._storage.make_folder(path)

    def rename_folder(self, source: str, target: str) -> None:
        self.check_writable(source)
        self.check_writable(target)
        self._storage.rename_folder(source, target)

    def copy(self, source: str, target: str) -> None:
        self.check_inside(source)
        self.check_writable(target)
        self._storage.copy(source, target)

    # ----------------------------------------------------------------------------------------------- data files

    def open_ranges(self, path: str) -> RangedFile:
        self.check_inside(path)
        return self._storage.open_ranges(path)

    def arrow_filesystem(self) -> pafs.FileSystem:
        return pafs.PyFileSystem(_ConfinedFiles(self, self._storage.arrow_filesystem()))


def _is_below(path: str, root: str) -> bool:
    """Whether a path of a remote storage is a folder or below it."""
    with contextlib.suppress(LakebedError):
        place, home = parse_location(path), parse_location(root)
        names = path.partition("://")[2].rstrip("/").split("/")
        if any(name in {"", ".", ".."} or not name.isprintable() or "\\" in name for name in names):
            return False
        inside = place.key == home.key or not home.key or place.key.startswith(f"{home.key}/")
        return (place.service, place.host) == (home.service, home.host) and inside
    return False


class _ConfinedFiles(DataFileHandler):
    """The same for Arrow, which opens data files itself: paths are checked here, then Arrow reads them."""

    def __init__(self, storage: ConfinedStorage, files: pafs.FileSystem) -> None:
        self._storage = storage
        self._files = files

    def get_type_name(self) -> str:
        return "lakebed-confined"

    def get_file_info(self, paths: list[str]) -> Any:
        for path in paths:
            self._storage.check_inside(path)
        return self._files.get_file_info(paths)

    def open_input_stream(self, path: str) -> Any:
        self._storage.check_inside(path)
        return self._files.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        self._storage.check_inside(path)
        return self._files.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._storage.check_writable(path)
        return self._files.open_output_stream(path, metadata=metadata)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._storage.check_writable(path)
        self._files.create_dir(path, recursive=recursive)

    def delete_file(self, path: str) -> None:
        self._storage.check_writable(path)
        self._files.delete_file(path)
