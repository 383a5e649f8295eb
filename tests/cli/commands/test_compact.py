"""``compact`` and ``compact-manifests``."""

from __future__ import annotations

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


def test_compact_manifests(cli: Lakebed, lake: Lake) -> None:
    table = lake.create_table("db.m", "id INT", options={"manifest.compaction.mode": "MANUAL"})
    for number in range(6):
        table.write([{"id": number}])
    table.delete("id < 4")
    planned = cli.json("compact-manifests", "db.m", "--dry-run")
    assert (planned["dry_run"], planned["snapshot"], planned["rewritten"]) == (True, None, 7)
    assert (planned["before"]["manifests"], planned["before"]["entries"], planned["cancelled"]) == (7, 10, 4)
    assert (planned["after"]["manifests"], planned["after"]["entries"]) == (1, 2)
    shown = cli("compact-manifests", "db.m", "--dry-run").out.splitlines()
    assert shown[0].startswith("would rewrite 7 manifests (10 entries, ")
    assert shown[1] == "4 pairs of ADD and DELETE entries cancel out"
    made = cli.json("compact-manifests", "db.m")
    assert {**made, "dry_run": True, "snapshot": None} == {**planned, "after": made["after"]}
    assert made["snapshot"]["id"] == 8
    assert cli("compact-manifests", "db.m").out.startswith("nothing to rewrite: 1 manifest (2 entries, ")
    assert sorted(row["id"] for row in table.scan().to_arrow().to_pylist()) == [4, 5]
