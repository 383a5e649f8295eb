"""A warehouse on a local path that executors do not see: an error that says so, never an empty result or a lost file.

The Python processes of the tasks have a mount namespace of their own, in which the warehouse is an empty folder.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.missing import not_allowed
from tests.spark_cluster.drivers import Driver

from lakebed import connect
from lakebed.errors import StorageError

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
TELLS = "there is no folder .* on machine .* has to be in a folder that the driver and all executors share"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unseen") / "warehouse"


@pytest.fixture(scope="module")
def driver(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    allowed = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    if allowed.returncode:
        not_allowed("a warehouse that tasks do not see: this machine does not allow mount namespaces")
    folder = tmp_path_factory.mktemp("driver")
    python = folder / "python"
    inner = f'mount -t tmpfs none "{warehouse}" && exec "{sys.executable}" "$@"'
    python.write_text(f"#!/bin/sh\nexec {' '.join(NAMESPACE)} sh -c '{inner}' sh \"$@\"\n")
    python.chmod(0o755)
    lake = connect(warehouse)
    lake.create_database("db")
    rows = pa.table({"id": [1, 2], "v": ["a", "b"]})
    keyed = lake.create_table("db.k", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": 1})
    keyed.write(rows)
    keyed.write(rows)
    lake.create_table("db.a", "id BIGINT, v STRING", partition_by=["v"]).write(rows)
    settings = {"spark.master": "local[2]", "spark.driver.memory": "512m", "spark.log.level": "OFF"}
    settings |= {"spark.sql.shuffle.partitions": "2", "spark.local.dir": str(folder / "local")}
    with contextlib.closing(Driver(settings, {"PYSPARK_PYTHON": str(python)})) as made:
        yield made


def read(spark: Any, warehouse: str) -> list[Any]:
    return list(connect(warehouse).table("db.k").scan().to_spark(spark).collect())


def write(spark: Any, warehouse: str) -> None:
    connect(warehouse).table("db.a").write(spark.createDataFrame([(3, "c")], "id long, v string"))


def compact(spark: Any, warehouse: str) -> None:
    connect(warehouse).table("db.k").compact(full=True, spark=spark)


def test_a_read_fails(driver: Driver, warehouse: Path) -> None:
    with pytest.raises(Exception, match=TELLS):
        driver.run(read, str(warehouse))


@pytest.mark.parametrize(("work", "table"), [(write, "db.a"), (compact, "db.k")])
def test_a_write_fails_and_commits_nothing(driver: Driver, warehouse: Path, work: Any, table: str) -> None:
    before = connect(warehouse).table(table).latest_snapshot()
    with pytest.raises(StorageError, match=TELLS):
        driver.run(work, str(warehouse))
    assert connect(warehouse).table(table).latest_snapshot() == before
    assert connect(warehouse).table(table).verify().problems == ()


def test_files_that_only_a_task_sees_are_not_committed(tmp_path: Path) -> None:
    """The folder of the table is on the other machine too, but it is another one."""
    from lakebed.format.manifest.manifest import NO_ENTRIES
    from lakebed.metadata.plan.file_scan import live_entries
    from lakebed.spark.file_jobs import check_arrived
    from lakebed.table.internals import store_of

    lake = connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id BIGINT")
    table.write(pa.table({"id": [1]}))
    store = store_of(table)
    entries = live_entries(store, table.latest_snapshot())
    check_arrived(store, store.schema(), entries, NO_ENTRIES)
    next((tmp_path / "wh").rglob("data-*.parquet")).unlink()
    with pytest.raises(StorageError, match="the driver does not see it"):
        check_arrived(store, store.schema(), entries)
