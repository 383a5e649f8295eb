"""Which files a commit must flush to disk before it is acknowledged, so that it survives a power cut.

A snapshot refers to its lists, these to manifests, and these to data and index files. All of them must be on disk
before the snapshot file gets its name: otherwise a power cut could leave a snapshot that refers to empty files.
:class:`lakebed.storage.Sync` carries their paths to the call that creates the snapshot file, which flushes them in
parallel. Files that an earlier attempt of the commit flushed are left out.

Tasks of a cluster flush what they write themselves (:func:`sync_written`), because only the machine that wrote a file
can flush it. The commit flushes the files once more, which is cheap for a file without unwritten data.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.commit.own_files import added_files
from lakebed.metadata.store import TableStore


def sync_written(
    store: TableStore, schema: TableSchema, entries: Sequence[pa.Table], index: Sequence[IndexEntry] = ()
) -> None:
    """Flushes the files that entries add, if commits to the table are durable. For tasks, before they report."""
    if store.is_durable:
        store.storage.sync(added_files(store, schema, entries, index), below=store.paths.root)
