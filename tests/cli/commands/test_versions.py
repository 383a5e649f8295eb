"""``branches``, ``tags``, ``consumers``: each command does what the method does, and nothing without consent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from tests.cli.runner import Lakebed

from lakebed import Lake, Table, changes

# ---------------------------------------------------------------------------------------------------- branches


def test_branches(cli: Lakebed, lake: Lake, orders: Table) -> None:
    made = cli.json("branches", "create", "db.orders", "dev", "--snapshot", "2")
    assert (made["branch"], made["snapshot_id"], made["table"]) == ("dev", 2, "db.orders")
    ran = cli("branches", "create", "db.orders", "empty")
    assert "db.orders$branch_empty" in ran.out
    assert orders.branches() == ["dev", "empty"]
    records = cli.json("branches", "db.orders")
    assert [(r["branch"], r["snapshot_id"], r["total_record_count"]) for r in records] == [
        ("main", 3, 3),
        ("dev", 2, 2),
        ("empty", None, 0),
    ]
    assert cli("branches", "db.orders").lines[4][:3] == ["empty", "-", "0"]
    assert cli.json("show", "db.orders")["branches"] == ["dev", "empty"]
    assert cli.json("show", "db.orders$branch_dev")["branch"] == "dev"
    assert cli.json("branches", "rename", "db.orders", "empty", "bare")["renamed_from"] == "empty"
    assert orders.branches() == ["bare", "dev"]


def test_create_a_branch_from_a_tag(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v1", snapshot=1)
    assert cli.json("branches", "create", "db.orders", "dev", "--tag", "v1")["snapshot_id"] == 1


def test_branch_mistakes(cli: Lakebed, orders: Table) -> None:
    orders.create_branch("dev")
    assert "dev" in cli.fails(3, "branches", "create", "db.orders", "dev")
    assert "99" in cli.fails(4, "branches", "create", "db.orders", "b", "--snapshot", "99")
    for command in (["drop"], ["fast-forward"]):
        assert "dve" in cli.fails(4, "branches", *command, "db.orders", "dve")
    assert "did you mean 'dev'?" in cli.fails(4, "branches", "drop", "db.orders", "dve")
    assert "unknown branch 'main'" in cli.fails(4, "branches", "drop", "db.orders", "main")
    assert orders.branches() == ["dev"]


def test_drop_a_branch(cli: Lakebed, orders: Table) -> None:
    orders.create_branch("dev", snapshot=1)
    ran = cli("branches", "drop", "db.orders", "dev")
    assert ran.out == "would drop branch dev of db.orders, at snapshot 1\n"
    assert orders.branches() == ["dev"]
    assert cli("branches", "drop", "db.orders", "dev", "--yes").out.startswith("dropped branch dev")
    assert orders.branches() == []


def test_a_branch_that_an_option_names_needs_force(cli: Lakebed, orders: Table) -> None:
    orders.create_branch("dev")
    orders.alter(changes.SetOption("scan.fallback-branch", "dev"))
    assert "scan.fallback-branch" in cli.fails(3, "branches", "drop", "db.orders", "dev", "--yes")
    assert "scan.fallback-branch" in cli.fails(3, "branches", "rename", "db.orders", "dev", "new")
    assert cli("branches", "rename", "db.orders", "dev", "new", "--force").code == 0
    assert cli("branches", "drop", "db.orders", "new", "--force", "--yes").code == 0
    assert orders.branches() == []


def test_fast_forward(cli: Lakebed, lake: Lake, orders: Table) -> None:
    branch = orders.create_branch("dev", snapshot=2)
    branch.write([{"id": 7, "v": "v7", "day": "2025-01-07"}])
    plan = cli.json("branches", "fast-forward", "db.orders", "dev")
    assert plan["dry_run"] is True
    assert 3 in plan["removed_snapshots"]
    assert 3 in plan["copied_snapshots"]
    assert sorted(orders.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    done = cli.json("branches", "fast-forward", "db.orders", "dev", "--yes")
    assert done == {**plan, "dry_run": False}
    assert sorted(lake.table("db.orders").scan().to_arrow()["id"].to_pylist()) == [1, 2, 7]
    assert "goes: no snapshots" in cli("branches", "fast-forward", "db.orders", "dev").out


def test_merge(cli: Lakebed, lake: Lake, orders: Table) -> None:
    branch = orders.create_branch("dev")
    branch.write([{"id": 7, "v": "v7", "day": "2025-01-07"}])
    assert cli.json("branches", "merge", "db.orders", "dev")["snapshot"]["id"] == 4
    assert sorted(lake.table("db.orders").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 7]


# -------------------------------------------------------------------------------------------------------- tags


def test_tags(cli: Lakebed, orders: Table) -> None:
    assert cli.json("tags", "create", "db.orders", "v1", "--snapshot", "1") == {
        "table": "db.orders",
        "tag": "v1",
        "snapshot_id": 1,
    }
    assert cli("tags", "create", "db.orders", "now", "--retain", "7 d").out == "tagged snapshot 3 as now\n"
    assert {name: held.id for name, held in orders.tags().items()} == {"now": 3, "v1": 1}
    now, first = cli.json("tags", "db.orders")
    assert (now["tag_name"], now["snapshot_id"], now["time_retained"]) == ("now", 3, "PT168H")
    assert (first["tag_name"], first["record_count"], first["time_retained"]) == ("v1", 1, None)
    assert [line[:2] for line in cli("tags", "db.orders").lines[2:]] == [["now", "3"], ["v1", "1"]]
    assert cli.json("show", "db.orders")["tags"] == {"now": 3, "v1": 1}
    cli("tags", "rename", "db.orders", "v1", "first")
    assert set(orders.tags()) == {"now", "first"}


def test_replace_a_tag(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v1", snapshot=1)
    plan = cli.json("tags", "replace", "db.orders", "v1", "--snapshot", "2")
    assert (plan["dry_run"], plan["replaced_snapshot_id"], plan["snapshot_id"]) == (True, 1, 2)
    assert orders.tags()["v1"].id == 1
    assert cli("tags", "replace", "db.orders", "v1", "--yes").out == "moved tag v1 from snapshot 1 to snapshot 3\n"
    assert orders.tags()["v1"].id == 3
    assert "did you mean 'v1'?" in cli.fails(4, "tags", "replace", "db.orders", "v11")
    assert "99" in cli.fails(4, "tags", "replace", "db.orders", "v1", "--snapshot", "99")


def test_delete_a_tag_with_what_only_it_needed(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v1", snapshot=1)
    orders.truncate()
    orders.expire_snapshots(retain_max=1, retain_min=1, older_than=dt.datetime.now())
    plan = cli.json("tags", "delete", "db.orders", "v1")
    assert plan["dry_run"] is True
    kinds = {kind["kind"]: kind["file_count"] for kind in plan["by_kind"]}
    assert kinds["data"] == 1
    assert sum(kinds.values()) == plan["file_count"] == len(plan["files"])
    assert all(Path(file["path"]).exists() for file in plan["files"])
    assert set(orders.tags()) == {"v1"}
    shown = cli("tags", "delete", "db.orders", "v1", "--files", "--yes").out
    assert shown.startswith("deleted tag v1\nremoved ")
    assert all(file["path"] in shown for file in plan["files"])
    assert not any(Path(file["path"]).exists() for file in plan["files"] if file["kind"] == "data")
    assert orders.tags() == {}
    assert "v1" in cli.fails(4, "tags", "delete", "db.orders", "v1")


def test_expire_tags(cli: Lakebed, orders: Table) -> None:
    assert cli("tags", "expire", "db.orders", "--yes").out == "no tags to expire\n"
    orders.create_tag("kept", snapshot=1)
    orders.create_tag("old", snapshot=2, time_retained=dt.timedelta(milliseconds=1))
    plan = cli.json("tags", "expire", "db.orders")
    assert (plan["dry_run"], plan["tags"]) == (True, ["old"])
    assert set(orders.tags()) == {"kept", "old"}
    assert cli("tags", "expire", "db.orders", "--yes").out == "deleted old\n"
    assert set(orders.tags()) == {"kept"}


# --------------------------------------------------------------------------------------------------- consumers


def test_consumers(cli: Lakebed, orders: Table) -> None:
    assert cli.json("consumers", "db.orders") == []
    assert cli.json("consumers", "reset", "db.orders", "job", "--next-snapshot", "2")["was"] is None
    assert cli.json("consumers", "db.orders") == [{"consumer": "job", "next_snapshot": 2}]
    again = cli.json("consumers", "reset", "db.orders", "job")
    assert (again["was"], again["next_snapshot"]) == (2, 4)
    assert cli("consumers", "db.orders").lines[2] == ["job", "4"]
    assert "would forget" in cli("consumers", "delete", "db.orders", "job").out
    assert orders.consumers() == {"job": 4}
    assert cli("consumers", "delete", "db.orders", "job", "-y").code == 0
    assert orders.consumers() == {}
    assert "unknown consumer 'job'" in cli.fails(4, "consumers", "delete", "db.orders", "job")


@pytest.mark.parametrize("command", ["reset", "delete"])
def test_a_damaged_consumer_can_be_mended(cli: Lakebed, orders: Table, command: str) -> None:
    orders.reset_consumer("job", 2)
    (note,) = Path(orders.path, "consumer").iterdir()
    note.write_text("{")
    assert str(note) in cli.fails(3, "consumers", "db.orders")
    assert cli("consumers", command, "db.orders", "job", *(["--yes"] if command == "delete" else [])).code == 0
    assert set(orders.consumers()) == ({"job"} if command == "reset" else set())
