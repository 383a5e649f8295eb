"""Fixtures that every layer's tests may use."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakebed import Lake, Table, connect


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A warehouse of its own with one database, ``db``."""
    made = connect(tmp_path / "warehouse")
    made.create_database("db")
    return made


@pytest.fixture
def table(lake: Lake) -> Callable[..., Table]:
    """Makes tables: ``table("id BIGINT", partition_by=[...], options={...})``."""
    numbers = itertools.count()

    def make(columns: str = "id BIGINT, v STRING", **more: Any) -> Table:
        return lake.create_table(f"db.t{next(numbers)}", columns, **more)

    return make
