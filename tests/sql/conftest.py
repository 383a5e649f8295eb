"""One Spark session with one lake attached for all tests in this folder; every test has a database of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.places import new_folder
from tests.spark.conftest import ignore_warnings_of_spark, spark

from lakebed import Lake, connect

__all__ = ["spark"]  # the same session as in tests/spark: one process runs both folders, and has one JVM

HERE = Path(__file__).parent
_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ignore_warnings_of_spark(items, HERE)


@pytest.fixture(scope="session")
def warehouse(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = new_folder(tmp_path_factory)
    lake = connect(folder, spark=spark)
    lake.attach(spark)
    return lake


@pytest.fixture
def lake(warehouse: Lake, spark: Any) -> Iterator[Lake]:
    """The lake; whatever a test made of the session's current catalog and settings is undone."""
    yield warehouse
    spark.catalog.setCurrentCatalog("spark_catalog")
    spark.catalog.setCurrentDatabase("default")
    spark.sql("RESET spark.sql.sources.partitionOverwriteMode")
    for name in spark.conf.getAll:
        if name.startswith("spark.paimon."):
            spark.conf.unset(name)


@pytest.fixture
def db(lake: Lake) -> str:
    """A database of its own."""
    name = f"db{next(_numbers)}"
    lake.create_database(name)
    return name
