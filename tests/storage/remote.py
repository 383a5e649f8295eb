# ruff: noqa: ARG002 - the arguments are those of a storage
"""A storage on the local disk that behaves and counts like an object store.

Every method reports its request (:func:`lakebed.storage.round_trips.note_request`). There is no rename and no append,
and folders exist only as prefixes of files. Data files are opened by Arrow and are not counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from lakebed import Lake
from lakebed.errors import StorageError, UnsupportedError
from lakebed.lake import CATALOG_NAME
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.storage import FileInfo, LocalStorage, Sync, UnfinishedUpload, run_all
from lakebed.storage.round_trips import note_request

AT_ONCE = 1000
"""How many files an object store lists or deletes with one request."""


class Remote(LocalStorage):
    """The local disk as an object store."""

    is_remote = True
    can_rename = False
    can_append = False

    def read(self, path: str) -> bytes:
        note_request("get", path)
        return super().read(path)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        note_request("get", path)
        return super().read_range(path, offset, length)

    def read_stamped(self, path: str) -> tuple[bytes, str | None]:
        note_request("get", path)
        stamp = super().stamp(path)
        return super().read(path), stamp

    def exists(self, path: str) -> bool:
        note_request("head", path)
        return os.path.isfile(path)  # noqa: PTH113 - paths are strings here

    def is_link(self, path: str) -> bool:
        return False

    def size(self, path: str) -> int:
        note_request("head", path)
        return super().size(path)

    def stamp(self, path: str) -> str | None:
        note_request("head", path)
        return super().stamp(path) if os.path.isfile(path) else None  # noqa: PTH113

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        note_request("list", path)
        found = super().list(path, hidden=hidden)
        return [info for info in found if not info.is_dir or _has_files(f"{path}/{info.name}")]

    def write(self, path: str, data: bytes) -> None:
        note_request("put", path)
        super().write(path, data)

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> bool:
        if still is not None and not still():
            return False
        note_request("put", path)
        return super().create_exclusive(path, data)

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:
        note_request("put", path)
        super().replace(path, data)

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        pass

    def append(self, path: str, data: bytes) -> None:
        raise StorageError(f"cannot append to {path}: an object store has no append")

    def delete(self, path: str) -> None:
        note_request("delete", path)
        super().delete(path)

    def list_tree(self, path: str) -> Iterator[tuple[str, FileInfo]]:
        found = sorted(LocalStorage().list_tree(path))  # whose folders are not requests
        for _ in range(0, max(len(found), 1), AT_ONCE):
            note_request("list", path)
        yield from found

    def delete_many(self, paths: Sequence[str]) -> None:
        batches = [paths[start : start + AT_ONCE] for start in range(0, len(paths), AT_ONCE)]
        run_all(self, [partial(self._delete_batch, batch) for batch in batches])

    def _delete_batch(self, paths: Sequence[str]) -> None:
        note_request("delete", f"{paths[0]} and {len(paths) - 1} more")
        for path in paths:
            super().delete(path)

    def delete_tree(self, path: str) -> None:
        while found := [name for name, _ in self.list_tree(path)]:
            self.delete_many(found)
        self.delete_folder_markers(path)

    def delete_folder_markers(self, path: str) -> None:
        note_request("list", path)

    def unfinished_uploads(self, path: str) -> tuple[UnfinishedUpload, ...]:
        note_request("list", path)
        return ()

    def copy(self, source: str, target: str) -> None:
        note_request("copy", target)
        super().copy(source, target)

    def delete_empty_folder(self, path: str) -> bool:
        return False

    def rename_folder(self, source: str, target: str) -> None:
        raise UnsupportedError(f"cannot rename {source}: an object store has no folders")


def _has_files(folder: str) -> bool:
    return any(names for _, _, names in os.walk(folder))


def open_remote(folder: str | Path) -> Lake:
    """A warehouse with a database ``db`` in such a storage, as a new process sees it: with empty caches."""
    SHARED_CACHE.clear()
    Path(folder, "db.db").mkdir(parents=True, exist_ok=True)
    Path(folder, "db.db", "keep").touch()
    return Lake(str(folder), Remote(), {}, None, CATALOG_NAME)
