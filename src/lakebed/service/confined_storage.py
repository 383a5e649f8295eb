"""The storage of a service: it sees only files below one folder, and writes only what is allowed.

The folder is the warehouse while a table is looked up, and the table itself afterwards.

The operating system resolves every path, so ``..``, links and paths in manifests cannot lead out of the folder. Files
outside are not listed, and reading one raises :class:`~lakebed.errors.NotFoundError`. A write that is not allowed
raises :class:`~lakebed.errors.StorageError`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NoReturn

import pyarrow.fs as pafs

from lakebed.errors import NotFoundError, StorageError
from lakebed.format.paths import HISTORY_PREFIX, SIDECAR_FOLDER
from lakebed.storage import FileInfo, LocalStorage, Sync

_LONGEST_NAME: Final = 255
_LONGEST_PATH: Final = 4095
_HISTORY_INDEX: Final = f"/{SIDECAR_FOLDER}/{HISTORY_PREFIX}"


class Writes(Enum):
    """What may be written."""

    NOTHING = "nothing"
    HISTORY_INDEX = "the history index"
    EVERYTHING = "everything"


class ConfinedStorage(LocalStorage):
    """The local disk below one folder."""

    def __init__(self, root: str, writes: Writes) -> None:
        self._root = os.path.realpath(root)
        self._writes = writes

    def below(self, folder: str) -> ConfinedStorage:
        """Returns the same storage for one folder of it, such as a table."""
        self.check_inside(folder)
        return ConfinedStorage(folder, self._writes)

    def is_inside(self, path: str) -> bool:
        """Whether a path with all links resolved is below the root; ``False`` for an invalid file name."""
        try:
            if len(path) > _LONGEST_PATH or max(map(len, path.encode().split(b"/"))) > _LONGEST_NAME:
                return False
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
        return super().read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        self.check_inside(path)
        return super().read_range(path, offset, length)

    def exists(self, path: str) -> bool:
        return self.is_inside(path) and super().exists(path)

    def size(self, path: str) -> int:
        self.check_inside(path)
        return super().size(path)

    def stamp(self, path: str) -> str | None:
        return super().stamp(path) if self.is_inside(path) else None

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        if not self.is_inside(path):
            return []
        found = super().list(path, hidden=hidden)
        outside = self._links_out(path)
        return [info for info in found if info.name not in outside] if outside else found

    def _links_out(self, path: str) -> frozenset[str]:
        """Returns the links in a folder that lead out of the root."""
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            links = [entry for entry in entries if entry.is_symlink()]
            return frozenset(entry.name for entry in links if not self.is_inside(entry.path))
        return frozenset()

    # ------------------------------------------------------------------------------------------------- writing

    def write(self, path: str, data: bytes) -> None:
        self.check_writable(path)
        super().write(path, data)

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> bool:
        self.check_writable(path)
        return super().create_exclusive(path, data, still, sync=sync)

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:
        self.check_writable(path)
        super().replace(path, data, gap=gap, sync=sync)

    def append(self, path: str, data: bytes) -> None:
        self.check_writable(path)
        super().append(path, data)

    def delete(self, path: str) -> None:
        self.check_writable(path)
        super().delete(path)

    def delete_tree(self, path: str) -> None:
        self.check_writable(path)
        super().delete_tree(path)

    def delete_empty_folder(self, path: str) -> bool:
        self.check_writable(path)
        return super().delete_empty_folder(path)

    def make_folder(self, path: str) -> None:
        self.check_writable(path)
        super().make_folder(path)

    def rename_folder(self, source: str, target: str) -> None:
        self.check_writable(source)
        self.check_writable(target)
        super().rename_folder(source, target)

    def arrow_filesystem(self) -> pafs.FileSystem:
        return pafs.PyFileSystem(_ConfinedFiles(self))


class _ConfinedFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """The same for Arrow, which opens data files itself: paths are checked here, then Arrow reads them."""

    def __init__(self, storage: ConfinedStorage) -> None:
        self._storage = storage
        self._files = pafs.LocalFileSystem()

    def get_type_name(self) -> str:
        return "lakebed-confined"

    def normalize_path(self, path: str) -> str:
        return path

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
