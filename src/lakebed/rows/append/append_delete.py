"""Deletes of rows of an append table: files that contain some of them are rewritten.

Files whose statistics prove that every row matches are dropped without reading them. Files that cannot contain a
match are not touched. The result is a change for one commit, planned on one snapshot. If another commit deletes one
of these files first, the commit fails and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lakebed.format import predicate as pred
from lakebed.format.index_files.deletion_vector import VectorRange, write_deletion_vectors
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import ADD, DELETE, as_deletes
from lakebed.metadata.commit.commit import Change
from lakebed.metadata.plan.file_scan import partition_mask, stats_views
from lakebed.metadata.store import TableStore
from lakebed.rows.append.append_write import AppendWriter
from lakebed.rows.files.file_reader import DeletedRows, FileReader


@dataclass(frozen=True, slots=True)
class Deletion:
    """The change to commit for a delete, and how many rows it removes."""

    change: Change
    rows: int


def delete_rows(
    reader: FileReader, entries: pa.Table, index: Sequence[IndexEntry], writer: AppendWriter, index_name: str
) -> Deletion:
    """Plan and write a delete of the rows that satisfy the reader's predicate, out of the files of ``entries``."""
    node = reader.predicate or pred.TRUE
    whole = _certain(reader.store, entries, reader, node)
    gone, removed = [], 0
    for i in range(len(entries)):
        entry = entries.slice(i, 1)
        if whole[i]:
            gone.append(entry)
            removed += _live_rows(entry, reader.deleted)
            continue
        rows = replace(reader, predicate=None, columns=reader.schema.fields).read(entry)
        keep = ~pred.matches_rows(node, rows)
        if keep.all():
            continue
        gone.append(entry)
        removed += int(len(rows) - keep.sum())
        writer.rewrite(rows.filter(pa.array(keep)))
    if not gone:
        return Deletion(Change(), 0)
    old = pa.concat_tables(gone)
    changes = without_vectors(reader.store, index, old, index_name)
    return Deletion(Change(entries=pa.concat_tables([as_deletes(old), writer.finish()]), index=changes), removed)


def _certain(store: TableStore, entries: pa.Table, reader: FileReader, node: pred.Node) -> np.ndarray:
    """Return which files contain only matching rows, as far as partitions (exactly) and statistics can prove it."""
    mask = np.zeros(len(entries), np.bool_)
    keys = reader.schema.partition_keys
    of_partition, rest = pred.split(node, keys) if keys else (pred.TRUE, node)
    for rows, view in stats_views(store, entries, reader.schema, pred.columns(rest)):
        mask[rows] = pred.must_match(rest, view)
    in_partition = None if of_partition == pred.TRUE else partition_mask(entries, of_partition, reader.schema)
    return mask if in_partition is None else mask & in_partition


def _live_rows(entry: pa.Table, deleted: DeletedRows) -> int:
    row = entry.select(["partition", "file_name", "row_count"]).to_pylist()[0]
    place = deleted.by_file.get((row["partition"], row["file_name"]))
    return int(row["row_count"]) - ((place[1].cardinality or 0) if place else 0)


def without_vectors(
    store: TableStore, index: Sequence[IndexEntry], gone: pa.Table, index_name: str
) -> tuple[IndexEntry, ...]:
    """Remove the deletion vectors of deleted files: their index files are rewritten without them."""
    names = set(zip(gone["partition"].to_pylist(), gone["file_name"].to_pylist(), strict=True))
    changes: list[IndexEntry] = []
    for number, entry in enumerate(e for e in index if e.index_type == DELETION_VECTORS):
        kept = [vector for vector in entry.vectors or () if (entry.partition, vector.file_name) not in names]
        if len(kept) == len(entry.vectors or ()):
            continue
        changes.append(replace(entry, kind=DELETE))
        if kept:
            changes.append(_rewritten(store, entry, kept, f"{index_name}-{number}"))
    return tuple(changes)


def _rewritten(store: TableStore, entry: IndexEntry, kept: Sequence[VectorRange], name: str) -> IndexEntry:
    deleted = DeletedRows.of(store, [replace(entry, vectors=tuple(kept))])
    positions = {vector.file_name: deleted.positions(store, entry.partition, vector.file_name) for vector in kept}
    data, ranges = write_deletion_vectors({file: rows for file, rows in positions.items() if rows is not None})
    store.storage.write(store.paths.index(name), data)
    vectors = tuple(ranges)
    return replace(
        entry,
        kind=ADD,
        file_name=name,
        file_size=len(data),
        row_count=len(vectors),
        vectors=vectors,
        external_path=None,
    )
