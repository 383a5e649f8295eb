"""Spark works on this machine: write, read, SQL and a stream, in one session. ``make check`` runs the suites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.missing import missing
from tests.spark.conftest import spark

from lakebed import Lake, connect
from lakebed.errors import LakebedError
from lakebed.spark.session import check_java

__all__ = ["spark"]  # the session of tests/spark

pytestmark = [
    pytest.mark.usefixtures("java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def java() -> None:
    try:
        check_java()
    except LakebedError as error:
        missing(f"everything on Spark: {error}")


@pytest.fixture(scope="module")
def attached(java: None, spark: Any, module_lake: Lake) -> Iterator[Lake]:
    """A lake that Spark knows as the catalog ``lakebed``."""
    lake = connect(module_lake.warehouse, spark=spark)
    lake.attach(spark)
    yield lake
    spark.catalog.setCurrentCatalog("spark_catalog")


def rows_of(lake: Lake, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lake.table(name).scan().to_arrow().to_pylist())


def test_write_and_read(spark: Any, attached: Lake) -> None:
    table = attached.create_table(
        "db.written", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "2", "write-only": "true"}
    )
    table.write(spark.range(1000).selectExpr("id", "concat('v', id) AS v").repartition(4))
    table.write(spark.range(0, 1000, 100).selectExpr("id", "'new' AS v"))
    scan = table.scan(where="v = 'new'")
    assert scan.to_spark(spark).count() == scan.count() == 10
    assert sorted(row.id for row in scan.to_spark(spark).collect()) == list(range(0, 1000, 100))
    assert table.compact(full=True, spark=spark) is not None
    assert table.verify(deep=True).ok


def test_the_data_source(spark: Any, attached: Lake) -> None:
    attached.create_table("db.saved", "id BIGINT, p STRING", partition_by=["p"])
    frame = spark.range(10).selectExpr("id", "CAST(id % 2 AS STRING) AS p")
    frame.write.format("lakebed").option("warehouse", attached.warehouse).mode("append").save("db.saved")
    loaded = spark.read.format("lakebed").option("warehouse", attached.warehouse).load("db.saved")
    assert sorted(row.id for row in loaded.where("p = '1'").collect()) == [1, 3, 5, 7, 9]


def test_sql(attached: Lake) -> None:
    sql = attached.sql
    sql("CREATE TABLE lakebed.db.t (id INT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql("INSERT INTO lakebed.db.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    sql(
        "MERGE INTO lakebed.db.t AS t USING (SELECT 2 AS id, 'x' AS v UNION ALL SELECT 4, 'd') AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    sql("DELETE FROM lakebed.db.t WHERE id = 1")
    assert [tuple(row) for row in sql("SELECT id, v FROM lakebed.db.t ORDER BY id").collect()] == [
        (2, "x"),
        (3, "c"),
        (4, "d"),
    ]
    assert [row.c for row in sql("SELECT count(*) AS c FROM lakebed.db.t VERSION AS OF 1").collect()] == [3]


def test_a_stream(spark: Any, attached: Lake, tmp_path: Path) -> None:
    source = attached.create_table("db.source", "id BIGINT, v STRING")
    attached.create_table("db.sink", "id BIGINT, v STRING")
    for number in range(2):
        source.write([{"id": number, "v": "a"}])
        frame = spark.readStream.format("lakebed").option("warehouse", attached.warehouse).load("db.source")
        query = (
            frame.writeStream.format("lakebed")
            .options(warehouse=attached.warehouse, checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start("db.sink")
        )
        query.awaitTermination()
    assert rows_of(attached, "db.sink") == [(0, "a"), (1, "a")]
    assert len(attached.table("db.sink").snapshots()) == 2
