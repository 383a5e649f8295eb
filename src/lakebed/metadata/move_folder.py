"""Deletes and moves the folder of a table or branch on storages that cannot rename folders (object stores).

A table or branch exists as long as it has a schema. So the schemas are deleted first and written last:

* :func:`delete_folder` first writes a mark, then deletes the schemas. From then on no reader finds the table, and a
  commit that is on its way withdraws its snapshot. Then it deletes all other files, snapshots last, then the mark. If
  the process dies, the mark remains: no new table is created there, and the next drop continues.
* :func:`move_folder` stores the schemas in a mark in the target, and copies all other files within the storage. It
  deletes the schemas of the source, copies and deletes what changed meanwhile until nothing changes any more, and
  writes the schemas of the target. Then it deletes the source and the mark. If the process dies, calling it again
  continues. As long as neither folder has all schemas, nothing is created or dropped there: only the move goes on. A
  commit that is on its way at this moment finds a mark in the source and raises an error, although the target may
  contain it.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Final

from lakebed.errors import AlreadyExistsError, CorruptError, NotFoundError
from lakebed.format.paths import SCHEMA_PREFIX, SIDECAR_FOLDER, id_of
from lakebed.storage import FileInfo, Storage, run_all

_DELETING: Final = f"{SIDECAR_FOLDER}/deleting"
_MOVING: Final = f"{SIDECAR_FOLDER}/moving"
CLAIM: Final = f"{SIDECAR_FOLDER}/created"
"""The file of a branch that says who creates it, and with which content."""
_LEAVING: Final = f"{SIDECAR_FOLDER}/leaving"
_LAST: Final = ("snapshot/", "tag/", "branch/")


def is_being_deleted(storage: Storage, root: str) -> bool:
    """Returns whether the deletion of a folder began and did not end."""
    return storage.exists(f"{root}/{_DELETING}")


def moving_from(storage: Storage, target: str) -> str | None:
    """Returns the folder that is being moved to this one, if a move began and did not end."""
    found = _read_mark(storage, target)
    return None if found is None else found[0]


def is_leaving(storage: Storage, root: str) -> bool:
    """Returns whether a folder is being moved to another name, so that a commit to it may go there."""
    return storage.exists(f"{root}/{_LEAVING}")


def moving_to(storage: Storage, source: str) -> str | None:
    """Returns the folder that alone has the schemas of a table that was here, if a move there did not end."""
    text = _read(storage, f"{source}/{_LEAVING}")
    if text is None:
        return None
    target = text.decode()
    mark = _read_mark(storage, target)
    is_unfinished = mark is not None and mark[0] == source and not _is_complete(storage, target, mark[1])
    return target if is_unfinished else None


def delete_folder(storage: Storage, root: str) -> None:
    """Deletes the folder of a table or branch, so that it disappears at once and for good.

    Of several calls at the same time, one that is late stops when another one has finished: a new table may be there.
    """
    mark = f"{root}/{_DELETING}"
    storage.create_exclusive(mark, str(uuid.uuid4()).encode())
    token = _read(storage, mark)
    names = _files(storage, root)
    schemas = sorted(path for path in names if _is_schema(root, path))
    others = names.keys() - {mark, *schemas}
    last = {path for path in others if path.startswith(tuple(f"{root}/{part}" for part in _LAST))}
    rest = others - last
    for group in (schemas, rest, last):
        if token is None or _read(storage, mark) != token:
            return
        storage.delete_many(sorted(group))
    left = [path for path in _files(storage, root) if path != mark]  # of commits that were on their way
    if _read(storage, mark) == token:
        storage.delete_many(left)
        storage.delete_folder_markers(root)
        storage.delete(mark)


def move_folder(storage: Storage, source: str, target: str) -> None:
    """Moves the folder of a table or branch. The target must not exist, unless an interrupted move left it.

    Raises:
        AlreadyExistsError: There is a table in the target, or another move into it is not finished.
        NotFoundError: There is no table in the source.
    """
    mark = _read_mark(storage, target)
    if mark is not None and mark[0] != source:
        raise AlreadyExistsError(f"cannot rename {source} to {target}: {mark[0]} is being renamed to it")
    if mark is not None and _is_complete(storage, target, mark[1]):
        _finish(storage, source, target)
        return
    if mark is None or _is_abandoned(storage, source, target, mark[1]):
        mark = _begin(storage, source, target)
    _, schemas = mark
    copied = _mirror(storage, source, target, {})
    storage.replace(f"{source}/{_LEAVING}", target.encode())
    schemas = _take_schemas(storage, source, target, schemas)
    while (now := _mirror(storage, source, target, copied)) != copied:
        copied = now
    for name in sorted(schemas, key=_order_of_schema):
        storage.create_exclusive(f"{target}/{name}", schemas[name].encode())
    delete_folder(storage, source)
    storage.delete(f"{target}/{_MOVING}")


def _is_complete(storage: Storage, target: str, schemas: Mapping[str, str]) -> bool:
    """Returns whether all schemas of the target are written: the table is there, and readers and writers use it."""
    return storage.exists(f"{target}/{max(schemas, key=_order_of_schema)}")


def _finish(storage: Storage, source: str, target: str) -> None:
    """Deletes what an interrupted move left in the source. A table that was created there since then is kept."""
    is_new = bool(storage.list(f"{source}/schema"))
    if not is_new and next(iter(storage.list_tree(source)), None) is not None:
        delete_folder(storage, source)
    storage.delete(f"{target}/{_MOVING}")
    if is_new:
        raise AlreadyExistsError(f"cannot rename {source}: {target} already exists")


def _is_abandoned(storage: Storage, source: str, target: str, schemas: Mapping[str, str]) -> bool:
    """Returns whether the source was dropped after a move that died; deletes what the move copied."""
    if is_leaving(storage, source):
        return False  # all files are copied, and no new table is created in the source
    here = {path.removeprefix(f"{source}/"): path for path in _files(storage, source) if _is_schema(source, path)}
    if here and all(_read(storage, here[name]) == text.encode() for name, text in schemas.items() if name in here):
        return False
    delete_folder(storage, target)
    return True


def _take_schemas(storage: Storage, source: str, target: str, schemas: dict[str, str]) -> dict[str, str]:
    """Deletes the schemas of the source. Those that were added since the move began are noted in the mark first."""
    while found := [path for path in _files(storage, source) if _is_schema(source, path)]:
        added = {path.removeprefix(f"{source}/"): _read(storage, path) for path in found}
        new = {name: text.decode() for name, text in added.items() if text is not None and name not in schemas}
        if new:
            schemas = {**schemas, **new}
            storage.replace(f"{target}/{_MOVING}", _mark(source, schemas))
        storage.delete_many(found)
    return schemas


def _mark(source: str, schemas: Mapping[str, str]) -> bytes:
    return json.dumps({"source": source, "schemas": schemas}).encode()


def _order_of_schema(name: str) -> tuple[bool, int]:
    """Branches come before the table itself, and the newest schema first, because readers use it."""
    return name.startswith("schema/"), -(id_of(name.rpartition("/")[2], SCHEMA_PREFIX) or 0)


def delete_remains(storage: Storage, root: str) -> bool:
    """Deletes what an interrupted call left in a folder without a schema; returns ``False`` if there is nothing.

    Raises:
        AlreadyExistsError: It is the source or the target of a move that has to be called again: the files are needed.
    """
    names = [info.name for info in storage.list(root)]
    marks = [info.name for info in storage.list(f"{root}/{SIDECAR_FOLDER}", hidden=True)]
    if "schema" in names or not ({"snapshot", "tag", "branch"} & {*names} or marks):
        return False
    source, target = moving_from(storage, root), moving_to(storage, root)
    if target is not None:
        raise AlreadyExistsError(f"{root} is being renamed to {target}; if that was interrupted, rename it again")
    if source is not None and moving_to(storage, source) == root:
        raise AlreadyExistsError(f"{source} is being renamed to {root}; if that was interrupted, rename it again")
    delete_folder(storage, root)
    return True


def _begin(storage: Storage, source: str, target: str) -> tuple[str, dict[str, str]]:
    paths = [path for path in _files(storage, source) if _is_schema(source, path)]
    if not any(path.startswith(f"{source}/schema/") for path in paths):
        raise NotFoundError(f"cannot rename {source}: it does not exist")
    texts = run_all(storage, [partial(storage.read, path) for path in paths])
    schemas = {path.removeprefix(f"{source}/"): text.decode() for path, text in zip(paths, texts, strict=True)}
    if not storage.create_exclusive(f"{target}/{_MOVING}", _mark(source, schemas)):
        raise AlreadyExistsError(f"cannot rename {source}: another table is being renamed to {target}")
    # Looked up after the mark was written: who creates a table or branch looks for the mark after that.
    if storage.list(f"{target}/schema") or storage.exists(f"{target}/{CLAIM}"):
        storage.delete(f"{target}/{_MOVING}")
        raise AlreadyExistsError(f"cannot rename {source}: {target} already exists")
    return source, schemas


def _read_mark(storage: Storage, target: str) -> tuple[str, dict[str, str]] | None:
    path = f"{target}/{_MOVING}"
    text = _read(storage, path)
    if text is None:
        return None
    try:
        found = json.loads(text)
        return str(found["source"]), dict(found["schemas"])
    except (ValueError, KeyError, TypeError):
        raise CorruptError(f"{path} is damaged; delete it if no table is being renamed") from None


def _mirror(storage: Storage, source: str, target: str, copied: Mapping[str, FileInfo]) -> dict[str, FileInfo]:
    """Copies files that are new or changed since they were copied, and deletes those that are gone.

    Snapshots are copied after the files that they refer to.

    Returns:
        All files of the source, without schemas and marks.
    """
    marks = {f"{source}/{mark}" for mark in (_MOVING, _DELETING, _LEAVING)}
    found = _files(storage, source).items()
    wanted = {path: info for path, info in found if path not in marks and not _is_schema(source, path)}
    last = tuple(f"{source}/{part}" for part in _LAST)
    changed = [path for path, info in wanted.items() if copied.get(path) != info]
    for is_last in (False, True):
        group = [path for path in changed if path.startswith(last) == is_last]
        run_all(storage, [partial(_copy, storage, path, target + path.removeprefix(source)) for path in group])
    gone = [target + path.removeprefix(source) for path in copied if path not in wanted]
    storage.delete_many(gone)
    return wanted


def _is_schema(root: str, path: str) -> bool:
    """Returns whether a file is a schema of the table or of one of its branches."""
    folder = path.removeprefix(f"{root}/").rpartition("/")[0]
    return folder == "schema" or (folder.startswith("branch/") and folder.endswith("/schema"))


def _copy(storage: Storage, source: str, target: str) -> None:
    with contextlib.suppress(NotFoundError):  # it was deleted meanwhile; the next look at the source shows it
        storage.copy(source, target)


def _read(storage: Storage, path: str) -> bytes | None:
    try:
        return storage.read(path)
    except NotFoundError:
        return None


def _files(storage: Storage, root: str) -> dict[str, FileInfo]:
    return dict(storage.list_tree(root))
