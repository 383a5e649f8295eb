"""Row hashes per second on one core: ``python -m bench.hashing``. Prints raw numbers, the best of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.format.binary_row import encode_rows
from lakebed.format.murmur import hash_rows
from lakebed.format.types.data_types import Atomic, DataType

ROWS = 4_000_000
RUNS = 5


def words_of(lengths: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """Random lower-case words of the given lengths."""
    rng = np.random.default_rng(7)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    offsets[1:] = np.cumsum(lengths)
    letters = rng.integers(97, 123, offsets[-1], dtype=np.uint8)
    return pa.Array.from_buffers(pa.string(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


def cases() -> dict[str, tuple[list[pa.Array], list[DataType]]]:
    rng = np.random.default_rng(7)
    numbers = rng.integers(-(2**63), 2**63 - 1, ROWS)
    nullable = pa.array(numbers, mask=rng.random(ROWS) < 0.1)
    bigint, string = Atomic("BIGINT"), Atomic("STRING")
    return {
        "BIGINT": ([pa.array(numbers)], [bigint]),
        "BIGINT, 10% null": ([nullable], [bigint]),
        "STRING of 1..7 bytes": ([words_of(rng.integers(1, 8, ROWS))], [string]),
        "STRING of 8..12 bytes": ([words_of(rng.integers(8, 13, ROWS))], [string]),
        "STRING of 5..20 bytes": ([words_of(rng.integers(5, 21, ROWS))], [string]),
        "BIGINT, STRING of 8..12 bytes": ([pa.array(numbers), words_of(rng.integers(8, 13, ROWS))], [bigint, string]),
    }


def best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return ROWS / min(times) / 1e6


def main() -> None:
    pa.set_cpu_count(1)
    print(f"{ROWS:,} rows, best of {RUNS} runs, million rows per second of CPU time")
    print(f"{'key':32}{'hash':>10}{'bucket':>10}{'encode':>10}")
    for name, (columns, types) in cases().items():
        hashing = best(partial(hash_rows, columns, types))
        bucket = best(partial(bucket_of_rows, columns, types, 16))
        encode = best(partial(encode_rows, columns, types))
        print(f"{name:32}{hashing:10.1f}{bucket:10.1f}{encode:10.1f}")


if __name__ == "__main__":
    main()
