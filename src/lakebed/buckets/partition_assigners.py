"""Assigns buckets to the rows of a write to a table with dynamic buckets, with one assigner for each partition.

The index of a partition is loaded with its first row. It is kept, because the commit has to know by which index files
the buckets were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.buckets.choose_dynamic import Assigner, Spread
from lakebed.buckets.known_hashes import Hashes
from lakebed.format.binary_row import encode_row
from lakebed.format.murmur import hash_bytes, hash_rows
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.hash_indexes import BucketIndexUpdate, PartitionIndex
from lakebed.options import TableOptions
from lakebed.rows.grouping import group_rows


@dataclass(frozen=True, slots=True)
class KnownPartition:
    """The state of a partition before a write: its index files, their hashes, and the size of a stored row."""

    index: PartitionIndex = field(default_factory=PartitionIndex)
    hashes: Mapping[int, Hashes] = field(default_factory=dict)
    bytes_per_row: float | None = None


LoadPartition: TypeAlias = Callable[[bytes], KnownPartition]


def key_hashes(rows: pa.Table, schema: TableSchema) -> Hashes:
    """Returns the hash of the key of each row, as index files store it."""
    names = schema.trimmed_primary_key
    return hash_rows([rows[name] for name in names], [schema.field(name).type for name in names])


def partition_hash(partition: bytes) -> int:
    """Returns the hash of an encoded partition, without its number of fields."""
    return hash_bytes(partition[4:])


class DynamicBuckets:
    """Assigns buckets to the rows of one write. ``load`` is called once for each partition, with its encoded row."""

    def __init__(self, schema: TableSchema, load: LoadPartition) -> None:
        self._schema = schema
        self._options = TableOptions(schema.options)
        self._load = load
        self._known: dict[bytes, PartitionIndex] = {}
        self._assigners: dict[bytes, Assigner] = {}

    def __call__(self, rows: pa.Table) -> npt.NDArray[np.int32]:
        """Returns the bucket of each row."""
        hashes = key_hashes(rows, self._schema)
        buckets = np.empty(len(rows), np.int32)
        types = [column.type for column in self._schema.partition_fields]
        numbers = pa.table({"row": np.arange(len(rows))})
        per_row = rows.nbytes / max(1, len(rows))
        for group in group_rows(numbers, [rows[name] for name in self._schema.partition_keys]):
            places = group.rows["row"].to_numpy()
            assigner = self._assigner(encode_row(group.values, types), per_row)
            buckets[places] = assigner.assign(hashes[places])
        return buckets

    def _assigner(self, partition: bytes, bytes_per_row: float) -> Assigner:
        if partition not in self._assigners:
            known = self._load(partition)
            spread = Spread.of(self._options, bytes_per_row=known.bytes_per_row or bytes_per_row)
            self._known[partition] = known.index
            self._assigners[partition] = Assigner(spread, known.hashes, partition_hash=partition_hash(partition))
        return self._assigners[partition]

    @property
    def built_on(self) -> dict[bytes, PartitionIndex]:
        """The index of each partition with new rows, as it was when their buckets were chosen."""
        return dict(self._known)

    def updates(self) -> Iterator[BucketIndexUpdate]:
        """Yields the index updates of buckets with new keys."""
        for partition, assigner in self._assigners.items():
            for bucket, hashes in assigner.changed().items():
                # The assigner has all hashes of the bucket, so its old index file is not read again.
                yield BucketIndexUpdate(partition, bucket, None, hashes)
