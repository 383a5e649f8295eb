"""Read the changes between two snapshots; the reads have the interface of :class:`lakebed.operations.read.BranchRead`.

* ``delta``: the rows of the files that APPEND commits added, as they were written. Compactions change no rows, and
  overwrites are skipped, as in Paimon.
* ``changelog``: the rows of the changelog files; overwrites are skipped too.
* ``diff``: the rows of the later snapshot that the earlier one does not have: new rows, and changed rows with their new
  values. Only files that are not in both snapshots, and files whose key ranges overlap those, are read.

None of them returns deleted rows. In the first two a key may occur more than once, once per change. The columns are the
current ones of the table. :meth:`IncrementalRead.with_kinds` returns every row with its kind instead, in the order of
the commits, including deleted rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.bucket_pruning import buckets_of
from lakebed.format import predicate as pred
from lakebed.format.manifest.manifest import ADD, NO_ENTRIES
from lakebed.format.row_kind import DELETE, INSERT, KIND_COLUMN, repeated_kind
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import PruneStep, ReadManifests, ScanMode, ScanRequest, ScanResult, scan
from lakebed.metadata.plan.interval import Interval, Mode
from lakebed.metadata.plan.levels import by_bucket, level_files, sections
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compaction_rules import skips_level0
from lakebed.operations.read import BranchRead, PlanOnce
from lakebed.options import TableOptions
from lakebed.rows.difference import not_in
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.keyed.keyed_merge import SYSTEM_SCHEMA, Source
from lakebed.rows.keyed.keyed_read import KeyedReader, ReadJob
from lakebed.storage import run_together

Rows: TypeAlias = npt.NDArray[np.int64]

_SIDE: Final = "_SIDE"
_LEVEL_BEFORE: Final = "_LEVEL_BEFORE"
_BEFORE: Final = 1
_AFTER: Final = 2


@dataclass(frozen=True)
class IncrementalRead:
    """A read of the changes in one interval of the history of a branch."""

    store: TableStore
    schema: TableSchema
    interval: Interval
    columns: tuple[Field, ...]
    predicate: pred.Node | None
    read_manifests: ReadManifests | None = None
    planned: PlanOnce = field(default_factory=PlanOnce, init=False, repr=False, compare=False)

    @property
    def result(self) -> ScanResult:
        """The files to read, and how planning came to them."""
        return self.planned.get(self._plan)

    def _plan(self) -> ScanResult:
        if self.interval.is_empty:
            return ScanResult(NO_ENTRIES)
        return self._differing if self.interval.mode is Mode.DIFF else self._added

    @cached_property
    def deleted(self) -> DeletedRows:
        """The rows that deletion vectors mark.

        Only ``diff`` applies them, other modes read rows as they were written.
        """
        return self._after.deleted if self.interval.mode is Mode.DIFF else DeletedRows()

    @cached_property
    def reader(self) -> FileReader | KeyedReader:
        if self.interval.mode is Mode.DIFF:
            return DifferenceReader(
                self.store, self.schema, self.columns, self.predicate, self.deleted, before=self._before.deleted
            )
        kind = UnmergedReader if self.schema.primary_keys else FileReader
        return kind(self.store, self.schema, self.columns, self.predicate)

    def to_arrow(self) -> pa.Table:
        return self.reader.read(self.result.entries)

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.reader.batches(self.result.entries)

    def with_kinds(self) -> pa.Table:
        """Returns all changes with sequence number (null if rows have none), kind, and the number of their commit.

        In mode ``diff`` a new or changed row is +I, and a row whose key does not exist any more is -D.
        """
        reader, entries = self.reader, self.result.entries
        if isinstance(reader, UnmergedReader):
            counts = np.array([len(commit.entries) for commit in self._commits], np.int64)
            commits = np.repeat(np.arange(len(counts)), counts)
            return reader.read_commits(entries, commits)
        if isinstance(reader, DifferenceReader):
            return reader.read_with_kinds(entries)
        return as_inserts(reader.read(entries))

    # -------------------------------------------------------------------------------------------- delta and changelog

    @property
    def _added(self) -> ScanResult:
        """Returns the files that the commits of the interval added, in the order of the commits."""
        found = self._commits
        steps = [PruneStep("snapshots by kind of commit", len(self._snapshots), len(found)), *_summed(found)]
        return ScanResult(pa.concat_tables([NO_ENTRIES, *(commit.entries for commit in found)]), tuple(steps))

    @cached_property
    def _snapshots(self) -> list[Snapshot]:
        return self.interval.snapshots(self.store)

    @cached_property
    def _commits(self) -> list[ScanResult]:
        """The files that each commit with changes added."""
        is_delta = self.interval.mode is Mode.DELTA
        options = TableOptions(self.schema.options)
        buckets = buckets_of(self.predicate, self.schema, options.bucket_function)

        def planned(snapshot: Snapshot) -> ScanResult:
            mode = ScanMode.DELTA if is_delta else ScanMode.CHANGELOG
            request = ScanRequest(
                snapshot=snapshot, schema=self.schema, mode=mode, predicate=self.predicate, buckets_of=buckets
            )
            found = scan(self.store, request)
            return replace(found, entries=found.entries.filter(pc.equal(found.entries["kind"], ADD)))

        wanted = [snapshot for snapshot in self._snapshots if _has_changes(snapshot, is_delta=is_delta)]
        return run_together([partial(planned, snapshot) for snapshot in wanted], 8)

    # ----------------------------------------------------------------------------------------------------------- diff

    @cached_property
    def _before(self) -> BranchRead:
        return self._state(self.interval.start)

    @cached_property
    def _after(self) -> BranchRead:
        return self._state(self.interval.end)

    def _state(self, snapshot: Snapshot | None) -> BranchRead:
        return BranchRead(
            self.store, self.schema, snapshot, self.schema.fields, self.predicate, read_manifests=self.read_manifests
        )

    @property
    def _differing(self) -> ScanResult:
        """Returns the files of both snapshots that can contain differences."""
        before, after = self._before.result, self._after.result
        entries = _side_by_side(before.entries, after.entries)
        same = _is_same(entries, _marked_otherwise(self._before.deleted, self._after.deleted))
        groups = _groups(entries, self.schema)
        kept = [rows for rows in groups if not same[rows].all()]
        rows = np.sort(np.concatenate(kept)) if kept else np.zeros(0, np.int64)
        if not self.schema.primary_keys or skips_level0(
            self.schema
        ):  # no file has newer versions of rows in another file
            rows = rows[~same[rows]]
        step = PruneStep("files of both states that differ", len(entries), len(rows))
        return ScanResult(entries.take(pa.array(rows)), (*before.steps, *after.steps, step))


Part: TypeAlias = BranchRead | IncrementalRead
"""One part of a scan."""


def _has_changes(snapshot: Snapshot, *, is_delta: bool) -> bool:
    if is_delta:
        return snapshot.commit_kind is CommitKind.APPEND
    return snapshot.commit_kind is not CommitKind.OVERWRITE and snapshot.changelog_manifest_list is not None


def _summed(results: Sequence[ScanResult]) -> list[PruneStep]:
    """Returns the sums of each planning step over all snapshots."""
    totals: dict[str, tuple[int, int]] = {}
    for step in (step for result in results for step in result.steps):
        total, kept = totals.get(step.name, (0, 0))
        totals[step.name] = (total + step.total, kept + step.kept)
    return [PruneStep(name, total, kept) for name, (total, kept) in totals.items()]


COMMIT_COLUMN: Final = "_COMMIT"
"""The column with the number of the commit of a row; both rows of an update have the same number."""

_COMMIT_FIELD: Final = pa.field(COMMIT_COLUMN, pa.int64())


def as_inserts(rows: pa.Table, kind: int = INSERT) -> pa.Table:
    """Returns rows as changes of one kind, without sequence numbers."""
    return (
        rows.append_column(SYSTEM_SCHEMA.field(SEQUENCE_COLUMN), pa.nulls(len(rows), pa.int64()))
        .append_column(SYSTEM_SCHEMA.field(KIND_COLUMN), repeated_kind(kind, len(rows)))
        .append_column(_COMMIT_FIELD, pa.array(np.zeros(len(rows), np.int64)))
    )


class UnmergedReader(KeyedReader):
    """Reads files of a primary-key table one by one without merging, and skips deletes."""

    @cached_property
    def _each_key_once(self) -> bool:
        return True

    def read_commits(self, entries: pa.Table, commits: Rows) -> pa.Table:
        """Returns all rows, also deletes, with sequence number, kind and commit, in the order of the entries."""
        wanted = self._wanted()
        merger = self._merger(wanted)

        def read(commit: int, source: Source) -> pa.Table:
            rows = merger.read(source, wanted, None)
            if self.predicate is not None:
                rows = rows.filter(pa.array(pred.matches_rows(self.predicate, rows)))
            return rows.append_column(_COMMIT_FIELD, pa.array(np.full(len(rows), commit)))

        with ThreadPoolExecutor(self.threads) as pool:
            tables = list(pool.map(read, commits.tolist(), self._sources(entries)))
        schema = pa.schema([*self.arrow_schema, *SYSTEM_SCHEMA, _COMMIT_FIELD])
        parts = [pa.Table.from_arrays(table.select(schema.names).columns, schema=schema) for table in tables]
        return pa.concat_tables([schema.empty_table(), *parts])


# ------------------------------------------------------------------------------------------------- files of two states


def _side_by_side(before: pa.Table, after: pa.Table) -> pa.Table:
    """Returns the files of two snapshots, each file once, with the side it is on and its level in the earlier snapshot.

    Files of the earlier snapshot come first, so the files of each side are in the order of the commits.
    """
    now = pc.index_in(_identity(before), value_set=_identity(after))
    fresh = after.filter(pc.invert(pc.is_in(_identity(after), value_set=_identity(before))))
    moved = now.is_valid()
    levels = after["level"].combine_chunks().take(now)
    level = before.schema.get_field_index("level")
    kept = before.set_column(level, before.schema.field(level), pc.coalesce(levels, before["level"].combine_chunks()))
    sides = [
        np.where(np.asarray(moved), _BEFORE | _AFTER, _BEFORE),
        np.full(len(fresh), _AFTER),
    ]
    both = pa.concat_tables([kept, fresh])
    both = both.append_column(_SIDE, pa.array(np.concatenate(sides), pa.int8()))
    return both.append_column(_LEVEL_BEFORE, pa.concat_arrays([_column(before, "level"), _column(fresh, "level")]))


def _identity(entries: pa.Table) -> pa.Array:
    """Returns the identity of data files; a file that a compaction moved to another level stays the same."""
    parts = (_column(entries, "partition"), _column(entries, "bucket").cast(pa.string()), _column(entries, "file_name"))
    return pc.binary_join_element_wise(*(part.cast(pa.binary()) for part in parts), b"/")


def _column(entries: pa.Table, name: str) -> pa.Array:
    return entries[name].combine_chunks()


def _marked_otherwise(before: DeletedRows, after: DeletedRows) -> list[str]:
    """Returns the names of files whose deleted rows differ between the snapshots; marks are only ever added."""
    named = {*before.by_file, *after.by_file}
    return [file[1] for file in named if _marks(before, file) != _marks(after, file)]


def _marks(deleted: DeletedRows, file: tuple[bytes, str]) -> object:
    place = deleted.by_file.get(file)
    if place is None:
        return 0
    return place if place[1].cardinality is None else place[1].cardinality


def _is_same(entries: pa.Table, marked: Sequence[str]) -> npt.NDArray[np.bool_]:
    in_both = np.asarray(entries[_SIDE]) == _BEFORE | _AFTER
    is_marked = pc.is_in(_column(entries, "file_name"), value_set=pa.array(marked, pa.string()))
    return np.asarray(in_both & ~np.asarray(is_marked))


def _groups(entries: pa.Table, schema: TableSchema) -> list[Rows]:
    """Returns groups of files that must be compared: files of one bucket with overlapping keys.

    If a partition was rescaled, its buckets count as one.
    """
    if not len(entries):
        return []
    if len(pc.unique(entries["total_buckets"])) > 1:
        bucket = entries.schema.get_field_index("bucket")
        entries = entries.set_column(bucket, entries.schema.field(bucket), pa.array(np.zeros(len(entries), np.int32)))
    buckets = by_bucket(entries)
    if not schema.primary_keys:
        return buckets
    files = level_files(entries, [key.type for key in schema.select(schema.trimmed_primary_key)])
    return [
        np.array(sorted(file.row for file in section), np.int64)
        for rows in buckets
        for section in sections([files[row] for row in rows.tolist()])
    ]


@dataclass(frozen=True)
class DifferenceReader(KeyedReader):
    """Reads files of two snapshots of any table and returns the rows that only the later snapshot has.

    ``deleted`` are the marked rows of the later snapshot, ``before`` those of the earlier one.
    """

    before: DeletedRows = field(default_factory=DeletedRows)

    @cached_property
    def keys(self) -> tuple[Field, ...]:
        """The columns that identify rows: the primary key, else all columns."""
        return self.schema.select(self.schema.trimmed_primary_key) if self.schema.primary_keys else self.schema.fields

    def jobs(self, entries: pa.Table) -> list[ReadJob]:
        """Returns one job for each group of files that must be compared; other files are read without merging."""
        sources = self._sources(entries)
        sides = np.asarray(entries[_SIDE]) if len(entries) else np.zeros(0, np.int8)
        alone: list[int] = []
        jobs: list[ReadJob] = []
        for rows in _groups(entries, self.schema):
            is_new = bool((sides[rows] == _AFTER).all())
            if is_new and (not self.schema.primary_keys or (len(rows) == 1 and not sources[rows[0]].has_deletes)):
                alone += rows.tolist()
            else:
                jobs.append(ReadJob(tuple(sources[row] for row in rows), tuple(rows.tolist()), merge=True))
        if alone:
            jobs.append(
                ReadJob(tuple(_plain(sources[row]) for row in sorted(alone)), tuple(sorted(alone)), merge=False)
            )
        return jobs

    def _run(self, entries: pa.Table, job: ReadJob) -> Iterator[pa.Table]:
        if job.plain:
            yield self._file_reader.read(entries.take(list(job.rows)))
            return
        files = entries.take(list(job.rows))
        earlier = _of_side(files, _BEFORE)
        if not len(earlier):
            yield self._state_reader(self.columns, self.deleted).read(files)
            return
        # Compare whole rows, also if fewer columns are requested; a predicate has the same result for equal rows.
        before = self._state_reader(self.schema.fields, self.before).read(earlier)
        after = self._state_reader(self.schema.fields, self.deleted).read(_of_side(files, _AFTER))
        yield after.filter(pa.array(not_in(after, before))).select([column.name for column in self.columns])

    def read_with_kinds(self, entries: pa.Table) -> pa.Table:
        """Returns the same rows as +I, and rows of the earlier snapshot whose key the later one lacks as -D."""
        found = self.read(entries)
        parts = [as_inserts(found)]
        if self.schema.primary_keys:
            names, keys = [column.name for column in self.columns], list(self.schema.primary_keys)
            for job in self.jobs(entries):
                files = entries.take(list(job.rows))
                before = self._state_reader(self.schema.fields, self.before).read(_of_side(files, _BEFORE))
                after = self._state_reader(self.schema.fields, self.deleted).read(_of_side(files, _AFTER))
                gone = before.filter(pa.array(not_in(before.select(keys), after.select(keys))))
                parts.append(as_inserts(gone.select(names), DELETE))
        return pa.concat_tables([pa.Table.from_arrays(part.columns, schema=parts[0].schema) for part in parts])

    def _state_reader(self, columns: tuple[Field, ...], deleted: DeletedRows) -> FileReader | KeyedReader:
        if not self.schema.primary_keys:
            return FileReader(self.store, self.schema, columns, self.predicate, deleted)
        return KeyedReader(self.store, self.schema, columns, self.predicate, deleted, self.budget, threads=1)


def _plain(source: Source) -> Source:
    return replace(source, has_deletes=False)


def _of_side(files: pa.Table, side: int) -> pa.Table:
    """Returns the files of one snapshot with their levels in it."""
    chosen = files.filter(pa.array(np.asarray(files[_SIDE]) & side != 0))
    if side == _AFTER:
        return chosen
    level = chosen.schema.get_field_index("level")
    return chosen.set_column(level, chosen.schema.field(level), chosen[_LEVEL_BEFORE])
