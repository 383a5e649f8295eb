"""The key ranges of all files as ranks, so that keys are compared as integers in every snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import CorruptError
from lakebed.format.binary_row import decode_rows
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import DataType, to_arrow
from lakebed.metadata.plan.key_ranks import ranks_of
from lakebed.operations.verify.check_branches import Branch

I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """The ranks of the smallest and largest key of each file; -1 if there is none. ``is_bad``: it cannot be decoded."""

    low: I64
    high: I64
    is_bad: Bools


def rank_keys(files: pa.Table, branches: Sequence[Branch]) -> KeyRanges:
    """Rank the keys of all files. The columns of a primary key are the same in every branch."""
    nothing = np.full(len(files), -1, np.int64)
    ranges = KeyRanges(nothing, nothing.copy(), np.zeros(len(files), np.bool_))
    schemas: dict[int, TableSchema] = {}
    for branch in reversed(branches):
        schemas.update(branch.schemas)
    latest = branches[0].schema
    if latest is None or not latest.trimmed_primary_key or not len(files):
        return ranges
    ids = files["schema_id"].to_numpy()
    parts: list[tuple[I64, list[pa.Array]]] = []
    for schema_id in np.unique(ids).tolist():
        own = schemas.get(schema_id)
        if own is not None:
            rows = np.flatnonzero(ids == schema_id)
            types = [column.type for column in own.select(own.trimmed_primary_key)]
            good, columns = _decoded(files, rows, types)
            ranges.is_bad[np.setdiff1d(rows, good)] = True
            parts.append((good, columns))
    wanted = [to_arrow(column.type) for column in latest.select(latest.trimmed_primary_key)]
    columns = [pa.concat_arrays([values[i].cast(kind) for _, values in parts]) for i, kind in enumerate(wanted)]
    ranks = ranks_of(columns)
    begin = 0
    for rows, _ in parts:
        ranges.low[rows] = ranks[begin : begin + len(rows)]
        ranges.high[rows] = ranks[begin + len(rows) : begin + 2 * len(rows)]
        begin += 2 * len(rows)
    return ranges


def _decoded(files: pa.Table, rows: I64, types: Sequence[DataType]) -> tuple[I64, list[pa.Array]]:
    """Returns the rows whose key range decodes, and the columns of all smallest, then all largest keys."""
    lows, highs = (files[side].take(rows).combine_chunks() for side in ("min_key", "max_key"))

    def both(part: I64) -> list[pa.Array]:
        return decode_rows(pa.concat_arrays([side.take(pa.array(part)) for side in (lows, highs)]), types)

    good = np.setdiff1d(np.arange(len(rows)), culprits(len(rows), both))
    return rows[good], both(good)


def culprits(count: int, attempt: Callable[[I64], object]) -> I64:
    """Returns the rows that cannot be decoded, found by bisection, so that undamaged rows are decoded in bulk."""
    bad: list[int] = []
    waiting = [np.arange(count)]
    while waiting:
        part = waiting.pop()
        try:
            if len(part):
                attempt(part)
        except CorruptError:
            if len(part) == 1:
                bad.append(int(part[0]))
            else:
                waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
    return np.array(sorted(bad), np.int64)
