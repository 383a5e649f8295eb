"""Previews and differences over HTTP."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import TABLES, get, refused, sentence

import lakebed
from lakebed.scan import Scan
from lakebed.service import Limits
from lakebed.service.patience import Patience

ORDERS, EVENTS = f"{TABLES}/orders", f"{TABLES}/events"


def test_preview(client: httpx.Client) -> None:
    found = get(client, f"{EVENTS}/rows")
    assert found["columns"] == [
        {"name": "id", "type": "BIGINT"},
        {"name": "name", "type": "STRING"},
        {"name": "note", "type": "STRING"},
    ]
    assert sorted(found["rows"]) == [*([n, f"n{n}", None] for n in range(6)), [6, "n6", "x"]]
    assert (found["has_more"], found["cut_by"], found["files"], found["snapshot_id"]) == (False, None, 7, 7)


def test_preview_of_some_rows_and_columns(client: httpx.Client) -> None:
    found = get(client, f"{EVENTS}/rows", columns="name, id", where="id >= 4 AND id < 6")
    assert sorted(found["rows"]) == [["n4", 4], ["n5", 5]]
    cut = get(client, f"{EVENTS}/rows", limit=3)
    assert (len(cut["rows"]), cut["has_more"], cut["cut_by"]) == (3, True, "rows")
    exact = get(client, f"{EVENTS}/rows", limit=7)
    assert (len(exact["rows"]), exact["has_more"]) == (7, False)


def test_preview_of_an_earlier_version(client: httpx.Client, warehouse: Path) -> None:
    table = lakebed.connect(warehouse).table("db.orders")
    for version in ("3", "v1"):
        found = get(client, f"{ORDERS}/rows", version=version)
        assert found["snapshot_id"] == 3
        assert sorted(row[1] for row in found["rows"]) == [0, 1, 2]
    at = get(client, f"{ORDERS}/rows", timestamp=str(table.snapshot(3).time_millis))
    assert at["snapshot_id"] == 3
    assert (latest := table.latest_snapshot()) is not None
    assert get(client, f"{ORDERS}/rows", timestamp="0 s")["snapshot_id"] == latest.id
    for ago in ("9 d", "9999999 d"):
        refused(client, f"{ORDERS}/rows", 404, timestamp=ago)
    refused(client, f"{ORDERS}/rows", 400, timestamp="lately")
    assert [column["name"] for column in get(client, f"{EVENTS}/rows", version="2")["columns"]] == ["id", "name"]
    assert get(client, f"{TABLES}/empty/rows")["rows"] == []


def test_values_that_json_has_no_words_for(client: httpx.Client) -> None:
    (row,) = get(client, f"{TABLES}/odd/rows")["rows"]
    assert row[:5] == [str(2**60), "1.50", "2025-01-31", "NaN", "01ff"]
    assert row[5].startswith("2025-01-31 12:30:00")
    assert row[6] == [{"key": "a", "value": 1}]


def test_bad_previews(client: httpx.Client) -> None:
    path = f"{EVENTS}/rows"
    assert "unknown column 'nmae'" in refused(client, path, 404, columns="nmae")
    refused(client, path, 400, columns="id,id")
    refused(client, path, 404, columns=",")
    refused(client, path, 400, where="id >")
    refused(client, path, 400, where="(" * 1900 + "id > 1" + ")" * 1900)
    refused(client, path, 422, where="x" * 5000)
    refused(client, path, 404, version="99")
    refused(client, path, 404, version="../../x")
    refused(client, path, 400, version="1", timestamp="2025-01-01")
    for limit in (0, 1001, "x"):
        refused(client, path, 422, limit=limit)


def test_a_preview_has_no_more_bytes_than_allowed(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT, text STRING")
    table.write([{"id": number, "text": "x" * 1000} for number in range(100)])
    client = serve(limits=Limits(preview_bytes=10_000))
    found = get(client, f"{TABLES}/t/rows", limit=100)
    assert 5 <= len(found["rows"]) < 10
    assert (found["has_more"], found["cut_by"]) == (True, "bytes")
    assert get(client, f"{TABLES}/t/rows", limit=100, columns="id")["cut_by"] is None
    table.write([{"id": 1000, "text": "y" * 20_000}])
    alone = get(client, f"{TABLES}/t/rows", where="id = 1000")
    assert (alone["rows"], alone["cut_by"]) == ([], "bytes")


def test_a_preview_that_would_read_too_much_is_refused(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    keyed = lake.create_table(
        "db.k", "id INT, p INT", partition_by=["p"], primary_key=["p", "id"], options={"bucket": "1"}
    )
    plain = lake.create_table("db.a", "id INT, p INT")
    for table in (keyed, plain):
        for part in (0, 1):
            table.write([{"id": number, "p": part} for number in range(2000)])
    most = keyed.scan(where="p = 1").plan().byte_count
    client = serve(limits=Limits(read_bytes=most))
    assert "narrow it" in refused(client, f"{TABLES}/k/rows", 413)
    assert len(get(client, f"{TABLES}/k/rows", where="p = 1")["rows"]) == 50
    assert len(get(client, f"{TABLES}/a/rows")["rows"]) == 50


def test_diff(client: httpx.Client) -> None:
    found = get(client, f"{EVENTS}/diff", before="5")
    assert (found["before"]["id"], found["after"]["id"]) == (5, 7)
    assert found["schema"] == [{"what": "column", "name": "note", "before": None, "after": "STRING"}]
    assert found["files_added"]["count"] == len(found["files_added"]["items"]) == 2
    assert found["files_removed"]["count"] == 0
    assert found["files_added"]["byte_count"] == sum(one["byte_count"] for one in found["files_added"]["items"])
    assert found["files_added"]["items"][0]["path"].startswith("db.db/events/")
    assert sorted(found["rows"]["added"]) == [[5, "n5", None], [6, "n6", "x"]]
    assert found["rows"]["removed"] == []
    back = get(client, f"{EVENTS}/diff", before="7", after="5")
    assert len(back["rows"]["removed"]) == 2
    some = get(client, f"{EVENTS}/diff", before="5", sample=1)["rows"]
    assert (len(some["added"]), some["has_more"]) == (1, True)
    assert get(client, f"{EVENTS}/diff", before="5", sample=0)["rows"] is None


def test_bad_diffs(client: httpx.Client) -> None:
    refused(client, f"{EVENTS}/diff", 422)
    refused(client, f"{EVENTS}/diff", 404, before="99")
    refused(client, f"{EVENTS}/diff", 404, before="1", after="nope")
    refused(client, f"{EVENTS}/diff", 422, before="1", sample=201)
    assert "no snapshot" in refused(client, f"{TABLES}/empty/diff", 404, before="1")


def test_a_diff_of_much_shows_no_rows(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    table.write([{"id": 2}])
    found = get(serve(limits=Limits(diff_bytes=10)), f"{TABLES}/t/diff", before="1")
    assert found["rows"] is None
    assert found["bytes_to_compare"] > 10
    assert found["files_added"]["count"] == 1


def test_only_a_few_read_rows_at_once(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    begun, go, read = threading.Event(), threading.Event(), Scan.to_batches

    def slow(self: Scan) -> Any:
        begun.set()
        assert go.wait(20)
        return read(self)

    monkeypatch.setattr(Scan, "to_batches", slow)
    client = serve(limits=Limits(readers=1, reader_wait=0.05))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.get, f"{TABLES}/t/rows")
        assert begun.wait(20)
        second = client.get(f"{TABLES}/t/rows")
        assert "try again soon" in sentence(second, 503)
        assert second.headers["retry-after"] == "2"
        assert get(client, f"{TABLES}/t")["record_count"] == 1  # what reads no rows need not wait
        go.set()
        assert first.result().status_code == 200
    assert client.get(f"{TABLES}/t/rows").status_code == 200


# --------------------------------------------------------------------------------------------------- patience


def wide_table(folder: Path, files: int = 40) -> None:
    lake = lakebed.connect(folder)
    lake.create_database("db")
    table = lake.create_table("db.wide", "id BIGINT, text STRING")
    for number in range(files):
        table.write([{"id": number, "text": "a" * 1000}])


def test_a_read_that_takes_too_long_is_ended(serve: Serve, tmp_path: Path) -> None:
    client = serve(limits=Limits(read_seconds=0))
    wide_table(tmp_path / "wh", files=1)
    for what in ({}, {"where": "text LIKE '%b%'"}):
        assert "longer than 0 seconds; narrow it" in refused(client, f"{TABLES}/wide/rows", 504, **what)


def test_a_read_that_decodes_too_much_is_ended(serve: Serve, tmp_path: Path) -> None:
    client = serve(limits=Limits(decoded_bytes=5000))
    wide_table(tmp_path / "wh", files=10)
    assert "would decode more than" in refused(client, f"{TABLES}/wide/rows", 413)
    assert len(get(client, f"{TABLES}/wide/rows", columns="id")["rows"]) == 10
    assert len(get(client, f"{TABLES}/wide/rows", where="id < 2")["rows"]) == 2


def test_a_client_that_goes_frees_its_place(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide_table(tmp_path / "wh")
    noted: list[float] = []
    note = Patience.note

    def slow_note(patience: Patience, size: int) -> None:
        time.sleep(0.2)
        noted.append(time.monotonic())
        note(patience, size)

    monkeypatch.setattr(Patience, "note", slow_note)
    client = serve(limits=Limits(readers=1, reader_wait=5))
    with pytest.raises(httpx.ReadTimeout):
        client.get(f"{TABLES}/wide/rows", params={"where": "text LIKE '%b%'"}, timeout=1)
    gone = time.monotonic()
    monkeypatch.setattr(Patience, "note", note)
    assert get(client, f"{TABLES}/wide/rows", limit=1)["has_more"] is True
    assert time.monotonic() - gone < 6  # all 40 files would take 8 seconds
    assert len(noted) < 35


def test_a_condition_that_fails_on_rows_is_the_fault_of_the_request(serve: Serve, tmp_path: Path) -> None:
    client = serve()
    wide_table(tmp_path / "wh", files=1)
    for where in ("CAST(text AS INT) = 1", "id / 0 = 1", "CAST(text AS DATE) = DATE '2025-01-01'"):
        message = refused(client, f"{TABLES}/wide/rows", 400, where=where)
        assert str(tmp_path) not in message
