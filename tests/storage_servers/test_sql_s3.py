"""SQL on a lake on S3: every kind of statement, and no statement shows a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.servers.minio import ACCESS_KEY, SECRET_KEY, MinIO
from tests.spark.conftest import spark
from tests.storage_servers.spark_jobs import open_lake, plan_of

from lakebed import Lake
from lakebed.errors import LakebedError

__all__ = ["spark"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def lake(minio: MinIO, spark: Any) -> Lake:
    """A lake with a table of 100 rows."""
    import lakebed

    url = minio.create_bucket("sql")
    open_lake(url, minio.options)
    lake = lakebed.connect(f"{url}/warehouse", options=minio.options, spark=spark, name="s3lake")
    lake.sql(
        "CREATE TABLE db.t (id BIGINT, v STRING, dt STRING) PARTITIONED BY (dt) "
        "TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')"
    )
    lake.sql("INSERT INTO db.t SELECT id, concat('v', id), concat('d', id % 2) FROM range(100)")
    return lake


def values(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.sql(text).collect()]


def test_rows_are_read_and_changed(lake: Lake) -> None:
    assert values(lake, "SELECT count(*), sum(id) FROM db.t") == [(100, 4950)]
    lake.sql("UPDATE db.t SET v = 'updated' WHERE id = 1")
    lake.sql("DELETE FROM db.t WHERE id = 2")
    lake.sql(
        "MERGE INTO db.t USING (SELECT 3L AS id, 'merged' AS v, 'd1' AS dt UNION ALL SELECT 100L, 'new', 'd0') s "
        "ON t.id = s.id AND t.dt = s.dt WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    wanted = [(1, "updated"), (3, "merged"), (4, "v4"), (100, "new")]
    assert values(lake, "SELECT id, v FROM db.t WHERE id < 5 AND id > 0 OR id = 100 ORDER BY id") == wanted
    assert values(lake, "CALL sys.compact(table => 'db.t', compact_strategy => 'full')") == [(True,)]
    assert values(lake, "SELECT count(*) FROM db.t") == [(100,)]
    assert values(lake, "SELECT count(*) FROM db.`t$snapshots`")[0][0] >= 4
    assert values(lake, "SELECT count(*) FROM db.t VERSION AS OF 1") == [(100,)]


def test_a_condition_on_the_partition_skips_files(lake: Lake) -> None:
    table = lake.table("db.t")
    assert len(table.scan(where="dt = 'd1'").plan().files) < len(table.scan().plan().files)
    assert values(lake, "SELECT count(*) FROM db.t WHERE dt = 'd1'") == [(50,)]


def test_tables_are_made_renamed_and_dropped(lake: Lake) -> None:
    lake.sql("CREATE TABLE db.made AS SELECT id FROM range(5)")
    lake.sql("CREATE OR REPLACE TABLE db.made AS SELECT id + 1 AS id FROM db.made")
    lake.sql("ALTER TABLE db.made RENAME TO db.renamed")
    assert values(lake, "SELECT sum(id) FROM db.renamed") == [(15,)]
    lake.sql("DROP TABLE db.renamed")
    assert "db.renamed" not in lake


def test_streams_by_name(lake: Lake, spark: Any, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE db.sink (id BIGINT, v STRING, dt STRING)")
    query = (
        spark.readStream.table("s3lake.db.t")
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .toTable("s3lake.db.sink")
    )
    query.awaitTermination()
    assert lake.table("db.sink").count() == lake.table("db.t").count()
    shown = str(query.recentProgress) + query._jsq.explainInternal(True)
    assert SECRET_KEY not in shown


def test_no_statement_shows_a_secret(lake: Lake, spark: Any) -> None:
    statements = (
        "SHOW CREATE TABLE db.t",
        "DESCRIBE TABLE EXTENDED db.t",
        "SHOW TBLPROPERTIES db.t",
        "DESCRIBE NAMESPACE EXTENDED db",
        "EXPLAIN EXTENDED SELECT * FROM db.t WHERE id > 3",
        "EXPLAIN FORMATTED INSERT INTO db.t SELECT * FROM db.t",
        "SELECT * FROM db.`t$options`",
        "SELECT * FROM db.`t$schemas`",
        "SELECT * FROM db.`t$snapshots`",
        "SET -v",
    )
    shown = "\n".join(str(values(lake, text)) for text in statements)
    shown += plan_of(lake.sql("SELECT v, count(*) FROM db.t GROUP BY v"))
    shown += repr(lake) + repr(lake.table("db.t")) + str(spark.sparkContext.getConf().getAll())
    assert "s3://sql/warehouse" in shown
    assert SECRET_KEY not in shown


def test_no_error_shows_a_secret(lake: Lake, minio: MinIO, spark: Any) -> None:
    import lakebed

    wrong = {**minio.options, "s3.secret-key": "wr0ng-s3cr3t"}
    other = lakebed.connect(lake.warehouse, options=wrong, spark=spark, name="wrong")
    with pytest.raises(Exception, match="s3://sql") as caught:
        other.sql("SELECT * FROM wrong.db.t").collect()
    with pytest.raises(LakebedError) as second:
        other.table("db.t")
    for error in (caught.value, second.value):
        assert "wr0ng-s3cr3t" not in f"{error}{error!r}{error.__cause__!r}"
        assert ACCESS_KEY + "-secret" not in str(error)
