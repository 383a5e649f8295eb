"""Data files that are not there any more."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.lakes import reopened
from tests.places import stored_path

from lakebed import Lake, LakebedError, Table


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def paths_of(table: Table) -> list[str]:
    found: list[str] = table.scan().plan().files["file_path"].to_pylist()
    return found


@pytest.fixture(params=["append", "vectors"])
def table(request: pytest.FixtureRequest, lake: Lake) -> Table:
    kind: dict[str, Any] = {
        "append": {},
        "vectors": {"primary_key": ["id"], "options": {"bucket": "1", "deletion-vectors.enabled": "true"}},
    }[request.param]
    made = lake.create_table("db.t", "id BIGINT", **kind)
    for i in range(3):
        made.write(rows(10 * i, 10 * i + 1))
    return made


def test_the_rest_can_be_read_again(table: Table) -> None:
    lost = paths_of(table)[0]
    held = set(pa.concat_tables([table.scan().to_arrow()])["id"].to_pylist())
    stored_path(lost).unlink()
    table = reopened(table)
    with pytest.raises(LakebedError):
        table.scan().to_arrow()
    before = table.latest_snapshot()
    assert table.remove_missing_files(dry_run=True) == [lost]
    assert table.latest_snapshot() == before  # it only showed
    assert table.remove_missing_files(dry_run=False) == [lost]
    left = set(table.scan().to_arrow()["id"].to_pylist())
    assert left < held
    assert lost not in paths_of(table)
    table.write(rows(99))
    assert set(table.scan().to_arrow()["id"].to_pylist()) == left | {99}


def test_nothing_is_missing(table: Table) -> None:
    before = table.latest_snapshot()
    assert table.remove_missing_files(dry_run=False) == []
    assert table.latest_snapshot() == before


def test_a_table_without_snapshots(lake: Lake) -> None:
    assert lake.create_table("db.empty", "id INT").remove_missing_files(dry_run=False) == []


def test_vectors_of_missing_files_go_with_them(lake: Lake) -> None:
    table = lake.create_table(
        "db.v", "id BIGINT", primary_key=["id"], options={"bucket": "1", "deletion-vectors.enabled": "true"}
    )
    table.write(rows(1, 2, 3))
    table.compact(full=True)
    table.write(rows(2))  # marks a row of the first file
    marked = lake.system_table("db.v$table_indexes").scan().to_arrow()
    assert len(marked) == 1
    (name,) = {vector["f0"] for vector in marked["dv_ranges"].to_pylist()[0]}
    (lost,) = [path for path in paths_of(table) if path.endswith(name)]
    stored_path(lost).unlink()
    table.remove_missing_files(dry_run=False)
    assert table.scan().to_arrow()["id"].to_pylist() == [2]
    assert len(lake.system_table("db.v$table_indexes").scan().to_arrow()) == 0
