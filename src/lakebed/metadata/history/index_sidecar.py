"""The history index: what one line can say of each snapshot of a branch, so that pages of history need not open them all.

It lies in ``.lakebed/history-<n>`` of the table's root, or of the branch's folder, so it goes where the branch goes. Nothing
refers to it and nothing needs it: Paimon and orphan removal do not look into that folder, verify reports only an empty file
there, and whoever deletes it makes the next filtered page of history read the snapshots once more.

* A commit adds its line after its snapshot is visible (:func:`note`); if that fails, or the process dies before, a line is
  missing, and whoever needs it reads the snapshot and adds it. The same holds for snapshots that others committed.
* Lines are never believed where a snapshot says otherwise: each chain of lines (mostly there is one) is checked against the
  snapshot of its last line, and if that is another one, a bisection finds where they part. Those after it are read again.
* What exists is asked of the snapshots' folder. Up to :data:`LISTED` snapshots it is listed whenever it changed. Longer
  histories are taken to be without holes between the first and the last id, which is what expiry and rollback leave; a
  snapshot that is missed between them, when a page wants to show it, has the folder listed, and is left out from then on.

One process keeps one :class:`HistoryIndex` for each branch that was asked for, and reads again only segments that changed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import CorruptError, LakebedError, NotFoundError, StorageError
from lakebed.format.history_index import (
    NO_ROWS,
    SEGMENT,
    UNKNOWN,
    check_of,
    decode_rows,
    encode_line,
    encode_rows,
    last_by_id,
    segment_of,
)
from lakebed.format.paths import HISTORY_PREFIX, id_of
from lakebed.format.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from lakebed.metadata.store import TableStore
from lakebed.storage import FileInfo

I64: TypeAlias = npt.NDArray[np.int64]

LISTED: Final = 2_000
_BRANCHES: Final = 64
_SETTLED_SECONDS: Final = 0.1
_THREADS: Final = 8


def note(store: TableStore, snapshot: Snapshot, previous: Snapshot | None) -> None:
    """Add the line of a snapshot that was just committed on another; what goes wrong here is no matter of the commit."""
    with contextlib.suppress(Exception):
        line = encode_line(snapshot, UNKNOWN if previous is None else check_of(previous))
        store.storage.append(store.paths.history_segment(segment_of(snapshot.id)), line)


def index_of(store: TableStore) -> HistoryIndex:
    """Returns what this process knows of a branch."""
    with _lock:
        found = _indexes.setdefault(store.paths.snapshots, HistoryIndex())
        _indexes.move_to_end(store.paths.snapshots)
        while len(_indexes) > _BRANCHES:
            _indexes.popitem(last=False)
        return found


def forget_indexes() -> None:
    """Let this process forget what it knows; the next page begins with what is on disk."""
    with _lock:
        _indexes.clear()


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment as it was read: its size and time tell whether it changed since."""

    size: int
    modified_millis: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class _Listing:
    """The ids in the snapshots' folder while it had some stamp.

    Stamps have a grain: a listing made right after a change may share its stamp with the next change, and counts only once.
    """

    stamp: str
    first_seen: float
    made: float
    ids: I64

    @property
    def is_settled(self) -> bool:
        return self.made - self.first_seen > _SETTLED_SECONDS


class HistoryIndex:
    """The rows of one branch's index in memory. Callers hold ``lock`` while they use it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._segments: dict[int, _Segment] = {}
        self._loose = NO_ROWS
        self._joined: pa.Table | None = None
        self._listing: _Listing | None = None
        self._holes: set[int] = set()
        self._missed: set[int] = set()

    # ------------------------------------------------------------------------------------------------- what exists

    def existing(self, store: TableStore) -> I64:
        """Returns the ids of the snapshots that exist, ascending."""
        stamp = store.storage.stamp(store.paths.snapshots)
        listing = self._listing
        if stamp is not None and listing is not None and listing.stamp == stamp and listing.is_settled:
            return listing.ids
        bounds = _bounds(store)
        if bounds is None:
            return np.zeros(0, np.int64)
        if bounds[1] - bounds[0] < LISTED:
            return self._listed(store, stamp)
        return self._without_holes(store, *bounds)

    def missed(self, ids: Iterable[int]) -> None:
        """These snapshots should have been there, and were not."""
        self._missed.update(ids)
        if self._missed:
            self._listing = None

    def _listed(self, store: TableStore, stamp: str | None) -> I64:
        now = time.monotonic()
        before = self._listing
        ids = np.array(store.snapshots.ids(), np.int64)
        if stamp is not None:
            first_seen = before.first_seen if before is not None and before.stamp == stamp else now
            self._listing = _Listing(stamp, first_seen, now, ids)
        return ids

    def _without_holes(self, store: TableStore, first: int, last: int) -> I64:
        """Returns all ids between two, without those that are known to be missing; others are looked for when one was missed."""

        def is_hole(number: int) -> bool:
            return first <= number <= last and not store.storage.exists(store.paths.snapshot(number))

        ids = np.arange(first, last + 1)
        if any(map(is_hole, self._missed - self._holes)):
            self._holes = set(np.setdiff1d(ids, store.snapshots.ids()).tolist())
        self._missed.clear()
        self._holes = set(filter(is_hole, self._holes))
        return np.delete(ids, np.array(sorted(self._holes), np.int64) - first) if self._holes else ids

    # ------------------------------------------------------------------------------------------------- what is known

    def rows(self, store: TableStore, ids: I64) -> pa.Table:
        """Returns the rows of these snapshots as far as they are known, by id; nothing is checked."""
        if not len(ids):
            return NO_ROWS
        self._load(store, segment_of(int(ids[0])), segment_of(int(ids[-1])))
        if self._joined is None:
            tables = [self._segments[number].rows for number in sorted(self._segments)]
            joined = pa.concat_tables([NO_ROWS, *tables]).combine_chunks()
            self._joined = last_by_id(pa.concat_tables([joined, self._loose])) if len(self._loose) else joined
        known = self._joined["id"].to_numpy()
        if np.array_equal(known, ids):
            return self._joined
        return self._joined.filter(pa.array(np.isin(known, ids)))

    def can_write(self, store: TableStore, snapshot_id: int) -> bool:
        """Returns whether what is learnt can be written down, which is found out by trying."""
        try:
            store.storage.append(store.paths.history_segment(segment_of(snapshot_id)), b"\n")
        except LakebedError:
            return False
        return True

    def add(self, store: TableStore, rows: pa.Table) -> None:
        """Write down what is now known; if that is not possible, it is kept in memory."""
        numbers = rows["id"].to_numpy() // SEGMENT
        try:
            for number in np.unique(numbers).tolist():
                lines = encode_rows(rows.filter(pa.array(numbers == number)))
                store.storage.append(store.paths.history_segment(number), lines)
        except LakebedError:
            self._loose = last_by_id(pa.concat_tables([self._loose, rows]))
            self._joined = None

    def discard(self, store: TableStore) -> None:
        """The index is wrong in a way that no rollback explains: begin anew."""
        for number in _segment_files(store):
            with contextlib.suppress(LakebedError):
                store.storage.delete(store.paths.history_segment(number))
        self._segments, self._loose, self._joined = {}, NO_ROWS, None

    def _load(self, store: TableStore, first: int, last: int) -> None:
        files = _segment_files(store)
        for number in [number for number in files if number < first]:
            with contextlib.suppress(LakebedError):
                store.storage.delete(store.paths.history_segment(number))
        wanted = {number: info for number, info in files.items() if first <= number <= last}
        if any(number not in wanted for number in self._segments):
            self._segments = {number: one for number, one in self._segments.items() if number in wanted}
            self._joined = None
        changed = [number for number, info in wanted.items() if not _is_same(self._segments.get(number), info)]
        if not changed:
            return
        self._joined = None
        with ThreadPoolExecutor(_THREADS) if len(changed) > 1 else contextlib.nullcontext() as pool:
            run = map if pool is None else pool.map
            loaded = list(run(lambda number: _read_segment(store, number, wanted[number]), changed))
        self._segments |= dict(zip(changed, loaded, strict=True))


_lock: Final = threading.Lock()
_indexes: Final[OrderedDict[str, HistoryIndex]] = OrderedDict()


def _segment_files(store: TableStore) -> dict[int, FileInfo]:
    try:
        infos: Iterable[FileInfo] = store.storage.list(store.paths.history_index)
    except StorageError:  # a folder that we may not look into is as good as none
        infos = ()
    return {number: info for info in infos if (number := id_of(info.name, HISTORY_PREFIX)) is not None}


def _is_same(segment: _Segment | None, info: FileInfo) -> bool:
    """Segments grow whenever they change, but for a clean-up, which happens now and then."""
    return segment is not None and (segment.size, segment.modified_millis) == (info.size, info.modified_millis)


def _read_segment(store: TableStore, number: int, info: FileInfo) -> _Segment:
    """Returns a segment; one that cannot be understood goes, one that consists of old lines mostly is written anew."""
    path = store.paths.history_segment(number)
    try:
        rows, lines = decode_rows(store.storage.read(path), where=path)
    except CorruptError:
        with contextlib.suppress(LakebedError):
            store.storage.delete(path)
        rows, lines = NO_ROWS, 0
    except (NotFoundError, StorageError):
        rows, lines = NO_ROWS, 0
    rows = rows.filter(pa.array(rows["id"].to_numpy() // SEGMENT == number))
    if lines > 2 * len(rows) + 64:
        with contextlib.suppress(LakebedError):  # a line that somebody adds meanwhile is lost, and made again
            store.storage.replace(path, encode_rows(rows))
    return _Segment(info.size, info.modified_millis, rows)


def _bounds(store: TableStore) -> tuple[int, int] | None:
    """Returns the first and the last id, by a few looks at names instead of a list of all."""
    exists, path = store.storage.exists, store.paths.snapshot
    last = store.snapshots.latest_id()
    if last is None:
        return None
    if exists(path(FIRST_SNAPSHOT_ID)):
        return FIRST_SNAPSHOT_ID, last
    hint = store.snapshots.earliest_hint()
    if hint is not None and FIRST_SNAPSHOT_ID < hint <= last and exists(path(hint)) and not exists(path(hint - 1)):
        return hint, last
    gone, there = FIRST_SNAPSHOT_ID, last
    while there - gone > 1:
        middle = (gone + there) // 2
        gone, there = (gone, middle) if exists(path(middle)) else (middle, there)
    return there, last
