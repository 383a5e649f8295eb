"""The snapshots of one branch: latest, earliest, by id, by time, by tag.

Hint files may be missing, outdated or damaged. That only costs more lookups, the result is the same. Ids may have gaps,
and commit times may repeat or decrease.

On a remote storage the latest snapshot is one round trip if it is the one that this object saw last, or the next one:
the hint, these two and the id after them are asked for at the same time. The same holds for the earliest one. Nothing
is trusted because it was seen before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from lakebed.errors import CorruptError, NotFoundError, StorageError
from lakebed.format.paths import SNAPSHOT_PREFIX, TAG_PREFIX, TablePaths
from lakebed.format.snapshot import NO_WATERMARK, Snapshot, snapshot_from_json, snapshot_to_json
from lakebed.metadata.numbered_files import numbered_files
from lakebed.metadata.one_look import forget_answer
from lakebed.storage import Storage, Sync, run_all, run_both, run_together

_FIRST_WINDOW: Final = 8
_LARGEST_WINDOW: Final = 512
_LOCAL_THREADS: Final = 8
_REMOTE_THREADS: Final = 32


class Snapshots:
    """Looks up the snapshots of one branch and adds new ones."""

    def __init__(self, storage: Storage, paths: TablePaths) -> None:
        self._storage = storage
        self._paths = paths
        self._seen: int | None = None
        self._seen_earliest: int | None = None

    @property
    def question(self) -> tuple[str, int, TablePaths]:
        """What :mod:`lakebed.metadata.one_look` keeps the latest snapshot under."""
        return "snapshot", id(self._storage), self._paths

    def ids(self) -> list[int]:
        """Returns the ids that exist, ascending."""
        return list(numbered_files(self._storage, self._paths.snapshots, SNAPSHOT_PREFIX))

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
        text = self._text(snapshot_id)
        return None if text is None else self._parsed(snapshot_id, text)

    def _text(self, snapshot_id: int) -> bytes | None:
        try:
            return self._storage.read(self._paths.snapshot(snapshot_id))
        except NotFoundError:
            return None

    def _parsed(self, snapshot_id: int, text: bytes) -> Snapshot:
        path = self._paths.snapshot(snapshot_id)
        found = snapshot_from_json(text, where=path)
        if found.id != snapshot_id:
            raise CorruptError(
                f"{path} says that its id is {found.id}, so it is not snapshot {snapshot_id}; restore the file from a "
                "backup, or delete it if it was copied there"
            )
        return found

    @property
    def seen_range(self) -> tuple[int, int] | None:
        """The earliest and the latest id when this object saw them last, to guess what to ask for."""
        return None if self._seen is None or self._seen_earliest is None else (self._seen_earliest, self._seen)

    def latest_id(self) -> int | None:
        """Returns the highest id, or ``None`` for a table without snapshots."""
        if self._storage.is_remote:
            hinted = self._hinted()
            latest = None if hinted is None else hinted[0]
        else:
            hint = self.latest_hint()
            is_last = hint is not None and self._is_there(hint) and not self._is_there(hint + 1)
            latest = hint if is_last else None
        return latest if latest is not None else max(self.ids(), default=None)

    def latest(self) -> Snapshot | None:
        """Returns the newest snapshot, or ``None`` for a table without snapshots."""
        while True:
            hinted = self._hinted()
            if hinted is not None:
                self._seen = hinted[0]
                return self._parsed(*hinted)
            ids = self.ids()
            if not ids:
                return None
            found = self.find(ids[-1])
            if found is not None:  # else it was rolled back between the two lookups
                self._seen = found.id
                return found

    def expect_hint(self) -> None:
        """Reads the hint, so that the next :meth:`latest` can ask for that snapshot at once."""
        self._seen = self.latest_hint()

    def expect_earliest_hint(self) -> None:
        """Reads the hint of the earliest snapshot, if this object has not seen that one: see :meth:`expect_hint`."""
        if self._seen_earliest is None:
            self._seen_earliest = self.earliest_hint()

    def _hinted(self) -> tuple[int, bytes] | None:
        """Returns the id and the text of the snapshot that the hint names, if it is the latest: no next one exists."""
        seen = self._seen if self._storage.is_remote else None
        if seen is None:
            hint = self.latest_hint()
            return None if hint is None else self._last(hint)
        (text, next_text), (hint, has_more) = run_both(
            self._storage,
            lambda: run_together([partial(self._text, seen), partial(self._text, seen + 1)]),
            lambda: run_both(self._storage, self.latest_hint, partial(self._is_there, seen + 2)),
        )
        if hint == seen:
            return None if text is None or next_text is not None else (seen, text)
        if hint == seen + 1:
            return None if next_text is None or has_more else (seen + 1, next_text)
        return None if hint is None else self._last(hint)

    def _last(self, snapshot_id: int) -> tuple[int, bytes] | None:
        """Returns the id and the text of a snapshot if it exists and the next one does not."""
        if self._storage.is_remote:
            text, has_next = run_both(
                self._storage, partial(self._text, snapshot_id), partial(self._is_there, snapshot_id + 1)
            )
        else:
            text = self._text(snapshot_id)
            has_next = text is not None and self._is_there(snapshot_id + 1)
        return None if text is None or has_next else (snapshot_id, text)

    def _is_there(self, snapshot_id: int) -> bool:
        return self._storage.exists(self._paths.snapshot(snapshot_id))

    def earliest_id(self) -> int | None:
        """Returns the lowest id, or ``None`` for a table without snapshots."""
        hinted = self.hinted_earliest_id()
        if hinted is not None:
            return hinted
        ids = self.ids()
        return ids[0] if ids else None

    def hinted_earliest_id(self) -> int | None:
        """Returns the lowest id if the hint names it, else ``None``."""
        seen = self._seen_earliest if self._storage.is_remote else None
        if seen is None:
            hint = self.earliest_hint()
            is_right = hint is not None and self._is_earliest(hint)
        else:  # asked for at once
            hint, is_right = run_both(self._storage, self.earliest_hint, partial(self._is_earliest, seen))
            if hint != seen:
                is_right = hint is not None and self._is_earliest(hint)
        if not is_right:
            return None
        self._seen_earliest = hint
        return hint

    def _is_earliest(self, snapshot_id: int) -> bool:
        """Returns whether a snapshot exists and the one before it does not."""
        if not self._storage.is_remote:
            return self._is_there(snapshot_id) and not self._is_there(snapshot_id - 1)
        is_there, has_previous = run_both(
            self._storage, partial(self._is_there, snapshot_id), partial(self._is_there, snapshot_id - 1)
        )
        return is_there and not has_previous

    def latest_hint(self) -> int | None:
        """Returns the highest id according to the hint file, right or wrong; ``None`` without a readable hint."""
        return self._hint(self._paths.latest_hint)

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
            return own is not None and own != NO_WATERMARK and own <= watermark

        return self._newest(fits)

    def since_watermark(self, watermark: int) -> Snapshot | None:
        """Returns the oldest snapshot whose watermark is at least the given one, or ``None`` if there is none."""
        found = (
            snapshot
            for snapshot in self.read_many(self.ids())
            if snapshot.watermark not in {None, NO_WATERMARK} and snapshot.watermark >= watermark
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
        reads = [partial(self.find, snapshot_id) for snapshot_id in ids]
        found = run_all(self._storage, reads) if len(ids) < _FIRST_WINDOW else run_together(reads, self._threads)
        return [snapshot for snapshot in found if snapshot is not None]

    @property
    def _threads(self) -> int:
        return _REMOTE_THREADS if self._storage.is_remote else _LOCAL_THREADS

    def create(
        self,
        snapshot: Snapshot,
        still: Callable[[], bool] | None = None,
        sync: Sync | None = None,
        then: Sequence[Callable[[], None]] = (),
    ) -> bool:
        """Makes a snapshot visible and updates the hint; returns ``False`` if another commit has its id.

        ``still`` is called immediately before: it returns whether the table is unchanged since the snapshot was
        planned. With ``sync`` the snapshot survives a power cut; the hint need not. ``then`` is called after the
        snapshot was created, on a remote storage at the same time as the hint is written; it must not raise.
        """
        text = snapshot_to_json(snapshot).encode()
        if not self._storage.create_exclusive(self._paths.snapshot(snapshot.id), text, still, sync=sync):
            return False
        forget_answer(self.question)
        self._seen = snapshot.id
        run_all(self._storage, [lambda: self._note_latest(snapshot.id), *then])
        return True

    def withdraw(self, snapshot_id: int) -> None:
        """Deletes a snapshot that this process has just created where it must not be."""
        self._storage.delete(self._paths.snapshot(snapshot_id))
        self._seen = None
        with contextlib.suppress(Exception):
            self.correct_latest_hint()

    def _note_latest(self, snapshot_id: int) -> None:
        """Writes the hint, and corrects it if a rollback deleted the snapshot meanwhile. Never raises."""

        def write() -> None:
            self._storage.replace(self._paths.latest_hint, str(snapshot_id).encode(), gap=True)

        with contextlib.suppress(Exception):  # the commit is done, and the hint may be wrong
            _, is_there = run_both(self._storage, write, partial(self._is_there, snapshot_id))
            if not is_there:
                self.correct_latest_hint()

    def correct_latest_hint(self) -> None:
        """Corrects a hint that is too high after a rollback, because other readers trust it."""
        ids = self.ids()
        if ids:
            self._storage.replace(self._paths.latest_hint, str(ids[-1]).encode())
        else:
            self._storage.delete(self._paths.latest_hint)

    # ------------------------------------------------------------------------------------------------- tags

    def tags(self) -> dict[str, Snapshot]:
        """Returns every tag and its snapshot, by name."""
        names = self.tag_names()
        found = run_all(self._storage, [partial(self.find_tag, name) for name in names])
        return {name: snapshot for name, snapshot in zip(names, found, strict=True) if snapshot is not None}

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
            shown = ", ".join(self.tag_names()) or "none"
            raise NotFoundError(f"{self._place()} has no tag {name!r}; its tags: {shown}")
        return found

    def tag_names(self) -> list[str]:
        """Returns the names of the tags, sorted."""
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
