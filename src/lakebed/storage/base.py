"""What a table needs of a storage, and nothing more.

Paths are plain strings with ``/`` between names. Four ways to write, each with its own promise:

* ``write`` - a file with a name nobody else uses (manifests, lists); readers never look at it before it is complete.
* ``create_exclusive`` - exactly one of many processes creates the name, readers see all of it or nothing
  (snapshots, schemas).
* ``replace`` - the name exists before and after, readers see the old or the new content (hints).
* ``append`` - readers see the old content and some or all of what follows it (sidecars, which may be wrong).

A missing file is :class:`lakebed.errors.NotFoundError`; whatever the storage refuses is
:class:`lakebed.errors.StorageError` with the path and the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow.fs as pafs


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One name in a folder."""

    name: str
    is_dir: bool
    size: int
    modified_millis: int


class Storage(Protocol):
    """The operations a table store is built from."""

    def read(self, path: str) -> bytes:
        """All bytes of a file."""

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only at the end of the file."""

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""

    def size(self, path: str) -> int:
        """Bytes of a file."""

    def stamp(self, path: str) -> str | None:
        """A text that another file under the same name would not have; ``None`` if there is none."""

    def list(self, path: str, *, hidden: bool = False) -> list[FileInfo]:
        """Names in a folder, hidden ones only if asked for; an absent folder has none."""

    def write(self, path: str, data: bytes) -> None:
        """Write a file under a fresh name, with its folders."""

    def create_exclusive(self, path: str, data: bytes, still: Callable[[], bool] | None = None) -> bool:
        """Create a file if the name is free; ``False`` if it was taken. Atomic between processes.

        ``still`` is asked when the content is ready beside the name, right before the name is taken: if it says no, the
        file is not created. Whoever moves the folder away after that makes the create fail, so a file that belongs to a
        table never appears in another one that got the table's name.
        """

    def replace(self, path: str, data: bytes, *, gap: bool = False) -> None:
        """Put new content under a name, atomically; with ``gap`` there may be none for a moment, where that is cheaper."""

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file, making it and its folder, but no folder above that, if they are not there.

        What several processes add at once may come in any order, but does not mix. A storage that cannot do this refuses.
        """

    def delete(self, path: str) -> None:
        """Remove a file; an absent one is fine."""

    def delete_tree(self, path: str) -> None:
        """Remove a folder and everything below; an absent one is fine."""

    def delete_empty_folder(self, path: str) -> bool:
        """Remove a folder if it is empty; ``False`` if it holds something or is not there."""

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it."""

    def rename_folder(self, source: str, target: str) -> None:
        """Give a folder another name; the target must not exist."""

    def arrow_filesystem(self) -> pafs.FileSystem:
        """The pyarrow file system on which the same paths work, for Parquet."""
