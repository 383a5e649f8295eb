"""ANALYZE TABLE in SQL: all its forms, through ``lake.sql`` and through plain Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

from lakebed import Lake
from lakebed.errors import NotFoundError, UnsupportedError


@pytest.fixture
def t(lake: Lake, db: str) -> str:
    """A table of two rows in two files that have to be merged."""
    lake.sql(
        f"CREATE TABLE {db}.t (Id BIGINT, v STRING, a ARRAY<INT>) "
        "TBLPROPERTIES ('primary-key' = 'Id', 'bucket' = '1', 'write-only' = 'true')"
    )
    lake.sql(f"INSERT INTO {db}.t VALUES (1, 'x', NULL), (2, 'yyy', array(1))")
    lake.sql(f"INSERT INTO {db}.t VALUES (1, NULL, NULL)")
    return f"{db}.t"


def columns(lake: Lake, name: str) -> dict[str, Any]:
    database, table = name.split(".")
    row = lake.sql(f"SELECT * FROM {database}.`{table}$statistics`").first()
    assert row.mergedRecordCount == 2
    found: dict[str, Any] = json.loads(row.colstat)
    return found


def kinds(lake: Lake, name: str) -> list[str]:
    return [str(snapshot.commit_kind) for snapshot in lake.table(name).snapshots()]


def test_every_form(spark: Any, lake: Lake, t: str) -> None:
    assert lake.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS").collect() == []
    assert columns(lake, t) == {}
    lake.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS id, V")  # SQL does not mind the case
    found = columns(lake, t)
    assert list(found) == ["Id", "v"]
    assert (found["Id"]["max"], found["v"]["nullCount"], found["v"]["maxLen"]) == ("2", 1, 3)
    lake.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS v")
    assert list(columns(lake, t)) == ["v"]
    spark.sql(f"ANALYZE TABLE lakebed.{t} COMPUTE STATISTICS FOR ALL COLUMNS")
    assert list(columns(lake, t)) == ["Id", "v"]
    assert kinds(lake, t) == ["APPEND"] * 2 + ["ANALYZE"] * 4


def test_noscan_counts_what_metadata_knows(lake: Lake, t: str) -> None:
    with pytest.raises(UnsupportedError, match="leave out NOSCAN"):
        lake.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS NOSCAN")
    lake.sql(f"CALL sys.compact('{t}')")
    lake.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS NOSCAN")
    assert columns(lake, t) == {}


def test_explain_changes_nothing(lake: Lake, t: str) -> None:
    lake.sql(f"EXPLAIN ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS").collect()
    assert kinds(lake, t) == ["APPEND"] * 2


def test_case_matters_where_the_session_says_so(spark: Any, lake: Lake, t: str) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(NotFoundError, match="unknown column 'id'"):
            lake.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS id")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_branches_have_their_own(lake: Lake, db: str, t: str) -> None:
    lake.sql(f"CALL sys.create_branch('{t}', 'dev')")
    lake.sql(f"INSERT INTO {db}.`t$branch_dev` VALUES (7, 'q', NULL)")
    lake.sql(f"ANALYZE TABLE {db}.`t$branch_dev` COMPUTE STATISTICS")
    assert lake.sql(f"SELECT mergedRecordCount FROM {db}.`t$branch_dev$statistics`").first()[0] == 1
    assert lake.sql(f"SELECT * FROM {db}.`t$statistics`").collect() == []


@pytest.mark.parametrize(
    ("statement", "kind", "message"),
    [
        ("ANALYZE TABLE {t} PARTITION (v = 'x') COMPUTE STATISTICS", UnsupportedError, "without PARTITION"),
        ("ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS iid", NotFoundError, "unknown column 'iid'"),
        ("ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS a", UnsupportedError, "nested columns have no statistics"),
        ("ANALYZE TABLES IN {db} COMPUTE STATISTICS", UnsupportedError, "write ANALYZE TABLE for each table"),
        ("ANALYZE TABLE {db}.nope COMPUTE STATISTICS", AnalysisException, "TABLE_OR_VIEW_NOT_FOUND"),
        ("ANALYZE TABLE {db}.`t$options` COMPUTE STATISTICS", AnalysisException, "not supported for v2 tables"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    spark: Any, lake: Lake, db: str, t: str, statement: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        lake.sql(statement.format(t=t, db=db))
    with pytest.raises(PySparkException, match=message):
        spark.sql(statement.format(t=f"lakebed.{t}", db=f"lakebed.{db}"))
    assert kinds(lake, t) == ["APPEND"] * 2
