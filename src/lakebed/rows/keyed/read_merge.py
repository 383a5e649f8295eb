"""A merge for readers, which do not need an order: most rows of the largest run have no other version.

The files of the lowest run (the highest level, or the anchor of a chain) are read once, with all columns. Rows whose
keys occur in no newer file are results as they are. Only the others are sorted and merged with the newer files, so a
merge of a large run with few changes costs little more than reading the run. The result is that of :class:`Merger`,
in another order and without sequence numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred
from lakebed.format.row_kind import INSERT, KIND_COLUMN, repeated_kind
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.format.types.data_types import Field, to_arrow
from lakebed.metadata.plan.key_ranks import sortable
from lakebed.rows.keyed.keyed_merge import SYSTEM_SCHEMA, Head, Merger, Piece, Source
from lakebed.rows.keyed.sequence_order import Mask
from lakebed.storage import run_together

_MANY_MORE: Final = 2
_OPENED_AT_ONCE: Final = 4


@dataclass(frozen=True)
class ReadMerger(Merger):
    """Merges files for a reader."""

    @staticmethod
    def of(merger: Merger) -> ReadMerger:
        return ReadMerger(
            merger.store, merger.schema, merger.columns, merger.condition, merger.deleted, with_sequences=False
        )

    def _merge_range(self, sources: Sequence[Source], rows: pred.Node | None) -> Piece:
        base = lowest_run(sources)
        if not base:
            return super()._merge_range(sources, rows)
        # A row of the lowest run is older than all others of its key, so the minimum is correct for it.
        base = [replace(source, max_sequence=source.min_sequence) for source in base]
        newer = sources[len(base) :]
        system = self._system_columns([*base, *newer])
        reads = [partial(self._whole_head, source, rows, system) for source in newer]  # they are small, and many
        heads = run_together(reads, _OPENED_AT_ONCE)
        keys = [
            pa.chunked_array([c for part in heads for c in part.table[key.name].chunks], to_arrow(key.type))
            for key in self.keys
        ]
        alone, met = [], []
        for source in base:
            table = self._base_table(source, rows)
            mask = meets([table[key.name] for key in self.keys], keys)
            alone.append(table.select(self._result_names).filter(pa.array(~mask)) if mask.any() else table)
            met.append(self._base_head(source, table.filter(pa.array(mask)), system))
        merged = self._merge_heads([*met, *heads], rows).rows
        tables = [table.select(self._result_names) for table in (*alone, merged)]
        schema = tables[0].schema
        return Piece(pa.concat_tables([pa.Table.from_arrays(table.columns, schema=schema) for table in tables]), {})

    @property
    def _result_names(self) -> list[str]:
        return [*(column.name for column in self.columns), KIND_COLUMN]

    @cached_property
    def _all_fields(self) -> tuple[Field, ...]:
        """All columns that a merge may need."""
        names = [*(column.name for column in self._head_fields), *(column.name for column in self.columns)]
        if not self.spec.picks_rows:
            names += self.spec.inputs([column.name for column in self.columns])
        return self.schema.select(tuple(dict.fromkeys(names)))

    def _whole_head(self, source: Source, rows: pred.Node | None, system: Sequence[str]) -> Head:
        """Read a newer file with all columns at once, because most of its rows are results."""
        table = self.read(source, self._all_fields, rows, system=system)
        return Head(source, table.select([*(column.name for column in self._head_fields), *system]), more=table)

    def _base_table(self, source: Source, rows: pred.Node | None) -> pa.Table:
        """Rows of a file of the lowest run with all columns, and their kinds."""
        if source.has_deletes:
            return self.read(source, self._all_fields, rows, system=(KIND_COLUMN,))
        table = self.read(source, self._all_fields, rows, system=())
        return table.append_column(SYSTEM_SCHEMA.field(KIND_COLUMN), repeated_kind(INSERT, len(table)))

    def _base_head(self, source: Source, table: pa.Table, system: Sequence[str]) -> Head:
        if SEQUENCE_COLUMN in system:
            numbers = np.full(len(table), source.min_sequence, np.int64)
            table = table.append_column(SYSTEM_SCHEMA.field(SEQUENCE_COLUMN), pa.array(numbers))
        return Head(source, table.select([*(column.name for column in self._head_fields), *system]), more=table)


def lowest_run(sources: Sequence[Source]) -> list[Source]:
    """The files of the highest level, if all their rows are older and many more than those of the others; else none.

    A write that began before a compaction and was committed after it is not newer than all that was compacted.
    """
    top = max((source.level for source in sources), default=0)
    base = [source for source in sources if source.level == top]
    rows, total = sum(source.row_count for source in base), sum(source.row_count for source in sources)
    if top == 0 or base != list(sources[: len(base)]) or len(base) == len(sources):
        return []
    if max(source.max_sequence for source in base) >= min(source.min_sequence for source in sources[len(base) :]):
        return []
    return base if rows >= _MANY_MORE * (total - rows) else []


def meets(keys: Sequence[pa.ChunkedArray], others: Sequence[pa.ChunkedArray]) -> Mask:
    """Return which keys may occur in others: all that do, and for several columns perhaps a few more."""
    pairs = [(sortable(mine), sortable(theirs)) for mine, theirs in zip(keys, others, strict=True)]
    if len(pairs) == 1 and pa.types.is_integer(pairs[0][0].type):
        return _found(*(column.to_numpy() for column in pairs[0]))
    mask = np.ones(len(keys[0]), np.bool_)
    for mine, theirs in pairs:
        mask &= np.asarray(pc.is_in(mine, value_set=theirs.unique()), np.bool_)
    return mask


def _found(keys: np.ndarray, others: np.ndarray) -> Mask:
    """Do the same for whole numbers, by bisection if they ascend, as they do in files."""
    mask = np.zeros(len(keys), np.bool_)
    if not len(keys):
        return mask
    if not (keys[1:] > keys[:-1]).all():
        return np.isin(keys, others)
    others = np.sort(
        others, kind="stable"
    )  # files are sorted runs, and lookups of sorted keys are several times faster
    places = np.minimum(np.searchsorted(keys, others), len(keys) - 1)
    mask[places[keys[places] == others]] = True
    return mask
