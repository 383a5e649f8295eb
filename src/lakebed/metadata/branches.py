"""Branches: further histories of a table, beside main, with the same data files.

A branch is the folder ``branch/branch-<name>`` with its own schemas, snapshots and tags. Manifests, index files and
data files of all branches are in the root of the table. A new branch is empty, or starts at a snapshot of the branch
that it is created from and shares the files of that snapshot.

Branches are created, renamed and dropped by renaming one folder, so no reader sees an incomplete branch. A call that
dies may leave a hidden folder ``branch/.branch-<name>.<uuid>.tmp``. Readers ignore it, and the removal of orphan files
deletes it. Object stores cannot rename: there a branch exists as soon as it has a schema. The call that creates a file
``.lakebed/created`` exclusively decides what the branch is. That file holds the content of the branch, so that a
repeated call finishes one that died. :mod:`lakebed.metadata.move_folder` renames and drops branches.

A branch keeps the snapshot that it starts at readable: after the branch is visible, ``create_branch`` checks that the
snapshot still exists at its origin. If it does not, its files may be deleted at this moment, so the branch is deleted
again and the call fails.

Dropping a branch leaves its data files and manifests for the removal of orphan files.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lakebed.errors import AlreadyExistsError, LakebedError, NotFoundError, OptionError, StorageError, unknown_name
from lakebed.format.paths import BRANCH_PREFIX, MAIN_BRANCH, TablePaths, check_name
from lakebed.format.snapshot import Snapshot, snapshot_to_json
from lakebed.metadata.move_folder import (
    CLAIM,
    delete_folder,
    delete_remains,
    is_being_deleted,
    move_folder,
    moving_from,
    moving_to,
)
from lakebed.metadata.snapshots import Snapshots
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import get_tag
from lakebed.options import TableOptions

_NAMING_OPTIONS: Final = (
    TableOptions.scan_fallback_branch,
    TableOptions.scan_primary_branch,
    TableOptions.scan_fallback_snapshot_branch,
    TableOptions.scan_fallback_delta_branch,
)


# ------------------------------------------------------------------------------------------------- creating


def create_branch(
    store: TableStore,
    name: str,
    *,
    tag: str | None = None,
    snapshot: int | None = None,
    ignore_if_exists: bool = False,
) -> TableStore:
    """Creates a branch: empty, or with the snapshot of a tag (and the tag), or with a snapshot of this branch."""
    check_branch_name(name)
    if tag is not None and snapshot is not None:
        raise OptionError(f"branch {name!r} can start at a tag or at a snapshot, not at both; give one of them")
    if store.has_branch(name):
        if ignore_if_exists:
            return store.on_branch(name)
        raise _already_there(store, name)
    start = _start(store, tag, snapshot)
    branch = TablePaths(store.paths.root, name)
    if not store.storage.can_rename:
        return _create_in_place(store, branch, start, ignore_if_exists=ignore_if_exists)
    draft = _hidden(branch)
    try:
        store.sync(_write_draft(store, branch, draft, start))
        _move(store, draft, branch.branch_root, name)
    except AlreadyExistsError:
        _discard(store, draft)
        if ignore_if_exists:
            return store.on_branch(name)
        raise
    except BaseException:
        _discard(store, draft)
        raise
    _keep_if_held(store, name, start)
    return store.on_branch(name)


@dataclass(frozen=True, slots=True)
class _Start:
    """The snapshot at which a branch starts."""

    snapshot: Snapshot | None = None
    tag: str | None = None


def _start(store: TableStore, tag: str | None, snapshot_id: int | None) -> _Start:
    if tag is not None:
        return _Start(get_tag(store, tag).snapshot, tag)
    return _Start() if snapshot_id is None else _Start(store.snapshots.get(snapshot_id))


def _write_draft(store: TableStore, branch: TablePaths, draft: str, start: _Start) -> list[str]:
    """Writes the files of a new branch to a hidden folder, and returns their paths."""
    files = {draft + path.removeprefix(branch.branch_root): data for path, data in _content(store, branch, start)}
    for path, data in files.items():
        store.storage.write(path, data)
    return list(files)


def _content(store: TableStore, branch: TablePaths, start: _Start) -> Iterator[tuple[str, bytes]]:
    """Returns the files of a new branch; its schemas come last, the first one at the end."""
    if start.snapshot is not None:
        yield branch.snapshot(start.snapshot.id), _snapshot_bytes(store, start.snapshot)
    if start.tag is not None:
        yield branch.tag(start.tag), store.storage.read(store.paths.tag(start.tag))
    last = None if start.snapshot is None else start.snapshot.schema_id
    for schema_id in reversed(store.schemas.ids()):
        if last is None or schema_id <= last:
            yield branch.schema(schema_id), store.storage.read(store.paths.schema(schema_id))


def _create_in_place(store: TableStore, branch: TablePaths, start: _Start, *, ignore_if_exists: bool) -> TableStore:
    """Creates a branch where the storage cannot rename: of several calls, the claim of one says what is created."""
    claim = f"{branch.branch_root}/{CLAIM}"
    files = {path.removeprefix(branch.branch_root): data.decode() for path, data in _content(store, branch, start)}
    marks = (moving_from, moving_to, is_being_deleted)
    if any(look(store.storage, branch.branch_root) for look in marks):
        raise _unfinished(store, branch.branch)
    is_ours = store.storage.create_exclusive(claim, json.dumps(files).encode())
    if moving_from(store.storage, branch.branch_root) is not None:  # looked up after the claim, as move_folder does
        if is_ours:
            store.storage.delete(claim)
        raise _already_there(store, branch.branch)
    if not is_ours:
        _finish_creation(store, branch)
        if ignore_if_exists:
            return store.on_branch(branch.branch)
        raise _already_there(store, branch.branch)
    try:
        _write_claimed(store, branch, files)
    except BaseException:
        with contextlib.suppress(LakebedError):
            _remove(store, branch.branch)
        raise
    _keep_if_held(store, branch.branch, start)
    return store.on_branch(branch.branch)


def _finish_creation(store: TableStore, branch: TablePaths) -> None:
    """Writes the branch that another call decided to create, if that call died."""
    try:
        files = json.loads(store.storage.read(f"{branch.branch_root}/{CLAIM}"))
    except NotFoundError:
        return  # the other call failed and removed it
    if store.has_branch(branch.branch):
        return
    _write_claimed(store, branch, files)
    found = Snapshots(store.storage, branch).latest()
    tags = [name.rpartition("/tag-")[2] for name in files if "/tag/tag-" in name]
    _keep_if_held(store, branch.branch, _Start(found, tags[0] if tags else None))


def _write_claimed(store: TableStore, branch: TablePaths, files: Mapping[str, str]) -> None:
    """Writes the files of a branch; its schemas come last. Two calls may do it at the same time."""
    for name, text in files.items():
        store.storage.create_exclusive(branch.branch_root + name, text.encode())


def _snapshot_bytes(store: TableStore, snapshot: Snapshot) -> bytes:
    """Returns the bytes of the snapshot file; for a tag whose snapshot expired, the bytes that it had."""
    if store.snapshots.find(snapshot.id) == snapshot:
        with contextlib.suppress(NotFoundError):
            return store.storage.read(store.paths.snapshot(snapshot.id))
    return snapshot_to_json(snapshot).encode()


def _keep_if_held(store: TableStore, name: str, start: _Start) -> None:
    try:
        held = _is_held(store, start)
    except LakebedError:
        _remove(store, name)
        raise
    if not held and start.snapshot is not None:
        _remove(store, name)
        raise NotFoundError(
            f"snapshot {start.snapshot.id} of table {store.name} expired while branch {name!r} was created from it; "
            "start the branch at another snapshot"
        )


def _is_held(store: TableStore, start: _Start) -> bool:
    """Returns whether the snapshot or tag at which the branch starts is unchanged."""
    if start.snapshot is None or store.snapshots.find(start.snapshot.id) == start.snapshot:
        return True
    return start.tag is not None and store.snapshots.find_tag(start.tag) == start.snapshot


# ------------------------------------------------------------------------------------ renaming and dropping


def rename_branch(store: TableStore, old: str, new: str, *, force: bool = False) -> None:
    """Renames a branch. A branch that the options of the table name needs ``force``."""
    check_branch_name(new)
    is_unfinished = not store.storage.can_rename and moving_from(store.storage, _folder(store, new)) == _folder(
        store, old
    )
    if is_unfinished:  # an earlier call was interrupted
        move_folder(store.storage, _folder(store, old), _folder(store, new))
        return
    _check_there(store, old)
    if not force:
        _check_unnamed(store, old, "renamed")
    if old == new or store.has_branch(new):
        raise _already_there(store, new)
    if not store.storage.can_rename:
        move_folder(store.storage, _folder(store, old), _folder(store, new))
        return
    _move(store, _folder(store, old), _folder(store, new), new)


def drop_branch(store: TableStore, name: str, *, force: bool = False, ignore_if_missing: bool = False) -> None:
    """Drops a branch. A branch that the options of the table name needs ``force``."""
    if name != MAIN_BRANCH and not store.has_branch(name):
        is_left = not store.storage.can_rename and delete_remains(store.storage, _folder(store, name))
        if is_left or ignore_if_missing:
            return
    _check_there(store, name)
    if not force:
        _check_unnamed(store, name, "dropped")
    _remove(store, name)


def _remove(store: TableStore, name: str) -> None:
    if not store.storage.can_rename:
        delete_folder(store.storage, _folder(store, name))
        return
    hidden = _hidden(TablePaths(store.paths.root, name))
    _move(store, _folder(store, name), hidden, name)
    _discard(store, hidden)


def _check_there(store: TableStore, name: str) -> None:
    if name == MAIN_BRANCH:
        raise OptionError(f"branch {MAIN_BRANCH!r} is table {store.name} itself; it cannot be renamed or dropped")
    if not store.has_branch(name):
        raise NotFoundError(unknown_name("branch", name, store.branch_names(), where=f"table {store.name}"))


def _check_unnamed(store: TableStore, name: str, verb: str) -> None:
    """Raises OptionError if the options of the table name the branch."""
    schema = store.on_branch(MAIN_BRANCH).schemas.latest()
    options = TableOptions({} if schema is None else schema.options)
    naming = [option.name for option in _NAMING_OPTIONS if option.read(options) == name]
    if naming:
        raise OptionError(
            f"branch {name!r} of table {store.name} cannot be {verb}: option {naming[0]!r} of the table names it; "
            "reset the option first, or pass force=True"
        )


# ---------------------------------------------------------------------------------------- names and folders


def check_branch_name(name: str) -> None:
    """Raises OptionError for a name that a new branch cannot have."""
    check_name(name, "branch")
    if name == MAIN_BRANCH:
        raise OptionError(f"{name!r} cannot be the name of a branch: it is the name of the table's main branch")
    if "$" in name:
        raise OptionError(f"{name!r} cannot be the name of a branch: '$' separates it from the table's name")
    if name.isdigit():
        raise OptionError(f"{name!r} cannot be the name of a branch: it must not consist of digits only")


def _already_there(store: TableStore, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"branch {name!r} of table {store.name} already exists; drop it first or use another name"
    )


def _unfinished(store: TableStore, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"branch {name!r} of table {store.name} is being renamed or dropped; if that was interrupted, repeat it, or call "
        "drop_branch, which finishes a drop"
    )


def _folder(store: TableStore, name: str) -> str:
    return store.paths.on_branch(name).branch_root


def _hidden(branch: TablePaths) -> str:
    return f"{branch.branches}/.{BRANCH_PREFIX}{branch.branch}.{uuid.uuid4()}.tmp"


def _move(store: TableStore, source: str, target: str, name: str) -> None:
    """Renames a folder. If the result is unknown, it checks the names. Of two calls with the same name one succeeds."""
    try:
        store.storage.rename_folder(source, target)
    except AlreadyExistsError:
        raise _already_there(store, name) from None
    except StorageError:
        if not store.storage.exists(target):
            raise
        if store.storage.exists(source):
            raise _already_there(store, name) from None
    store.sync([store.paths.branches])


def _discard(store: TableStore, folder: str) -> None:
    """Deletes a hidden folder if possible; readers ignore it otherwise."""
    with contextlib.suppress(LakebedError):
        store.storage.delete_tree(folder)
