"""A table is dropped and created again while others write to it: no life of it ever shows rows of another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.places import stored_path
from tests.races import lifetime_workers as workers
from tests.races.crew import Task, together

from lakebed import Lake, NotFoundError, connect
from lakebed.errors import AlreadyExistsError

LIVES = 6 * int(os.environ.get("LAKEBED_RACE_ROUNDS", "2"))
KINDS: dict[str, tuple[dict[str, str], list[str]]] = {
    "append": ({"bucket": "2"}, []),
    "keyed": ({"bucket": "1", "num-sorted-run.compaction-trigger": "3"}, ["id"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_drops_and_writes(tmp_path: Path, kind: str) -> None:
    warehouse = str(tmp_path / "w")
    lake = connect(warehouse)
    lake.create_database("db")
    tasks: list[Task] = [
        (workers.drop_and_create, (warehouse, LIVES, *KINDS[kind])),
        *((workers.write_to_any_life, (warehouse, 100_000 * writer)) for writer in (1, 2)),
        (workers.alter_any_life, (warehouse,)),
    ]
    problems, *writers, altered = together(tasks)
    assert problems == []
    assert altered == []
    assert [error for _, _, failed in writers for error in failed] == []
    assert sum((ended for _, ended, _ in writers), start=type(writers[0][1])()), "no writer was surprised by a drop"
    table = lake.table("db.t")
    assert table.schema.comment == str(LIVES - 1)
    acknowledged = sorted(done for part, _, _ in writers for done in part if done[0] == LIVES - 1)
    assert sorted(workers.rows_of(table)) == acknowledged
    assert [snapshot.id for snapshot in table.snapshots()] == list(range(1, len(table.snapshots()) + 1))
    left = {path.name for path in stored_path(warehouse, "db.db").iterdir()} - {".lakebed"}
    assert left == {"t"}, "something is left of earlier lives"


def test_a_handle_does_not_outlive_its_table(lake: Lake) -> None:
    old = lake.create_table("db.t", "id INT")
    old.write([{"id": 1}])
    lake.drop_table("db.t")
    for use in (old.scan, lambda: old.write([{"id": 2}]), old.truncate):
        with pytest.raises(NotFoundError, match=r"table db\.t does not exist"):
            use()
    assert lake.tables("db") == []
    new = lake.create_table("db.t", "id INT")
    for use in (old.scan, lambda: old.write([{"id": 2}]), old.truncate):
        with pytest.raises(NotFoundError, match="was dropped and another one created in its place"):
            use()
    assert new.latest_snapshot() is None
    new.write([{"id": 3}])
    assert new.scan().to_arrow()["id"].to_pylist() == [3]


def test_what_is_left_of_a_table_is_not_taken_for_a_new_one(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    for schema in stored_path(table.path, "schema").iterdir():
        schema.unlink()
    with pytest.raises(
        AlreadyExistsError, match=r"has no schema, but holds .*snapshot-1 of a table that was there before"
    ):
        lake.create_table("db.t", "id INT")
