"""The chain of a chain table over HTTP."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import TABLES, get

import lakebed
from lakebed.changes import AddColumn, SetOption
from lakebed.service.models.contents import ChainLink
from lakebed.service.numbers.chain_partitions import chain_age_text, summary_of_chain

DAILY = f"{TABLES}/daily"
DAY = 86_400_000


@pytest.fixture
def daily(tmp_path: Path) -> lakebed.Table:
    """A full partition, and two days of changes after it."""
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    options = {"bucket": "1", "partition.timestamp-pattern": "$dt", "partition.timestamp-formatter": "yyyyMMdd"}
    table = lake.create_table(
        "db.daily", "id INT, n INT, dt STRING", partition_by=["dt"], primary_key=["dt", "id"], options=options
    )
    full, delta = table.create_branch("full"), table.create_branch("delta")
    full.write([{"id": 1, "n": 1, "dt": "20250101"}])
    delta.write([{"id": 2, "n": 2, "dt": "20250102"}])
    delta.write([{"id": 3, "n": 3, "dt": "20250103"}])
    table.alter(
        SetOption("chain-table.enabled", "true"),
        SetOption("scan.fallback-snapshot-branch", "full"),
        SetOption("scan.fallback-delta-branch", "delta"),
    )
    found: lakebed.Table = lake.table("db.daily")
    return found


@pytest.fixture
def client(serve: Serve, daily: lakebed.Table) -> httpx.Client:
    del daily
    return serve()


def test_the_chain(client: httpx.Client) -> None:
    found = get(client, f"{DAILY}/chain")
    assert (found["is_chain"], found["full_branch"], found["delta_branch"]) == (True, "full", "delta")
    assert (found["group_keys"], found["chain_keys"]) == ([], ["dt"])
    assert [one["partition"] for one in found["items"]] == ["dt=20250101", "dt=20250102", "dt=20250103"]
    assert [one["kind"] for one in found["items"]] == ["full", "delta", "delta"]
    assert not any(one["is_stale"] for one in found["items"])
    assert {one["anchor"] for one in found["items"][1:]} == {"dt=20250101"}
    assert found["items"][1]["depth"] < found["items"][2]["depth"]
    assert all(one["file_count"] >= 1 and one["byte_count"] > 0 for one in found["items"])
    assert get(client, f"{DAILY}/chain", limit=1, offset=2)["items"] == found["items"][2:]
    assert get(client, f"{DAILY}/chain", group="nope")["total"] == 0


def test_the_chain_in_numbers(client: httpx.Client, daily: lakebed.Table, tmp_path: Path) -> None:
    found = get(client, f"{DAILY}/chain")
    summary = found["summary"]
    assert (summary["newest_full"], summary["group_count"], summary["groups_without_full"]) == ("dt=20250101", 1, 0)
    assert (summary["stale_count"], summary["deepest"]) == (0, 2)
    began = dt.datetime(2025, 1, 1)
    assert summary["newest_full_age_millis"] == pytest.approx((time.time() - began.timestamp()) * 1000, abs=60_000)
    assert [one["time_millis"] for one in found["items"]] == [
        round((began + dt.timedelta(days=day)).timestamp() * 1000) for day in range(3)
    ]
    listed = lakebed.connect(tmp_path / "wh").system_table("db.daily$chain").scan(["bytes_saved"]).to_arrow()
    saved = listed["bytes_saved"].to_pylist()
    assert [one["bytes_saved"] for one in found["items"]] == saved
    assert summary["bytes_saved"] == sum(saved)
    assert get(client, f"{DAILY}/chain", limit=1)["summary"]["deepest"] == 2, "of all pages"
    daily.compact_chain({"dt": "20250103"})
    assert get(client, f"{DAILY}/chain")["summary"]["newest_full"] == "dt=20250103"
    daily.branch("delta").overwrite([{"id": 5, "n": 5, "dt": "20250102"}])
    summary = get(client, f"{DAILY}/chain")["summary"]
    assert (summary["newest_full"], summary["stale_count"]) == ("dt=20250101", 1), "a stale one is not read"
    assert get(client, f"{DAILY}/chain", group="nope")["summary"]["newest_full"] is None


def test_the_group_that_lags_is_named() -> None:
    now = 1_000 * DAY
    rows = [
        link("g=a/dt=1", "g=a", "full", 900),
        link("g=a/dt=2", "g=a", "full+delta", 990),
        link("g=b/dt=1", "g=b", "full", 970),
        link("g=b/dt=2", "g=b", "full+delta", 999, is_stale=True, depth=4),
        link("g=b/dt=3", "g=b", "delta", 999, depth=5, bytes_saved=3 * 1024),
        link("dt=0", "", "main", None),
    ]
    summary = summary_of_chain(rows, now=now)
    assert (summary.newest_full, summary.newest_full_age_millis) == ("g=b/dt=1", 30 * DAY)
    assert (summary.group_count, summary.stale_count, summary.deepest, summary.bytes_saved) == (2, 1, 5, 3072)
    assert chain_age_text(summary) == (
        "The newest full partition of every group is at most 30 days old (g=b/dt=1). "
        "Full copies of all partitions would take 3.0 KiB more."
    )
    summary = summary_of_chain([*rows, link("g=c/dt=1", "g=c", "delta", 999)], now=now)
    assert (summary.newest_full, summary.groups_without_full) == (None, 1)
    assert chain_age_text(summary).startswith("1 of 3 groups has no full partition. ")
    assert chain_age_text(summary_of_chain([link("dt=1", "", "delta", 1)])) == "There is no full partition."
    assert chain_age_text(summary_of_chain([])) == ""
    soon = summary_of_chain([link("dt=1", "", "full", 1001)], now=now)
    assert chain_age_text(soon) == "The newest full partition, dt=1, is 0 hours old.", "a day that has not begun"


def link(partition: str, group: str, kind: str, day: int | None, **more: Any) -> ChainLink:
    given = {"anchor": None, "depth": 0, "file_count": 1, "byte_count": 1, "is_stale": False, "bytes_saved": 0, **more}
    millis = None if day is None else day * DAY
    return ChainLink(partition=partition, group=group, kind=kind, time_millis=millis, **given)


def test_main_counts_what_its_branches_hold(client: httpx.Client) -> None:
    overview = get(client, DAILY)
    assert (overview["kind"], overview["record_count"], overview["file_count"]) == ("chain", 3, 3)
    assert overview["byte_count"] > 0
    (listed,) = get(client, "/api/v1/warehouses/demo/tables")["items"]
    assert (listed["kind"], listed["record_count"], listed["file_count"]) == ("chain", 3, 3)
    assert listed["last_commit_millis"] is not None
    assert overview["latest_snapshot"] is None
    assert overview["latest_snapshot_ids"] == {"full": 1, "delta": 2}
    assert (overview["data_branches"], overview["snapshot_count"]) == (["full", "delta"], 3)
    assert overview["last_commit_millis"] == listed["last_commit_millis"]
    (brief,) = get(client, "/api/v1/warehouses/demo/tables", health=False)["items"]
    assert (brief["record_count"], brief["last_commit_millis"]) == (3, listed["last_commit_millis"])
    delta = get(client, DAILY, branch="delta")
    assert (delta["record_count"], delta["data_branches"], delta["snapshot_count"]) == (2, [], 2)


def test_main_lists_the_files_and_buckets_of_its_branches(client: httpx.Client, daily: lakebed.Table) -> None:
    files = get(client, f"{DAILY}/files")
    assert [one["partition"] for one in files["items"]] == ["dt=20250101", "dt=20250102", "dt=20250103"]
    assert (files["total"], files["record_count"]) == (3, 3)
    buckets = get(client, f"{DAILY}/buckets")
    assert [(one["partition"], one["bucket"], one["file_count"]) for one in buckets["items"]] == [
        ("dt=20250101", 0, 1),
        ("dt=20250102", 0, 1),
        ("dt=20250103", 0, 1),
    ]
    assert get(client, f"{DAILY}/files", branch="delta")["total"] == 2
    daily.write([{"id": 9, "n": 9, "dt": "20250109"}])
    assert get(client, f"{DAILY}/files")["total"] == 4
    assert get(client, f"{DAILY}/files", version="1")["total"] == 1


def test_health_looks_at_the_branches(client: httpx.Client, daily: lakebed.Table) -> None:
    items = {one["name"]: one for one in get(client, f"{DAILY}/health")["items"]}
    assert items["history"]["reason"] == "Branch full: 1 snapshot. Branch delta: 2 snapshots."
    assert "0 files" not in items["small_files"]["reason"]
    delta = daily.branch("delta")
    delta.alter(SetOption("write-only", "true"))
    for number in range(12):
        delta.write([{"id": number, "n": 1, "dt": "20250104"}])
    items = {one["name"]: one for one in get(client, f"{DAILY}/health")["items"]}
    assert (items["levels"]["verdict"], items["levels"]["value"], items["levels"]["action"]) == ("problem", 12, None)
    assert "Branch delta: The fullest bucket has 12 sorted runs" in items["levels"]["reason"]
    daily.write([{"id": 9, "n": 9, "dt": "20250109"}])
    items = {one["name"]: one for one in get(client, f"{DAILY}/health")["items"]}
    assert items["history"]["reason"].startswith("Branch main: 1 snapshot. Branch full: 1 snapshot.")


def test_main_lists_the_partitions_of_its_branches(client: httpx.Client, daily: lakebed.Table) -> None:
    daily.branch("full").write([{"id": 2, "n": n, "dt": "20250103"} for n in (1, 2)])
    daily.write([{"id": 9, "n": 9, "dt": "20250109"}])
    found = get(client, f"{DAILY}/partitions")
    places = [(one["partition"], one["branch"], one["file_count"]) for one in found["items"]]
    assert places == [
        ("dt=20250101", "full", 1),
        ("dt=20250102", "delta", 1),
        ("dt=20250103", "full", 1),  # it is told of once, by the branch that it is read from
        ("dt=20250109", "main", 1),
    ]
    assert found["items"][1]["values"] == {"dt": "20250102"}
    assert get(client, f"{DAILY}/partitions", search="0103")["total"] == 1
    assert get(client, f"{DAILY}/partitions", limit=1, offset=2)["items"] == found["items"][2:3]
    overview = get(client, DAILY)
    assert (found["total"], overview["partition_count"], overview["bucket_count"]) == (4, 4, 5)
    assert [one["partition"] for one in get(client, f"{DAILY}/partitions", version="1")["items"]] == ["dt=20250109"]
    assert get(client, f"{DAILY}/partitions", branch="delta")["total"] == 2


def test_branches_have_roles(client: httpx.Client) -> None:
    roles = {one["name"]: one["role"] for one in get(client, f"{DAILY}/branches")["items"]}
    assert roles == {"main": None, "full": "chain-full", "delta": "chain-delta"}


def test_health_looks_at_the_chain(client: httpx.Client) -> None:
    items = {one["name"]: one for one in get(client, f"{DAILY}/health")["items"]}
    assert items["chain"]["verdict"] == "ok", items["chain"]
    assert "No partition is stale" in items["chain"]["reason"]
    days = int((time.time() - dt.datetime(2025, 1, 1).timestamp()) * 1000) // DAY
    assert f"The newest full partition, dt=20250101, is {days} days old." in items["chain"]["reason"]


def test_a_chain_that_cannot_be_read_is_a_problem(client: httpx.Client, daily: lakebed.Table) -> None:
    daily.branch("delta").alter(AddColumn("more", "INT"))
    found = get(client, f"{DAILY}/health")
    items = {one["name"]: one for one in found["items"]}
    assert (found["verdict"], items["chain"]["verdict"]) == ("problem", "problem")
    assert "has drifted from main" in items["chain"]["reason"]
    (listed,) = get(client, "/api/v1/warehouses/demo/tables")["items"]
    assert listed["health"]["verdict"] == "problem"


def test_stale_partitions_are_counted(client: httpx.Client, daily: lakebed.Table) -> None:
    daily.compact_chain({"dt": "20250103"})
    daily.branch("delta").overwrite([{"id": 5, "n": 5, "dt": "20250102"}])
    items = {one["name"]: one for one in get(client, f"{DAILY}/health")["items"]}
    assert (items["chain"]["verdict"], items["chain"]["value"]) == ("warning", 1)
    assert items["chain"]["reason"].startswith("1 full partition is stale")
    assert [one["is_stale"] for one in get(client, f"{DAILY}/chain")["items"]] == [False, False, True]


def test_rows_of_a_day_are_the_whole_view(client: httpx.Client) -> None:
    rows = get(client, f"{DAILY}/rows", where="dt = '20250103'", columns="id")["rows"]
    assert sorted(rows) == [[1], [2], [3]]
