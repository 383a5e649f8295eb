"""Reads the files of a chain: entries in, merged rows out, each under the partition that was asked for.

Entries have two more columns: :data:`ASKED`, the encoded partition that a file is read for, and :data:`POSITION`, its
position in the chain of that partition (0 is the anchor, changes count from 1). The same file may be listed for several
partitions.

Files are merged per asked partition and bucket. The rows of a key are ordered by the sequence field, then by the
position in the chain, then by the sequence number: the sequence numbers of later positions are shifted above those of
earlier ones. All levels are merged. A row of changes that a deletion vector marks deletes its key, because it may be
the only record of a delete. Files whose key range meets no other file are read without a merge.

Partition columns are constants, which are added after the merge. Before the merge only conditions on the other key
columns are tested: other columns, and the partition of a file, do not decide whether the merged row satisfies the
condition.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_table
from lakebed.format.row_kind import KIND_COLUMN, is_retraction
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.levels import LevelFile, level_files, oldest_first, sections
from lakebed.metadata.step_timings import report
from lakebed.rows.keyed.keyed_merge import Merger, Source
from lakebed.rows.keyed.keyed_read import KeyedReader, ReadJob
from lakebed.rows.keyed.read_merge import ReadMerger
from lakebed.table_rules.read_metrics import MergeCost, ReadMetrics

ASKED: Final = "_ASKED"
POSITION: Final = "_POSITION"
ANCHOR: Final = 0


class ChainJob(ReadJob):
    """Files of one asked partition. Never read as plain files, because their partition columns are replaced."""

    __slots__ = ()

    @property
    def plain(self) -> bool:
        return False


@dataclass(frozen=True)
class ChainReader(KeyedReader):
    """Reads files of the chains of one table for one query; ``store`` has the schemas of both branches."""

    metrics: ReadMetrics = field(default_factory=ReadMetrics, compare=False, repr=False)

    # -------------------------------------------------------------------------------------------------- planning

    def jobs(self, entries: pa.Table) -> list[ReadJob]:
        """What is read together: for each partition and bucket single files, and sets of files to merge."""
        files = level_files(entries, [key.type for key in self.keys])
        positions = entries[POSITION].to_numpy()
        sources = self._placed(entries, positions)
        jobs: list[ReadJob] = []
        for rows in _by_asked_bucket(entries):
            found = sections([files[row] for row in rows.tolist()])
            alone = [section[0].row for section in found if len(section) == 1]
            jobs += [ChainJob((sources[row],), (row,), merge=False) for row in alone]
            for group in self._packed([section for section in found if len(section) > 1]):
                ordered = _along_the_chain(group, positions)
                jobs.append(ChainJob(tuple(sources[row] for row in ordered), tuple(ordered), merge=True))
        return jobs

    def _placed(self, entries: pa.Table, positions: npt.NDArray[np.int32]) -> list[Source]:
        """The files with sequence numbers that ascend along their chain; only files of the anchor keep their level."""
        shifts = sequence_shifts(entries).tolist()
        return [
            replace(
                source,
                min_sequence=source.min_sequence + shift,
                max_sequence=source.max_sequence + shift,
                level=source.level if position == ANCHOR else 0,
                shift=shift,
                keeps_marked=position != ANCHOR,
            )
            for source, shift, position in zip(self._sources(entries), shifts, positions.tolist(), strict=True)
        ]

    # --------------------------------------------------------------------------------------------------- running

    def _run(self, entries: pa.Table, job: ReadJob) -> Iterator[pa.Table]:
        started, size = time.perf_counter(), sum(source.size for source in job.sources)
        asked = entries[ASKED][job.rows[0]]
        constants = partition_table(pa.array([asked.as_py()], pa.binary()), self.schema.partition_fields)
        for rows in self._versions(job):
            retracted = is_retraction(rows[KIND_COLUMN].to_numpy())
            live = rows.filter(pa.array(~retracted)) if retracted.any() else rows
            made = self._under(live, constants, tested=not job.merge)
            cost = MergeCost(job.merge, time.perf_counter() - started, size, len(made))
            self.metrics.add(cost)
            if cost.merged:
                _report_merge(cost)
            yield made
            started, size = time.perf_counter(), 0

    def _versions(self, job: ReadJob) -> Iterator[pa.Table]:
        """The latest version of each row, with the stored columns that are needed and the row kind."""
        if not job.merge:
            condition = pred.implied(self._row_condition, self._stored_names)
            tested = None if condition == pred.TRUE else condition
            yield self._merger(self._stored).read(job.sources[0], self._stored, tested, system=(KIND_COLUMN,))
            return
        merger = ReadMerger.of(self._merger(self._stored))
        for piece in merger.merge(job.sources, self.budget):
            yield piece.rows

    def _under(self, rows: pa.Table, constants: pa.Table, *, tested: bool) -> pa.Table:
        """The rows that satisfy the predicate, with the values of the asked partition."""
        needed = {column.name for column in self._wanted()}
        for name in self.schema.partition_keys:
            if name in needed:
                value = constants[name][0]
                rows = rows.append_column(constants.schema.field(name), pa.repeat(value, len(rows)))
        left = self._row_condition
        if left == pred.TRUE or (tested and pred.columns(left) <= self._stored_names):
            return rows
        return rows.filter(pa.array(pred.matches_rows(left, rows)))

    def _merger(self, columns: tuple[Field, ...]) -> Merger:
        keys = pred.implied(self._row_condition, self.schema.trimmed_primary_key)
        condition = None if keys == pred.TRUE else keys
        return Merger(self.store, self.schema, columns, condition, self.deleted)

    def _wanted(self) -> tuple[Field, ...]:
        """The columns asked for, and those that only the condition on rows needs."""
        asked = {column.name for column in self.columns}
        extra = pred.columns(self._row_condition) - asked
        return (*self.columns, *(column for column in self.schema.fields if column.name in extra))

    @cached_property
    def _row_condition(self) -> pred.Node:
        """The predicate without the conditions that the asked partitions already satisfy."""
        return pred.TRUE if self.predicate is None else pred.split(self.predicate, self.schema.partition_keys)[1]

    @cached_property
    def _stored(self) -> tuple[Field, ...]:
        """The columns that are read from files; at least one, because the number of rows is needed."""
        found = tuple(column for column in self._wanted() if column.name not in self.schema.partition_keys)
        return found or self.keys[:1]

    @cached_property
    def _stored_names(self) -> frozenset[str]:
        return frozenset(self.schema.field_names) - frozenset(self.schema.partition_keys)


def _report_merge(cost: MergeCost) -> None:
    """Tells observers what a merge took, read and returned."""
    report("chain_merge", cost.seconds)
    report("chain_merge_bytes", cost.bytes_read)
    report("chain_merge_rows", cost.rows)


def _by_asked_bucket(entries: pa.Table) -> list[npt.NDArray[np.int64]]:
    """The row numbers of the entries of each asked partition and bucket."""
    keyed = entries.select([ASKED, "bucket"]).append_column("row", pa.array(np.arange(len(entries))))
    groups = keyed.group_by([ASKED, "bucket"], use_threads=False).aggregate([("row", "list")])
    return [np.asarray(rows.values) for rows in groups["row_list"].combine_chunks()]


def _along_the_chain(files: Sequence[LevelFile], positions: npt.NDArray[np.int32]) -> list[int]:
    """Entries ordered by position in the chain, and within a partition oldest first."""
    by_place: dict[int, list[LevelFile]] = {}
    for file in files:
        by_place.setdefault(int(positions[file.row]), []).append(file)
    return [file.row for place in sorted(by_place) for file in oldest_first(by_place[place])]


def sequence_shifts(entries: pa.Table) -> npt.NDArray[np.int64]:
    """What to add to the sequence numbers of each file, so that they ascend along its chain.

    >>> entries = pa.table(
    ...     {
    ...         ASKED: [b"d2"] * 3,
    ...         "bucket": [0, 0, 0],
    ...         POSITION: [0, 1, 2],
    ...         "min_sequence_number": [0, 0, 5],
    ...         "max_sequence_number": [99, 9, 5],
    ...     }
    ... )
    >>> sequence_shifts(entries).tolist()  # 0 to 99, 100 to 109, 110
    [0, 100, 105]
    """
    names = [ASKED, "bucket", POSITION]
    numbered = entries.select([*names, "min_sequence_number", "max_sequence_number"])
    numbered = numbered.append_column("row", pa.array(np.arange(len(entries))))
    places = numbered.group_by(names, use_threads=False).aggregate(
        [("min_sequence_number", "min"), ("max_sequence_number", "max"), ("row", "list")]
    )
    places = places.sort_by([(name, "ascending") for name in names])
    low = places["min_sequence_number_min"].to_numpy()
    spans = places["max_sequence_number_max"].to_numpy() - low + 1
    asked = places[ASKED].combine_chunks().dictionary_encode().indices.to_numpy()
    buckets = places["bucket"].to_numpy()
    begins = np.ones(len(places), np.bool_)
    begins[1:] = (asked[1:] != asked[:-1]) | (buckets[1:] != buckets[:-1])
    reached = np.cumsum(spans) - spans
    first = np.flatnonzero(begins)[np.cumsum(begins) - 1]
    shift_of_place = reached - reached[first] + low[first] - low
    lists = places["row_list"].combine_chunks()
    shifts = np.zeros(len(entries), np.int64)
    shifts[np.asarray(lists.flatten())] = np.repeat(shift_of_place, np.asarray(lists.value_lengths()))
    return shifts
