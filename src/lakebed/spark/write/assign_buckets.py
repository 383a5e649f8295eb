"""Dynamic buckets on Spark: assigner tasks choose the bucket of each row, owner tasks write rows and index.

Rows are sent to assigners by the hashes of their partition and key, so one task gets all rows of a key. An assigner
loads its share of the indexes of its partitions, from a snapshot that the driver chose, and assigns a bucket to each
row. Then the rows are sent to the owners of their buckets. An owner writes the rows, and rewrites the index of a bucket
that got new keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.buckets.choose_dynamic import Assigner, Spread, assigner_of, target_rows
from lakebed.buckets.index_writer import IndexWriter, bytes_per_row
from lakebed.buckets.partition_assigners import KnownPartition, LoadPartition, key_hashes, partition_hash
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.hash_indexes import BucketIndexUpdate, PartitionIndex, indexes_of, read_partition
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.grouping import group_rows
from lakebed.spark.write.exchange import (
    WINDOW_BYTES,
    Block,
    Leaver,
    LeftBlocks,
    Places,
    fitting_keys,
    joined,
    partition_hashes,
    place_of,
)

BUCKET: Final = "__lakebed_bucket"
_NOT_FITTING: Final = -1


@dataclass(frozen=True, slots=True)
class ByAssigner:
    """Sends rows to the assigner of their key."""

    schema: TableSchema
    spread: Spread

    def __call__(self, rows: pa.Table, count: int) -> Places:
        """Returns the place of each row, below ``count``; 0 for rows that the writer will refuse."""
        keys = fitting_keys(rows, self.schema, self.schema.trimmed_primary_key)
        if keys is None:
            return np.zeros(len(rows), np.int32)
        return np.mod(_channels(keys, self.schema, self.spread), np.int32(count))


@dataclass(frozen=True, slots=True)
class ByGivenBucket:
    """Sends rows to the owner of the bucket that they were assigned."""

    schema: TableSchema

    def __call__(self, rows: pa.Table, count: int) -> Places:
        """Returns the place of each row, below ``count``; 0 for rows that the writer will refuse."""
        keys = fitting_keys(rows, self.schema, self.schema.trimmed_primary_key)
        if keys is None:
            return np.zeros(len(rows), np.int32)
        return place_of(rows[BUCKET].to_numpy(), partition_hashes(keys, self.schema), count)


def _channels(keys: pa.Table, schema: TableSchema, spread: Spread) -> Places:
    return assigner_of(partition_hashes(keys, schema), key_hashes(keys, schema), spread.channels, spread.assigners)


@dataclass(frozen=True, slots=True)
class Assigning:
    """The work of an assigner: takes blocks of rows, yields tables with the column :data:`BUCKET`."""

    store: TableStore
    schema: TableSchema
    spread: Spread
    snapshot: Snapshot | None

    def __call__(self, blocks: Iterable[Block]) -> Iterator[pa.Table]:
        load = loader(self.store, self.snapshot)
        assigners: dict[tuple[bytes, int], Assigner] = {}
        for rows in joined(blocks, WINDOW_BYTES):
            yield rows.append_column(BUCKET, pa.array(self._buckets(rows, load, assigners), pa.int32()))

    def _buckets(self, rows: pa.Table, load: LoadPartition, assigners: dict[tuple[bytes, int], Assigner]) -> Places:
        keys = fitting_keys(rows, self.schema, self.schema.trimmed_primary_key)
        if keys is None:
            return np.full(len(rows), _NOT_FITTING, np.int32)
        hashes = key_hashes(keys, self.schema)
        channel = pa.chunked_array([pa.array(_channels(keys, self.schema, self.spread))])
        buckets = np.empty(len(rows), np.int32)
        types = [column.type for column in self.schema.partition_fields]
        numbers = pa.table({"row": np.arange(len(rows))})
        for group in group_rows(numbers, [*(keys[name] for name in self.schema.partition_keys), channel]):
            *values, number = group.values
            place = encode_row(tuple(values), types), int(number)  # type: ignore[call-overload]
            if place not in assigners:
                assigners[place] = self._assigner(*place, load, rows.nbytes / len(rows))
            at = group.rows["row"].to_numpy()
            buckets[at] = assigners[place].assign(hashes[at])
        return buckets

    def _assigner(self, partition: bytes, channel: int, load: LoadPartition, per_row: float) -> Assigner:
        known = load(partition)
        target = target_rows(TableOptions(self.schema.options), known.bytes_per_row or per_row)
        spread = replace(self.spread, target_rows=target)
        return Assigner(spread, known.hashes, partition_hash=partition_hash(partition), only=channel)


@dataclass(frozen=True, slots=True)
class Assigned:
    """The work of an assigner in a local session: takes blocks, leaves blocks for the owners of buckets."""

    assigning: Assigning
    leaver: Leaver

    def __call__(self, blocks: Iterator[Block]) -> LeftBlocks | None:
        return self.leaver.leave((table, 0) for table in self.assigning(blocks))


def loader(store: TableStore, snapshot: Snapshot | None) -> LoadPartition:
    """Loads the indexes of partitions from a snapshot; ``None`` means that there are none."""
    indexes = indexes_of(store, snapshot)
    by_size = TableOptions(store.schema().options).dynamic_bucket_target_size is not None

    @lru_cache(maxsize=4)
    def load(partition: bytes) -> KnownPartition:
        index = indexes.get(partition, PartitionIndex(0 if snapshot is None else snapshot.id))
        size = bytes_per_row(store, snapshot, partition) if by_size else None
        return KnownPartition(index, read_partition(store, index), size)

    return load


@dataclass
class BucketOwner:
    """Collects the keys of the buckets that a task writes to, and updates their indexes."""

    store: TableStore
    schema: TableSchema
    snapshot: Snapshot | None
    _hashes: dict[tuple[bytes, int], list[Places]] = field(default_factory=dict)

    def take(self, rows: pa.Table) -> None:
        """Takes rows that were written, with the column :data:`BUCKET`."""
        keys = fitting_keys(rows, self.schema, self.schema.trimmed_primary_key)
        if keys is None or not len(rows):
            return
        hashes = pa.table({"hash": key_hashes(keys, self.schema)})
        types = [column.type for column in self.schema.partition_fields]
        for group in group_rows(hashes, [*(keys[name] for name in self.schema.partition_keys), rows[BUCKET]]):
            *values, bucket = group.values
            place = encode_row(tuple(values), types), int(bucket)  # type: ignore[call-overload]
            self._hashes.setdefault(place, []).append(np.unique(group.rows["hash"].to_numpy()))

    def write(self, layout: FileLayout) -> tuple[IndexEntry, ...]:
        """Writes the indexes that changed; returns the entries of their files."""
        indexes = indexes_of(self.store, self.snapshot)
        updates = [
            BucketIndexUpdate(
                partition,
                bucket,
                indexes.get(partition, PartitionIndex()).entries.get(bucket),
                np.unique(np.concatenate(hashes)),
            )
            for (partition, bucket), hashes in self._hashes.items()
        ]
        return IndexWriter(layout).write(updates)
