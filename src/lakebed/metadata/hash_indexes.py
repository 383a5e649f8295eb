"""The hash indexes of a table with dynamic buckets: the hashes of the keys in each bucket of a partition.

An index file never changes. A bucket that gets new keys gets a new file with the old and the new hashes, and a commit
replaces the old file by it. Decoded files are cached by path. The least recently used ones are dropped first, and all
are dropped some minutes after their last use. A file is checked when it is read, and a damaged one raises
:class:`CorruptError`, which names ``rebuild_index()``: neither a write nor a lookup trusts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import NotFoundError
from lakebed.format.index_files import hash_index
from lakebed.format.manifest.index_manifest import HASH, IndexEntry
from lakebed.format.manifest.manifest import ADD
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.data_file_paths import index_file_path
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.retry_while_expiring import retry_while_expiring
from lakebed.metadata.store import TableStore
from lakebed.storage import run_together

Hashes: TypeAlias = npt.NDArray[np.int32]

_READERS: Final = 4
_ATTEMPTS: Final = 10
_HASH: Final = "hash"

HASH_CACHE: Final = ManifestCache(256 * 1024 * 1024, expire_after=600)
"""Decoded index files of all tables of the process."""


@dataclass(frozen=True, slots=True)
class PartitionIndex:
    """The index files of one partition in one snapshot, by bucket; id 0 means that there is no snapshot yet."""

    snapshot_id: int = 0
    entries: Mapping[int, IndexEntry] = field(default_factory=dict)

    @property
    def files(self) -> frozenset[str]:
        """The names of the files. Two snapshots with the same files have the same keys in the same buckets."""
        return frozenset(entry.file_name for entry in self.entries.values())


def partition_indexes(snapshot_id: int, entries: Iterable[IndexEntry]) -> dict[bytes, PartitionIndex]:
    """Returns the hash indexes among the index files of a snapshot, by partition."""
    found: dict[bytes, dict[int, IndexEntry]] = {}
    for entry in entries:
        if entry.index_type == HASH:
            found.setdefault(entry.partition, {})[entry.bucket] = entry
    return {partition: PartitionIndex(snapshot_id, buckets) for partition, buckets in found.items()}


def indexes_of(store: TableStore, snapshot: Snapshot | None) -> dict[bytes, PartitionIndex]:
    """Returns the hash indexes of a snapshot, by partition."""
    if snapshot is None:
        return {}
    return partition_indexes(snapshot.id, store.manifests.read_index(snapshot.index_manifest))


def read_hashes(store: TableStore, entry: IndexEntry) -> Hashes:
    """Returns the hashes of an index file, ascending, without duplicates. The array is shared: do not change it."""
    table = HASH_CACHE.load(index_file_path(store, entry), lambda: pa.table({_HASH: read_stored_hashes(store, entry)}))
    hashes: Hashes = table[_HASH].to_numpy()
    return hashes


def read_stored_hashes(store: TableStore, entry: IndexEntry) -> Hashes:
    """Returns the hashes of an index file as it is on disk now, bypassing the cache, ascending, without duplicates."""
    path = index_file_path(store, entry)
    try:
        return hash_index.read(store.storage.read(path), entry, where=path)
    except NotFoundError:
        raise NotFoundError(
            f"hash index {path} of table {store.name} does not exist; if its snapshot did not expire, "
            "rebuild_index() rebuilds it from the data files"
        ) from None


def read_partition(store: TableStore, index: PartitionIndex) -> dict[int, Hashes]:
    """Returns the hashes of every bucket of a partition."""
    entries = list(index.entries.values())
    if len(entries) <= 1:
        return {entry.bucket: read_hashes(store, entry) for entry in entries}
    every = run_together([partial(read_hashes, store, entry) for entry in entries], _READERS)
    return {entry.bucket: hashes for entry, hashes in zip(entries, every, strict=True)}


def load_latest(store: TableStore, partition: bytes) -> tuple[PartitionIndex, dict[int, Hashes]]:
    """Returns the index of a partition as it is now, and the hashes of its buckets.

    If the snapshot expires while its files are read, the index of a newer snapshot is returned.
    """

    def read() -> tuple[PartitionIndex, dict[int, Hashes]]:
        latest = store.snapshots.latest()
        number = 0 if latest is None else latest.id
        index = indexes_of(store, latest).get(partition, PartitionIndex(number))
        return index, read_partition(store, index)

    return retry_while_expiring(read, attempts=_ATTEMPTS)


@dataclass(frozen=True, slots=True)
class BucketIndexUpdate:
    """The keys of rows that were written to a bucket, as far as its index is concerned.

    ``hashes`` are the hashes of the keys; some may be in the index already. ``before`` is the current index file; it is
    ``None`` if the bucket has no other keys. The writer of the bucket needs nothing else to write a new index file.
    """

    partition: bytes
    bucket: int
    before: IndexEntry | None
    hashes: Hashes

    def write(self, store: TableStore, stem: str, written: list[str]) -> IndexEntry | None:
        """Writes a new index file for the bucket; ``None`` if the current one contains all hashes.

        ``stem`` and ``written`` are those of :func:`write_index`.
        """
        old = np.zeros(0, np.int32) if self.before is None else read_hashes(store, self.before)
        after = united(old, self.hashes)
        if len(after) == len(old) and self.before is not None:
            return None
        return write_index(store, stem, self.partition, self.bucket, after, written)


def united(old: Hashes, hashes: Hashes) -> Hashes:
    """Returns two sets of ascending hashes as one ascending array without duplicates."""
    given = hash_index.ascending(hashes)
    if not len(old):
        return given
    new = given[~_are_in(old, given)]
    return np.sort(np.concatenate([old, new]), kind="stable") if len(new) else old


def write_index(
    store: TableStore, stem: str, partition: bytes, bucket: int, hashes: Hashes, written: list[str]
) -> IndexEntry:
    """Writes an index file with ascending hashes without duplicates, and returns its entry for a commit.

    The name of the file is ``stem`` followed by a checksum. Its path is appended to ``written`` before the write,
    because a write that fails may leave a file.
    """
    data = hash_index.encode(hashes)
    name = hash_index.checked_name(stem, data)
    path = store.paths.index(name)
    written.append(path)
    store.storage.write(path, data)
    HASH_CACHE.put(path, pa.table({_HASH: hashes}))
    return IndexEntry(
        kind=ADD,
        partition=partition,
        bucket=bucket,
        index_type=HASH,
        file_name=name,
        file_size=len(data),
        row_count=len(hashes),
    )


def buckets_with(store: TableStore, index: PartitionIndex, hashes: Hashes) -> Sequence[int]:
    """Returns the buckets of a partition that have one of a few hashes; files are read until every hash is found."""
    left = hash_index.ascending(hashes)
    found: list[int] = []
    entries = [entry for _, entry in sorted(index.entries.items())]
    for start in range(0, len(entries), _READERS):
        if not len(left):
            break
        some = entries[start : start + _READERS]
        hits = run_together([partial(_holds, store, left, entry) for entry in some])
        found += [entry.bucket for entry, hit in zip(some, hits, strict=True) if hit.any()]
        left = left[~np.any(hits, axis=0)]
    return found


def _holds(store: TableStore, hashes: Hashes, entry: IndexEntry) -> npt.NDArray[np.bool_]:
    path = index_file_path(store, entry)
    if not HASH_CACHE.holds(path):
        data = store.storage.read(path)
        hash_index.check(data, entry, where=path)
        return hash_index.holds(data, hashes, where=path)
    return _are_in(read_hashes(store, entry), hashes)


def _are_in(known: Hashes, hashes: Hashes) -> npt.NDArray[np.bool_]:
    """Returns which hashes are among ascending ones."""
    at = np.searchsorted(known, hashes)
    there = at < len(known)
    there[there] = known[at[there]] == hashes[there]
    return there
