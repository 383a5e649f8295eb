"""Merge rows with the same primary key into one: the merge engines, as kernels on whole Arrow tables.

Rows are sorted by key and, within a key, oldest first (:class:`SortedRows`). The result has one row per key, in the
same order. Nothing is read or written here, and nothing is dropped that a later merge could need: merged -D and -U
rows stay, and readers drop them. The rules are those of Paimon 2.0's own merge functions, record by record:

* A key with a single row keeps that row unchanged, including its kind.
* The merged row has the sequence number of the newest row. Its kind is that of the winner (``deduplicate``,
  ``first-row``), otherwise +I, or -D if the record was removed.
* ``ignore-delete`` skips retractions that are in files already; writers skip them before (:func:`kept_rows`).
* A retraction that the engine cannot apply raises :class:`DataError`, and so does a sum that does not fit its column.
  Values that a later removal of the record discards are not checked.

Rows may be merged in stages, as happens with files: older rows and newer rows separately, then both results. For
``deduplicate`` and ``first-row`` the result is the same as merging all rows at once. For ``partial-update`` and
``aggregation`` it is the same if there are no retractions, no late row is aggregated in a sequence group, and the
arithmetic is exact. Otherwise it depends on the stages, in Paimon as well:

* A retraction that is merged without the value it retracts is lost (only ``sum`` keeps it, as a negative).
* A record that was removed and inserted again builds on the values of the delete only while the delete exists.
* Floats and products of decimals are rounded in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakebed.errors import DataError
from lakebed.format.row_kind import KIND_COLUMN, UPDATE_BEFORE, Kinds, is_retraction
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.rows.merge_engines.aggregation import Aggregation
from lakebed.rows.merge_engines.key_history import NOWHERE, Bools, Ints, Keys
from lakebed.rows.merge_engines.merge_spec import MergeSpec
from lakebed.rows.merge_engines.partial_update import CANNOT_RETRACT, PartialUpdate

__all__ = [
    "NOWHERE",
    "MergeSpec",
    "SortedRows",
    "check_kinds",
    "kept_rows",
    "keys_with_result",
    "merge_rows",
    "pick_rows",
]


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows sorted by key, user sequence fields and sequence number.

    ``table`` contains the columns to merge (``MergeSpec.inputs``), ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND``.
    ``starts`` are the first rows of the keys, ascending from 0.
    """

    table: pa.Table
    starts: Ints

    @property
    def kinds(self) -> Kinds:
        kinds: Kinds = self.table[KIND_COLUMN].to_numpy()
        return kinds


def pick_rows(spec: MergeSpec, kinds: Kinds, starts: Ints) -> Ints:
    """The winning row of each key for ``deduplicate`` and ``first-row``; -1 if all its rows are ignored deletes.

    >>> spec = MergeSpec("deduplicate")
    >>> pick_rows(spec, np.array([0, 2, 3, 0], np.int8), np.array([0, 3]))
    array([2, 3])
    """
    keys = Keys(starts, len(kinds))
    first = spec.engine == "first-row"
    if spec.takes_last:
        return keys.last
    retracts = is_retraction(kinds)
    if not retracts.any():
        return keys.starts if first else keys.last
    if spec.ignore_delete:
        return keys.first_where(~retracts) if first else keys.last_where(~retracts)
    if (retracts & (keys.lengths > 1)[keys.of_row]).any():
        raise DataError(_cannot_retract(spec))
    return keys.starts


def merge_rows(spec: MergeSpec, rows: SortedRows, columns: Sequence[str]) -> pa.Table:
    """Return one row per key that has a result: ``columns``, the sequence number and the kind."""
    names = [*columns, SEQUENCE_COLUMN, KIND_COLUMN]
    if spec.picks_rows:
        picked = pick_rows(spec, rows.kinds, rows.starts)
        return rows.table.select(names).take(pa.array(picked[picked != NOWHERE]))
    if spec.ignore_delete and spec.engine == "partial-update":
        rows = _without_retractions(rows)
    if len(rows.starts) == len(rows.table):
        return rows.table.select(names)
    keys = Keys(rows.starts, len(rows.table))
    engine = PartialUpdate if spec.engine == "partial-update" else Aggregation
    merge = engine(spec, rows.table, keys, rows.kinds)
    sequence = rows.table[SEQUENCE_COLUMN].take(pa.array(keys.last))
    arrays = [*(merge.column(name) for name in columns), sequence, pa.array(merge.merged_kinds())]
    fields = [rows.table.schema.field(name) for name in names]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def keys_with_result(spec: MergeSpec, rows: SortedRows) -> Ints:
    """Return the numbers of the keys that :func:`merge_rows` returns a row for; not for engines that pick rows."""
    if spec.ignore_delete and spec.engine == "partial-update":
        keep = ~is_retraction(rows.kinds)
        if not keep.all():
            return np.flatnonzero(np.add.reduceat(keep.astype(np.int64), rows.starts))
    return np.arange(len(rows.starts))


def _without_retractions(rows: SortedRows) -> SortedRows:
    keep = ~is_retraction(rows.kinds)
    if keep.all():
        return rows
    keys = Keys(rows.starts, len(keep))
    left = np.add.reduceat(keep.astype(np.int64), keys.starts)
    left = left[left > 0]
    return SortedRows(rows.table.filter(pa.array(keep)), np.cumsum(left) - left)


# --------------------------------------------------------------------------------------------- rows to be written


def kept_rows(spec: MergeSpec, kinds: Kinds) -> Bools | None:
    """Return which rows a writer keeps, by ``ignore-delete`` and ``ignore-update-before``; None: all."""
    if spec.ignore_delete:
        dropped = is_retraction(kinds)
    elif spec.ignore_update_before:
        dropped = kinds == UPDATE_BEFORE
    else:
        return None
    return ~dropped if dropped.any() else None


def check_kinds(spec: MergeSpec, kinds: Kinds) -> None:
    """Raise for retractions that the engine can never apply, before they are written to a file."""
    refuses = spec.engine == "first-row" or (
        spec.engine == "partial-update" and not spec.groups and not spec.remove_on_delete
    )
    if refuses and not spec.ignore_delete and is_retraction(kinds).any():
        raise DataError(_cannot_retract(spec))


def _cannot_retract(spec: MergeSpec) -> str:
    if spec.engine == "first-row":
        return "'merge-engine' is first-row, which cannot apply a -U or -D row; set 'ignore-delete' to ignore such rows"
    return CANNOT_RETRACT
