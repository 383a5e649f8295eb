"""Opens warehouses for tests."""

from __future__ import annotations

from pathlib import Path

from lakebed import Lake, connect


def open_lake(folder: str | Path) -> Lake:
    """The warehouse of a folder; a new one gets a database, ``db``.

    Its commits are not flushed to disk: the tests make thousands, and each flush takes milliseconds. What durable commits
    do is tested in ``tests/metadata/commit/test_durable.py`` and ``tests/faults``.
    """
    lake = connect(folder, options={"commit.durable": False})
    lake.create_database("db", ignore_if_exists=True)
    return lake
