"""Pages of the history of a branch, newest first: the snapshots, their total number, and the cursor of the next page.

* Every snapshot on a page was read from its file for this page, and matches the filters.
* Pages by offset and by cursor have the same rows. A cursor contains the last id of its page. The next page repeats and
  skips nothing if others commit (their ids are higher) or expire (their ids no longer exist) meanwhile.
* Without a filter a page opens the snapshots that it shows. With a filter it uses the history index
  (:mod:`lakebed.metadata.history.history_index`). It opens the last snapshot of the index to check that the index is up
  to date.
* Snapshots that the index lacks, such as those of other engines, are opened in windows from the newest (or from the
  cursor) on, each twice as large as the one before, until the page is full, and until :data:`ADDED_BY_A_PAGE` were
  opened. Each is opened once, because it is added to the index. So a few pages complete the index. The total is
  ``None`` until then.
* A page opens at most :data:`~lakebed.metadata.history.wanted.READ_BY_A_PAGE` snapshots that the index lacks (or as
  many as it has rows). If it is not full then, it ends there: it has fewer rows, perhaps none, and a cursor from which
  the next page goes on. Pages by offset are not bounded, because they count all rows before them.
* If the index cannot be written, a page stops as soon as it is full. The process remembers what it read.
* A total is exact at the time of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.history_sidecar import (
    UNKNOWN,
    chains,
    check_of,
    decode_rows,
    encode_line,
    last_by_id,
)
from lakebed.format.printed import Printed, page_text
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import time_text
from lakebed.metadata.history.history_index import I64, HistoryIndex, Mask, in_last_block, index_of
from lakebed.metadata.history.wanted import Wanted, wanted_page
from lakebed.metadata.store import TableStore

_TRIES: Final = 4
_FIRST_WINDOW: Final = 32
_LARGEST_WINDOW: Final = 1024
_REMEMBERED: Final = 4096

ADDED_BY_A_PAGE: Final = 256
"""A page opens at least so many of the snapshots that the index lacks, to add them."""


class Source(StrEnum):
    """How the snapshots of a page were found."""

    LISTING = "listing"
    INDEX = "index"
    SCAN = "scan"


@dataclass(frozen=True, slots=True, repr=False)
class HistoryPage(Printed):
    """One page of the snapshots of a branch, newest first. Iterate over it to get the snapshots.

    Attributes:
        snapshots: The snapshots on this page.
        next_cursor: Pass it as ``cursor=`` to get the next page; ``None`` if this is the last one. A page with a cursor
            can have fewer rows than asked for, or none, if finding more takes opening more files.
        total: The number of matching snapshots on all pages; ``None`` if counting them takes reading more files.
        scanned: The number of snapshot files that were opened.
        source: How the page was found: by the names of the snapshot files (``listing``), by the index (``index``), or
            by opening snapshots that the index does not know (``scan``).
    """

    snapshots: tuple[Snapshot, ...]
    next_cursor: str | None
    total: int | None
    scanned: int
    source: Source

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self.snapshots)

    def __len__(self) -> int:
        return len(self.snapshots)

    def __str__(self) -> str:
        rows = [
            [str(one.id), one.commit_kind, time_text(one.time_millis), f"{one.delta_record_count:+,}", one.commit_user]
            for one in self.snapshots
        ]
        head = ["id", "kind", "time", "rows", "user"]
        return page_text("snapshot", head, rows, total=self.total, has_more=self.next_cursor is not None)


def find_page(store: TableStore, **asked: Any) -> HistoryPage:
    """Returns one page of the history of a branch; takes the arguments of :func:`wanted_page`."""
    return page_of(store, wanted_page(store, **asked))


def page_of(store: TableStore, wanted: Wanted) -> HistoryPage:
    """Returns one page of the history of a branch."""
    return _Search(store, index_of(store), wanted).page()


def first_match(
    store: TableStore,
    *,
    from_time: int | None = None,
    to_time: int | None = None,
    from_watermark: int | None = None,
    to_watermark: int | None = None,
    before: int | None = None,
    is_oldest: bool = False,
) -> tuple[Snapshot | None, bool]:
    """Returns the newest (or the oldest) snapshot between two times or two watermarks, and before an id.

    Also returns whether that is certain; it is not if others deleted snapshots all the time.
    """
    wanted = Wanted(
        kind=None,
        user=None,
        from_time=from_time,
        to_time=to_time,
        limit=1,
        offset=0,
        before=before,
        fingerprint="",
        is_oldest=is_oldest,
        from_watermark=from_watermark,
        to_watermark=to_watermark,
    )
    search = _Search(store, index_of(store), wanted)
    found = search.page().snapshots
    return (found[0] if found else None), search.is_certain


def all_matches(
    store: TableStore, ids: Callable[[I64], Mask], rows: Callable[[pa.Table], Mask] | None
) -> list[Snapshot] | None:
    """Returns the snapshots, by id, whose ids and lines satisfy conditions; ``None`` if others deleted some meanwhile.

    Snapshots with ids that match are opened only if their line matches too, or if there is none.
    """
    nothing = dict.fromkeys(("kind", "user", "from_time", "to_time", "before"))
    wanted = Wanted(**nothing, limit=2**62, offset=0, fingerprint="", ids=ids, rows=rows)  # type: ignore[arg-type]
    search = _Search(store, index_of(store), wanted)
    found = search.page().snapshots
    return list(found[::-1]) if search.is_certain else None


# ------------------------------------------------------------------------------------------------------- searching


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The snapshots that a page shows, their rows in the index if it was used, and where the next page begins."""

    ids: I64
    checks: I64 | None
    total: int | None
    next_before: int | None
    source: Source


@dataclass
class _Search:
    """The search for one page."""

    store: TableStore
    index: HistoryIndex
    wanted: Wanted
    scanned: int = 0
    is_certain: bool = False
    _read: dict[int, Snapshot] = field(default_factory=dict)
    _ahead: dict[int, Snapshot | None] = field(default_factory=dict)

    def page(self) -> HistoryPage:
        """Chooses snapshots and reads them; chooses again if the files differ from the index."""
        for attempt in range(_TRIES):
            with self.index.lock:
                chosen = self._choose()
            shown, gone, wrong = self._opened(chosen)
            self.is_certain = not gone and not wrong
            if self.is_certain:
                break
            self._read.clear()
            self._ahead.clear()
            with self.index.lock:
                self.index.missed(gone)
                if wrong and attempt:  # it was not only a rollback meanwhile
                    self.index.discard(self.store)
        return HistoryPage(
            snapshots=tuple(shown),
            next_cursor=None if chosen.next_before is None else self.wanted.cursor_after(chosen.next_before),
            total=None if chosen.total is None else chosen.total - len(chosen.ids) + len(shown),
            scanned=self.scanned,
            source=chosen.source,
        )

    def _opened(self, chosen: _Chosen) -> tuple[list[Snapshot], set[int], bool]:
        """Returns the snapshots from their files, the missing ids, and whether one differs from the index."""
        ids: list[int] = chosen.ids.tolist()
        found = self._files(ids)
        there = [found[number] for number in ids if number in found]
        checks = {} if chosen.checks is None else dict(zip(ids, chosen.checks.tolist(), strict=True))
        right = [one for one in there if checks.get(one.id) in {None, check_of(one)} and self.wanted.matches(one)]
        return right, set(ids).difference(found), len(right) < len(there)

    def _files(self, ids: Sequence[int]) -> dict[int, Snapshot]:
        """Returns the existing snapshots by id; each is opened once."""
        fresh = [number for number in ids if number not in self._read and number not in self._ahead]
        self.scanned += len(fresh)
        found = {one.id: one for one in self.store.snapshots.read_many(fresh)}
        found |= {number: one for number in ids if (one := self._ahead.get(number)) is not None}
        found |= {number: self._read[number] for number in ids if number in self._read}
        if len(self._read) < _REMEMBERED:
            self._read |= {number: one for number, one in found.items() if self.wanted.matches(one)}
        return found

    def _read_ahead(self, ids: list[int]) -> None:
        """Opens snapshots that will be needed, while the index is loaded."""
        found = self._files(ids)
        self._ahead |= {number: found.get(number) for number in ids}

    def _read_newest(self, ids: list[int]) -> None:
        """Opens those of the newest snapshots that can match, and the first, which proves the index."""
        self._read_ahead([*ids[:1], *self.wanted.among(np.array(ids[1:], np.int64)).tolist()])

    def _existing(self) -> I64:
        if not self.store.storage.is_remote:
            return self.index.existing(self.store)
        return self.index.look(self.store, None if self.wanted.is_all else self._read_newest)

    def _choose(self) -> _Chosen:
        ids = self._existing()
        asked = self.wanted.among(ids)
        if self.wanted.is_all:
            return self._slice(asked, None, total=len(asked), left=ids[:0], source=Source.LISTING)
        verified = self._verified(self.index.rows(self.store, ids))
        rows = verified.filter(pc.is_valid(verified["watermark"])) if self.wanted.needs_watermarks else verified
        known = rows["id"].to_numpy()
        missing = ids[:0] if len(known) == len(ids) else np.setdiff1d(asked, known, assume_unique=True)
        lacking = self._lacking(missing, ids)
        source = Source.SCAN if len(lacking) else Source.INDEX
        rows, left = self._filled(rows, missing, lacking, verified)
        mask = self.wanted.mask(rows)
        matching, checks = rows["id"].to_numpy()[mask], rows["check"].to_numpy()[mask]
        total = None if len(left) else len(matching)
        return self._slice(matching, checks, total=total, left=left, source=source)

    def _slice(self, ids: I64, checks: I64 | None, *, total: int | None, left: I64, source: Source) -> _Chosen:
        """Returns the page from all matching ids, ascending; nothing is known about the ids in ``left``."""
        wanted = self.wanted
        unread = left if wanted.before is None else left[left < wanted.before]
        first = 0 if not len(unread) else int(np.searchsorted(ids, unread.max()))  # unknown ones may come before
        end = len(ids) if wanted.before is None else int(np.searchsorted(ids, wanted.before))
        stop = min(wanted.limit, end) if wanted.is_oldest else max(first, end - wanted.offset)
        start = max(first, stop - wanted.limit)
        chosen = ids[start:stop][::-1]
        next_before = None
        if len(chosen) == wanted.limit or not len(unread):
            next_before = int(chosen[-1]) if len(chosen) and (start > 0 or len(unread)) else None
        elif not wanted.offset:
            next_before = int(unread.max()) + 1
        return _Chosen(chosen, None if checks is None else checks[start:stop][::-1], total, next_before, source)

    # --------------------------------------------------------------------------------------------------- the index

    def _lacking(self, missing: I64, ids: I64) -> I64:
        """Returns the missing ids of which the index should have lines: all, if lines can be appended."""
        if self.store.storage.can_append or not len(missing):
            return missing
        return missing[~in_last_block(missing, int(ids[-1]))]

    def _verified(self, rows: pa.Table) -> pa.Table:
        """Returns the rows whose snapshots exist unchanged; others were rolled back."""
        ids, checks = rows["id"].to_numpy(), rows["check"].to_numpy()

        def holds(place: int) -> bool:
            number = int(ids[place])
            found = self._files([number]).get(number)
            return found is not None and check_of(found) == int(checks[place])

        right = np.ones(len(ids), np.bool_)
        starts, ends = (places.tolist() for places in chains(rows))
        unread = [number for end in ends if (number := int(ids[end])) not in self._ahead]
        if self.store.storage.is_remote and unread:
            self._read_ahead(unread)
        for start, end in zip(starts, ends, strict=True):
            if not holds(end):
                right[_first_wrong(start, end, holds) : end + 1] = False
        return rows if right.all() else rows.filter(pa.array(right))

    def _filled(self, rows: pa.Table, missing: I64, lacking: I64, verified: pa.Table) -> tuple[pa.Table, I64]:
        """Returns the rows with those that the index lacked, and the ids that a full page did not need to read.

        Lines of the snapshots in ``lacking`` are added to the index. ``verified`` has all rows whose checks are known.
        """
        if not len(missing):
            return rows, missing
        most = len(missing) if self.wanted.most_read is None else self.wanted.most_read
        can_write = not len(lacking) or self.index.can_write(self.store, int(lacking[-1]))
        needed = len(missing) if self.wanted.before is None else int(np.searchsorted(missing, self.wanted.before))
        tables, left, descending, budget = [rows], [], _Descending(verified), ADDED_BY_A_PAGE if can_write else 0
        for order, is_needed in ((missing[:needed][::-1], True), (missing[needed:][::-1], False)):
            window, place = max(_FIRST_WINDOW, min(self.wanted.limit, _LARGEST_WINDOW)), 0
            while place < len(order) and (
                budget > 0 or (is_needed and place < most and not self._is_full(tables, order[place:]))
            ):
                size = min(window, budget if budget > 0 else most - place)
                asked: list[int] = order[place : place + size].tolist()
                found = self._consistent(asked) if len(lacking) else sorted(self._files(asked).values(), key=_id_of)
                self.index.missed(set(asked).difference(one.id for one in found))
                place, budget = place + len(asked), budget - len(asked)
                window = min(2 * window, _LARGEST_WINDOW)
                tables.append(descending.rows_of(found, is_last=place >= len(order)))
                self.index.add(self.store, tables[-1].filter(pa.array(np.isin(tables[-1]["id"].to_numpy(), lacking))))
            left.append(order[place:])
        tables.append(descending.rows_of([], is_last=True))  # not kept, because it is in no chain yet
        return last_by_id(pa.concat_tables(tables)), np.concatenate(left)

    def _consistent(self, ids: Sequence[int]) -> list[Snapshot]:
        """Returns snapshots that existed at the same time: the first is unchanged, so there was no rollback."""
        path, stamp = self.store.paths.snapshot(ids[0]), self.store.storage.stamp
        for _ in range(_TRIES):
            seen = stamp(path)
            found = self._files(ids)
            if stamp(path) == seen:
                break
            for number in ids:
                self._read.pop(number, None)
        return sorted(found.values(), key=_id_of)

    def _is_full(self, tables: Sequence[pa.Table], left: I64) -> bool:
        """Returns whether the page is complete: there are enough matches above the first unknown id."""
        if self.wanted.is_oldest:
            return False
        top = 2**63 - 1 if self.wanted.before is None else self.wanted.before
        matching = [rows["id"].to_numpy()[self.wanted.mask(rows)] for rows in tables]
        count = sum(int(np.count_nonzero((ids > left[0]) & (ids < top))) for ids in matching)
        return count >= self.wanted.offset + self.wanted.limit


def _id_of(snapshot: Snapshot) -> int:
    return snapshot.id


def _first_wrong(start: int, end: int, holds: Callable[[int], bool]) -> int:
    """Returns the first place between ``start`` and ``end`` for which ``holds`` is false; it is false from there on."""
    right, wrong = start - 1, end
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (middle, wrong) if holds(middle) else (right, middle)
    return wrong


@dataclass
class _Descending:
    """Makes rows of snapshots that are read from the newest down, each with the check of the snapshot before it.

    The lowest snapshot of a call waits until the one before it is known, from the next call or from an existing row.
    """

    known: pa.Table
    _waiting: Snapshot | None = None

    def rows_of(self, snapshots: Sequence[Snapshot], *, is_last: bool) -> pa.Table:
        """Returns rows of these snapshots, which ascend, and of the one that waited."""
        run = [*snapshots, *([] if self._waiting is None else [self._waiting])]
        self._waiting = None
        checks = {one.id: check_of(one) for one in run}
        if run:
            checks.setdefault(run[0].id - 1, self._known_check(run[0].id - 1))
            if not is_last and checks[run[0].id - 1] == UNKNOWN:
                self._waiting, run = run[0], run[1:]
        lines = [encode_line(one, checks.get(one.id - 1) or self._known_check(one.id - 1)) for one in run]
        return decode_rows(b"".join(lines), where="memory")[0]

    def _known_check(self, snapshot_id: int) -> int:
        ids = self.known["id"].to_numpy()
        place = int(np.searchsorted(ids, snapshot_id))
        return int(self.known["check"][place].as_py()) if place < len(ids) and ids[place] == snapshot_id else UNKNOWN
