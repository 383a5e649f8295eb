"""The files of a bucket of a primary-key table as an LSM tree: runs, sections, and what to compact next.

On level 0 each file is a sorted run, and newer files have higher sequence numbers. Every level above is one run. A
*section* is a set of files with overlapping key ranges. Two sections have no key in common, so sections are merged one
by one, and a section of one file needs no merge. All functions compute on entries; no file is opened.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.format.binary_row import decode_rows
from lakebed.format.types.data_types import DataType
from lakebed.metadata.plan.key_ranks import ranks_of

I64: TypeAlias = npt.NDArray[np.int64]

MIN_COMPACTION_RATIO: Final = 0.7


@dataclass(frozen=True, slots=True)
class LevelFile:
    """One file of a bucket; ``low`` and ``high`` are its key range as ranks."""

    row: int
    level: int
    low: int
    high: int
    size: int
    max_sequence: int
    min_sequence: int
    has_deletes: bool


def level_files(entries: pa.Table, key_types: Sequence[DataType]) -> list[LevelFile]:
    """Returns the files of entries (of any buckets) with their key ranges as ranks; ``row`` is the entry's number."""
    if not len(entries):
        return []
    both = pa.concat_arrays([entries["min_key"].combine_chunks(), entries["max_key"].combine_chunks()])
    ranks = ranks_of(decode_rows(both, key_types)).tolist()
    columns = zip(
        range(len(entries)),
        entries["level"].to_pylist(),
        ranks[: len(entries)],
        ranks[len(entries) :],
        entries["file_size"].to_pylist(),
        entries["max_sequence_number"].to_pylist(),
        entries["min_sequence_number"].to_pylist(),
        ((count or 0) > 0 for count in entries["delete_row_count"].to_pylist()),
        strict=True,
    )
    return [LevelFile(*values) for values in columns]


def by_bucket(entries: pa.Table) -> list[I64]:
    """Returns the row numbers of the entries of each (partition, bucket)."""
    keyed = entries.select(["partition", "bucket"]).append_column("row", pa.array(np.arange(len(entries))))
    groups = keyed.group_by(["partition", "bucket"], use_threads=False).aggregate([("row", "list")])
    return [np.asarray(rows.values) for rows in groups["row_list"].combine_chunks()]


def sections(files: Sequence[LevelFile]) -> list[list[LevelFile]]:
    """Returns files in groups whose key ranges do not overlap, groups in key order."""
    found: list[list[LevelFile]] = []
    reached = -1
    for file in sorted(files, key=lambda file: (file.low, file.high)):
        if not found or file.low > reached:
            found.append([])
        found[-1].append(file)
        reached = max(reached, file.high)
    return found


def oldest_first(files: Sequence[LevelFile]) -> list[LevelFile]:
    """Returns files so that later ones replace rows of earlier ones: higher levels first, then by sequence numbers.

    Writers that began on the same snapshot assign the same numbers. Files with the same range stay in the order of
    their entries, which is the order of their commits, so that the later commit wins.
    """
    ordered = sorted(files, key=lambda file: (-file.level, file.max_sequence, file.min_sequence))
    level0 = [file for file in ordered if file.level == 0]
    if all(a.max_sequence < b.min_sequence for a, b in itertools.pairwise(level0)):
        return ordered
    return sorted(files, key=lambda file: (-file.level, file.row))


# ------------------------------------------------------------------------------------------------- compaction


@dataclass(frozen=True, slots=True)
class Run:
    """A sorted run: one file of level 0, or all files of a level above."""

    level: int
    files: tuple[LevelFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """The options that decide when a bucket is compacted, with Paimon's defaults."""

    trigger: int = 5
    num_levels: int = 6
    max_size_amplification: int = 200
    size_ratio: int = 1
    target_file_size: int = 128 * 1024 * 1024

    @property
    def max_level(self) -> int:
        return self.num_levels - 1


@dataclass(frozen=True, slots=True)
class CompactUnit:
    """Files to be compacted together, and the level their result goes to."""

    output_level: int
    files: tuple[LevelFile, ...]


def runs_of(files: Sequence[LevelFile]) -> list[Run]:
    """Returns the sorted runs of a bucket, newest first."""
    level0 = sorted((f for f in files if f.level == 0), key=lambda f: (-f.max_sequence, -f.min_sequence))
    runs = [Run(0, (file,)) for file in level0]
    for level in sorted({file.level for file in files} - {0}):
        in_level = sorted((f for f in files if f.level == level), key=lambda f: f.low)
        runs.append(Run(level, tuple(in_level)))
    return runs


def pick_full(files: Sequence[LevelFile], options: CompactionOptions) -> CompactUnit | None:
    """Returns all files, for the highest level; ``None`` if they are there already and have no deletes."""
    if not files or (all(f.level == options.max_level for f in files) and not any(f.has_deletes for f in files)):
        return None
    return CompactUnit(options.max_level, tuple(files))


def pick_universal(files: Sequence[LevelFile], options: CompactionOptions) -> CompactUnit | None:
    """Returns what universal compaction would compact now, or ``None``.

    All runs, if the newer runs together are too large compared with the oldest. Else the newest runs, as long as the
    next run is not larger than those before it. Else, if there are more runs than the trigger, enough of the newest
    ones to get below it.
    """
    runs = runs_of(files)
    if len(runs) < options.trigger:
        return None
    newer = sum(run.size for run in runs[:-1])
    if newer * 100 > options.max_size_amplification * runs[-1].size:
        return _unit(runs, len(runs), options)
    count = _grow(runs, 1, options)
    if count > 1:
        return _unit(runs, count, options)
    if len(runs) > options.trigger:
        return _unit(runs, _grow(runs, len(runs) - options.trigger + 1, options), options)
    return None


def pick_level0(files: Sequence[LevelFile], options: CompactionOptions) -> CompactUnit | None:
    """Returns all files of level 0, and older runs that are not larger, for tables whose readers skip level 0."""
    runs = runs_of(files)
    count = sum(run.level == 0 for run in runs)
    return _unit(runs, _grow(runs, count, options), options) if count else None


def _grow(runs: Sequence[Run], count: int, options: CompactionOptions) -> int:
    size = sum(run.size for run in runs[:count])
    while count < len(runs) and size * (100 + options.size_ratio) / 100 >= runs[count].size:
        size += runs[count].size
        count += 1
    return count


def _unit(runs: Sequence[Run], count: int, options: CompactionOptions) -> CompactUnit:
    """Returns the first ``count`` runs, for the level just above the next run, but never for level 0.

    If only level 0 is free, runs up to the first one above level 0 are added, and the result goes to that level.
    """
    level = 0 if count == len(runs) else runs[count].level - 1
    while level <= 0 and count < len(runs):
        level = runs[count].level
        count += 1
    if count == len(runs):
        level = options.max_level
    return CompactUnit(level, tuple(file for run in runs[:count] for file in run.files))


def drops_deletes(unit: CompactUnit, files: Sequence[LevelFile]) -> bool:
    """Returns whether nothing older lies below the result, so that deletes have done their work."""
    return unit.output_level >= max(file.level for file in files)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Files to be merged into new ones."""

    files: tuple[LevelFile, ...]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A file that goes to its new level as it is."""

    file: LevelFile


def plan_unit(unit: CompactUnit, options: CompactionOptions) -> list[Rewrite | Upgrade]:
    """Returns the steps of a compaction: overlapping files are merged, large ones moved, small adjacent ones joined."""
    steps: list[Rewrite | Upgrade] = []
    waiting: list[list[LevelFile]] = []

    def flush() -> None:
        if len(waiting) == 1 and len(waiting[0]) == 1 and not _must_rewrite(waiting[0][0], unit, options):
            steps.append(Upgrade(waiting[0][0]))
        elif waiting:
            steps.append(Rewrite(tuple(file for section in waiting for file in section)))
        waiting.clear()

    for section in sections(unit.files):
        file = section[0]
        large = file.size >= options.target_file_size * MIN_COMPACTION_RATIO
        if len(section) == 1 and large and not _must_rewrite(file, unit, options):
            flush()
            steps.append(Upgrade(file))
        else:
            waiting.append(section)
    flush()
    return [step for step in steps if not (isinstance(step, Upgrade) and step.file.level == unit.output_level)]


def _must_rewrite(file: LevelFile, unit: CompactUnit, options: CompactionOptions) -> bool:
    """Deletes do not reach the highest level: a file that holds some is rewritten without them."""
    return file.has_deletes and unit.output_level == options.max_level
