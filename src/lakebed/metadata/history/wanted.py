"""What a page of history shows: the filters, how many rows, where it begins, and the cursor of the next page.

A cursor is the id below which a page begins, and a checksum of the branch and the filters, so that it is refused with
other filters. The id of a snapshot alone is a cursor too.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import OptionError, unknown_name
from lakebed.format.history_sidecar import quoted
from lakebed.format.snapshot import NO_WATERMARK, CommitKind, Snapshot
from lakebed.format.time_text import Time, now_millis, parse_time
from lakebed.metadata.history.history_index import I64, Mask
from lakebed.metadata.store import TableStore

_CURSOR: Final = re.compile(r"([0-9]{1,18})(?:-([0-9a-f]{8}))?")

READ_BY_A_PAGE: Final = 1024
"""A page opens at most so many of the snapshots that the index lacks, or as many as it may have rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The filters of a page, and which part of the matching snapshots it shows.

    ``most_read`` limits how many snapshots without a line are opened to fill the page; ``None``: no limit.
    """

    kind: CommitKind | None
    user: str | None
    from_time: int | None
    to_time: int | None
    limit: int
    offset: int
    before: int | None
    fingerprint: str
    ids: Callable[[I64], Mask] | None = None
    rows: Callable[[pa.Table], Mask] | None = None
    is_oldest: bool = False
    most_read: int | None = None
    from_watermark: int | None = None
    to_watermark: int | None = None

    @property
    def is_all(self) -> bool:
        """Whether ids tell which snapshots match."""
        asked = (self.rows, self.kind, self.user, self.from_time, self.to_time)
        return all(one is None for one in asked) and not self.needs_watermarks

    @property
    def needs_watermarks(self) -> bool:
        """Whether lines without a watermark do not tell which snapshots match."""
        return self.from_watermark is not None or self.to_watermark is not None

    def among(self, ids: I64) -> I64:
        """Returns the ids that can match."""
        return ids if self.ids is None else ids[self.ids(ids)]

    def mask(self, rows: pa.Table) -> Mask:
        """Returns which rows of the index match."""
        times = rows["time_millis"].to_numpy()
        mask = np.ones(len(rows), np.bool_) if self.ids is None else self.ids(rows["id"].to_numpy())
        if self.rows is not None:
            mask &= self.rows(rows)
        if self.from_time is not None:
            mask &= times >= self.from_time
        if self.to_time is not None:
            mask &= times <= self.to_time
        if self.kind is not None:
            mask &= np.asarray(pc.equal(rows["commit_kind"], str(self.kind)))
        if self.user is not None:
            mask &= np.asarray(pc.equal(rows["quoted_user"], quoted(self.user)))
        if self.needs_watermarks:
            watermarks = rows["watermark"].fill_null(NO_WATERMARK).to_numpy()
            mask &= watermarks != NO_WATERMARK
            mask &= watermarks >= (-np.inf if self.from_watermark is None else self.from_watermark)
            mask &= watermarks <= (np.inf if self.to_watermark is None else self.to_watermark)
        return mask

    def matches(self, snapshot: Snapshot) -> bool:
        """Returns whether a snapshot matches; what ``rows`` tests is in the check of its line."""
        return (
            self.kind in {None, snapshot.commit_kind}
            and self.user in {None, snapshot.commit_user}
            and (self.from_time is None or snapshot.time_millis >= self.from_time)
            and (self.to_time is None or snapshot.time_millis <= self.to_time)
            and (not self.needs_watermarks or self._fits(snapshot.watermark))
        )

    def _fits(self, watermark: int | None) -> bool:
        return (
            watermark is not None
            and watermark != NO_WATERMARK
            and (self.from_watermark is None or watermark >= self.from_watermark)
            and (self.to_watermark is None or watermark <= self.to_watermark)
        )

    def cursor_after(self, snapshot_id: int) -> str:
        return f"{snapshot_id}-{self.fingerprint}"


def wanted_page(
    store: TableStore,
    *,
    kind: CommitKind | str | None = None,
    limit: int = 25,
    cursor: str | int | None = None,
    offset: int = 0,
    user: str | None = None,
    from_time: Time | None = None,
    to_time: Time | None = None,
    from_snapshot: int | None = None,
    to_snapshot: int | None = None,
    variant: str | None = None,
) -> Wanted:
    """Returns a page of the history of a branch, filtered by kind, user, time and id (both ends included).

    Cursors of pages with different values of ``variant`` are kept apart.
    """
    asked = _kind(kind)
    if user is not None and not isinstance(user, str):
        raise OptionError(f"user must be the text of a commit user, not {user!r}")
    now = now_millis()
    least, most = _id_given("from_snapshot", from_snapshot), _id_given("to_snapshot", to_snapshot)
    ends = None if least is None and most is None else (least, most)
    fingerprint = _fingerprint(
        store.paths.branch,
        asked,
        user,
        _since_zero(from_time, "from_time"),
        _since_zero(to_time, "to_time"),
        *(one for one in (ends, variant) if one is not None),
    )
    rows = _number("limit", limit, least=1)
    return Wanted(
        kind=asked,
        user=user,
        from_time=None if from_time is None else parse_time(from_time, "from_time", now=now),
        to_time=None if to_time is None else parse_time(to_time, "to_time", now=now),
        limit=rows,
        offset=_number("offset", offset, least=0),
        before=_before(cursor, offset, fingerprint),
        fingerprint=fingerprint,
        ids=None if ends is None else partial(_between, least, most),
        most_read=None if offset else max(READ_BY_A_PAGE, rows),
    )


def _fingerprint(*asked: object) -> str:
    """Returns a text for cursors, so that a cursor with other filters is refused."""
    return f"{zlib.crc32(repr(asked).encode(errors='replace')):08x}"


def _since_zero(given: Time | None, what: str) -> int | None:
    """Returns a number for a time that is the same for all pages, also for ``3 d`` ago."""
    return None if given is None else parse_time(given, what, now=0)


def _kind(kind: CommitKind | str | None) -> CommitKind | None:
    if kind is None:
        return None
    text = str(kind).upper()
    if text not in set(CommitKind):
        raise OptionError(unknown_name("kind of commit", text, map(str, CommitKind)))
    return CommitKind(text)


def _number(name: str, value: object, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**62:
        raise OptionError(f"{name} is {value!r}; it must be a whole number from {least} on")
    return value


def _id_given(name: str, value: int | None) -> int | None:
    return None if value is None else _number(name, value, least=0)


def _between(least: int | None, most: int | None, ids: I64) -> Mask:
    mask = np.ones(len(ids), np.bool_)
    if least is not None:
        mask &= ids >= least
    if most is not None:
        mask &= ids <= most
    return mask


def cursor_position(cursor: str) -> int:
    """Returns the id below which the page of a valid cursor begins.

    >>> cursor_position("901-0a1b2c3d")
    901
    """
    return int(cursor.partition("-")[0])


def _before(cursor: str | int | None, offset: int, fingerprint: str) -> int | None:
    """Returns the id that the snapshots of the page must be below."""
    if cursor is None:
        return None
    if offset:
        raise OptionError("give either a cursor or an offset, not both")
    text = cursor if isinstance(cursor, str) else "" if isinstance(cursor, bool) else str(cursor)
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise OptionError(
            f"{cursor!r} is not a cursor; take next_cursor of the page before, the id of its last snapshot, or none for "
            "the first page"
        )
    if found[2] not in {None, fingerprint}:
        raise OptionError(
            "the cursor belongs to a page of another branch or with other filters; start without a cursor"
        )
    return cursor_position(text)
