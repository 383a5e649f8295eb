"""Tables with a few commits, whose data files exist, and what of them can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.metadata.entries import adds, names_of
from tests.metadata.stores import commit_files, new_store, open_store
from tests.places import stored_path

from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.manifests import Manifests
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore


def history(root: Path, *names: str, **more: Any) -> TableStore:
    """An append table with one commit for each of these files."""
    store = new_store(root, **more)
    for name in names:
        add(store, name)
    return store


def add(store: TableStore, name: str) -> Snapshot:
    """Commit a file, and put it where a reader would look for it."""
    path = stored_path(store.paths.bucket("", 0), name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes(10))
    return commit_files(store, adds(name, file_size=10, schema_id=store.schema().id))


def alter(store: TableStore, value: str) -> None:
    """A new schema with another value of an option."""
    store.schemas.change(lambda s: replace(s, id=s.id + 1, options={"commit.timeout": value}))


def swap(store: TableStore, old: str, new: str) -> Snapshot:
    """Replace a file by another, as a compaction does."""
    stored_path(store.paths.bucket("", 0), new).write_bytes(bytes(10))
    change = Change(entries=pa.concat_tables([as_deletes(adds(old, file_size=10)), adds(new, file_size=10)]))
    made = commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change))
    assert made is not None
    return made


def files_of(store: TableStore, snapshot: Snapshot | None, cache: ManifestCache | None = None) -> list[str]:
    """The live files of a snapshot, read from disk; every one of them must be there."""
    fresh = open_store(store.paths.root).on_branch(store.paths.branch)
    object.__setattr__(fresh, "manifests", Manifests(fresh.storage, fresh.paths, cache or ManifestCache()))
    if snapshot is not None:
        fresh.schemas.get(snapshot.schema_id)
    found = sorted(names_of(live_entries(fresh, snapshot)))
    missing = [name for name in found if not stored_path(store.paths.bucket("", 0), name).exists()]
    assert not missing, f"snapshot {snapshot and snapshot.id} lacks {missing}"
    return found


def live(store: TableStore) -> list[str]:
    """The live files of the latest snapshot."""
    return files_of(store, store.snapshots.latest())


def check_readable(store: TableStore) -> None:
    """Every snapshot and tag of every branch can be read, and snapshots have no holes."""
    cache = ManifestCache()
    for branch in ("main", *store.branch_names()):
        one = store.on_branch(branch)
        one.schema()
        ids = one.snapshots.ids()
        assert ids == list(range(ids[0], ids[-1] + 1) if ids else []), f"{branch} has holes: {ids}"
        assert one.snapshots.latest_id() == (ids[-1] if ids else None)
        for snapshot in [*one.snapshots.read_many(ids), *one.snapshots.tags().values()]:
            files_of(one, snapshot, cache)
