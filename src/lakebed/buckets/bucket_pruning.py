"""Which buckets can hold rows that match a predicate: those that its keys hash to, or that a hash index names."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import LakebedError
from lakebed.format import predicate as pred
from lakebed.format.murmur import hash_rows
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.hash_indexes import buckets_with, indexes_of
from lakebed.metadata.plan.file_scan import partition_mask, partition_part
from lakebed.metadata.store import TableStore

_LOG: Final = logging.getLogger("lakebed")
_MOST_KEYS: Final = 1000


def buckets_of(
    node: pred.Node | None, schema: TableSchema, function: str
) -> Callable[[int], Sequence[int] | None] | None:
    """Returns a function from a total number of buckets to those that can match.

    ``None`` if the predicate does not fix the bucket key.
    """
    keys = schema.bucket_keys
    if node is None or not keys:
        return None
    columns = _key_combinations(node, keys)
    if columns is None:
        return None
    types = [schema.field(name).type for name in keys]

    @cache
    def of_total(total: int) -> Sequence[int] | None:
        if total <= 0:
            return None
        return sorted(set(bucket_of_rows(columns, types, total, function).tolist()))

    return of_total


@dataclass(frozen=True, slots=True)
class Places:
    """The places (partition and bucket) with an index, and those of them that hold one of the requested keys.

    Files in places without an index are kept, because their keys are unknown.
    """

    indexed: pa.Array
    kept: pa.Array

    def __call__(self, entries: pa.Table) -> npt.NDArray[np.bool_]:
        """Returns a mask of the entries that can match."""
        places = _place_names(entries["partition"].combine_chunks(), entries["bucket"].combine_chunks())
        unknown = pc.invert(pc.is_in(places, value_set=self.indexed))
        return np.asarray(pc.or_(unknown, pc.is_in(places, value_set=self.kept)), np.bool_)


def places_of(store: TableStore, snapshot: Snapshot, node: pred.Node | None, schema: TableSchema) -> Places | None:
    """Returns the places that can match a predicate, by the hash indexes; ``None`` if it does not fix the key."""
    if node is None or not has_dynamic_buckets(schema):
        return None
    columns = _key_combinations(node, schema.trimmed_primary_key)
    if columns is None:
        return None
    hashes = hash_rows(columns, [schema.field(name).type for name in schema.trimmed_primary_key])
    indexes = indexes_of(store, snapshot)
    partitions = pa.array(indexes, pa.binary())
    wanted = partition_mask(pa.table({"partition": partitions}), partition_part(node, schema), schema)
    indexed: list[tuple[bytes, int]] = []
    kept: list[tuple[bytes, int]] = []
    try:
        for number, (partition, index) in enumerate(indexes.items()):
            if wanted is None or wanted[number]:
                kept += [(partition, bucket) for bucket in buckets_with(store, index, hashes)]
                indexed += [(partition, bucket) for bucket in index.entries]
    except LakebedError as problem:  # the index is only an optimisation
        _LOG.warning("table %s is read without its hash index: %s", store.name, problem)
        return None
    return Places(_as_names(indexed), _as_names(kept))


def _as_names(places: Sequence[tuple[bytes, int]]) -> pa.Array:
    partitions = pa.array([partition for partition, _ in places], pa.binary())
    return _place_names(partitions, pa.array([bucket for _, bucket in places], pa.int32()))


def _place_names(partitions: pa.Array, buckets: pa.Array) -> pa.Array:
    """Returns a unique text for each place; the bucket follows the last separator."""
    return pc.binary_join_element_wise(partitions, buckets.cast(pa.string()).cast(pa.binary()), b"/")


def _key_combinations(node: pred.Node, keys: Sequence[str]) -> list[pa.Array] | None:
    """Returns all keys that can match, as columns; ``None`` if a column is not fixed or there are too many values."""
    candidates = [pred.key_candidates(node, name) for name in keys]
    known = [values for values in candidates if values is not None]
    if len(known) < len(keys) or _combinations(known) > _MOST_KEYS:
        return None
    return _cross(known)


def _combinations(columns: Sequence[pa.Array]) -> int:
    count = 1
    for column in columns:
        count *= len(column)
    return count


def _cross(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Returns every combination of values, as columns."""
    table = pa.table({"0": columns[0]})
    for i, column in enumerate(columns[1:], start=1):
        left = pa.array([row for row in range(len(table)) for _ in range(len(column))], pa.int64())
        right = pa.array(list(range(len(column))) * len(table), pa.int64())
        table = table.take(left).append_column(str(i), column.take(right))
    return [column.combine_chunks() for column in table.columns]
