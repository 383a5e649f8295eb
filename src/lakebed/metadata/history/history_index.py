"""The history index on disk and in memory: pages of history read it instead of every snapshot.

The index is ``.lakebed/history-<n>`` in the folder of the branch, so it is renamed and deleted with the branch;
``format/history_sidecar`` has its content. It is a cache that can be deleted at any time: Paimon and the removal of
orphan files ignore the folder, and the next filtered page reads the snapshots again.

* A commit appends its line after its snapshot is visible (:func:`note`). If that fails, or the process dies before, the
  line is missing. The next reader that needs it reads the snapshot and appends the line. Snapshots of other writers are
  added in the same way.
* A line is only used if its snapshot is unchanged. Each chain of lines (usually there is one) is compared with the
  snapshot of its last line. If that differs, a binary search finds the first difference, and the snapshots after it are
  read again.
* The folder of snapshots says which snapshots exist. Up to :data:`LISTED` snapshots it is listed whenever it changed.
  Longer histories are assumed to have no gaps between the first and the last id, because expiry and rollback leave
  none. If a page does not find a snapshot, the folder is listed, and the id is skipped from then on.

A storage that cannot append (:attr:`Storage.can_append`) has the same files, written as a whole:

* Only the commit whose id is the last of a block of :data:`BLOCK` ids writes the index: the segment with the lines of
  that block added. It reads the snapshots of the block while it writes its own files (:func:`lines_before`), so the
  index costs no round trip. A block of 64 ids makes that one small request in 64 commits, and a filtered page opens at
  most 63 snapshots, at the same time, of which there is no line yet.
* These newest snapshots are read for each page. A reader that misses lines of complete blocks reads the snapshots and
  writes the segment. If two write it at the same time, lines of one may be lost, and are added again later.

A process keeps one :class:`HistoryIndex` for each branch, and reads a segment again only if it changed.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import CorruptError, LakebedError, NotFoundError, StorageError
from lakebed.format.history_sidecar import (
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
from lakebed.format.paths import HISTORY_PREFIX
from lakebed.format.snapshot import FIRST_SNAPSHOT_ID, Snapshot
from lakebed.metadata.numbered_files import numbered_files
from lakebed.metadata.store import TableStore
from lakebed.storage import FileInfo, run_all, run_both, run_together

I64: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

LISTED: Final = 2_000
BLOCK: Final = 64
"""Of so many ids one commit writes the lines, where a storage cannot append; a divisor of :data:`SEGMENT`."""
_LISTED_IN_ONE_REQUEST: Final = 900
_BRANCHES: Final = 64
_SETTLED_SECONDS: Final = 0.1
_THREADS: Final = 8


def note(store: TableStore, snapshot: Snapshot, previous: Snapshot | None, before: bytes | None = None) -> None:
    """Adds the line of a new snapshot. It never raises, because the commit is already made.

    ``before`` is what :func:`lines_before` returned. Where lines cannot be appended, nothing is written without it.
    """
    with contextlib.suppress(Exception):
        line = encode_line(snapshot, UNKNOWN if previous is None else check_of(previous))
        path = store.paths.history_segment(segment_of(snapshot.id))
        if store.storage.can_append:
            store.storage.append(path, line)
        elif before is not None:
            store.storage.replace(path, before + line)


def lines_before(store: TableStore, latest: Snapshot | None) -> bytes | None:
    """Returns the lines of the segment of the next snapshot, if that one completes a block; else ``None``.

    The snapshots are consistent with each other if ``latest`` is still the latest one afterwards, which a commit checks
    anyway. It never raises.
    """
    if store.storage.can_append or latest is None or (latest.id + 1) % BLOCK != BLOCK - 1:
        return None
    with contextlib.suppress(Exception):
        ids = list(range(max(FIRST_SNAPSHOT_ID, latest.id + 1 - BLOCK), latest.id))
        number = segment_of(latest.id + 1)
        read, known = run_both(
            store.storage, partial(store.snapshots.read_many, ids), partial(_lines_of, store, number)
        )
        checks = {one.id: check_of(one) for one in read}
        block = [one for one in (*read, latest) if segment_of(one.id) == number]
        lines = b"".join(encode_line(one, checks.get(one.id - 1, UNKNOWN)) for one in block)
        rows = decode_rows(lines, where="memory")[0]
        return encode_rows(last_by_id(pa.concat_tables([known, rows])))
    return None


def in_last_block(ids: I64, newest: int) -> Mask:
    """Returns which ids belong to the block of the newest one, if that block is not complete yet.

    >>> in_last_block(np.array([62, 63, 64, 65]), 65).tolist(), in_last_block(np.array([62, 63]), 63).tolist()
    ([False, False, True, True], [False, False])
    """
    return ids > _last_complete(newest)


def _last_complete(newest: int) -> int:
    """Returns the last id of the last complete block."""
    return (newest + 1) // BLOCK * BLOCK - 1


def _lines_of(store: TableStore, number: int) -> pa.Table:
    """Returns the rows of a segment; none if it does not exist or is damaged."""
    path = store.paths.history_segment(number)
    try:
        return decode_rows(store.storage.read(path), where=path)[0]
    except LakebedError:
        return NO_ROWS


def recorded(store: TableStore, ids: Iterable[int] | None = None) -> pa.Table:
    """Returns the lines of these snapshots (default: of all) as they are on disk, whether or not they exist any more.

    Nothing is changed. A segment that cannot be read counts as empty.
    """
    wanted = None if ids is None else np.fromiter(ids, np.int64)
    numbers = list(_segment_files(store)) if wanted is None else sorted(set((wanted // SEGMENT).tolist()))
    tables = run_all(store.storage, [partial(_lines_of, store, number) for number in numbers])
    rows = pa.concat_tables([NO_ROWS, *tables])
    return rows if wanted is None else rows.filter(pa.array(np.isin(rows["id"].to_numpy(), wanted)))


def index_of(store: TableStore) -> HistoryIndex:
    """Returns the index of a branch in the memory of this process."""
    with _lock:
        found = _indexes.setdefault(store.paths.snapshots, HistoryIndex())
        _indexes.move_to_end(store.paths.snapshots)
        while len(_indexes) > _BRANCHES:
            _indexes.popitem(last=False)
        return found


def forget_indexes() -> None:
    """Drops all indexes from memory; the next page reads them from disk."""
    with _lock:
        _indexes.clear()


@dataclass(frozen=True, slots=True)
class _Segment:
    """A segment that was read, with the size and time of its file to notice changes."""

    size: int
    modified_millis: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class _Listing:
    """The ids in the folder of snapshots, for one version token of the folder.

    Tokens have a limited resolution: a listing right after a change may have the same token as the next change, so it
    is used only once.
    """

    stamp: str
    first_seen: float
    made: float
    ids: I64

    @property
    def is_settled(self) -> bool:
        return self.made - self.first_seen > _SETTLED_SECONDS


class HistoryIndex:
    """The index of one branch in memory. Callers hold ``lock`` while they use it."""

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

    def look(self, store: TableStore, read: Callable[[list[int]], object] | None = None) -> I64:
        """Returns the ids of the snapshots that exist, ascending, in two round trips to a remote storage.

        With ``read`` it also loads the index, and lets ``read`` open the newest snapshots, of which there are no lines,
        and the last one that has a line, which proves that the lines are up to date.
        """
        storage = store.storage
        ends, files = run_both(
            storage, partial(_hinted_ends, store), lambda: {} if read is None else _segment_files(store)
        )
        listed = self._listed(store, None) if ends is None else None  # hints are missing, or wrong
        if listed is not None:
            ends = (int(listed[0]), int(listed[-1])) if len(listed) else (FIRST_SNAPSHOT_ID, FIRST_SNAPSHOT_ID)
        first, last = ends or (FIRST_SNAPSHOT_ID, FIRST_SNAPSHOT_ID)

        def find() -> I64:
            return self._between(store, first, last) if listed is None else listed

        rest: list[Callable[[], object]] = []
        if read is not None:
            rest.append(lambda: self._load(store, files, segment_of(first), segment_of(last)))
            rest.append(lambda: read(list(range(max(first, _last_complete(last)), last + 1))))
        found, _ = run_both(storage, find, lambda: run_all(storage, rest))
        return found

    def _between(self, store: TableStore, first: int, last: int) -> I64:
        """Returns the ids that exist, given the first and the last one, which may be wrong."""
        if last - first < min(LISTED, _LISTED_IN_ONE_REQUEST):
            return self._listed(store, None)
        numbers = [first, first - 1, last, last + 1]
        there = run_together([partial(store.storage.exists, store.paths.snapshot(number)) for number in numbers])
        if there == [True, False, True, False]:
            return self._without_holes(store, first, last)
        bounds = _bounds(store)
        return np.zeros(0, np.int64) if bounds is None else self._without_holes(store, *bounds)

    def missed(self, ids: Iterable[int]) -> None:
        """Records that these snapshots do not exist, although they should."""
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
        """Returns all ids between two, without those that are known to be missing."""

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
        """Returns the known rows of these snapshots, by id, without checking them."""
        if not len(ids):
            return NO_ROWS
        if not store.storage.is_remote:  # else look() did
            self._load(store, _segment_files(store), segment_of(int(ids[0])), segment_of(int(ids[-1])))
        if self._joined is None:
            tables = [self._segments[number].rows for number in sorted(self._segments)]
            joined = pa.concat_tables([NO_ROWS, *tables]).combine_chunks()
            self._joined = last_by_id(pa.concat_tables([joined, self._loose])) if len(self._loose) else joined
        known = self._joined["id"].to_numpy()
        if np.array_equal(known, ids):
            return self._joined
        return self._joined.filter(pa.array(np.isin(known, ids)))

    def can_write(self, store: TableStore, snapshot_id: int) -> bool:
        """Returns whether the index can be written, by trying."""
        number = segment_of(snapshot_id)
        try:
            if store.storage.can_append:
                store.storage.append(store.paths.history_segment(number), b"\n")
            else:
                store.storage.replace(store.paths.history_segment(number), encode_rows(self._rows_of(number)) or b"\n")
        except LakebedError:
            return False
        return True

    def _rows_of(self, number: int) -> pa.Table:
        return self._segments[number].rows if number in self._segments else NO_ROWS

    def add(self, store: TableStore, rows: pa.Table) -> None:
        """Adds rows to the index; if that is not possible, they are kept in memory."""
        numbers = rows["id"].to_numpy() // SEGMENT
        try:
            for number in np.unique(numbers).tolist():
                self._write(store, number, rows.filter(pa.array(numbers == number)))
        except LakebedError:
            self._loose = last_by_id(pa.concat_tables([self._loose, rows]))
            self._joined = None

    def _write(self, store: TableStore, number: int, rows: pa.Table) -> None:
        path = store.paths.history_segment(number)
        if store.storage.can_append:
            store.storage.append(path, encode_rows(rows))
            return
        whole = last_by_id(pa.concat_tables([self._rows_of(number), rows]))
        store.storage.replace(path, encode_rows(whole))
        self._segments[number] = _Segment(-1, -1, whole)  # read again once, if it is still needed
        self._joined = None

    def discard(self, store: TableStore) -> None:
        """Deletes the index because it is wrong and no rollback explains it."""
        for number in _segment_files(store):
            with contextlib.suppress(LakebedError):
                store.storage.delete(store.paths.history_segment(number))
        self._segments, self._loose, self._joined = {}, NO_ROWS, None

    def _load(self, store: TableStore, files: Mapping[int, FileInfo], first: int, last: int) -> None:
        """Reads the segments between two that changed, and deletes those before, whose snapshots expired."""

        def delete(number: int) -> None:
            with contextlib.suppress(LakebedError):
                store.storage.delete(store.paths.history_segment(number))

        def deletes() -> None:
            run_all(store.storage, [partial(delete, number) for number in files if number < first])

        run_both(store.storage, deletes, lambda: self._load_changed(store, files, first, last))

    def _load_changed(self, store: TableStore, files: Mapping[int, FileInfo], first: int, last: int) -> None:
        wanted = {number: info for number, info in files.items() if first <= number <= last}
        if any(number not in wanted for number in self._segments):
            self._segments = {number: one for number, one in self._segments.items() if number in wanted}
            self._joined = None
        changed = [number for number, info in wanted.items() if not _is_same(self._segments.get(number), info)]
        if not changed:
            return
        self._joined = None
        loaded = run_together([partial(_read_segment, store, number, wanted[number]) for number in changed], _THREADS)
        self._segments |= dict(zip(changed, loaded, strict=True))


_lock: Final = threading.Lock()
_indexes: Final[OrderedDict[str, HistoryIndex]] = OrderedDict()


def _segment_files(store: TableStore) -> dict[int, FileInfo]:
    try:
        return numbered_files(store.storage, store.paths.history_index, HISTORY_PREFIX)
    except StorageError:  # a folder without permission counts as missing
        return {}


def _is_same(segment: _Segment | None, info: FileInfo) -> bool:
    """Returns the size and time of a segment; every change makes it longer, except a rewrite."""
    return segment is not None and (segment.size, segment.modified_millis) == (info.size, info.modified_millis)


def _read_segment(store: TableStore, number: int, info: FileInfo) -> _Segment:
    """Returns a segment. A damaged one is deleted, and one with mostly outdated lines is rewritten."""
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
        with contextlib.suppress(LakebedError):  # a line that is appended meanwhile is lost, and added again later
            store.storage.replace(path, encode_rows(rows))
    return _Segment(info.size, info.modified_millis, rows)


def _hinted_ends(store: TableStore) -> tuple[int, int] | None:
    """Returns the first and the last id by the hints, in one round trip; ``None`` if they cannot be right."""
    snapshots = store.snapshots
    (last, hint), has_first = run_both(
        store.storage,
        lambda: run_both(store.storage, snapshots.latest_hint, snapshots.earliest_hint),
        partial(store.storage.exists, store.paths.snapshot(FIRST_SNAPSHOT_ID)),
    )
    first = FIRST_SNAPSHOT_ID if has_first else hint
    return (first, last) if first is not None and last is not None and FIRST_SNAPSHOT_ID <= first <= last else None


def _bounds(store: TableStore) -> tuple[int, int] | None:
    """Returns the first and the last id by a few lookups, without a listing."""
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
