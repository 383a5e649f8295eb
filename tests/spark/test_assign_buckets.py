"""Dynamic buckets on Spark: one row per key, whoever wrote before, and an index that fits the data."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lakebed import changes
from lakebed.buckets.choose_dynamic import Spread
from lakebed.buckets.partition_assigners import key_hashes
from lakebed.errors import CorruptError, DataError
from lakebed.metadata.hash_indexes import HASH_CACHE, indexes_of
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.options import TableOptions
from lakebed.spark.write import assign_buckets as dynamic
from lakebed.spark.write import exchange
from lakebed.spark.write import write_frame as write
from lakebed.table import Table

COLUMNS = "p INT, id BIGINT, v STRING"


def rows(numbers: list[tuple[int, int]], mark: str) -> pa.Table:
    return pa.table(
        {
            "p": pa.array([p for p, _ in numbers], pa.int32()),
            "id": pa.array([key for _, key in numbers], pa.int64()),
            "v": pa.array([f"{mark}{key}" for _, key in numbers]),
        }
    )


@pytest.fixture(params=["local", "shuffled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Blocks that wait in files, and blocks that Spark shuffles as on a cluster; few rows are enough for tasks."""
    monkeypatch.setattr(exchange, "_LEAST_BYTES", 64)
    if request.param == "shuffled":

        @contextlib.contextmanager
        def nowhere(_spark: Any) -> Iterator[None]:
            yield None

        monkeypatch.setattr(write, "local_folder", nowhere)
    return str(request.param)


def check(kept: Table, model: dict[tuple[int, int], str]) -> None:
    found = kept.scan().to_arrow().to_pylist()
    assert {(row["p"], row["id"]): row["v"] for row in found} == model
    assert len(found) == len(model)
    report = kept.verify(deep=True)
    assert report.ok, report
    spark_rows = kept.scan().to_spark().collect()
    assert len(spark_rows) == len(model)


def buckets_of_keys(kept: Table) -> dict[bytes, int]:
    latest = kept._store.snapshots.latest()
    return {partition: len(index.entries) for partition, index in indexes_of(kept._store, latest).items()}


def test_many_writes_of_all_kinds(way: str, spark: Any, table: Callable[..., Table]) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "40", "write-only": "true"}
    kept = table(COLUMNS, primary_key=["p", "id"], partition_by=["p"], options=options)
    pick = random.Random(5)
    model: dict[tuple[int, int], str] = {}
    for step in range(6):
        some = [(pick.randrange(2), pick.randrange(step * 60 + 60)) for _ in range(120)]
        data = rows(some, f"s{step}-")
        if step % 3 == 1:
            kept.write(data)
        else:
            kept.write(spark.createDataFrame(data).repartition(pick.choice([1, 3])).orderBy("id"))
        model |= {key: f"s{step}-{key[1]}" for key in some}
    gone = sorted(model)[::5]
    deletes = rows(gone, "gone").append_column("op", pa.array(["-D"] * len(gone)))
    kept.write(spark.createDataFrame(deletes), row_kind="op")
    for key in gone:
        del model[key]
    check(kept, model)
    assert min(buckets_of_keys(kept).values()) > 2
    kept.compact(full=True, spark=spark)
    check(kept, model)
    replaced = [(1, number) for number in range(30)]
    kept.overwrite(spark.createDataFrame(rows(replaced, "new")))
    model = {key: v for key, v in model.items() if key[0] != 1} | {key: f"new{key[1]}" for key in replaced}
    check(kept, model)


def test_a_damaged_index_is_refused(way: str, spark: Any, table: Callable[..., Table]) -> None:
    kept = table("id BIGINT, v BIGINT", primary_key=["id"], options={"bucket": "-1"})
    kept.write([{"id": number, "v": number} for number in range(400)])  # here, so that no worker knows the index
    (index,) = indexes_of(kept._store, kept._store.snapshots.latest()).values()
    paths = [Path(kept._store.paths.index(entry.file_name)) for entry in index.entries.values()]
    for path in paths:
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    HASH_CACHE.clear()
    with pytest.raises(CorruptError, match=r"hash index .* is damaged: its checksum .* rebuild_index"):
        kept.write(spark.sql("SELECT id, 2 * id v FROM range(400)"))
    assert kept.count() == 400
    kept.rebuild_index(dry_run=False)
    kept.write(spark.sql("SELECT id, 2 * id v FROM range(400)"))
    assert {row["id"]: row["v"] for row in kept.to_arrow().to_pylist()} == {n: 2 * n for n in range(400)}


def test_later_rows_of_a_frame_win(way: str, spark: Any, table: Callable[..., Table]) -> None:
    kept = table("id BIGINT, v BIGINT", primary_key=["id"], options={"bucket": "-1"})
    kept.write(spark.sql("SELECT id % 50 id, id v FROM range(0, 5000, 1, 3)"))
    assert {row["id"]: row["v"] for row in kept.scan().to_arrow().to_pylist()} == {n: 4950 + n for n in range(50)}


def test_a_table_without_partitions_knows_its_keys(way: str, spark: Any, table: Callable[..., Table]) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}
    kept = table("id INT, v STRING", primary_key=["id"], options=options)
    for mark in ("a", "b", "c"):
        kept.write(spark.sql(f"SELECT CAST(id AS INT) id, concat('{mark}', id) v FROM range(20)"))
    assert sorted(row["v"] for row in kept.scan().to_arrow().to_pylist()) == sorted(f"c{n}" for n in range(20))
    assert kept.verify(deep=True).ok
    assert sum(row["row_count"] for row in indexes(kept)) == 20


def indexes(kept: Table) -> list[dict[str, Any]]:
    latest = kept._store.snapshots.latest()
    every = indexes_of(kept._store, latest).values()
    return [{"row_count": entry.row_count} for index in every for entry in index.entries.values()]


def test_another_writer_comes_first(
    way: str, spark: Any, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keys are new to both: they move to the buckets that it gave them."""
    kept = table(
        COLUMNS,
        primary_key=["p", "id"],
        partition_by=["p"],
        options={"bucket": "-1", "dynamic-bucket.target-row-num": "7"},
    )
    kept.write(rows([(0, number) for number in range(10)], "first"))
    built_on = write._built_on

    def late(*arguments: Any) -> Any:
        other = [(0, number) for number in range(40, 5, -1)]
        kept.write(rows(other, "other"))
        return built_on(*arguments)

    monkeypatch.setattr(write, "_built_on", late)
    kept.write(spark.createDataFrame(rows([(0, number) for number in range(8, 60)], "late")))
    found = {row["id"]: row["v"] for row in kept.scan().to_arrow().to_pylist()}
    for key, value in found.items():  # where both wrote a key, which of them is newer is nobody's promise
        marks = [mark for mark, keys in (("other", range(6, 41)), ("late", range(8, 60))) if key in keys]
        assert value in [f"{mark}{key}" for mark in marks or ["first"]]
    check(kept, {(0, key): found[key] for key in range(60)})


def test_growth_by_size(way: str, spark: Any, table: Callable[..., Table]) -> None:
    """New partitions go by the size of the rows that come, others by that of the files that are there."""
    options = {"bucket": "-1", "dynamic-bucket.assigner-parallelism": "1", "dynamic-bucket.target-size": "1 b"}
    kept = table("id INT, v STRING", primary_key=["id"], options=options)
    kept.write(spark.sql("SELECT CAST(id AS INT) id, 'a' v FROM range(8)"))
    assert [row["row_count"] for row in indexes(kept)] == [1] * 8
    live = live_entries(kept._store, kept.latest_snapshot())
    stored = sum(live["file_size"].to_pylist()) / len(live)
    kept.alter(changes.SetOption("dynamic-bucket.target-size", f"{int(stored * 3.5)} b"))
    kept.write(spark.sql("SELECT CAST(id AS INT) id, 'b' v FROM range(30)"))
    assert sorted(row["row_count"] for row in indexes(kept)) == [3] * 10
    assert kept.verify(deep=True).ok


def test_values_that_do_not_fit_are_refused(way: str, spark: Any, table: Callable[..., Table]) -> None:
    kept = table("id TINYINT, v STRING", primary_key=["id"], options={"bucket": "-1"})
    with pytest.raises(DataError, match="'id'"):
        kept.write(spark.sql("SELECT id, 'x' v FROM range(100, 200)"))
    assert kept.scan().count() == 0
    with pytest.raises(Exception, match=r"dynamic buckets, which need a shuffle"):
        spark.sql("SELECT CAST(1 AS TINYINT) id, 'x' v").write.format("lakebed").mode("append").save(kept.path)


def test_an_assigner_keeps_its_own_share(table: Callable[..., Table]) -> None:
    """Every hash is assigned by one channel only, and channels use different new buckets."""
    kept = table(
        "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "-1", "dynamic-bucket.target-row-num": "20"}
    )
    schema = kept._store.schema()
    data = pa.table({"id": pa.array(range(300), pa.int64()), "v": ["x"] * 300})
    spread = Spread.of(TableOptions(schema.options), parallelism=3)
    places = dynamic.ByAssigner(schema, spread)(data, 3)
    assert set(places.tolist()) == {0, 1, 2}
    used: dict[int, set[int]] = {}
    for channel in range(3):
        part = data.filter(pa.array(places == channel))
        block = exchange.Block(channel, 0, part.combine_chunks().to_batches()[0])
        (out,) = dynamic.Assigning(kept._store, schema, spread, None)([block])
        used[channel] = set(out[dynamic.BUCKET].to_pylist())
        assert len(used[channel]) == -(-len(part) // 20)
    assert not used[0] & used[1]
    assert not used[1] & used[2]
    assert len(np.unique(key_hashes(data, schema))) == 300
