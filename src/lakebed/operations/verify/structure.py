"""The structural check of a whole table: all branches, snapshots and tags, down to data and index files.

Data and index files are not opened. Snapshots are read before folders are listed, so that their files existed, also
while others write to the table. If a snapshot was deleted during the check (it expired, or was rolled back), problems
may be due to that, and the check is repeated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import LakebedError
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.references.holders import branch_stores
from lakebed.metadata.store import TableStore
from lakebed.operations.verify.check_branches import Branch, check_holes, read_branch
from lakebed.operations.verify.check_buckets import BucketCheck
from lakebed.operations.verify.check_files import FileCheck, FileTable
from lakebed.operations.verify.check_indexes import IndexCheck
from lakebed.operations.verify.check_manifest_lists import check_metas
from lakebed.operations.verify.find_unreferenced import find_unreferenced
from lakebed.operations.verify.key_ranges import KeyRanges, rank_keys
from lakebed.operations.verify.load_manifests import AllManifests, ManifestLists, read_lists, read_manifests
from lakebed.operations.verify.replay_history import Needs, State, Walk
from lakebed.operations.verify.report import Findings, LookedAt, Repair, span
from lakebed.operations.verify.table_listing import Listing, list_table

Bools: TypeAlias = npt.NDArray[np.bool_]
Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is to do."""

_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class BranchFiles:
    """A branch with the files that its snapshots need; ``own`` are those that no earlier branch needs."""

    branch: Branch
    needs: Needs
    own: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Structure:
    """The result of the structural check: problems, counts, and the files for the deep check."""

    found: Findings
    looked_at: LookedAt
    branches: tuple[BranchFiles, ...]
    files: FileTable
    is_changelog: Bools
    indexes: IndexCheck


def check_structure(store: TableStore, progress: Progress, now_millis: int | None = None) -> Structure:
    """Check all branches of a table, on whatever branch ``store`` is. Damage is reported, never raised.

    ``now_millis`` is the time of the storage, for a repair that deletes old files.
    """
    store = replace(store, cache=ManifestCache())  # a new cache, because cached files may be damaged on disk
    for _ in range(_ATTEMPTS):
        made = _check_once(store, progress, now_millis)
        if not made.found.problems or not _lost_snapshots([part.branch for part in made.branches]):
            break
    return made


def _lost_snapshots(branches: Sequence[Branch]) -> bool:
    """Whether a snapshot that was checked does not exist any more."""
    return any(not set(branch.snapshot_ids) <= set(branch.store.snapshots.ids()) for branch in branches)


def _check_once(store: TableStore, progress: Progress, now_millis: int | None) -> Structure:
    found = Findings()
    branches = [read_branch(branch, found) for branch in branch_stores(store)]
    copied = _copied_lists(branches)
    for branch in branches:
        check_holes(branch, copied, found)
    reader, lists = read_lists(branches, found)
    progress("folders", 0, 1)
    listing = list_table(store.storage, store.paths.root)
    manifests = read_manifests(reader, lists, branches, listing, lambda done, total: progress("manifests", done, total))
    check_metas(manifests, reader.differing, branches[0].schema, store.paths, found)
    indexes = IndexCheck(manifests.files, found)
    indexes.read(branches, listing)
    work = _Work(manifests, lists, copied, indexes, rank_keys(manifests.files, branches), listing, found)
    for number, branch in enumerate(branches):
        work.check(branch)
        progress("branches", number + 1, len(branches))
    _check_statistics(branches, listing, found)
    _check_sidecars(store, found)
    if not found.blind:
        find_unreferenced(store, found, now_millis)
    looked_at = _looked_at(branches, manifests, work.done)
    return Structure(found, looked_at, tuple(work.parts), work.table, work.is_changelog, indexes)


@dataclass
class _Work:
    """The state that is shared by the checks of all branches."""

    manifests: AllManifests
    lists: dict[str, ManifestLists]
    copied: frozenset[str]
    indexes: IndexCheck
    keys: KeyRanges
    listing: Listing
    found: Findings
    parts: list[BranchFiles] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = FileTable.of(self.manifests.files)
        self.is_changelog = np.zeros(len(self.manifests.files), np.bool_)
        self.done = np.zeros(len(self.manifests.files), np.bool_)

    def check(self, branch: Branch) -> None:
        """Check the snapshots and tags of a branch, then the files that no earlier branch has."""
        files, found = self.manifests.files, self.found
        buckets = BucketCheck(files, self.keys, branch.schema, found, self.table.paths)

        def look(state: State) -> None:
            buckets.look(state)
            self.indexes.look(state)

        walk = Walk(self.manifests, self.lists, found, look, self.copied)
        needs = walk.run(branch)
        self.is_changelog |= walk.changelog_files(branch, needs)
        check = FileCheck(branch, self.table, self.keys, needs, found)
        check.check_schemas(np.flatnonzero(needs.needed))
        own = np.flatnonzero(needs.needed & ~self.done)
        self.listing = check.run(own, self.listing)
        self.done |= needs.needed
        buckets.tell()
        self.parts.append(BranchFiles(branch, needs, own))


def _copied_lists(branches: Sequence[Branch]) -> frozenset[str]:
    names = Counter(name for branch in branches for name in {h.snapshot.base_manifest_list for h in branch.snapshots})
    return frozenset(name for name, count in names.items() if count > 1)


def _looked_at(branches: Sequence[Branch], manifests: AllManifests, needed: Bools) -> LookedAt:
    files = manifests.files.select(["partition", "file_name", "file_size", "row_count"]).filter(pa.array(needed))
    once = files.group_by(["partition", "file_name"]).aggregate([("file_size", "max"), ("row_count", "max")])
    return LookedAt(
        branches=len(branches),
        snapshots=sum(len(branch.snapshots) for branch in branches),
        tags=sum(len(branch.tags) for branch in branches),
        manifests=len(manifests.metas),
        data_files=len(once),
        bytes=int(once["file_size_max"].to_numpy().sum()),
        rows=int(once["row_count_max"].to_numpy().sum()),
    )


# ------------------------------------------------------------------------------------------------- small matters


def _check_statistics(branches: Sequence[Branch], listing: Listing, found: Findings) -> None:
    users: dict[str, list[str]] = {}
    for branch in branches:
        for holder in (*branch.snapshots, *branch.tags):
            if holder.snapshot.statistics is not None:
                path = f"{branch.store.paths.statistics}/{holder.snapshot.statistics}"
                users.setdefault(path, []).append(holder.label)
    at = listing.find(pa.array(list(users), pa.string())).tolist()
    storage = branches[0].store.storage
    for place, (path, labels) in zip(at, users.items(), strict=True):
        advice = "nothing is lost: analyze the table again"
        if place < 0:
            what = f"the statistics {path.rsplit('/', 1)[-1]} are not there; {span(labels)} name them"
            found.warning("missing-statistics", what, path, advice)
            continue
        try:
            json.loads(storage.read(path))
        except (ValueError, LakebedError) as error:
            found.warning("unreadable-statistics", f"{error}; {span(labels)} name the file", path, advice)


def _check_sidecars(store: TableStore, found: Findings) -> None:
    """Report sidecar files that are empty or do not parse; they can be deleted, because they are rebuilt."""
    folder = store.paths.sidecars
    for info in store.storage.list(folder):
        path = f"{folder}/{info.name}"
        if info.is_dir:
            continue
        try:
            if info.size and info.name.endswith(".json"):
                json.loads(store.storage.read(path))
            if info.size:
                continue
            why = "it is empty"
        except (ValueError, LakebedError) as error:
            why = str(error)
        found.info("damaged-sidecar", f"the sidecar {info.name} is damaged: {why}", path, "verify with repair=True")
        found.repairs.append(Repair("the sidecar is damaged; it is made again when needed", path, "delete"))
