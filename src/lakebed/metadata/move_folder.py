"""Deletes and moves the folder of a table or branch on storages that cannot rename folders (object stores).

A table or branch exists as long as it has a schema. So the schemas are deleted first and written last:

* :func:`delete_folder` first writes a mark, then deletes the schemas. From then on no reader finds the table, and a
  commit that is on its way withdraws its snapshot. Then it deletes all other files, snapshots last, then the mark. If
  the process dies, the mark remains: no new table is created there, and the next drop continues.
* :func:`move_folder` stores the schemas in a mark in the target, and claims the source, so that of several moves of a
  folder one goes on. It copies all other files within the storage, and marks the source as leaving. Then it deletes the
  schemas of the source, copies and deletes what changed meanwhile until nothing changes any more, and writes the
  schemas of the target. Then it deletes the source and the mark. If the process dies, calling it again continues. As
  long as neither folder has all schemas, nothing is created or dropped there: only the move goes on. A commit that is
  on its way at this moment finds a mark in the source and raises an error, although the target may contain it.
* A drop and a move at the same time: each writes its mark and then looks for the mark of the other, and steps back.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from lakebed.errors import AlreadyExistsError, CorruptError, NotFoundError
from lakebed.format.paths import SCHEMA_PREFIX, SIDECAR_FOLDER, id_of
from lakebed.metadata.numbered_files import numbered_files
from lakebed.storage import FileInfo, Storage, run_all

_DELETING: Final = f"{SIDECAR_FOLDER}/deleting"
_MOVING: Final = f"{SIDECAR_FOLDER}/moving"
CLAIM: Final = f"{SIDECAR_FOLDER}/created"
"""The file of a branch that says who creates it, and with which content."""
_LEAVING: Final = f"{SIDECAR_FOLDER}/leaving"
_CLAIM_OF_MOVE: Final = "renaming-"
_MOVED: Final = b"moved"
"""What the mark of a deletion says if the folder was moved before."""
_LAST: Final = ("snapshot/", "tag/", "branch/")


def is_being_deleted(storage: Storage, root: str) -> bool:
    """Returns whether the deletion of a folder began and did not end."""
    return storage.exists(f"{root}/{_DELETING}")


def moving_from(storage: Storage, target: str) -> str | None:
    """Returns the folder that is being moved to this one, if a move began and did not end."""
    found = _read_mark(storage, target)
    return None if found is None else found.source


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
    is_unfinished = mark is not None and mark.source == source and not _is_complete(storage, target, mark.schemas)
    return target if is_unfinished else None


def delete_folder(storage: Storage, root: str) -> None:
    """Deletes the folder of a table or branch, so that it disappears at once and for good.

    Of several calls at the same time, one that is late stops when another one has finished: a new table may be there.

    Raises:
        AlreadyExistsError: The folder is being moved.
    """
    mark = f"{root}/{_DELETING}"
    own = str(uuid.uuid4()).encode()
    storage.create_exclusive(mark, own)
    deletion = _read(storage, mark) or b""  # of this call, or of an earlier one
    target = moving_to(storage, root)  # after the mark was written, as a move does it the other way round
    if target is not None and not deletion.startswith(_MOVED):
        if deletion == own:
            storage.delete(mark)
        raise AlreadyExistsError(f"{root} is being renamed to {target}; if that was interrupted, rename it again")
    _delete_marked(storage, root)


def _delete_moved(storage: Storage, source: str) -> None:
    """Deletes the source of a move after its target is complete."""
    storage.create_exclusive(f"{source}/{_DELETING}", _MOVED + str(uuid.uuid4()).encode())
    _delete_marked(storage, source)


def _delete_marked(storage: Storage, root: str) -> None:
    """Deletes a folder whose mark is written, as long as the mark is the same."""
    mark = f"{root}/{_DELETING}"
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
        AlreadyExistsError: There is a table in the target, or another move of the source or into the target is not
            finished.
        NotFoundError: There is no table in the source.
    """
    mark = _read_mark(storage, target)
    if mark is not None and mark.source != source:
        raise AlreadyExistsError(f"cannot rename {source} to {target}: {mark.source} is being renamed to it")
    if mark is not None and _is_complete(storage, target, mark.schemas):
        _finish(storage, source, target)
        return
    if mark is None or _is_abandoned(storage, source, target, mark.schemas):
        mark = _begin(storage, source, target)
    _claim(storage, mark, target)
    copied = _mirror(storage, source, target, {}) or {}
    _leave(storage, mark, target)
    schemas = _take_schemas(storage, target, mark)
    while not _is_moved(storage, source):
        now = _mirror(storage, source, target, copied)
        if now == copied or now is None:
            break
        copied = now
    _check_own(storage, mark, target)
    for name in sorted(schemas, key=_order_of_schema):
        storage.create_exclusive(f"{target}/{name}", schemas[name].encode())
    _delete_moved(storage, source)
    storage.delete(f"{target}/{_MOVING}")


@dataclass(frozen=True, slots=True)
class _Move:
    """What the mark in the target of a move says. No two moves have the same token."""

    source: str
    schemas: Mapping[str, str]
    token: str

    def text(self) -> bytes:
        return json.dumps({"source": self.source, "schemas": dict(self.schemas), "token": self.token}).encode()


def _claim(storage: Storage, mark: _Move, target: str) -> None:
    """Reserves the source for a move: of several that begin at the same time, one goes on.

    A claim holds as long as the mark that it names is there. The claims of a folder have numbers: who finds that the
    last one does not hold any more writes the next one, which only one can.
    """
    own = json.dumps({"target": target, "token": mark.token}).encode()
    while True:
        number, last = _last_claim(storage, mark.source)
        if last == own:
            return
        if last is not None:
            other = json.loads(last)
            found = _read_mark(storage, other["target"])
            if found is not None and found.token == other["token"]:
                _withdraw(storage, mark, target)
                raise AlreadyExistsError(
                    f"cannot rename {mark.source} to {target}: it is being renamed to {other['target']}; if that was "
                    "interrupted, rename it again"
                )
        storage.create_exclusive(f"{mark.source}/{SIDECAR_FOLDER}/{_CLAIM_OF_MOVE}{number + 1}", own)


def _last_claim(storage: Storage, source: str) -> tuple[int, bytes | None]:
    folder = f"{source}/{SIDECAR_FOLDER}"
    number = max(numbered_files(storage, folder, _CLAIM_OF_MOVE), default=0)
    return number, _read(storage, f"{folder}/{_CLAIM_OF_MOVE}{number}") if number else None


def _leave(storage: Storage, mark: _Move, target: str) -> None:
    """Marks the source as leaving, unless it is being dropped or was dropped."""
    was_leaving = is_leaving(storage, mark.source)
    _check_own(storage, mark, target)
    storage.replace(f"{mark.source}/{_LEAVING}", target.encode())
    deletion = _read(storage, f"{mark.source}/{_DELETING}")  # after the mark was written, as a drop does it
    is_dropped = deletion is not None and not deletion.startswith(_MOVED)
    is_gone = not was_leaving and not storage.list(f"{mark.source}/schema")
    if is_dropped or is_gone:
        _withdraw(storage, mark, target)
        storage.delete(f"{mark.source}/{_LEAVING}")
        raise NotFoundError(f"cannot rename {mark.source}: it is being dropped")


def _check_own(storage: Storage, mark: _Move, target: str) -> None:
    """Raises an error if the mark of the move is gone: then others may use the target."""
    found = _read_mark(storage, target)
    if found is None or found.token != mark.token:
        raise NotFoundError(
            f"cannot rename {mark.source} to {target}: another process ended or cancelled this rename at the same time"
        )


def _withdraw(storage: Storage, mark: _Move, target: str) -> None:
    """Deletes what a move that does not go on wrote in the target."""
    found = _read_mark(storage, target)
    if found is not None and found.token == mark.token and not _is_complete(storage, target, found.schemas):
        delete_folder(storage, target)


def _is_moved(storage: Storage, source: str) -> bool:
    """Returns whether another process that continues the same move has ended it or deletes the source already."""
    return is_being_deleted(storage, source) or not is_leaving(storage, source)


def _is_complete(storage: Storage, target: str, schemas: Mapping[str, str]) -> bool:
    """Returns whether all schemas of the target are written: the table is there, and readers and writers use it."""
    return storage.exists(f"{target}/{max(schemas, key=_order_of_schema)}")


def _finish(storage: Storage, source: str, target: str) -> None:
    """Deletes what an interrupted move left in the source. A table that was created there since then is kept."""
    is_new = bool(storage.list(f"{source}/schema"))
    if not is_new and next(iter(storage.list_tree(source)), None) is not None:
        _delete_moved(storage, source)
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


def _take_schemas(storage: Storage, target: str, mark: _Move) -> Mapping[str, str]:
    """Deletes the schemas of the source. Those that were added since the move began are noted in the mark first."""
    source, schemas = mark.source, mark.schemas
    while found := [path for path in _files(storage, source) if _is_schema(source, path)]:
        added = {path.removeprefix(f"{source}/"): _read(storage, path) for path in found}
        new = {name: text.decode() for name, text in added.items() if text is not None and name not in schemas}
        if new:
            schemas = {**schemas, **new}
            storage.replace(f"{target}/{_MOVING}", replace(mark, schemas=schemas).text())
        storage.delete_many(found)
    return schemas


def _order_of_schema(name: str) -> tuple[bool, int]:
    """Branches come before the table itself, and the newest schema first, because readers use it."""
    return name.startswith("schema/"), -(id_of(name.rpartition("/")[2], SCHEMA_PREFIX) or 0)


def delete_remains(storage: Storage, root: str) -> bool:
    """Deletes what an interrupted call left in a folder without a schema.

    Returns:
        Whether an interrupted drop or creation left it. ``False`` if there is nothing, or only what a rename left.

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
    was_moved = is_leaving(storage, root) or (_read(storage, f"{root}/{_DELETING}") or b"").startswith(_MOVED)
    delete_folder(storage, root)
    return not was_moved


def _begin(storage: Storage, source: str, target: str) -> _Move:
    paths = [path for path in _files(storage, source) if _is_schema(source, path)]
    if not any(path.startswith(f"{source}/schema/") for path in paths):
        raise NotFoundError(f"cannot rename {source}: it does not exist")
    texts = run_all(storage, [partial(storage.read, path) for path in paths])
    schemas = {path.removeprefix(f"{source}/"): text.decode() for path, text in zip(paths, texts, strict=True)}
    mark = _Move(source, schemas, str(uuid.uuid4()))
    if not storage.create_exclusive(f"{target}/{_MOVING}", mark.text()):
        raise AlreadyExistsError(f"cannot rename {source}: another table is being renamed to {target}")
    # Looked up after the mark was written: who creates a table or branch looks for the mark after that.
    if storage.list(f"{target}/schema") or storage.exists(f"{target}/{CLAIM}"):
        storage.delete(f"{target}/{_MOVING}")
        raise AlreadyExistsError(f"cannot rename {source}: {target} already exists")
    return mark


def _read_mark(storage: Storage, target: str) -> _Move | None:
    path = f"{target}/{_MOVING}"
    text = _read(storage, path)
    if text is None:
        return None
    try:
        found = json.loads(text)
        return _Move(str(found["source"]), dict(found["schemas"]), str(found.get("token", "")))
    except (ValueError, KeyError, TypeError):
        raise CorruptError(f"{path} is damaged; delete it if no table is being renamed") from None


def _mirror(storage: Storage, source: str, target: str, copied: Mapping[str, FileInfo]) -> dict[str, FileInfo] | None:
    """Copies files that are new or changed since they were copied, and deletes those that are gone.

    Snapshots are copied after the files that they refer to.

    Returns:
        All files of the source, without schemas and marks; ``None`` if another process has ended the move: then files
        are gone because they were moved.
    """
    found = _files(storage, source)
    if copied and _is_moved(storage, source):
        return None
    wanted = {path: info for path, info in found.items() if not _is_mark(source, path) and not _is_schema(source, path)}
    last = tuple(f"{source}/{part}" for part in _LAST)
    changed = [path for path, info in wanted.items() if copied.get(path) != info]
    for is_last in (False, True):
        group = [path for path in changed if path.startswith(last) == is_last]
        run_all(storage, [partial(_copy, storage, path, target + path.removeprefix(source)) for path in group])
    gone = [target + path.removeprefix(source) for path in copied if path not in wanted]
    storage.delete_many(gone)
    return wanted


def _is_mark(root: str, path: str) -> bool:
    name = path.removeprefix(f"{root}/")
    return name in {_MOVING, _DELETING, _LEAVING} or name.startswith(f"{SIDECAR_FOLDER}/{_CLAIM_OF_MOVE}")


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
