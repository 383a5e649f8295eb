"""Partitions, buckets, files, branches, tags, chains over HTTP."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyarrow.compute as pc
from tests.service.conftest import Serve
from tests.service.running import TABLES, get, refused

import lakebed

ORDERS = f"{TABLES}/orders"


def test_partitions(client: httpx.Client, warehouse: Path) -> None:
    page = get(client, f"{ORDERS}/partitions")
    first, second = page["items"]
    assert first["partition"] == "dt=2025-01-01"
    assert first["values"] == {"dt": "2025-01-01"}
    known = lakebed.connect(warehouse).system_table("db.orders$partitions").scan().to_arrow().to_pylist()
    for shown, real in zip((first, second), known, strict=True):
        assert shown["partition"] == real["partition"]
        assert shown["record_count"] == real["record_count"]
        assert shown["file_count"] == real["file_count"]
        assert shown["byte_count"] == real["file_size_in_bytes"]
        assert shown["last_update_millis"] == round(real["last_update_time"].timestamp() * 1000)
    assert get(client, f"{ORDERS}/partitions", search="-02")["items"] == [second]
    assert get(client, f"{ORDERS}/partitions", limit=1, offset=1)["items"] == [second]
    assert get(client, f"{TABLES}/events/partitions")["total"] == 0


def test_partition_names_of_nulls_and_odd_types(serve: Serve, tmp_path: Path) -> None:
    import datetime as dt

    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT, d DATE, s STRING", partition_by=["d", "s"])
    table.write([{"id": 1, "d": dt.date(2025, 1, 31), "s": "x/y"}, {"id": 2, "d": None, "s": " "}])
    found = get(serve(), f"{TABLES}/t/partitions")["items"]
    known = lake.system_table("db.t$partitions").scan().to_arrow()["partition"].to_pylist()
    assert [one["partition"] for one in found] == known
    assert found[0]["values"] == {"d": "2025-01-31", "s": "x/y"}
    assert found[1]["values"] == {"d": None, "s": " "}


def test_buckets_and_levels(client: httpx.Client, warehouse: Path) -> None:
    page = get(client, f"{ORDERS}/buckets")
    files = lakebed.connect(warehouse).system_table("db.orders$files").scan().to_arrow()
    assert page["max_level"] == 5
    assert sum(one["file_count"] for one in page["items"]) == len(files)
    assert sum(one["byte_count"] for one in page["items"]) == pc.sum(files["file_size_in_bytes"]).as_py()
    for one in page["items"]:
        assert one["file_count"] == sum(level["file_count"] for level in one["levels"])
        assert one["record_count"] == sum(level["record_count"] for level in one["levels"])
    by_level = [[level["level"] for level in one["levels"]] for one in page["items"]]
    assert sorted(by_level) == [[0, 5], [5], [5], [5]]
    assert sorted(one["sorted_runs"] for one in page["items"]) == [1, 1, 1, 2]
    places = [(one["partition"], one["bucket"]) for one in page["items"]]
    assert places == sorted(places)
    second = get(client, f"{ORDERS}/buckets", partition="dt=2025-01-02")
    assert {one["partition"] for one in second["items"]} == {"dt=2025-01-02"}
    assert second["total"] == 2
    assert get(client, f"{ORDERS}/buckets", partition="dt=nope")["items"] == []
    before = get(client, f"{ORDERS}/buckets", version="8")
    assert {level["level"] for one in before["items"] for level in one["levels"]} == {0}
    assert sum(one["file_count"] for one in before["items"]) == 8


def test_files(client: httpx.Client, warehouse: Path) -> None:
    page = get(client, f"{ORDERS}/files")
    real = lakebed.connect(warehouse).system_table("db.orders$files").scan().to_arrow().to_pylist()
    known = {row["file_path"].rsplit("/", 1)[1]: row for row in real}
    assert {one["file_name"] for one in page["items"]} == set(known)
    for one in page["items"]:
        row = known[one["file_name"]]
        assert str(warehouse / one["path"]) == row["file_path"]
        assert (one["min_key"], one["max_key"]) == (row["min_key"], row["max_key"])
        assert (one["level"], one["bucket"], one["source"]) == (row["level"], row["bucket"], row["file_source"])
    assert page["byte_count"] == sum(one["byte_count"] for one in page["items"])
    assert page["record_count"] == sum(one["record_count"] for one in page["items"])


def test_files_by_place_and_order(client: httpx.Client) -> None:
    path = f"{ORDERS}/files"
    every = get(client, path)["items"]
    for name, value in (("bucket", 1), ("level", 5), ("partition", "dt=2025-01-02")):
        found = get(client, path, **{name: value})
        assert found["items"] == [one for one in every if one[name] == value]
        assert found["total"] == len(found["items"]) > 0
        assert found["byte_count"] == sum(one["byte_count"] for one in found["items"])
    assert get(client, path, level=3)["items"] == []
    sizes = [one["byte_count"] for one in get(client, path, sort="-size")["items"]]
    assert sizes == sorted(sizes, reverse=True)
    times = [one["created_millis"] for one in get(client, path, sort="created")["items"]]
    assert times == sorted(times)
    seen = []
    for offset in range(0, len(every), 2):
        seen += get(client, path, limit=2, offset=offset)["items"]
    assert seen == every
    refused(client, path, 422, sort="name")
    refused(client, path, 422, bucket=-3)
    assert len(get(client, path, version="v1")["items"]) == 3
    refused(client, path, 404, version="nope")


def test_marked_rows_of_files(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    table = lake.create_table("db.t", "id INT, n INT", primary_key=["id"], options=options)
    table.write([{"id": number, "n": 0} for number in range(100)])
    table.compact(full=True)
    table.write([{"id": number, "n": 1} for number in range(40)])
    client = serve()
    marked = [one["deleted_record_count"] for one in get(client, f"{TABLES}/t/files")["items"]]
    assert sorted(marked, key=str) == [40, None]
    items = {one["name"]: one for one in get(client, f"{TABLES}/t/health")["items"]}
    assert items["deleted_rows"]["value"] == 40
    assert items["deleted_rows"]["verdict"] == "warning"
    assert items["indexes"]["value"] > 0


def test_branches(client: httpx.Client) -> None:
    main, dev = get(client, f"{ORDERS}/branches")["items"]
    assert (main["name"], main["is_current"], main["snapshot_count"], main["latest_snapshot_id"]) == (
        "main",
        True,
        10,
        10,
    )
    assert (dev["name"], dev["is_current"], dev["snapshot_count"], dev["latest_snapshot_id"]) == ("dev", False, 2, 4)
    assert (dev["earliest_snapshot_id"], dev["forked_from_snapshot_id"]) == (3, 3)
    assert dev["created_millis"] > main["last_commit_millis"] - 60_000
    assert [one["is_current"] for one in get(client, f"{ORDERS}/branches", branch="dev")["items"]] == [False, True]
    assert get(client, f"{ORDERS}/branches", limit=1, offset=1)["items"] == [dev]


def test_tags(client: httpx.Client, warehouse: Path) -> None:
    (tag,) = get(client, f"{ORDERS}/tags")["items"]
    real = lakebed.connect(warehouse).table("db.orders").snapshot(3)
    assert (tag["name"], tag["snapshot_id"], tag["commit_millis"]) == ("v1", 3, real.time_millis)
    assert tag["record_count"] == real.total_record_count
    assert tag["expires_millis"] is None


def test_a_new_tag_is_seen_at_once(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    client = serve()
    assert get(client, f"{TABLES}/t/snapshots")["items"][0]["tags"] == []
    table.create_tag("later", time_retained="1 d")
    assert get(client, f"{TABLES}/t/snapshots")["items"][0]["tags"] == ["later"]
    (tag,) = get(client, f"{TABLES}/t/tags")["items"]
    assert tag["expires_millis"] - tag["created_millis"] == 86_400_000
    table.drop_tag("later")
    assert get(client, f"{TABLES}/t")["tags"] == []


def test_a_table_without_a_chain(client: httpx.Client) -> None:
    found = get(client, f"{ORDERS}/chain")
    assert (found["is_chain"], found["items"], found["total"]) == (False, [], 0)
