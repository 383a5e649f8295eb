"""Which files a table needs, told the slow way: every snapshot, tag and changelog of every branch by itself, file by
file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from tests.places import stored_path

from lakebed.format.manifest.manifest import ADD, fold
from lakebed.format.snapshot import CommitKind, Snapshot, snapshot_from_json
from lakebed.metadata.data_file_paths import data_file_paths
from lakebed.metadata.store import TableStore


def branches(store: TableStore) -> Iterator[TableStore]:
    for name in ["main", *store.branch_names()]:
        yield store.on_branch(name)


def needed_files(store: TableStore) -> set[str]:
    """Every file below ``manifest/``, ``index/``, ``statistics/`` and in buckets that somebody needs."""
    found: set[str] = set()
    for branch in branches(store):
        for number in branch.snapshots.ids():
            found |= files_of(branch, branch.snapshots.get(number), changelog=True)
        for tagged in branch.snapshots.tags().values():
            found |= files_of(branch, tagged, changelog=False)
        for changelog in stored_path(branch.paths.changelogs).glob("changelog-*"):
            found |= files_of_changelog(branch, snapshot_from_json(changelog.read_bytes(), where=str(changelog)))
    return found


def files_of_changelog(store: TableStore, snapshot: Snapshot) -> set[str]:
    """What is left of an expired snapshot: its changelog, or without one what it added and where that is written."""
    name = snapshot.changelog_manifest_list or snapshot.delta_manifest_list
    if not store.storage.exists(store.paths.manifest(name)):
        assert snapshot.changelog_manifest_list is None
        return set()
    metas = store.manifests.read_list(name)
    found = {store.paths.manifest(name) for name in (name, *(meta.file_name for meta in metas))}
    if snapshot.changelog_manifest_list is None and snapshot.commit_kind is CommitKind.COMPACT:
        return found
    entries = store.manifests.read_entries(metas)
    return found | _data(store, entries.filter(pc.equal(entries["kind"], ADD)))


def files_of(store: TableStore, snapshot: Snapshot, *, changelog: bool) -> set[str]:
    names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
    metas = store.manifests.base_and_delta(snapshot)
    paths = _data(store, fold(store.manifests.read_entries(metas)))
    if changelog and snapshot.changelog_manifest_list is not None:
        names.add(snapshot.changelog_manifest_list)
        if store.storage.exists(store.paths.manifest(snapshot.changelog_manifest_list)):
            more = store.manifests.read_list(snapshot.changelog_manifest_list)
            metas = metas + more
            paths |= _data(store, store.manifests.read_entries(more))
        else:
            names.discard(snapshot.changelog_manifest_list)
    names |= {meta.file_name for meta in metas}
    if snapshot.index_manifest is not None:
        names.add(snapshot.index_manifest)
        paths |= {store.paths.index(entry.file_name) for entry in store.manifests.read_index(snapshot.index_manifest)}
    if snapshot.statistics is not None:
        paths.add(f"{store.paths.root}/statistics/{snapshot.statistics}")
    return paths | {store.paths.manifest(name) for name in names}


def _data(store: TableStore, entries: pa.Table) -> set[str]:
    found = set()
    rows = entries.to_pylist()
    for row, path in zip(rows, data_file_paths(store, store.schema(), entries), strict=True):
        assert row["kind"] == ADD
        found.add(path)
        found |= {f"{path.rpartition('/')[0]}/{extra}" for extra in row["extra_files"]}
    return found


def files_on_disk(store: TableStore) -> set[str]:
    """Every file in the same folders, hidden ones too."""
    root = stored_path(store.paths.root)
    found = {str(path) for path in root.rglob("*") if path.is_file()}
    skipped = ("schema", "snapshot", "tag", "changelog", "consumer", "branch", ".lakebed")
    return {path for path in found if stored_path(path).relative_to(root).parts[0] not in skipped}
