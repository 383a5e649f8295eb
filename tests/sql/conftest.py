"""One Spark session with one lake attached for all tests in this folder; every test has a database of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakebed import Lake, connect
from lakebed.spark.session import get_session

HERE = Path(__file__).parent
_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What Spark's own Python warns about is none of our business."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("spark")
    made = get_session(
        options={
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "America/New_York",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            "spark.log.level": "OFF",
        }
    )
    yield made
    made.stop()


@pytest.fixture(scope="session")
def warehouse(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = connect(tmp_path_factory.mktemp("warehouse"), spark=spark)
    lake.attach(spark)
    return lake


@pytest.fixture
def lake(warehouse: Lake, spark: Any) -> Iterator[Lake]:
    """The lake; whatever a test made of the session's current catalog and settings is undone."""
    yield warehouse
    spark.catalog.setCurrentCatalog("spark_catalog")
    spark.catalog.setCurrentDatabase("default")
    spark.sql("RESET spark.sql.sources.partitionOverwriteMode")


@pytest.fixture
def db(lake: Lake) -> str:
    """A database of its own."""
    name = f"db{next(_numbers)}"
    lake.create_database(name)
    return name
