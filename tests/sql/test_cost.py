"""What the way over the catalog costs: a small query takes little longer than the same one over a temporary view."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed import Lake

MOST = 0.3
RUNS = 7
ROUNDS = 4


@pytest.fixture
def table(lake: Lake, db: str, spark: Any) -> lakebed.Table:
    made = lake.create_table(f"{db}.t", "id BIGINT, v STRING, n INT")
    made.write(
        pa.table({"id": range(1000), "v": [f"v{i}" for i in range(1000)], "n": pa.array(range(1000), pa.int32())})
    )
    files = made.scan().plan().files["file_path"].to_pylist()
    spark.read.parquet(*files).createOrReplaceTempView("same_rows")
    return made


def seconds(run: Any) -> float:
    before = time.perf_counter()
    run()
    return time.perf_counter() - before


@pytest.mark.parametrize("query", ["SELECT v FROM {} WHERE id = 500", "SELECT count(*), max(n) FROM {}"])
def test_a_small_query(spark: Any, lake: Lake, table: lakebed.Table, query: str) -> None:
    ours, view = query.format(table.name), query.format("same_rows")
    assert lake.sql(ours).collect() == spark.sql(view).collect()
    extra = []
    for _ in range(ROUNDS):  # a busy machine gets another chance
        pairs = [
            (seconds(lambda: lake.sql(ours).collect()), seconds(lambda: spark.sql(view).collect())) for _ in range(RUNS)
        ]
        extra.append(median(mine - other for mine, other in pairs))
        if extra[-1] <= MOST:
            return
    pytest.fail(
        f"a query over the catalog took {min(extra):.3f} s longer than over a view; at most {MOST} s are allowed"
    )
