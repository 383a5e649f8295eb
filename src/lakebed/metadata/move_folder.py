"""Deletes and moves the folder of a table or branch on storages that cannot rename folders (object stores).

A table or branch exists as long as it has a schema. So the schemas are deleted first and written last:

* :func:`delete_folder` first writes a mark, then deletes the schemas. From then on no reader finds the table, and a
  commit that is on its way withdraws its snapshot. Then it deletes all other files, snapshots last, then the mark. If
  the process dies, the mark remains: no new table is created there, and the next drop continues.
* :func:`move_folder` copies all files but the schemas within the storage, and stores the schemas in a mark in the
  target. It deletes the schemas of the source, copies what commits added meanwhile, and writes the schemas of the
  target. If the process dies, calling it again continues. A commit that is on its way at this moment fails, although
  the target may contain it.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from lakebed.errors import AlreadyExistsError, CorruptError, NotFoundError
from lakebed.format.paths import SIDECAR_FOLDER
from lakebed.storage import FileInfo, Storage, run_all

_DELETING: Final = f"{SIDECAR_FOLDER}/deleting"
_MOVING: Final = f"{SIDECAR_FOLDER}/moving"
_LAST: Final = ("snapshot/", "tag/", "branch/")


def is_being_deleted(storage: Storage, root: str) -> bool:
    """Returns whether the deletion of a folder began and did not end."""
    return storage.exists(f"{root}/{_DELETING}")


def is_being_moved(storage: Storage, source: str, target: str) -> bool:
    """Returns whether a move of these two folders began and did not end."""
    found = _read_mark(storage, target)
    return found is not None and found[0] == source


def delete_folder(storage: Storage, root: str) -> None:
    """Deletes the folder of a table or branch, so that it disappears at once and for good."""
    storage.replace(f"{root}/{_DELETING}", b"")
    storage.delete_many(list(_files(storage, f"{root}/schema")))
    _delete_rest(storage, root)


def _delete_rest(storage: Storage, root: str) -> None:
    names = [path for path in _files(storage, root) if not path.startswith(f"{root}/schema/")]
    names = [path for path in names if path != f"{root}/{_DELETING}"]
    last = tuple(f"{root}/{part}" for part in _LAST)
    storage.delete_many([path for path in names if not path.startswith(last)])
    storage.delete_many([path for path in names if path.startswith(last)])
    storage.delete_folder_markers(root)
    storage.delete(f"{root}/{_DELETING}")


def move_folder(storage: Storage, source: str, target: str) -> None:
    """Moves the folder of a table or branch. The target must not exist, unless an interrupted move left it.

    Raises:
        AlreadyExistsError: There is a table in the target, or another move into it is not finished.
        NotFoundError: There is no table in the source.
    """
    mark = _read_mark(storage, target)
    if mark is None:
        mark = _begin(storage, source, target)
    elif mark[0] != source:
        raise AlreadyExistsError(f"cannot rename {source} to {target}: {mark[0]} is being renamed to it")
    _, schemas = mark
    copied = _copy(storage, source, target, {})
    storage.delete_many([f"{source}/schema/{name}" for name in schemas])
    _copy(storage, source, target, copied)
    for name in sorted(schemas, key=lambda name: (len(name), name), reverse=True):  # the newest first: readers use it
        storage.create_exclusive(f"{target}/schema/{name}", schemas[name].encode())
    storage.delete(f"{target}/{_MOVING}")
    delete_folder(storage, source)


def _begin(storage: Storage, source: str, target: str) -> tuple[str, dict[str, str]]:
    if storage.list(f"{target}/schema"):
        raise AlreadyExistsError(f"cannot rename {source}: {target} already exists")
    paths = list(_files(storage, f"{source}/schema"))
    if not paths:
        raise NotFoundError(f"cannot rename {source}: it does not exist")
    texts = run_all(storage, [partial(storage.read, path) for path in paths])
    schemas = {path.rpartition("/")[2]: text.decode() for path, text in zip(paths, texts, strict=True)}
    text = json.dumps({"source": source, "schemas": schemas})
    if not storage.create_exclusive(f"{target}/{_MOVING}", text.encode()):
        raise AlreadyExistsError(f"cannot rename {source}: another table is being renamed to {target}")
    return source, schemas


def _read_mark(storage: Storage, target: str) -> tuple[str, dict[str, str]] | None:
    path = f"{target}/{_MOVING}"
    try:
        found = json.loads(storage.read(path))
        return str(found["source"]), dict(found["schemas"])
    except NotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise CorruptError(f"{path} is damaged; delete it if no table is being renamed") from None


def _copy(storage: Storage, source: str, target: str, copied: dict[str, FileInfo]) -> dict[str, FileInfo]:
    """Copies the files that are new or changed since they were copied, without schemas; returns all files."""
    found = _files(storage, source)
    own = (f"{source}/schema/", f"{source}/{_MOVING}", f"{source}/{_DELETING}")
    wanted = {path: info for path, info in found.items() if not path.startswith(own)}
    run_all(
        storage,
        [
            partial(storage.copy, path, target + path.removeprefix(source))
            for path, info in wanted.items()
            if copied.get(path) != info
        ],
    )
    return wanted


def _files(storage: Storage, root: str) -> dict[str, FileInfo]:
    return dict(storage.list_tree(root))
