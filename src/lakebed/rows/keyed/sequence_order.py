"""The order of the versions of a row: which one is newer, and what happens when sequence numbers tie.

Rows are sorted by key. Within a key, the newest version is the last one. Versions are compared in this order:

1. The columns of ``sequence.field``, if the table has any, in the direction of ``sequence.field.sort-order``.
2. The sequence number that the writer gave the row.
3. The position of the row: files in the order of :func:`lakebed.metadata.plan.levels.oldest_first`, rows in the order
   of their file. Writers that started on the same snapshot give the same numbers, so numbers can tie. Files of higher
   levels are older than files of lower levels, and files of level 0 are in the order of their commits: the later
   commit wins.

The sort is stable, so rule 3 needs no column. If the sequence numbers of the files do not overlap and the table has
no sequence field, rule 3 alone decides, and sequence numbers need not be read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.rows.merge_engines.merge_spec import MergeSpec
from lakebed.rows.order import KeyOrder, order_by_key

Mask: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]


def in_sequence(ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether the ranges (min, max) of the sequence numbers of files ascend without overlap, in the order of the files.

    >>> in_sequence([(0, 4), (5, 9)]), in_sequence([(0, 5), (5, 9)])
    (True, False)
    """
    return all(high < low for (_, high), (low, _) in itertools.pairwise(ranges))


def order_versions(head: pa.Table, keys: Sequence[str], spec: MergeSpec, *, by_place: bool) -> KeyOrder:
    """Sort rows of files, given oldest file first, by key and from the oldest to the newest version.

    ``by_place`` says that :func:`in_sequence` holds for the files, so their order is that of the sequence numbers.
    """
    direction = "descending" if spec.sequence_descending else "ascending"
    then_by: list[tuple[pa.ChunkedArray, str]] = [(head[name], direction) for name in spec.sequence_fields]
    if then_by or not by_place:
        then_by.append((head[SEQUENCE_COLUMN], "ascending"))
    return order_by_key([head[name] for name in keys], then_by)


def group_of_row(order: KeyOrder) -> Ints:
    """The number of the key of each row, in order."""
    return np.repeat(np.arange(len(order.starts)), np.diff(np.append(order.starts, len(order.rows))))


def without_covered(order: KeyOrder, levels: Ints) -> KeyOrder:
    """The order without rows above level 0 whose key has a row on a lower level above 0. Every key keeps a row."""
    level = levels[order.rows]
    above = level > 0
    if len(order.starts) == len(order.rows) or not above.any():
        return order
    group = group_of_row(order)
    unreached = np.iinfo(np.int64).max
    lowest = np.minimum.reduceat(np.where(above, level, unreached), order.starts)
    return _kept(order, group, ~above | (level == lowest[group]))


def without_untouched(order: KeyOrder, below: Mask) -> tuple[KeyOrder, Mask]:
    """The order without keys that only rows marked in ``below`` have; and which rows belong to the remaining keys."""
    group = group_of_row(order)
    keep_group = np.zeros(len(order.starts), np.bool_)
    keep_group[group[~below[order.rows]]] = True
    left = _kept(order, group, keep_group[group])
    touched = np.zeros(len(below), np.bool_)
    touched[left.rows] = True
    return left, touched


def _kept(order: KeyOrder, group: Ints, keep: Mask) -> KeyOrder:
    """The order of the rows that ``keep`` marks."""
    left = group[keep]
    starts = np.flatnonzero(np.append(True, left[1:] != left[:-1])) if len(left) else np.zeros(0, np.int64)
    return KeyOrder(order.rows[keep], starts.astype(np.int64))
