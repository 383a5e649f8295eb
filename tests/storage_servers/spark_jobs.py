"""What drivers do with tables on S3; importable, because it goes to their processes by name."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

import lakebed
from lakebed import Lake, Table

COLUMNS = "id BIGINT, v STRING, dt STRING"


def open_lake(url: str, options: Mapping[str, str], spark: Any = None) -> Lake:
    lake = lakebed.connect(f"{url}/warehouse", options=options, spark=spark)
    lake.create_database("db", ignore_if_exists=True)
    return lake


def rows(numbers: range, text: str = "v") -> pa.Table:
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "v": [f"{text}{n}" for n in numbers],
            "dt": [f"d{n % 2}" for n in numbers],
        }
    )


def keyed(lake: Lake, name: str = "db.t") -> Table:
    """A table with two versions of some rows."""
    options = {"bucket": 2, "write-only": "true"}
    return lake.create_table(name, COLUMNS, partition_by=["dt"], primary_key=["dt", "id"], options=options)


def plan_of(frame: Any) -> str:
    """Every text that Spark makes of the plan of a frame."""
    query = frame._jdf.queryExecution()
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for mode in ("simple", "extended", "codegen", "cost", "formatted"):
            frame.explain(mode=mode)
    made = [text.getvalue(), query.toString()]
    for plan in (query.logical(), query.analyzed(), query.optimizedPlan(), query.executedPlan()):
        made += [plan.toString(), plan.toJSON()]
    return "\n".join(made)


def variables_of_tasks(spark: Any) -> set[str]:
    def names(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"name": [name for name in os.environ if name.startswith("AWS_")]})

    names.__module__ = "__main__"  # it goes to the workers by value
    return {row.name for row in spark.range(0, 4, 1, 4).mapInArrow(names, "name string").collect()}


def write_read_and_compact(
    spark: Any, url: str, options: dict[str, str]
) -> tuple[set[str], int, pa.Table, pa.Table, list[str]]:
    """Everything that tasks do, with credentials that only the environment of the driver holds."""
    lake = open_lake(url, {}, spark)
    table = keyed(lake)
    table.write(spark.createDataFrame(rows(range(200))))
    table.write(spark.createDataFrame(rows(range(100, 300), "new")))
    merged = table.scan().to_spark(spark).orderBy("id").toArrow()
    table.compact(full=True, spark=spark)
    compacted = table.scan().to_spark(spark).orderBy("id").toArrow()
    source = spark.read.format("lakebed").options(**options).load(f"{url}/warehouse/db.db/t").count()
    problems = [str(problem) for problem in table.verify(deep=True).problems]
    return variables_of_tasks(spark), source, merged, compacted, problems


def read_with_sparks_reader(spark: Any, url: str, options: dict[str, str]) -> tuple[str, pa.Table, str]:
    """The plan and the rows of a table whose files Spark reads, and the error of another lake with wrong keys."""
    from lakebed.spark.read import hadoop_files

    hadoop_files.LEAST_BYTES = 0  # type: ignore[misc]
    lake = open_lake(url, options, spark)
    table = keyed(lake)
    table.write(rows(range(200)))
    table.compact(full=True)
    frame = table.scan(where="id >= 100").to_spark(spark)
    found = frame.orderBy("id").toArrow()
    wrong = {**options, "s3.secret-key": "wr0ng-s3cr3t"}
    files = hadoop_files.s3a_files(lakebed.storage.open_storage(url, wrong).settings, url.partition("://")[2])  # type: ignore[attr-defined]
    assert files is not None
    paths = [files.uri(f"{url}/warehouse/db.db/t/snapshot/LATEST")]
    try:
        spark.read.options(**files.options).text(paths).count()
    except Exception as error:
        return plan_of(frame), found, str(error)
    return plan_of(frame), found, ""
