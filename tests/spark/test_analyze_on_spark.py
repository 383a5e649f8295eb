"""ANALYZE on Spark: what tasks find is what this process finds."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakebed import Lake, Table
from lakebed.errors import LakebedError

COLUMNS = "id BIGINT, s STRING, x DOUBLE, d DECIMAL(20, 2), t TIMESTAMP(9), c TIME(3), b BYTES, p INT"


def rows(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "s": [None if n % 7 == 0 else f"text {n % 90}" for n in numbers],
            "x": [float("nan") if n == 13 else n / 3 for n in numbers],
            "d": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(20, 2)),
            "t": pa.array([n * 1_000_000_007 for n in numbers], pa.timestamp("ns")),
            "c": pa.array([dt.time(n % 24) for n in numbers], pa.time32("ms")),
            "b": [bytes([n % 50]) * (n % 5) for n in numbers],
            "p": pa.array([n % 3 for n in numbers], pa.int32()),
        }
    )


KINDS: dict[str, dict[str, Any]] = {
    "append": {},
    "partitioned": {"partition_by": ["p"]},
    "keyed": {"primary_key": ["id"], "options": {"bucket": "2", "write-only": "true"}},
    "vectors": {"primary_key": ["id"], "options": {"bucket": "1", "deletion-vectors.enabled": "true"}},
}


def seen(lake: Lake, table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lake.system_table(f"{table.name}$statistics").scan().to_arrow().to_pylist()
    return [{**row, "snapshot_id": None} for row in found]


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_find_what_this_process_finds(spark: Any, lake: Lake, kind: str) -> None:
    table = lake.create_table("db.t", COLUMNS, **KINDS[kind])
    assert table.analyze("all", spark=spark) is None
    for start in (0, 100, 50):
        table.write(rows(start, start + 100))
    table.analyze("all")
    here = seen(lake, table)
    assert here[0]["mergedRecordCount"] == (300 if kind in {"append", "partitioned"} else 200)
    made = table.analyze("all", spark=spark)
    assert made is not None
    assert seen(lake, table) == here
    table.analyze(spark=spark)
    assert seen(lake, table) == [{**here[0], "colstat": "{ }"}]
    assert table.verify().problems == ()


def test_a_table_that_became_empty(spark: Any, lake: Lake) -> None:
    table = lake.create_table("db.t", COLUMNS)
    table.write(rows(0, 5))
    table.truncate()
    table.analyze(["id"], spark=spark)
    assert seen(lake, table)[0]["mergedRecordCount"] == 0


def test_a_file_that_is_gone_fails_in_one_sentence_and_commits_nothing(spark: Any, lake: Lake) -> None:
    table = lake.create_table("db.t", COLUMNS)
    table.write(rows(0, 5))
    Path(table.scan().plan().files["file_path"][0].as_py()).unlink()
    with pytest.raises(LakebedError, match="data-") as caught:
        table.analyze(["id"], spark=spark)
    assert "\n" not in str(caught.value)
    assert len(table.snapshots()) == 1
    assert not Path(table.path, "statistics").exists()
