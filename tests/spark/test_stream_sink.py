"""A table as the sink of a stream: every batch once, whatever is run again; several streams; a pipeline of two tables."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lakebed
from lakebed import Lake, OptionError, Table
from lakebed.metadata.scan import live_entries
from lakebed.rows.read import data_file_paths


@pytest.fixture
def source(lake: Lake) -> Table:
    """Three batches of rows, if a query takes one snapshot at a time."""
    made = lake.create_table("db.source", "id BIGINT, v STRING")
    for number in range(3):
        made.write([{"id": number, "v": "a"}, {"id": 100 + number, "v": "b"}])
    return made


def frame(spark: Any, lake: Lake, name: str = "db.source", **options: Any) -> Any:
    return (
        spark.readStream.format("lakebed")
        .options(
            **{"warehouse": lake.warehouse, "scan.snapshot-id": 1, "read.stream.maxSnapshotsPerTrigger": 1, **options}
        )
        .load(name)
    )


def sink(data: Any, lake: Lake, name: str, checkpoint: Path, mode: str = "append", **options: Any) -> Any:
    """Write what is there now with ``format("lakebed")``."""
    query = (
        data.writeStream.format("lakebed")
        .options(warehouse=lake.warehouse, checkpointLocation=str(checkpoint), **options)
        .outputMode(mode)
        .trigger(availableNow=True)
        .start(name)
    )
    query.awaitTermination()
    return query


def by_batches(data: Any, function: Any, checkpoint: Path, mode: str = "append") -> Any:
    """Write what is there now with ``foreachBatch``."""
    query = (
        data.writeStream.foreachBatch(function)
        .option("checkpointLocation", str(checkpoint))
        .outputMode(mode)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def forget_last_batch(checkpoint: Path) -> None:
    """As if the driver had died after the commit of a batch, before Spark took note of it."""
    last = max((path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()), key=lambda p: int(p.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)


def rows(table: Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def data_files(table: Table) -> set[str]:
    return {str(path) for path in Path(table.path).rglob("*.parquet")}


def live_files(table: Table) -> set[str]:
    store = table._store
    return set(data_file_paths(store, store.schema(), live_entries(store, store.snapshots.latest())))


def test_a_batch_that_runs_again_is_committed_once(spark: Any, lake: Lake, source: Table, tmp_path: Path) -> None:
    made = lake.create_table("db.sink", "id BIGINT, v STRING")
    sink(frame(spark, lake), lake, "db.sink", tmp_path)
    users = {(snapshot.commit_user, snapshot.commit_identifier) for snapshot in made.snapshots()}
    assert [number for _, number in sorted(users)] == [0, 1, 2]
    assert len({user for user, _ in users}) == 1
    forget_last_batch(tmp_path)
    sink(frame(spark, lake), lake, "db.sink", tmp_path)
    assert rows(made) == rows(source)
    assert len(made.snapshots()) == 3
    assert data_files(made) == live_files(made), "what the second run wrote is gone"


def test_upserts_with_kinds(spark: Any, lake: Lake, tmp_path: Path) -> None:
    keyed: dict[str, Any] = {"primary_key": ["id"], "options": {"bucket": "2"}}
    origin = lake.create_table("db.origin", "id BIGINT, v STRING", **keyed)
    made = lake.create_table("db.sink", "id BIGINT, v STRING", **keyed)
    origin.write([{"id": number, "v": "a"} for number in range(6)])
    origin.write([{"id": 1, "v": None, "op": "-D"}, {"id": 2, "v": "b", "op": "+U"}], row_kind="op")
    origin.write([{"id": 1, "v": "c"}, {"id": 3, "v": "c"}])
    changed = frame(spark, lake, "db.origin", **{"read.changelog": "true", "read.stream.maxSnapshotsPerTrigger": 2})
    sink(changed, lake, "db.sink", tmp_path, row_kind="rowkind")
    assert rows(made) == rows(origin)
    origin.delete("id = 5")
    sink(changed, lake, "db.sink", tmp_path, row_kind="rowkind")
    assert rows(made) == rows(origin)
    assert (5, "a") not in rows(made)


def test_output_mode_complete_replaces_all_rows(spark: Any, lake: Lake, source: Table, tmp_path: Path) -> None:
    counts = lake.create_table("db.counts", "v STRING, count BIGINT", partition_by=["v"])
    counts.write([{"v": "old", "count": 1}])
    data = frame(spark, lake).groupBy("v").count()
    sink(data, lake, "db.counts", tmp_path / "1", mode="complete")
    assert rows(counts) == {("a", 3): 1, ("b", 3): 1}
    kinds = [snapshot.commit_kind for snapshot in counts.snapshots()]
    forget_last_batch(tmp_path / "1")
    sink(data, lake, "db.counts", tmp_path / "1", mode="complete")
    assert [snapshot.commit_kind for snapshot in counts.snapshots()] == kinds
    assert rows(counts) == {("a", 3): 1, ("b", 3): 1}
    assert source.latest_snapshot() is not None


def test_each_batch_function_commits_once(spark: Any, lake: Lake, source: Table, tmp_path: Path) -> None:
    """Dynamic buckets, a query whose id names it, and one more run of the last batch."""
    made = lake.create_table("db.sink", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "-1"})
    by_batches(frame(spark, lake), lakebed.stream_to(made), tmp_path)
    assert rows(made) == rows(source)
    count = len(made.snapshots())
    forget_last_batch(tmp_path)
    by_batches(frame(spark, lake), lakebed.stream_to(made), tmp_path)
    assert len(made.snapshots()) == count
    assert {
        snapshot.commit_user.partition("-")[0] for snapshot in made.snapshots() if snapshot.commit_identifier < 9
    } == {"stream"}


def test_each_batch_function_by_itself(spark: Any, lake: Lake) -> None:
    made = lake.create_table("db.sink", "id BIGINT", options={})
    batch = spark.range(3)
    write = lakebed.stream_to(made, commit_user="me")
    write(batch, 0)
    write(batch, 0)
    write(batch, 1)
    assert made.scan().count() == 6
    replace = lakebed.stream_to(made, commit_user="me", complete=True)
    replace(spark.range(2), 2)
    replace(spark.range(5), 2)
    assert made.scan().count() == 2
    near = lakebed.stream_to(made, commit_user="me", on_driver=True)
    near(batch, 3)
    near(batch, 3)
    assert made.scan().count() == 2 + 3
    with pytest.raises(OptionError, match="name it: stream_to"):
        lakebed.stream_to(made)(batch, 0)
    with pytest.raises(OptionError, match="leave row_kind out"):
        lakebed.stream_to(made, row_kind="op", complete=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition": "v=a"}, "option 'partition' is for batches"),
        ({"row_kind": "op"}, "has no primary key, so its rows have no row kind"),
    ],
)
def test_options_that_do_not_write(
    spark: Any, lake: Lake, source: Table, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    lake.create_table("db.sink", "id BIGINT, v STRING")
    assert source.latest_snapshot() is not None
    with pytest.raises(Exception, match=message):
        sink(frame(spark, lake), lake, "db.sink", tmp_path, **options)


def test_dynamic_buckets_are_refused_with_the_way_to_go(spark: Any, lake: Lake, source: Table, tmp_path: Path) -> None:
    lake.create_table("db.sink", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "-1"})
    assert source.latest_snapshot() is not None
    with pytest.raises(Exception, match=r"foreachBatch\(lakebed\.stream_to"):
        sink(frame(spark, lake), lake, "db.sink", tmp_path)


def test_a_pipeline_of_two_tables(spark: Any, lake: Lake, tmp_path: Path) -> None:
    """The first is upserted, compacted and expired while the second follows; in the end they are equal."""
    options = {"bucket": "2", "changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "3"}
    first = lake.create_table("db.first", "id BIGINT, v STRING", primary_key=["id"], options=options)
    second = lake.create_table("db.second", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "2"})
    first.write([{"id": number, "v": "start"} for number in range(50)])
    reader = spark.readStream.format("lakebed").options(
        **{"warehouse": lake.warehouse, "read.changelog": "true", "consumer-id": "second"}
    )
    query = (
        reader.load("db.first")
        .writeStream.foreachBatch(lakebed.stream_to(second, row_kind="rowkind"))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    problems: list[BaseException] = []

    def change() -> None:
        try:
            for number in range(12):
                ids = range(number, 60, 7)
                first.write(
                    [{"id": key, "v": f"v{number}", "op": "-D" if key % 5 == 0 else "+U"} for key in ids], row_kind="op"
                )
                if number % 4 == 3:
                    first.compact(full=True)
                first.expire_snapshots(retain_max=1, retain_min=1)
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=change)
    thread.start()
    thread.join()
    try:
        assert problems == []
        query.processAllAvailable()
    finally:
        query.stop()
    assert rows(second) == rows(first)
    first.expire_snapshots(retain_max=1, retain_min=1)
    assert len(first.snapshots()) <= 2, "what was read is kept no longer"
