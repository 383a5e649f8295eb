"""Opens warehouses for tests."""

from __future__ import annotations

from pathlib import Path

from lakebed import Lake, connect


def open_lake(folder: str | Path) -> Lake:
    """The warehouse of a folder; a new one gets a database, ``db``."""
    lake = connect(folder)
    lake.create_database("db", ignore_if_exists=True)
    return lake
