"""The partitions that a condition names one by one: ``dt = '20250726'``, ``dt IN (...) AND hour = 5``.

A range or an open query names none, nor does a list of more than a thousand values. Chain columns must each be fixed to some
values; the groups are those that are known, as far as the condition lets them through. A named value that stands for no time is
an error: nobody can tell what was on that day.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lakebed.chain.layout import ChainKeys, Link
from lakebed.chain.reading.plan_views import Group
from lakebed.errors import DataError, OptionError
from lakebed.format import predicate as pred
from lakebed.format.binary_row import encode_few_rows
from lakebed.format.types.data_types import to_arrow


def named_partitions(
    keys: ChainKeys, condition: pred.Node | None, groups: Collection[Group], existing: Collection[bytes]
) -> list[Link]:
    """The partitions of known groups that a condition on partition columns names, and that do not exist."""
    if condition is None or not groups:
        return []
    columns = [pred.key_candidates(condition, name) for name in keys.chain]
    values = [column.to_pylist() for column in columns if column is not None]
    if len(values) < len(columns):
        return []
    names = (*keys.group, *keys.chain)
    rows = [dict(zip(names, (*group, *row), strict=True)) for group in groups for row in itertools.product(*values)]
    kept = list(itertools.compress(rows, _satisfying(keys, condition, rows)))
    types = [field.type for field in keys.schema.partition_fields]
    codes = encode_few_rows([list(row.values()) for row in kept], types)
    return [_link(keys, code, row) for code, row in zip(codes, kept, strict=True) if code not in existing]


def _satisfying(keys: ChainKeys, condition: pred.Node, rows: list[dict[str, Any]]) -> np.ndarray:
    fields = keys.schema.partition_fields
    schema = pa.schema([pa.field(field.name, to_arrow(field.type)) for field in fields])
    return np.asarray(pred.matches_rows(condition, pa.Table.from_pylist(rows, schema)))


def _link(keys: ChainKeys, code: bytes, values: Mapping[str, Any]) -> Link:
    link = keys.link(code, values)
    try:
        written = keys.values_at(link.group, link.time)
    except OptionError:  # values cannot be made of times with this pattern, so there is nothing to compare
        return link
    if written != dict(values):
        raise DataError(
            f"partition {dict(values)} is not how a time is written here: {dict(written)} would be. Ask for that, or for "
            "a range"
        )
    return link
