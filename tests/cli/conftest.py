"""A warehouse that commands can look at."""

from __future__ import annotations

import pytest
from tests.cli.runner import Lakebed

from lakebed import Lake, Table


@pytest.fixture
def cli(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Lakebed:
    for name in ("LAKEBED_WAREHOUSE", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return Lakebed(lake.warehouse)


@pytest.fixture
def orders(lake: Lake) -> Table:
    """An append table with three snapshots, one partition each."""
    table = lake.create_table("db.orders", "id BIGINT NOT NULL, v STRING, day STRING", partition_by=["day"])
    for number in range(1, 4):
        table.write([{"id": number, "v": f"v{number}", "day": f"2025-01-0{number}"}])
    return table


@pytest.fixture
def people(lake: Lake) -> Table:
    """A primary-key table with three snapshots of one key."""
    table = lake.create_table("db.people", "id INT, name STRING", primary_key=["id"], options={"bucket": "2"})
    for name in ("ada", "bea", "cia"):
        table.write([{"id": 1, "name": name}])
    return table
