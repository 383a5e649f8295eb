"""Warehouses, databases, tables, schemas, options, health over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from tests.service.conftest import Serve
from tests.service.running import TABLES, get, refused

import lakebed
from lakebed.version import VERSION

ORDERS = f"{TABLES}/orders"


def test_what_the_service_is(client: httpx.Client) -> None:
    assert get(client, "/healthz") == {"status": "ok"}
    found = get(client, "/api/v1/service")
    assert found["version"] == VERSION
    assert not found["token_required"]
    assert not found["allow_actions"]
    assert found["limits"]["page"] == 1000


def test_warehouses_and_databases(client: httpx.Client, warehouse: Path) -> None:
    (found,) = get(client, "/api/v1/warehouses")["items"]
    assert found == {"name": "demo", "path": str(warehouse), "databases": 2, "problem": None}
    assert get(client, "/api/v1/warehouses/demo/databases")["items"] == [
        {"name": "db", "tables": 4, "comment": "samples", "properties": {"comment": "samples"}},
        {"name": "other", "tables": 1, "comment": None, "properties": {}},
    ]


def test_tables_come_in_pages(client: httpx.Client) -> None:
    path = "/api/v1/warehouses/demo/tables"
    names = ["db.empty", "db.events", "db.odd", "db.orders", "other.notes"]
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = get(client, path, limit=2, offset=offset)
        assert page["total"] == 5
        assert len(page["items"]) <= 2
        seen += [f"{one['database']}.{one['name']}" for one in page["items"]]
        offset = page["next_offset"]
    assert seen == names
    assert get(client, path, offset=5)["items"] == []
    assert [one["name"] for one in get(client, path, database="other")["items"]] == ["notes"]
    assert [one["name"] for one in get(client, path, search="B.E")["items"]] == ["empty", "events"]
    assert "nope" in refused(client, path, 404, database="nope")


def test_a_table_in_the_list(client: httpx.Client) -> None:
    items = get(client, "/api/v1/warehouses/demo/tables", database="db")["items"]
    by_name = {one["name"]: one for one in items}
    orders, events, empty = by_name["orders"], by_name["events"], by_name["empty"]
    assert (orders["kind"], orders["primary_keys"], orders["partition_keys"]) == ("primary-key", ["dt", "id"], ["dt"])
    assert orders["latest_snapshot_id"] == 10
    assert orders["health"] == {"verdict": "ok", "reasons": []}
    assert events["kind"] == "append"
    assert events["record_count"] == events["file_count"] == 7
    assert events["health"]["verdict"] == "warning"
    assert "7 of 7 files are small enough" in events["health"]["reasons"][0]
    assert empty["comment"] == "nothing <b>yet</b>"
    assert (empty["latest_snapshot_id"], empty["file_count"]) == (None, 0)
    cheap = get(client, "/api/v1/warehouses/demo/tables", database="db", health=False)["items"][1]
    assert (cheap["name"], cheap["health"], cheap["file_count"], cheap["record_count"]) == ("events", None, None, 7)


def test_a_table_that_cannot_be_opened_does_not_hide_the_others(client: httpx.Client, warehouse: Path) -> None:
    schema = warehouse / "other.db" / "broken" / "schema" / "schema-0"
    schema.parent.mkdir(parents=True)
    schema.write_text("{")
    try:
        broken, notes = get(client, "/api/v1/warehouses/demo/tables", database="other")["items"]
        assert "schema-0" in broken["problem"]
        assert (broken["kind"], broken["health"]["verdict"]) == (None, "problem")
        assert notes["problem"] is None
        refused(client, "/api/v1/warehouses/demo/databases/other/tables/broken", 503)
    finally:
        schema.unlink()


def test_overview(client: httpx.Client, warehouse: Path) -> None:
    found = get(client, ORDERS)
    table = lakebed.connect(warehouse).table("db.orders")
    assert [column["type"] for column in found["columns"]] == ["BIGINT NOT NULL", "INT", "STRING NOT NULL"]
    assert (found["bucket"], found["bucket_keys"], found["merge_engine"]) == ("2", ["id"], "deduplicate")
    assert found["latest_snapshot"]["id"] == 10
    assert (latest := table.latest_snapshot()) is not None
    assert found["latest_snapshot"]["commit_identifier"] == str(latest.commit_identifier)
    assert (found["snapshot_count"], found["earliest_snapshot_id"]) == (10, 1)
    assert found["record_count"] == latest.total_record_count
    plan = table.scan().plan()
    assert (found["file_count"], found["byte_count"]) == (plan.file_count, plan.byte_count)
    assert found["partition_count"] == 2
    assert (found["branches"], found["tags"]) == (["dev"], ["v1"])
    assert found["path"] == table.path
    empty = get(client, f"{TABLES}/empty")
    assert (empty["latest_snapshot"], empty["snapshot_count"], empty["merge_engine"]) == (None, 0, None)


def test_every_endpoint_works_on_a_branch(client: httpx.Client) -> None:
    found = get(client, ORDERS, branch="dev")
    assert (found["branch"], found["snapshot_count"], found["record_count"]) == ("dev", 2, 4)
    for part in (
        "schemas",
        "snapshots",
        "compactions",
        "partitions",
        "buckets",
        "files",
        "branches",
        "tags",
        "options",
    ):
        assert "items" in get(client, f"{ORDERS}/{part}", branch="dev")
    assert [one["id"] for one in get(client, f"{ORDERS}/snapshots", branch="dev")["items"]] == [4, 3]
    assert get(client, f"{ORDERS}/snapshots/4", branch="dev")["snapshot"]["total_record_count"] == 4
    rows = get(client, f"{ORDERS}/rows", branch="dev", columns="id")["rows"]
    assert sorted(rows) == [[0], [1], [2], [77]]
    diff = get(client, f"{ORDERS}/diff", branch="dev", before="v1")
    assert diff["rows"]["added"] == [[77, 77, "2025-01-01"]]
    assert get(client, f"{ORDERS}/health", branch="dev")["snapshot_id"] == 4
    assert "its branches: main, dev" in refused(client, ORDERS, 404, branch="nope")


def test_schemas(client: httpx.Client) -> None:
    newest, oldest = get(client, f"{TABLES}/events/schemas")["items"]
    assert (newest["id"], oldest["id"]) == (1, 0)
    assert newest["changes"] == [{"what": "column", "name": "note", "before": None, "after": "STRING"}]
    assert oldest["changes"] == []
    assert [column["name"] for column in newest["columns"]] == ["id", "name", "note"]


def test_options(client: httpx.Client) -> None:
    (bucket,) = get(client, f"{ORDERS}/options")["items"]
    assert (bucket["name"], bucket["value"], bucket["default"], bucket["support"]) == ("bucket", "2", "-1", "honoured")
    assert "buckets" in bucket["meaning"]
    every = get(client, f"{ORDERS}/options", all=True)["items"]
    assert len(every) > 100
    names = [one["name"] for one in every]
    assert names == sorted(names)
    assert len(set(names)) == len(names)
    assert [one["name"] for one in every if one["is_set"]] == ["bucket"]


def test_health(client: httpx.Client) -> None:
    found = get(client, f"{TABLES}/events/health")
    items = {item["name"]: item for item in found["items"]}
    assert found["verdict"] == "warning"
    assert items["small_files"]["action"] == "compact"
    assert items["small_files"]["value"] == 7
    assert items["orphans"]["verdict"] == "ok"
    assert "levels" not in items
    assert get(client, f"{TABLES}/events/health", orphans=False)["items"][-1]["verdict"] == "unknown"
    assert all(item["reason"].endswith(".") for item in found["items"])
    assert get(client, f"{TABLES}/empty/health")["snapshot_id"] is None


def test_unknown_things(client: httpx.Client) -> None:
    assert refused(client, "/api/v1/warehouses/nope/databases", 404) == "unknown warehouse 'nope'; known: demo"
    assert "did you mean 'orders'" in refused(client, f"{TABLES}/ordres", 404)
    refused(client, "/api/v1/warehouses/demo/databases/nope/tables/t", 404)
    assert refused(client, "/api/v1/nope", 404) == "there is nothing at /api/v1/nope"


def test_many_may_ask_while_somebody_writes(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT, n INT", primary_key=["id"], options={"bucket": "1"})
    table.write([{"id": 0, "n": 0}])
    client = serve()
    parts = ["", "/snapshots?kind=APPEND", "/files", "/buckets", "/rows", "/health?orphans=false", "/diff?before=1"]
    with ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(client.get, f"{TABLES}/t{part}") for part in parts * 6]
        for number in range(1, 12):
            table.write([{"id": number, "n": number}])
        statuses = [answer.result().status_code for answer in answers]
    assert set(statuses) == {200}
    assert len(get(client, f"{TABLES}/t/rows")["rows"]) == 12
