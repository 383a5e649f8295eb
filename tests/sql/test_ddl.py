"""Statements that change what a table is: whatever goes wrong, the table that was there stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import Lake, UnsupportedError, changes
from lakebed.sql.jvm.jvm_values import version_numbers


def rows(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lake.sql(text).collect())


@pytest.fixture
def kept(lake: Lake, db: str) -> str:
    lake.sql(f"CREATE TABLE {db}.t PARTITIONED BY (p) AS SELECT 1 AS id, 'x' AS p")
    return f"{db}.t"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR REPLACE TABLE {} AS SELECT CAST(raise_error('no') AS INT) AS id",
        "REPLACE TABLE {} AS SELECT CAST(raise_error('no') AS INT) AS id",
        "CREATE OR REPLACE TABLE {} TBLPROPERTIES ('bukcet' = '1') AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE {} AS SELECT parse_json('1') AS id",
        "REPLACE TABLE {} (id INT) USING iceberg",
        "REPLACE TABLE {} (id INT) TBLPROPERTIES ('primary-key' = 'nope')",
    ],
)
def test_a_table_stays_if_what_should_replace_it_fails(lake: Lake, db: str, kept: str, text: str) -> None:
    with pytest.raises(Exception, match=r"no|bukcet|iceberg|variant") as caught:
        lake.sql(text.format(kept))
    assert "replacing" not in str(caught.value)
    assert rows(lake, f"SELECT * FROM {kept}") == [(1, "x")]
    assert lake.tables(db) == ["t"]


def test_a_query_may_read_the_table_that_it_replaces(lake: Lake, db: str, kept: str, spark: Any) -> None:
    lake.sql(f"CREATE OR REPLACE TABLE {kept} TBLPROPERTIES ('primary-key' = 'id') AS SELECT id + 1 AS id FROM {kept}")
    assert rows(lake, f"SELECT * FROM {kept}") == [(2,)]
    assert lake.table(kept).schema.primary_keys == ("id",)
    lake.sql(f"INSERT INTO {kept} VALUES (2), (3)")
    frame = spark.table(f"lakebed.{kept}").selectExpr("id * 10 AS id")
    frame.writeTo(f"lakebed.{kept}").createOrReplace()
    assert rows(lake, f"SELECT * FROM {kept}") == [(20,), (30,)]
    lake.sql(f"REPLACE TABLE {kept} (other DATE)")
    assert rows(lake, f"SELECT * FROM {kept}") == []
    assert lake.tables(db) == ["t"]


def test_a_new_table_goes_if_it_cannot_be_opened_or_filled(lake: Lake, db: str, spark: Any) -> None:
    spark.conf.set("spark.paimon.branch", "dev")
    with pytest.raises(Exception, match="has no branch 'dev'"):
        lake.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")
    spark.conf.unset("spark.paimon.branch")
    with pytest.raises(Exception, match="no rows"):
        lake.sql(f"CREATE TABLE {db}.t AS SELECT CAST(raise_error('no rows') AS INT) AS id")
    assert lake.tables(db) == []


@pytest.mark.parametrize("change", ["SET TBLPROPERTIES ('{}' = 'id')", "UNSET TBLPROPERTIES ('{}')"])
@pytest.mark.parametrize("name", ["primary-key", "primary_key"])
def test_a_primary_key_stays(lake: Lake, kept: str, change: str, name: str) -> None:
    with pytest.raises(UnsupportedError, match="the primary key cannot change"):
        lake.sql(f"ALTER TABLE {kept} {change.format(name)}")


def test_show_create_table_can_be_run_again(lake: Lake, db: str) -> None:
    lake.sql(
        f"CREATE TABLE {db}.t (a INT COMMENT 'aa', b STRING) PARTITIONED BY (b) COMMENT 'told' "
        "TBLPROPERTIES ('primary-key' = 'a,b', 'bucket' = '1', 'k1' = 'v1')"
    )
    path = lake.table(f"{db}.t").path
    shown = lake.sql(f"SHOW CREATE TABLE {db}.t").collect()[0][0]
    assert shown == (
        f"CREATE TABLE lakebed.{db}.t (\n  a INT NOT NULL COMMENT 'aa',\n  b STRING NOT NULL)\nUSING paimon\n"
        f"PARTITIONED BY (b)\nCOMMENT 'told'\nLOCATION '{path}'\nTBLPROPERTIES (\n  'bucket' = '1',\n  'k1' = 'v1',\n"
        f"  'path' = '{path}',\n  'primary-key' = 'a,b')\n"
    )
    options = dict(lake.table(f"{db}.t").options)
    lake.sql(f"DROP TABLE {db}.t")
    lake.sql(shown)
    assert dict(lake.table(f"{db}.t").options) == options == {"bucket": "1", "k1": "v1"}


def test_a_table_like_a_branch(lake: Lake, spark: Any, db: str) -> None:
    if version_numbers(spark.version) < (4, 2):
        pytest.skip("CREATE TABLE LIKE needs Spark 4.2")
    lake.sql(f"CREATE TABLE {db}.t (a INT) TBLPROPERTIES ('k1' = 'v1')")
    lake.sql(f"CALL sys.create_branch('{db}.t', 'b')")
    lake.table(f"{db}.t$branch_b").alter(changes.AddColumn("more", "INT"))
    lake.sql(f"CREATE TABLE {db}.u LIKE {db}.`t$branch_b`")
    made = lake.table(f"{db}.u")
    assert made.schema.field_names == ("a", "more")
    assert dict(made.options) == {"k1": "v1"}


def test_the_default_database_exists_in_a_new_warehouse(spark: Any, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "new", name="fresh", spark=spark)
    lake.sql("CREATE TABLE first (id INT)")
    assert lake.tables() == ["default.first"]


def test_a_partition_is_shown_with_its_statistics(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t (id INT, day STRING, hour INT) PARTITIONED BY (day, hour)")
    lake.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 1), (2, 'a', 1), (3, 'b', 1)")
    row = lake.sql(f"SHOW TABLE EXTENDED IN {db} LIKE 't' PARTITION (day = 'a', hour = 1)").collect()[0]
    assert tuple(row[:3]) == (db, "t", False)
    assert row["information"].startswith(
        "Partition Values: [day=a, hour=1]\nPartition Parameters: {lastFileCreationTime="
    )
    assert "recordCount=2" in row["information"]
    assert "Partition Statistics: 2 rows, " in row["information"]
