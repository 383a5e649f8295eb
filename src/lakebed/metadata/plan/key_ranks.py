"""Ranks of keys: integers that compare as the keys do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def sortable(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Returns floating-point numbers as integers that sort as in Java: -0.0 before 0.0, and all NaN last."""
    if not pa.types.is_floating(column.type):
        return column
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    values = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    return pa.array(np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits), mask=nulls)


def ranks_of(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """Returns dense ranks of rows by their columns in order; equal rows have equal ranks, nulls are first."""
    names = [str(i) for i in range(len(columns))]
    table = pa.table([sortable(column) for column in columns], names)
    keys = [(name, "ascending", "at_start") for name in names]
    order = pc.sort_indices(table, sort_keys=keys).to_numpy()
    ordered = table.take(order)
    changed = np.zeros(len(order), np.int64)
    for name in names:
        column = ordered[name].combine_chunks()
        same = pc.fill_null(pc.equal(column[1:], column[:-1]), False)
        both_null = pc.and_(pc.is_null(column[1:]), pc.is_null(column[:-1]))
        changed[1:] |= ~pc.or_(same, both_null).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(changed)
    return ranks
