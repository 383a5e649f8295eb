"""Every file below a table's root, by listing each folder once; nothing is asked for file by file."""

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

# Small folders of a branch: read file by file when a branch is read.
OWN_FOLDERS: Final = frozenset({"schema", "snapshot", "tag", "changelog", "consumer", "branch"})


@dataclass(frozen=True)
class Listing:
    """The files of some folders: full path, size and time of the last change, all in one order."""

    paths: pa.Array
    sizes: I64
    modified_millis: I64

    def find(self, paths: pa.Array) -> I64:
        """Where each path is in the listing; -1 for those that are not there."""
        return np.asarray(pc.index_in(paths, value_set=self.paths).fill_null(-1), np.int64)

    def with_folders(self, storage: Storage, folders: Iterable[str]) -> Listing:
        """The same listing and some more folders, of files that lie outside of the table."""
        more = _collected((folder, info) for folder in folders for info in storage.list(folder) if not info.is_dir)
        return Listing(
            pa.concat_arrays([self.paths, more.paths]),
            np.concatenate([self.sizes, more.sizes]),
            np.concatenate([self.modified_millis, more.modified_millis]),
        )


def list_table(storage: Storage, root: str) -> Listing:
    """All files of a table but the small ones of its branches."""
    return _collected(_walk(storage, root))


def _walk(storage: Storage, root: str) -> Iterator[tuple[str, FileInfo]]:
    folders = [root]
    while folders:
        folder = folders.pop()
        for info in storage.list(folder):
            if not info.is_dir:
                yield folder, info
            elif folder != root or info.name not in OWN_FOLDERS:
                folders.append(f"{folder}/{info.name}")


def _collected(found: Iterable[tuple[str, FileInfo]]) -> Listing:
    rows = [(f"{folder}/{info.name}", info.size, info.modified_millis) for folder, info in found]
    paths, sizes, modified = zip(*rows, strict=True) if rows else ((), (), ())
    return Listing(pa.array(paths, pa.string()), np.array(sizes, np.int64), np.array(modified, np.int64))
