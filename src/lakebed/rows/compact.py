"""Compaction of primary-key tables: many overlapping files into few, as one change to be committed.

Reads the files of a unit through the same merge as a query, writes the result in key order one level down, and drops
deletes where nothing older lies below. Files are never touched: a compaction deletes and adds entries. On tables with
deletion vectors, rows of older files that are replaced are marked instead of rewritten; on first-row tables, rows whose key
is known already are dropped.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.deletion_vector import write_deletion_vectors
from lakebed.format.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest import ADD, DELETE, ENTRY_SCHEMA, NO_ENTRIES, SOURCE_COMPACT, as_deletes, entries_from_rows
from lakebed.metadata.commit import Change
from lakebed.metadata.levels import (
    CompactionOptions,
    CompactUnit,
    LevelFile,
    Rewrite,
    Upgrade,
    by_bucket,
    drops_deletes,
    level_files,
    plan_unit,
)
from lakebed.metadata.scan import partition_table
from lakebed.rows.data_file import RETRACTIONS, FileLayout, FilePlace, RollingFiles
from lakebed.rows.keyed_read import KeyedReader
from lakebed.rows.merge import KIND_COLUMN
from lakebed.rows.order import order_by_key

Pick = Callable[[Sequence[LevelFile], CompactionOptions], CompactUnit | None]


@dataclass(frozen=True, slots=True)
class BucketWork:
    """One bucket to compact: its live entries, its files (whose ``row`` counts in these entries), what was picked.

    ``index`` are its index files, where they travel with it.
    """

    entries: pa.Table
    files: tuple[LevelFile, ...]
    unit: CompactUnit
    index: tuple[IndexEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class BucketResult:
    """What the compaction of one bucket changes."""

    entries: pa.Table
    index: tuple[IndexEntry, ...]
    rewritten: int
    upgraded: int


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction will commit, and what it did."""

    change: Change
    buckets: int = 0
    rewritten: int = 0
    upgraded: int = 0


@dataclass
class Compactor:
    """Compacts buckets of one snapshot of a table."""

    layout: FileLayout
    reader: KeyedReader
    options: CompactionOptions
    index: Sequence[IndexEntry] = ()
    threads: int = 2
    _paths: list[str] = field(default_factory=list)

    def compact(self, entries: pa.Table, pick: Pick) -> Compaction:
        """Compact every bucket of these live entries for which ``pick`` finds work, on a few threads."""
        with ThreadPoolExecutor(self.threads) as pool:
            return joined(list(pool.map(self.run, self.plan(entries, pick))))

    def plan(self, entries: pa.Table, pick: Pick) -> list[BucketWork]:
        """What there is to do in the buckets of these live entries, a bucket at a time."""
        files = self._with_vectors(entries, level_files(entries, [key.type for key in self.reader.keys]))
        works = []
        for rows in by_bucket(entries):
            in_bucket = [replace(files[row], row=number) for number, row in enumerate(rows.tolist())]
            unit = pick(in_bucket, self._options(in_bucket))
            if unit is not None:
                works.append(BucketWork(entries.take(pa.array(rows)), tuple(in_bucket), unit))
        return works

    def run(self, work: BucketWork) -> BucketResult:
        """Compact one bucket."""
        return self._bucket(work.entries, work.files, work.unit)

    def abort(self) -> None:
        """Remove everything that was written."""
        for path in self._paths:
            with contextlib.suppress(Exception):
                self.layout.store.storage.delete(path)

    # ---------------------------------------------------------------------------------------------- one bucket

    def _options(self, files: Sequence[LevelFile]) -> CompactionOptions:
        """The options for a bucket: one that has more levels than they say, because they said more once, keeps them."""
        return replace(self.options, num_levels=max(self.options.num_levels, *(file.level + 1 for file in files)))

    def _bucket(self, entries: pa.Table, files: Sequence[LevelFile], unit: CompactUnit) -> BucketResult:
        in_unit = {file.row for file in unit.files}
        below = [file for file in files if file.row not in in_unit]
        drop = drops_deletes(unit, files) or self._marks
        place = self._place(entries, unit.files[0].row, unit.output_level)
        parts: list[pa.Table] = []
        marks: dict[str, np.ndarray] = {}
        gone: list[int] = []
        upgraded = 0
        for step in plan_unit(unit, self._options(files)):
            if isinstance(step, Upgrade) and not (self._looks_below and below):
                parts += _moved(entries, step.file, unit.output_level)
                upgraded += 1
                continue
            chosen = step.files if isinstance(step, Rewrite) else (step.file,)
            old = entries.take([file.row for file in chosen])
            new = self._rewrite(entries, chosen, below, place, drop=drop, marks=marks)
            parts += [as_deletes(old), _with_value(new, "total_buckets", old["total_buckets"][0].as_py())]
            gone += [file.row for file in chosen]
        index = self._index_changes(entries.take(gone), marks) if gone else ()
        table = pa.concat_tables(parts) if parts else NO_ENTRIES
        return BucketResult(table, index, len(gone), upgraded)

    @property
    def _marks(self) -> bool:
        return self.layout.options.deletion_vectors_enabled

    @property
    def _looks_below(self) -> bool:
        """Whether rows of older files have to be looked at: to mark them, or because the first row wins."""
        return self._marks or self.reader.spec.engine == "first-row"

    def _with_vectors(self, entries: pa.Table, files: Sequence[LevelFile]) -> list[LevelFile]:
        """Rows that a vector marks go for good in the highest level: for the planner these are files with deletes."""
        marked = self.reader.deleted.by_file
        if not marked:
            return list(files)
        names = zip(entries["partition"].to_pylist(), entries["file_name"].to_pylist(), strict=True)
        return [
            replace(file, has_deletes=file.has_deletes or name in marked)
            for file, name in zip(files, names, strict=True)
        ]

    def _place(self, entries: pa.Table, row: int, level: int) -> FilePlace:
        fields = self.layout.schema.partition_fields
        values: tuple[object, ...] = ()
        if fields:
            table = partition_table(entries["partition"].take([row]).combine_chunks(), fields)
            values = tuple(column[0].as_py() for column in table.columns)
        prefix = self.layout.options.data_file_prefix
        return FilePlace(values, entries["bucket"][row].as_py(), level, SOURCE_COMPACT, prefix)

    def _rewrite(
        self,
        entries: pa.Table,
        chosen: Sequence[LevelFile],
        below: Sequence[LevelFile],
        place: FilePlace,
        *,
        drop: bool,
        marks: dict[str, np.ndarray],
    ) -> pa.Table:
        older = [file for file in below if self._looks_below and _meets(file, chosen)]
        files = RollingFiles(self.layout, place, self._paths)
        try:
            for rows in self._merged(entries, chosen, older, marks):
                kept = (
                    rows.filter(pc.invert(pc.is_in(rows[KIND_COLUMN], pa.array(RETRACTIONS, pa.int8()))))
                    if drop
                    else rows
                )
                files.write(kept)
            made = files.close()
        except BaseException:
            files.discard()
            raise
        return entries_from_rows(made) if made else NO_ENTRIES

    def _merged(
        self, entries: pa.Table, chosen: Sequence[LevelFile], older: Sequence[LevelFile], marks: dict[str, np.ndarray]
    ) -> Iterator[pa.Table]:
        """The merged rows of the chosen files in key order, a piece of the key range at a time."""
        keys = [key.name for key in self.reader.keys]
        for piece in self.reader.merge_pieces(entries, chosen, older):
            for name, positions in piece.replaced.items():
                known = marks.get(name)
                marks[name] = positions if known is None else np.union1d(known, positions)
            order = order_by_key([piece.rows[name] for name in keys])
            yield piece.rows.take(pa.array(order.rows))

    # ----------------------------------------------------------------------------------------- deletion vectors

    def _index_changes(self, rewritten: pa.Table, marks: Mapping[str, np.ndarray]) -> tuple[IndexEntry, ...]:
        """One index file per bucket holds the vectors of all its files: written anew if any of them changed."""
        if not self._marks:
            return ()
        gone = set(rewritten["file_name"].to_pylist())
        partition, bucket = rewritten["partition"][0].as_py(), rewritten["bucket"][0].as_py()
        mine = [
            entry
            for entry in self.index
            if entry.index_type == DELETION_VECTORS and (entry.partition, entry.bucket) == (partition, bucket)
        ]
        before = {vector.file_name for entry in mine for vector in entry.vectors or ()}
        if not marks and not before & gone:
            return ()
        vectors = {
            name: positions
            for name in before - gone
            if (positions := self.reader.deleted.positions(self.layout.store, partition, name)) is not None
        }
        for name, positions in marks.items():
            vectors[name] = np.union1d(vectors.get(name, np.zeros(0, np.int64)), positions)
        removed = tuple(replace(entry, kind=DELETE) for entry in mine)
        if not vectors:
            return removed
        data, ranges = write_deletion_vectors(vectors)
        name = f"index-{self.layout.unique}-{next(self.layout.numbers)}"
        path = self.layout.store.paths.index(name)
        self._paths.append(path)
        self.layout.store.storage.write(path, data)
        found = tuple(ranges)
        return (
            *removed,
            IndexEntry(
                kind=ADD,
                partition=partition,
                bucket=bucket,
                index_type=DELETION_VECTORS,
                file_name=name,
                file_size=len(data),
                row_count=len(found),
                vectors=found,
            ),
        )


def joined(done: Sequence[BucketResult]) -> Compaction:
    """The results of all buckets as one change."""
    changed = [result for result in done if len(result.entries) or result.index]
    if not changed:
        return Compaction(Change())
    change = Change(
        entries=pa.concat_tables([result.entries for result in changed]),
        index=tuple(entry for result in changed for entry in result.index),
    )
    return Compaction(
        change,
        len(changed),
        sum(result.rewritten for result in changed),
        sum(result.upgraded for result in changed),
    )


def _moved(entries: pa.Table, file: LevelFile, level: int) -> list[pa.Table]:
    """A file on another level: the same entry deleted and added."""
    old = entries.slice(file.row, 1)
    return [as_deletes(old), _with_value(old, "level", level)]


def _with_value(entries: pa.Table, name: str, value: int) -> pa.Table:
    """Entries that all have this value in one of the columns of whole numbers."""
    position = ENTRY_SCHEMA.get_field_index(name)
    column = ENTRY_SCHEMA.field(position)
    return entries.set_column(position, column, pa.repeat(pa.scalar(value, column.type), len(entries)))


def _meets(file: LevelFile, others: Sequence[LevelFile]) -> bool:
    return any(file.low <= other.high and other.low <= file.high for other in others)
