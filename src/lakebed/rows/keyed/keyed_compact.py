"""Compaction of primary-key tables: many overlapping files become few, as one change to commit.

A compaction reads the files of a unit through the same merge as a query, writes the result in key order one level
down, and drops delete rows if nothing older is below. Existing files are not modified: a compaction only deletes and
adds entries.

* On tables with deletion vectors, replaced rows of older files are marked instead of rewritten.
* On first-row tables, rows whose key exists already are dropped.
* On tables that look keys up, the rows below are merged into the result.
* If compactions produce the changelog, the changes are written to changelog files beside the data
  (:mod:`lakebed.rows.keyed.changelog`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.index_files.deletion_vector import write_deletion_vectors
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import (
    ADD,
    DELETE,
    ENTRY_SCHEMA,
    NO_ENTRIES,
    SOURCE_APPEND,
    SOURCE_COMPACT,
    as_deletes,
    entries_from_rows,
)
from lakebed.format.partition_names import partition_table
from lakebed.format.row_kind import KIND_COLUMN, is_retraction
from lakebed.metadata.branch_roles import BranchRole, branch_role
from lakebed.metadata.commit.commit import Change
from lakebed.metadata.plan.levels import (
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
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.keyed.changelog import ChangelogRules, changes
from lakebed.rows.keyed.keyed_merge import Before
from lakebed.rows.keyed.keyed_read import KeyedReader
from lakebed.rows.order import order_by_key

Pick = Callable[[Sequence[LevelFile], CompactionOptions], CompactUnit | None]


@dataclass(frozen=True, slots=True)
class BucketWork:
    """One bucket to compact: its live entries, its files, and the files that were picked.

    ``row`` of a file is the number of its entry. ``index`` are the index files, if they are sent with the bucket.
    ``changelog`` says whether to write a changelog, if the table has one.
    """

    entries: pa.Table
    files: tuple[LevelFile, ...]
    unit: CompactUnit
    index: tuple[IndexEntry, ...] = ()
    changelog: bool = True


@dataclass(frozen=True, slots=True)
class BucketResult:
    """What the compaction of one bucket changes."""

    entries: pa.Table
    index: tuple[IndexEntry, ...]
    rewritten: int
    upgraded: int
    changelog: pa.Table = field(default_factory=lambda: NO_ENTRIES)


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
        """Compact every bucket of these live entries for which ``pick`` returns work, on a few threads."""
        with ThreadPoolExecutor(self.threads) as pool:
            return joined(list(pool.map(self.run, self.plan(entries, pick))))

    def plan(self, entries: pa.Table, pick: Pick, unlogged: AbstractSet[str] = frozenset()) -> list[BucketWork]:
        """Yield the work in these live entries, one bucket at a time.

        ``unlogged`` are names of files whose rows do not belong in a changelog, such as those of an overwrite.
        """
        found = level_files(entries, [key.type for key in self.reader.keys])
        if self.keeps_deletes:
            found = [replace(file, has_deletes=False) for file in found]  # so that no file is rewritten for its deletes
        files = self._with_vectors(entries, found)
        works = []
        for rows in by_bucket(entries):
            in_bucket = [replace(files[row], row=number) for number, row in enumerate(rows.tolist())]
            unit = pick(in_bucket, self._options(in_bucket))
            if unit is not None:
                work = BucketWork(entries.take(pa.array(rows)), tuple(in_bucket), unit)
                works.append(replace(work, changelog=self._is_logged(work, unlogged)))
        return works

    def run(self, work: BucketWork) -> BucketResult:
        """Compact one bucket."""
        return _BucketRun(self, work, self.keeps_deletes).result()

    def abort(self) -> None:
        """Delete all files that were written."""
        for path in self._paths:
            with contextlib.suppress(Exception):
                self.layout.store.storage.delete(path)

    # ---------------------------------------------------------------------------------------------- one bucket

    def _options(self, files: Sequence[LevelFile]) -> CompactionOptions:
        """Return the options for a bucket. A bucket with more levels than the options allow now keeps its levels."""
        return replace(self.options, num_levels=max(self.options.num_levels, *(file.level + 1 for file in files)))

    @cached_property
    def rules(self) -> ChangelogRules:
        return ChangelogRules.of(self.layout.schema)

    def _before(self, work: BucketWork) -> Before | None:
        """Return which files are the state before, for the changelog of a bucket; ``None`` if it has none."""
        max_level = self._options(work.files).max_level
        return self.rules.before(work.unit.output_level, max_level) if work.changelog else None

    def _is_logged(self, work: BucketWork, unlogged: AbstractSet[str]) -> bool:
        before = self._before(work)
        if before is None or not unlogged:
            return before is not None
        new = [file.row for file in work.unit.files if file.level < before.level]
        return not unlogged >= set(work.entries["file_name"].take(new).to_pylist())

    @cached_property
    def _role(self) -> BranchRole:
        return branch_role(self.layout.schema.options, self.layout.store.paths.branch)

    @property
    def keeps_deletes(self) -> bool:
        """Whether deletes are never dropped, because they also apply to rows of other partitions."""
        return self._role.keeps_deletes

    @property
    def keeps_empty(self) -> bool:
        """Whether deletes are kept if nothing else is left of a partition, because the partition must not disappear."""
        return self._role.keeps_empty_partitions

    @property
    def _marks(self) -> bool:
        return self.layout.options.deletion_vectors_enabled

    def _with_vectors(self, entries: pa.Table, files: Sequence[LevelFile]) -> list[LevelFile]:
        """Mark files with deletion vectors as files with deletes.

        A rewrite to the highest level then removes the marked rows.
        """
        marked = self.reader.deleted.by_file
        if not marked:
            return list(files)
        names = zip(entries["partition"].to_pylist(), entries["file_name"].to_pylist(), strict=True)
        return [
            replace(file, has_deletes=file.has_deletes or name in marked)
            for file, name in zip(files, names, strict=True)
        ]

    # ----------------------------------------------------------------------------------------- deletion vectors

    def _index_changes(self, rewritten: pa.Table, marks: Mapping[str, np.ndarray]) -> tuple[IndexEntry, ...]:
        """Rewrite the index file of each bucket whose vectors changed; one index file has the vectors of all files."""
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


@dataclass
class _BucketRun:
    """The compaction of one bucket, step by step."""

    compactor: Compactor
    work: BucketWork
    keeps_deletes: bool
    marks: dict[str, np.ndarray] = field(default_factory=dict)

    def result(self) -> BucketResult:
        entries, unit = self.work.entries, self.work.unit
        options = self.compactor._options(self.work.files)  # noqa: SLF001 - one unit
        parts: list[pa.Table] = []
        gone: list[int] = []
        upgraded = 0
        try:
            for step in plan_unit(unit, options):
                chosen = step.files if isinstance(step, Rewrite) else (step.file,)
                older = self._older(chosen)
                if isinstance(step, Upgrade) and not self._must_rewrite(step.file, older):
                    parts += _moved(entries, step.file, unit.output_level)
                    upgraded += 1
                    if self._is_new(chosen):
                        for _ in self._merged(chosen, older):
                            pass
                    continue
                old = entries.take([file.row for file in chosen])
                parts += [as_deletes(old), self._counted(self._rewrite(chosen, older))]
                gone += [file.row for file in chosen]
            changelog = self._counted(_entries_of(self._changelog))
        except BaseException:
            self._changelog.discard()
            raise
        table = pa.concat_tables(parts) if parts else NO_ENTRIES
        is_empty = len(gone) == len(entries) and not pc.any(pc.equal(table["kind"], ADD)).as_py()
        if is_empty and self.compactor.keeps_empty and not self.keeps_deletes:
            return replace(self, keeps_deletes=True, marks={}).result()
        index = self.compactor._index_changes(entries.take(gone), self.marks) if gone else ()  # noqa: SLF001 - one unit
        return BucketResult(table, index, len(gone), upgraded, changelog)

    @property
    def _marks(self) -> bool:
        return self.compactor.layout.options.deletion_vectors_enabled

    @cached_property
    def _drops_deletes(self) -> bool:
        if self.keeps_deletes:
            return False
        return drops_deletes(self.work.unit, self.work.files) or self._marks

    @cached_property
    def _before(self) -> Before | None:
        return self.compactor._before(self.work)  # noqa: SLF001 - one unit

    def _is_new(self, chosen: Sequence[LevelFile]) -> bool:
        """Whether files have rows that belong in the changelog."""
        before = self._before
        return before is not None and any(file.level < before.level for file in chosen)

    def _older(self, chosen: Sequence[LevelFile]) -> list[LevelFile]:
        """Return the files below that have to be read: to mark rows, to know the state before, or to merge them in.

        If they are not marked, rows above level 0 already contain what is below.
        """
        spec = self.compactor.reader.spec
        if not spec.looks_up or not (self._marks or any(file.level == 0 for file in chosen)):
            return []
        in_unit = {file.row for file in self.work.unit.files}
        return [file for file in self.work.files if file.row not in in_unit and _meets(file, chosen)]

    def _must_rewrite(self, file: LevelFile, older: Sequence[LevelFile]) -> bool:
        """Whether older files change the result of a file's rows; with vectors there are no deletes above level 0."""
        spec = self.compactor.reader.spec
        newest_wins = spec.engine == "deduplicate" and not spec.sequence_fields
        return (self._marks and file.has_deletes) or (bool(older) and (self._marks or not newest_wins))

    def _rewrite(self, chosen: Sequence[LevelFile], older: Sequence[LevelFile]) -> pa.Table:
        files = self._files(self.compactor.layout.options.data_file_prefix, SOURCE_COMPACT)
        try:
            for rows in self._merged(chosen, older):
                kept = (
                    rows.filter(pa.array(~is_retraction(rows[KIND_COLUMN].to_numpy()))) if self._drops_deletes else rows
                )
                files.write(kept)
            return _entries_of(files)
        except BaseException:
            files.discard()
            raise

    def _merged(self, chosen: Sequence[LevelFile], older: Sequence[LevelFile]) -> Iterator[pa.Table]:
        """Yield the merged rows of the chosen files in key order, one piece of the key range at a time.

        The changes go to the changelog, and the replaced rows of older files are recorded.
        """
        reader = self.compactor.reader
        keys = [key.name for key in reader.keys]
        before = self._before if self._is_new(chosen) else None
        keeps_marked = self.keeps_deletes
        for piece in reader.merge_pieces(self.work.entries, chosen, older, before, keeps_marked=keeps_marked):
            for name, positions in piece.replaced.items():
                known = self.marks.get(name)
                self.marks[name] = positions if known is None else np.union1d(known, positions)
            if before is not None:
                self._changelog.write(changes(piece, self.compactor.rules))
            order = order_by_key([piece.rows[name] for name in keys])
            yield piece.rows.take(pa.array(order.rows))

    @cached_property
    def _changelog(self) -> RollingFiles:
        return self._files(self.compactor.layout.options.changelog_file_prefix, SOURCE_APPEND)

    def _files(self, prefix: str, source: int) -> RollingFiles:
        layout, first = self.compactor.layout, self.work.entries.slice(0, 1)
        fields = layout.schema.partition_fields
        values: tuple[object, ...] = ()
        if fields:
            table = partition_table(first["partition"].combine_chunks(), fields)
            values = tuple(column[0].as_py() for column in table.columns)
        place = FilePlace(values, first["bucket"][0].as_py(), self.work.unit.output_level, source, prefix)
        return RollingFiles(layout, place, self.compactor._paths)  # noqa: SLF001 - one unit

    def _counted(self, made: pa.Table) -> pa.Table:
        """Set the total number of buckets of new entries to that of the files they are made of."""
        return _with_value(made, "total_buckets", self.work.entries["total_buckets"][0].as_py())


def _entries_of(files: RollingFiles) -> pa.Table:
    made = files.close()
    return entries_from_rows(made) if made else NO_ENTRIES


def joined(done: Sequence[BucketResult]) -> Compaction:
    """The results of all buckets as one change."""
    changed = [result for result in done if len(result.entries) or result.index]
    if not changed:
        return Compaction(Change())
    change = Change(
        entries=pa.concat_tables([result.entries for result in changed]),
        changelog=pa.concat_tables([result.changelog for result in changed]),
        index=tuple(entry for result in changed for entry in result.index),
    )
    return Compaction(
        change,
        len(changed),
        sum(result.rewritten for result in changed),
        sum(result.upgraded for result in changed),
    )


def _moved(entries: pa.Table, file: LevelFile, level: int) -> list[pa.Table]:
    """Move a file to another level: delete and add its entry."""
    old = entries.slice(file.row, 1)
    return [as_deletes(old), _with_value(old, "level", level)]


def _with_value(entries: pa.Table, name: str, value: int) -> pa.Table:
    """Set a column of whole numbers to one value in all entries."""
    position = ENTRY_SCHEMA.get_field_index(name)
    column = ENTRY_SCHEMA.field(position)
    return entries.set_column(position, column, pa.repeat(pa.scalar(value, column.type), len(entries)))


def _meets(file: LevelFile, others: Sequence[LevelFile]) -> bool:
    return any(file.low <= other.high and other.low <= file.high for other in others)
