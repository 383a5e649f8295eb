"""Expire snapshots: deletes the oldest snapshots, and the files that nothing needs any more.

What it promises:

* :mod:`lakebed.operations.expire.retention` decides which snapshots expire, as Paimon does. The remaining snapshots
  have no gaps.
* It deletes a file only if no remaining snapshot, no tag, no long-lived changelog and no other branch needs it.
* Where changelogs outlive snapshots (:attr:`TableOptions.keeps_changelogs_longer`), it writes a long-lived changelog
  (:mod:`lakebed.metadata.changelogs`) for each snapshot before it deletes anything. The same call expires old
  changelogs (:mod:`lakebed.operations.expire.expire_changelogs`).
* The order is safe against crashes and races: it writes the hint, deletes snapshot files from the oldest on, reads
  again which files are referenced, and deletes files last. A crash leaves orphan files. If somebody tags a snapshot
  that still exists afterwards, the second read of the references sees the tag.
* Before it deletes anything, it flushes the files that the first remaining snapshot needs, unless their commits did
  (:mod:`lakebed.operations.expire.sync_kept`). So after a power cut the table is at least at that snapshot, even if
  its commits are not durable.
* Its cost depends on what expires, not on the size of the table. Unused data files are found in the DELETE entries of
  the snapshots after the first one. Only an overwrite, or a chain of snapshots that was broken
  (:mod:`lakebed.metadata.references.continuity`), can bring such a file back, so only those are examined. Tags and
  branches are examined for the files in question.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakebed.errors import NotFoundError, StorageError
from lakebed.format.human_text import ids_text
from lakebed.format.paths import SNAPSHOT_PREFIX
from lakebed.format.printed import Printed
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.changelogs import keep_changelogs, remove_changelogs
from lakebed.metadata.numbered_files import numbered_files
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.references.candidates import Candidates
from lakebed.metadata.references.continuity import Link, links
from lakebed.metadata.references.deletable import check_deletable_folders, check_own_folders
from lakebed.metadata.references.deleted_files import deleted_files
from lakebed.metadata.references.holders import Hold, Holder, changelog_holder, distinct, needed, other_holders
from lakebed.metadata.references.removal import DoomedFile, Removal, delete_files
from lakebed.metadata.retry_while_expiring import retry_while_expiring
from lakebed.metadata.store import TableStore
from lakebed.operations.expire.expire_changelogs import GoingChangelogs, changelogs_to_expire
from lakebed.operations.expire.retention import Retention, range_to_expire, retention
from lakebed.operations.expire.sync_kept import sync_kept
from lakebed.options import TableOptions

_REMEMBERED: Final = 20_000


@dataclass(frozen=True, slots=True, repr=False)
class Expiry(Printed):
    """The snapshots and files that an expiry deleted, or would delete in a dry run.

    Attributes:
        snapshots: The ids of the snapshots.
        removal: The files.
        dry_run: Whether nothing was deleted.
        changelogs: The ids of long-lived changelogs that were deleted.

    Example:
        >>> print(Expiry((1, 2, 3), Removal((), dry_run=True), dry_run=True))
        would expire 3 snapshots (1 to 3) and delete no files
        >>> Expiry((), Removal((), dry_run=False), dry_run=False)
        <Expiry: nothing to expire>
    """

    snapshots: tuple[int, ...]
    removal: Removal
    dry_run: bool
    changelogs: tuple[int, ...] = ()

    def __str__(self) -> str:
        gone = [
            ids_text(ids, one) for ids, one in ((self.snapshots, "snapshot"), (self.changelogs, "changelog")) if ids
        ]
        if not gone and not self.removal.files:
            return "nothing to expire"
        expire, delete = ("would expire", "delete") if self.dry_run else ("expired", "deleted")
        head = f"{expire} {', '.join(gone) or 'no snapshots'} and {delete} {self.removal.summary}{':' * bool(self.removal.files)}"
        return "\n".join([head, *self.removal.details])


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
    """Delete old snapshots of a branch. The options of the table are the defaults.

    ``older_than`` is a time (datetime, ISO text, epoch milliseconds) or a duration ago such as ``1 d``. With
    ``dry_run`` nothing is deleted, and the result lists what would be.
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
    done = _expire_range(store, options, wanted, dry_run=dry_run)
    return _with_changelogs(store, options, done, now)


def _expire_range(store: TableStore, options: TableOptions, wanted: Retention, *, dry_run: bool) -> Expiry:
    def plan() -> tuple[int, _Going | None]:
        begin, end = range_to_expire(store, options, wanted)
        return begin, _Going.of(store, begin, end, options) if begin < end else None

    begin, going = retry_while_expiring(plan)  # another process may expire the same snapshots
    if going is None:
        if not dry_run:
            _note_earliest(store, begin)
        return Expiry((), Removal((), dry_run), dry_run)
    if dry_run:
        return Expiry(going.ids, replace(_doomed(store, going), dry_run=True), dry_run=True)
    return _expire(store, options, going)


def _with_changelogs(store: TableStore, options: TableOptions, done: Expiry, now_millis: int) -> Expiry:
    """Expire long-lived changelogs too; a dry run considers only those that exist already."""
    going = changelogs_to_expire(store, options, now_millis)
    if going is None:
        return done
    if not done.dry_run:
        check_own_folders(store)
        check_deletable_folders(store, going.candidates.folders())
        remove_changelogs(store, going.ids)
        store.sync([store.paths.changelogs])
    files = _doomed_changelogs(store, going, done)
    if not done.dry_run:
        delete_files(store, files)
        if options.snapshot_clean_empty_directories:
            _remove_empty_folders(store, files)
    removal = Removal((*done.removal.files, *going.files, *files), done.dry_run)
    return replace(done, removal=removal, changelogs=going.ids)


def _doomed_changelogs(store: TableStore, going: GoingChangelogs, done: Expiry) -> list[DoomedFile]:
    """Returns the files to delete with long-lived changelogs, given the current references."""

    def unneeded() -> list[DoomedFile]:
        kept = _kept_after(store, done)
        own = [] if kept is None else _own_holders(store, kept, going.candidates, whole_chain=True)
        holders = distinct([*own, *other_holders(store, without_changelogs=going.ids)])
        return going.candidates.without(needed(store, holders, among=going.candidates.data_names()))

    return retry_while_expiring(unneeded)


def _kept_after(store: TableStore, done: Expiry) -> Snapshot | None:
    """Returns the first remaining snapshot, also in a dry run."""
    if not done.dry_run or not done.snapshots:
        return store.snapshots.earliest()
    return store.snapshots.find(done.snapshots[-1] + 1)


# ------------------------------------------------------------------------------------------------- what goes


@dataclass(frozen=True, slots=True)
class _Going:
    """The snapshots that expire, the first one that stays, and the files that may be deleted."""

    ids: tuple[int, ...]
    expiring: tuple[Snapshot, ...]
    kept: Snapshot
    whole_chain: bool
    files: tuple[DoomedFile, ...]
    candidates: Candidates
    changelogs: tuple[Snapshot, ...]  # long-lived changelogs are written for these
    are_their_own: bool  # whether they need only changelog files

    @staticmethod
    def of(store: TableStore, begin: int, end: int, options: TableOptions) -> _Going:
        sizes = {
            number: info.size
            for number, info in numbered_files(store.storage, store.paths.snapshots, SNAPSHOT_PREFIX).items()
        }
        # A fast-forward may leave a gap before the first snapshot of the branch, and ``end`` may be in it.
        kept = min((number for number in sizes if number >= end), default=end)
        ids = sorted(number for number in sizes if begin <= number <= kept)
        read = store.snapshots.read_many(ids)
        if [snapshot.id for snapshot in read] != ids or len(ids) < 2 or ids[-1] != kept:
            raise NotFoundError(f"snapshots of table {store.name} went while they were looked at; try again")
        chain = links(store, read)
        outlive = options.keeps_changelogs_longer
        candidates = _candidates(store, read, chain, changelogs=not outlive)
        files = [DoomedFile(store.paths.snapshot(number), sizes[number], "snapshot") for number in ids[:-1]]
        whole = all(link.continues for link in chain)
        own = outlive and options.changelog_producer != "none"
        kept_logs = tuple(read[:-1]) if outlive else ()
        return _Going(tuple(ids[:-1]), tuple(read[:-1]), read[-1], whole, tuple(files), candidates, kept_logs, own)


def _candidates(
    store: TableStore, snapshots: Sequence[Snapshot], chain: Sequence[Link], *, changelogs: bool
) -> Candidates:
    """Returns the files that only the snapshots before the last one need, judging from these snapshots alone."""
    going, kept = snapshots[:-1], snapshots[-1]
    found = Candidates(store)
    for snapshot in going:
        found.add_named(snapshot, changelog=changelogs)
        if snapshot.index_manifest != kept.index_manifest:
            found.add_index(snapshot)
    _add_manifests(found, store, snapshots, chain)
    deletes, again = deleted_files(store, snapshots[1:])
    found.add_entries(deletes)
    found.spare_data(again)
    for snapshot, link in zip(going, chain, strict=True):
        if not link.continues:  # files that the next snapshot does not have were not deleted by a commit
            found.add_entries(live_entries(store, snapshot))
    stays = {kept.base_manifest_list, kept.delta_manifest_list, kept.index_manifest, kept.statistics}
    stays |= {entry.file_name for entry in store.manifests.read_index(kept.index_manifest)}
    found.spare(name for name in stays if name is not None)
    return found


def _add_manifests(found: Candidates, store: TableStore, snapshots: Sequence[Snapshot], chain: Sequence[Link]) -> None:
    """Add manifests that are in no later list: those that were merged, or where the chain of snapshots was broken."""
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


# ------------------------------------------------------------------------------------------------- who needs it


def _doomed(store: TableStore, going: _Going) -> Removal:
    """Returns the files to delete, given the current references."""

    def unneeded() -> list[DoomedFile]:
        own = _own_holders(store, going.kept, going.candidates, whole_chain=going.whole_chain)
        others = other_holders(store, own_changelogs=not going.are_their_own)
        if not going.are_their_own:
            others += [changelog_holder(snapshot) for snapshot in going.changelogs]
        holders = distinct([*own, *others])
        return going.candidates.without(needed(store, holders, among=going.candidates.data_names()))

    return Removal((*going.files, *retry_while_expiring(unneeded)), dry_run=False)


def _own_holders(store: TableStore, kept: Snapshot, candidates: Candidates, *, whole_chain: bool) -> list[Holder]:
    """Returns the remaining snapshots of this branch that may need files which the first of them does not need."""
    if candidates.is_only_lists:
        return []
    later = _snapshots_after(store, kept.id)
    whole = whole_chain
    holders = [Holder(kept, Hold.NAMES if whole else Hold.LIVE)]
    for snapshot, link in zip(later, links(store, [kept, *later]), strict=True):
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
    """Returns the snapshots after this one. Snapshot files that an earlier call read are cached by size and time."""
    listed = {
        found: info
        for found, info in numbered_files(store.storage, store.paths.snapshots, SNAPSHOT_PREFIX).items()
        if found > number
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
    check_own_folders(store)
    check_deletable_folders(store, going.candidates.folders())
    sync_kept(store, going.expiring, going.kept)
    keep_changelogs(store, going.changelogs)
    _note_earliest(store, going.kept.id)
    for file in going.files:  # oldest first, so that the remaining snapshots never have a gap
        store.storage.delete(file.path)
    store.sync([store.paths.snapshots])  # else a snapshot could be there again after a power cut, without its files
    removal = _doomed(store, going)
    files = removal.files[len(going.files) :]
    delete_files(store, files)
    if options.snapshot_clean_empty_directories:
        _remove_empty_folders(store, files)
    return Expiry(going.ids, removal, dry_run=False)


def _note_earliest(store: TableStore, snapshot_id: int) -> None:
    """Write the hint if it differs; ignores errors, because hints are optional."""
    text = str(snapshot_id).encode()
    with contextlib.suppress(NotFoundError, StorageError):
        if snapshot_id < 1 or store.storage.read(store.paths.earliest_hint) == text:
            return
    with contextlib.suppress(StorageError):
        store.storage.replace(store.paths.earliest_hint, text)


def _remove_empty_folders(store: TableStore, files: Sequence[DoomedFile]) -> None:
    """Delete folders of buckets and partitions that are empty now."""
    folders = {file.path.rpartition("/")[0] for file in files if file.kind in {"data", "changelog"}}
    while folders:
        gone = {folder for folder in folders if store.storage.delete_empty_folder(folder)}
        above = {folder.rpartition("/")[0] for folder in gone}
        folders = {folder for folder in above if folder.startswith(f"{store.paths.root}/")}
