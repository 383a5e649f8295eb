"""``expire`` and ``expire-partitions``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Lake, Table


def test_expire(cli: Lakebed, orders: Table) -> None:
    orders.truncate()
    wanted = ("expire", "db.orders", "--retain-max", "1", "--retain-min", "1", "--older-than", "0 s")
    plan = cli.json(*wanted)
    assert (plan["dry_run"], plan["removed_snapshots"]) == (True, [1, 2, 3])
    data = [file for file in plan["files"] if file["kind"] == "data"]
    assert len(data) == 3
    assert all(Path(file["path"]).stat().st_size == file["file_size_in_bytes"] for file in data)
    assert plan["file_size_in_bytes"] == sum(file["file_size_in_bytes"] or 0 for file in plan["files"])
    assert len(orders.snapshots()) == 4
    ran = cli(*wanted)
    assert ran.out.startswith(f"would expire 3 snapshots (1 to 3)\nwould delete {plan['file_count']} files, ")
    done = cli.json(*wanted, "--yes")
    assert {file["path"] for file in done["files"]} == {file["path"] for file in plan["files"]}
    assert [snapshot.id for snapshot in orders.snapshots()] == [4]
    assert not any(Path(file["path"]).exists() for file in data)
    again = cli(*wanted)
    assert (again.out, again.err) == ("no snapshots to expire\n", "")


def test_expire_no_more_than_asked(cli: Lakebed, orders: Table) -> None:
    plan = cli.json("expire", "db.orders", "--retain-min", "1", "--older-than", "0 s", "--max-deletes", "1")
    assert plan["removed_snapshots"] == [1]
    assert "retain_max" in cli.fails(3, "expire", "db.orders", "--retain-max", "0")
    assert cli("expire", "db.orders").out == "no snapshots to expire\n"


def test_expire_partitions(cli: Lakebed, lake: Lake, orders: Table) -> None:
    orders.write([{"id": 9, "v": "v", "day": "2999-01-01"}])
    wanted = ("expire-partitions", "db.orders", "--expiration-time", "30 d", "--timestamp-formatter", "yyyy-MM-dd")
    plan = cli.json(*wanted)
    assert plan["partitions"] == [{"day": f"2025-01-0{number}"} for number in (1, 2, 3)]
    assert cli(*wanted).out.startswith("would drop 3 partitions\n")
    assert cli(*wanted).lines[-3:] == [[f"2025-01-0{number}"] for number in (1, 2, 3)]
    assert len(cli.json("partitions", "db.orders")) == 4
    assert cli.json(*wanted, "--yes")["partitions"] == plan["partitions"]
    assert [record["partition"] for record in cli.json("partitions", "db.orders")] == ["day=2999-01-01"]
    assert cli(*wanted).out == "no partitions to expire\n"
