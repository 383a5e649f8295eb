"""Which buckets can hold a row that a predicate asks for: those that its keys hash to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import pyarrow as pa

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.format import predicate as pred
from lakebed.format.schema import TableSchema

_MOST_KEYS: Final = 1000


def buckets_of(
    node: pred.Node | None, schema: TableSchema, function: str
) -> Callable[[int], Sequence[int] | None] | None:
    """For a total number of buckets, those that can match; ``None`` if the predicate does not fix the bucket key."""
    keys = schema.bucket_keys
    if node is None or not keys:
        return None
    candidates = [pred.key_candidates(node, name) for name in keys]
    known = [values for values in candidates if values is not None]
    if len(known) < len(keys) or _combinations(known) > _MOST_KEYS:
        return None
    columns = _cross(known)
    types = [schema.field(name).type for name in keys]

    @cache
    def of_total(total: int) -> Sequence[int] | None:
        if total <= 0:
            return None
        return sorted(set(bucket_of_rows(columns, types, total, function).tolist()))

    return of_total


def _combinations(columns: Sequence[pa.Array]) -> int:
    count = 1
    for column in columns:
        count *= len(column)
    return count


def _cross(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Every combination of values, as columns."""
    table = pa.table({"0": columns[0]})
    for i, column in enumerate(columns[1:], start=1):
        left = pa.array([row for row in range(len(table)) for _ in range(len(column))], pa.int64())
        right = pa.array(list(range(len(column))) * len(table), pa.int64())
        table = table.take(left).append_column(str(i), column.take(right))
    return [column.combine_chunks() for column in table.columns]
