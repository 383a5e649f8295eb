"""The snapshots of an incremental read: the changes after one point of the history of a table, up to another.

A point is the id of a snapshot (0: before the first), a tag, or a time. Long-lived changelogs replace expired
snapshots. If a needed snapshot expired without one, the error names it; no change is skipped silently. Options and
their meaning are those of Paimon. Two tags are compared as states (``diff``) unless an option says otherwise. Otherwise
the changelog is read if the table writes one, else the files that commits added.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from lakebed.format.time_text import now_millis, parse_time
from lakebed.metadata.changelogs import changelog_ids, find_changelog
from lakebed.metadata.history.by_time import snapshot_at
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_BETWEEN: Final = TableOptions.incremental_between.name
_BETWEEN_TIMES: Final = TableOptions.incremental_between_timestamp.name
_TO_AUTO_TAG: Final = TableOptions.incremental_to_auto_tag.name
INCREMENTAL_OPTIONS: Final = (_BETWEEN, _BETWEEN_TIMES, _TO_AUTO_TAG)

_BEFORE_ALL: Final = FIRST_SNAPSHOT_ID - 1
# The names of automatic tags, by period and formatter.
_DAILY: Final = {"with_dashes": "%Y-%m-%d"}
_HOURLY: Final = {"with_dashes": "%Y-%m-%d %H", "without_dashes": "%Y%m%d %H"}


class Mode(StrEnum):
    """What an incremental read returns: added rows, changelog rows, or the difference of two states."""

    AUTO = "auto"
    DELTA = "delta"
    CHANGELOG = "changelog"
    DIFF = "diff"


@dataclass(frozen=True, slots=True)
class Interval:
    """The changes after snapshot ``after`` up to ``end`` (``None``: the table has no snapshot yet).

    ``start`` is the earlier state, only for ``diff``; ``None`` means that the table was empty.
    """

    after: int
    end: Snapshot | None
    mode: Mode
    start: Snapshot | None = None

    @property
    def is_empty(self) -> bool:
        return self.end is None or self.after == self.end.id

    def snapshots(self, store: TableStore) -> list[Snapshot]:
        """Returns every snapshot of the interval; long-lived changelogs replace those that expired."""
        if self.end is None or self.is_empty:
            return []
        return changes_between(store, self.after + 1, self.end.id, self.mode)

    def __str__(self) -> str:
        if self.end is None or self.is_empty:
            return f"changes after snapshot {self.after}: none"
        if self.mode is Mode.DIFF:
            return f"rows of snapshot {self.end.id} that snapshot {self.after} did not have (diff)"
        return f"changes of {_span(range(self.after + 1, self.end.id + 1))} ({self.mode})"


def changes_between(store: TableStore, first: int, last: int, mode: Mode) -> list[Snapshot]:
    """Returns the snapshots or long-lived changelogs from ``first`` to ``last``.

    Raises NotFoundError if one expired.
    """
    ids = range(first, last + 1)
    found = {snapshot.id: snapshot for snapshot in store.snapshots.read_many(list(ids))}
    for number in [number for number in ids if number not in found]:
        changelog = find_changelog(store, number)
        if changelog is not None and _keeps_changes(store, changelog, mode):
            found[number] = changelog
    gone = [number for number in ids if number not in found]
    if gone:
        raise NotFoundError(_expired(store, gone, mode))
    return [found[number] for number in ids]


def _keeps_changes(store: TableStore, changelog: Snapshot, mode: Mode) -> bool:
    """Returns whether the files that a mode reads exist; delta files do unless the table writes changelogs."""
    if mode is Mode.CHANGELOG or changelog.commit_kind is not CommitKind.APPEND:
        return True
    return store.storage.exists(store.paths.manifest(changelog.delta_manifest_list))


@dataclass(frozen=True, slots=True)
class _Time:
    """A time as one end of an interval, and how the user gave it."""

    millis: int
    given: object

    def __str__(self) -> str:
        return str(self.given)


@dataclass(frozen=True, slots=True)
class _Point:
    """One end of an interval; a tag has a snapshot, which may have expired."""

    id: int
    snapshot: Snapshot | None = None
    is_tag: bool = False


def find_interval(store: TableStore, since: Any, until: Any, mode: str) -> Interval:
    """Returns the interval from ``since`` (not included) to ``until`` (included; ``None``: the latest snapshot)."""
    asked = _mode(mode)
    if since is None:
        raise OptionError(
            "an incremental read needs since=: a snapshot id (0: from the beginning), a tag or a datetime"
        )
    return _find(store, _with_time(since, "since"), _with_time(until, "until"), asked)


def _find(store: TableStore, since: Any, until: Any, asked: Mode) -> Interval:
    if isinstance(since, _Time) and isinstance(until, _Time) and since.millis > until.millis:
        raise OptionError(f"since={since} is later than until={until}; give the earlier time first")
    first, last = _point(store, since, "since"), _last_point(store, until)
    if asked is Mode.AUTO:
        asked = Mode.DIFF if first.is_tag and last.is_tag else _auto(store)
    return _between(store, first, last, asked)


def interval_of_options(store: TableStore, options: TableOptions) -> Interval | None:
    """Returns the interval that the options of a table ask for; ``None`` without such options."""
    given = [name for name in INCREMENTAL_OPTIONS if options.get(name)]
    if not given:
        return None
    if len(given) > 1:
        raise OptionError(f"options {' and '.join(map(repr, given))} of table {store.name} exclude each other")
    mode = _mode(options.incremental_between_scan_mode)
    text = str(options.get(given[0]))
    if given[0] == _TO_AUTO_TAG:
        return _to_auto_tag(store, text, options)
    ends = text.split(",")
    if len(ends) != 2 or not all(end.strip() for end in ends):
        raise OptionError(f"option {given[0]!r} must be of the form start,end, not {text!r}")
    start, end = ends[0].strip(), ends[1].strip()
    if given[0] == _BETWEEN_TIMES:
        now, what = now_millis(), f"option {_BETWEEN_TIMES!r}"
        since, until = (_Time(parse_time(text, what, now=now), text) for text in (start, end))
        return _find(store, since, until, mode)
    first, last = _point(store, start, _BETWEEN), _point(store, end, _BETWEEN)
    if first.is_tag and last.is_tag and not options.incremental_between_tag_to_snapshot:
        mode = Mode.DIFF
    return _between(store, first, last, _auto(store) if mode is Mode.AUTO else mode)


def _mode(text: str) -> Mode:
    try:
        return Mode(text)
    except ValueError:
        raise OptionError(f"mode must be one of {', '.join(Mode)}, not {text!r}") from None


def _auto(store: TableStore) -> Mode:
    return changes_mode(store.schema())


def changes_mode(schema: TableSchema) -> Mode:
    """Returns where the changes of a table are: in its changelog if it writes one, else in the files of its commits."""
    has_none = not schema.primary_keys or TableOptions(schema.options).changelog_producer == "none"
    return Mode.DELTA if has_none else Mode.CHANGELOG


# ------------------------------------------------------------------------------------------------------------ points


def _point(store: TableStore, value: Any, what: str) -> _Point:
    if isinstance(value, _Time):
        return _at_time(store, value)
    if isinstance(value, str):
        tagged = None if "\0" in value or "/" in value else store.snapshots.find_tag(value)
        if tagged is not None:
            return _Point(tagged.id, tagged, is_tag=True)
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            names = ", ".join(store.snapshots.tags()) or "none"
            raise NotFoundError(f"table {store.name} has no tag {value!r} ({what}); its tags: {names}")
        return _Point(int(value))
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"{what} must be a snapshot id, the name of a tag or a datetime, not {value!r}")
    if value < _BEFORE_ALL:
        raise OptionError(
            f"{what} is {value}; snapshots count from {FIRST_SNAPSHOT_ID}, and 0 means from the beginning"
        )
    return _Point(value)


def _last_point(store: TableStore, until: Any) -> _Point:
    if until is not None:
        return _point(store, until, "until")
    latest = store.snapshots.latest()
    return _Point(_BEFORE_ALL) if latest is None else _Point(latest.id, latest)


def _at_time(store: TableStore, time: _Time) -> _Point:
    found = snapshot_at(store, time.millis)
    if found is not None:
        return _Point(found.id, found)
    earliest = store.snapshots.earliest_id()
    if earliest is not None and earliest > FIRST_SNAPSHOT_ID:
        known = changelog_ids(store)
        for number in reversed(known):  # commit times need not increase, so the first hit from the end is the answer
            changelog = find_changelog(store, number)
            if changelog is not None and changelog.time_millis <= time.millis:
                return _Point(number)
        earliest = min((*known, earliest))
        if earliest == FIRST_SNAPSHOT_ID:
            return _Point(_BEFORE_ALL)
        gone = _span(range(FIRST_SNAPSHOT_ID, earliest))
        raise NotFoundError(
            f"cannot read table {store.name} as of {time}: {gone} expired. Give a time from snapshot {earliest} on"
        )
    return _Point(_BEFORE_ALL)


def _with_time(value: Any, what: str) -> Any:
    """Returns a datetime as a time, and any other value as it is."""
    return _Time(parse_time(value, what), value) if isinstance(value, dt.datetime) else value


# --------------------------------------------------------------------------------------------------------- intervals


def _between(store: TableStore, first: _Point, last: _Point, mode: Mode) -> Interval:
    if first.id > last.id:
        latest = store.snapshots.latest_id()
        if not first.is_tag and (latest is None or first.id > latest):
            raise _unknown(store, first.id, latest)
        raise OptionError(f"since is snapshot {first.id}, which is after until, snapshot {last.id}; exchange the two")
    if last.id == _BEFORE_ALL:
        return Interval(_BEFORE_ALL, None, mode)
    end = last.snapshot or store.snapshots.find(last.id)
    if end is None and mode is not Mode.DIFF:
        end = find_changelog(store, last.id)
    if end is None:
        raise _missing(store, first.id, last.id, mode)
    if mode is not Mode.DIFF or first.id in {_BEFORE_ALL, last.id}:
        return Interval(first.id, end, mode)
    start = first.snapshot or store.snapshots.find(first.id)
    if start is None:
        raise NotFoundError(_expired(store, [first.id], mode))
    return Interval(first.id, end, mode, start)


def _missing(store: TableStore, first: int, last: int, mode: Mode) -> NotFoundError:
    """Returns the error for a missing last snapshot: it never existed, or it expired."""
    latest = store.snapshots.latest_id()
    if latest is None or last > latest:
        return _unknown(store, last, latest)
    gone = [last] if mode is Mode.DIFF or first == last else range(first + 1, last + 1)
    return NotFoundError(_expired(store, gone, mode))


def _unknown(store: TableStore, number: int, latest: int | None) -> NotFoundError:
    there = "it has none yet" if latest is None else f"its latest is {latest}"
    return NotFoundError(f"table {store.name} has no snapshot {number}; {there}")


def _expired(store: TableStore, gone: Sequence[int], mode: Mode) -> str:
    instead = "a snapshot or tag that exists" if mode is Mode.DIFF else "there on, or compare states with mode='diff'"
    return (
        f"{_span(gone)} expired, and this read of table {store.name} needs {'it' if len(gone) == 1 else 'them'}; the "
        f"earliest snapshot that exists is {store.snapshots.earliest_id()}. Read from {instead}"
    )


def _span(ids: Sequence[int]) -> str:
    return f"snapshot {ids[0]}" if len(ids) == 1 else f"snapshots {ids[0]} to {ids[-1]}"


# ---------------------------------------------------------------------------------------------------- automatic tags


def _to_auto_tag(store: TableStore, name: str, options: TableOptions) -> Interval:
    """Returns the interval from the previous automatic tag to this one; empty if one of them does not exist."""
    form = _tag_form(options)
    moment = _tag_time(name, form)
    if moment is None:
        raise OptionError(
            f"{name!r} is not the name of an automatic tag of table {store.name}; those have the form {form}"
        )
    tags = store.snapshots.tags()
    times = {tag: time for tag in tags if (time := _tag_time(tag, form)) is not None and time < moment}
    if name not in tags or not times:
        return Interval(_BEFORE_ALL, None, Mode.DIFF)
    before = tags[max(times, key=lambda tag: times[tag])]
    first, last = _Point(before.id, before, is_tag=True), _Point(tags[name].id, tags[name], is_tag=True)
    return _between(store, first, last, Mode.DIFF)


def _tag_form(options: TableOptions) -> str:
    formatter = options.tag_period_formatter
    if options.tag_creation_period_duration is not None:
        return "%Y%m%d%H%M"
    match options.tag_creation_period:
        case "daily":
            return _DAILY.get(formatter, "%Y%m%d")
        case "hourly":
            return _HOURLY.get(formatter, "%Y%m%d%H")
        case _:
            return _HOURLY["with_dashes"]


def _tag_time(name: str, form: str) -> dt.datetime | None:
    """Returns the time that an automatic tag is named after; ``None`` for other names."""
    text = name if "%H" in form else name.partition(" ")[0]
    try:
        time = dt.datetime.strptime(text, form)  # noqa: DTZ007 - tags are named after local times
    except ValueError:
        return None
    return time if time.strftime(form) == text else None
