"""The files that a clean-up deletes, with their size and kind, and the function that deletes them.

Expiry, dropping a tag, rollback and orphan removal all return the same value, a :class:`Removal`: the exact files that
were deleted, or would be deleted in a dry run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final

from lakebed.errors import StorageError
from lakebed.format.human_text import count_text, list_lines, size_text, table_lines
from lakebed.format.printed import Printed
from lakebed.metadata.references.deletable import check_deletable
from lakebed.metadata.store import TableStore
from lakebed.storage import UnfinishedUpload, run_together

KINDS: Final = (
    "snapshot",
    "tag",
    "long-lived changelog",
    "data",
    "changelog",
    "index",
    "manifest",
    "index manifest",
    "manifest list",
    "statistics",
    "temporary",
    "unfinished branch",
    "unfinished upload",
)
"""Every kind of file that a clean-up deletes, in the order in which it deletes them."""

UNFINISHED_BRANCH: Final = "unfinished branch"
"""The one kind that is a folder: a branch whose creation or deletion was interrupted."""

UNFINISHED_UPLOAD: Final = "unfinished upload"
"""The parts of a multipart upload to an object store that was neither finished nor aborted."""

_THREADS: Final = 8
_REMOTE_THREADS: Final = 32
_BATCH: Final = 64
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class DoomedFile:
    """One file that a call deletes.

    Attributes:
        path: Where it is.
        size: Its size in bytes; -1 if it is not known.
        kind: What it is, one of :data:`KINDS`.
        upload: The upload, if it is an unfinished one.
    """

    path: str
    size: int
    kind: str
    upload: UnfinishedUpload | None = None

    def __str__(self) -> str:
        return self.path if self.size < 0 else f"{self.path} ({size_text(self.size)})"


@dataclass(frozen=True, slots=True, repr=False)
class Removal(Printed):
    """The files that a call deleted, or would delete in a dry run.

    Attributes:
        files: The files, in the order in which they are deleted.
        dry_run: Whether nothing was deleted.

    Example:
        >>> print(Removal((DoomedFile("t/a", 3, "data"), DoomedFile("t/b", 2048, "data")), dry_run=True))
        would delete 2 files, 2.0 KiB:
          data  2 files  2.0 KiB
        first files, below t:
          a (3 B)
          b (2.0 KiB)
    """

    files: tuple[DoomedFile, ...]
    dry_run: bool

    @property
    def count(self) -> int:
        """The number of files."""
        return len(self.files)

    @property
    def bytes(self) -> int:
        """The space that they take; files of unknown size count as empty."""
        return sum(max(file.size, 0) for file in self.files)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Returns the count and the bytes of each kind of file.

        Example:
            >>> Removal((DoomedFile("a", 3, "data"), DoomedFile("b", 4, "data")), dry_run=True).by_kind()
            {'data': (2, 7)}
        """
        totals: dict[str, tuple[int, int]] = {}
        for file in self.files:
            count, size = totals.get(file.kind, (0, 0))
            totals[file.kind] = (count + 1, size + max(file.size, 0))
        return totals

    def __str__(self) -> str:
        head = f"{'would delete' if self.dry_run else 'deleted'} {self.summary}{':' * bool(self.files)}"
        return "\n".join([head, *self.details])

    @property
    def summary(self) -> str:
        """The number of files and their size in a few words."""
        return f"{count_text(self.count, 'file')}, {size_text(self.bytes)}" if self.files else "no files"

    @property
    def details(self) -> list[str]:
        """Lines that show the kinds of files and the first paths."""
        if not self.files:
            return []
        kinds = [[kind, count_text(count, "file"), size_text(size)] for kind, (count, size) in self.by_kind().items()]
        lines = [f"  {line}" for line in table_lines(kinds, right=[1, 2])]
        first = self.files[:_SHOWN]
        folder = _common_folder(first)
        texts = [str(replace(file, path=file.path.removeprefix(f"{folder}/"))) for file in first]
        below = f", below {folder}" if folder else ""
        return [*lines, f"first files{below}:", *list_lines(texts, "file", total=self.count)]


def _common_folder(files: Sequence[DoomedFile]) -> str:
    """Returns the folder that all files lie below; empty text if there is none."""
    try:
        return posixpath.commonpath([posixpath.dirname(file.path) for file in files]).rstrip("/")
    except ValueError:  # some paths are absolute and some are not
        return ""


def delete_files(store: TableStore, files: Sequence[DoomedFile]) -> None:
    """Deletes files that nothing refers to, in parallel; tries all before it raises.

    Every path is checked first (:mod:`lakebed.metadata.references.deletable`). If one leads out of the table, nothing
    is deleted.
    """
    check_deletable(store, (file.path for file in files))
    storage = store.storage

    def delete(batch: Sequence[DoomedFile]) -> list[StorageError]:
        failures = []
        for file in batch:
            try:
                if file.upload is not None:
                    storage.abort_upload(file.upload)
                elif file.kind == UNFINISHED_BRANCH:
                    storage.delete_tree(file.path)
                else:
                    storage.delete(file.path)
            except StorageError as error:
                failures.append(error)
        return failures

    batches = list(_batches(files, 1 if storage.is_remote else _BATCH))
    threads = _REMOTE_THREADS if storage.is_remote else _THREADS
    failed = [error for part in run_together([partial(delete, batch) for batch in batches], threads) for error in part]
    if failed:
        raise StorageError(
            f"{len(failed)} of {len(files)} files that nothing refers to could not be deleted; the first error: "
            f"{failed[0]}. The table is intact; remove_orphan_files() deletes them later"
        ) from failed[0]


def _batches(files: Sequence[DoomedFile], size: int) -> Iterator[Sequence[DoomedFile]]:
    cuts = pairwise([*range(0, len(files), size), len(files)])
    return (files[start:end] for start, end in cuts)
