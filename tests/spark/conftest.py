"""One local Spark session for all tests in this folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.stores import new_store

from lakebed.metadata.store import TableStore
from lakebed.spark.session import get_session

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ignore_warnings_of_spark(items, HERE)


def ignore_warnings_of_spark(items: list[pytest.Item], folder: Path) -> None:
    """What Spark's own Python warns about is none of our business."""
    for item in items:
        if folder in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two cores that repeats a failed task, as a cluster does. Its time zone is not UTC and not ours."""
    folder = tmp_path_factory.mktemp("spark")
    before = os.environ.get("PYTHONPATH")
    # Storages that misbehave on purpose travel to the workers by name.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent.parent), before]))
    made = get_session(
        options={
            "spark.master": "local[2, 4]",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.session.timeZone": "America/New_York",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            "spark.log.level": os.environ.get("SPARK_LOG_LEVEL", "OFF"),
        }
    )
    yield made
    made.stop()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., TableStore]:
    """Makes tables: ``store("id BIGINT", primary_key=[...], options={...})``."""
    made: list[TableStore] = []

    def make(columns: str = "id BIGINT, v STRING", **more: Any) -> TableStore:
        made.append(new_store(tmp_path / f"t{len(made)}", columns, **more))
        return made[-1]

    return make
