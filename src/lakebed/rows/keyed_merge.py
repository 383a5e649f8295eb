"""The merge of files of one bucket that share keys: one row per key out of many versions.

Keys, sequence numbers and kinds are read first and sorted. Engines that pick one of the versions then fetch the other
columns for the winning rows only, file by file; the others read what they combine. Files that lie *below* a compaction are
only looked at: their rows count for keys that the compaction touches, and it is reported which of them are replaced.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred
from lakebed.format.schema import TableSchema
from lakebed.format.types import Field, field_to_arrow
from lakebed.metadata.store import TableStore
from lakebed.rows.evolve import evolve
from lakebed.rows.merge import KIND_COLUMN, SEQUENCE_COLUMN, MergeSpec, SortedRows, merge_rows, pick_rows
from lakebed.rows.order import KeyOrder, order_by_key
from lakebed.rows.parquet import pushed_condition, read_parquet, without_rows
from lakebed.rows.read import DeletedRows

Mask: TypeAlias = npt.NDArray[np.bool_]

SYSTEM_SCHEMA: Final = pa.schema([pa.field(SEQUENCE_COLUMN, pa.int64()), pa.field(KIND_COLUMN, pa.int8())])
SYSTEM_COLUMNS: Final = tuple(SYSTEM_SCHEMA.names)
_SAMPLED_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """One data file and what is known of it; ``below`` marks one that a compaction only looks at."""

    path: str
    schema_id: int
    partition: bytes
    file_name: str
    size: int
    min_sequence: int
    max_sequence: int
    has_deletes: bool
    below: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Merged rows with sequence number and kind, and the physical rows of files below that they replace."""

    rows: pa.Table
    replaced: Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class _Head:
    """The key part of a file: its rows, and where they lie in the file (only for files below)."""

    source: Source
    table: pa.Table
    positions: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Merger:
    """Merges files of one table for some columns. ``condition`` is tested before the merge and so is about keys only.

    Without ``with_sequences`` the result may lack sequence numbers: they are not read where the order of files tells which
    version is newer.
    """

    store: TableStore
    schema: TableSchema
    columns: tuple[Field, ...]
    condition: pred.Node | None = None
    deleted: DeletedRows = field(default_factory=DeletedRows)
    with_sequences: bool = True

    @cached_property
    def spec(self) -> MergeSpec:
        return MergeSpec.of(self.schema)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        return self.schema.select(self.schema.trimmed_primary_key)

    def _system_columns(self, sources: Sequence[Source]) -> Sequence[str]:
        by_files = self.spec.picks_rows and not self.spec.sequence_fields and _in_sequence(sources)
        return (KIND_COLUMN,) if by_files and not self.with_sequences else SYSTEM_COLUMNS

    def merge(self, sources: Sequence[Source], budget: int) -> Iterator[Piece]:
        """Merge files, oldest first; in pieces of the key range if they are larger than the budget in bytes."""
        total = sum(source.size for source in sources)
        for part in [None] if total <= budget else self._key_ranges(sources, -(-total // budget)):
            parts = [node for node in (part, self.condition) if node is not None]
            yield self._merge_range(sources, pred.conjunction(parts) if parts else None)

    def _key_ranges(self, sources: Sequence[Source], count: int) -> Iterator[pred.Node]:
        """Ranges of the first key column that split the rows about evenly."""
        first = self.keys[0]
        # Every so many rows will do: all of them may not fit into memory, which merging in pieces is there to save.
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
        heads = [self._head(source, rows, system) for source in sources]
        head = pa.concat_tables([part.table for part in heads])
        order = self._order(head, sources)
        below = np.concatenate([np.full(len(part.table), part.source.below) for part in heads])
        replaced: dict[str, npt.NDArray[np.int64]] = {}
        if below.any():
            order, touched = _touched(order, below)
            replaced = _by_file(heads, touched & below)
        if self.spec.picks_rows:
            return Piece(self._pick(heads, head, order, below, rows), replaced)
        return Piece(self._combine(heads, head, order, rows), replaced)

    def _order(self, head: pa.Table, sources: Sequence[Source]) -> KeyOrder:
        direction = "descending" if self.spec.sequence_descending else "ascending"
        then_by: list[tuple[pa.ChunkedArray, str]] = [(head[name], direction) for name in self.spec.sequence_fields]
        if then_by or not _in_sequence(sources):
            then_by.append((head[SEQUENCE_COLUMN], "ascending"))
        return order_by_key([head[key.name] for key in self.keys], then_by)

    def _pick(
        self, heads: Sequence[_Head], head: pa.Table, order: KeyOrder, below: Mask, rows: pred.Node | None
    ) -> pa.Table:
        """The winning rows, file by file, with their remaining columns fetched."""
        winners = pick_rows(self.spec, head[KIND_COLUMN].to_numpy()[order.rows], order.starts)
        chosen = np.zeros(len(head), np.bool_)
        chosen[order.rows[winners[winners >= 0]]] = True
        if self.spec.engine == "first-row":
            chosen &= ~below  # the key is known below, and its first row stays there
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

    def _combine(self, heads: Sequence[_Head], head: pa.Table, order: KeyOrder, rows: pred.Node | None) -> pa.Table:
        """All versions of every column that the engine needs, merged."""
        wanted = [column.name for column in self.columns]
        missing = [name for name in self.spec.inputs(wanted) if name not in head.column_names]
        fields = self.schema.select(tuple(missing))
        table = pa.concat_tables([self._fetched(part, fields, rows) for part in heads])
        ordered = SortedRows(table.take(pa.array(order.rows)), order.starts)
        return merge_rows(self.spec, ordered, wanted)

    # -------------------------------------------------------------------------------------------------- reading

    def _head(self, source: Source, rows: pred.Node | None, system: Sequence[str]) -> _Head:
        names = dict.fromkeys((*self.schema.trimmed_primary_key, *self.spec.sequence_fields))
        fields = self.schema.select(tuple(names))
        if not source.below:
            return _Head(source, self.read(source, fields, rows, system=system))
        table, positions = self._numbered(source, fields, rows)
        return _Head(source, table, positions)

    def _fetched(self, head: _Head, fields: tuple[Field, ...], rows: pred.Node | None) -> pa.Table:
        """The key part of a file with more columns; the same rows in the same order."""
        if not fields:
            return head.table
        source = head.source
        if head.positions is None:
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
        """Live rows of a file that satisfy a condition, and their places in the file."""
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
        """Columns of one file as the query names them, without deleted rows and without rows that fail the condition."""
        gone = self.deleted.positions(self.store, source.partition, source.file_name)
        if gone is None:
            return self._physical(source, fields, rows, system=system)
        extra = () if rows is None else tuple(c for c in self.schema.fields if c.name in pred.columns(rows))
        needed = tuple(dict.fromkeys((*fields, *extra)))
        table = without_rows(self._physical(source, needed, None, system=system), gone, source.path)
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
        """Rows of a file by its own columns; a condition that the file cannot answer is tested afterwards."""
        file_schema = self.store.schemas.get(source.schema_id)
        by_id = file_schema.fields_by_id
        pushed, decides = pushed_condition(rows, self.schema, by_id)
        extra = () if rows is None or decides else pred.columns(rows) - {column.name for column in fields}
        needed = (*fields, *(column for column in self.schema.fields if column.name in extra))
        present = [by_id[column.id] for column in needed if column.id in by_id]
        names = [column.name for column in present] + list(system)
        arrow = pa.schema([field_to_arrow(column).with_nullable(True) for column in file_schema.fields])
        stored = pa.schema([*arrow, *SYSTEM_SCHEMA])
        table = read_parquet(self.store.storage, [source.path], stored, names, pushed)
        evolved = evolve(table, present, needed, where=f"table {self.store.name}")
        for name in system:
            evolved = evolved.append_column(name, table[name])
        if rows is not None and not decides:
            evolved = evolved.filter(pa.array(pred.matches_rows(rows, evolved)))
        return evolved.select([*(column.name for column in fields), *system])


def _in_sequence(sources: Sequence[Source]) -> bool:
    """Whether files follow each other in sequence, so that their order alone is the order of versions."""
    return all(a.max_sequence < b.min_sequence for a, b in itertools.pairwise(sources))


def _touched(order: KeyOrder, below: Mask) -> tuple[KeyOrder, Mask]:
    """The order without keys that only files below hold, and which rows belong to the keys that are left."""
    group = np.repeat(np.arange(len(order.starts)), np.diff(np.append(order.starts, len(order.rows))))
    above = ~below[order.rows]
    keep_group = np.zeros(len(order.starts), np.bool_)
    keep_group[group[above]] = True
    keep = keep_group[group]
    rows = order.rows[keep]
    left = group[keep]
    starts = np.flatnonzero(np.append(True, left[1:] != left[:-1])) if len(left) else np.zeros(0, np.int64)
    touched = np.zeros(len(below), np.bool_)
    touched[rows] = True
    return KeyOrder(rows, starts.astype(np.int64)), touched


def _by_file(heads: Sequence[_Head], marked: Mask) -> dict[str, npt.NDArray[np.int64]]:
    """Marked rows as physical positions in their files."""
    found: dict[str, npt.NDArray[np.int64]] = {}
    start = 0
    for part in heads:
        mask = marked[start : start + len(part.table)]
        start += len(part.table)
        if part.positions is not None and mask.any():
            found[part.source.file_name] = part.positions[mask]
    return found
