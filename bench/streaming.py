"""Streams into a table beside Spark's file sink and Delta Lake.

Run it with ``python -m bench.streaming [rows] [batches] [repeats]``.

* *Sustained*: ``readStream`` reads a folder of Parquet files, one per batch, and each sink writes them as fast as it
  can. The result is rows per second from the start to the end of the query.
* *Delay*: a file appears while a query is idle. The result is the time until its rows can be read from the sink.

Sinks alternate in one session, and only ratios are compared. Delta is the writer of the deltalake package in
``foreachBatch``, which leaves exactly-once to the user. It is measured where the package is installed, as in
``.venv-bench``.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import lakebed
from lakebed.spark.session import get_session, prepare_workers

try:
    import deltalake as delta
except ImportError:
    delta = None

CORES = 2
PROBES = 8
COLUMNS = "id BIGINT, name STRING, amount DOUBLE"
RESULTS = Path(__file__).parent / "results" / "streaming.json"


class Sink:
    """One way to write a stream: how a query is made, and how many rows can be read."""

    def __init__(self, name: str, start: Callable[[Any, str], Any], count: Callable[[], int]) -> None:
        self.name, self.start, self.count = name, start, count


def rows_of(number: int, count: int) -> pa.Table:
    pick = np.random.default_rng(number)
    keys = np.arange(number * count, (number + 1) * count)
    return pa.table(
        {
            "id": keys,
            "name": np.char.add("name-", pick.integers(0, 10**6, count).astype(str)),
            "amount": pick.random(count),
        }
    )


def sinks(lake: lakebed.Lake, folder: Path, run: str) -> list[Sink]:
    plain = lake.create_table(f"db.plain{run}", COLUMNS)
    by_batch = lake.create_table(f"db.batch{run}", COLUMNS)
    near = lake.create_table(f"db.near{run}", COLUMNS)
    keyed = lake.create_table(f"db.keyed{run}", COLUMNS, primary_key=["id"], options={"bucket": str(CORES)})

    def counted(table: lakebed.Table) -> Callable[[], int]:
        return lambda: lake.table(table.name).scan().count()

    def to_files(stream: Any, checkpoint: str) -> Any:
        return stream.format("parquet").option("path", f"{folder}/files{run}").option("checkpointLocation", checkpoint)

    def to_plain(stream: Any, checkpoint: str) -> Any:
        own = stream.format("lakebed").option("warehouse", lake.warehouse).option("path", plain.name)
        return own.option("checkpointLocation", checkpoint)

    def by_function(table: lakebed.Table, *, on_driver: bool = False) -> Callable[[Any, str], Any]:
        write = lakebed.stream_to(table, on_driver=on_driver)
        return lambda stream, checkpoint: stream.foreachBatch(write).option("checkpointLocation", checkpoint)

    found = [
        Sink("spark files", to_files, lambda: _files_in(f"{folder}/files{run}")),
        Sink("lakebed, format", to_plain, counted(plain)),
        Sink("lakebed, foreachBatch", by_function(by_batch), counted(by_batch)),
        Sink("lakebed, on the driver", by_function(near, on_driver=True), counted(near)),
        Sink("lakebed, upsert", by_function(keyed), counted(keyed)),
    ]
    return [*found, delta_sink(f"{folder}/delta{run}")] if delta is not None else found


def delta_sink(place: str) -> Sink:
    """The writer of the deltalake package, a batch at a time."""

    def write(frame: Any, _: int) -> None:
        delta.write_deltalake(place, frame.toArrow(), mode="append")

    def to_delta(stream: Any, checkpoint: str) -> Any:
        return stream.foreachBatch(write).option("checkpointLocation", checkpoint)

    def rows() -> int:
        return int(delta.DeltaTable(place).count()) if delta.DeltaTable.is_deltatable(place) else 0

    return Sink("delta, foreachBatch", to_delta, rows)


def _files_in(folder: str) -> int:
    """The rows that the file sink has committed, by the log that its readers go by."""
    log = Path(folder) / "_spark_metadata"
    names = sorted(log.glob("[0-9]*")) if log.is_dir() else []
    paths = {json.loads(line)["path"] for name in names for line in name.read_text().splitlines()[1:]}
    return ds.dataset([path.removeprefix("file://") for path in paths]).count_rows() if paths else 0


def source(spark: Any, folder: Path) -> Any:
    reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).writeStream


def sustained(spark: Any, sink: Sink, files: Path, checkpoint: str, rows: int) -> float:
    """Rows per second of a query over all files."""
    began = time.perf_counter()
    sink.start(source(spark, files), checkpoint).trigger(availableNow=True).start().awaitTermination()
    seconds = time.perf_counter() - began
    assert sink.count() == rows, f"{sink.name} has {sink.count()} rows, not {rows}"
    return rows / seconds


def delays(spark: Any, sink: Sink, folder: Path, checkpoint: str) -> list[float]:
    """Seconds from the appearance of a file until its rows can be read."""
    folder.mkdir()
    before = 0
    query = sink.start(source(spark, folder), checkpoint).trigger(processingTime="0 seconds").start()
    found = []
    try:
        for number in range(PROBES):
            table = rows_of(10**6 + number, 1000)
            pq.write_table(table, folder / f".{number}.parquet")
            (folder / f".{number}.parquet").rename(folder / f"{number}.parquet")
            began = time.perf_counter()
            while sink.count() < before + len(table):
                time.sleep(0.005)
                if query.exception() is not None:
                    raise RuntimeError(str(query.exception()))
            found.append(time.perf_counter() - began)
            before += len(table)
    finally:
        query.stop()
    return found[2:]  # the first start workers


def main(rows: int = 4_000_000, batches: int = 20, repeats: int = 2) -> None:
    options = {
        "spark.master": f"local[{CORES}]",
        "spark.driver.memory": "3g",
        "spark.sql.shuffle.partitions": str(CORES),
    }
    spark = get_session(options={**options, "spark.ui.enabled": "false"})
    prepare_workers(spark)
    speeds: dict[str, list[float]] = {}
    waits: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = folder / "source"
        files.mkdir()
        for number in range(batches):
            pq.write_table(rows_of(number, rows // batches), files / f"{number:05d}.parquet")
        (folder / "warm").mkdir()
        pq.write_table(rows_of(0, 1000), folder / "warm" / "0.parquet")
        lake = lakebed.connect(folder / "lake")
        lake.create_database("db")
        for sink in sinks(lake, folder, "_warm"):
            sustained(spark, sink, folder / "warm", f"{folder}/c/warm/{sink.name}", 1000)
        for run in range(repeats):
            # Sinks of their own for the delays: Spark's file sink takes the batches of a second query for ones it has.
            pairs = zip(sinks(lake, folder, f"_{run}"), sinks(lake, folder, f"_{run}d"), strict=True)
            for number, (sink, probed) in enumerate(pairs):
                speed = sustained(spark, sink, files, f"{folder}/c/{run}/{number}", rows // batches * batches)
                speeds.setdefault(sink.name, []).append(speed)
                wait = delays(spark, probed, folder / f"drop_{run}_{number}", f"{folder}/c/{run}/{number}d")
                waits.setdefault(sink.name, []).extend(wait)
                print(f"{sink.name:24} {speed:12,.0f} rows/s   delay {statistics.median(wait):6.3f} s", flush=True)
            shutil.rmtree(folder / "lake" / "db.db", ignore_errors=True)
            lake.create_database("db", ignore_if_exists=True)
    base_speed, base_wait = max(speeds["spark files"]), statistics.median(waits["spark files"])
    print(
        f"\n| sink | rows/s | ratio | delay, median s | ratio |\n|---|---:|---:|---:|---:|  ({rows:,} rows, {batches} batches)"
    )
    for label, values in speeds.items():
        best, wait_median = max(values), statistics.median(waits[label])
        shown = f"{best:,.0f} | {best / base_speed:.2f} | {wait_median:.2f} | {wait_median / base_wait:.2f}"
        print(f"| {label} | {shown} |")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(
        json.dumps({"rows": rows, "batches": batches, "rows_per_second": speeds, "delays": waits}, indent=1)
    )
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
