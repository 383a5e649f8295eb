"""Several statements in one text, and statements of other table formats."""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException

from lakebed import Lake, LakebedError, NotFoundError, OptionError


def test_several_statements(lake: Lake, db: str) -> None:
    found = lake.sql(
        f"""
        USE {db};
        CREATE TABLE t (id INT, v STRING); -- a comment; with a semicolon
        INSERT INTO t VALUES (1, 'a;b'), (2, 'c');
        SELECT 'not the last';
        SELECT id FROM t WHERE v = :v;
        """,
        {"v": "a;b"},
    )
    assert [row.id for row in found.collect()] == [1]
    with pytest.raises(ParseException, match="SELEC"):
        lake.sql("INSERT INTO t VALUES (3, 'd'); SELEC 1; INSERT INTO t VALUES (4, 'e')")
    assert lake.sql("SELECT max(id) FROM t;").first()[0] == 3
    with pytest.raises(OptionError, match="name the parameters"):
        lake.sql("SELECT 1; SELECT ?", [2])
    assert lake.sql("SELECT ? AS n;", [2]).first().n == 2


def test_a_script_is_one_statement(lake: Lake) -> None:
    script = "BEGIN DECLARE n INT = 1; SET n = n + 1; SELECT CASE n WHEN 2 THEN 'two' END AS n; END"
    assert lake.sql(script).first().n == "two"
    assert lake.sql(f"{script}; SELECT 3 AS n").first().n == 3


@pytest.fixture
def written(lake: Lake, db: str) -> str:
    """A table with four snapshots."""
    lake.sql(f"CREATE TABLE {db}.t (id INT, v STRING, dt STRING) PARTITIONED BY (dt)")
    for number in range(4):
        lake.sql(f"INSERT INTO {db}.t VALUES ({number}, 'v{number}', 'd{number % 2}')")
    return f"{db}.t"


def test_describe_history(lake: Lake, spark: Any, written: str) -> None:
    found = lake.sql(f"DESCRIBE HISTORY {written}")
    assert found.columns[:4] == ["version", "timestamp", "userName", "operation"]
    snapshots = lake.table(written).snapshots()
    rows = found.collect()
    assert [row.version for row in rows] == [4, 3, 2, 1]
    assert [row.timestamp.timestamp() for row in rows] == [one.time_millis / 1000 for one in reversed(snapshots)]
    assert [(row.operation, row.changedRows, row.totalRows, row.schemaId) for row in rows[:2]] == [
        ("APPEND", 1, 4, 0),
        ("APPEND", 1, 3, 0),
    ]
    assert [row.version for row in spark.sql(f"desc history lakebed.{written} limit 2").collect()] == [4, 3]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql(f"DESCRIBE HISTORY {written}_")
    other = written.replace(".t", ".history")
    lake.sql(f"CREATE TABLE {other} (id INT)")
    assert lake.sql(f"DESCRIBE {other}").first().col_name == "id"


def test_optimize(lake: Lake, spark: Any, written: str) -> None:
    table = lake.table(written)

    def files(day: str) -> int:
        rows = lake.system_table(f"{written}$files").scan(["partition"]).to_arrow().to_pylist()
        return sum(day in row["partition"] for row in rows)

    assert (files("d0"), files("d1")) == (2, 2)
    assert lake.sql(f"OPTIMIZE {written} WHERE dt = 'd1'").collect() == [(table.path, 5)]
    assert (files("d0"), files("d1")) == (2, 1)
    assert spark.sql(f"OPTIMIZE lakebed.{written};").collect() == [(table.path, 6)]
    assert (files("d0"), files("d1")) == (1, 1)
    assert lake.sql(f"OPTIMIZE {written}").collect() == [(table.path, None)]
    assert lake.sql(f"OPTIMIZE {written} WHERE dt = 'd0' ZORDER BY (id, `v`)").first().snapshot_id == 7
    assert lake.sql(f"optimize {written} zorder by v, id").first().snapshot_id == 8
    with pytest.raises(LakebedError, match="nope"):
        lake.sql(f"OPTIMIZE {written} ZORDER BY (nope)")
    with pytest.raises(LakebedError, match="'id'"):
        lake.sql(f"OPTIMIZE {written} WHERE id = 1")
    assert table.count() == 4
    assert table.verify().ok


def test_vacuum(lake: Lake, spark: Any, written: str) -> None:
    table = lake.table(written)
    table.delete("id = 0")
    table.create_tag("kept", snapshot=2)
    stray = Path(table.path) / "dt=d0" / "bucket-0" / "data-stray-0.parquet"
    for path, age in ((stray, 3 * 24), (stray.with_name("data-young-0.parquet"), 2)):
        path.write_bytes(b"?" * 7)
        os.utime(path, (time.time() - age * 3600,) * 2)
    assert lake.sql(f"VACUUM {written} RETAIN 1 HOURS DRY RUN").collect() == [(str(stray), "data", 7)]
    assert lake.sql(f"VACUUM {written} RETAIN 100 HOURS DRY RUN").collect() == []
    shown = lake.sql(f"VACUUM {written} RETAIN 0 HOURS DRY RUN").collect()
    assert len(table.snapshots()) == 5
    assert stray.exists()
    assert spark.sql(f"VACUUM lakebed.{written} RETAIN 0 HOURS").collect() == shown
    assert not stray.exists()
    assert stray.with_name("data-young-0.parquet").exists()
    assert [one.id for one in table.snapshots()] == [5]
    assert {kind for _, kind, _ in shown} >= {"data", "snapshot"}
    assert (table.count(), table.scan(tag="kept").count()) == (3, 2)
    assert lake.sql(f"VACUUM {written}").collect() == []
    with pytest.raises(ParseException):
        lake.sql(f"VACUUM {written} RETAIN soon")


def test_restore(lake: Lake, spark: Any, written: str) -> None:
    table = lake.table(written)
    table.create_tag("second", snapshot=2)
    assert lake.sql(f"RESTORE TABLE {written} TO VERSION AS OF 3").collect() == [(4, 3)]
    at = table.snapshots()[1].time_millis
    text = dt.datetime.fromtimestamp(at / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        found = spark.sql(f"RESTORE lakebed.{written} TIMESTAMP AS OF '{text}'").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert found == [(3, 2)]
    lake.sql(f"INSERT INTO {written} VALUES (9, 'v9', 'd1')")
    assert lake.sql(f"RESTORE TABLE {written} TO VERSION AS OF 'second'").collect() == [(3, 2)]
    lake.sql(f"INSERT INTO {written} VALUES (9, 'v9', 'd1')")
    lake.sql(f"RESTORE TABLE {written} TO TIMESTAMP AS OF current_timestamp() + INTERVAL 1 DAY")
    assert table.count() == 3
    for bad in ("VERSION AS OF 9", "TIMESTAMP AS OF '1999-01-01'", "VERSION AS OF 'nope'"):
        with pytest.raises(NotFoundError):
            lake.sql(f"RESTORE TABLE {written} TO {bad}")
    assert [one.id for one in table.snapshots()] == [1, 2, 3]


def test_tables_of_other_catalogs_are_left_to_spark(spark: Any, lake: Lake) -> None:
    for text in ("OPTIMIZE t", "VACUUM t", "RESTORE TABLE t TO VERSION AS OF 1"):
        with pytest.raises(ParseException):
            spark.sql(text)
