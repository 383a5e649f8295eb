"""A table as the sink of a stream: each batch is committed once, also if it runs again; several streams; pipelines."""

from __future__ import annotations

import pickle
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StructType

import lakebed
from lakebed import Lake, OptionError, Table
from lakebed.changes import AddColumn
from lakebed.datasource import stream_sink
from lakebed.datasource.stream_options import make_stream_reader
from lakebed.errors import DataError, SchemaError, UnsupportedError
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.rows.files.file_reader import data_file_paths
from lakebed.spark.write.write_mode import WriteMode


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
    with pytest.raises(OptionError, match=r"pass a name that stays the same .*stream_to\(table, commit_user="):
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


# ------------------------------------------------------------------------------------------------------ dynamic buckets

DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}


def buckets(table: Table) -> dict[int, int]:
    """The bucket of each key; every key has one."""
    store = table._store
    entries = live_entries(store, store.snapshots.latest())
    found: dict[int, set[int]] = {}
    for path, bucket in zip(
        data_file_paths(store, store.schema(), entries), entries["bucket"].to_pylist(), strict=True
    ):
        for key in pq.ParquetFile(path).read(["id"])["id"].to_pylist():
            found.setdefault(key, set()).add(bucket)
    assert all(len(places) == 1 for places in found.values()), found
    return {key: min(places) for key, places in found.items()}


def staged(table: Table) -> set[str]:
    return {str(path) for path in Path(table.path).rglob(".rows-*")}


def test_dynamic_buckets(spark: Any, lake: Lake, tmp_path: Path) -> None:
    """A key stays in its bucket over batches and restarts; changes of all kinds; one more run of a batch."""
    columns = "id BIGINT, v STRING"
    origin = lake.create_table(
        "db.origin", columns, primary_key=["id"], options={"bucket": "2", "changelog-producer": "input"}
    )
    made = lake.create_table("db.sink", columns, primary_key=["id"], options=DYNAMIC)
    pick = random.Random(3)
    changed = frame(spark, lake, "db.origin", **{"read.changelog": "true"}).repartition(2, "id")
    before: dict[int, int] = {}
    for run in range(3):
        for number in range(2):
            keys = pick.sample(range(10 * run + 15), 8)
            kinds = [pick.choice(("+I", "+U", "-D")) for _ in keys]
            changes = zip(keys, kinds, strict=True)
            origin.write([{"id": k, "v": f"{run}.{number}", "op": kind} for k, kind in changes], row_kind="op")
        sink(changed, lake, "db.sink", tmp_path, row_kind="rowkind")
        assert rows(made) == rows(origin)
        now = buckets(made)
        assert {key: now[key] for key in before.keys() & now.keys()} == {
            key: before[key] for key in before.keys() & now.keys()
        }
        before |= now
        assert staged(made) == set()
    assert len(set(before.values())) > 2
    count = len(made.snapshots())
    forget_last_batch(tmp_path)
    sink(changed, lake, "db.sink", tmp_path, row_kind="rowkind")
    assert len(made.snapshots()) == count
    assert staged(made) == set()
    assert data_files(made) >= live_files(made)
    assert made.verify(deep=True).ok
    batches = [snapshot.commit_identifier for snapshot in made.snapshots() if snapshot.commit_identifier < 99]
    assert batches == list(range(6))


def test_output_mode_complete_replaces_dynamic_buckets(spark: Any, lake: Lake, source: Table, tmp_path: Path) -> None:
    counts = lake.create_table("db.counts", "v STRING, count BIGINT", primary_key=["v"], options=DYNAMIC)
    counts.write([{"v": "old", "count": 1}])
    sink(frame(spark, lake).groupBy("v").count(), lake, "db.counts", tmp_path, mode="complete")
    assert rows(counts) == {("a", 3): 1, ("b", 3): 1}
    assert staged(counts) == set()
    assert counts.verify(deep=True).ok
    assert source.latest_snapshot() is not None


class _Task:
    """A task of a query."""

    @staticmethod
    def get() -> _Task:
        return _Task()

    def getLocalProperty(self, name: str) -> str:  # noqa: N802 - Spark's name
        assert name == "sql.streaming.queryId"
        return "q"


@pytest.fixture
def dynamic(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> tuple[Table, stream_sink.TableStreamWriter]:
    """A table with dynamic buckets, and a writer of it whose halves run here."""
    monkeypatch.setattr(stream_sink, "TaskContext", _Task)
    made = lake.create_table("db.sink", "id BIGINT, v STRING", primary_key=["id"], options=DYNAMIC)
    made.write([{"id": 1, "v": "old"}])
    columns = StructType().add("op", "string").add("id", "long").add("v", "string")
    return made, stream_sink.TableStreamWriter(made._store, columns, WriteMode(row_kind="op"))


def task(writer: stream_sink.TableStreamWriter, *changes: tuple[str, int | None, str]) -> Any:
    """What a task sends that writes changes, each of them a batch of Arrow's."""
    batches = [pa.RecordBatch.from_pylist([{"op": op, "id": key, "v": v}], _CHANGES) for op, key, v in changes]
    return pickle.loads(pickle.dumps(writer.write(iter(batches))))


_CHANGES = pa.schema({"op": pa.string(), "id": pa.int64(), "v": pa.string()})


def test_rows_wait_where_nobody_looks(dynamic: tuple[Table, stream_sink.TableStreamWriter]) -> None:
    made, writer = dynamic
    messages = [task(writer, ("+I", 2, "a"), ("-D", 1, "")), task(writer), None, task(writer, ("+U", 2, "b"))]
    assert len(staged(made)) == 2
    assert rows(made) == {(1, "old"): 1}
    assert made.verify(deep=True).ok
    found = made.remove_orphan_files(older_than=time.time_ns() // 1_000_000 + 60_000, dry_run=True)
    assert {file.path for file in found.files} >= staged(made), "if the driver dies too, they are found"
    writer.commit(messages, 7)
    assert rows(made) == {(2, "b"): 1}
    assert staged(made) == set()
    again = [task(writer, ("+I", 3, "c"))]
    writer.commit(again, 7)
    assert rows(made) == {(2, "b"): 1}, "batch 7 is there already"
    assert staged(made) == set()
    writer.commit([task(writer)], 8)
    assert rows(made) == {(2, "b"): 1}


def test_an_abort_leaves_nothing(dynamic: tuple[Table, stream_sink.TableStreamWriter]) -> None:
    made, writer = dynamic
    everything = {str(path) for path in Path(made.path).rglob("*")}
    writer.abort([task(writer, ("+I", 2, "a")), None], 0)
    with pytest.raises(DataError, match=r"'id' of table db\.sink is NOT NULL"):
        task(writer, ("+I", 2, "a"), ("+I", None, "b"))
    with pytest.raises(DataError, match="row kind"):
        writer.commit([task(writer, ("?", 2, "a"))], 0)
    folder = str(Path(made._store.paths.indexes))
    assert {str(path) for path in Path(made.path).rglob("*")} - {folder} == everything - {folder}
    assert rows(made) == {(1, "old"): 1}


def test_columns_that_change_meanwhile(dynamic: tuple[Table, stream_sink.TableStreamWriter]) -> None:
    made, writer = dynamic
    messages = [task(writer, ("+I", 2, "a"))]
    made.alter(AddColumn("n", "INT"))
    with pytest.raises(SchemaError, match="changed while a batch of a stream was written; start the query again"):
        writer.commit(messages, 0)
    assert staged(made) == set()
    assert made.scan().count() == 1


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


def test_a_spark_that_is_too_old_to_read_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hide an error that comes before it has a reader, so it gets one."""
    monkeypatch.setitem(sys.modules, "lakebed.datasource.stream_source", None)
    reader = make_stream_reader({"path": "db.t"}, StructType())
    for ask in (reader.initialOffset, reader.latestOffset, lambda: reader.partitions({}, {})):
        with pytest.raises(UnsupportedError, match=r"streams of Lakebed tables need PySpark 4\.2 or newer"):
            ask()
