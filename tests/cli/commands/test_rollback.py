"""``rollback``."""

from __future__ import annotations

from tests.cli.runner import Lakebed

from lakebed import Table


def test_rollback(cli: Lakebed, orders: Table) -> None:
    orders.create_tag("v3", snapshot=3)
    plan = cli.json("rollback", "db.orders", "--snapshot", "2")
    assert plan == {
        "dry_run": True,
        "table": "db.orders",
        "snapshot_id": 2,
        "removed_snapshots": [3],
        "removed_tags": ["v3"],
        "removed_changelogs": [],
        "recreates_snapshot": False,
    }
    ran = cli("rollback", "db.orders", "--snapshot", "2")
    assert ran.out == "would roll back db.orders to snapshot 2; would delete snapshot 3, tag v3\n"
    assert "add --yes" in ran.err
    assert len(orders.snapshots()) == 3
    assert cli.json("rollback", "db.orders", "--snapshot", "2", "--yes") == {**plan, "dry_run": False}
    assert [snapshot.id for snapshot in orders.snapshots()] == [1, 2]
    assert orders.tags() == {}


def test_rollback_to_a_tag_or_a_time(cli: Lakebed, orders: Table) -> None:
    second = orders.snapshot(2)
    assert cli.json("rollback", "db.orders", "--timestamp", str(second.time_millis), "--yes")["snapshot_id"] == 2
    orders.create_tag("v1", snapshot=1)
    assert cli.json("rollback", "db.orders", "--tag", "v1", "--yes")["snapshot_id"] == 1
    assert [snapshot.id for snapshot in orders.snapshots()] == [1]
    again = cli("rollback", "db.orders", "--tag", "v1")
    assert again.out == "would roll back db.orders to snapshot 1; nothing to delete\n"
    assert again.err == ""
    assert "99" in cli.fails(4, "rollback", "db.orders", "--snapshot", "99")
    assert "v2" in cli.fails(4, "rollback", "db.orders", "--tag", "v2")
