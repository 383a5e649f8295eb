"""``repair``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Table


def test_repair(cli: Lakebed, orders: Table) -> None:
    assert cli.json("repair", "db.orders")["is_needed"] is False
    Path(orders.path, "snapshot/snapshot-3").write_bytes(b"")
    Path(orders.path, "snapshot/LATEST").write_bytes(b"")
    assert "lakebed repair" in cli.fails(3, "rows", "db.orders")
    plan = cli.json("repair", "db.orders")
    assert (plan["snapshot_id"], plan["removed_snapshots"], plan["corrected_hints"]) == (2, [3], ["LATEST"])
    assert plan["checked"][0] == {
        "id": 3,
        "is_whole": False,
        "tag": None,
        "problems": ["snapshot/snapshot-3 is empty"],
    }
    ran = cli("repair", "db.orders")
    assert ran.out.startswith("db.orders: would roll back to snapshot 2, delete snapshot 3, correct LATEST\n")
    assert "add --yes" in ran.err
    assert cli("repair", "db.orders", "--yes").out.startswith(
        "db.orders: rolled back to snapshot 2, deleted snapshot 3"
    )
    assert cli("repair", "db.orders").out.startswith("db.orders: nothing to repair\n")
    assert [snapshot.id for snapshot in orders.snapshots()] == [1, 2]
