"""Long-lived changelogs of one branch: what remains of expired snapshots while readers may still need their changes.

``changelog/changelog-<id>`` is a copy of the snapshot. Its changelog files exist; in a table without a changelog, the
files that its delta added exist. All other files of the snapshot may be deleted. Two hint files contain the first and
the last id; like those of snapshots they may be wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from lakebed.errors import LakebedError, NotFoundError
from lakebed.format.paths import CHANGELOG_PREFIX
from lakebed.format.snapshot import Snapshot, snapshot_from_json, snapshot_to_json
from lakebed.metadata.numbered_files import numbered_files
from lakebed.metadata.store import TableStore


def changelog_ids(store: TableStore) -> list[int]:
    """Returns the ids of the long-lived changelogs of a branch, ascending."""
    return list(numbered_files(store.storage, store.paths.changelogs, CHANGELOG_PREFIX))


def find_changelog(store: TableStore, number: int) -> Snapshot | None:
    """Returns one long-lived changelog; ``None`` if it does not exist."""
    path = store.paths.changelog(number)
    try:
        return snapshot_from_json(store.storage.read(path), where=path)
    except NotFoundError:
        return None


def keep_changelogs(store: TableStore, snapshots: Sequence[Snapshot]) -> None:
    """Writes the changelogs of snapshots that are about to expire, oldest first."""
    for snapshot in snapshots:
        text = snapshot_to_json(snapshot).encode()
        store.storage.replace(store.paths.changelog(snapshot.id), text, sync=store.syncing())
    if snapshots:
        _write_hint(store, "LATEST", snapshots[-1].id)
        if not _has_hint(store, "EARLIEST"):
            _write_hint(store, "EARLIEST", changelog_ids(store)[0])


def remove_changelogs(store: TableStore, numbers: Iterable[int]) -> None:
    """Deletes long-lived changelogs in the given order, and updates or deletes the hint files."""
    last = max(changelog_ids(store), default=0)
    for number in numbers:
        store.storage.delete(store.paths.changelog(number))
    left = changelog_ids(store)
    with contextlib.suppress(LakebedError):
        if last not in left:
            store.storage.delete(_hint(store, "LATEST"))
        if not left:
            store.storage.delete(_hint(store, "EARLIEST"))
    if left and _has_hint(store, "EARLIEST"):
        _write_hint(store, "EARLIEST", left[0])


def _hint(store: TableStore, name: str) -> str:
    return f"{store.paths.changelogs}/{name}"


def _has_hint(store: TableStore, name: str) -> bool:
    return store.storage.exists(_hint(store, name))


def _write_hint(store: TableStore, name: str, number: int) -> None:
    with contextlib.suppress(LakebedError):  # a hint is only a hint
        store.storage.replace(_hint(store, name), str(number).encode())
