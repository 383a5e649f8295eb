"""``compact``."""

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
