"""Fixtures that every layer's tests may use."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.effort import FULL, examples
from tests.lakes import open_lake
from tests.missing import report_missing

from lakebed import Lake, Table

if not FULL:  # few examples, and the same ones in every run
    settings.register_profile("small", max_examples=examples(100), derandomize=True)
    settings.load_profile("small")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    report_missing(terminalreporter)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A warehouse for one test, with one database, ``db``."""
    return open_lake(tmp_path / "warehouse")


@pytest.fixture(scope="module")
def module_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same for all tests of a module: for properties, whose examples share it, and for fixtures of a module."""
    return open_lake(tmp_path_factory.mktemp("module") / "warehouse")


@pytest.fixture
def table(lake: Lake) -> Callable[..., Table]:
    """Makes tables: ``table("id BIGINT", partition_by=[...], options={...})``."""
    numbers = itertools.count()

    def make(columns: str = "id BIGINT, v STRING", **more: Any) -> Table:
        return lake.create_table(f"db.t{next(numbers)}", columns, **more)

    return make
