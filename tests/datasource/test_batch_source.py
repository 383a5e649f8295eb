"""The data source ``lakebed``: found by Spark by its name, reads and writes tables, and says in our words what is
wrong.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException

from lakebed import Lake, Table
from lakebed.datasource import batch_writer
from lakebed.datasource.batch_writer import FilesWritten, TableWriter
from lakebed.errors import CommitOutcomeUnknownError, DataError, LakebedError, OptionError
from lakebed.format.types.column_ddl import to_columns
from lakebed.format.types.spark_types import schema_to_spark
from lakebed.spark.write.write_mode import WriteMode

ROWS = [{"id": 1, "v": "a", "dt": "x"}, {"id": 2, "v": None, "dt": "y"}, {"id": 3, "v": "c", "dt": "y"}]


@pytest.fixture
def orders(lake: Lake) -> Table:
    made = lake.create_table("db.orders", "id BIGINT, v STRING, dt STRING", partition_by=["dt"])
    made.write(ROWS)
    made.write([{"id": 4, "v": "d", "dt": "z"}])
    return made


@pytest.fixture
def keyed(lake: Lake) -> Table:
    made = lake.create_table(
        "db.keyed", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "2", "write-only": "true"}
    )
    made.write([{"id": number, "v": "old"} for number in range(5)])
    made.write([{"id": number, "v": "new"} for number in range(3, 8)])
    return made


def load(spark: Any, lake: Lake, name: str, **options: Any) -> Any:
    return spark.read.format("lakebed").option("warehouse", lake.warehouse).options(**options).load(name)


def save(frame: Any, lake: Lake, name: str, mode: str = "append", **options: Any) -> None:
    frame.write.format("lakebed").option("warehouse", lake.warehouse).options(**options).mode(mode).save(name)


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def shown(made: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in made.scan().to_arrow().to_pylist())


def files_on_disk(made: Table) -> set[str]:
    return {str(path) for path in Path(made.path).rglob("*.parquet")}


# ------------------------------------------------------------------------------------------------------------- reading


def test_reads_by_name_and_by_folder(spark: Any, lake: Lake, orders: Table, keyed: Table) -> None:
    frame = load(spark, lake, "db.orders")
    assert frame.schema.simpleString() == "struct<id:bigint,v:string,dt:string>"
    assert sorted(map(tuple, frame.collect()), key=str) == sorted(shown(orders), key=str)
    by_folder = spark.read.format("lakebed").load(f"{lake.warehouse}/db.db/keyed")
    assert sorted(map(tuple, by_folder.collect())) == shown(keyed)
    assert load(spark, lake, "db.keyed").join(frame, "id").count() == 4


def test_columns_conditions_and_versions(spark: Any, lake: Lake, orders: Table) -> None:
    frame = load(spark, lake, "db.orders", columns="v, id", where="dt = 'y'")
    assert frame.columns == ["v", "id"]
    assert ids(frame) == [2, 3]
    assert load(spark, lake, "db.orders", columns='["dt"]', where="id > 100").collect() == []
    assert ids(load(spark, lake, "db.orders", version=1)) == [1, 2, 3]
    assert ids(load(spark, lake, "db.orders", **{"scan.snapshot-id": "1"})) == [1, 2, 3]
    first = orders.snapshot(1).time_millis
    assert ids(load(spark, lake, "db.orders", **{"scan.timestamp-millis": str(first)})) == [1, 2, 3]
    given = spark.read.format("lakebed").option("warehouse", lake.warehouse).schema("dt string, id bigint")
    assert given.load("db.orders").columns == ["dt", "id"]
    assert sorted(map(tuple, given.load("db.orders").collect())) == [("x", 1), ("y", 2), ("y", 3), ("z", 4)]


def test_system_tables_and_sql(spark: Any, lake: Lake, orders: Table) -> None:
    found = load(spark, lake, "db.orders$snapshots", columns="snapshot_id, commit_kind").collect()
    assert sorted(map(tuple, found)) == [(1, "APPEND"), (2, "APPEND")]
    load(spark, lake, "db.orders").createOrReplaceTempView("orders_view")
    assert spark.sql("SELECT count(*) AS n FROM orders_view WHERE dt = 'y'").collect()[0].n == 2


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("db.order", {}, "NotFoundError: unknown table 'order' in database db; did you mean 'orders'?"),
        ("nodb.orders", {}, "NotFoundError: unknown database 'nodb'"),
        ("db.orders", {"where": "nope = 1"}, "ExpressionError: unknown column 'nope'"),
        (
            "db.orders",
            {"columns": "id, idd"},
            "NotFoundError: unknown column 'idd' in table db.orders; did you mean 'id'?",
        ),
        ("db.orders", {"version": "77"}, "NotFoundError: "),
        ("db.orders", {"version": "1", "tag": "t"}, "OptionError: options 'version' and 'tag' both name a version"),
        ("db.orders", {"scan.snapshot-id": "x"}, "OptionError: option 'scan.snapshot-id' must be a number, not 'x'"),
        ("db.orders", {"wheer": "id = 1"}, "OptionError: unknown option 'wheer'"),
        ("db.orders", {"row_kind": "op"}, "OptionError: option 'row_kind' is for writing"),
        ("db.orders$snapshots", {"version": "1"}, "OptionError: option 'version' is not for system tables"),
    ],
)
def test_bad_reads_are_told_in_our_words(
    lake: Lake, orders: Table, name: str, options: dict[str, str], message: str
) -> None:
    """What Spark's process calls, called here: starting a new one for each case takes seconds."""
    from pyspark_lakebed import DefaultSource

    with pytest.raises(LakebedError) as told:
        DefaultSource({"path": name, "warehouse": lake.warehouse, **options}).schema()
    assert message.partition(": ")[2] in str(told.value)
    assert type(told.value).__name__ == message.partition(":")[0]


def test_a_bad_read_shows_no_trace(spark: Any, lake: Lake, orders: Table) -> None:
    with pytest.raises(AnalysisException, match="did you mean 'orders'") as told:
        load(spark, lake, "db.order")
    assert "Traceback" not in str(told.value)
    schema = spark.read.format("lakebed").option("warehouse", lake.warehouse).schema("id int")
    with pytest.raises(AnalysisException, match=r"column 'id' of table db.orders is bigint, not int") as told:
        schema.load("db.orders").collect()
    assert "Traceback" not in str(told.value)


def test_places_that_are_no_tables(lake: Lake, tmp_path: Path) -> None:
    from pyspark_lakebed import DefaultSource

    with pytest.raises(OptionError, match="name the table"):
        DefaultSource({}).schema()
    with pytest.raises(OptionError, match="is not the folder of a table"):
        DefaultSource({"path": "db.orders"}).schema()
    with pytest.raises(LakebedError, match="there is no table at"):
        DefaultSource({"path": f"{tmp_path}/no/db.db/t"}).schema()
    with pytest.raises(LakebedError, match="there is no warehouse at"):
        DefaultSource({"path": "db.t", "warehouse": f"{tmp_path}/nowhere"}).schema()
    assert not (tmp_path / "nowhere").exists()


# ------------------------------------------------------------------------------------------------------------- writing


def test_append_and_overwrite(spark: Any, lake: Lake, orders: Table) -> None:
    frame = spark.createDataFrame([(5, "e", "y"), (6, "f", "w")], "id bigint, v string, dt string")
    save(frame, lake, "db.orders")
    assert len(shown(orders)) == 6
    save(frame, lake, "db.orders", "overwrite")  # the partitions that the data has rows of
    assert [row[0] for row in shown(orders)] == [1, 4, 5, 6]
    save(frame.limit(1), lake, "db.orders", "overwrite", partition="dt=y")
    assert [row[0] for row in shown(orders)] == [1, 4, 5, 6]
    save(frame, lake, "db.orders", "overwrite", partitionOverwriteMode="static")
    assert [row[0] for row in shown(orders)] == [5, 6]
    assert orders.latest_snapshot().commit_kind == "OVERWRITE"  # type: ignore[union-attr]


def test_upserts_from_many_tasks(spark: Any, lake: Lake, keyed: Table) -> None:
    frame = spark.range(0, 40, 1, 4).selectExpr("id % 20 AS id", "'spark' AS v")
    save(frame, lake, "db.keyed")
    assert shown(keyed) == [(number, "spark") for number in range(20)]
    (part,) = keyed.scan()._parts
    entries = part.result.entries
    ranges = sorted(
        zip(*(entries[n].to_pylist() for n in ("bucket", "min_sequence_number", "max_sequence_number")), strict=True)
    )
    for (bucket, _, high), (other, low, _) in itertools.pairwise(ranges):
        assert bucket != other or high < low, "two tasks gave one number"
    changes = spark.createDataFrame([(3, None, "-D"), (4, "again", "+U")], "id bigint, v string, op string")
    save(changes, lake, "db.keyed", row_kind="op")
    assert [row for row in shown(keyed) if row[0] in {3, 4}] == [(4, "again")]


def test_save_modes_that_spark_refuses(spark: Any, lake: Lake, orders: Table) -> None:
    frame = spark.createDataFrame([(5, "e", "y")], "id bigint, v string, dt string")
    for mode in ("error", "ignore"):
        with pytest.raises(AnalysisException, match='Please use either the "Append" or "Overwrite" mode'):
            save(frame, lake, "db.orders", mode)
    assert orders.latest_snapshot().id == 2  # type: ignore[union-attr]


def writer_of(made: Table, columns: str = "id bigint, v string, dt string", **mode: Any) -> TableWriter:
    return TableWriter(made._store, schema_to_spark(to_columns(columns)), WriteMode(**mode))


@pytest.mark.parametrize(
    ("columns", "mode", "message"),
    [
        ("id bigint, v string", {}, "lacks column"),
        ("id bigint, v string, dt string, w int", {}, "unknown column 'w' in table db.orders"),
        ("id string, v string, dt string", {}, "column 'id' of table db.orders is BIGINT, but the data has string"),
        ("id bigint, v string, dt string", {"row_kind": "v"}, "has no primary key, so its rows have no row kind"),
        ("id bigint, v string, dt string", {"overwrite": True, "partition": {"d": 1}}, "unknown partition column 'd'"),
    ],
)
def test_a_frame_is_checked_before_a_row_is_written(
    orders: Table, columns: str, mode: dict[str, Any], message: str
) -> None:
    before = files_on_disk(orders)
    with pytest.raises(LakebedError, match=message):
        writer_of(orders, columns, **mode)
    assert files_on_disk(orders) == before


def test_a_bad_write_shows_no_trace(spark: Any, lake: Lake, orders: Table, keyed: Table) -> None:
    with pytest.raises(AnalysisException, match="lacks column\\(s\\) 'dt'") as told:
        save(spark.createDataFrame([(5, "e")], "id bigint, v string"), lake, "db.orders")
    assert "Traceback" not in str(told.value)
    before = files_on_disk(keyed)
    nulls = spark.createDataFrame([(1, "a"), (None, "b")], "id bigint, v string").coalesce(1)
    with pytest.raises(PythonException, match="is NOT NULL, but row 1 of the data has a null there") as told:
        save(nulls, lake, "db.keyed")
    assert "File " not in str(told.value)
    assert files_on_disk(keyed) == before, "what the failed task wrote is gone"


def test_options_of_writes(lake: Lake, orders: Table, keyed: Table) -> None:
    from pyspark_lakebed import DefaultSource

    def writer(name: str, *, overwrite: bool = False, **options: str) -> Any:
        frame = schema_to_spark(to_columns("id bigint, v string, dt string"))
        return DefaultSource({"path": name, "warehouse": lake.warehouse, **options}).writer(frame, overwrite)

    with pytest.raises(OptionError, match="option 'where' is for reading"):
        writer("db.orders", where="id = 1")
    with pytest.raises(OptionError, match="are for mode"):
        writer("db.orders", partition="dt=x")
    with pytest.raises(OptionError, match="must be like key=value,key=value, such as dt=20250101"):
        writer("db.orders", overwrite=True, partition="x")
    with pytest.raises(OptionError, match="must be dynamic or static, not 'both'"):
        writer("db.orders", overwrite=True, partitionOverwriteMode="both")
    with pytest.raises(OptionError, match="is a system table; it can only be read"):
        writer("db.orders$snapshots")
    made = writer("db.orders", overwrite=True, partition='{"dt": "a,b=c"}')
    assert made._mode == WriteMode(overwrite=True, partition={"dt": "a,b=c"})


# -------------------------------------------------------------------------------------- what becomes of a failed commit


def batches(*rows: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    yield from pa.Table.from_pylist(list(rows)).to_batches()


def test_abort_removes_what_was_written(orders: Table) -> None:
    before = files_on_disk(orders)
    writer = writer_of(orders)
    messages = [writer.write(batches({"id": 9, "v": "z", "dt": "a b"})), None]
    assert len(files_on_disk(orders)) == len(before) + 1
    writer.abort(messages)
    assert files_on_disk(orders) == before
    assert orders.latest_snapshot().id == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["append", "overwrite"])
def test_abort_after_a_commit_that_did_land_deletes_nothing(orders: Table, kind: str) -> None:
    """Spark calls abort when commit raised, also when it raised too late."""
    writer = writer_of(orders, overwrite=kind == "overwrite")
    messages = [writer.write(batches({"id": 9, "v": "z", "dt": "x"}))]
    writer.commit(messages)
    orders.write([{"id": 10, "v": "later", "dt": "x"}])
    writer.abort(messages)
    assert (9, "z", "x") in shown(orders)


def test_abort_that_cannot_look_deletes_nothing(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(*_: Any, **__: Any) -> None:
        raise CommitOutcomeUnknownError("the disk is away")

    writer = writer_of(orders)
    messages = [writer.write(batches({"id": 9, "v": "z", "dt": "x"}))]
    before = files_on_disk(orders)
    monkeypatch.setattr(batch_writer, "find_committed", blind)
    writer.abort(messages)
    assert files_on_disk(orders) == before


def test_a_task_without_rows_writes_nothing(orders: Table) -> None:
    writer = writer_of(orders)
    before = files_on_disk(orders)
    message = writer.write(iter(()))
    assert isinstance(message, FilesWritten)
    writer.commit([message])
    assert files_on_disk(orders) == before
    assert orders.latest_snapshot().id == 2  # type: ignore[union-attr]


def test_a_failing_task_leaves_nothing(keyed: Table) -> None:
    before = files_on_disk(keyed)
    writer = writer_of(keyed, "id bigint, v string")

    def breaks() -> Iterator[pa.RecordBatch]:
        yield from batches({"id": 1, "v": "a"})
        raise DataError("a worker stumbles")

    with pytest.raises(DataError, match="stumbles"):
        writer.write(breaks())
    assert files_on_disk(keyed) == before


@pytest.fixture(autouse=True)
def _tidy_switch() -> Iterator[None]:
    """Workers set it as an error passes; here it must not outlive a test."""
    yield
    os.environ.pop("SPARK_HIDE_TRACEBACK", None)


def test_the_source_has_a_name(table: Callable[..., Table]) -> None:
    from pyspark_lakebed import DefaultSource

    assert DefaultSource.name() == "lakebed"
