"""Reads files of primary-key tables: entries in, current rows out.

Files whose key ranges overlap with no other file are read as they are. The others are merged. Conditions on keys are
tested before the merge, other conditions after it, because an old version of a row may match where the current one
does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import pyarrow as pa

from lakebed.format import predicate as pred
from lakebed.format.row_kind import KIND_COLUMN, is_retraction
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.plan.levels import LevelFile, by_bucket, level_files, oldest_first, sections
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.files.file_reader import DeletedRows, FileReader, data_file_paths, needed_columns
from lakebed.rows.keyed.keyed_merge import SYSTEM_SCHEMA, Before, Merger, Piece, Source
from lakebed.rows.keyed.read_merge import ReadMerger
from lakebed.rows.merge_engines.merge_rows import MergeSpec

MERGE_BUDGET: Final = 512 * 1024 * 1024
"""Bytes of files that are merged at once; more are merged in pieces of their key range."""


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Files to read together: overlapping files to merge, oldest first, or files that overlap with no other.

    ``rows`` are the numbers of their entries.
    """

    sources: tuple[Source, ...]
    rows: tuple[int, ...]
    merge: bool

    @property
    def plain(self) -> bool:
        """Whether the rows are those of the files, as they are."""
        return not self.merge and not self.sources[0].has_deletes


@dataclass(frozen=True)
class KeyedReader:
    """Reads files of one primary-key table for one query."""

    store: TableStore
    schema: TableSchema
    columns: tuple[Field, ...]
    predicate: pred.Node | None = None
    deleted: DeletedRows = field(default_factory=DeletedRows)
    budget: int = MERGE_BUDGET
    threads: int = 2

    @cached_property
    def spec(self) -> MergeSpec:
        return MergeSpec.of(self.schema)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        return self.schema.select(self.schema.trimmed_primary_key)

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema([field_to_arrow(column) for column in self.columns])

    def read(self, entries: pa.Table) -> pa.Table:
        """All current rows of these files that satisfy the predicate, in no particular order."""
        return self._as_declared(list(self._tables(entries)))

    def read_with_kinds(self, entries: pa.Table) -> pa.Table:
        """The merged rows of these files with sequence numbers and kinds, retractions included."""
        pieces = [piece.rows for job in self.jobs(entries) for piece in self._pieces(job)]
        schema = pa.schema([*self.arrow_schema, *SYSTEM_SCHEMA])
        if not pieces:
            return schema.empty_table()
        return pa.concat_tables([pa.Table.from_arrays(p.select(schema.names).columns, schema=schema) for p in pieces])

    def _pieces(self, job: ReadJob) -> Iterator[Piece]:
        merger = self._merger(self.columns)
        if job.merge:
            yield from merger.merge(job.sources, self.budget)
        else:
            for source in job.sources:
                yield Piece(merger.read(source, self.columns, None), {})

    def batches(self, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        """The same rows, a batch at a time, with memory for one file or one piece of a merge."""
        for job in self.jobs(entries):
            if job.plain:
                yield from self._file_reader.batches(entries.take(list(job.rows)))
                continue
            for table in self._run(entries, job):
                yield from self._as_declared([table]).to_batches()

    def file_rows(self, entry: pa.Table, fields: tuple[Field, ...], *, system: bool = False) -> pa.Table:
        """The rows of one file without those that a deletion vector marks, in the order of the file.

        With ``system`` they have their sequence numbers and kinds.
        """
        names = SYSTEM_SCHEMA.names if system else ()
        return self._merger(fields).read(self._sources(entry)[0], fields, None, system=names)

    def merge_pieces(
        self,
        entries: pa.Table,
        chosen: Sequence[LevelFile],
        below: Sequence[LevelFile],
        before: Before | None = None,
        *,
        keeps_marked: bool = False,
    ) -> Iterator[Piece]:
        """Yield the merged rows of the chosen files of a compaction, with all columns and retractions.

        ``keeps_marked``: rows of these files that a deletion vector marks become deletes.
        """
        sources = self._sources(entries)
        low = {file.row for file in below}
        ordered = [
            replace(sources[f.row], below=f.row in low, keeps_marked=keeps_marked and f.row not in low)
            for f in oldest_first([*chosen, *below])
        ]
        return replace(self._merger(self.columns), before=before).merge(ordered, self.budget)

    def _as_declared(self, tables: Sequence[pa.Table]) -> pa.Table:
        schema = self.arrow_schema
        if not tables:
            return schema.empty_table()
        parts = [table.select(schema.names) for table in tables]
        return pa.concat_tables([pa.Table.from_arrays(part.columns, schema=schema) for part in parts])

    # ------------------------------------------------------------------------------------------------- planning

    def jobs(self, entries: pa.Table) -> list[ReadJob]:
        """Return what to read together: files that overlap with no other, and sets of files to merge."""
        files = level_files(entries, [key.type for key in self.keys])
        sources = self._sources(entries)
        alone: list[int] = []
        merges: list[list[LevelFile]] = []
        for rows in by_bucket(entries):
            in_bucket = [files[row] for row in rows.tolist()]
            if self._each_key_once:
                alone += [file.row for file in in_bucket]
                continue
            found = sections(in_bucket)
            alone += [section[0].row for section in found if len(section) == 1]
            merges += self._packed([section for section in found if len(section) > 1])
        jobs = [
            ReadJob(tuple(sources[file.row] for file in group), tuple(file.row for file in group), merge=True)
            for group in map(oldest_first, merges)
        ]
        plain = [row for row in sorted(alone) if not sources[row].has_deletes]
        jobs += [ReadJob((sources[row],), (row,), merge=False) for row in sorted(alone) if sources[row].has_deletes]
        if plain:
            jobs.append(ReadJob(tuple(sources[row] for row in plain), tuple(plain), merge=False))
        return jobs

    @cached_property
    def _each_key_once(self) -> bool:
        """Whether compaction leaves each key in one live row above level 0, so that no merge is needed there."""
        return TableOptions(self.schema.options).skips_level0

    def _packed(self, found: Sequence[list[LevelFile]]) -> Iterator[list[LevelFile]]:
        """Combine neighbouring sections up to the budget, because starting a merge has a cost."""
        waiting: list[LevelFile] = []
        for section in found:
            if waiting and sum(file.size for file in [*waiting, *section]) > self.budget:
                yield waiting
                waiting = []
            waiting = [*waiting, *section]
        if waiting:
            yield waiting

    def _sources(self, entries: pa.Table) -> list[Source]:
        columns = [
            data_file_paths(self.store, self.schema, entries),
            *(
                entries[name].to_pylist()
                for name in (
                    "schema_id",
                    "partition",
                    "file_name",
                    "file_size",
                    "row_count",
                    "min_sequence_number",
                    "max_sequence_number",
                )
            ),
            [count is None or count > 0 for count in entries["delete_row_count"].to_pylist()],
            entries["level"].to_pylist(),
        ]
        return [Source(*values) for values in zip(*columns, strict=True)]

    # -------------------------------------------------------------------------------------------------- running

    def _tables(self, entries: pa.Table) -> Iterator[pa.Table]:
        jobs = self.jobs(entries)
        if len(jobs) <= 1:
            for job in jobs:
                yield from self._run(entries, job)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            for tables in pool.map(lambda job: list(self._run(entries, job)), jobs):
                yield from tables

    def _run(self, entries: pa.Table, job: ReadJob) -> Iterator[pa.Table]:
        if job.plain:
            yield self._file_reader.read(entries.take(list(job.rows)))
            return
        wanted = self._wanted()
        if job.merge:
            merger = ReadMerger.of(self._merger(wanted))
            pieces: Iterator[pa.Table] = (piece.rows for piece in merger.merge(job.sources, self.budget))
        else:
            pieces = iter([self._merger(wanted).read(job.sources[0], wanted, self.predicate)])
        for rows in pieces:
            gone = is_retraction(rows[KIND_COLUMN].to_numpy())
            live = rows.filter(pa.array(~gone)) if gone.any() else rows
            yield live if self.predicate is None else live.filter(pa.array(pred.matches_rows(self.predicate, live)))

    @property
    def _file_reader(self) -> FileReader:
        return FileReader(self.store, self.schema, self.columns, self.predicate, self.deleted)

    def _merger(self, columns: tuple[Field, ...]) -> Merger:
        condition = None
        if self.predicate is not None:  # all versions of a row have the same key
            implied = pred.implied(self.predicate, self.schema.primary_keys)
            condition = None if implied == pred.TRUE else implied
        return Merger(self.store, self.schema, columns, condition, self.deleted)

    def _wanted(self) -> tuple[Field, ...]:
        """The columns asked for, and those that only the predicate reads."""
        return needed_columns(self.columns, self.predicate, self.schema)
