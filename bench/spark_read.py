"""Reads on Spark beside Spark's own reader on the same files: ``python -m bench.spark_read --rows 10000000``.

Three questions, each answered by a ratio of times taken in turns in one session:

* a scan of an append table against ``spark.read.parquet`` of the same files: two of six columns, and all of them;
* a merged read of a primary-key table (8 buckets, ten overlapping runs in each) against Spark's raw scan of the same
  files without merging, and against ``max_by`` and ``row_number`` queries that give the same rows;
* a query for one row of a small table, planning included, against plain Spark.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lakebed
from lakebed.spark.session import get_session

SCHEMA = "id BIGINT, customer STRING, category STRING, price DOUBLE, score DOUBLE, day DATE"
RUNS = 10
CHUNK = 2_500_000
WARM_UP = 5


def rows_of(ids: np.ndarray, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    categories = pa.array([f"category-{i}" for i in range(50)])
    count = len(ids)
    return pa.table(
        {
            "id": ids,
            "customer": pa.array(np.char.add("customer-", random.integers(0, 100_000, count).astype(str))),
            "category": categories.take(pa.array(random.integers(0, 50, count))),
            "price": random.random(count),
            "score": random.random(count),
            "day": pa.array(random.integers(19_000, 20_000, count).astype(np.int32)).cast(pa.date32()),
        }
    )


def make_append(lake: lakebed.Lake, rows: int) -> Any:
    made = lake.create_table("bench.append", SCHEMA)
    for start in range(0, rows, CHUNK):
        made.write(rows_of(np.arange(start, min(rows, start + CHUNK)), start))
    return made


def make_keyed(lake: lakebed.Lake, rows: int) -> Any:
    """Most rows once, and ten runs over the same keys: 1.4 times as many rows in files as keys."""
    options = {"bucket": "8", "write-only": "true"}
    made = lake.create_table("bench.keyed", SCHEMA, primary_key=["id"], options=options)
    random = np.random.default_rng(0)
    made.write(rows_of(np.arange(rows), 0))
    for number in range(1, RUNS):
        made.write(rows_of(random.choice(rows, rows * 4 // 10 // (RUNS - 1), replace=False), number))
    return made


def make_small(lake: lakebed.Lake) -> Any:
    made = lake.create_table("bench.small", SCHEMA)
    made.write(rows_of(np.arange(1000), 1))
    return made


def paths_of(scan: lakebed.Scan) -> list[str]:
    paths: list[str] = scan.plan().files["file_path"].to_pylist()
    return paths


def in_turns(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Any]:
    """The median time of each call. The calls alternate, and the first rounds warm up the JVM and do not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(WARM_UP + repeats):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            if number >= WARM_UP:
                times[name].append(time.perf_counter() - started)
    return {name: round(statistics.median(taken), 3) for name, taken in times.items()}


def totals(frame: Any, columns: Sequence[str]) -> Any:
    return frame.selectExpr(*(f"max({name})" for name in columns)).collect()


def ratios(times: dict[str, float], of: str, to: str) -> dict[str, Any]:
    return {**times, f"{of} / {to}": round(times[of] / times[to], 2)}


def measure(rows: int, repeats: int, folder: str) -> dict[str, Any]:
    spark = get_session()
    lake = lakebed.connect(folder)
    lake.create_database("bench")
    append, keyed, small = make_append(lake, rows), make_keyed(lake, rows), make_small(lake)
    everything = [part.split()[0] for part in SCHEMA.split(", ")]
    found: dict[str, Any] = {"rows": rows, "cores": int(spark.sparkContext.defaultParallelism)}
    files = paths_of(append.scan())
    for title, columns in (("two columns", ["id", "price"]), ("all columns", everything)):
        calls = {"lakebed": partial(ours, spark, append, columns), "spark": partial(theirs, spark, files, columns)}
        found[f"scan, {title}"] = ratios(in_turns(calls, repeats), "lakebed", "spark")
    found["merged read"] = merged(spark, keyed, repeats)
    one = paths_of(small.scan())
    lookups = {
        "lakebed": lambda: small.scan(where="id = 77").to_spark(spark).collect(),
        "spark": lambda: spark.read.parquet(*one).filter("id = 77").collect(),
    }
    found["small query"] = in_turns(lookups, 3 * repeats)
    return found


def ours(spark: Any, table: Any, columns: Sequence[str]) -> Any:
    return totals(table.scan().to_spark(spark), columns)


def theirs(spark: Any, files: Sequence[str], columns: Sequence[str]) -> Any:
    return totals(spark.read.parquet(*files), columns)


def merged(spark: Any, keyed: Any, repeats: int) -> dict[str, Any]:
    columns = ["id", "price"]
    files = paths_of(keyed.scan())
    latest = "max_by(price, _SEQUENCE_NUMBER) AS price"
    window = "row_number() OVER (PARTITION BY id ORDER BY _SEQUENCE_NUMBER DESC) AS n"

    def raw() -> Any:
        return spark.read.parquet(*files)

    calls = {
        "lakebed": lambda: totals(keyed.scan(columns).to_spark(spark), columns),
        "raw scan": lambda: totals(raw(), columns),
        "max_by": lambda: totals(_grouped(raw(), latest), columns),
        "row_number": lambda: totals(raw().selectExpr("id", "price", window).filter("n = 1"), columns),
    }
    times = in_turns(calls, repeats)
    return {
        **ratios(times, "lakebed", "raw scan"),
        "max_by / lakebed": round(times["max_by"] / times["lakebed"], 1),
        "row_number / lakebed": round(times["row_number"] / times["lakebed"], 1),
    }


def _grouped(frame: Any, latest: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    return frame.groupBy("id").agg(F.expr(latest))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.rows, given.repeats, folder)
    text = json.dumps(found, indent=2)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
