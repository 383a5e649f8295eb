"""What ``commit.durable`` costs: ``python -m bench.durability [repeats]``.

Each workload runs in turns on two tables that differ in the option only, in one process and on the disk of the
temporary folder. The result is the median of the ratios of neighbouring runs, with their spread. The flush itself is
also timed alone, because it depends on the disk.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import lakebed

COLUMNS = "id BIGINT, s STRING, a DOUBLE, b DOUBLE"


def rows(count: int, keys: int) -> pa.Table:
    """Rows with keys drawn from a range, a text of some variety and two doubles."""
    dice = np.random.default_rng(count)
    return pa.table(
        {
            "id": dice.integers(0, keys, count),
            "s": np.char.add("name-", dice.integers(0, 10**6, count).astype(str)),
            "a": dice.random(count),
            "b": dice.random(count),
        }
    )


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def flush_millis(folder: Path) -> float:
    """The median time to flush a small new file."""
    times = []
    for number in range(50):
        with (folder / str(number)).open("wb", buffering=0) as file:
            file.write(b"x" * 1000)
            times.append(seconds(lambda: os.fsync(file.fileno())))
    return statistics.median(times) * 1000


def measure(lake: lakebed.Lake, name: str, data: pa.Table, commits: int, repeats: int, keyed: bool) -> None:
    """Prints the times of one workload with and without durable commits."""
    tables = {}
    for durable in (True, False):
        options = {"commit.durable": str(durable).lower(), "write-only": "true"} | ({"bucket": "4"} if keyed else {})
        table = lake.create_table(
            f"db.{name.replace(' ', '_')}_{durable}", COLUMNS, primary_key=["id"] if keyed else (), options=options
        )
        table.write(data)
        tables[durable] = table
    times: dict[bool, list[float]] = {True: [], False: []}
    for number in range(repeats):
        for durable in (True, False) if number % 2 else (False, True):
            table = tables[durable]
            times[durable].append(seconds(lambda: [table.write(data) for _ in range(commits)]) / commits)  # noqa: B023
    ratios = [on / off for on, off in zip(times[True], times[False], strict=True)]
    on, off = (statistics.median(times[durable]) * 1000 for durable in (True, False))
    print(
        f"| {name} | {on:.1f} ms | {off:.1f} ms | {statistics.median(ratios):.2f} | {min(ratios):.2f} to "
        f"{max(ratios):.2f} |"
    )


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder:
        print(f"one flush: {flush_millis(Path(folder)):.1f} ms\n")
        lake = lakebed.connect(Path(folder) / "warehouse")
        lake.create_database("db")
        print("| commit of | durable | not durable | ratio | spread |\n|---|---:|---:|---:|---:|")
        measure(lake, "1 row", rows(1, 1), 20, repeats, keyed=False)
        measure(lake, "100k upserts", rows(100_000, 10**6), 3, repeats, keyed=True)
        measure(lake, "1M rows", rows(1_000_000, 10**7), 2, repeats, keyed=False)
        measure(lake, "1M upserts", rows(1_000_000, 10**7), 1, repeats, keyed=True)
        measure(lake, "5M rows", rows(5_000_000, 10**7), 1, repeats, keyed=False)


if __name__ == "__main__":
    main()
