"""Which snapshots expire: by number and age, up to a maximum per call, and none that a consumer still has to read.

The rules are those of Paimon. The remaining snapshots have no gaps up to the latest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lakebed.errors import OptionError
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import parse_time
from lakebed.metadata.consumers import smallest_next_snapshot
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.storage import run_both


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Which snapshots stay: at least ``retain_min``, at most ``retain_max``, those younger than ``cutoff_millis``.

    At most ``max_deletes`` expire at once.
    """

    retain_min: int
    retain_max: int
    cutoff_millis: int
    max_deletes: int


def retention(
    options: TableOptions,
    *,
    now_millis: int,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: object = None,
    max_deletes: int | None = None,
) -> Retention:
    """Returns the rules of a call.

    The options of the table are the defaults. A small ``retain_max`` lowers their minimum.
    """
    for name, value in (("retain_max", retain_max), ("retain_min", retain_min), ("max_deletes", max_deletes)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise OptionError(f"{name} is {value!r}; it must be an integer of at least 1")
    most = options.snapshot_num_retained_max if retain_max is None else retain_max
    least = options.snapshot_num_retained_min if retain_min is None else retain_min
    if retain_min is None and retain_max is not None:
        least = min(least, most)
    if least > most:
        raise OptionError(f"retain_min ({least}) must not exceed retain_max ({most})")
    if older_than is None:
        cutoff = now_millis - round(options.snapshot_time_retained * 1000)
    else:
        cutoff = parse_time(older_than, "older_than", now=now_millis)
    limit = options.snapshot_expire_limit if max_deletes is None else max_deletes
    return Retention(retain_min=least, retain_max=most, cutoff_millis=cutoff, max_deletes=limit)


def first_kept(
    earliest: int, latest: int, wanted: Retention, next_read: int | None, time_of: Callable[[int], int | None]
) -> int:
    """Returns the first snapshot that stays; all before it expire. Equal to ``earliest`` if none expires.

    ``next_read`` is the smallest snapshot that a consumer still has to read. ``time_of`` returns the commit time of a
    snapshot, or ``None`` if it does not exist. The age of a snapshot is that of the snapshot *after* it, because until
    then it was the current state of the table.
    """
    end = min(latest - wanted.retain_min + 1, earliest + wanted.max_deletes)
    if next_read is not None:
        end = min(end, next_read)
    for number in range(max(latest - wanted.retain_max + 1, earliest), end):
        following = time_of(number + 1)
        if following is not None and following >= wanted.cutoff_millis:
            end = number
            break
    return max(end, earliest)


def range_to_expire(store: TableStore, options: TableOptions, wanted: Retention) -> tuple[int, int]:
    """Returns the earliest snapshot and the first that stays; equal if none expires, which is cheap to find out."""
    seen = store.snapshots.seen_range  # before the lookups, which change it
    (latest, earliest), ahead = run_both(
        store.storage,
        lambda: run_both(store.storage, store.snapshots.latest_id, store.snapshots.earliest_id),
        lambda: read_ahead(store, wanted, seen),
    )
    if latest is None or earliest is None:
        return 0, 0

    def time_of(number: int) -> int | None:
        found = ahead[number] if number in ahead else store.snapshots.find(number)
        return None if found is None else found.time_millis

    end = first_kept(earliest, latest, wanted, None, time_of)
    if end > earliest and not options.consumer_changelog_only:
        next_read = smallest_next_snapshot(store)
        end = end if next_read is None else max(min(end, next_read), earliest)
    return earliest, end


def read_ahead(store: TableStore, wanted: Retention, seen: tuple[int, int] | None) -> dict[int, Snapshot | None]:
    """Returns the snapshot whose time decides whether one expires, if the history is still from ``seen``."""
    if seen is None or not store.storage.is_remote:
        return {}
    earliest, latest = seen
    if latest - earliest < wanted.retain_min:
        return {}
    number = max(latest - wanted.retain_max + 1, earliest) + 1
    return {number: store.snapshots.find(number)}
