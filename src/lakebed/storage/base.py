"""The interface of a storage: the file operations that tables need.

Paths are strings with ``/`` between names. There are four ways to write a file, each with its own guarantee:

* ``write`` creates a file with a unique name (manifests, manifest lists). Readers open it only after it is complete.
  A file of that name is an error on the local disk; an object store would overwrite it.
* ``create_exclusive`` creates a file if the name is free (snapshots, schemas). Exactly one of several processes
  succeeds, and readers see the whole file or no file.
* ``replace`` creates or replaces a file (hints). Readers see the old or the new content.
* ``append`` adds to the end of a file (sidecars). Readers may see a part of the new content.

A file that was written survives the death of the process. It survives a power cut only after ``sync``, or if it was
created with a :class:`Sync`.

A missing file raises :class:`lakebed.errors.NotFoundError`. Any other failure raises
:class:`lakebed.errors.StorageError` with the path and the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow.fs as pafs


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file or folder in the listing of a folder; ``is_link``: it is a symbolic link to the file or folder."""

    name: str
    is_dir: bool
    size: int
    modified_millis: int
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class Sync:
    """Asks for a file that survives a power cut.

    Attributes:
        below: The folder whose own name is known to survive. All folders between it and the file are flushed.
        files: Files that the new file refers to. They are flushed before it gets its name.
    """

    below: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """A multipart upload that was neither finished nor aborted; its parts take space, but there is no file."""

    path: str
    upload_id: str
    began_millis: int


class RangedFile(Protocol):
    """A file of a remote storage of which ranges are requested together. It is a binary Python file to read."""

    def prefetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Requests ranges, each a start and an end, at the same time, and holds them."""

    def fork(self) -> RangedFile:
        """Returns the same file with a position of its own, which holds only the end of the file."""


class Storage(Protocol):
    """The operations of a storage; the module docstring describes the guarantees of writes.

    Attributes:
        is_remote: Whether a request takes milliseconds, so that independent ones should run at the same time.
        can_rename: Whether ``rename_folder`` exists and is atomic. Where it does not, folders are only prefixes of
            the names of files: an empty folder does not exist.
        can_append: Whether ``append`` exists.
        has_ranges: Whether ``open_ranges`` exists.
    """

    is_remote: bool
    can_rename: bool
    can_append: bool
    has_ranges: bool

    def read(self, path: str) -> bytes:
        """Returns the content of a file."""

    def read_stamped(self, path: str) -> tuple[bytes, str | None]:
        """Returns the content of a file and its version token, as :meth:`stamp` returns it, in one request.

        The token is never newer than the content.
        """

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Returns ``length`` bytes from ``offset``, or fewer at the end of the file."""

    def exists(self, path: str) -> bool:
        """Returns whether a file exists; a folder counts too on storages that have folders."""

    def is_link(self, path: str) -> bool:
        """Returns whether a path is a symbolic link; always ``False`` on a storage that has none."""

    def size(self, path: str) -> int:
        """Returns the size of a file in bytes."""

    def stamp(self, path: str) -> str | None:
        """Returns a version token that changes when the file is replaced; ``None`` if the file does not exist."""

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        """Returns the files and folders in a folder; empty if the folder does not exist.

        Names that start with a dot are left out unless ``hidden`` is set.
        """

    def list_tree(self, path: str) -> Iterable[tuple[str, FileInfo]]:
        """Returns all files below a folder, hidden ones too, with their whole paths."""

    def write(self, path: str, data: bytes) -> None:
        """Creates a file that does not exist yet, and its folders."""

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> bool:
        """Creates a file if the name is free; returns ``False`` if it already exists. Atomic between processes.

        ``still`` is called after the content was written to a temporary file and right before the file gets its name.
        If it returns ``False``, the file is not created. If another process renames the folder after that call, the
        create fails too. So a commit to a dropped table never appears in a new table of the same name.

        With ``sync`` the file survives a power cut once the call has returned. Its content and the files of ``sync``
        are flushed before ``still`` is called, so after a power cut the file is whole or not there.
        """

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> None:
        """Creates or replaces a file atomically.

        With ``gap`` the file may be missing for a moment, if that is cheaper. With ``sync`` the new content survives
        a power cut once the call has returned.
        """

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """Makes files and folders survive a power cut, with their names in all folders up to ``below``.

        A path that does not exist is skipped. Flush the folder of a deleted file to make the deletion survive.
        """

    def append(self, path: str, data: bytes) -> None:
        """Adds to the end of a file. Creates the file and its folder if needed, but no folder above that.

        Data that several processes append at the same time is stored in any order, but never interleaved. A storage
        without such an operation raises an error.
        """

    def delete(self, path: str) -> None:
        """Deletes a file; does nothing if it does not exist."""

    def delete_many(self, paths: Sequence[str]) -> None:
        """Deletes files; those that do not exist are skipped. Object stores take a thousand in one request."""

    def delete_tree(self, path: str) -> None:
        """Deletes a folder with its content; does nothing if it does not exist."""

    def delete_folder_markers(self, path: str) -> None:
        """Deletes the empty objects with which other engines mark a folder and those below it, on object stores."""

    def unfinished_uploads(self, path: str) -> Iterable[UnfinishedUpload]:
        """Returns the multipart uploads below a folder that were neither finished nor aborted, on object stores."""

    def abort_upload(self, upload: UnfinishedUpload) -> None:
        """Deletes the parts of a multipart upload; does nothing if it was finished meanwhile."""

    def delete_empty_folder(self, path: str) -> bool:
        """Deletes a folder if it is empty; returns ``False`` if it is not empty or does not exist."""

    def make_folder(self, path: str) -> None:
        """Creates a folder and its parents."""

    def rename_folder(self, source: str, target: str) -> None:
        """Renames a folder; the target must not exist."""

    def copy(self, source: str, target: str) -> None:
        """Copies a file; on object stores the bytes do not come through this process."""

    def open_ranges(self, path: str) -> RangedFile:
        """Opens a file whose ranges can be requested together; only on storages with ``has_ranges``."""

    def arrow_filesystem(self) -> pafs.FileSystem:
        """Returns the pyarrow file system that opens the same paths, for Parquet."""
