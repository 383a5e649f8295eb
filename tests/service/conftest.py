"""A warehouse with tables of every kind, and services over it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.places import new_folder
from tests.service.running import running
from tests.service.samples import make_warehouse

from lakebed.service import Settings

Serve = Callable[..., httpx.Client]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample warehouse; tests that share it change nothing in it."""
    folder = new_folder(tmp_path_factory)
    return make_warehouse(folder / "warehouse")


@pytest.fixture(scope="module")
def client(warehouse: Path) -> Iterator[httpx.Client]:
    """A read-only service over the sample warehouse."""
    with running(Settings(warehouses={"demo": str(warehouse)})) as client:
        yield client


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts services over a warehouse of the test's own (``tmp_path / "wh"``) with the settings that it names."""
    folder = tmp_path / "wh"
    folder.mkdir()
    with contextlib.ExitStack() as stack:

        def start(**more: Any) -> httpx.Client:
            given = {"warehouses": {"demo": str(folder)}, **more}
            return stack.enter_context(running(Settings(**given)))

        yield start
