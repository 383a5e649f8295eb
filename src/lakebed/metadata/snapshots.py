"""The snapshots of one branch: latest, earliest, by id, by time, by tag.

Hint files may be missing, outdated or damaged. That only costs more lookups, the result is the same. Ids may have gaps,
and commit times may repeat or decrease.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from lakebed.errors import CorruptError, NotFoundError, StorageError
from lakebed.format.paths import SNAPSHOT_PREFIX, TAG_PREFIX, TablePaths, id_of
from lakebed.format.snapshot import Snapshot, snapshot_from_json, snapshot_to_json
from lakebed.storage import Storage, Sync

_FIRST_WINDOW: Final = 8
_LARGEST_WINDOW: Final = 512
_NO_WATERMARK: Final = -(2**63)  # some writers record it for no watermark


class Snapshots:
    """Looks up the snapshots of one branch and adds new ones."""

    def __init__(self, storage: Storage, paths: TablePaths) -> None:
        self._storage = storage
        self._paths = paths

    def ids(self) -> list[int]:
        """Returns the ids that exist, ascending."""
        found = (id_of(info.name, SNAPSHOT_PREFIX) for info in self._storage.list(self._paths.snapshots))
        return sorted(snapshot_id for snapshot_id in found if snapshot_id is not None)

    def get(self, snapshot_id: int) -> Snapshot:
        """Returns one snapshot by its id."""
        found = self.find(snapshot_id)
        if found is None:
            ids = self.ids()
            there = f"snapshots {ids[0]} to {ids[-1]} exist" if ids else "it has no snapshots"
            raise NotFoundError(f"snapshot {snapshot_id} of {self._place()} does not exist; {there}")
        return found

    def find(self, snapshot_id: int) -> Snapshot | None:
        """Returns one snapshot by its id, or ``None`` if it does not exist (it expired, or never existed)."""
        path = self._paths.snapshot(snapshot_id)
        try:
            text = self._storage.read(path)
        except NotFoundError:
            return None
        found = snapshot_from_json(text, where=path)
        if found.id != snapshot_id:
            raise CorruptError(
                f"{path} says that its id is {found.id}, so it is not snapshot {snapshot_id}; restore the file from a "
                "backup, or delete it if it was copied there"
            )
        return found

    def latest_id(self) -> int | None:
        """Returns the highest id, or ``None`` for a table without snapshots."""
        hint = self._hint(self._paths.latest_hint)
        if (
            hint is not None
            and self._storage.exists(self._paths.snapshot(hint))
            and not self._storage.exists(self._paths.snapshot(hint + 1))
        ):
            return hint
        ids = self.ids()
        return ids[-1] if ids else None

    def latest(self) -> Snapshot | None:
        """Returns the newest snapshot, or ``None`` for a table without snapshots."""
        while (latest_id := self.latest_id()) is not None:
            found = self.find(latest_id)
            if found is not None:  # else it was rolled back between the two lookups
                return found
        return None

    def earliest_id(self) -> int | None:
        """Returns the lowest id, or ``None`` for a table without snapshots."""
        hint = self.earliest_hint()
        if (
            hint is not None
            and self._storage.exists(self._paths.snapshot(hint))
            and not self._storage.exists(self._paths.snapshot(hint - 1))
        ):
            return hint
        ids = self.ids()
        return ids[0] if ids else None

    def earliest_hint(self) -> int | None:
        """Returns the lowest id according to the hint file, right or wrong; ``None`` without a readable hint."""
        return self._hint(self._paths.earliest_hint)

    def earliest(self) -> Snapshot | None:
        """Returns the oldest snapshot that still exists, even while others expire."""
        while (earliest_id := self.earliest_id()) is not None:
            found = self.find(earliest_id)
            if found is not None:
                return found
        return None

    def at(self, time_millis: int) -> Snapshot | None:
        """Returns the newest snapshot committed at or before a time, or ``None`` if all are later."""
        return self._newest(lambda snapshot: snapshot.time_millis <= time_millis)

    def since(self, time_millis: int) -> Snapshot | None:
        """Returns the oldest snapshot committed at or after a time, or ``None`` if all are earlier."""
        found = (snapshot for snapshot in self.read_many(self.ids()) if snapshot.time_millis >= time_millis)
        return next(found, None)

    def at_watermark(self, watermark: int) -> Snapshot | None:
        """Returns the newest snapshot whose watermark is at most the given one, or ``None`` if there is none."""

        def fits(snapshot: Snapshot) -> bool:
            own = snapshot.watermark
            return own is not None and own != _NO_WATERMARK and own <= watermark

        return self._newest(fits)

    def since_watermark(self, watermark: int) -> Snapshot | None:
        """Returns the oldest snapshot whose watermark is at least the given one, or ``None`` if there is none."""
        found = (
            snapshot
            for snapshot in self.read_many(self.ids())
            if snapshot.watermark not in {None, _NO_WATERMARK} and snapshot.watermark >= watermark
        )
        return next(found, None)

    def _newest(self, fits: Callable[[Snapshot], bool]) -> Snapshot | None:
        """Returns the newest snapshot that fits.

        Searches back from the newest in growing windows. Commit times and watermarks need not increase with the ids, so
        a binary search could miss the answer, which is the first hit from the end.
        """
        ids = self.ids()
        window = _FIRST_WINDOW
        while ids:
            ids, chunk = ids[:-window], ids[-window:]
            for snapshot in reversed(self.read_many(chunk)):
                if fits(snapshot):
                    return snapshot
            window = min(window * 2, _LARGEST_WINDOW)
        return None

    def read_many(self, ids: list[int]) -> list[Snapshot]:
        """Returns the snapshots of these ids that still exist, in the order given."""
        if len(ids) < _FIRST_WINDOW:
            found = [self.find(snapshot_id) for snapshot_id in ids]
        else:
            with ThreadPoolExecutor(8) as pool:
                found = list(pool.map(self.find, ids))
        return [snapshot for snapshot in found if snapshot is not None]

    def create(self, snapshot: Snapshot, still: Callable[[], bool] | None = None, sync: Sync | None = None) -> bool:
        """Makes a snapshot visible and updates the hint; returns ``False`` if another commit has its id.

        ``still`` is called immediately before: it returns whether the table is unchanged since the snapshot was
        planned. With ``sync`` the snapshot survives a power cut; the hint need not.
        """
        text = snapshot_to_json(snapshot).encode()
        if not self._storage.create_exclusive(self._paths.snapshot(snapshot.id), text, still, sync=sync):
            return False
        with contextlib.suppress(Exception):  # the commit is done, and the hint may be wrong
            self._storage.replace(self._paths.latest_hint, str(snapshot.id).encode(), gap=True)
            if not self._storage.exists(self._paths.snapshot(snapshot.id)):
                self._correct_latest_hint()
        return True

    def _correct_latest_hint(self) -> None:
        """Corrects a hint that is too high after a rollback, because other readers trust it."""
        ids = self.ids()
        if ids:
            self._storage.replace(self._paths.latest_hint, str(ids[-1]).encode())
        else:
            self._storage.delete(self._paths.latest_hint)

    # ------------------------------------------------------------------------------------------------- tags

    def tags(self) -> dict[str, Snapshot]:
        """Returns every tag and its snapshot, by name."""
        found = {name: self.find_tag(name) for name in self._tag_names()}
        return {name: snapshot for name, snapshot in found.items() if snapshot is not None}

    def find_tag(self, name: str) -> Snapshot | None:
        """Returns the snapshot of a tag, or ``None`` if there is no such tag."""
        path = self._paths.tag(name)
        try:
            text = self._storage.read(path)
        except NotFoundError:
            return None
        return snapshot_from_json(text, where=path)

    def tag(self, name: str) -> Snapshot:
        """Returns the snapshot of a tag."""
        found = self.find_tag(name)
        if found is None:
            shown = ", ".join(self._tag_names()) or "none"
            raise NotFoundError(f"{self._place()} has no tag {name!r}; its tags: {shown}")
        return found

    def _tag_names(self) -> list[str]:
        names = (info.name for info in self._storage.list(self._paths.tags))
        return sorted(name.removeprefix(TAG_PREFIX) for name in names if name.startswith(TAG_PREFIX))

    def _hint(self, path: str) -> int | None:
        try:
            text = self._storage.read(path).strip()
        except (NotFoundError, StorageError):
            return None
        return int(text) if text.isdigit() and len(text) < 19 else None

    def _place(self) -> str:
        name = self._paths.root.rsplit("/", 1)[-1]
        return f"table {name}" if self._paths.branch == "main" else f"branch {self._paths.branch} of table {name}"
