"""A table as the source of a stream: what batches hold, where a query goes on after a restart, and what ends it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.chain.days import date_of, new_table
from tests.lakes import open_lake

from lakebed import Lake, SchemaError, Table, changes

Options = Mapping[str, str]

KEYED = {"bucket": "2"}


class Query:
    """A query that hands over its batches, each as the rows of a list; it can be run again from its checkpoint."""

    def __init__(self, spark: Any, lake: Lake, folder: Path) -> None:
        self.spark, self.lake, self.folder = spark, lake, folder
        self.batches: list[list[tuple[Any, ...]]] = []

    def frame(self, name: str, options: Options | None = None) -> Any:
        return (
            self.spark.readStream.format("lakebed")
            .option("warehouse", self.lake.warehouse)
            .options(**dict(options or {}))
            .load(name)
        )

    def start(self, frame: Any, **trigger: Any) -> Any:
        writer = frame.writeStream.option("checkpointLocation", str(self.folder)).foreachBatch(self._take)
        return writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()

    def _take(self, frame: Any, _: int) -> None:
        self.batches.append([tuple(row) for row in frame.collect()])

    def run(self, name: str, options: Options | None = None, *, once: bool = False) -> list[list[tuple[Any, ...]]]:
        """The batches of what is there now, in which there is something."""
        self.batches = []
        query = self.start(self.frame(name, options), **({"once": True} if once else {"availableNow": True}))
        query.awaitTermination()
        return [batch for batch in self.batches if batch]


@pytest.fixture
def query(spark: Any, lake: Lake, tmp_path: Path) -> Query:
    return Query(spark, lake, tmp_path / "checkpoint")


@pytest.fixture
def keyed(lake: Lake) -> Table:
    made = lake.create_table("db.t", "id BIGINT, v STRING", primary_key=["id"], options=KEYED)
    made.write([{"id": 1, "v": "a"}, {"id": 2, "v": "a"}])
    made.write([{"id": 2, "v": "b"}, {"id": 3, "v": "b"}])
    return made


def flat(batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return sorted(row for batch in batches for row in batch)


def test_the_state_first_then_what_changes_and_on_from_the_checkpoint(query: Query, keyed: Table) -> None:
    assert flat(query.run("db.t")) == [(1, "a"), (2, "b"), (3, "b")]
    assert query.run("db.t") == []
    keyed.write([{"id": 3, "v": "c"}])
    keyed.compact(full=True)
    assert query.run("db.t") == [[(3, "c")]]


def test_row_kinds_by_option_and_by_name(query: Query, keyed: Table) -> None:
    assert query.frame("db.t", {"read.changelog": "true"}).columns == ["rowkind", "id", "v"]
    query.run("db.t$audit_log", {"scan.mode": "latest"})
    keyed.write([{"id": 1, "v": None, "op": "-D"}, {"id": 9, "v": "x", "op": "+I"}], row_kind="op")
    assert flat(query.run("db.t", {"read.changelog": "true"})) == [("+I", 9, "x"), ("-D", 1, None)]


def test_both_sides_of_an_update_in_one_row(query: Query, lake: Lake) -> None:
    made = lake.create_table(
        "db.b", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "2", "changelog-producer": "lookup"}
    )
    made.write([{"id": number, "v": "a"} for number in range(6)])
    frame = query.frame("db.b$binlog")
    assert [(column.name, column.dataType.simpleString()) for column in frame.schema] == [
        ("rowkind", "string"),
        ("id", "array<bigint>"),
        ("v", "array<string>"),
    ]
    assert flat(query.run("db.b$binlog")) == [("+I", [number], ["a"]) for number in range(6)]
    made.write([{"id": number, "v": "b"} for number in range(5)])
    made.delete("id = 5")
    found = query.run("db.b$binlog", {"read.stream.maxFilesPerTrigger": "1"})
    assert len(found) > 1
    assert flat(found) == [*(("+U", [number] * 2, ["a", "b"]) for number in range(5)), ("-D", [5], ["a"])]
    made.write([{"id": 1, "v": "c"}])
    assert query.run("db.b$binlog", {"columns": "rowkind, v"}) == [[("+U", ["b", "c"])]]
    assert "takes no condition" in failure(lambda: query.run("db.b$binlog", {"where": "id = 1"}))
    batch = query.spark.read.format("lakebed").option("warehouse", lake.warehouse).load("db.b$binlog")
    assert batch.schema == frame.schema
    assert sorted(map(tuple, batch.collect()))[1] == ("+I", [1], ["c"])


def test_limits_divide_the_state_and_the_changes(query: Query, lake: Lake) -> None:
    made = lake.create_table("db.a", "id INT")
    for number in range(4):
        made.write([{"id": number}])
    found = query.run("db.a", {"read.stream.maxFilesPerTrigger": "3"})
    assert sorted(map(len, found)) == [1, 3]
    for number in range(4, 8):
        made.write([{"id": number}])
    assert query.run("db.a", {"read.stream.maxSnapshotsPerTrigger": "2"}) == [[(4,), (5,)], [(6,), (7,)]]
    made.write([{"id": 8}])
    made.write([{"id": 9}])
    assert query.run("db.a", {"read.stream.maxRowsPerTrigger": "1"}, once=True) == [[(8,), (9,)]]


def test_a_running_query_sees_what_is_committed(query: Query, lake: Lake) -> None:
    made = lake.create_table("db.a", "id INT, w STRING", options={"read.stream.maxFilesPerTrigger": "1"})
    running = query.start(query.frame("db.a", {"columns": "w", "where": "id > 1", "consumer-id": "me"}))
    try:
        for number in range(3):
            made.write([{"id": number, "w": f"w{number}"}])
        running.processAllAvailable()
        assert flat(query.batches) == [("w2",)]
        made.write([{"id": 7, "w": "x"}])
        running.processAllAvailable()
        assert flat(query.batches) == [("w2",), ("x",)]
    finally:
        running.stop()
    made.write([{"id": 8, "w": "y"}])
    made.expire_snapshots(retain_max=1, retain_min=1)
    assert made.snapshots()[0].id in {4, 5}, "the consumer keeps what comes next"
    assert query.run("db.a", {"columns": "w", "consumer-id": "me"})[-1] == [("y",)]


def failure(run: Callable[[], object]) -> str:
    """What a query fails with, as its user sees it."""
    with pytest.raises(Exception, match=r"lakebed\.errors") as caught:
        run()
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


def test_an_expired_snapshot_ends_a_query(query: Query, keyed: Table) -> None:
    query.run("db.t")
    keyed.write([{"id": 4, "v": "d"}])
    keyed.write([{"id": 5, "v": "e"}])
    keyed.expire_snapshots(retain_max=1, retain_min=1)
    assert "snapshot 3 of table db.t, which a stream reads next, has expired" in failure(lambda: query.run("db.t"))


def test_a_table_that_was_rolled_back_and_went_on_ends_a_query(query: Query, keyed: Table) -> None:
    query.run("db.t")
    keyed.rollback_to(snapshot=1)
    keyed.write([{"id": 4, "v": "d"}])
    keyed.write([{"id": 5, "v": "e"}])
    assert "has read up to snapshot 2, but that is another one now" in failure(lambda: query.run("db.t"))


def test_new_columns_end_a_query_and_a_new_start_reads_them(query: Query, keyed: Table) -> None:
    running = query.start(query.frame("db.t"))
    running.processAllAvailable()
    keyed.alter(changes.AddColumn("w", "INT"))
    keyed.write([{"id": 4, "v": "d", "w": 1}])
    assert "added columns 'w'" in failure(running.awaitTermination)
    assert query.run("db.t") == [[(4, "d", 1)]]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("db.t", {"version": "1"}, "option 'version' is for batches"),
        ("db.t$snapshots", {}, "is a system table and cannot be read as a stream"),
        ("db.t", {"read.stream.maxFilesPerTrigger": "0"}, "must be 1 or more, not 0"),
        ("db.t", {"read.stream.newColumns": "perhaps"}, "must be stop or ignore"),
        ("db.t", {"scan.mode": "from-snapshot"}, "option 'scan.snapshot-id' must be set too"),
        ("db.t", {"row_kind": "op"}, "option 'row_kind' is for writing"),
    ],
)
def test_options_that_make_no_stream(
    query: Query, keyed: Table, name: str, options: dict[str, str], message: str
) -> None:
    assert keyed.latest_snapshot() is not None
    assert message in failure(lambda: query.run(name, options))


def test_a_stream_that_begins_with_other_columns(lake: Lake, keyed: Table) -> None:
    """Without a query: what Spark's processes ask."""
    from pyspark_lakebed import DefaultSource

    keyed.alter(changes.AddColumn("w", "INT"))
    options = {"path": "db.t", "warehouse": lake.warehouse, "scan.snapshot-id": "1"}
    source = DefaultSource(options)
    with pytest.raises(SchemaError, match=r'had other columns.*option\("columns", "id, v, w"\)'):
        source.streamReader(source.schema()).initialOffset()
    named = DefaultSource({**options, "columns": "id, v, w"})
    assert named.schema().names == ["id", "v", "w"]
    assert named.streamReader(named.schema()).initialOffset() == {"snapshot": 1, "done": 0, "in": "changes"}
    early = DefaultSource({**options, "scan.snapshot-id": "3"})
    assert early.schema().names == ["id", "v", "w"]
    assert early.streamReader(early.schema()).initialOffset()["snapshot"] == 3


def test_a_chain_table(tmp_path: Path) -> None:
    """Without a query: the questions of Spark's processes, and what travels to tasks."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    from pyspark_lakebed import DefaultSource

    days = new_table(open_lake(tmp_path), bucket=2)
    days.load(1, {1: "a", 2: "b"})
    days.change(2, {2: "c"})
    for merged, rows in (
        ("false", [(1, "a", date_of(1)), (2, "b", date_of(1)), (2, "c", date_of(2))]),
        ("true", [(1, "a", date_of(2)), (2, "c", date_of(2))]),
    ):
        options = {"path": "db.t", "warehouse": str(tmp_path), "chain-table.streaming.merge-snapshot": merged}
        source = DefaultSource(options)
        reader = source.streamReader(source.schema())
        start = reader.initialOffset()
        end = reader.latestOffset(start, ReadAllAvailable())
        sent = pickle.loads(pickle.dumps(reader.partitions(start, end)))
        tables = [pa.Table.from_batches(list(reader.read(partition))) for partition in sent]
        assert sorted(tuple(row.values()) for table in tables for row in table.to_pylist()) == rows
        seen = days.delta.snapshot(1).delta_manifest_list
        assert end == {"snapshot": 2, "done": 0, "in": "changes", "seen": seen}


def test_a_running_query_of_a_chain_table(query: Query, lake: Lake) -> None:
    days = new_table(lake, "db.days", bucket=2)
    days.load(1, {1: "a", 2: "b"})
    days.change(2, {2: "c"})
    there = [(1, "a", date_of(1)), (2, "b", date_of(1)), (2, "c", date_of(2))]
    running = query.start(query.frame("db.days"))
    try:
        running.processAllAvailable()
        assert flat(query.batches) == there
        days.change(3, {3: "d"})
        running.processAllAvailable()
        days.load(4, {1: "a", 2: "c", 3: "d"})
        days.change(5, {1: "e", 2: None})
        running.processAllAvailable()
    finally:
        running.stop()
    later = [(3, "d", date_of(3)), (1, "e", date_of(5))]
    assert flat(query.batches) == sorted([*there, *later])
    assert query.run("db.days") == []
    days.change(5, {7: "f", 1: None})
    audit = [("+I", 7, "f", date_of(5)), ("-D", 1, None, date_of(5))]
    assert flat(query.run("db.days$audit_log")) == audit
    days.delta.rollback_to(snapshot=1)
    days.change(6, {1: "g"})
    for _ in range(3):
        days.change(6, {1: "h"})
    assert "that is another one now: the table was rolled back" in failure(lambda: query.run("db.days"))


def test_a_stream_of_the_changes_of_a_chain_table(query: Query, lake: Lake) -> None:
    days = new_table(lake, "db.days")
    days.load(1, {1: "a"})
    days.change(2, {2: "c"})
    days.change(3, {2: "d"})
    begin = {"scan.mode": "from-snapshot", "scan.snapshot-id": "2"}
    assert flat(query.run("db.days$branch_delta", begin)) == [(2, "d", date_of(3))]
    days.load(4, {1: "a", 2: "d"})
    days.change(5, {1: "e"})
    assert flat(query.run("db.days$branch_delta")) == [(1, "e", date_of(5))]


def test_a_batch_read_with_kinds(query: Query, keyed: Table) -> None:
    keyed.write([{"id": 1, "v": None, "op": "-D"}], row_kind="op")
    reader = query.spark.read.format("lakebed").option("warehouse", query.lake.warehouse)
    found = reader.option("read.changelog", "true").load("db.t")
    assert found.columns == ["rowkind", "id", "v"]
    assert sorted(map(tuple, found.filter("id > 1").collect())) == [("+I", 2, "b"), ("+I", 3, "b")]
