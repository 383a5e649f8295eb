"""The file systems that Arrow gets, so that it opens data files itself."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.fs as pafs

from lakebed.errors import NotFoundError, StorageError
from lakebed.storage.base import Storage


class DataFileHandler(pafs.FileSystemHandler):  # type: ignore[misc]
    """A file system that refuses what never happens to the data files of a table."""

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info_selector(self, selector: Any) -> NoReturn:
        _refuse("list", selector.base_dir)

    def delete_dir(self, path: str) -> NoReturn:
        _refuse("delete", path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _refuse("empty", path)

    def delete_root_dir_contents(self) -> NoReturn:
        _refuse("empty", "/")

    def move(self, src: str, dest: str) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _refuse("move", src)

    def copy_file(self, src: str, dest: str) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _refuse("copy", src)

    def open_append_stream(self, path: str, metadata: Any) -> NoReturn:  # noqa: ARG002 - Arrow's signature
        _refuse("append to", path)


def _refuse(action: str, path: str) -> NoReturn:
    raise StorageError(f"cannot {action} {path}: tables are never changed this way")


class RemoteFiles(DataFileHandler):
    """Opens the data files of a remote storage for Arrow. ``open_writer`` opens a file to write."""

    def __init__(self, storage: Storage, open_writer: Callable[[str], io.RawIOBase]) -> None:
        self._storage = storage
        self._open_writer = open_writer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteFiles) and self._storage == other._storage

    def __hash__(self) -> int:
        return hash(self._storage)

    def get_type_name(self) -> str:
        return "lakebed-remote"

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
        return pa.PythonFile(self._open_writer(path), mode="w")

    def create_dir(self, path: str, recursive: bool) -> None:
        """Does nothing: folders are prefixes, or made with their first file."""

    def delete_file(self, path: str) -> None:
        self._storage.delete(path)
