"""How many rows of the data files are marked as deleted."""

from __future__ import annotations

from lakebed.format.snapshot import Snapshot
from lakebed.metadata.store import TableStore


def marked_rows(store: TableStore, snapshot: Snapshot) -> int:
    """Returns the number of rows that deletion vectors of a snapshot mark, from metadata alone."""
    index = store.manifests.read_index(snapshot.index_manifest)
    return sum(vector.cardinality or 0 for entry in index for vector in entry.vectors or ())
