"""The life of tables, from ``create_table`` to ``drop_table``, on each kind of storage."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest
from tests.chain.days import new_table
from tests.servers.server import Server

import lakebed
from lakebed import Lake, NotFoundError, Table
from lakebed.streams.positions import NO_LIMITS, Position
from lakebed.streams.table_stream import TableStream


@pytest.fixture(params=["minio", "gcs", "azurite", "hdfs"])
def server(request: pytest.FixtureRequest) -> Server:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Server)
    return found


@pytest.fixture
def place(server: Server) -> Lake:
    made = lakebed.connect(f"{server.create_bucket(f'life-{uuid.uuid4()}')}/w", options=server.options)
    made.create_database("db")
    return made


def pairs(values: dict[int, str], **columns: Any) -> pa.Table:
    count = len(values)
    given = {"k": list(values), "v": list(values.values()), **{name: [one] * count for name, one in columns.items()}}
    return pa.table(given, schema=pa.schema([("k", pa.int64()), *((name, pa.string()) for name in list(given)[1:])]))


def shown(table: Table, **at: Any) -> dict[int, str]:
    rows = table.scan(["k", "v"], **at).to_arrow().to_pylist()
    found = {row["k"]: row["v"] for row in rows}
    assert len(found) == len(rows), "a row is there twice"
    return found


def test_an_append_table(place: Lake, server: Server) -> None:
    table = place.create_table("db.t", "k BIGINT, v STRING, day STRING", partition_by=["day"])
    table.write(pairs({1: "a", 2: "b"}, day="1"))
    table.write(pairs({3: "c"}, day="2"))
    table.create_tag("two")
    dev = table.create_branch("dev", tag="two")
    dev.delete("k = 1")
    table.overwrite(pairs({4: "d"}, day="1"), partition={"day": "1"})
    assert shown(table) == {3: "c", 4: "d"}
    assert shown(table, where="day = '1'") == {4: "d"}
    assert shown(table, version=1) == {1: "a", 2: "b"}
    assert shown(table, tag="two") == {1: "a", 2: "b", 3: "c"}
    table.fast_forward("dev")
    assert shown(table) == {2: "b", 3: "c"}
    table.alter(lakebed.changes.AddColumn("note", "STRING"))
    table.write([{"k": 5, "v": "e", "day": "2", "note": "new"}])
    table.compact(full=True)
    table.analyze("all")
    assert [page.id for page in table.history(limit=2).snapshots] == [6, 5]
    table.rollback_to(tag="two")
    assert shown(table) == {1: "a", 2: "b", 3: "c"}
    table.drop_branch("dev")
    table.write([{"k": 6, "v": "f", "day": "3", "note": None}])
    table.expire_snapshots(retain_max=1, retain_min=1)
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)  # of what fast-forward replaced
    check_whole(table)
    renamed = place.rename_table("db.t", "db.u")
    assert shown(renamed) == {1: "a", 2: "b", 3: "c", 6: "f"}
    assert place.tables("db") == ["u"]
    with pytest.raises(NotFoundError):
        place.table("db.t")
    opened = lakebed.connect(place.warehouse, options=server.options).table("db.u")
    assert shown(opened, where="k > 2") == {3: "c", 6: "f"}
    place.drop_table("db.u")
    assert place.tables("db") == []
    assert place.create_table("db.u", "k BIGINT, v STRING").latest_snapshot() is None
    place.drop_database("db", cascade=True)
    assert place.databases() == []


@pytest.mark.parametrize("bucket", ["2", "-1"])
def test_a_primary_key_table(place: Lake, bucket: str) -> None:
    options = {"bucket": bucket, "dynamic-bucket.target-row-num": "3", "changelog-producer": "input"}
    table = place.create_table("db.t", "k BIGINT, v STRING", primary_key=["k"], options=options)
    table.write(pairs(dict.fromkeys(range(8), "a")))
    schema = table._store.schema()
    stream = TableStream(table._store, schema, schema.fields, None, True)
    start = stream.start()
    table.write(pairs({1: "b", 9: "b"}))
    table.delete("k = 0")
    rows = streamed(stream, start)
    assert len(rows) == 8 + 3
    assert [row for row in rows if row[0] != "+I"] == [("-D", 0, "a")]
    wanted = {**dict.fromkeys(range(2, 8), "a"), 1: "b", 9: "b"}
    assert shown(table) == wanted
    assert shown(table, where="k = 9") == {9: "b"}
    table.compact(full=True)
    assert shown(table) == wanted
    table.create_tag("whole")
    table.write(pairs({1: "c"}))
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert shown(table, tag="whole") == wanted
    check_whole(table)


def test_a_chain_table(place: Lake) -> None:
    days = new_table(place)
    days.load(1, {1: "a", 2: "a", 3: "a"})
    days.change(2, {1: "b", 4: "b"})
    days.change(4, {2: None})
    assert days.view(2) == {1: "b", 2: "a", 3: "a", 4: "b"}
    assert days.view(3) == days.view(2)
    assert days.view(4) == {1: "b", 3: "a", 4: "b"}
    days.main.compact_chain({"date": "20250804"})
    assert days.view(4) == {1: "b", 3: "a", 4: "b"}
    check_whole(days.main)


def streamed(stream: TableStream, position: Position) -> list[tuple[Any, ...]]:
    """The changes from a position on: row kind, key and value."""
    rows: list[tuple[Any, ...]] = []
    while (end := stream.advance(position, NO_LIMITS)) != position:
        for part in stream.read(position, end):
            for batch in part.reader.batches(part.part.entries, part.part.deleted):
                rows += [tuple(row.values()) for row in batch.to_pylist()]
        position = end
    return rows


def check_whole(table: Table) -> None:
    assert table.verify(deep=True).problems == ()
    assert table.remove_orphan_files(older_than="2999-01-01", dry_run=True).files == ()
