"""Sorted runs on the local disk, for rows that exceed the memory budget; they are read back by ranges of keys.

A run contains the rows of a group sorted by key, in blocks. Only the first key of each block stays in memory. The key
range is divided where blocks begin, so that a piece contains about as many rows as requested, whatever the keys are.
All rows of a key are in one piece. The files are memory-mapped Arrow files; :meth:`Spill.close` deletes them.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.rows.order import order_by_key

BLOCK_ROWS: Final = 8192
K = TypeVar("K", bound=Hashable)
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Run:
    """The blocks of a file from ``first`` on; ``heads`` are their first keys."""

    path: Path
    first: int
    heads: pa.Table
    rows: int
    nbytes: int

    @property
    def counts(self) -> _Ints:
        counts = np.full(len(self.heads), BLOCK_ROWS, np.int64)
        counts[-1] = self.rows - BLOCK_ROWS * (len(self.heads) - 1)
        return counts

    def read(self, start: int, stop: int) -> list[pa.RecordBatch]:
        with pa.memory_map(str(self.path)) as source:
            reader = pa.ipc.open_file(source)
            return [reader.get_batch(self.first + block) for block in range(start, stop)]


class Spill(Generic[K]):
    """The runs of any number of groups; ``keys`` are the columns that rows are sorted by."""

    def __init__(self, keys: Sequence[str], folder: str | None = None) -> None:
        self._keys = list(keys)
        self._parent = folder
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0
        self._runs: dict[K, list[_Run]] = {}

    def rows(self, group: K) -> int:
        return sum(run.rows for run in self._runs[group])

    def add(self, runs: Iterable[tuple[K, pa.Table]]) -> None:
        """Write one more run of each of these groups, all in one file."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="lakebed-spill-", dir=self._parent)
        path = Path(self._folder.name) / f"{self._files}.arrow"
        self._files += 1
        blocks = 0
        with contextlib.ExitStack() as open_files:
            writer: pa.RecordBatchFileWriter | None = None
            for group, table in runs:
                if writer is None:
                    sink = open_files.enter_context(pa.OSFile(str(path), "wb"))
                    writer = open_files.enter_context(pa.ipc.new_file(sink, table.schema))
                starts = range(0, len(table), BLOCK_ROWS)
                for start in starts:
                    writer.write_batch(_one_batch(table.slice(start, BLOCK_ROWS)))
                heads = table.select(self._keys).take(pa.array(starts, pa.int64())).combine_chunks()
                run = _Run(path, blocks, heads, len(table), table.nbytes)
                self._runs.setdefault(group, []).append(run)
                blocks += len(heads)

    def pieces(self, group: K, piece_bytes: int) -> Iterator[pa.Table]:
        """Yield the rows of a group by ascending ranges of keys; unsorted within a range, older runs first."""
        runs = self._runs[group]
        heads = pa.concat_tables([run.heads for run in runs])
        ranks = self._ranks(heads)
        per_row = max(1, sum(run.nbytes for run in runs) // max(1, self.rows(group)))
        cuts = _cuts(ranks, np.concatenate([run.counts for run in runs]), max(1, piece_bytes // per_row))
        ends = np.cumsum([len(run.heads) for run in runs])
        by_run = np.split(ranks, ends[:-1])
        for low, high in zip([None, *cuts], [*cuts, None], strict=True):
            batches: list[pa.RecordBatch] = []
            for run, own in zip(runs, by_run, strict=True):
                # Rows of the lowest key may begin in the block before the first one that starts with it.
                start = 0 if low is None else max(0, int(np.searchsorted(own, low)) - 1)
                stop = len(own) if high is None else int(np.searchsorted(own, high))
                batches += run.read(start, stop)
            bounds = [None if cut is None else heads.slice(int(np.argmax(ranks == cut)), 1) for cut in (low, high)]
            yield self._between(pa.Table.from_batches(batches), *bounds)

    def close(self) -> None:
        """Delete all files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _ranks(self, keys: pa.Table) -> _Ints:
        """Return numbers of the same order as the keys, equal for equal keys."""
        order = order_by_key(keys.columns)
        ranks = np.empty(len(keys), np.int64)
        group = np.zeros(len(keys), np.int64)
        group[order.starts[1:]] = 1
        ranks[order.rows] = np.cumsum(group)
        return ranks

    def _between(self, rows: pa.Table, low: pa.Table | None, high: pa.Table | None) -> pa.Table:
        """Return the rows whose key is at least ``low`` and less than ``high``."""
        bounds = [bound for bound in (low, high) if bound is not None]
        if not bounds:
            return rows
        ranks = self._ranks(pa.concat_tables([rows.select(self._keys), *bounds]))
        own = ranks[: len(rows)]
        keep = np.ones(len(rows), np.bool_)
        if low is not None:
            keep &= own >= ranks[len(rows)]
        if high is not None:
            keep &= own < ranks[-1]
        return rows if keep.all() else rows.filter(pa.array(keep))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def _cuts(ranks: _Ints, counts: _Ints, rows: int) -> list[int]:
    """Return the ranks of block heads at which new pieces begin, so that pieces have about the requested rows."""
    order = np.argsort(ranks, kind="stable")
    number = (np.cumsum(counts[order]) - counts[order]) // rows
    at = np.flatnonzero(np.diff(number)) + 1
    cuts: list[int] = np.unique(ranks[order][at]).tolist()
    return [cut for cut in cuts if cut > int(ranks.min())]
