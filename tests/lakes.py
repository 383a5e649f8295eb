"""Opens warehouses for tests."""

from __future__ import annotations

import json
from pathlib import Path

from tests.places import stored_path

from lakebed import Lake, Table, connect
from lakebed.metadata.manifests import SHARED_CACHE


def open_lake(folder: str | Path) -> Lake:
    """The warehouse of a folder; a new one gets a database, ``db``.

    Its commits are not flushed to disk: the tests make thousands, and each flush takes milliseconds. What durable
    commits do is tested in ``tests/metadata/commit/test_durable.py`` and ``tests/faults``.
    """
    lake = connect(folder, options={"commit.durable": False})
    lake.create_database("db", ignore_if_exists=True)
    return lake


def with_external_root(table: Table, root: Path) -> Table:
    """The same table, opened again after its first schema declares a root for files outside, as Paimon writes it."""
    path = stored_path(table.path, "schema", "schema-0")
    schema = json.loads(path.read_text())
    schema["options"]["data-file.external-paths"] = f"file://{root}"
    path.write_text(json.dumps(schema))
    return reopened(table)


def reopened(table: Table) -> Table:
    """The same table as another process sees it, after its files were changed: without anything that is cached."""
    SHARED_CACHE.clear()
    return open_lake(stored_path(table.path).parent.parent).table(table.name)
