"""Count, minimum and maximum of a read: from metadata where that is exact, otherwise from the files.

Metadata answers for a file if the result contains its rows unchanged: no other file replaces rows of it, every row
certainly satisfies the predicate, and the number of deleted rows is known. Bounds in statistics are exact only for
types that are stored whole (numbers, dates, timestamps). Bounds of texts may be truncated, and some writers leave NaN
out of the bounds of floating point columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.types.data_types import Atomic, Field, to_arrow
from lakebed.metadata.plan.file_scan import stats_views
from lakebed.rows.files.file_reader import FileReader
from lakebed.rows.keyed.keyed_read import KeyedReader

Reader = FileReader | KeyedReader
Mask = npt.NDArray[np.bool_]

_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})


@dataclass(frozen=True, slots=True)
class KnownCount:
    """The rows that metadata counts, and the entries of the files that have to be read for the others."""

    rows: int
    rest: pa.Table


@dataclass(frozen=True, slots=True)
class KnownRange:
    """The minimum and maximum from metadata (null if unknown), and the entries of files that have to be read."""

    least: pa.Scalar
    greatest: pa.Scalar
    rest: pa.Table


# ----------------------------------------------------------------------------------------------------------- counts


def count(reader: Reader, entries: pa.Table) -> int:
    """Return how many rows the reader would return; only files that metadata cannot count are read."""
    known = known_count(reader, entries)
    narrow = replace(reader, columns=(narrowest(reader),))
    return known.rows + sum(len(batch) for batch in narrow.batches(known.rest))


def known_count(reader: Reader, entries: pa.Table) -> KnownCount:
    """Return what metadata alone knows about the number of rows."""
    alone = _lone_files(reader, entries)
    every, none = _all_or_nothing(reader, entries)
    deleted = _deleted_counts(reader, entries)
    whole = alone & every & (deleted >= 0)
    rows = int((entries["row_count"].to_numpy()[whole] - deleted[whole]).sum())
    return KnownCount(rows, entries.filter(pa.array(~(whole | (alone & none)))))


def narrowest(reader: Reader) -> Field:
    """Return the cheapest column to read; of keyed tables the first key, which a merge reads anyway."""
    if isinstance(reader, KeyedReader):
        return reader.keys[0]
    atomic = [field for field in reader.schema.fields if isinstance(field.type, Atomic)]
    return min(atomic or reader.schema.fields, key=_width)


def _width(field: Field) -> int:
    arrow = to_arrow(field.type)
    try:
        return int(arrow.bit_width)
    except ValueError:  # of no fixed width
        return 1 << 10


# ----------------------------------------------------------------------------------------------------------- bounds


def min_max(reads: Sequence[tuple[Reader, pa.Table]], name: str) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the minimum and maximum of a column in what readers would return; null if there is none.

    NaN is greater than every other number, as in Spark.
    """
    column = reads[0][0].schema.field(name)
    if not isinstance(column.type, Atomic):
        raise UnsupportedError(f"column {name!r} is {column.type}, which has no minimum and maximum")
    low, high = [], []
    for reader, entries in reads:
        field = reader.schema.field(name)
        known = known_min_max(reader, entries, field)
        low.append(known.least)
        high.append(known.greatest)
        for batch in replace(reader, columns=(field,)).batches(known.rest):
            least, greatest = _bounds(batch.column(0))
            low.append(least)
            high.append(greatest)
    return _bounds(_gathered(low, column))[0], _bounds(_gathered(high, column))[1]


def known_min_max(reader: Reader, entries: pa.Table, column: Field) -> KnownRange:
    """Return what metadata alone knows about the minimum and maximum."""
    kind = to_arrow(column.type)
    nothing = pa.scalar(None, kind)
    if not isinstance(column.type, Atomic) or column.type.root not in _WHOLE:
        return KnownRange(nothing, nothing, entries)
    alone = _lone_files(reader, entries)
    every, none = _all_or_nothing(reader, entries)
    whole = alone & every & (_deleted_counts(reader, entries) == 0)
    known = alone & none
    least, greatest = [pa.array([], kind)], [pa.array([], kind)]
    for rows, view in stats_views(reader.store, entries, reader.schema, frozenset((column.name,))):
        bounds = view.columns.get(column.name)
        if bounds is None:
            continue
        told = pc.and_(bounds.minimum.is_valid(), bounds.maximum.is_valid())
        empty = pc.fill_null(pc.equal(bounds.null_count, pa.array(view.row_count)), fill_value=False)
        use = np.asarray(pc.or_(told, empty)) & whole[rows]
        known[rows] |= use
        least.append(bounds.minimum.filter(pa.array(use)))
        greatest.append(bounds.maximum.filter(pa.array(use)))
    return KnownRange(
        pc.min_max(pa.chunked_array(least))["min"],
        pc.min_max(pa.chunked_array(greatest))["max"],
        entries.filter(pa.array(~known)),
    )


def _gathered(values: Sequence[pa.Scalar], column: Field) -> pa.Array:
    return pa.concat_arrays([pa.repeat(value.cast(to_arrow(column.type)), 1) for value in values])


def _bounds(values: pa.Array) -> tuple[pa.Scalar, pa.Scalar]:
    """Return the minimum and the maximum; NaN is greater than all other values."""
    if not pa.types.is_floating(values.type):
        found = pc.min_max(values)
        return found["min"], found["max"]
    numbers = values.filter(pc.invert(pc.is_nan(values))).drop_null()
    found = pc.min_max(numbers)
    if len(numbers) + values.null_count == len(values):
        return found["min"], found["max"]
    nan = pa.scalar(math.nan, values.type)
    return (found["min"] if len(numbers) else nan), nan


# ------------------------------------------------------------------------------------------------- what files are whole


def _lone_files(reader: Reader, entries: pa.Table) -> Mask:
    """Return which files contain only rows that no other file replaces."""
    if not isinstance(reader, KeyedReader):
        return np.ones(len(entries), np.bool_)
    alone = np.zeros(len(entries), np.bool_)
    for job in reader.jobs(entries):
        if job.plain:
            alone[list(job.rows)] = True
    return alone


def _all_or_nothing(reader: Reader, entries: pa.Table) -> tuple[Mask, Mask]:
    """Return of which files every row certainly satisfies the predicate, and of which files none does."""
    every, none = np.ones(len(entries), np.bool_), np.zeros(len(entries), np.bool_)
    if reader.predicate is None:
        return every, none
    # Planning has already applied conditions on partitions alone.
    _, rest = pred.split(reader.predicate, reader.schema.partition_keys)
    if rest != pred.TRUE:
        for rows, view in stats_views(reader.store, entries, reader.schema, pred.columns(rest)):
            every[rows] = pred.must_match(rest, view)
            none[rows] = ~pred.may_match(rest, view)
    return every, none


def _deleted_counts(reader: Reader, entries: pa.Table) -> npt.NDArray[np.int64]:
    """Return how many rows of each file a deletion vector marks; -1 if the number was not recorded."""
    counts = np.zeros(len(entries), np.int64)
    marked = reader.deleted.by_file
    if marked:
        files = zip(entries["partition"].to_pylist(), entries["file_name"].to_pylist(), strict=True)
        for row, file in enumerate(files):
            if file in marked:
                cardinality = marked[file][1].cardinality
                counts[row] = -1 if cardinality is None else cardinality
    return counts
