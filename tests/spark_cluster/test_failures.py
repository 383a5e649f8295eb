"""Executors, workers, tasks and drivers that die in the middle of a write or a compaction.

Whatever dies: no acknowledged row is lost, none is there twice, nothing half done is seen, and orphan removal leaves
exactly what is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark_cluster import work
from tests.spark_cluster.checks import check_sound
from tests.spark_cluster.drivers import (
    Cluster,
    Driver,
    DriverDiedError,
    Master,
    a_driver,
    above,
    executors_of,
    is_alive,
    kill,
    parents,
    waiting,
)
from tests.spark_cluster.storages import Deadly, Hanging, Refusing

from lakebed import Lake, Table

Row = tuple[int, str]
WHO: dict[str, Any] = {"commit_user": "loader", "commit_identifier": 7}


def rows(numbers: range, text: str = "x") -> list[Row]:
    return [(number, f"{text}{number}") for number in numbers]


def arrow(given: list[Row]) -> pa.Table:
    return pa.table({"k": pa.array([k for k, _ in given], pa.int64()), "v": [v for _, v in given]})


def keyed(lake: Lake, **options: str) -> Table:
    """A table of four buckets with 300 rows."""
    made = lake.create_table("db.t", "k BIGINT, v STRING", primary_key=["k"], options={"bucket": "4", **options})
    made.write(arrow(rows(range(300), "old")))
    return made


OLD = rows(range(300), "old")
NEW = rows(range(200, 500), "new")
BOTH = [*OLD[:200], *NEW]


def hanging_process(notes: str) -> int:
    """The process that hangs, once one does."""
    for _ in waiting("task that hangs"):
        if (Path(notes) / "hanging").exists():
            break
    return int((Path(notes) / "hanging").read_text())


def kill_executor(cluster: Cluster, worker: int) -> None:
    """Kill the executor above a Python worker, and on a standalone cluster the whole Spark worker above that."""
    (executor,) = set(above(worker)) & set(executors_of(cluster.application))
    daemon = parents()[executor]
    if cluster.master is not None and daemon in cluster.master.workers:
        kill(daemon)
    kill(executor)
    for _ in waiting("end of the Python worker"):  # or it could go on to write
        if not is_alive(worker):
            return


def wait_for_the_end(application: str) -> None:
    for _ in waiting("end of the executors"):
        if not executors_of(application):
            return


# --------------------------------------------------------------------------------------------------------------- tasks


def test_a_task_that_fails_twice(cluster: Cluster, lake: Lake) -> None:
    table = keyed(lake)
    assert cluster.driver.run(work.write_failing_twice, lake.warehouse, "db.t", arrow(NEW)) == 2
    check_sound(table, BOTH, tidy=True)


def test_a_compaction_whose_tasks_fail_twice(cluster: Cluster, lake: Lake, notes: str) -> None:
    table = keyed(lake, **{"write-only": "true"})
    table.write(arrow(NEW))
    made, _ = cluster.driver.run(work.compact, lake.warehouse, "db.t", Refusing(notes, 2))
    assert made == 3
    assert {path.name for path in Path(notes).iterdir()} >= {"refused-0", "refused-1"}
    check_sound(table, BOTH, tidy=True)


def test_a_slow_task_and_its_twin(standalone: Cluster, lake: Lake, notes: str) -> None:
    """The first attempt hangs for good, so only a second one beside it can end the job."""
    table = keyed(lake)
    assert standalone.driver.run(work.write, lake.warehouse, "db.t", arrow(NEW), storage=Hanging(notes)) == 2
    for _ in waiting("end of the attempt that hung"):
        if not is_alive(hanging_process(notes)):
            break
    check_sound(table, BOTH, tidy=True)


# ----------------------------------------------------------------------------------------------------------- executors


def test_an_executor_killed_in_the_middle_of_a_write(local_cluster: Cluster, lake: Lake, notes: str) -> None:
    table = keyed(lake)
    local_cluster.driver.begin(work.write, lake.warehouse, "db.t", arrow(NEW), storage=Hanging(notes))
    kill_executor(local_cluster, hanging_process(notes))
    assert local_cluster.driver.end() == 2
    check_sound(table, BOTH, tidy=True)


def test_an_executor_killed_in_the_middle_of_a_compaction(local_cluster: Cluster, lake: Lake, notes: str) -> None:
    table = keyed(lake, **{"write-only": "true"})
    table.write(arrow(NEW))
    local_cluster.driver.begin(work.compact, lake.warehouse, "db.t", Hanging(notes))
    kill_executor(local_cluster, hanging_process(notes))
    assert local_cluster.driver.end()[0] == 3
    check_sound(table, BOTH, tidy=True)


def test_an_executor_killed_in_the_middle_of_a_write_by_the_source(
    local_cluster: Cluster, lake: Lake, notes: str
) -> None:
    """Nobody tells the data source of files that a killed task left; they are orphans."""
    local_cluster.driver.run(work.ship)
    table = lake.create_table("db.t", "id BIGINT")
    local_cluster.driver.begin(work.source_write_that_hangs, lake.warehouse, "db.t", 4000, notes)
    kill_executor(local_cluster, hanging_process(notes))
    local_cluster.driver.end()
    check_sound(table, [(number,) for number in range(4000)], tidy=False)


# ------------------------------------------------------------------------------------------------------------- drivers


def dies(driver: Driver, *call: Any, **named: Any) -> None:
    with pytest.raises(DriverDiedError, match="ended with -9"):
        driver.run(*call, **named)


@pytest.mark.parametrize("after", [False, True], ids=["before the snapshot", "after the snapshot"])
def test_a_driver_killed_at_its_commit(after: bool, lake: Lake, tmp_path: Path) -> None:
    """A loader that does not know whether its commit came through says the same again, and it is there once."""
    table = keyed(lake)
    with a_driver(tmp_path / "driver", "local[2]") as driver:
        dies(driver, work.write, lake.warehouse, "db.t", arrow(NEW), storage=Deadly("snapshot-2", after), **WHO)
    check_sound(table, BOTH if after else OLD, tidy=after)
    table.write(arrow(NEW), **WHO)
    assert [snapshot.id for snapshot in table.snapshots()] == [1, 2]
    check_sound(table, BOTH, tidy=True)


def test_a_driver_killed_while_its_tasks_run(master: Master, lake: Lake, notes: str, tmp_path: Path) -> None:
    """Its executors go on for a moment; what they write is seen by nobody."""
    table = keyed(lake)
    with a_driver(tmp_path / "driver", master.address) as driver:
        application = driver.run(work.application)
        driver.begin(work.write, lake.warehouse, "db.t", arrow(NEW), storage=Hanging(notes), **WHO)
        worker = hanging_process(notes)
        kill(driver.pid)
        (Path(notes) / "go").touch()
        with pytest.raises(DriverDiedError):
            driver.end()
        wait_for_the_end(application)
        for _ in waiting("end of the Python worker"):
            if not is_alive(worker):
                break
    check_sound(table, OLD, tidy=False)
    table.write(arrow(NEW), **WHO)
    check_sound(table, BOTH, tidy=True)


def test_a_worker_of_a_standalone_cluster_killed_in_the_middle_of_a_write(
    standalone: Cluster, lake: Lake, notes: str
) -> None:
    """The last test on this cluster, which has one worker less from here on."""
    table = keyed(lake)
    standalone.driver.begin(work.write, lake.warehouse, "db.t", arrow(NEW), storage=Hanging(notes))
    kill_executor(standalone, hanging_process(notes))
    assert standalone.driver.end() == 2
    check_sound(table, BOTH, tidy=True)
