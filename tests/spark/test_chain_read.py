"""Chain tables on Spark: the rows of reads in process, and full partitions through Spark's own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.chain.chain_tables import ChainFixture, day, deletes

from lakebed import Scan
from lakebed.changes import AddColumn


def as_text(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


def check(spark: Any, scan: Scan) -> Any:
    """The DataFrame of a scan, after its rows were found to be those of the scan in process."""
    frame = scan.to_spark(spark)
    assert as_text(frame.toArrow().to_pylist()) == as_text(scan.to_arrow().to_pylist())
    return frame


def kinds(frame: Any) -> tuple[int, int]:
    """How many scans of Spark's own reader, and how many of our kernels."""
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    return plan.count("FileScan parquet"), plan.count("MapInArrow")


@pytest.mark.parametrize(
    "options",
    [{}, {"sequence.field": "s"}, {"sequence.field": "s", "deletion-vectors.enabled": "true"}],
    ids=["plain", "sequence", "vectors"],
)
def test_every_day_is_as_in_process(spark: Any, tmp_path: Path, options: dict[str, str]) -> None:
    chain = ChainFixture(tmp_path, options=options)
    chain.full.overwrite(day("20250101", *((k, "full", 5) for k in range(20))))
    chain.delta.write(day("20250102", *((k, "second", k) for k in range(0, 30, 3))))
    chain.delta.write(deletes("20250102", [3, 4], s=9), row_kind="op")
    chain.delta.compact(full=True)
    chain.delta.write(day("20250104", (5, "fourth", 9), (50, "fourth", 9)))
    chain.main.alter(AddColumn("more", "STRING"))
    chain.delta.write([{**row, "more": "x"} for row in day("20250105", (5, "fifth", 10))])
    for where in (
        "dt = '20250102'",
        "dt = '20250103'",
        "dt IN ('20250101', '20250105')",
        "dt = '20250105' AND v = 'second'",
        "dt = '20250105' AND (k < 5 OR dt = 'x')",
        "dt > '20250101' AND k = 5",
        "dt = '20240101'",
        None,
    ):
        check(spark, chain.main.scan(where=where))
    check(spark, chain.main.scan(["dt"], "dt = '20250105'"))
    check(spark, chain.main.scan(["more", "k"], "dt = '20250105'"))


def test_full_partitions_are_read_by_spark_and_only_chains_by_us(spark: Any, tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.full.overwrite(day("20250101", *((k, "full") for k in range(20))))
    chain.delta.write(day("20250102", (1, "second")))
    assert kinds(check(spark, chain.main.scan(where="dt = '20250101'"))) == (1, 0)
    assert kinds(check(spark, chain.main.scan(where="dt = '20250102'"))) == (0, 1)
    assert kinds(check(spark, chain.main.scan())) == (1, 1)


def test_the_data_source_reads_the_whole_view(spark: Any, tmp_path: Path) -> None:
    chain = ChainFixture(tmp_path)
    chain.full.overwrite(day("20250101", (1, "a"), (2, "b")))
    chain.delta.write(day("20250102", (2, "B")))
    frame = spark.read.format("lakebed").option("where", "dt = '20250102'").load(chain.main.path)
    found = {(row["k"], row["v"]) for row in frame.collect() if row["dt"] == "20250102"}
    assert found == {(1, "a"), (2, "B")}
