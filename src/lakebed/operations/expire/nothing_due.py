"""Finds out after a commit, in one round trip, whether there is anything to expire; on an object store, mostly not.

:func:`ask_early` registers the questions before the commit, so that the commit asks them together with its own last
requests. Then :func:`is_nothing_due` needs no request.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakebed.format.paths import TablePaths
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.changelogs import changelog_ids
from lakebed.metadata.one_look import ask_beside_commit, looked_up
from lakebed.metadata.store import TableStore
from lakebed.operations.expire.retention import Retention, first_kept, read_ahead, retention
from lakebed.options import TableOptions
from lakebed.storage import run_together


@dataclass(frozen=True, slots=True)
class _OldEnd:
    """The old end of the history of a branch.

    Attributes:
        earliest: The earliest snapshot; ``None`` if the hint does not name it, so that it must be written again.
        has_more: Whether there are tags or long-lived changelogs.
        ahead: Snapshots whose times decide whether one expires, as far as they could be guessed.
    """

    earliest: int | None
    has_more: bool
    ahead: Mapping[int, Snapshot | None]


def ask_early(store: TableStore) -> None:
    """Lets the commit of this operation ask what :func:`is_nothing_due` needs."""
    ask_beside_commit(_question(store), lambda: _old_end(store))


def is_nothing_due(store: TableStore) -> bool:
    """Returns whether expiry with the options of the table has nothing to do.

    The answer ``False`` is only a guess; :func:`lakebed.operations.expire.expire_snapshots.expire_snapshots` finds out.
    """
    options = TableOptions(store.schema().options)
    if options.consumer_expiration_time is not None:
        return False
    found: _OldEnd = looked_up(_question(store), lambda: _old_end(store))
    seen = store.snapshots.seen_range
    if found.earliest is None or found.has_more or seen is None:
        return False

    def time_of(number: int) -> int | None:
        snapshot = found.ahead[number] if number in found.ahead else store.snapshots.find(number)
        return None if snapshot is None else snapshot.time_millis

    return first_kept(found.earliest, seen[1], _retention(options), None, time_of) == found.earliest


def _question(store: TableStore) -> tuple[str, int, TablePaths]:
    return "old end", id(store.storage), store.paths


def _old_end(store: TableStore) -> _OldEnd:
    wanted = _retention(TableOptions(store.schema().options))
    seen = store.snapshots.seen_range  # before the lookups, which change it
    lookups: list[Any] = [
        store.snapshots.hinted_earliest_id,
        store.snapshots.tag_names,
        lambda: changelog_ids(store),
        lambda: read_ahead(store, wanted, seen),
    ]
    earliest, tags, changelogs, ahead = run_together(lookups)
    return _OldEnd(earliest, bool(tags or changelogs), ahead)


def _retention(options: TableOptions) -> Retention:
    return retention(options, now_millis=time.time_ns() // 1_000_000)
