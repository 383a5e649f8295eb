"""Clusters of real processes, each started once: ``local-cluster``, a standalone master with two workers, a Connect
server.

Every driver is a process of its own, so that no session is shared with other tests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.missing import missing
from tests.spark_cluster import work
from tests.spark_cluster.drivers import Cluster, Driver, Master, a_driver, connect_server, standalone_master

from lakebed.errors import LakebedError
from lakebed.spark.session import check_java

# Twins of slow tasks are started all the time, also where a stage has one task only.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.task.duration.threshold": "3s",
}


@pytest.fixture(scope="session", autouse=True)
def java() -> None:
    """Without Java nothing of this is proven, and that must not go unnoticed."""
    try:
        check_java()
    except LakebedError as error:
        missing(f"tests on Spark clusters: {error}")


def _cluster(driver: Driver, master: Master | None = None) -> Cluster:
    return Cluster(driver, driver.run(work.versions), driver.run(work.application), master)


@pytest.fixture(scope="session")
def local_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two executors of their own processes, started by the driver."""
    with a_driver(tmp_path_factory.mktemp("local-cluster"), "local-cluster[2,1,1024]") as driver:
        yield _cluster(driver)


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Master]:
    with standalone_master(tmp_path_factory.mktemp("standalone")) as made:
        yield made


@pytest.fixture(scope="session")
def standalone(master: Master, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster that runs tasks twice where it thinks that this helps."""
    with a_driver(tmp_path_factory.mktemp("driver"), master.address, SPECULATION) as driver:
        yield _cluster(driver, master)


@pytest.fixture(scope="session", params=["local_cluster", "standalone"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Both kinds."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Cluster)
    return found


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A client of a Spark Connect server: a process without a JVM."""
    folder = tmp_path_factory.mktemp("connect")
    with connect_server(folder) as remote, contextlib.closing(Driver({}, {"SPARK_REMOTE": remote})) as driver:
        yield driver


@pytest.fixture
def notes(tmp_path: Path) -> str:
    """A folder in which misbehaving storages note what they did."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return str(folder)
