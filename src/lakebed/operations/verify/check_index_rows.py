"""The deep check of index files: compares deletion vectors and hash indexes with rows.

Deletion vectors must decode, with a valid checksum and existing rows. A hash index must contain the hash of every key
of its bucket, and no hash may be in two buckets of a partition. An index may contain more hashes, because those of
deleted keys stay. Hash indexes are compared at the newest snapshot of each branch and at tags.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lakebed.errors import CorruptError, LakebedError
from lakebed.format.human_text import count_text
from lakebed.format.index_files import hash_index
from lakebed.format.index_files.deletion_vector import read_deletion_vector
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, HASH, IndexEntry
from lakebed.format.schema.table_schema import TableSchema
from lakebed.operations.verify import BranchFiles, Progress, Structure
from lakebed.operations.verify.check_indexes import REBUILD, IndexFile
from lakebed.operations.verify.report import some
from lakebed.options import TableOptions

Hashes: TypeAlias = npt.NDArray[np.int32]

_RESTORE: Final = "restore it from a backup; else roll back to a snapshot that does not need it"


def check_index_files(structure: Structure, known: dict[int, Hashes], progress: Progress) -> None:
    """Check every existing index file; ``known`` are the hashes of the keys of data files."""
    index_files = list(structure.indexes.index_files.values())
    for number, file in enumerate(index_files):
        if file.is_there and file.entry.index_type == DELETION_VECTORS:
            _check_vectors(structure, file)
        progress("index files", number + 1, len(index_files))
    for part in structure.branches:
        if has_hash_index(part.branch.schema):
            _check_hash_indexes(structure, part, known)


def _check_vectors(structure: Structure, file: IndexFile) -> None:
    """Check that every deletion vector of an index file decodes and refers to existing rows."""
    storage = structure.branches[0].branch.store.storage
    found, entry = structure.found, file.entry
    problem = None
    try:
        data = storage.read(file.path)
        if data[:1] != b"\x01":
            raise CorruptError(f"{file.path} has version {data[:1].hex()} and not 01")
        for vector, rows in zip(entry.vectors or (), structure.indexes.data_rows(entry).tolist(), strict=True):
            where = f"{file.path} at {vector.offset} (for {vector.file_name})"
            positions = read_deletion_vector(
                data[vector.offset :], where=where, length=vector.length, cardinality=vector.cardinality
            )
            if len(positions) and 0 <= rows <= positions[-1]:
                raise CorruptError(f"{where} deletes row {positions[-1]}, but the file has {rows} rows")
    except LakebedError as error:
        problem = str(error)
    if problem is not None:
        found.error("wrong-deletion-vector", f"{problem}; used by {file.label}", file.path, _RESTORE)


def has_hash_index(schema: TableSchema | None) -> bool:
    """Whether a table has hash indexes: dynamic buckets within a partition."""
    if schema is None or not schema.primary_keys:
        return False
    return TableOptions(schema.options).bucket == -1 and set(schema.partition_keys) <= set(schema.primary_keys)


def _check_hash_indexes(structure: Structure, part: BranchFiles, known: dict[int, Hashes]) -> None:
    for holder, live in part.needs.heads:
        name = holder.snapshot.index_manifest
        entries = structure.indexes.manifests.get(name, []) if name is not None else []
        indexes: dict[tuple[bytes, int], Hashes] = {}
        unreadable: set[tuple[bytes, int]] = set()
        for entry in entries:
            if entry.index_type == HASH:
                place = (entry.partition, entry.bucket)
                hashes = _read_hashes(structure, structure.indexes.index_files[entry.file_name], entry)
                if hashes is None:
                    unreadable.add(place)
                else:
                    indexes[place] = hashes
        _check_one_bucket_per_hash(structure, indexes, holder.label)
        files = structure.files.files.select(["partition", "bucket", "file_name"]).take(live).to_pylist()
        for row, file in zip(live.tolist(), files, strict=True):
            place = (file["partition"], file["bucket"])
            if row not in known or place in unreadable:
                continue
            lacking = np.setdiff1d(known[row], indexes.get(place, np.zeros(0, np.int32)))
            if len(lacking):
                structure.found.error(
                    "wrong-hash-index",
                    f"the hash index of bucket {place[1]} lacks {count_text(len(lacking), 'key')} of "
                    f"{file['file_name']} in "
                    f"{holder.label}; "
                    "the next write may put them into another bucket, and they would be there twice",
                    str(structure.files.paths[row]).rsplit("/", 1)[0],
                    REBUILD,
                )


def _read_hashes(structure: Structure, file: IndexFile, entry: IndexEntry) -> Hashes | None:
    """Returns the hashes of an index file; ``None`` if it is missing or damaged, which is reported once."""
    if not file.is_there:
        return None
    try:
        return hash_index.read(structure.branches[0].branch.store.storage.read(file.path), entry, where=file.path)
    except LakebedError as error:
        structure.indexes.complain_once("wrong-hash-index", str(error), entry.file_name)
        return None


def _check_one_bucket_per_hash(structure: Structure, indexes: dict[tuple[bytes, int], Hashes], label: str) -> None:
    partitions: dict[bytes, list[tuple[int, Hashes]]] = {}
    for (partition, bucket), hashes in indexes.items():
        partitions.setdefault(partition, []).append((bucket, hashes))
    for members in partitions.values():
        joined = np.concatenate([hashes for _, hashes in members])
        values, counts = np.unique(joined, return_counts=True)
        if (counts > 1).any():
            twice = values[counts > 1]
            buckets = [bucket for bucket, hashes in members if np.isin(twice, hashes).any()]
            structure.found.error(
                "wrong-hash-index",
                f"buckets {some(sorted(buckets))} of a partition both have {count_text(len(twice), 'hash', 'hashes')} "
                f"in {label}; keys may "
                "be there twice",
                structure.branches[0].branch.store.paths.indexes,
                "overwrite the partition, which rebuilds its index",
            )
