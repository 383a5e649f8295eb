"""Commits an upsert into dynamic buckets beside other writers: no key is in two buckets, and no row is lost.

The buckets of rows were chosen by the hash indexes of their partitions. Before each attempt to commit, the index files
of these partitions are compared with those of the latest snapshot. If they are equal, so are the keys and their
buckets. If not (others added keys, or replaced, dropped or rolled back the partition), the keys of this write are
looked up again. Rows whose key is in another bucket now are moved there; new keys stay in their bucket as far as it has
room; the index files of their buckets are rewritten. Only files with rows that move are rewritten.

Rows that move get sequence numbers above those of their new bucket. If the partition may have been replaced meanwhile,
the rows that stay get such numbers too: the new files of the partition have high numbers, and this commit comes after
them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.choose_dynamic import Assigner, Spread
from lakebed.buckets.index_writer import IndexWriter
from lakebed.buckets.partition_assigners import key_hashes, partition_hash
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.manifest.manifest import NO_ENTRIES, entries_from_rows
from lakebed.format.partition_names import partition_table
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.data_file_paths import data_file_paths
from lakebed.metadata.hash_indexes import BucketIndexUpdate, PartitionIndex, indexes_of, read_partition
from lakebed.metadata.plan.next_sequences import sequences_at
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.files.read_columns import SYSTEM_FIELDS, read_columns
from lakebed.rows.keyed.keyed_merge import SYSTEM_SCHEMA

_Numbers: TypeAlias = npt.NDArray[np.int32]


def commit_upsert(
    store: TableStore, schema: TableSchema, request: Commit, built_on: Mapping[bytes, PartitionIndex]
) -> Snapshot | None:
    """Commit new files in dynamic buckets, whose buckets were chosen by these indexes.

    The plan of ``request`` returns the files. Files that are not part of the final change are deleted after the commit.
    """
    rebucketing = Rebucketing(store, schema, request.plan(None), built_on)
    with abort_unless_committed(rebucketing.remove_all):
        made = commit(store, replace(request, plan=rebucketing.plan))
    rebucketing.remove_unused()
    return made


@dataclass(frozen=True, slots=True)
class _File:
    """A file of this write: its entry, its path, whether it is a changelog, and the hashes of the keys of its rows."""

    entry: pa.Table
    path: str
    is_changelog: bool
    bucket: int
    hashes: npt.NDArray[np.int32]


@dataclass
class _Written:
    """The entries of the files of a partition after the move."""

    data: list[pa.Table] = field(default_factory=list)
    changelog: list[pa.Table] = field(default_factory=list)


class Rebucketing:
    """Computes the change of an upsert for the snapshot that it lands on."""

    def __init__(
        self, store: TableStore, schema: TableSchema, change: Change, built_on: Mapping[bytes, PartitionIndex]
    ) -> None:
        self._store = store
        self._schema = schema
        self._layout = FileLayout(store, schema, TableOptions(schema.options))
        self._change = change
        self._built_on = dict(built_on)
        self._first = dict(built_on)
        self._indexes = IndexWriter(self._layout)
        self._paths: list[str] = [*self._files_of(change)]
        self._hashes: dict[str, npt.NDArray[np.int32]] = {}

    def plan(self, latest: Snapshot | None) -> Change:
        """Returns the change for a snapshot: the same object as before if the indexes did not change."""
        live = indexes_of(self._store, latest)
        now = {partition: live.get(partition, PartitionIndex()) for partition in self._built_on}
        changed = [partition for partition, index in now.items() if index.files != self._built_on[partition].files]
        if changed:
            self._change = self._replanned(latest, {partition: now[partition] for partition in changed})
            self._built_on |= now
        return self._change

    def remove_unused(self) -> None:
        """Delete the files that are not part of the final change."""
        self._remove(set(self._files_of(self._change)))

    def remove_all(self) -> None:
        """Delete every file, because there is no commit."""
        self._remove(set())

    def _remove(self, kept: set[str]) -> None:
        for path in (*self._paths, *self._indexes.paths):
            if path not in kept:
                with contextlib.suppress(Exception):
                    self._store.storage.delete(path)

    def _files_of(self, change: Change) -> Iterator[str]:
        for entries in (change.entries, change.changelog):
            yield from data_file_paths(self._store, self._schema, entries)
        yield from (self._store.paths.index(entry.file_name) for entry in change.index)

    # --------------------------------------------------------------------------------------------- planning anew

    def _replanned(self, latest: Snapshot | None, changed: Mapping[bytes, PartitionIndex]) -> Change:
        before = self._change
        partitions = pa.array(sorted(changed), pa.binary())
        sequences = sequences_at(self._store, latest, partitions)
        touched = [
            pc.is_in(entries["partition"], value_set=partitions) for entries in (before.entries, before.changelog)
        ]
        data, changelog = before.entries.filter(touched[0]), before.changelog.filter(touched[1])
        written = _Written(
            [before.entries.filter(pc.invert(touched[0]))], [before.changelog.filter(pc.invert(touched[1]))]
        )
        index = [entry for entry in before.index if entry.partition not in changed]
        for partition, known in changed.items():
            own = [entries.filter(pc.equal(entries["partition"], partition)) for entries in (data, changelog)]
            files = [*self._read_keys(own[0], is_changelog=False), *self._read_keys(own[1], is_changelog=True)]
            index += self._replace_partition(partition, known, files, sequences, latest, written)
        return Change(
            entries=pa.concat_tables(written.data), changelog=pa.concat_tables(written.changelog), index=tuple(index)
        )

    def _read_keys(self, entries: pa.Table, *, is_changelog: bool) -> Iterator[_File]:
        names = self._schema.trimmed_primary_key
        for row, path in enumerate(data_file_paths(self._store, self._schema, entries)):
            entry = entries.slice(row, 1)
            if path not in self._hashes:
                self._hashes[path] = key_hashes(self._read(path, names), self._schema)
            yield _File(entry, path, is_changelog, entry["bucket"][0].as_py(), self._hashes[path])

    def _replace_partition(
        self,
        partition: bytes,
        known: PartitionIndex,
        files: Sequence[_File],
        sequences: dict[tuple[bytes, int], int],
        latest: Snapshot | None,
        written: _Written,
    ) -> tuple[IndexEntry, ...]:
        """Move the rows of a partition to the current buckets of their keys; returns the new index files."""
        if not files:
            return ()
        spread = Spread.of(self._layout.options)
        assigner = Assigner(spread, read_partition(self._store, known), partition_hash=partition_hash(partition))
        hashes = np.concatenate([file.hashes for file in files])
        wishes = np.concatenate([np.full(len(file.hashes), file.bucket, np.int32) for file in files])
        buckets = assigner.assign(hashes, wishes)
        ends = np.cumsum([len(file.hashes) for file in files])
        targets = np.split(buckets, ends[:-1])
        shifts = _Shifts(partition, files, targets, sequences, renumber=self._may_be_replaced(partition, latest))
        for file, target in zip(files, targets, strict=True):
            made = self._moved(partition, file, target, shifts)
            (written.changelog if file.is_changelog else written.data).append(made)
        updates = (
            BucketIndexUpdate(partition, bucket, known.entries.get(bucket), hashes[buckets == bucket])
            for bucket in np.unique(buckets).tolist()
        )
        return self._indexes.write(updates)

    def _may_be_replaced(self, partition: bytes, latest: Snapshot | None) -> bool:
        """Whether the partition may have been replaced since the buckets were first chosen."""
        began = self._first[partition].snapshot_id
        if latest is None or latest.id < began:
            return True
        between = [self._store.snapshots.find(number) for number in range(began + 1, latest.id + 1)]
        return any(found is None or found.commit_kind is CommitKind.OVERWRITE for found in between)

    # ------------------------------------------------------------------------------------------------ moving rows

    def _moved(self, partition: bytes, file: _File, targets: _Numbers, shifts: _Shifts) -> pa.Table:
        """Returns the entries of a file's rows in their buckets; its own entry if no row moves."""
        if shifts.of(file.bucket, file.bucket) == 0 and bool((targets == file.bucket).all()):
            return file.entry
        rows = self._read(file.path, (*self._schema.field_names, *SYSTEM_SCHEMA.names))
        options = self._layout.options
        prefix = options.changelog_file_prefix if file.is_changelog else options.data_file_prefix
        made = [NO_ENTRIES]
        for bucket in np.unique(targets).tolist():
            part = rows.filter(pa.array(targets == bucket))
            numbers = pc.add(part[SEQUENCE_COLUMN], pa.scalar(shifts.of(file.bucket, bucket), pa.int64()))
            at = part.schema.get_field_index(SEQUENCE_COLUMN)
            part = part.set_column(at, part.schema.field(at), numbers)
            made.append(self._write(FilePlace(self._values(partition), bucket, prefix=prefix), part))
        return pa.concat_tables(made)

    def _write(self, place: FilePlace, rows: pa.Table) -> pa.Table:
        files = RollingFiles(self._layout, place, self._paths)
        try:
            files.write(rows)
            return entries_from_rows(files.close())
        except BaseException:
            files.discard()
            raise

    def _read(self, path: str, names: Sequence[str]) -> pa.Table:
        """Read columns of a file that this write made, with the schema of this write."""
        return read_columns(self._store.storage, [path], (*self._schema.fields, *SYSTEM_FIELDS), names)

    def _values(self, partition: bytes) -> tuple[object, ...]:
        fields = self._schema.partition_fields
        if not fields:
            return ()
        table = partition_table(pa.array([partition], pa.binary()), fields)
        return tuple(column[0].as_py() for column in table.columns)


class _Shifts:
    """The amounts that are added to the sequence numbers of rows that move from one bucket to another.

    All rows with the same source and target get the same amount, so their order does not change. They come after all
    rows of the new bucket.
    """

    def __init__(
        self,
        partition: bytes,
        files: Sequence[_File],
        targets: Sequence[_Numbers],
        sequences: dict[tuple[bytes, int], int],
        *,
        renumber: bool,
    ) -> None:
        self._shifts: dict[tuple[int, int], int] = {}
        ranges: dict[int, tuple[int, int]] = {}
        ways: set[tuple[int, int]] = set()
        for file, target in zip(files, targets, strict=True):
            low, high = (file.entry[f"{end}_sequence_number"][0].as_py() for end in ("min", "max"))
            known = ranges.get(file.bucket, (low, high))
            ranges[file.bucket] = (min(low, known[0]), max(high, known[1]))
            ways |= {(file.bucket, bucket) for bucket in np.unique(target).tolist()}
        for source, bucket in sorted(ways):
            if source == bucket and not renumber:
                continue
            low, high = ranges[source]
            first = max(low, sequences.get((partition, bucket), 0))
            if bucket in ranges and source != bucket:
                first = max(first, ranges[bucket][1] + 1)
            self._shifts[source, bucket] = first - low
            sequences[partition, bucket] = first + high - low + 1

    def of(self, source: int, bucket: int) -> int:
        return self._shifts.get((source, bucket), 0)
