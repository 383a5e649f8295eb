"""Whatever file of a table is damaged, and however: verify tells of it and never raises, and a repair loses nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from tests.metadata.stores import files_below
from tests.operations.verify.damage import rows
from tests.places import stored_path

import lakebed
from lakebed.changes import AddColumn
from lakebed.metadata.branches import create_branch
from lakebed.metadata.consumers import reset_consumer
from lakebed.metadata.tags import create_tag
from lakebed.operations.verify.verify import verify

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "flipped": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0x55]) + data[len(data) // 2 + 1 :],
    "repeated": lambda data: data + data,
}
HINTS = {"LATEST", "EARLIEST"}


@pytest.fixture
def table(lake: lakebed.Lake) -> lakebed.Table:
    """A table with a bit of everything."""
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "compaction.size-ratio": "0"}
    made = lake.create_table("db.d", "id BIGINT, v STRING", primary_key=["id"], options=options)
    made.write(rows(*range(500)))
    create_tag(made._store, "t", snapshot=1)
    create_branch(made._store, "b", tag="t")
    made.alter(AddColumn("w", "INT"))
    made.write(pa.Table.from_pylist([{"id": 7, "v": "x", "w": 1}], schema=made.arrow_schema))
    reset_consumer(made._store, "c", 2)
    return made


def told(table: lakebed.Table) -> list[str]:
    # another handle, as what this one remembers of schemas would hide the damage
    store = (
        lakebed.connect(stored_path(table.path).parent.parent).table("db.d")._store
        if schema_is_sound(table)
        else table._store
    )
    return [problem.code for problem in verify(store, deep=True).problems]


def schema_is_sound(table: lakebed.Table) -> bool:
    try:
        lakebed.connect(stored_path(table.path).parent.parent).table("db.d")
    except lakebed.LakebedError:
        return False
    return True


def needed_files(table: lakebed.Table) -> list[str]:
    """All files but the index of the history, which is a cache: it is mended when it is used."""
    return sorted(name for name in files_below(table.path) if not name.startswith(".lakebed/"))


def is_snapshot(name: str) -> bool:
    return name.startswith(("snapshot-", "tag-"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_any_file_damaged_in_any_way(table: lakebed.Table, damage: str) -> None:
    assert told(table) == []
    for name in needed_files(table):
        path = stored_path(table.path, name)
        before = path.read_bytes()
        path.write_bytes(DAMAGES[damage](before))
        codes = told(table)
        # in files without a checksum a value that is still one, such as a letter in a comment, cannot be noticed
        is_excused = damage == "flipped" and not name.endswith(".parquet") and not is_snapshot(path.name)
        assert codes or is_excused, f"{name} is damaged ({damage}), and nobody says so"
        path.write_bytes(before)
    assert told(table) == []


def test_any_file_gone(table: lakebed.Table) -> None:
    for name in needed_files(table):
        path = stored_path(table.path, name)
        before = path.read_bytes()
        path.unlink()
        codes = told(table)
        harmless = path.name in {*HINTS, "consumer-c", "tag-t"}
        assert codes or harmless or path.parent.name == "snapshot", f"{name} is gone, and nobody says so"
        path.write_bytes(before)


@pytest.mark.parametrize("damage", ["cut", "zeros"])
def test_a_repair_of_a_damaged_table_takes_nothing_that_is_needed(table: lakebed.Table, damage: str) -> None:
    """Not even when everything is old."""
    for name in needed_files(table):
        path = stored_path(table.path, name)
        before = path.read_bytes()
        path.write_bytes(DAMAGES[damage](before))
        for file in stored_path(table.path).rglob("*"):
            if file.is_file():
                os.utime(file, (time.time() - 2 * 86_400,) * 2)
        there = files_below(table.path)
        verify(table._store, repair=True, dry_run=False)
        assert files_below(table.path) == there, f"a repair after damage to {name} removed files"
        path.write_bytes(before)
    assert told(table) == []
