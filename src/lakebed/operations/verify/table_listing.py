"""Lists every file of a table, with one listing per folder and no request per file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.storage import FileInfo, Storage

I64: TypeAlias = npt.NDArray[np.int64]

# These folders are read file by file when a branch is read.
OWN_FOLDERS: Final = frozenset({"schema", "snapshot", "tag", "changelog", "consumer", "branch"})


@dataclass(frozen=True)
class Listing:
    """The files of some folders as arrays: path, size and modification time."""

    paths: pa.Array
    sizes: I64
    modified_millis: I64

    def find(self, paths: pa.Array) -> I64:
        """Returns the position of each path in the listing; -1 for missing files."""
        return np.asarray(pc.index_in(paths, value_set=self.paths).fill_null(-1), np.int64)

    def with_folders(self, storage: Storage, folders: Iterable[str]) -> Listing:
        """Returns the listing with more folders, of files outside of the table."""
        more = _collected((folder, info) for folder in folders for info in storage.list(folder) if not info.is_dir)
        return Listing(
            pa.concat_arrays([self.paths, more.paths]),
            np.concatenate([self.sizes, more.sizes]),
            np.concatenate([self.modified_millis, more.modified_millis]),
        )


def list_table(storage: Storage, root: str) -> Listing:
    """Returns all files of a table except the small metadata files of its branches.

    Readers follow symbolic links, so links to folders are followed too, but not links below a link: these could form a
    circle.
    """
    return _collected(_walk(storage, root))


def _walk(storage: Storage, root: str) -> Iterator[tuple[str, FileInfo]]:
    folders = [(root, False)]
    while folders:
        folder, linked = folders.pop()
        for info in storage.list(folder):
            if not info.is_dir:
                yield folder, info
            elif (folder != root or info.name not in OWN_FOLDERS) and not (linked and info.is_link):
                folders.append((f"{folder}/{info.name}", linked or info.is_link))


def _collected(found: Iterable[tuple[str, FileInfo]]) -> Listing:
    rows = [(f"{folder}/{info.name}", info.size, info.modified_millis) for folder, info in found]
    paths, sizes, modified = zip(*rows, strict=True) if rows else ((), (), ())
    return Listing(pa.array(paths, pa.string()), np.array(sizes, np.int64), np.array(modified, np.int64))
