"""``rollback``, ``expire``, ``expire-partitions``, ``orphans``, ``compact``."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Lake, Table


def test_compact(cli: Lakebed, people: Table) -> None:
    made = cli.json("compact", "db.people", "--full")
    assert (made["table"], made["snapshot"]["id"], made["snapshot"]["commit_kind"]) == ("db.people", 4, "COMPACT")
    assert people.scan().to_arrow().to_pylist() == [{"id": 1, "name": "cia"}]
    again = cli("compact", "db.people", "--full")
    assert (again.out, again.err) == ("nothing to compact\n", "")
    assert cli.json("compact", "db.people", "--full")["snapshot"] is None


def test_compact_some_partitions(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table(
        "db.t", "day STRING, id INT", primary_key=["day", "id"], partition_by=["day"], options={"bucket": "1"}
    )
    for _ in range(2):
        table.write([{"day": "a", "id": 1}, {"day": "b", "id": 1}])
    assert cli("compact", "db.t", "--full", "--where", "day = 'a'").code == 0
    assert {r["partition"]: r["file_count"] for r in cli.json("partitions", "db.t")} == {"day=a": 1, "day=b": 2}
    assert "did you mean 'day'?" in cli.fails(3, "compact", "db.t", "--where", "dya = 'a'")


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
    assert ran.out == "would roll back db.orders to snapshot 2; goes: snapshot 3, tag v3\n"
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
    assert again.out == "would roll back db.orders to snapshot 1; goes: no snapshots\n"
    assert again.err == ""
    assert "99" in cli.fails(4, "rollback", "db.orders", "--snapshot", "99")
    assert "v2" in cli.fails(4, "rollback", "db.orders", "--tag", "v2")


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
    assert ran.out.startswith(f"would expire 3 snapshots (1 to 3)\nwould remove {plan['file_count']} files, ")
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
    assert cli(*wanted).lines[-3:] == [[f"2025-01-0{number}"] for number in (1, 2, 3)]
    assert len(cli.json("partitions", "db.orders")) == 4
    assert cli.json(*wanted, "--yes")["partitions"] == plan["partitions"]
    assert [record["partition"] for record in cli.json("partitions", "db.orders")] == ["day=2999-01-01"]
    assert cli(*wanted).out == "no partitions to expire\n"


def test_orphans(cli: Lakebed, orders: Table) -> None:
    stray = Path(orders.path, "day=2025-01-01", "bucket-0", "data-00000000-0000-0000-0000-000000000000-0.parquet")
    stray.write_bytes(b"x" * 100)
    assert cli("orphans", "db.orders").out == "no files to remove\n"  # too young
    os.utime(stray, (1_000_000, 1_000_000))
    plan = cli.json("orphans", "db.orders")
    assert [(file["path"], file["file_size_in_bytes"]) for file in plan["files"]] == [(str(stray), 100)]
    assert (plan["dry_run"], plan["file_count"], plan["file_size_in_bytes"]) == (True, 1, 100)
    ran = cli("orphans", "db.orders", "--files")
    assert ran.out.startswith("would remove 1 files, 100 B\n")
    assert str(stray) in ran.out
    assert stray.exists()
    assert cli("orphans", "db.orders", "--older-than", "1970-01-01").out == "no files to remove\n"
    assert cli.json("orphans", "db.orders", "--yes")["dry_run"] is False
    assert not stray.exists()
    assert orders.scan().to_arrow().num_rows == 3
