"""Which files a clean-up may delete: those in folders of the table itself.

Every path is checked again right before files are deleted, however it was built. It must be below the table, or below a
root for external files that the table declares. No folder on the way from there may be a symbolic link, because a link
may lead to the folder of another table. The table's own folder, and folders above it, may be links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lakebed.errors import CorruptError
from lakebed.metadata.external_paths import all_declared_roots
from lakebed.metadata.store import TableStore
from lakebed.storage import Storage


def check_deletable(store: TableStore, paths: Iterable[str]) -> None:
    """Raises CorruptError if one of these files must not be deleted; nothing is deleted then."""
    folders: set[str] = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name in {"", ".", ".."} or "\x00" in path:
            raise CorruptError(f"{path!r} of table {store.name} is not the path of a file; nothing was deleted")
        folders.add(folder)
    check_deletable_folders(store, folders)


def check_deletable_folders(store: TableStore, folders: Iterable[str]) -> None:
    """Raises CorruptError if the files of one of these folders must not be deleted."""
    roots: tuple[str, ...] = (store.paths.root,)
    known: dict[str, bool] = {}
    for folder in sorted(set(folders)):
        root = _root_of(folder, roots)
        if root is None and len(roots) == 1:
            roots = (*roots, *all_declared_roots(store))  # reads schemas, so only where it is needed
            root = _root_of(folder, roots)
        if root is None:
            raise CorruptError(
                f"table {store.name} refers to files in {folder}, which is outside of the table; nothing was deleted "
                "there. verify() names the damaged metadata"
            )
        link = linked_folder(store.storage, root, folder, known)
        if link is not None:
            raise CorruptError(
                f"files of table {store.name} in {folder} were not deleted: {link} is a symbolic link, and a clean-up "
                "does not follow links. Replace the link by the folder itself"
            )


def linked_folder(storage: Storage, root: str, folder: str, known: dict[str, bool] | None = None) -> str | None:
    """Returns the first folder below ``root``, on the way to ``folder``, that is a symbolic link; ``None`` without one.

    ``known`` remembers the folders of earlier calls.
    """
    memory: dict[str, bool] = {} if known is None else known
    for place in _below(root, folder):
        if place not in memory:
            memory[place] = storage.is_link(place)
        if memory[place]:
            return place
    return None


def check_own_folders(store: TableStore) -> None:
    """Raises CorruptError if a metadata folder of the branch is a link, so that its files must not be deleted."""
    paths = store.paths
    own = (paths.snapshots, paths.tags, paths.changelogs, paths.schemas, paths.manifests, paths.indexes)
    check_deletable_folders(store, own)


def _root_of(folder: str, roots: Iterable[str]) -> str | None:
    if ".." in folder.split("/"):
        return None
    return next((root for root in roots if folder == root or folder.startswith(f"{root}/")), None)


def _below(root: str, folder: str) -> Iterator[str]:
    place = root
    for part in folder.removeprefix(root).strip("/").split("/"):
        if part:
            place = f"{place}/{part}"
            yield place
