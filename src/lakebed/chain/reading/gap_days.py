"""Gap days: days that a query names and that no branch of a chain table has.

A gap day shows the state as of that day, carried over from the days before it
(:mod:`lakebed.chain.reading.plan_views`). With ``chain-table.gap-read = strict`` it has no rows.

A query names days one by one: ``dt = '20250726'``, ``dt IN (...) AND hour = 5``. The condition must fix each chain
column to some values. A range or a query without a condition names no day, and neither does a list of more than a
thousand values. The groups are the known ones that satisfy the condition. A named value that is not a time raises an
error, because it does not name a day.
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


def gap_partitions(
    keys: ChainKeys, condition: pred.Node | None, groups: Collection[Group], existing: Collection[bytes]
) -> list[Link]:
    """The gap days: partitions of known groups that a condition names one by one, and that no branch has."""
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
    except OptionError:  # this pattern cannot turn a time into values, so there is nothing to compare
        return link
    if written != dict(values):
        raise DataError(
            f"partition {dict(values)} is not in the format of the table, which would be {dict(written)}. Ask for "
            "that, or for a range"
        )
    return link
