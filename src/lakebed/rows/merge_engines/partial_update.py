"""``partial-update``: what each row does to the columns.

* Without sequence groups, a row changes the columns where it is not null.
* A column of a sequence group changes with its group. If the sequence of the row is not older than the current one,
  the columns become those of the row, including nulls (or are aggregated, if they have a function). If it is older,
  only aggregates use the row, as a late value. A row whose whole sequence is null does not change the group.
* Retractions set the columns of the group to null, or retract values from its aggregates.

As in Paimon 2.0, a -D row that removes the record, and a retraction before any other row, leave their own values
behind, and later rows build on them. (Writers avoid this with deletes that contain nulls.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.errors import DataError
from lakebed.format.row_kind import DELETE, INSERT, Kinds, is_retraction
from lakebed.rows.merge_engines import picks
from lakebed.rows.merge_engines.aggregate_functions import merged
from lakebed.rows.merge_engines.key_history import (
    ADD,
    OLD,
    SKIP,
    TAKE,
    Bools,
    History,
    Ints,
    Keys,
    take_rows,
    valid_mask,
)
from lakebed.rows.merge_engines.merge_spec import Group, MergeSpec
from lakebed.rows.merge_engines.order_codes import row_ranks

CANNOT_RETRACT: Final = (
    "a partial update cannot apply a -U or -D row: set 'ignore-delete' to ignore such rows, "
    "'partial-update.remove-record-on-delete' to remove the record, or sequence groups "
    "('fields.<sequence>.sequence-group') to empty the columns of a group"
)


@dataclass(frozen=True)
class PartialUpdate:
    """One merge: the spec, the rows of all keys and their kinds."""

    spec: MergeSpec
    table: pa.Table
    keys: Keys
    kinds: Kinds

    def __post_init__(self) -> None:
        if self.spec.groups or self.spec.remove_on_delete or not self.retracts[self.shared].any():
            return
        raise DataError(CANNOT_RETRACT)

    @cached_property
    def retracts(self) -> Bools:
        return is_retraction(self.kinds)

    @cached_property
    def shared(self) -> Bools:
        """Rows whose key has other rows; a single row is not changed."""
        shares: Bools = (self.keys.lengths > 1)[self.keys.of_row]
        return shares

    @cached_property
    def opening(self) -> Bools:
        """Single rows, and retractions that come first: later rows build on their values."""
        first = np.zeros(self.keys.rows, np.bool_)
        first[self.keys.starts] = True
        first &= self.retracts | ~self.shared
        return first

    @cached_property
    def removing(self) -> Bools:
        """-D rows that remove the record."""
        deletes: Bools = (self.kinds == DELETE) & self.shared
        if self.spec.remove_on_delete:
            return deletes
        groups = [group for group in self.spec.groups if group.removes]
        if not groups or not deletes.any():
            return np.zeros(self.keys.rows, np.bool_)
        base = self.opening
        found: Bools = base & deletes & np.logical_or.reduce([self.ranks[group] > 0 for group in groups])
        while True:
            hits: Bools = deletes & ~base & np.logical_or.reduce([self.current(group, base) for group in groups])
            if len(groups) == 1:
                # A removal does not change the sequence of its own group.
                return found | hits
            # A removal resets the other groups, which affects later rows: only the first one is certain.
            first = self.epochs(base).first_where(hits)
            if (first < 0).all():
                return found
            certain = np.zeros(self.keys.rows, np.bool_)
            certain[first[first >= 0]] = True
            found, base = found | certain, base | certain

    def epochs(self, base: Bools) -> Keys:
        """Runs of rows between which nothing is replaced."""
        begins = base.copy()
        begins[self.keys.starts] = True
        return Keys(np.flatnonzero(begins), self.keys.rows)

    @cached_property
    def ranks(self) -> dict[Group, Ints]:
        """The sequences of the groups as numbers that compare alike; 0 where all is null."""
        wanted = set(self.table.column_names)
        return {
            group: row_ranks([self.table[name] for name in group.sequence])
            for group in self.spec.groups
            if wanted.issuperset(group.sequence)
        }

    def current(self, group: Group, base: Bools) -> Bools:
        """Rows whose sequence in this group is not null and not older than the current one."""
        ranks, epoch = self.ranks[group], self.epochs(base).of_row
        above = epoch * (ranks.max(initial=0) + 1)
        newest = np.maximum.accumulate(ranks + above) - above
        is_current: Bools = (ranks > 0) & (ranks == newest)
        return is_current

    @cached_property
    def base(self) -> Bools:
        return self.opening | self.removing

    @cached_property
    def outside(self) -> History:
        """What rows do to columns that are in no group."""
        if not self.spec.groups and not self.retracts.any():
            return History(self.keys, np.zeros(self.keys.rows, np.bool_), np.ones(self.keys.rows, np.int8))
        acts = ~self.retracts & ~self.base
        return History(self.keys, self.base, np.where(acts, ADD, SKIP).astype(np.int8))

    @cached_property
    def _in_groups(self) -> dict[Group, tuple[Bools, Bools]]:
        """Per group the rows that act on it: all of them, and those that are not older."""
        acts = ~self.removing & self.shared
        return {
            group: (acts & (ranks > 0), acts & self.current(group, self.base)) for group, ranks in self.ranks.items()
        }

    def history(self, column: str, group: Group) -> History:
        """What rows do to a column of a group."""
        acts, current = self._in_groups[group]
        if column in group.sequence:
            ops = np.where(current, ADD, SKIP)
        elif column in self.spec.rules:
            ops = np.where(acts, np.where(self.retracts, TAKE, np.where(current, ADD, OLD)), SKIP)
        else:
            ops = np.where(current, np.where(self.retracts, TAKE, ADD), SKIP)
        return History(self.keys, self.base, ops.astype(np.int8))

    def column(self, name: str) -> pa.ChunkedArray | pa.Array:
        """The merged values of a column."""
        values = self.table[name]
        if name in self.spec.required and values.null_count:
            self._check_required(name, values)
        group = self.spec.group_of(name)
        if group is None:
            return take_rows(values, picks.last_non_null_value(self.outside, valid_mask(values)))
        history = self.history(name, group)
        if name in self.spec.rules:
            return merged(self.spec.rules[name], history, values)
        return take_rows(values, picks.last_value(history))

    def _check_required(self, name: str, values: pa.ChunkedArray) -> None:
        """Check that whole rows have their NOT NULL columns; rows that only change a group need not have them."""
        whole = self.base if self.spec.groups else self.base | ~self.retracts
        valid = valid_mask(values)
        if valid is not None and (whole & self.shared & ~valid).any():
            raise DataError(
                f"column {name!r} is NOT NULL, but a row to merge has null there; give it a value in every row, "
                "or make the column nullable"
            )

    def merged_kinds(self) -> Kinds:
        """Return +I, or -D if the last row removed the record or none inserted it; a single row keeps its kind."""
        if not self.retracts.any():
            return np.where(self.keys.lengths > 1, INSERT, self.kinds[self.keys.last]).astype(np.int8)
        gone = self.removing[self.keys.last] | ~self.keys.any_where(~self.retracts)
        return np.where(self.keys.lengths > 1, np.where(gone, DELETE, INSERT), self.kinds[self.keys.last]).astype(
            np.int8
        )
