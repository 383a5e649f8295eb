"""``aggregation``: every column is merged by its function. +I and +U rows add values, -U and -D rows retract them.

With ``aggregation.remove-record-on-delete`` a -D row removes the record instead. As in Paimon 2.0, the values of that
-D row remain, and later rows build on them. (Writers avoid this with deletes that contain nulls.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from lakebed.errors import DataError
from lakebed.format.row_kind import DELETE, INSERT, Kinds, is_retraction
from lakebed.rows.merge_engines.aggregate_functions import merged
from lakebed.rows.merge_engines.key_history import ADD, SKIP, TAKE, Bools, History, Keys, valid_mask
from lakebed.rows.merge_engines.merge_spec import MergeSpec

# Functions that change even a single row: they drop blank texts, repeated elements or null rows.
_CHANGES_SINGLE_ROWS = frozenset({"listagg", "collect", "nested_update"})


@dataclass(frozen=True)
class Aggregation:
    """One merge: the spec, the rows of all keys and their kinds."""

    spec: MergeSpec
    table: pa.Table
    keys: Keys
    kinds: Kinds

    @cached_property
    def retracts(self) -> Bools:
        return is_retraction(self.kinds)

    @cached_property
    def alone(self) -> Bools:
        """Rows that are the only one of their key; they are not changed."""
        alone: Bools = (self.keys.lengths == 1)[self.keys.of_row]
        return alone

    @cached_property
    def removing(self) -> Bools:
        """-D rows that remove the record."""
        if not self.spec.remove_on_delete:
            return np.zeros(self.keys.rows, np.bool_)
        removes: Bools = (self.kinds == DELETE) & ~self.alone
        return removes

    @cached_property
    def history(self) -> History:
        base = self.alone | self.removing
        ops = np.where(base, SKIP, np.where(self.retracts, TAKE, ADD)).astype(np.int8)
        return History(self.keys, base, ops)

    @cached_property
    def additions(self) -> History:
        """The history without retractions, for functions that do not change a single row."""
        return History(self.keys, np.zeros(self.keys.rows, np.bool_), np.ones(self.keys.rows, np.int8))

    def column(self, name: str) -> pa.ChunkedArray | pa.Array:
        """The merged values of a column."""
        rule, values = self.spec.rules[name], self.table[name]
        if name in self.spec.required and values.null_count:
            self._check_required(name, values)
        simple = rule.function not in _CHANGES_SINGLE_ROWS and not self.retracts.any()
        return merged(rule, self.additions if simple else self.history, values)

    def _check_required(self, name: str, values: pa.ChunkedArray) -> None:
        valid = valid_mask(values)
        if valid is not None and (self.removing & ~valid).any():
            raise DataError(f"column {name!r} is NOT NULL, but a -D row to merge has null there; give it a value")

    def merged_kinds(self) -> Kinds:
        """Return +I, or -D if the last row removed the record; a single row keeps its kind."""
        last = self.keys.last
        merged_kind = np.where(self.removing[last], DELETE, INSERT)
        return np.where(self.keys.lengths > 1, merged_kind, self.kinds[last]).astype(np.int8)
