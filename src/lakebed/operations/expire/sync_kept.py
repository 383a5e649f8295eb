"""Flushes what the first snapshot that remains after an expiry needs, before the expiry deletes older files.

Without this, a power cut could leave a table without any readable snapshot: the old files are deleted, and the new
ones were not written to disk yet. It concerns snapshots whose commit did not flush its files: those of tables without
``commit.durable``, and those of other engines.

The files of a snapshot were added by itself or by snapshots before it. An earlier expiry flushed what its first
remaining snapshot needed. So it is enough to flush what the snapshots that expire now, and the one that remains, added.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from lakebed.errors import NotFoundError
from lakebed.format.commit_facts import DURABLE, read_flag
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.own_files import added_files
from lakebed.metadata.store import TableStore


def sync_kept(store: TableStore, expiring: Sequence[Snapshot], kept: Snapshot) -> None:
    """Flushes the files of ``kept``, the first snapshot that remains, unless its commits did."""
    unsafe = [one for one in (*expiring, kept) if not read_flag(one.properties, DURABLE)]
    if unsafe:
        store.storage.sync(dict.fromkeys(_files(store, unsafe, kept)), below=store.paths.root)


def _files(store: TableStore, unsafe: Sequence[Snapshot], kept: Snapshot) -> Iterator[str]:
    schema, manifests = store.schema(), store.manifests
    for snapshot in unsafe:
        with contextlib.suppress(NotFoundError):  # another process expired it, and flushed its files before
            entries = manifests.read_entries(manifests.read_list(snapshot.delta_manifest_list))
            yield from added_files(store, schema, [entries])
    with contextlib.suppress(NotFoundError):
        yield from _needed(store, kept)


def _needed(store: TableStore, kept: Snapshot) -> Iterator[str]:
    """Yields the metadata files of a snapshot, and the index and changelog files that they name."""
    schema, manifests, paths = store.schema(), store.manifests, store.paths
    yield from added_files(store, schema, [], manifests.read_index(kept.index_manifest))
    lists = (kept.base_manifest_list, kept.delta_manifest_list, kept.changelog_manifest_list, kept.index_manifest)
    metas = manifests.base_and_delta(kept)
    if kept.changelog_manifest_list is not None:
        logged = manifests.read_list(kept.changelog_manifest_list)
        metas += logged
        yield from added_files(store, schema, [manifests.read_entries(logged)])
    yield from (paths.manifest(name) for name in (*lists, *(meta.file_name for meta in metas)) if name is not None)
    if kept.statistics is not None:
        yield f"{paths.statistics}/{kept.statistics}"
    yield paths.snapshot(kept.id)
