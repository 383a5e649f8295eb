"""Writes to append tables: Arrow in, Parquet files and their entries out.

Rows are split by partition and bucket. Each group becomes files of about ``target-file-size``, and groups are written
in parallel. Readers do not see the files before a commit of the entries. Without a commit, ``abort`` deletes them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.format.manifest.manifest import NO_ENTRIES, entries_from_rows
from lakebed.rows.conform import conform, portions
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.grouping import Group, gather, group_rows
from lakebed.storage import run_all

UNAWARE_BUCKET: Final = 0
_JOBS_PER_THREAD: Final = 4
_SPLIT_BYTES: Final = 64 * 1024 * 1024
_MAX_OPEN_FILES: Final = 256


class AppendWriter:
    """Writes rows of one table as new files. Use it once: write, then ``finish`` or ``abort``.

    At most ``budget`` bytes of a stream are in memory at a time.
    """

    def __init__(self, layout: FileLayout, *, threads: int | None = None, budget: int | None = None) -> None:
        self._layout = layout
        self._schema = layout.schema
        self._threads = threads or os.cpu_count() or 1
        self._budget = budget
        self._open: dict[tuple[object, ...], RollingFiles] = {}
        self._done: list[dict[str, Any]] = []
        self._paths: list[str] = []

    def write(self, data: pa.Table | pa.RecordBatchReader) -> None:
        """Check that rows fit the table, and write them."""
        where = f"table {self._layout.store.name}"
        for table in portions(data, self._budget):
            self._write_conformed(conform(table, self._schema.fields, where=where))

    def rewrite(self, rows: pa.Table) -> None:
        """Write rows of the table itself unchecked: other writers may have allowed what we refuse (long texts)."""
        self._write_conformed(rows)

    def _write_conformed(self, table: pa.Table) -> None:
        jobs = self._jobs(table)
        if len(jobs) == 1:
            jobs[0].run()
        elif jobs:
            with ThreadPoolExecutor(self._threads) as pool:
                for future in [pool.submit(job.run) for job in jobs]:
                    future.result()
        if len(self._open) > _MAX_OPEN_FILES:
            self._close_all()

    def _jobs(self, table: pa.Table) -> list[_Job]:
        """Divide the rows of this table into jobs; each job has its own files."""
        schema = self._schema
        keys = [table[name] for name in schema.partition_keys]
        total = self._layout.options.bucket
        if total > 0:
            names = schema.bucket_keys
            function = self._layout.options.bucket_function
            buckets = bucket_of_rows(
                [table[name] for name in names], [schema.field(name).type for name in names], total, function
            )
            keys.append(pa.chunked_array([pa.array(buckets)]))
        pieces: list[tuple[RollingFiles, Group]] = []
        for group in group_rows(table, keys):
            bucket = int(group.values[-1]) if total > 0 else UNAWARE_BUCKET  # type: ignore[call-overload]
            partition = group.values[: len(schema.partition_keys)]
            # Split large groups: otherwise one thread would still be busy when the others have finished.
            share = round(self._threads * group.count / len(table)) if total <= 0 else 1
            parts = max(1, min(share, table.nbytes * group.count // len(table) // _SPLIT_BYTES))
            for number, part in enumerate(group.split(parts)):
                pieces.append((self._file(partition, bucket, number), part))
        return _in_jobs(pieces, len(table) // (_JOBS_PER_THREAD * self._threads))

    def _file(self, partition: tuple[object, ...], bucket: int, part: int) -> RollingFiles:
        key = (*map(_hashable, partition), bucket, part)
        if key not in self._open:
            place = FilePlace(partition, bucket, prefix=self._layout.options.data_file_prefix)
            self._open[key] = RollingFiles(self._layout, place, self._paths)
        return self._open[key]

    def finish(self) -> pa.Table:
        """Close the files; return their ADD entries. Sequence numbers count from 0 in each file."""
        self._close_all()
        return entries_from_rows(self._done) if self._done else NO_ENTRIES

    def abort(self) -> None:
        """Delete all files that were written."""
        for file in self._open.values():
            file.discard()
        self._open.clear()
        for path in self._paths:
            with contextlib.suppress(Exception):
                self._layout.store.storage.delete(path)

    def _close_all(self) -> None:
        storage = self._layout.store.storage
        for entries in run_all(storage, [file.close for file in self._open.values()]):  # each one ends an upload
            self._done.extend(entries)
        self._open.clear()


@dataclass(frozen=True, slots=True)
class _Job:
    files: list[RollingFiles]
    groups: list[Group]

    def run(self) -> None:
        for file, rows in zip(self.files, gather(self.groups), strict=True):
            file.write(rows)


def _in_jobs(pieces: Sequence[tuple[RollingFiles, Group]], rows: int) -> list[_Job]:
    """Combine neighbouring groups up to some rows: enough jobs for all threads, but few enough to gather rows fast."""
    jobs: list[_Job] = []
    held = rows
    for file, group in pieces:
        if held + group.count > rows:
            jobs.append(_Job([], []))
            held = 0
        jobs[-1].files.append(file)
        jobs[-1].groups.append(group)
        held += group.count
    return jobs


def _hashable(value: object) -> object:
    """Return a key for a partition.

    In the format, -0.0 and 0.0 are two partitions and NaN is one, unlike Python's ``==``.
    """
    return repr(value) if isinstance(value, float) else value


def continue_sequences(new: pa.Table, live: pa.Table) -> pa.Table:
    """Continue the sequence numbers of each bucket's live files, as tables with fixed buckets do."""
    highest = live.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
    next_of = {(row["partition"], row["bucket"]): row["max_sequence_number_max"] + 1 for row in highest.to_pylist()}
    firsts = []
    for row in new.select(["partition", "bucket", "row_count"]).to_pylist():
        key = (row["partition"], row["bucket"])
        firsts.append(next_of.get(key, 0))
        next_of[key] = firsts[-1] + row["row_count"]
    first = pa.array(firsts, pa.int64())
    last = pc.subtract(pc.add(first, new["row_count"]), 1)
    position = new.schema.get_field_index("min_sequence_number")
    with_first = new.set_column(position, new.schema.field(position), first)
    return with_first.set_column(position + 1, new.schema.field(position + 1), last)
