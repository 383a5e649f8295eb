"""Statements that change what a table is: whatever goes wrong, the table that was there stays."""

from __future__ import annotations

from typing import Any

import pytest

from lakebed import Lake, UnsupportedError


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
