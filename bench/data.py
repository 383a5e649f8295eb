"""The rows that every system gets: the same for the same number of rows, on every machine.

BIGINT id, a string of high and one of low cardinality, a double with cents and one with all its bits, and a date with
ten values to partition by. Kept as uncompressed Arrow files, so that each measurement starts from rows in memory.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PARTITION = "day"
DAYS = 10
BATCH_ROWS = 1_000_000
ORDERS = ("sorted", "shuffled")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("customer", pa.string()),
        ("category", pa.string()),
        ("price", pa.float64()),
        ("score", pa.float64()),
        (PARTITION, pa.date32()),
    ]
)
COLUMNS = "id BIGINT, customer STRING, category STRING, price DOUBLE, score DOUBLE, day DATE"

_SEED = 20261115
_FIRST_DAY = 20_454  # 2026-01-01 as days since the epoch
_CATEGORIES = [f"{kind}/{part}" for kind in ("books", "garden", "kitchen", "toys", "music") for part in range(8)]
_LETTERS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)


def make_rows(rows: int, order: str) -> pa.Table:
    """The rows day by day, or the very same rows shuffled."""
    rng = np.random.default_rng(_SEED)
    days = np.sort(rng.integers(0, DAYS, rows, dtype=np.int32)) + np.int32(_FIRST_DAY)
    table = pa.table(
        [
            pa.array(np.arange(rows, dtype=np.int64)),
            _words(rng, rows),
            pa.DictionaryArray.from_arrays(_skewed(rng, rows), _CATEGORIES).cast(pa.string()),
            pa.array(np.round(rng.lognormal(3, 1, rows), 2)),
            pa.array(rng.random(rows)),
            pa.array(days).cast(pa.date32()),
        ],
        schema=SCHEMA,
    )
    return table.take(pa.array(rng.permutation(rows))) if order == "shuffled" else table


def _words(rng: np.random.Generator, rows: int) -> pa.Array:
    """Nearly unique words of 12 to 20 letters."""
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(rng.integers(12, 21, rows), out=offsets[1:])
    letters = _LETTERS[rng.integers(0, 32, offsets[-1], dtype=np.uint8)]
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


def _skewed(rng: np.random.Generator, rows: int) -> npt.NDArray[np.int8]:
    """Numbers of categories: some are common, some rare."""
    return np.minimum(rng.geometric(0.12, rows) - 1, len(_CATEGORIES) - 1).astype(np.int8)


def save(path: Path, rows: int, order: str) -> None:
    """Write the rows to a file, unless it is there already."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    table = make_rows(rows, order).combine_chunks()
    unfinished = path.with_suffix(".tmp")
    with pa.OSFile(str(unfinished), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)
    unfinished.rename(path)


def load(path: Path) -> pa.Table:
    """The rows of a file, in memory."""
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables hold the same rows, in whatever order."""
    tables = [table.select(SCHEMA.names).cast(SCHEMA).sort_by("id") for table in (one, other)]
    return bool(tables[0].equals(tables[1]))
