"""Snapshots, their changes and compactions over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import TABLES, get, refused

import lakebed

ORDERS = f"{TABLES}/orders"


def ids(page: Any) -> list[int]:
    return [one["id"] for one in page["items"]]


def test_pages_by_cursor_and_by_offset_are_the_same(client: httpx.Client) -> None:
    by_cursor: list[int] = []
    by_offset: list[int] = []
    page = get(client, f"{ORDERS}/snapshots", limit=3)
    while True:
        by_offset += ids(get(client, f"{ORDERS}/snapshots", limit=3, offset=len(by_offset)))
        by_cursor += ids(page)
        assert page["total"] == 10
        if page["next_cursor"] is None:
            break
        page = get(client, f"{ORDERS}/snapshots", limit=3, cursor=page["next_cursor"])
    assert by_cursor == by_offset == list(range(10, 0, -1))


def test_a_page_says_what_it_opened(client: httpx.Client) -> None:
    plain = get(client, f"{ORDERS}/snapshots", limit=2)
    assert (plain["scanned"], plain["source"]) == (2, "listing")
    filtered = get(client, f"{ORDERS}/snapshots", limit=2, kind="COMPACT")
    assert (ids(filtered), filtered["total"], filtered["source"]) == ([9], 1, "index")
    assert filtered["scanned"] <= 3


def test_filters(client: httpx.Client, warehouse: Path) -> None:
    table = lakebed.connect(warehouse).table("db.orders")
    fifth = table.snapshot(5)
    path = f"{ORDERS}/snapshots"
    assert ids(get(client, path, user=fifth.commit_user)) == [5]
    assert get(client, path, user="nobody")["total"] == 0
    since = get(client, path, since=str(fifth.time_millis))
    until = get(client, path, until=str(fifth.time_millis))
    assert 5 in ids(since)
    assert 5 in ids(until)
    assert sorted({*ids(since), *ids(until)}) == list(range(1, 11))
    assert get(client, path, from_time="1 h")["total"] == 10
    assert get(client, path, to_time="2001-01-01")["total"] == 0


def test_a_snapshot_is_shown_whole(client: httpx.Client, warehouse: Path) -> None:
    (third,) = [one for one in get(client, f"{ORDERS}/snapshots")["items"] if one["id"] == 3]
    real = lakebed.connect(warehouse).table("db.orders").snapshot(3)
    assert third["tags"] == ["v1"]
    assert third["commit_kind"] == "APPEND"
    assert third["commit_user"] == real.commit_user
    assert third["time_millis"] == real.time_millis
    assert third["properties"] == dict(real.properties)
    assert (third["files_added"], third["files_deleted"]) == (1, 0)
    assert third["bytes_added"] > 0


def test_what_a_snapshot_changed(client: httpx.Client, warehouse: Path) -> None:
    found = get(client, f"{ORDERS}/snapshots/9", limit=3)
    (noted,) = lakebed.connect(warehouse).table("db.orders").compactions()
    changes = found["changes"]
    assert (changes["files_added"], changes["files_deleted"]) == (noted.output_files, noted.input_files)
    assert (changes["bytes_added"], changes["bytes_deleted"]) == (noted.output_bytes, noted.input_bytes)
    assert (changes["records_added"], changes["records_deleted"]) == (noted.output_rows, noted.input_rows)
    assert len(changes["groups"]) == changes["group_count"] == noted.buckets
    for column in ("files_added", "files_deleted", "bytes_added", "bytes_deleted", "records_added", "records_deleted"):
        assert sum(group[column] for group in changes["groups"]) == changes[column], column
    assert {group["partition"] for group in changes["groups"]} == {"dt=2025-01-01", "dt=2025-01-02"}
    files = changes["files"]
    assert files["total"] == noted.input_files + noted.output_files
    assert (len(files["items"]), files["next_offset"]) == (3, 3)
    rest = get(client, f"{ORDERS}/snapshots/9", offset=3)["changes"]["files"]["items"]
    kinds = [one["change"] for one in [*files["items"], *rest]]
    assert (kinds.count("ADD"), kinds.count("DELETE")) == (noted.output_files, noted.input_files)


def test_compactions(client: httpx.Client) -> None:
    page = get(client, f"{ORDERS}/compactions")
    (one,) = page["items"]
    assert (one["snapshot_id"], one["kind"], one["from_facts"]) == (9, "FULL", True)
    assert one["input_files"] == 8
    assert one["duration_millis"] == one["finished_millis"] - one["started_millis"] >= 0
    assert page["total"] == 1
    assert get(client, f"{ORDERS}/compactions", until="2001-01-01")["items"] == []


@pytest.mark.parametrize("part", ["snapshots", "compactions"])
def test_bad_questions(client: httpx.Client, part: str) -> None:
    path = f"{ORDERS}/{part}"
    assert "is not a cursor" in refused(client, path, 400, cursor="x")
    cursor = get(client, f"{ORDERS}/snapshots", limit=1)["next_cursor"]
    assert "give either a cursor or an offset, not both" in refused(
        client, f"{ORDERS}/snapshots", 400, cursor=cursor, offset=1
    )
    assert "other filters" in refused(client, path, 400, cursor=cursor, user="x")
    refused(client, path, 400, cursor="9" * 40)
    for limit in ("0", "-1", "1001", "1e9", "9" * 40, "x", ""):
        refused(client, path, 422, limit=limit)
    for offset in ("-1", "9" * 40, "x"):
        refused(client, path, 422, offset=offset)
    assert "from_time is 'yesterday'" in refused(client, path, 400, from_time="yesterday")


def test_unknown_snapshots_and_kinds(client: httpx.Client) -> None:
    assert "snapshots 1 to 10 exist" in refused(client, f"{ORDERS}/snapshots/11", 404)
    for bad in ("0", "-1", "x", "9" * 30):
        refused(client, f"{ORDERS}/snapshots/{bad}", 422)
    refused(client, f"{ORDERS}/snapshots", 422, kind="compakt")
    refused(client, f"{ORDERS}/compactions", 422, kind="COMPACT")
    assert ids(get(client, f"{ORDERS}/snapshots", kind="compact")) == [9]


def test_compactions_of_one_kind(client: httpx.Client) -> None:
    path = f"{ORDERS}/compactions"
    (one,) = get(client, path, kind="Full")["items"]
    assert (one["snapshot_id"], one["kind"], one["status"]) == (9, "FULL", "succeeded")
    assert get(client, path, kind="minor")["items"] == []


def test_pages_by_ids(client: httpx.Client) -> None:
    path = f"{ORDERS}/snapshots"
    assert ids(get(client, path, lastSnapshotId=8, limit=2)) == [7, 6]
    assert ids(get(client, path, cursor="8", limit=2)) == [7, 6]
    assert ids(get(client, path, from_snapshot=3, to_snapshot=5)) == [5, 4, 3]
    assert "either cursor or lastSnapshotId" in refused(client, path, 400, lastSnapshotId=8, cursor="8")


@pytest.mark.parametrize(
    ("path", "name", "near"),
    [
        (f"{ORDERS}/snapshots", "lastSnapshot", "lastSnapshotId"),
        (f"{ORDERS}/snapshots", "page", "offset"),
        (f"{ORDERS}/snapshots", "operation", "kind"),
        (f"{ORDERS}/compactions", "Kind", "kind"),
        (f"{ORDERS}/files", "pageSize", "limit"),
        (ORDERS, "brunch", "branch"),
        ("/api/v1/jobs", "states", "state"),
    ],
)
def test_unknown_parameters_are_refused(client: httpx.Client, path: str, name: str, near: str) -> None:
    """A filter that is ignored would return what was not asked for."""
    message = refused(client, path, 400, **{name: "1"})
    assert message.startswith(f"unknown query parameter {name!r}; did you mean {near!r}? The parameters are: ")


def test_a_parameter_like_no_other_is_refused_with_the_list(client: httpx.Client) -> None:
    message = refused(client, f"{TABLES}/orders/tags", 400, xyz="1")
    assert message == "unknown query parameter 'xyz'; known: branch, limit, offset"
    assert refused(client, "/api/v1/warehouses", 400, xyz="1") == "unknown query parameter 'xyz'; known: none"
    assert client.get("/metrics", params={"xyz": "1"}).status_code == 200, "collectors add their own"


def test_a_cursor_holds_while_others_commit_and_expire(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    for number in range(12):
        table.write([{"id": number}])
    client = serve()
    page = get(client, f"{TABLES}/t/snapshots", limit=4)
    assert ids(page) == [12, 11, 10, 9]
    table.write([{"id": 99}])
    table.expire_snapshots(retain_max=7, retain_min=1)
    rest = get(client, f"{TABLES}/t/snapshots", limit=4, cursor=page["next_cursor"])
    assert ids(rest) == [8, 7]
    assert rest["next_cursor"] is None


def test_a_read_only_service_writes_no_index(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    for number in range(3):
        table.write([{"id": number}])
    sidecars = tmp_path / "wh" / "db.db" / "t" / ".lakebed"
    for path in sidecars.glob("history-*"):
        path.unlink()
    page = get(serve(read_only=True), f"{TABLES}/t/snapshots", kind="APPEND")
    assert (ids(page), page["source"], page["scanned"]) == ([3, 2, 1], "scan", 3)
    assert not list(sidecars.glob("history-*"))
    assert ids(get(serve(), f"{TABLES}/t/snapshots", kind="APPEND")) == [3, 2, 1]
