"""Signs that a branch lost snapshot files, although nothing expired them or rolled them back.

The files of a lost snapshot look like orphans, and are needed if its file is restored. So the removal of orphan files
refuses such a table, and verify reports it. There are two cases:

* The branch has no snapshot at all, but it has tags, long-lived changelogs or lines in the history index, or it has a
  hint file and there are manifest lists. Only a commit creates these, and every operation leaves one snapshot.
* A snapshot is missing between two others, and the history index says that it was the one before its successor. A gap
  that a fast-forward left is no loss: the successor has another past then. Neither is a gap after a first snapshot that
  has a tag: a rollback to a tag restores its snapshot, and may not have deleted the newer ones yet.

Without a sign a branch counts as complete. Reads only; the index is read only if the branch has a gap or no snapshot.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from lakebed.errors import CorruptError
from lakebed.format.history_sidecar import check_of
from lakebed.format.human_text import names_text
from lakebed.format.paths import MAIN_BRANCH
from lakebed.metadata.changelogs import changelog_ids
from lakebed.metadata.history.history_index import recorded
from lakebed.metadata.references.holders import branch_stores
from lakebed.metadata.store import TableStore

_MANIFEST_LIST = "manifest-list-"


@dataclass(frozen=True, slots=True)
class LostSnapshots:
    """What a branch lost: the path of the first missing file or of the empty folder, and the facts that show it."""

    path: str
    what: str
    advice: str


def check_complete(store: TableStore) -> None:
    """Raises CorruptError if a branch of the table lost snapshots."""
    for branch in branch_stores(store):
        lost = lost_snapshots(branch)
        if lost is not None:
            raise CorruptError(
                f"table {store.name}: {lost.what} ({lost.path}). Their files cannot be told from orphan files, so "
                f"nothing was deleted; {lost.advice}"
            )


def lost_snapshots(store: TableStore) -> LostSnapshots | None:
    """Returns what a branch lost; ``None`` if nothing says so."""
    ids = store.snapshots.ids()
    for before, after in itertools.pairwise(ids):
        if after == before + 1 or not _follows_a_lost_one(store, after):
            continue
        first = store.snapshots.find(before)
        is_restored = before == ids[0] and first in store.snapshots.tags().values()
        if first is not None and not is_restored:  # an expiry during the listing leaves no gap
            return LostSnapshots(
                store.paths.snapshot(after - 1),
                f"snapshot {after - 1} of {_place(store)} was the one before snapshot {after} and is missing",
                "restore the snapshot file from a backup, or expire the snapshots before it",
            )
    return None if ids else lost_all(store)


def lost_all(store: TableStore) -> LostSnapshots | None:
    """Returns what shows that a branch without snapshots had some; ``None`` if nothing does."""
    sign = _sign_of_snapshots(store)
    if sign is None or store.snapshots.ids():  # a first commit may have come in between
        return None
    return LostSnapshots(
        store.paths.snapshots,
        f"{_place(store)} has no snapshot, although {sign}; its rows cannot be read",
        "restore the snapshot files from a backup, or call rollback_to(tag=...) or fast_forward() with a tag or branch "
        "that has the rows",
    )


def _sign_of_snapshots(store: TableStore) -> str | None:
    rows = recorded(store)
    if len(rows):
        return f"the history index {store.paths.history_index} names snapshot {rows['id'].to_numpy().max()}"
    tags = store.snapshots.tags()
    if tags:
        return f"it has tags ({names_text(tags)})"
    changelogs = changelog_ids(store)
    if changelogs:
        return f"it has long-lived changelogs up to {changelogs[-1]}"
    hints = [path for path in (store.paths.latest_hint, store.paths.earliest_hint) if store.storage.exists(path)]
    listed = store.storage.list(store.paths.manifests) if hints else ()
    if any(info.name.startswith(_MANIFEST_LIST) for info in listed):
        return f"{hints[0]} says that there was one, and there are manifest lists"
    return None


def _follows_a_lost_one(store: TableStore, number: int) -> bool:
    """Returns whether the snapshot before this one had the id before it, by the history index."""
    lines = {line["id"]: line for line in recorded(store, (number - 1, number)).to_pylist()}
    snapshot = store.snapshots.find(number)
    if snapshot is None or len(lines) < 2:
        return False
    own = lines[number]
    return bool(own["check"] == check_of(snapshot) and own["previous"] == lines[number - 1]["check"])


def _place(store: TableStore) -> str:
    branch = store.paths.branch
    return "the main branch" if branch == MAIN_BRANCH else f"branch {branch!r}"
