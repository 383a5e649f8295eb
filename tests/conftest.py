"""Fixtures that every layer's tests may use."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.effort import FULL, examples
from tests.lakes import open_lake
from tests.missing import report_missing
from tests.places import IS_LOCAL, new_folder

from lakebed import Lake, Table

os.environ["AWS_EC2_METADATA_DISABLED"] = "true"  # tests talk to servers on this machine only
if not FULL:  # few examples, and the same ones in every run
    settings.register_profile("small", max_examples=examples(100), derandomize=True)
    settings.load_profile("small")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    report_missing(terminalreporter)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if IS_LOCAL:
        return
    left_out = [item for item in items if item.get_closest_marker("local_disk")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


if not IS_LOCAL:

    @pytest.fixture
    def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Any:
        """A folder on the storage server of ``LAKEBED_TEST_STORAGE`` (``tests/places.py``)."""
        return new_folder(tmp_path_factory)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A warehouse for one test, with one database, ``db``."""
    return open_lake(tmp_path / "warehouse")


@pytest.fixture(scope="module")
def module_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same for all tests of a module: for properties, whose examples share it, and for fixtures of a module."""
    return open_lake(new_folder(tmp_path_factory) / "warehouse")


@pytest.fixture
def table(lake: Lake) -> Callable[..., Table]:
    """Makes tables: ``table("id BIGINT", partition_by=[...], options={...})``."""
    numbers = itertools.count()

    def make(columns: str = "id BIGINT, v STRING", **more: Any) -> Table:
        return lake.create_table(f"db.t{next(numbers)}", columns, **more)

    return make
