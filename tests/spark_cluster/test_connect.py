"""Spark Connect: the client has no JVM, the server's Python has no lakebed until the client sends it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark_cluster import work
from tests.spark_cluster.checks import COLUMNS, check_sound, problems, rows, same_rows
from tests.spark_cluster.drivers import Driver, connect_server
from tests.spark_cluster.storages import Refusing

from lakebed import Lake
from lakebed.errors import DataError, StorageError
from lakebed.format.snapshot import BATCH_IDENTIFIER
from lakebed.version import VERSION

LAYOUTS: dict[str, dict[str, Any]] = {
    "append": {},
    "upsert": {
        "primary_key": ["p", "k"],
        "partition_by": ["p"],
        "options": {"bucket": "2", "write-only": "true"},
    },
}


def test_a_client_without_a_jvm_sends_the_package(connect: Driver) -> None:
    assert connect.run(work.is_connect)
    connect.run(work.ship)
    assert connect.run(work.versions) == {VERSION}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_as_in_process(layout: str, connect: Driver, lake: Lake) -> None:
    here, there = (lake.create_table(f"db.{name}", COLUMNS, **LAYOUTS[layout]) for name in ("here", "there"))
    place = (lake.warehouse, "db.there")

    def check() -> None:
        wanted = same_rows(here.scan().to_arrow())
        assert same_rows(there.scan().to_arrow()) == wanted
        assert same_rows(connect.run(work.read, *place)) == wanted

    for numbers in (range(100), range(90, 110)):
        here.write(rows(numbers))
        connect.run(work.write, *place, rows(numbers))
        check()
    assert connect.run(work.is_native, *place) is (layout == "append")
    here.overwrite(rows(range(200, 230), partitions=2))
    connect.run(work.write, *place, rows(range(200, 230), partitions=2), overwrite=True)
    check()
    here.compact(full=True)
    made, reports = connect.run(work.compact, *place)
    assert (made is None) == (layout == "append")
    assert reports[-1:] == ([] if made is None else [(reports[-1][1], reports[-1][1])])
    check()
    here.write(rows(range(300, 310)))
    connect.run(work.source_write, *place, rows(range(300, 310)))
    check()
    found = connect.run(work.source_read, *place, columns="v, k", where="p < 2")
    assert same_rows(found) == same_rows(here.scan(["v", "k"], "p < 2").to_arrow())
    assert problems(there, deep=True) == []


@pytest.fixture(scope="module")
def with_lakebed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A client of a server whose Python has lakebed: Spark sends no packages to the processes that plan a stream."""
    server = connect_server(tmp_path_factory.mktemp("streams"), {"PYSPARK_PYTHON": sys.executable})
    with server as remote, contextlib.closing(Driver({}, {"SPARK_REMOTE": remote})) as driver:
        yield driver


@pytest.mark.parametrize(
    ("way", "bucket"), [("format", "2"), ("format", "-1"), ("foreachBatch", "-1"), ("on the driver", "2")]
)
def test_streams(way: str, bucket: str, with_lakebed: Driver, lake: Lake, tmp_path: Path) -> None:
    """From a table to a table, and on from the checkpoint; a batch that runs again is there already."""
    keyed = {"bucket": "2", "changelog-producer": "input"}
    origin = lake.create_table("db.origin", "k BIGINT, v STRING", primary_key=["k"], options=keyed)
    sink = lake.create_table("db.sink", "k BIGINT, v STRING", primary_key=["k"], options={"bucket": bucket})

    def follow() -> list[int]:
        with_lakebed.run(work.stream, lake.warehouse, "db.origin", "db.sink", str(tmp_path / "checkpoint"), way)
        assert same_rows(sink.scan().to_arrow()) == same_rows(origin.scan().to_arrow())
        found = sink.snapshots()
        return [snapshot.commit_identifier for snapshot in found if snapshot.commit_identifier < BATCH_IDENTIFIER]

    origin.write([{"k": k, "v": "a"} for k in range(20)])
    origin.write([{"k": 3, "v": "", "op": "-D"}, {"k": 4, "v": "b", "op": "+U"}], row_kind="op")
    assert follow() == [0, 1]
    origin.write([{"k": 30, "v": "c"}])
    assert follow() == [0, 1, 2]
    for name in ("2", ".2.crc"):
        (tmp_path / "checkpoint" / "commits" / name).unlink()
    assert follow() == [0, 1, 2]
    assert problems(sink, deep=True) == []


def test_errors_are_told_in_our_words(connect: Driver, lake: Lake, notes: str) -> None:
    table = lake.create_table("db.t", "k BIGINT, v STRING", primary_key=["k"], options={"bucket": "4"})
    good = pa.table({"k": pa.array(range(100)), "v": ["x"] * 100})
    with pytest.raises(DataError, match=r"^column 'k' of table db\.t is BIGINT NOT NULL, but the data has string"):
        connect.run(work.write, lake.warehouse, "db.t", good.set_column(0, "k", pa.array(map(str, range(100)))))
    with pytest.raises(DataError, match=r"^column 'k' of table db\.t is NOT NULL"):
        connect.run(work.write, lake.warehouse, "db.t", good.set_column(0, "k", pa.nulls(100, pa.int64())))
    with pytest.raises(StorageError, match=r"^cannot write: no space left on the device(\n|$)"):
        connect.run(work.write, lake.warehouse, "db.t", good, storage=Refusing(notes, 100))
    check_sound(table, [], tidy=True)
    assert connect.run(work.write, lake.warehouse, "db.t", good) == 1
    check_sound(table, [(k, "x") for k in range(100)], tidy=True)
