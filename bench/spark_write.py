"""A DataFrame written into sorted buckets, by Lakebed and by Spark itself.

Run it with ``python -m bench.spark_write [rows] [repeats]``.

Both read the same Parquet files, shuffle by the key, sort by it and write Parquet with zstd. They alternate in one
session, and the result is the ratio of their times. Peak memory is that of the JVM and the Python workers together.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lakebed
from lakebed.metadata.commit.identity import Identity
from lakebed.operations.write import write
from lakebed.spark.session import get_session, prepare_workers
from lakebed.spark.spark_engine import OnSpark

BUCKETS = 8
CORES = 2


def source(folder: Path, rows: int) -> str:
    """Rows with a number as key, two texts, two doubles and a date, in four files."""
    folder.mkdir(parents=True)
    pick = np.random.default_rng(1)
    cities = np.array([f"city-{number:03d}" for number in range(500)])
    for part in range(4):
        keys = pick.permutation(np.arange(part, rows, 4)).astype(np.int64)
        count = len(keys)
        table = pa.table(
            {
                "id": keys,
                "name": np.char.add("name-", pick.integers(0, 1_000_000, count).astype(str)),
                "city": cities[pick.integers(0, len(cities), count)],
                "a": pick.random(count),
                "b": pick.random(count),
                "d": pa.array(pick.integers(18_000, 20_000, count).astype(np.int32)).cast(pa.date32()),
            }
        )
        pq.write_table(table, folder / f"{part}.parquet", compression="zstd", row_group_size=500_000)
    return str(folder)


def memory_of_children() -> int:
    """Resident bytes of all processes below this one."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                sizes[int(entry.name)] = int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except (OSError, IndexError, ValueError):
                continue
    ours = {os.getpid()}
    for _ in range(4):
        ours |= {process for process, parent in parents.items() if parent in ours}
    return sum(sizes.get(process, 0) for process in ours - {os.getpid()})


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and the peak of memory in GiB."""
    peak = 0
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.25):
            peak = max(peak, memory_of_children())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    began = time.perf_counter()
    run()
    seconds = time.perf_counter() - began
    ended.set()
    watcher.join()
    return seconds, peak / 2**30


def by_lakebed(spark: Any, frame: Any, lake: lakebed.Lake, name: str) -> None:
    columns = "id BIGINT, name STRING, city STRING, a DOUBLE, b DOUBLE, d DATE"
    table = lake.create_table(name, columns, primary_key=["id"], options={"bucket": str(BUCKETS), "write-only": "true"})
    write(table._store, frame, row_kind=None, who=Identity("bench"), engine=OnSpark(spark))  # noqa: SLF001
    assert len(os.listdir(f"{table.path}/bucket-0")) >= 1  # noqa: PTH208
    shutil.rmtree(table.path)


def by_spark(frame: Any, folder: str) -> None:
    placed = frame.repartition(BUCKETS, "id").sortWithinPartitions("id")
    placed.write.option("compression", "zstd").parquet(folder)
    shutil.rmtree(folder)


def main(rows: int = 10_000_000, repeats: int = 3) -> None:
    spark = get_session(options={"spark.master": f"local[{CORES}]", "spark.driver.memory": "4g"})
    prepare_workers(spark)
    with tempfile.TemporaryDirectory() as folder:
        frame = spark.read.parquet(source(Path(folder) / "source", rows))
        lake = lakebed.connect(Path(folder) / "lake")
        lake.create_database("db")
        frame.limit(1000).repartition(2).write.parquet(f"{folder}/warm")
        by_lakebed(spark, frame.limit(1000), lake, "db.warm")
        ratios = []
        for number in range(repeats):
            theirs, their_peak = timed(lambda n=number: by_spark(frame, f"{folder}/spark{n}"))  # type: ignore[misc]
            ours, our_peak = timed(lambda n=number: by_lakebed(spark, frame, lake, f"db.t{n}"))  # type: ignore[misc]
            ratios.append(ours / theirs)
            print(
                f"load {os.getloadavg()[0]:.1f}: spark {theirs:.2f} s ({their_peak:.1f} GiB), "
                f"lakebed {ours:.2f} s ({our_peak:.1f} GiB), ratio {ratios[-1]:.2f}",
                flush=True,
            )
        print(f"{rows} rows into {BUCKETS} buckets: ratio {statistics.median(ratios):.2f} (median of {repeats})")
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
