"""``branches``: each command does what the method does, and nothing without consent."""

from __future__ import annotations

from tests.cli.runner import Lakebed

from lakebed import Lake, Table, changes


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
    assert "main already equals branch dev" in cli("branches", "fast-forward", "db.orders", "dev").out


def test_merge(cli: Lakebed, lake: Lake, orders: Table) -> None:
    branch = orders.create_branch("dev")
    branch.write([{"id": 7, "v": "v7", "day": "2025-01-07"}])
    assert cli.json("branches", "merge", "db.orders", "dev")["snapshot"]["id"] == 4
    assert sorted(lake.table("db.orders").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 7]
