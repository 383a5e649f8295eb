"""The deep check: reads every data file and compares its rows with the manifests.

Rows must be readable, as many as the manifest says, in the partition and bucket of the file, and within its statistics.
In primary-key tables they must be sorted by key, each key once, with the sequence numbers, kinds and deletes of the
entry.

A file is read once, in batches, whatever the number of snapshots that need it. Files with a problem in the structure
are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import LakebedError, UnsupportedError
from lakebed.format.binary_row import decode_rows, encode_rows
from lakebed.format.human_text import count_text
from lakebed.format.murmur import hash_rows
from lakebed.format.row_kind import KIND_COLUMN, is_retraction, is_row_kind
from lakebed.format.schema.table_schema import KEY_PREFIX, SEQUENCE_COLUMN, TableSchema
from lakebed.format.statistics.file_stats import decode_stats
from lakebed.format.types.data_types import Atomic, Field, field_to_arrow, nullable
from lakebed.operations.verify import BranchFiles, Findings, Progress, Structure
from lakebed.operations.verify.check_index_rows import Hashes, check_index_files, has_hash_index
from lakebed.operations.verify.report import some
from lakebed.options import TableOptions
from lakebed.rows.files.read_columns import (
    PARQUET,
    SYSTEM_FIELDS,
    check_formats,
    column_names,
    format_of,
    read_columns,
)
from lakebed.rows.order import order_by_key
from lakebed.storage import Storage

_BATCH_ROWS: Final = 256 * 1024
_FORMAT: Final[Any] = ds.ParquetFileFormat(page_checksum_verification=True)
_RESTORE: Final = "restore it from a backup; else roll back to a snapshot that does not need it"
_REWRITE: Final = "rewrite the rows (overwrite the partition, or compact fully), or roll back to a snapshot before"


def check_rows(structure: Structure, progress: Progress) -> None:
    """Read every file without a structural problem; adds the problems to those of the structure."""
    known: dict[int, Hashes] = {}
    total = sum(len(_jobs(structure, part)) for part in structure.branches)
    done = 0
    for part in structure.branches:
        jobs = _jobs(structure, part)
        told: list[tuple[_Job, str, str]] = []
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            for job, result in zip(jobs, pool.map(_File.check, jobs), strict=True):
                told += [(job, code, what) for code, what in result.complaints.items()]
                if result.hashes is not None:
                    known[job.row] = result.hashes
                done += 1
                progress("data files", done, total)
        _tell(told, part, structure.found)
    check_index_files(structure, known, progress)


@dataclass(frozen=True)
class _Job:
    """One data file to read."""

    row: int
    path: str
    entry: dict[str, Any]
    schema: TableSchema
    storage: Storage
    is_changelog: bool
    with_hashes: bool


def _jobs(structure: Structure, part: BranchFiles) -> list[_Job]:
    """Returns the files of a branch, each path once: a file that changes its level is the same file."""
    rows = part.own[structure.files.sound[part.own]]
    with_hashes = has_hash_index(part.branch.schema)
    jobs: dict[str, _Job] = {}
    for row, entry in zip(rows.tolist(), structure.files.files.take(rows).to_pylist(), strict=True):
        path, schema = structure.files.paths[row], part.branch.schemas.get(entry["schema_id"])
        if path is not None and schema is not None and path not in jobs:
            is_changelog = bool(structure.is_changelog[row])
            jobs[path] = _Job(row, path, entry, schema, part.branch.store.storage, is_changelog, with_hashes)
    return list(jobs.values())


def _tell(told: Sequence[tuple[_Job, str, str]], part: BranchFiles, found: Findings) -> None:
    """Add one problem for each folder and kind of problem."""
    groups: dict[tuple[str, str], list[tuple[_Job, str]]] = {}
    for job, code, what in told:
        groups.setdefault((code, job.path.rsplit("/", 1)[0]), []).append((job, what))
    for (code, folder), members in groups.items():
        job, what = members[0]
        name = job.entry["file_name"]
        text, where = f"{name}: {what}; needed by {part.needs.who(job.row)}", job.path
        if len(members) > 1:
            names = some(other.entry["file_name"] for other, _ in members)
            text += f". The same holds for {len(members)} files in this folder: {names}"
            where = folder
        if code == "not-opened":
            found.info(code, text, where, "read the table with Apache Paimon, or compact it into Parquet files")
        else:
            found.error(code, text, where, _RESTORE if code == "unreadable-data-file" else _REWRITE)


# ---------------------------------------------------------------------------------------------------- one file


@dataclass
class _File:
    """The state of a data file while its batches are checked."""

    job: _Job
    complaints: dict[str, str] = field(default_factory=dict)
    hashes: Hashes | None = None
    count: int = 0
    retractions: int = 0

    @staticmethod
    def check(job: _Job) -> _File:
        file = _File(job)
        try:
            check_formats([job.path])
        except UnsupportedError:
            file.complaints["not-opened"] = "only Parquet, ORC and Avro files can be looked into"
            return file
        try:
            file.read()
        except (pa.ArrowException, OSError, LakebedError) as error:
            file.complaints["unreadable-data-file"] = f"it cannot be read: {str(error).splitlines()[0]}"
        return file

    def complain(self, code: str, what: str) -> None:
        self.complaints.setdefault(code, what)

    def read(self) -> None:
        job, entry = self.job, self.job.entry
        bounds = _Bounds.of(entry, job.schema)
        keyed = _KeyedRows(self) if job.schema.primary_keys else None
        nulls: dict[str, int] = {}
        for batch in self._batches():
            self.count += len(batch)
            for name in bounds.names:
                nulls[name] = nulls.get(name, 0) + batch[name].null_count
            for what in bounds.violations(batch):
                self.complain("wrong-statistics", what)
            self._check_place(batch)
            if keyed is not None:
                keyed.look(batch)
        if self.count != entry["row_count"]:
            self.complain(
                "wrong-row-count", f"it has {count_text(self.count, 'row')}, its manifest says {entry['row_count']:,}"
            )
        for name, told in bounds.null_counts.items():
            if told is not None and nulls.get(name, 0) != told and self.count == entry["row_count"]:
                self.complain("wrong-statistics", f"column {name} has {nulls.get(name, 0)} nulls, not {told}")
        if keyed is not None:
            keyed.finish()

    def _batches(self) -> Iterator[pa.Table]:
        """Yields the rows in order, with the columns of the file's schema and system columns if there is a key."""
        job = self.job
        fields = _stored_fields(job)
        stored = pa.schema([field_to_arrow(column).with_nullable(True) for column in fields])
        if job.schema.primary_keys:
            keys = job.schema.select(job.schema.trimmed_primary_key)
            copies = [pa.field(KEY_PREFIX + key.name, field_to_arrow(key).type) for key in keys]
            system = [pa.field(SEQUENCE_COLUMN, pa.int64()), pa.field(KIND_COLUMN, pa.int8())]
            stored = pa.schema([*copies, *system, *stored])
        is_parquet = format_of(job.path) == PARQUET
        fragment = _FORMAT.make_fragment(job.path, job.storage.arrow_filesystem()) if is_parquet else None
        there = set(fragment.physical_schema.names if fragment is not None else column_names(job.storage, job.path))
        missing = [name for name in stored.names if name not in there and not name.startswith(KEY_PREFIX)]
        if missing:
            self.complain("wrong-columns", f"it lacks the columns {some(missing)}")
        names = [name for name in stored.names if name in there]
        if fragment is not None:
            for batch in fragment.to_batches(schema=stored, columns=names, batch_size=_BATCH_ROWS):
                yield pa.Table.from_batches([batch])
            return
        keys = job.schema.select(job.schema.trimmed_primary_key)
        copies = [replace(key, name=KEY_PREFIX + key.name) for key in keys]
        rows = read_columns(job.storage, [job.path], (*copies, *SYSTEM_FIELDS, *fields), names)
        for start in range(0, len(rows), _BATCH_ROWS):
            yield rows.slice(start, _BATCH_ROWS)

    def _check_place(self, rows: pa.Table) -> None:
        """Check that rows belong to the partition and bucket of their file."""
        entry, schema = self.job.entry, self.job.schema
        fields = schema.partition_fields
        values = decode_rows(pa.array([entry["partition"]], pa.binary()), [column.type for column in fields])
        for column, value in zip(fields, values, strict=True):
            if column.name in rows.column_names and not _all_are(rows[column.name], value[0]):
                self.complain(
                    "wrong-partition", f"rows have another {column.name} than {value[0]}, the file's partition"
                )
        total, keys = entry["total_buckets"], schema.bucket_keys
        if total > 0 and keys and entry["bucket"] >= 0 and set(keys) <= set(rows.column_names):
            function = TableOptions(schema.options).bucket_function
            types = [column.type for column in schema.select(keys)]
            wrong = bucket_of_rows([rows[key] for key in keys], types, total, function) != entry["bucket"]
            if wrong.any():
                self.complain(
                    "wrong-bucket", f"{int(wrong.sum())} rows do not belong to bucket {entry['bucket']} of {total}"
                )


def _stored_fields(job: _Job) -> tuple[Field, ...]:
    written = job.entry["write_cols"]
    known = job.schema.field_names
    return job.schema.fields if written is None else job.schema.select([name for name in written if name in known])


def _all_are(column: pa.ChunkedArray, value: pa.Scalar) -> bool:
    if not value.is_valid:
        return bool(column.null_count == len(column))
    if pa.types.is_floating(column.type):
        column = column.drop_null().filter(pc.invert(pc.is_nan(column.drop_null())))
    return bool(column.null_count == 0 and pc.all(pc.equal(column, value), min_count=0).as_py())


@dataclass(frozen=True)
class _Bounds:
    """The bounds of columns in the statistics of an entry."""

    low: dict[str, pa.Scalar]
    high: dict[str, pa.Scalar]
    null_counts: dict[str, int | None]

    @property
    def names(self) -> list[str]:
        return list(self.null_counts)

    @staticmethod
    def of(entry: dict[str, Any], schema: TableSchema) -> _Bounds:
        bounds = _Bounds({}, {}, {})
        listed = entry["value_stats_cols"]
        listed = entry["write_cols"] if listed is None else listed
        fields = schema.fields if listed is None else schema.select(listed)
        bounds._add("value", entry, fields)
        bounds._add("key", entry, schema.select(schema.trimmed_primary_key))
        return bounds

    def _add(self, which: str, entry: dict[str, Any], fields: Sequence[Field]) -> None:
        stats = decode_stats(
            pa.array([entry[f"{which}_min"]], pa.binary()),
            pa.array([entry[f"{which}_max"]], pa.binary()),
            pa.array([entry[f"{which}_null_counts"]], pa.list_(pa.int64())),
            [nullable(column.type) for column in fields],
        )
        for column, low, high, nulls in zip(fields, stats.mins, stats.maxs, stats.null_counts, strict=True):
            if isinstance(column.type, Atomic):
                self.null_counts[column.name] = nulls[0].as_py()
                if low[0].is_valid and high[0].is_valid:
                    self.low[column.name], self.high[column.name] = low[0], high[0]

    def violations(self, rows: pa.Table) -> Iterator[str]:
        for name, low in self.low.items():
            column = rows[name]
            if pa.types.is_floating(column.type):
                column = column.filter(pc.invert(pc.is_nan(column)))
            found = pc.min_max(column)
            if not found["min"].is_valid:
                continue
            if pc.less(found["min"], low).as_py() or pc.greater(found["max"], self.high[name]).as_py():
                yield f"column {name} has values outside of {low} to {self.high[name]}, so readers skip rows"


class _KeyedRows:
    """Checks the rows of a file of a primary-key table."""

    def __init__(self, file: _File) -> None:
        self._file = file
        schema = file.job.schema
        self._keys = schema.select(schema.trimmed_primary_key)
        self._names = [key.name for key in self._keys]
        self._first: pa.Table | None = None
        self._last: pa.Table | None = None
        self._hashes: list[Hashes] = []

    def look(self, rows: pa.Table) -> None:
        if not len(rows):
            return
        self._look_at_system_columns(rows)
        for name in self._names:
            copy = KEY_PREFIX + name
            if copy in rows.column_names and not pc.all(_same(rows[copy], rows[name]), min_count=0).as_py():
                self._file.complain("wrong-keys", f"the columns {copy} and {name} differ")
        if self._file.job.is_changelog:
            return
        keys = rows.select(self._names)
        joined = keys if self._last is None else pa.concat_tables([self._last, keys])
        order = order_by_key([joined[name] for name in self._names])
        if len(order.starts) < len(joined):
            self._file.complain("repeated-keys", "a key has several rows")
        elif not np.array_equal(order.rows, np.arange(len(joined))):
            self._file.complain("unsorted-keys", "its rows are not sorted by key")
        self._first = keys.slice(0, 1) if self._first is None else self._first
        self._last = keys.slice(len(keys) - 1)
        if self._file.job.with_hashes:
            self._hashes.append(np.unique(hash_rows([keys[name] for name in self._names], self._types)))

    def _look_at_system_columns(self, rows: pa.Table) -> None:
        file, entry = self._file, self._file.job.entry
        if KIND_COLUMN in rows.column_names:
            kinds = rows[KIND_COLUMN].to_numpy()
            file.retractions += int(is_retraction(kinds).sum())
            if rows[KIND_COLUMN].null_count or not is_row_kind(kinds).all():
                file.complain("wrong-kinds", f"{KIND_COLUMN} has values that are no kind of row")
        if SEQUENCE_COLUMN in rows.column_names:
            found = pc.min_max(rows[SEQUENCE_COLUMN]).as_py()
            low, high = entry["min_sequence_number"], entry["max_sequence_number"]
            if found["min"] is None or found["min"] < low or found["max"] > high:
                file.complain(
                    "wrong-sequence-numbers",
                    f"its sequence numbers go from {found['min']} to {found['max']}, its manifest says {low} to {high}",
                )

    @property
    def _types(self) -> list[Any]:
        return [key.type for key in self._keys]

    def finish(self) -> None:
        file, entry = self._file, self._file.job.entry
        told = entry["delete_row_count"]
        if told is not None and told != file.retractions and file.count == entry["row_count"]:
            file.complain("wrong-delete-count", f"{file.retractions} of its rows are deletes, its manifest says {told}")
        if file.job.is_changelog:
            return
        if self._hashes:
            file.hashes = np.unique(np.concatenate(self._hashes))
        for side, row in (("min_key", self._first), ("max_key", self._last)):
            if row is not None and not self._is_key(row, entry[side]) and "unsorted-keys" not in file.complaints:
                which = "first" if side == "min_key" else "last"
                file.complain("wrong-key-range", f"its {which} key is not the one that its manifest says")

    def _is_key(self, row: pa.Table, encoded: bytes) -> bool:
        columns = [row[name].combine_chunks() for name in self._names]
        if encode_rows(columns, self._types)[0].as_py() == encoded:
            return True
        decoded = decode_rows(pa.array([encoded], pa.binary()), self._types)
        return all(_same(a, b)[0].as_py() for a, b in zip(columns, decoded, strict=True))


def _same(one: pa.ChunkedArray | pa.Array, other: pa.ChunkedArray | pa.Array) -> Any:
    """Whether values are equal; nulls are equal to each other, and NaNs too."""
    equal = pc.fill_null(pc.equal(one, other), False)
    equal = pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(one.type):
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(one), pc.is_nan(other)), False))
    return equal
