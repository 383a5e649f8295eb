"""``aggregation``: every column is merged by its function, row by row: +I and +U rows add, -U and -D rows take back.

With ``aggregation.remove-record-on-delete`` a -D row removes the record instead. As in Paimon 2.0 its own values stay
behind, and rows that follow build on them. (Writers avoid surprises with deletes that carry nulls.)
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

# What a row that is alone in its key would lose or gain by being merged: blank texts, repeated elements, null rows.
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
        """Rows whose key has no other; they stay as they are."""
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
        """The history where nothing is taken back, for functions that leave a single row as it is anyway."""
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
        """+I, or -D if the last row removed the record; a row that is alone keeps its kind."""
        last = self.keys.last
        merged_kind = np.where(self.removing[last], DELETE, INSERT)
        return np.where(self.keys.lengths > 1, merged_kind, self.kinds[last]).astype(np.int8)
