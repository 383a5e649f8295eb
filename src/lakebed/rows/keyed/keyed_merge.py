"""The merge of overlapping files of one bucket: one row per key from many versions.

Keys, sequence numbers and row kinds are read first and sorted (:mod:`lakebed.rows.keyed.sequence_order`). Merge
engines that pick one version then read the other columns for the winning rows only, file by file. The other engines
read the columns that they combine.

A compaction also reads files *below* it without rewriting them: their rows count only for keys of the compaction, and
the merge reports which of them are replaced. In tables that look keys up (``MergeSpec.looks_up``), every row above
level 0 contains what is below it: of the rows of a key above level 0, only the one on the lowest level counts. For a
changelog, the merge also returns the row of each touched key before the merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred
from lakebed.format.row_kind import DELETE, KIND_COLUMN
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.store import TableStore
from lakebed.rows.files.evolve import evolve
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.rows.files.parquet import marked_rows, without_rows
from lakebed.rows.files.read_columns import SYSTEM_FIELDS, pushed_condition, read_columns
from lakebed.rows.keyed.sequence_order import (
    Ints,
    Mask,
    group_of_row,
    in_sequence,
    order_versions,
    without_covered,
    without_untouched,
)
from lakebed.rows.merge_engines.merge_rows import (
    NOWHERE,
    MergeSpec,
    SortedRows,
    keys_with_result,
    merge_rows,
    pick_rows,
)
from lakebed.rows.order import KeyOrder

SYSTEM_SCHEMA: Final = pa.schema([pa.field(SEQUENCE_COLUMN, pa.int64()), pa.field(KIND_COLUMN, pa.int8())])
SYSTEM_COLUMNS: Final = tuple(SYSTEM_SCHEMA.names)
_SAMPLED_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """One data file and what is known about it.

    ``below`` marks a file that a compaction reads without rewriting it. ``shift`` is added to the sequence numbers in
    the file, so that files of other partitions can be ordered; the two bounds include it already. With
    ``keeps_marked``, rows that a deletion vector marks are deletes of their keys; otherwise they are skipped.
    """

    path: str
    schema_id: int
    partition: bytes
    file_name: str
    size: int
    row_count: int
    min_sequence: int
    max_sequence: int
    has_deletes: bool
    level: int = 0
    below: bool = False
    shift: int = 0
    keeps_marked: bool = False


@dataclass(frozen=True, slots=True)
class Before:
    """The state before: rows of files on ``level`` and above. Rows of files on lower levels are new."""

    level: int


@dataclass(frozen=True, slots=True)
class Touched:
    """The state before of keys with new rows: one row per key that existed. The numbers say which key a row has.

    ``after`` are the numbers of the keys of the merged rows, -1 for keys without new rows.
    """

    rows: pa.Table
    before: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Piece:
    """Merged rows with sequence number and kind, and the positions of the rows that they replace in files below.

    ``touched`` is the state before, if it was requested.
    """

    rows: pa.Table
    replaced: Mapping[str, npt.NDArray[np.int64]]
    touched: Touched | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The key columns of a file, and the positions of the rows in the file (only for files below).

    ``more`` contains further columns of these rows, if they were read already.
    """

    source: Source
    table: pa.Table
    positions: npt.NDArray[np.int64] | None = None
    more: pa.Table | None = None


@dataclass(frozen=True)
class Merger:
    """Merges files of one table for some columns. ``condition`` is tested before the merge, so it is on keys only.

    Without ``with_sequences`` the result may lack sequence numbers: they are not read if the order of the files
    decides. With ``before``, the pieces contain the state before.
    """

    store: TableStore
    schema: TableSchema
    columns: tuple[Field, ...]
    condition: pred.Node | None = None
    deleted: DeletedRows = field(default_factory=DeletedRows)
    with_sequences: bool = True
    before: Before | None = None

    @cached_property
    def spec(self) -> MergeSpec:
        return MergeSpec.of(self.schema)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        return self.schema.select(self.schema.trimmed_primary_key)

    def _system_columns(self, sources: Sequence[Source]) -> Sequence[str]:
        by_files = self.spec.picks_rows and not self.spec.sequence_fields and _ascend(sources)
        return (KIND_COLUMN,) if by_files and not self.with_sequences else SYSTEM_COLUMNS

    def merge(self, sources: Sequence[Source], budget: int) -> Iterator[Piece]:
        """Merge files, oldest first; in pieces of the key range if they exceed the budget in bytes."""
        total = sum(source.size for source in sources)
        for part in [None] if total <= budget else self._key_ranges(sources, -(-total // budget)):
            parts = [node for node in (part, self.condition) if node is not None]
            yield self._merge_range(sources, pred.conjunction(parts) if parts else None)

    def _key_ranges(self, sources: Sequence[Source], count: int) -> Iterator[pred.Node]:
        """Ranges of the first key column that split the rows about evenly."""
        first = self.keys[0]
        # A sample is enough: all rows may not fit into memory, which is why the merge is done in pieces.
        step = 1 + sum(source.size for source in sources) // _SAMPLED_BYTES
        column = pa.concat_tables([self._sample(source, first, step) for source in sources])[first.name]
        if not len(column):  # every row is marked as deleted
            return
        order = pc.sort_indices(column)
        cuts = pc.unique(column.take(order.take(pa.array([len(column) * i // count for i in range(1, count)]))))
        for low, high in zip([None, *cuts], [*cuts, None], strict=True):
            bounds = [(">=", low), ("<", high)]
            yield pred.conjunction(pred.Compare(first.name, op, cut) for op, cut in bounds if cut is not None)

    def _sample(self, source: Source, column: Field, step: int) -> pa.Table:
        rows = self.read(source, (column,), None, system=())
        return rows if step == 1 else rows.take(pa.array(np.arange(0, len(rows), step)))

    def _merge_range(self, sources: Sequence[Source], rows: pred.Node | None) -> Piece:
        system = self._system_columns(sources)
        return self._merge_heads([self._head(source, rows, system) for source in sources], rows)

    def _merge_heads(self, heads: Sequence[Head], rows: pred.Node | None) -> Piece:
        sources = [part.source for part in heads]
        head = pa.concat_tables([part.table for part in heads])
        order = order_versions(head, self.schema.trimmed_primary_key, self.spec, by_place=_ascend(sources))
        below = _per_row(heads, [source.below for source in sources]).astype(np.bool_)
        levels = _per_row(heads, [source.level for source in sources])
        replaced: dict[str, npt.NDArray[np.int64]] = {}
        if below.any():
            order, touched = without_untouched(order, below)
            replaced = _by_file(heads, touched & below)
        if self.spec.looks_up:
            order = without_covered(order, levels)
        if self.spec.picks_rows:
            table, numbers = self._pick(heads, head, order, below, rows)
        else:
            table, numbers = self._combine(heads, head, order, rows)
        if self.before is None:
            return Piece(table, replaced)
        return Piece(table, replaced, self._touched_by(heads, head, order, levels, numbers, rows))

    def _touched_by(
        self,
        heads: Sequence[Head],
        head: pa.Table,
        order: KeyOrder,
        levels: Ints,
        numbers: Ints,
        rows: pred.Node | None,
    ) -> Touched:
        """Return the rows before of keys that got new rows; ``numbers`` are the keys of the merged rows."""
        since = 0 if self.before is None else self.before.level
        group = group_of_row(order)
        is_old = levels[order.rows] >= since
        has_new = np.zeros(len(order.starts), np.bool_)
        has_new[group[~is_old]] = True
        old = is_old & has_new[group]
        mask = np.zeros(len(head), np.bool_)
        mask[order.rows[old]] = True
        key_of = np.full(len(head), NOWHERE, np.int64)
        key_of[order.rows] = group
        table = self._rows_of(heads, head, mask, rows)
        return Touched(table, key_of[mask], np.where(has_new[numbers], numbers, NOWHERE))

    def _pick(
        self, heads: Sequence[Head], head: pa.Table, order: KeyOrder, below: Mask, rows: pred.Node | None
    ) -> tuple[pa.Table, Ints]:
        """Return the winning rows with all columns, file by file, and the numbers of their keys if requested."""
        if self.spec.takes_last:
            winners = order.lasts
        else:
            winners = pick_rows(self.spec, head[KIND_COLUMN].to_numpy()[order.rows], order.starts)
        has_winner = winners >= 0
        winning = order.rows[winners if has_winner.all() else winners[has_winner]]
        chosen = np.zeros(len(head), np.bool_)
        chosen[winning] = True
        if self.spec.engine == "first-row":
            chosen &= ~below  # the key exists below, and its first row stays there
        table = self._rows_of(heads, head, chosen, rows)
        if self.before is None:
            return table, np.zeros(0, np.int64)
        key_of = np.full(len(head), NOWHERE, np.int64)
        key_of[winning] = np.flatnonzero(has_winner)
        return table, key_of[chosen]

    def _rows_of(self, heads: Sequence[Head], head: pa.Table, chosen: Mask, rows: pred.Node | None) -> pa.Table:
        """Return the chosen rows of files, and read their remaining columns."""
        rest = tuple(column for column in self.columns if column.name not in head.column_names)
        names = [*(column.name for column in self.columns), *(n for n in SYSTEM_COLUMNS if n in head.column_names)]
        tables, start = [], 0
        for part in heads:
            mask = chosen[start : start + len(part.table)]
            start += len(part.table)
            if mask.any():
                tables.append(self._fetched(part, rest, rows).filter(pa.array(mask)).select(names))
        if not tables:
            types = {
                **{c.name: field_to_arrow(c).type for c in self.columns},
                **dict(zip(SYSTEM_SCHEMA.names, SYSTEM_SCHEMA.types, strict=True)),
            }
            return pa.schema([(name, types[name]) for name in names]).empty_table()
        return pa.concat_tables(tables)

    def _combine(
        self, heads: Sequence[Head], head: pa.Table, order: KeyOrder, rows: pred.Node | None
    ) -> tuple[pa.Table, Ints]:
        """Merge all versions of the needed columns; return the rows and the numbers of the keys that have a result."""
        wanted = [column.name for column in self.columns]
        missing = [name for name in self.spec.inputs(wanted) if name not in head.column_names]
        fields = self.schema.select(tuple(missing))
        table = pa.concat_tables([self._fetched(part, fields, rows) for part in heads])
        ordered = SortedRows(table.take(pa.array(order.rows)), order.starts)
        return merge_rows(self.spec, ordered, wanted), keys_with_result(self.spec, ordered)

    # -------------------------------------------------------------------------------------------------- reading

    @cached_property
    def _head_fields(self) -> tuple[Field, ...]:
        return self.schema.select(tuple(dict.fromkeys((*self.schema.trimmed_primary_key, *self.spec.sequence_fields))))

    def _head(self, source: Source, rows: pred.Node | None, system: Sequence[str]) -> Head:
        fields = self._head_fields
        if not source.below:
            return Head(source, self.read(source, fields, rows, system=system))
        table, positions = self._numbered(source, fields, rows)
        return Head(source, table, positions)

    def _fetched(self, head: Head, fields: tuple[Field, ...], rows: pred.Node | None) -> pa.Table:
        """The key part of a file with more columns; the same rows in the same order."""
        if not fields:
            return head.table
        source = head.source
        if head.more is not None:
            more = head.more
        elif head.positions is None:
            more = self.read(source, fields, rows, system=())
        else:
            more = self._physical(source, fields, None, system=()).take(pa.array(head.positions))
        table = head.table
        for column in fields:
            table = table.append_column(column.name, more[column.name])
        return table

    def _numbered(
        self, source: Source, fields: tuple[Field, ...], rows: pred.Node | None
    ) -> tuple[pa.Table, npt.NDArray[np.int64]]:
        """Return the live rows of a file that satisfy a condition, and their positions in the file."""
        table = self._physical(source, fields, None)
        keep = np.ones(len(table), np.bool_)
        gone = self.deleted.positions(self.store, source.partition, source.file_name)
        if gone is not None:
            keep[gone] = False
        if rows is not None:
            keep &= pred.matches_rows(rows, table)
        return table.filter(pa.array(keep)), np.flatnonzero(keep)

    def read(
        self,
        source: Source,
        fields: tuple[Field, ...],
        rows: pred.Node | None,
        *,
        system: Sequence[str] = SYSTEM_COLUMNS,
    ) -> pa.Table:
        """Read columns of one file under their current names, without deleted rows and rows that fail the condition."""
        gone = self.deleted.positions(self.store, source.partition, source.file_name)
        if gone is None:
            return self._physical(source, fields, rows, system=system)
        extra = () if rows is None else tuple(c for c in self.schema.fields if c.name in pred.columns(rows))
        needed = tuple(dict.fromkeys((*fields, *extra)))
        table = self._physical(source, needed, None, system=system)
        table = _as_deletes(table, gone, source.path) if source.keeps_marked else without_rows(table, gone, source.path)
        if rows is not None:
            table = table.filter(pa.array(pred.matches_rows(rows, table)))
        return table.select([*(column.name for column in fields), *system])

    def _physical(
        self,
        source: Source,
        fields: tuple[Field, ...],
        rows: pred.Node | None,
        *,
        system: Sequence[str] = SYSTEM_COLUMNS,
    ) -> pa.Table:
        """Read rows of a file by its own columns; a condition that the file cannot answer is tested afterwards."""
        file_schema = self.store.schemas.get(source.schema_id)
        by_id = file_schema.fields_by_id
        pushed, decides = pushed_condition(rows, self.schema, by_id, [source.path])
        extra = () if rows is None or decides else pred.columns(rows) - {column.name for column in fields}
        needed = (*fields, *(column for column in self.schema.fields if column.name in extra))
        present = [by_id[column.id] for column in needed if column.id in by_id]
        names = [column.name for column in present] + list(system)
        stored = (*file_schema.fields, *SYSTEM_FIELDS)
        table = read_columns(self.store.storage, [source.path], stored, names, pushed)
        evolved = evolve(table, present, needed, where=f"table {self.store.name}")
        for name in system:
            moved = name == SEQUENCE_COLUMN and source.shift
            evolved = evolved.append_column(name, pc.add(table[name], source.shift) if moved else table[name])
        if rows is not None and not decides:
            evolved = evolved.filter(pa.array(pred.matches_rows(rows, evolved)))
        return evolved.select([*(column.name for column in fields), *system])


def _as_deletes(table: pa.Table, marked: Ints, path: str) -> pa.Table:
    """Turn the rows at some positions of a whole file into deletes of their keys."""
    if KIND_COLUMN not in table.column_names:
        return table
    kinds = np.where(marked_rows(table, marked, path), DELETE, table[KIND_COLUMN].to_numpy()).astype(np.int8)
    number = table.schema.get_field_index(KIND_COLUMN)
    return table.set_column(number, SYSTEM_SCHEMA.field(KIND_COLUMN), pa.array(kinds))


def _ascend(sources: Sequence[Source]) -> bool:
    """Whether the order of the files is that of their sequence numbers."""
    return in_sequence((source.min_sequence, source.max_sequence) for source in sources)


def _per_row(heads: Sequence[Head], values: Sequence[int]) -> Ints:
    """Repeat one value per file for each row of the file."""
    return np.repeat(np.array(values, np.int64), [len(part.table) for part in heads])


def _by_file(heads: Sequence[Head], marked: Mask) -> dict[str, npt.NDArray[np.int64]]:
    """Marked rows as physical positions in their files."""
    found: dict[str, npt.NDArray[np.int64]] = {}
    start = 0
    for part in heads:
        mask = marked[start : start + len(part.table)]
        start += len(part.table)
        if part.positions is not None and mask.any():
            found[part.source.file_name] = part.positions[mask]
    return found
