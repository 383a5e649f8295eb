"""Histories that consist of snapshot files only, written as fast as possible, and storages to read them with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.metadata.stores import Logged, Wrapped, new_store
from tests.places import stored_path

from lakebed.errors import StorageError
from lakebed.format.snapshot import CommitKind, Snapshot, snapshot_to_json
from lakebed.metadata.history.history_index import lines_before, note
from lakebed.metadata.store import TableStore

A, C = CommitKind.APPEND, CommitKind.COMPACT
_numbers = itertools.count()


def spread(count: int, compactions: int) -> list[CommitKind]:
    every = count // compactions
    return [C if number % every == every - 1 else A for number in range(count)]


def clustered(count: int, compactions: int) -> list[CommitKind]:
    """In four groups, all of them in the older half or so."""
    group = compactions // 4
    kinds = [A] * count
    for start in range(0, 4 * (count // 8), count // 8):
        kinds[start : start + group] = [C] * group
    return kinds


def at_the_old_end(count: int, compactions: int) -> list[CommitKind]:
    return [C] * compactions + [A] * (count - compactions)


SHAPES: dict[str, Callable[[int, int], list[CommitKind]]] = {
    "spread evenly": spread,
    "clustered": clustered,
    "all at the old end": at_the_old_end,
}


def snapshot(number: int, kind: CommitKind = A, **changes: Any) -> Snapshot:
    """A snapshot with nothing behind it, unlike any other."""
    unique = next(_numbers)
    values: dict[str, Any] = {
        "id": number,
        "schema_id": 0,
        "base_manifest_list": f"manifest-list-{unique}-0",
        "delta_manifest_list": f"manifest-list-{unique}-1",
        "commit_user": f"user {number % 3}",
        "commit_identifier": 2**63 - 1,
        "commit_kind": kind,
        "time_millis": number * 1000,
        "total_record_count": number,
        "delta_record_count": 1,
    }
    return Snapshot(**{**values, **changes})


def write_history(
    root: Path, kinds: Sequence[CommitKind], *, first: int = 1, noted: bool = False
) -> tuple[TableStore, list[Snapshot]]:
    """A table with these commits, and its snapshots; ``noted``: with a history index, as if we had made them."""
    store = new_store(root)
    stored_path(store.paths.snapshots).mkdir()
    made = [snapshot(number, kind) for number, kind in enumerate(kinds, first)]
    for number, one in enumerate(made):
        stored_path(store.paths.snapshot(one.id)).write_text(snapshot_to_json(one))
        if noted:
            note(store, one, made[number - 1] if number else None)
    if made:
        stored_path(store.paths.latest_hint).write_text(str(made[-1].id))
    return store, made


def commit_snapshot(store: TableStore, kind: CommitKind = A, *, noted: bool = True, **changes: Any) -> Snapshot:
    """The next snapshot; without ``noted`` as somebody else commits it."""
    latest = store.snapshots.latest()
    made = snapshot(1 if latest is None else latest.id + 1, kind, **changes)
    before = lines_before(store, latest)
    assert store.snapshots.create(made)
    if noted:
        note(store, made, latest, before)
    return made


def with_storage(store: TableStore, storage: Any) -> TableStore:
    return TableStore(storage, store.paths, store.name)


class ReadOnly(Logged):
    """A storage that lets nobody write, and remembers what was read."""

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        if name in {"append", "write", "replace", "delete", "create_exclusive"}:
            raise StorageError(f"cannot {name} {path}: the file system is read-only; nothing was changed")
        return super().call(name, path, run)


class Refusing(Wrapped):
    """A storage whose appends fail: before anything is written, after it, or in the middle."""

    def __init__(self, part: float, *, error: type[BaseException] = StorageError) -> None:
        super().__init__()
        self._part, self._error = part, error

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:  # noqa: ARG002 - only appends fail
        return run()

    def append(self, path: str, data: bytes) -> None:
        if self._part:
            self._inner.append(path, data[: round(len(data) * self._part)])
        raise self._error(f"cannot append to {path}: made to fail")
