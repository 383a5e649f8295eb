"""Read the rows of files in the order of a :class:`Sorter`, with limited memory: the rest is on the local disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.rows.files.file_reader import FileReader
from lakebed.rows.sort_order import Sorter, SortOrder
from lakebed.rows.spill import Spill

_SAMPLE_FILES: Final = 64
_SAMPLE_ROWS: Final = 2**17


def sampled(
    reader: FileReader, files: pa.Table, order: SortOrder, *, ranges: int = 1
) -> tuple[Sorter, pa.Table | None]:
    """Return a sorter for the rows of these files, and the keys that divide their order into ranges, if requested."""
    if order.strategy == "order" and ranges == 1:
        return Sorter(order), None
    some = _evenly(files, _SAMPLE_FILES)
    columns = replace(reader, columns=reader.schema.select(order.columns))
    share = _SAMPLE_ROWS // len(some)
    sample = pa.concat_tables([_evenly(columns.read(some.slice(i, 1)), share) for i in range(len(some))])
    sorter = Sorter.of(order, sample)
    return sorter, sorter.cuts(sample, ranges) if ranges > 1 else None


def _evenly(table: pa.Table, count: int) -> pa.Table:
    """Return at most so many rows, spread over the table."""
    if len(table) <= count:
        return table
    return table.take(pa.array(np.arange(count) * len(table) // count))


def sorted_portions(
    batches: Iterable[pa.RecordBatch], sorter: Sorter, budget: int, folder: str | None = None
) -> Iterator[pa.Table]:
    """Yield all rows in order, about ``budget`` bytes at a time; the others are in a file in ``folder``."""
    with closing(Spill[None](sorter.keys, folder)) as spill:
        runs = 0
        run: pa.Table | None = None
        for part in _up_to(batches, budget):
            if run is not None:
                spill.add([(None, run)])
                runs += 1
            run = sorter.sorted(sorter.with_keys(part))
        if run is None:
            return
        if not runs:
            yield sorter.without_keys(run)
            return
        spill.add([(None, run)])
        del run
        for piece in spill.pieces(None, budget):
            yield sorter.without_keys(sorter.sorted(piece))


def _up_to(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    so_far = 0
    for batch in batches:
        held += [batch] if len(batch) else []
        so_far += batch.nbytes
        if so_far >= size:
            yield pa.Table.from_batches(held)
            held, so_far = [], 0
    if held:
        yield pa.Table.from_batches(held)
