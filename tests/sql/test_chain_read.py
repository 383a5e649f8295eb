"""Chain tables in SQL: what SELECT, SHOW PARTITIONS, time travel and the system tables show."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lakebed import Lake

TABLE = """(k INT, v STRING, dt STRING, hour INT) PARTITIONED BY (dt, hour) TBLPROPERTIES (
  'primary-key' = 'dt,hour,k', 'bucket' = '2', 'chain-table.enabled' = 'true',
  'partition.timestamp-pattern' = '$dt $hour:00:00', 'partition.timestamp-formatter' = 'yyyyMMdd HH:mm:ss')"""


def rows(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lake.sql(text).collect())


@pytest.fixture
def filled(lake: Lake, db: str) -> str:
    lake.sql(f"CREATE TABLE {db}.t {TABLE}")
    lake.sql(f"INSERT OVERWRITE {db}.`t$branch_snapshot` VALUES (1, 'a', '20250101', 9), (2, 'b', '20250101', 9)")
    lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES (2, 'B', '20250101', 10), (3, 'c', '20250102', 1)")
    return f"{db}.t"


def test_select(lake: Lake, filled: str) -> None:
    assert rows(lake, f"SELECT k, v FROM {filled} WHERE dt = '20250101' AND hour = 10") == [(1, "a"), (2, "B")]
    carried = f"SELECT k, hour FROM {filled} WHERE dt = '20250101' AND hour IN (11, 12) AND v = 'B'"
    assert rows(lake, carried) == [(2, 11), (2, 12)]
    assert rows(lake, f"SELECT count(*) FROM {filled}") == [(2 + 2 + 3,)]
    assert rows(lake, f"SELECT dt, hour, max(v) FROM {filled} WHERE dt >= '20250101' GROUP BY dt, hour") == [
        ("20250101", 9, "b"),
        ("20250101", 10, "a"),
        ("20250102", 1, "c"),
    ]
    assert len(rows(lake, f"SELECT * FROM {filled} LIMIT 4")) == 4


def test_partitions(lake: Lake, filled: str) -> None:
    assert rows(lake, f"SHOW PARTITIONS {filled}") == [
        ("dt=20250101/hour=10",),
        ("dt=20250101/hour=9",),
        ("dt=20250102/hour=1",),
    ]
    assert rows(lake, f"SHOW PARTITIONS {filled} PARTITION (dt = '20250102')") == [("dt=20250102/hour=1",)]
    assert len(rows(lake, f"SELECT * FROM `{filled.partition('.')[0]}`.`t$partitions`")) == 3


def test_the_chain_table(lake: Lake, filled: str) -> None:
    found = rows(lake, f"SELECT partition, kind, depth FROM {filled.partition('.')[0]}.`t$chain` WHERE NOT stale")
    assert found == [
        ("dt=20250101/hour=10", "delta", 1),
        ("dt=20250101/hour=9", "full", 0),
        ("dt=20250102/hour=1", "delta", 2),
    ]


def test_time_travel(lake: Lake, filled: str) -> None:
    before = lake.table(filled).branch("delta").latest_snapshot()
    assert before is not None
    time.sleep(1.1)
    lake.sql(f"INSERT INTO {filled.partition('.')[0]}.`t$branch_delta` VALUES (9, 'late', '20250102', 1)")
    query = "SELECT k FROM {} WHERE dt = '20250102' AND hour = 1"
    assert rows(lake, query.format(filled)) == [(1,), (2,), (3,), (9,)]
    seconds = before.time_millis // 1000 + 1
    assert rows(lake, query.format(f"{filled} TIMESTAMP AS OF {seconds}")) == [(1,), (2,), (3,)]
    with pytest.raises(Exception, match="is a chain table, and each of its branches numbers its own snapshots"):
        lake.sql(f"SELECT * FROM {filled} VERSION AS OF 1").collect()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET v = 'x' WHERE k = 1",
        "DELETE FROM {} WHERE k = 1",
        "MERGE INTO {} t USING (SELECT 1 k) s ON t.k = s.k WHEN MATCHED THEN DELETE",
    ],
)
def test_rows_of_main_cannot_be_changed(lake: Lake, filled: str, statement: str) -> None:
    with pytest.raises(Exception, match=r"write changes and deletes of rows to .*t\$branch_delta"):
        lake.sql(statement.format(filled)).collect()
    assert rows(lake, f"SELECT count(*) FROM {filled}") == [(7,)]
