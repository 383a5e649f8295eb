"""Decides which columns of a Parquet file are encoded by dictionary.

A dictionary pays if values repeat. If they hardly do, the writer fills one, finds it too large and starts again; and in
a small file, the dictionary and the positions in it take more bytes than the values alone: a row of the changes of a
chain table took 34 bytes with dictionaries for all columns and takes 22 without those for nearly unique ones.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.schema.table_schema import KEY_PREFIX

_LEAST_ROWS: Final = 1024
_SAMPLE_ROWS: Final = 16 * 1024
_UNIQUE_IN_SAMPLE: Final = 0.95
_UNIQUE_IN_FILE: Final = 0.6


def dictionary_columns(rows: pa.Table) -> bool | list[str]:
    """Returns the columns of a file to encode by dictionary; ``True`` if the writer shall decide.

    A sample of the first rows of the file decides, and a key column is stored as its value column is. The writer
    decides for very small files, and for those with nested columns, which it names by path.
    """
    if len(rows) < _LEAST_ROWS or any(pa.types.is_nested(column.type) for column in rows.columns):
        return True
    sample = rows
    if len(rows) > _SAMPLE_ROWS:
        sample = rows.take(pa.array(np.linspace(0, len(rows) - 1, _SAMPLE_ROWS, dtype=np.int64)))
    names = [
        name
        for name, column in zip(rows.column_names, sample.columns, strict=True)
        if _repeats(pc.count_distinct(column).as_py(), len(sample), len(rows))
    ]
    return [*names, *(KEY_PREFIX + name for name in names)]


def _repeats(distinct: int, sample: int, rows: int) -> bool:
    """Whether a dictionary pays for a column with so many distinct values in a sample of so many rows.

    >>> _repeats(2_000, 2_000, 2_000), _repeats(1_000, 2_000, 2_000)
    (False, True)
    >>> _repeats(15_700, 16_384, 50_000), _repeats(8_000, 16_384, 50_000), _repeats(15_000, 16_384, 1_000_000)
    (False, True, True)
    """
    if sample == rows:
        return distinct < _UNIQUE_IN_FILE * rows
    if distinct >= _UNIQUE_IN_SAMPLE * sample:
        return False
    # If all of so many values are equally likely, this share of a sample repeats one of them.
    values = sample * sample / (2 * (sample - distinct))
    return values * (1 - math.exp(-rows / values)) < _UNIQUE_IN_FILE * rows
