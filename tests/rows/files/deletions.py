"""Deletes rows of a file by their positions, as a deletion vector does."""

from __future__ import annotations

import lakebed
from lakebed.format.index_files.deletion_vector import VectorRange, write_deletion_vectors
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import ADD
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.plan.file_scan import live_entries


def delete_positions(table: lakebed.Table, positions: dict[str, list[int]], name: str = "index-by-hand-0") -> None:
    """Deletion vectors for data files by name, written and committed by hand."""
    data, ranges = write_deletion_vectors(positions)
    store = table._store
    store.storage.write(store.paths.index(name), data)
    (partition,) = {e["partition"] for e in live_entries(store, table.latest_snapshot()).to_pylist()}
    entry = IndexEntry(
        kind=ADD,
        partition=partition,
        bucket=0,
        index_type=DELETION_VECTORS,
        file_name=name,
        file_size=len(data),
        row_count=len(ranges),
        vectors=tuple(VectorRange(r.file_name, r.offset, r.length, r.cardinality) for r in ranges),
    )
    assert commit(store, append(Change(index=(entry,)))) is not None
