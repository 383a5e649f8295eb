"""Rebuild the hash indexes of dynamic buckets from the keys in the data files.

The commit changes only index files.
Use it for a table whose index was lost or damaged, or to remove keys from the index that were deleted and compacted
away. Data files do not change, so a hash in two buckets of a partition cannot be repaired here and is an error. If
other commits land meanwhile, the index is computed again; files are not read a second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.buckets.known_hashes import Hashes
from lakebed.buckets.partition_assigners import key_hashes
from lakebed.errors import CorruptError, LakebedError, UnsupportedError
from lakebed.format.human_text import count_text
from lakebed.format.index_files.hash_index import ascending
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import DELETE
from lakebed.format.printed import Printed
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.hash_indexes import PartitionIndex, indexes_of, read_stored_hashes, write_index
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.levels import by_bucket
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import FileReader
from lakebed.storage import run_together

_READERS: Final = 4


@dataclass(frozen=True, slots=True)
class RebuiltBucket:
    """One bucket whose index differed from its data files.

    Attributes:
        partition: The encoded partition.
        bucket: The number of the bucket.
        added: How many keys the index lacked.
        removed: How many keys of the index are in no data file.
    """

    partition: bytes
    bucket: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True, repr=False)
class IndexRebuild(Printed):
    """What rebuilding the hash index changed, or would change in a dry run.

    Attributes:
        buckets: The buckets whose index differed.
        dry_run: Whether nothing was written.
        snapshot: The new snapshot; ``None`` if nothing was written.

    Example:
        >>> print(IndexRebuild((RebuiltBucket(b"", 0, added=1, removed=2),), dry_run=True))
        would rewrite the hash index of 1 bucket: 1 key added, 2 keys removed
    """

    buckets: tuple[RebuiltBucket, ...]
    dry_run: bool
    snapshot: Snapshot | None = None

    def __str__(self) -> str:
        verb = "would rewrite" if self.dry_run else "rewrote"
        added, removed = (sum(getattr(one, name) for one in self.buckets) for name in ("added", "removed"))
        buckets = count_text(len(self.buckets), "bucket")
        return f"{verb} the hash index of {buckets}: {count_text(added, 'key')} added, {count_text(removed, 'key')} removed"


def rebuild_index(store: TableStore, *, dry_run: bool = True) -> IndexRebuild:
    """Rebuild the hash indexes of the latest snapshot where they differ from its data files."""
    schema = store.schema()
    if not has_dynamic_buckets(schema):
        raise UnsupportedError(f"table {store.name} has no dynamic buckets ('bucket' = -1), so it has no hash index")
    work = _Rebuild(store)
    if dry_run:
        return IndexRebuild(tuple(work.differences(store.snapshots.latest())), dry_run=True)
    with abort_unless_committed(lambda: work.remove_unused(Change())):
        made = commit(store, Commit(kind=CommitKind.COMPACT, plan=work.plan, operation="REBUILD INDEX"))
    work.remove_unused(work.change if made is not None else Change())
    return IndexRebuild(work.rebuilt, dry_run=False, snapshot=made)


@dataclass
class _Rebuild:
    """The change that a rebuild makes to a snapshot; keys of files are cached for later attempts."""

    store: TableStore
    change: Change = field(default_factory=Change)
    rebuilt: tuple[RebuiltBucket, ...] = ()
    _planned_on: Snapshot | None = None
    _hashes: dict[tuple[bytes, int, str], Hashes] = field(default_factory=dict)
    _paths: list[str] = field(default_factory=list)

    def plan(self, latest: Snapshot | None) -> Change:
        if latest is None or latest != self._planned_on:
            self.change, self.rebuilt = self._made(latest)
            self._planned_on = latest
        return self.change

    def differences(self, latest: Snapshot | None) -> Iterator[RebuiltBucket]:
        """Yields the buckets whose index differs from their data files."""
        wanted, known = self._wanted(latest), indexes_of(self.store, latest)
        for place in sorted(
            {*wanted, *((partition, bucket) for partition in known for bucket in known[partition].entries)}
        ):
            after = wanted.get(place, np.zeros(0, np.int32))
            entry = known.get(place[0], PartitionIndex()).entries.get(place[1])
            before = self._known_hashes(entry)
            if entry is None or before is None or place not in wanted or not np.array_equal(before, after):
                old = np.zeros(0, np.int32) if before is None else before
                added, removed = (len(np.setdiff1d(*pair, assume_unique=True)) for pair in ((after, old), (old, after)))
                yield RebuiltBucket(*place, added, removed)

    def remove_unused(self, kept: Change) -> None:
        """Delete index files that were written and are not part of ``kept``."""
        named = {self.store.paths.index(entry.file_name) for entry in kept.index}
        for path in self._paths:
            if path not in named:
                with contextlib.suppress(Exception):
                    self.store.storage.delete(path)

    def _made(self, latest: Snapshot | None) -> tuple[Change, tuple[RebuiltBucket, ...]]:
        schema = self.store.schema()
        layout = FileLayout(self.store, schema, TableOptions(schema.options))
        wanted, known = self._wanted(latest), indexes_of(self.store, latest)
        rebuilt = tuple(self.differences(latest))
        index: list[IndexEntry] = []
        for one in rebuilt:
            place = (one.partition, one.bucket)
            before = known.get(one.partition, PartitionIndex()).entries.get(one.bucket)
            if place in wanted:
                stem = f"index-{layout.unique}-{next(layout.numbers)}"
                index.append(write_index(self.store, stem, *place, wanted[place], self._paths))
            elif before is not None:
                index.append(replace(before, kind=DELETE))
        return Change(index=tuple(index)), rebuilt

    def _known_hashes(self, entry: IndexEntry | None) -> Hashes | None:
        """Returns the hashes of an index file; ``None`` if it cannot be read or is damaged."""
        try:
            return None if entry is None else read_stored_hashes(self.store, entry)
        except LakebedError:
            return None

    def _wanted(self, latest: Snapshot | None) -> dict[tuple[bytes, int], Hashes]:
        """Returns the hashes of the keys in the files of each bucket."""
        entries = live_entries(self.store, latest)
        names = list(zip(*(entries[name].to_pylist() for name in ("partition", "bucket", "file_name")), strict=True))
        unread = [row for row, name in enumerate(names) if name not in self._hashes]
        read = run_together([partial(self._read, entries.slice(row, 1)) for row in unread], _READERS)
        self._hashes.update(zip((names[row] for row in unread), read, strict=True))
        wanted = {
            names[int(rows[0])][:2]: ascending(np.concatenate([self._hashes[names[row]] for row in rows.tolist()]))
            for rows in by_bucket(entries)
        }
        _check_one_bucket(wanted, self.store.name)
        return wanted

    def _read(self, entry: pa.Table) -> Hashes:
        schema = self.store.schema()
        keys = FileReader(self.store, schema, schema.select(schema.trimmed_primary_key)).read(entry)
        return ascending(key_hashes(keys, schema))


def _check_one_bucket(wanted: Mapping[tuple[bytes, int], Hashes], name: str) -> None:
    partitions: dict[bytes, list[Hashes]] = {}
    for (partition, _), hashes in wanted.items():
        partitions.setdefault(partition, []).append(hashes)
    doubled = sum(_doubled(parts) for parts in partitions.values())
    if doubled:
        raise CorruptError(
            f"table {name} has {count_text(doubled, 'key')} whose hash is in two buckets of a partition, so no index "
            "is valid; "
            "overwrite the partition with its own rows, each key once. Nothing was changed"
        )


def _doubled(parts: Sequence[Hashes]) -> int:
    joined = np.sort(np.concatenate(parts), kind="stable")
    return int((joined[1:] == joined[:-1]).sum())
