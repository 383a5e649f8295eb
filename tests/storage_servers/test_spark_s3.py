"""Tables on S3 on Spark: tasks get the settings of the storage from the driver, and secrets are shown nowhere.

Without the jar ``hadoop-aws`` Lakebed's readers read all files. With it Spark reads some itself.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.servers.installed import installed
from tests.servers.minio import ACCESS_KEY, REGION, SECRET_KEY, MinIO
from tests.spark.conftest import ignore_warnings_of_spark, spark
from tests.spark_cluster.drivers import Driver, settings_for, spark_home
from tests.storage_servers import spark_jobs
from tests.storage_servers.spark_jobs import keyed, open_lake, plan_of, rows

__all__ = ["spark"]

_numbers = itertools.count()


@pytest.fixture
def url(minio: MinIO) -> str:
    return minio.create_bucket(f"spark-{next(_numbers)}")


@contextlib.contextmanager
def driver_on(folder: Path, master: str, settings: dict[str, str], environment: dict[str, str]) -> Iterator[Driver]:
    """A driver whose tasks have no AWS variables."""
    python = folder / "python"
    path = f"{Path(__file__).parents[2] / 'src'}:{Path(__file__).parents[2]}"
    unset = " ".join(f"-u {name}" for name in environment if name.startswith("AWS_"))
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec env {unset} "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    more = {"SPARK_HOME": spark_home(), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(python)}
    driver = Driver({**settings_for(folder, master), **settings}, {**environment, **more})
    try:
        yield driver
    finally:
        driver.close()


def test_tasks_on_a_cluster_get_the_credentials_of_the_drivers_environment(
    minio: MinIO, url: str, tmp_path: Path
) -> None:
    environment = {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": minio.url,
    }
    with driver_on(tmp_path, "local-cluster[2,1,1024]", {}, environment) as driver:
        variables, source, merged, compacted, problems = driver.run(
            spark_jobs.write_read_and_compact, url, minio.options
        )
    wanted = pa.concat_tables([rows(range(100)), rows(range(100, 300), "new")]).to_pylist()
    assert variables.isdisjoint(environment)
    assert (source, problems) == (300, [])
    assert merged.to_pylist() == compacted.to_pylist() == wanted


def test_without_a_jar_lakebed_reads_all_files(minio: MinIO, url: str, spark: Any) -> None:
    table = keyed(open_lake(url, minio.options, spark))
    table.write(spark.createDataFrame(rows(range(200))))
    table.compact(full=True, spark=spark)
    frame = table.scan(["id"], "id >= 150").to_spark(spark)
    plan = plan_of(frame)
    assert sorted(row.id for row in frame.collect()) == list(range(150, 200))
    assert ("MapInArrow" in plan, "FileScan" in plan, SECRET_KEY in plan) == (True, False, False)


def test_the_data_source_takes_urls_and_settings(minio: MinIO, url: str, spark: Any) -> None:
    lake = open_lake(url, minio.options)
    keyed(lake).write(rows(range(10)))
    folder = f"{url}/warehouse/db.db/t"
    frame = spark.read.format("lakebed").options(**minio.options).load(folder)
    assert SECRET_KEY not in plan_of(frame)
    assert sorted(row.id for row in frame.collect()) == list(range(10))
    hadoop = {"fs.s3a.endpoint": minio.url, "fs.s3a.access.key": ACCESS_KEY, "fs.s3a.secret.key": SECRET_KEY}
    writer = spark.createDataFrame(rows(range(10, 12))).write.format("lakebed").options(**hadoop)
    writer.option("fs.s3a.endpoint.region", REGION).option("warehouse", f"{url}/warehouse").mode("append").save("db.t")
    assert lake.table("db.t").count() == 12


def test_streams_of_the_data_source(minio: MinIO, url: str, spark: Any, tmp_path: Path) -> None:
    lake = open_lake(url, minio.options)
    keyed(lake, "db.source").write(rows(range(10)))
    keyed(lake, "db.sink")
    given = {**minio.options, "warehouse": f"{url}/warehouse"}
    stream = spark.readStream.format("lakebed").options(**given).load("db.source")
    query = (
        stream.writeStream.format("lakebed")
        .options(**given, checkpointLocation=str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start("db.sink")
    )
    query.awaitTermination()
    assert lake.table("db.sink").count() == 10
    assert SECRET_KEY not in str(query.recentProgress)
    for path in (tmp_path / "checkpoint").rglob("*"):
        assert path.is_dir() or SECRET_KEY.encode() not in path.read_bytes()


def test_wrong_keys_are_an_error_that_does_not_show_them(minio: MinIO, url: str, spark: Any) -> None:
    keyed(open_lake(url, minio.options)).write(rows(range(10)))
    given = {**minio.options, "s3.secret-key": "wr0ng-s3cr3t"}
    with pytest.raises(Exception, match=r"cannot .* s3://") as caught:
        spark.read.format("lakebed").options(**given).load(f"{url}/warehouse/db.db/t").count()
    assert "wr0ng-s3cr3t" not in str(caught.value)


def test_settings_of_another_service_are_refused(url: str, spark: Any) -> None:
    with pytest.raises(Exception, match=r"fs\.azure\.account\.key"):
        spark.read.format("lakebed").option("fs.azure.account.key", "x").load(f"{url}/warehouse/db.db/t")
    with pytest.raises(Exception, match="is not the folder of a table"):
        spark.read.format("lakebed").load(f"{url}/table")


def test_with_hadoop_aws_spark_reads_files_itself(minio: MinIO, url: str, tmp_path: Path) -> None:
    jars = ",".join(map(str, installed("hadoop_aws").glob("*.jar")))
    settings = {"spark.jars": jars, "spark.driver.memory": "1g"}
    with driver_on(tmp_path, "local[2]", settings, {}) as driver:
        plan, found, error = driver.run(spark_jobs.read_with_sparks_reader, url, minio.options)
    assert found.to_pylist() == rows(range(100, 200)).to_pylist()
    assert ("FileScan parquet" in plan, "MapInArrow" in plan, SECRET_KEY in plan) == (True, False, False)
    assert "403" in error or "SignatureDoesNotMatch" in error or "Forbidden" in error, error
    assert "wr0ng-s3cr3t" not in error


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ignore_warnings_of_spark(items, Path(__file__).parent)
