"""Expire long-lived changelogs: deletes the oldest of them, and the files that only they need.

The rules are those of snapshots, with ``changelog.num-retained.*`` and ``changelog.time-retained``; changelogs that a
consumer still has to read stay. While the table keeps changelogs longer than snapshots, the last changelog stays, as in
Paimon.

The changelog files of a changelog are deleted with it. A table without changelog files keeps the data files that its
commits added, also after a later commit deleted them; they are deleted with the changelog of that later commit, when
all earlier changelogs have expired. The order is that of :mod:`lakebed.operations.expire.expire_snapshots`: first the
changelogs, oldest first, then the references are read again, then the files are deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError
from lakebed.format.manifest.manifest import SOURCE_COMPACT
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.changelogs import changelog_ids, find_changelog
from lakebed.metadata.consumers import smallest_next_snapshot
from lakebed.metadata.references.candidates import Candidates
from lakebed.metadata.references.deleted_files import deleted_files
from lakebed.metadata.references.removal import DoomedFile
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogRetention:
    """Which changelogs stay, counted together with the snapshots after them; at most ``max_deletes`` expire at once."""

    retain_min: int
    retain_max: int
    cutoff_millis: int
    max_deletes: int
    keep_last: bool

    @staticmethod
    def of(options: TableOptions, now_millis: int) -> ChangelogRetention:
        return ChangelogRetention(
            retain_min=options.changelog_num_retained_min,
            retain_max=options.changelog_num_retained_max,
            cutoff_millis=now_millis - round(options.changelog_time_retained * 1000),
            max_deletes=options.snapshot_expire_limit,
            keep_last=options.keeps_changelogs_longer,
        )


@dataclass(frozen=True, slots=True)
class GoingChangelogs:
    """Changelogs that expire, with the files that may be deleted with them."""

    ids: tuple[int, ...]
    files: tuple[DoomedFile, ...]
    candidates: Candidates


def first_changelog_kept(
    ids: list[int],
    latest: int,
    wanted: ChangelogRetention,
    next_read: int | None,
    time_of: Callable[[int], int | None],
) -> int:
    """Returns the first changelog that stays; all before it expire. ``latest`` is the newest snapshot of the table."""
    earliest, last = ids[0], ids[-1]
    end = min(latest - wanted.retain_min + 1, earliest + wanted.max_deletes, last if wanted.keep_last else last + 1)
    if next_read is not None:
        end = min(end, next_read)
    for number in range(max(latest - wanted.retain_max + 1, earliest), end):
        time = time_of(number)
        if time is not None and time >= wanted.cutoff_millis:
            end = number
            break
    return max(end, earliest)


def changelogs_to_expire(store: TableStore, options: TableOptions, now_millis: int) -> GoingChangelogs | None:
    """Returns what expires now; ``None`` if nothing does."""
    ids = changelog_ids(store)
    latest = store.snapshots.latest_id() if ids else None  # every commit calls this, and most tables have no changelogs
    if latest is None:
        return None

    def time_of(number: int) -> int | None:
        found = find_changelog(store, number)
        return None if found is None else found.time_millis

    wanted = ChangelogRetention.of(options, now_millis)
    end = first_changelog_kept(ids, latest, wanted, smallest_next_snapshot(store), time_of)
    going = [found for number in ids if number < end and (found := find_changelog(store, number)) is not None]
    if not going:
        return None
    files = tuple(DoomedFile(store.paths.changelog(one.id), -1, "long-lived changelog") for one in going)
    return GoingChangelogs(tuple(one.id for one in going), files, _candidates(store, going))


def _candidates(store: TableStore, going: list[Snapshot]) -> Candidates:
    found = Candidates(store)
    with_delta = [changelog for changelog in going if _has_list(store, changelog.delta_manifest_list)]
    for changelog in going:
        found.add_changelog(changelog)
    for changelog in with_delta:
        found.add_lists(changelog)
        found.add_manifests(store.manifests.read_list(changelog.delta_manifest_list))
    deletes, again = deleted_files(store, with_delta)
    kept_for_changelogs = deletes.filter(pc.fill_null(pc.not_equal(deletes["file_source"], SOURCE_COMPACT), True))
    position = kept_for_changelogs.schema.get_field_index("file_size")
    # Some were deleted with their snapshot, so check whether they exist.
    unknown = pa.array(np.full(len(kept_for_changelogs), -1), pa.int64())
    field = kept_for_changelogs.schema.field(position)
    found.add_entries(kept_for_changelogs.set_column(position, field, unknown))
    found.spare_data(again)
    earliest = store.snapshots.earliest()
    if earliest is not None:
        found.spare(meta.file_name for meta in store.manifests.base_and_delta(earliest))
        found.spare((earliest.base_manifest_list, earliest.delta_manifest_list))
    return found


def _has_list(store: TableStore, name: str) -> bool:
    try:
        store.manifests.read_list(name)
    except NotFoundError:
        return False
    return True
