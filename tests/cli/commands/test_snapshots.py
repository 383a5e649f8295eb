"""``snapshots``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.runner import Lakebed

from lakebed import Lake, Table


def test_snapshots_newest_first(cli: Lakebed, people: Table) -> None:
    people.compact(full=True)
    records = cli.json("snapshots", "db.people")
    expected = people.snapshots()[::-1]
    assert [record["id"] for record in records] == [4, 3, 2, 1]
    assert [record["commit_kind"] for record in records] == ["COMPACT", "APPEND", "APPEND", "APPEND"]
    for record, snapshot in zip(records, expected, strict=True):
        for key in ("time_millis", "commit_user", "total_record_count", "delta_record_count", "base_manifest_list"):
            assert record[key] == getattr(snapshot, key)
    assert [line[:2] for line in cli("snapshots", "db.people").lines[2:]] == [
        ["4", "COMPACT"],
        ["3", "APPEND"],
        ["2", "APPEND"],
        ["1", "APPEND"],
    ]


def test_a_page_reads_no_more_snapshots_than_it_shows(
    cli: Lakebed, orders: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(self: Table) -> None:
        raise AssertionError("all snapshots were read")

    monkeypatch.setattr(Table, "snapshots", everything)
    ran = cli("snapshots", "db.orders", "--limit", "2", "--json")
    assert [record["id"] for record in ran.json] == [3, 2]
    assert ran.err == "the newest 2 snapshots; use --limit for older ones\n"


@pytest.mark.parametrize("limit", [2, 3, 4])
def test_expired_and_missing_snapshots(cli: Lakebed, orders: Table, limit: int) -> None:
    orders.write([{"id": 9, "v": "v", "day": "2025-01-04"}])
    Path(orders.path, "snapshot", "snapshot-2").unlink()  # a gap: what lies behind it is shown
    records = cli.json("snapshots", "db.orders", "--limit", str(limit))
    assert [record["id"] for record in records] == [4, 3, 1][:limit]


def test_no_snapshots(cli: Lakebed, lake: Lake) -> None:
    lake.create_table("db.t", "id INT")
    assert cli("snapshots", "db.t").out == "no snapshots\n"
    assert cli.json("snapshots", "db.t") == []
    assert cli.json("files", "db.t") == []
    assert cli.json("partitions", "db.t") == []


def test_a_system_table_has_no_snapshots(cli: Lakebed, orders: Table) -> None:
    assert "lakebed rows 'db.orders$files'" in cli.fails(3, "snapshots", "db.orders$files")
