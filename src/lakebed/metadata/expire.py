"""Expiry of snapshots: a prefix of the history goes, and with it the files that nothing needs any more.

What it promises:

* Which snapshots go is decided by :func:`first_kept`, as Paimon decides: by number, by age, at most so many at once, never
  what a consumer still has to read. What is left is always a contiguous suffix.
* A file goes only if no snapshot that stays, no tag, no long-lived changelog and no other branch needs it.
* The order is safe against crashes and races: hint first, then snapshot files from the oldest on, then another look at who
  holds files, and only then the files. Dying on the way leaves files that nothing refers to, for orphan removal. Whoever
  tags a snapshot and still finds it there afterwards is seen by that look.
* It costs what goes, not what the table holds: which data files are dead is read off the DELETE entries of the snapshots
  after the first. A dead file can only come back through an overwrite or a broken chain (:mod:`lakebed.metadata.chains`),
  and only those are looked into.
  Tags and branches are looked into for the files in question.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError, OptionError, StorageError, UnsupportedError
from lakebed.format.manifest import ADD, DELETE, NO_ENTRIES
from lakebed.format.moments import moment_millis
from lakebed.format.paths import SNAPSHOT_PREFIX, id_of
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.candidates import Candidates, file_names
from lakebed.metadata.chains import Link, links
from lakebed.metadata.consumers import smallest_next_snapshot
from lakebed.metadata.references import Hold, Holder, distinct, needed, other_holders
from lakebed.metadata.removal import DoomedFile, Removal, delete_files
from lakebed.metadata.scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_TRIES: Final = 5
_REMEMBERED: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Which snapshots stay: at least ``retain_min``, at most ``retain_max``, those younger than ``cutoff_millis``.

    At most ``max_deletes`` go at once.
    """

    retain_min: int
    retain_max: int
    cutoff_millis: int
    max_deletes: int


@dataclass(frozen=True, slots=True)
class Expiry:
    """The snapshots that went, and the files; or that would go, in a dry run."""

    snapshots: tuple[int, ...]
    removal: Removal
    dry_run: bool


def retention(
    options: TableOptions,
    *,
    now_millis: int,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: object = None,
    max_deletes: int | None = None,
) -> Retention:
    """What a call asks for, filled up with the table's options; a smaller ``retain_max`` in the call lowers their minimum."""
    for name, value in (("retain_max", retain_max), ("retain_min", retain_min), ("max_deletes", max_deletes)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise OptionError(f"{name} is {value!r}; it must be a whole number from 1 on")
    most = options.snapshot_num_retained_max if retain_max is None else retain_max
    least = options.snapshot_num_retained_min if retain_min is None else retain_min
    if retain_min is None and retain_max is not None:
        least = min(least, most)
    if least > most:
        raise OptionError(
            f"at least {least} snapshots are to be kept, but at most {most}; raise the one or lower the other"
        )
    if older_than is None:
        cutoff = now_millis - round(options.snapshot_time_retained * 1000)
    else:
        cutoff = moment_millis(older_than, now_millis=now_millis, what="older_than")
    limit = options.snapshot_expire_limit if max_deletes is None else max_deletes
    return Retention(retain_min=least, retain_max=most, cutoff_millis=cutoff, max_deletes=limit)


def first_kept(
    earliest: int, latest: int, wanted: Retention, next_read: int | None, time_of: Callable[[int], int | None]
) -> int:
    """The first snapshot that stays; all before it go. Equal to ``earliest`` if nothing goes.

    ``next_read`` is the smallest snapshot that a consumer still has to read. ``time_of`` gives the commit time of a
    snapshot, or ``None`` if it is not there. A snapshot is young while the one *after* it is: until then it was the
    table's current state.
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


def expire_snapshots(
    store: TableStore,
    *,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: object = None,
    max_deletes: int | None = None,
    dry_run: bool = False,
    now_millis: int | None = None,
) -> Expiry:
    """Let old snapshots of a branch go. What the call leaves open, the table's options say.

    ``older_than`` is a time (datetime, ISO text, epoch milliseconds) or a length of time before now such as ``1 d``. With
    ``dry_run`` nothing is touched, and the answer lists what would go.
    """
    options = TableOptions(store.schema().options)
    now = time.time_ns() // 1_000_000 if now_millis is None else now_millis
    wanted = retention(
        options,
        now_millis=now,
        retain_max=retain_max,
        retain_min=retain_min,
        older_than=older_than,
        max_deletes=max_deletes,
    )
    for attempt in range(_TRIES):
        begin, end = range_to_expire(store, options, wanted)
        if begin >= end:
            if not dry_run:
                _note_earliest(store, begin)
            return Expiry((), Removal((), dry_run), dry_run)
        _refuse_decoupled(options, store)
        try:
            going = _Going.of(store, begin, end)
        except NotFoundError:
            if attempt + 1 == _TRIES:
                raise
            continue  # somebody else is expiring the same snapshots
        if dry_run:
            return Expiry(going.ids, replace(_doomed(store, going), dry_run=True), dry_run=True)
        return _expire(store, options, going)
    raise AssertionError("the last attempt returns or raises")


def range_to_expire(store: TableStore, options: TableOptions, wanted: Retention) -> tuple[int, int]:
    """The first snapshot there is and the first that stays; equal if nothing goes. Cheap where nothing goes."""
    latest, earliest = store.snapshots.latest_id(), store.snapshots.earliest_id()
    if latest is None or earliest is None:
        return 0, 0

    def time_of(number: int) -> int | None:
        found = store.snapshots.find(number)
        return None if found is None else found.time_millis

    end = first_kept(earliest, latest, wanted, None, time_of)
    if end > earliest and not options.consumer_changelog_only:
        next_read = smallest_next_snapshot(store)
        end = end if next_read is None else max(min(end, next_read), earliest)
    return earliest, end


def _refuse_decoupled(options: TableOptions, store: TableStore) -> None:
    """Changelogs that outlive their snapshots would have to be kept as files of their own."""
    longer = [
        name
        for name, changelog, snapshot in (
            (
                "changelog.num-retained.min",
                options.get("changelog.num-retained.min"),
                options.snapshot_num_retained_min,
            ),
            (
                "changelog.num-retained.max",
                options.get("changelog.num-retained.max"),
                options.snapshot_num_retained_max,
            ),
            ("changelog.time-retained", options.get("changelog.time-retained"), options.snapshot_time_retained),
        )
        if isinstance(changelog, int | float) and changelog > snapshot
    ]
    if longer:
        raise UnsupportedError(
            f"table {store.name} keeps changelogs longer than snapshots ({', '.join(longer)}), which Lakebed does not "
            "support; reset the option, or expire snapshots with Apache Paimon. Nothing was removed"
        )


# ------------------------------------------------------------------------------------------------- what goes


@dataclass(frozen=True, slots=True)
class _Going:
    """The snapshots that go and the first that stays, with all that may go with them."""

    ids: tuple[int, ...]
    kept: Snapshot
    whole_chain: bool
    files: tuple[DoomedFile, ...]
    candidates: Candidates

    @staticmethod
    def of(store: TableStore, begin: int, end: int) -> _Going:
        sizes = {
            number: info.size
            for info in store.storage.list(store.paths.snapshots)
            if (number := id_of(info.name, SNAPSHOT_PREFIX)) is not None
        }
        # A fast-forward may leave a hole before the branch's first snapshot, and ``end`` may lie in it.
        kept = min((number for number in sizes if number >= end), default=end)
        ids = sorted(number for number in sizes if begin <= number <= kept)
        read = store.snapshots.read_many(ids)
        if [snapshot.id for snapshot in read] != ids or len(ids) < 2 or ids[-1] != kept:
            raise NotFoundError(f"snapshots of table {store.name} went while they were looked at; try again")
        chain = links(store, read)
        candidates = _candidates(store, read, chain)
        files = [DoomedFile(store.paths.snapshot(number), sizes[number], "snapshot") for number in ids[:-1]]
        whole = all(link.continues for link in chain)
        return _Going(tuple(ids[:-1]), read[-1], whole, tuple(files), candidates)


def _candidates(store: TableStore, snapshots: Sequence[Snapshot], chain: Sequence[Link]) -> Candidates:
    """What goes with all of these snapshots but the last, as far as they alone can tell."""
    going, kept = snapshots[:-1], snapshots[-1]
    found = Candidates(store)
    for snapshot in going:
        found.add_named(snapshot, changelog=True)
        if snapshot.index_manifest != kept.index_manifest:
            found.add_index(snapshot)
    _add_manifests(found, store, snapshots, chain)
    deletes, again = _deleted(store, snapshots[1:])
    found.add_entries(deletes)
    found.spare_data(again)
    for snapshot, link in zip(going, chain, strict=True):
        if not link.continues:  # what the next one does not take over was not deleted by anybody
            found.add_entries(live_entries(store, snapshot))
    stays = {kept.base_manifest_list, kept.delta_manifest_list, kept.index_manifest, kept.statistics}
    stays |= {entry.file_name for entry in store.manifests.read_index(kept.index_manifest)}
    found.spare(name for name in stays if name is not None)
    return found


def _add_manifests(found: Candidates, store: TableStore, snapshots: Sequence[Snapshot], chain: Sequence[Link]) -> None:
    """Manifests drop out of the lists only where they were merged or the chain broke; else the last lists hold them all."""
    if all(link.is_plain for link in chain):
        return
    found.add_manifests(store.manifests.read_list(snapshots[0].base_manifest_list))
    for snapshot, link in zip(snapshots[:-1], chain, strict=True):
        found.add_manifests(store.manifests.read_list(snapshot.delta_manifest_list))
        found.add_manifests(link.appeared)
    for snapshot, link in zip(snapshots[1:-1], chain[:-1], strict=True):
        if not link.continues:
            found.add_manifests(store.manifests.read_list(snapshot.base_manifest_list))
    found.spare(meta.file_name for meta in store.manifests.base_and_delta(snapshots[-1]))


def _deleted(store: TableStore, snapshots: Sequence[Snapshot]) -> tuple[pa.Table, pa.Array]:
    """The DELETE entries of these snapshots, and the names among their files that were added again.

    A file that changes its level is deleted and added under the same name in one commit, so within a commit adds win.
    """
    tables = []
    for number, snapshot in enumerate(snapshots):
        metas = store.manifests.read_list(snapshot.delta_manifest_list)
        if snapshot.commit_kind is CommitKind.OVERWRITE or any(meta.num_deleted_files for meta in metas):
            entries = store.manifests.read_entries(metas)
            tables.append(entries.append_column("commit", pa.array(np.full(len(entries), number))))
    if not tables:
        return NO_ENTRIES, pa.array([], pa.string())
    entries = pa.concat_tables(tables)
    deletes = entries.filter(pc.equal(entries["kind"], DELETE))
    deleted = _last_commits(deletes)
    added = _last_commits(entries.filter(pc.equal(entries["kind"], ADD)))
    place = pc.index_in(deleted["name"].combine_chunks(), value_set=added["name"].combine_chunks())
    last_added = pc.take(added["commit_max"].combine_chunks(), place).fill_null(-1)
    again = pc.greater_equal(last_added, deleted["commit_max"].combine_chunks())
    return deletes.drop_columns(["commit"]), deleted["name"].combine_chunks().filter(again)


def _last_commits(entries: pa.Table) -> pa.Table:
    """For each file and extra file, the last commit that has an entry of it."""
    extras = entries["extra_files"].combine_chunks()
    commits = entries["commit"].combine_chunks()
    both = pa.concat_arrays([commits, commits.take(pc.list_parent_indices(extras))])
    return pa.table({"name": file_names(entries), "commit": both}).group_by("name").aggregate([("commit", "max")])


# ------------------------------------------------------------------------------------------------- who needs it


def _doomed(store: TableStore, going: _Going) -> Removal:
    """What goes, given who holds files at this moment."""
    for attempt in range(_TRIES):
        try:
            holders = distinct([*_own_holders(store, going), *other_holders(store)])
            names = going.candidates.data_names()
            files = going.candidates.without(needed(store, holders, among=names))
        except NotFoundError:
            if attempt + 1 == _TRIES:
                raise
            continue  # one of the holders went while it was looked at
        return Removal((*going.files, *files), dry_run=False)
    raise AssertionError("the last attempt returns or raises")


def _own_holders(store: TableStore, going: _Going) -> list[Holder]:
    """The snapshots of this branch that stay, as far as they can need files that are dead in the first of them."""
    if going.candidates.is_only_lists:
        return []
    later = _snapshots_after(store, going.kept.id)
    whole = going.whole_chain
    holders = [Holder(going.kept, Hold.NAMES if whole else Hold.LIVE)]
    for snapshot, link in zip(later, links(store, [going.kept, *later]), strict=True):
        whole = whole and link.continues
        if not link.continues:
            holders.append(Holder(snapshot, Hold.LIVE))
        elif snapshot.commit_kind is CommitKind.OVERWRITE or not whole:
            holders.append(Holder(snapshot, Hold.ADDS))
        else:
            holders.append(Holder(snapshot, Hold.NAMES, index_files=False))
    return holders


_read_before: Final[dict[str, tuple[int, int, Snapshot]]] = {}


def _snapshots_after(store: TableStore, number: int) -> list[Snapshot]:
    """The snapshots after this one. What one expiry has read, the next need not: files are told by size and time."""
    listed = {
        found: info
        for info in store.storage.list(store.paths.snapshots)
        if (found := id_of(info.name, SNAPSHOT_PREFIX)) is not None and found > number
    }
    known: dict[int, Snapshot] = {}
    for found, info in listed.items():
        size, modified, snapshot = _read_before.get(store.paths.snapshot(found), (-1, -1, None))
        if snapshot is not None and (size, modified) == (info.size, info.modified_millis):
            known[found] = snapshot
    if len(_read_before) > _REMEMBERED:
        _read_before.clear()
    for snapshot in store.snapshots.read_many(sorted(listed.keys() - known.keys())):
        info = listed[snapshot.id]
        _read_before[store.paths.snapshot(snapshot.id)] = info.size, info.modified_millis, snapshot
        known[snapshot.id] = snapshot
    return [known[found] for found in sorted(known)]


# ------------------------------------------------------------------------------------------------------ doing it


def _expire(store: TableStore, options: TableOptions, going: _Going) -> Expiry:
    _note_earliest(store, going.kept.id)
    for file in going.files:  # oldest first, so that what is left is a suffix at every moment
        store.storage.delete(file.path)
    removal = _doomed(store, going)
    files = removal.files[len(going.files) :]
    delete_files(store.storage, files)
    if options.snapshot_clean_empty_directories:
        _remove_empty_folders(store, files)
    return Expiry(going.ids, removal, dry_run=False)


def _note_earliest(store: TableStore, snapshot_id: int) -> None:
    """Write the hint if it says something else; a hint is only a hint, so it may fail."""
    text = str(snapshot_id).encode()
    with contextlib.suppress(NotFoundError, StorageError):
        if snapshot_id < 1 or store.storage.read(store.paths.earliest_hint) == text:
            return
    with contextlib.suppress(StorageError):
        store.storage.replace(store.paths.earliest_hint, text)


def _remove_empty_folders(store: TableStore, files: Sequence[DoomedFile]) -> None:
    """The folders of buckets, and of partitions above them, that hold nothing any more."""
    folders = {file.path.rpartition("/")[0] for file in files if file.kind in {"data", "changelog"}}
    while folders:
        gone = {folder for folder in folders if store.storage.delete_empty_folder(folder)}
        above = {folder.rpartition("/")[0] for folder in gone}
        folders = {folder for folder in above if folder.startswith(f"{store.paths.root}/")}
