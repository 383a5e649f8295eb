"""Which files are kept, and by what. Expiry, tags, rollback, the removal of orphan files and verify ask here.

A *holder* is a snapshot or a tag of any branch, or a long-lived changelog. A snapshot needs its manifest lists, the
manifests in them, the live data files with their extra files, its index manifest and index files, its statistics and
its changelog. A tag needs the same without the changelog, which is deleted with the snapshot, as in Paimon. A
long-lived changelog needs its changelog files; without these it needs the manifests of its delta and the files that an
APPEND or OVERWRITE added. Parts of it may not exist.

The cost is linear. Of snapshots that continue each other (:mod:`lakebed.metadata.references.continuity`) only the first
is folded; the others add the files of their deltas. Each manifest is read once. Data files are identified by name,
which is unique, so a file is kept even if a holder refers to it in another folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError
from lakebed.format.manifest.manifest import ADD, NO_ENTRIES, ManifestMeta, fold
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.changelogs import changelog_ids, find_changelog
from lakebed.metadata.references.candidates import Candidates, Needed, file_names
from lakebed.metadata.references.continuity import links
from lakebed.metadata.references.removal import DoomedFile
from lakebed.metadata.store import TableStore
from lakebed.storage import run_all, run_both, run_together

_FOLDED: Final = (
    "kind",
    "partition",
    "bucket",
    "level",
    "file_name",
    "extra_files",
    "embedded_index",
    "external_path",
)
_THREADS: Final = 8
_ADDING: Final = frozenset({CommitKind.APPEND, CommitKind.OVERWRITE})
_NO_NAMES: Final = pa.array([], pa.string())


class Hold(Enum):
    """Which files of a snapshot have to be found."""

    LIVE = "live"  # all live files
    ADDS = "adds"  # the files that its delta added; a holder before it has the rest
    NAMES = "names"  # the files that the snapshot names itself; other holders have the rest


@dataclass(frozen=True, slots=True)
class Holder:
    """A snapshot that keeps files, and which of its files have to be found."""

    snapshot: Snapshot
    hold: Hold
    appeared: tuple[ManifestMeta, ...] = ()
    changelog: bool = True
    index_files: bool = True
    may_lack_files: bool = False


# -------------------------------------------------------------------------------------------------- who holds


def branch_stores(store: TableStore) -> list[TableStore]:
    """Returns the table on each of its branches, main first."""
    branches = [MAIN_BRANCH, *store.branch_names()]
    return [TableStore(store.storage, store.paths.on_branch(name), store.name, cache=store.cache) for name in branches]


def changelogs(store: TableStore) -> list[Snapshot]:
    """Returns the long-lived changelogs of a branch, ascending."""
    found = run_all(store.storage, [partial(find_changelog, store, number) for number in changelog_ids(store)])
    return [changelog for changelog in found if changelog is not None]  # one may have expired meanwhile


def changelog_holder(changelog: Snapshot) -> Holder:
    """Returns what a long-lived changelog needs."""
    return Holder(changelog, Hold.ADDS, may_lack_files=True)


def run_holders(store: TableStore, snapshots: Sequence[Snapshot]) -> list[Holder]:
    """Returns holders for ascending snapshots of one branch; the first of each unbroken chain is folded."""
    if not snapshots:
        return []
    holders = [Holder(snapshots[0], Hold.LIVE)]
    for snapshot, link in zip(snapshots[1:], links(store, snapshots), strict=True):
        holders.append(Holder(snapshot, Hold.ADDS if link.continues else Hold.LIVE, link.appeared))
    return holders


def all_holders(
    store: TableStore, *, without_snapshots: Collection[int] = (), without_tags: Collection[str] = ()
) -> list[Holder]:
    """Returns all holders of the table, on all branches.

    ``without_snapshots`` and ``without_tags`` of the branch of ``store`` are skipped, because they will be deleted.
    """

    def of_branch(branch: TableStore) -> list[Holder]:
        own = branch.paths == store.paths
        ids = [number for number in branch.snapshots.ids() if not own or number not in without_snapshots]
        found = run_holders(branch, branch.snapshots.read_many(ids))
        return found + tag_holders(branch, without_tags if own else ())

    parts = run_all(store.storage, [partial(of_branch, branch) for branch in branch_stores(store)])
    return distinct(holder for part in parts for holder in part)


def other_holders(
    store: TableStore, *, own_changelogs: bool = True, without_changelogs: Collection[int] = ()
) -> list[Holder]:
    """Returns all holders except the snapshots of this branch, and except the given long-lived changelogs."""

    def of_branch(branch: TableStore) -> list[Holder]:
        own = branch.paths == store.paths
        found = [] if own else run_holders(branch, branch.snapshots.read_many(branch.snapshots.ids()))
        tags, logs = run_both(
            store.storage,
            partial(_tags_only, branch),
            lambda: changelogs(branch) if own_changelogs or not own else [],
        )
        kept = [changelog_holder(one) for one in logs if not own or one.id not in without_changelogs]
        return [*found, *tags, *kept]

    parts = run_all(store.storage, [partial(of_branch, branch) for branch in branch_stores(store)])
    return [holder for part in parts for holder in part]


def tag_holders(store: TableStore, without: Collection[str] = ()) -> list[Holder]:
    """Returns the tags and long-lived changelogs of one branch."""
    return [*_tags_only(store, without), *map(changelog_holder, changelogs(store))]


def _tags_only(store: TableStore, without: Collection[str] = ()) -> list[Holder]:
    tags = [snapshot for name, snapshot in store.snapshots.tags().items() if name not in without]
    return [Holder(tag, Hold.LIVE, changelog=False) for tag in tags]


def distinct(holders: Iterable[Holder]) -> list[Holder]:
    """Returns holders without duplicates, such as a tag of an existing snapshot, so that none is folded twice."""
    seen: set[tuple[str, str]] = set()
    result = []
    for holder in sorted(holders, key=lambda one: one.hold is Hold.LIVE):
        lists = holder.snapshot.base_manifest_list, holder.snapshot.delta_manifest_list
        if holder.hold is Hold.LIVE and lists in seen:
            result.append(Holder(holder.snapshot, Hold.NAMES, changelog=holder.changelog))
            continue
        if not holder.may_lack_files:
            seen.add(lists)
        result.append(holder)
    return result


# ------------------------------------------------------------------------------------------------- what they need


def needed(store: TableStore, holders: Iterable[Holder], *, among: pa.Array | None = None) -> Needed:
    """Returns the names of all files that these holders need; data files only if they are ``among`` the given names."""
    found = _Reading(store)
    holders = list(holders)
    store.manifests.read_lists_ahead(name for holder in holders for name in _lists_of(holder))
    for holder in holders:
        found.add(holder)
    metadata = frozenset(found.names | found.index_files())
    return Needed(metadata, found.data_names(among))


def _lists_of(holder: Holder) -> list[str]:
    """Returns the lists that :class:`_Reading` opens for a holder."""
    snapshot = holder.snapshot
    base = [snapshot.base_manifest_list] if holder.hold is Hold.LIVE and not holder.may_lack_files else []
    delta = [snapshot.delta_manifest_list] if holder.hold is not Hold.NAMES else []
    return [*base, *delta]


@dataclass
class _Reading:
    """Collects the files of holders; reads each list, manifest and index manifest once."""

    store: TableStore
    names: set[str] = field(default_factory=set)
    _folded: list[list[ManifestMeta]] = field(default_factory=list)
    _added: dict[str, ManifestMeta] = field(default_factory=dict)
    _may_lack: set[str] = field(default_factory=set)
    _index_manifests: set[str] = field(default_factory=set)
    _lists: dict[str, list[ManifestMeta]] = field(default_factory=dict)

    def add(self, holder: Holder) -> None:
        snapshot = holder.snapshot
        if holder.may_lack_files:
            self._add_long_lived(holder)
            return
        self.names |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        self.names |= {name for name in (snapshot.statistics, snapshot.index_manifest) if name is not None}
        if snapshot.index_manifest is not None and holder.index_files:
            self._index_manifests.add(snapshot.index_manifest)
        if holder.hold is Hold.LIVE:
            metas = self._list(snapshot.base_manifest_list) + self._list(snapshot.delta_manifest_list)
            self._folded.append(metas)
            self._note(metas)
        elif holder.hold is Hold.ADDS:
            self._note(holder.appeared)
            self._note_added(self._list(snapshot.delta_manifest_list), holder)
        if holder.changelog:
            self._add_changelog(holder)

    def _add_long_lived(self, holder: Holder) -> None:
        snapshot = holder.snapshot
        if snapshot.changelog_manifest_list is not None:
            self._add_changelog(holder)
            return
        self.names.add(snapshot.delta_manifest_list)
        metas = self._list(snapshot.delta_manifest_list, may_lack=True)
        if snapshot.commit_kind in _ADDING:
            self._note_added(metas, holder)
        else:
            self._note(metas)  # the files of a compaction are no changes

    def _add_changelog(self, holder: Holder) -> None:
        name = holder.snapshot.changelog_manifest_list
        if name is not None:
            self.names.add(name)
            # A branch that starts at a tag has a snapshot whose changelog may be deleted with the one on main.
            self._note_added(self._list(name, may_lack=True), holder, may_lack=True)

    def index_files(self) -> set[str]:
        """Returns the index files of every distinct index manifest."""
        found = run_together([partial(self.store.manifests.read_index, name) for name in sorted(self._index_manifests)])
        return {entry.file_name for entries in found for entry in entries}

    def data_names(self, among: pa.Array | None) -> pa.Array:
        """Returns the names of needed data files, with extra files and changelog files."""
        if among is not None and not len(among):
            return _NO_NAMES
        metas = self._added | {meta.file_name: meta for group in self._folded for meta in group}
        read = run_together([partial(self._entries, meta, among) for meta in metas.values()], _THREADS)
        tables = dict(zip(metas, read, strict=True))
        plain = set(self._added)
        parts = []
        for group in self._folded:
            if any(meta.num_deleted_files for meta in group):
                entries = pa.concat_tables([tables[meta.file_name] for meta in group])
                parts.append(file_names(fold(entries, where=f"manifests of {self.store.name}")))
            else:
                plain |= {meta.file_name for meta in group}
        parts += [file_names(tables[name].filter(pc.equal(tables[name]["kind"], ADD))) for name in plain]
        return pc.unique(pa.concat_arrays(parts)) if parts else _NO_NAMES

    def _entries(self, meta: ManifestMeta, among: pa.Array | None) -> pa.Table:
        try:
            entries = self.store.manifests.read_entries([meta]).select(_FOLDED)
        except NotFoundError:
            if meta.file_name not in self._may_lack:
                raise
            return NO_ENTRIES.select(_FOLDED)
        if among is None:
            return entries
        mask = pc.is_in(entries["file_name"], value_set=among)
        extras = entries["extra_files"].combine_chunks()
        if len(extras.flatten()):
            rows = pc.list_parent_indices(extras).filter(pc.is_in(extras.flatten(), value_set=among))
            positions = pa.array(range(len(entries)), rows.type)
            mask = pc.or_(mask, pc.is_in(positions, value_set=rows))
        return entries.filter(mask)

    def _note(self, metas: Iterable[ManifestMeta]) -> None:
        for meta in metas:
            self.names.add(meta.file_name)
            self.names.update(meta.extra_files or ())

    def _note_added(self, metas: Sequence[ManifestMeta], holder: Holder, *, may_lack: bool = False) -> None:
        self._note(metas)
        self._added.update((meta.file_name, meta) for meta in metas if meta.num_added_files)
        if may_lack or holder.may_lack_files:
            self._may_lack.update(meta.file_name for meta in metas)

    def _list(self, name: str, *, may_lack: bool = False) -> list[ManifestMeta]:
        if name not in self._lists:
            try:
                self._lists[name] = self.store.manifests.read_list(name)
            except NotFoundError:
                if not may_lack:
                    raise
                return []
        return self._lists[name]


# ------------------------------------------------------------------------------------------------- what may go


def only_needed_by(
    store: TableStore,
    gone: Snapshot | Sequence[Snapshot],
    *,
    without_snapshots: Collection[int] = (),
    without_tags: Collection[str] = (),
    changelogs: bool = False,
) -> list[DoomedFile]:
    """Returns the files that only these snapshots of one branch need.

    All current holders count: snapshots, tags and long-lived changelogs of every branch. In a dry run the snapshots and
    tags that would be deleted still exist, so ``without_snapshots`` and ``without_tags`` of this branch are skipped.
    With ``changelogs`` the changelog files of the snapshots are included; a tag has none.
    """
    snapshots = [gone] if isinstance(gone, Snapshot) else sorted(gone, key=lambda one: one.id)
    if not snapshots:
        return []
    holders = all_holders(store, without_snapshots=without_snapshots, without_tags=without_tags)
    candidates = Candidates(store)
    for holder in _going(store, snapshots, without_snapshots):
        snapshot = holder.snapshot
        candidates.add_named(snapshot, changelog=changelogs)
        candidates.add_index(snapshot)
        candidates.add_manifests(holder.appeared)
        metas = store.manifests.read_list(snapshot.delta_manifest_list)
        if holder.hold is Hold.LIVE:
            metas = store.manifests.read_list(snapshot.base_manifest_list) + metas
            candidates.add_entries(fold(store.manifests.read_entries(metas), where=f"snapshot {snapshot.id}"))
        else:
            entries = store.manifests.read_entries([meta for meta in metas if meta.num_added_files])
            candidates.add_entries(entries.filter(pc.equal(entries["kind"], ADD)))
        candidates.add_manifests(metas)
    return candidates.without(needed(store, holders, among=candidates.data_names()))


def _going(store: TableStore, snapshots: list[Snapshot], without: Collection[int]) -> list[Holder]:
    """Returns holders for the deleted snapshots. If the snapshot before them stays, its files are skipped."""
    before = None if snapshots[0].id - 1 in without else store.snapshots.find(snapshots[0].id - 1)
    return run_holders(store, snapshots) if before is None else run_holders(store, [before, *snapshots])[1:]
