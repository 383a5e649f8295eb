"""What a clean-up takes away: files with their size and kind, and the act of deleting them.

Expiry, tag deletion, rollback and orphan removal all end in the same value, a :class:`Removal`: the exact files that
went, or that would go if this was a dry run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from lakebed.errors import StorageError
from lakebed.storage import Storage

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
)
"""Every kind of file that a clean-up takes away, in the order in which they go."""

UNFINISHED_BRANCH: Final = "unfinished branch"
"""The one kind that is a folder: what a branch left that was killed while it was made or dropped."""

_THREADS: Final = 8
_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class DoomedFile:
    """One file that a clean-up takes away; ``size`` in bytes, -1 while nobody looked."""

    path: str
    size: int
    kind: str


@dataclass(frozen=True, slots=True)
class Removal:
    """The files that went, or that would go in a dry run."""

    files: tuple[DoomedFile, ...]
    dry_run: bool

    @property
    def count(self) -> int:
        """How many files."""
        return len(self.files)

    @property
    def bytes(self) -> int:
        """How much space they take."""
        return sum(max(file.size, 0) for file in self.files)

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Count and bytes of each kind of file.

        >>> Removal((DoomedFile("a", 3, "data"), DoomedFile("b", 4, "data")), dry_run=True).by_kind()
        {'data': (2, 7)}
        """
        totals: dict[str, tuple[int, int]] = {}
        for file in self.files:
            count, size = totals.get(file.kind, (0, 0))
            totals[file.kind] = (count + 1, size + max(file.size, 0))
        return totals

    def __str__(self) -> str:
        verb = "would be removed" if self.dry_run else "removed"
        kinds = [f"  {kind:<20}{count:>10,} {size:>18,} bytes" for kind, (count, size) in self.by_kind().items()]
        return "\n".join([f"{self.count:,} files, {self.bytes:,} bytes {verb}", *kinds])


def delete_files(storage: Storage, files: Sequence[DoomedFile]) -> None:
    """Delete files that nothing refers to, in parallel; all are tried before a failure is raised."""

    def delete(batch: Sequence[DoomedFile]) -> list[StorageError]:
        failures = []
        for file in batch:
            try:
                if file.kind == UNFINISHED_BRANCH:
                    storage.delete_tree(file.path)
                else:
                    storage.delete(file.path)
            except StorageError as error:
                failures.append(error)
        return failures

    batches = list(_batches(files))
    if len(batches) < 2:
        failed = [error for batch in batches for error in delete(batch)]
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            failed = [error for failures in pool.map(delete, batches) for error in failures]
    if failed:
        raise StorageError(
            f"{len(failed)} of {len(files)} files that nothing refers to could not be deleted, the first because: "
            f"{failed[0]}. The table is sound; remove_orphan_files() takes them later"
        ) from failed[0]


def _batches(files: Sequence[DoomedFile]) -> Iterator[Sequence[DoomedFile]]:
    cuts = pairwise([*range(0, len(files), _BATCH), len(files)])
    return (files[start:end] for start, end in cuts)
