"""Writing a DataFrame: the same table as in process, our own messages, and nothing left of what failed."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.faults.power_cut import recorded
from tests.metadata.stores import files_below
from tests.spark.storages import Deadly
from tests.spark.tables import data_files, entries, frame, live_files, put, replace_rows, rows

from lakebed import connect
from lakebed.engine import WritePlan
from lakebed.errors import CommitConflictError, CommitOutcomeUnknownError, DataError, LakebedError, UnsupportedError
from lakebed.format.types.spark_types import schema_to_spark
from lakebed.metadata.plan.file_scan import ScanMode, ScanRequest, scan
from lakebed.metadata.store import TableStore
from lakebed.operations import write as write_operation
from lakebed.spark import file_jobs as jobs
from lakebed.spark.file_jobs import JobFiles
from lakebed.spark.write import exchange
from lakebed.spark.write import write_frame as write
from lakebed.table import Table

Make = Callable[..., TableStore]
PK = {"primary_key": ["k"], "options": {"bucket": "2"}}


def keyed(**options: str) -> dict[str, Any]:
    return {"primary_key": ["k"], "options": {"bucket": "2", **options}}


@dataclass(frozen=True)
class Case:
    """Rows for one table, written in several commits."""

    name: str
    columns: str
    table: dict[str, Any]
    commits: list[list[tuple[Any, ...]]]
    row_kind: str | None = None
    kinds: list[list[str]] = field(default_factory=list)


PAIRS = [[(i % 7, f"v{i}") for i in range(20)], [(i, f"w{i}") for i in range(3, 9)]]
CHANGES = [[(1, 1), (2, 2), (1, 3), (3, 3)], [(1, 9), (2, 9), (3, 4), (4, 1), (4, 2)]]
KINDS = [["+I", "+I", "+U", "+I"], ["-D", "-U", "+U", "+I", "-D"]]
CASES = [
    Case("append", "k INT, v STRING", {}, PAIRS),
    Case("append in buckets", "k INT, v STRING", {"options": {"bucket": "3", "bucket-key": "v"}}, PAIRS),
    Case("append in partitions", "k INT, v STRING", {"partition_by": ["k"]}, PAIRS),
    Case("upsert", "k INT, v STRING", PK, PAIRS),
    Case("upsert by text", "k STRING, v INT", PK, [[(f"k{i % 7}", i) for i in range(30)]]),
    Case("upsert by mod", "k INT, v STRING", keyed(**{"bucket-function.type": "mod"}), PAIRS),
    Case(
        "upsert in partitions",
        "k INT, v STRING, p DATE",
        {"primary_key": ["p", "k"], "partition_by": ["p"], "options": {"bucket": "2"}},
        [[(i % 5, f"v{i}", dt.date(2024, 1, 1 + i % 3)) for i in range(40)]],
    ),
    Case("first row", "k INT, v STRING", keyed(**{"merge-engine": "first-row"}), PAIRS),
    Case("deletion vectors", "k INT, v STRING", keyed(**{"deletion-vectors.enabled": "true"}), PAIRS),
    Case(
        "texts put together",
        "k INT, v STRING",
        keyed(**{"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}),
        PAIRS,
    ),
    Case(
        "partial updates",
        "k INT, a INT, b STRING",
        keyed(**{"merge-engine": "partial-update"}),
        [[(1, 1, None), (1, None, "x"), (2, None, None), (1, 5, None)], [(2, None, "y"), (1, None, "z")]],
    ),
    Case(
        "sequence field",
        "k INT, v STRING, n INT",
        keyed(**{"sequence.field": "n"}),
        [[(1, "new", 5), (1, "old", 3), (2, "a", 1), (2, "b", 1)], [(1, "older", 1), (2, "c", 2)]],
    ),
    Case("row kinds", "k INT, v INT", PK, CHANGES, "op", KINDS),
    Case("row kinds, deletes ignored", "k INT, v INT", keyed(**{"ignore-delete": "true"}), CHANGES, "op", KINDS),
    Case(
        "rowkind.field",
        "k INT, v INT, op STRING",
        keyed(**{"rowkind.field": "op"}),
        [
            [(*row, kind) for row, kind in zip(part, kinds, strict=True)]
            for part, kinds in zip(CHANGES, KINDS, strict=True)
        ],
    ),
]


def arrow(store: TableStore, part: list[tuple[Any, ...]], kinds: list[str] | None = None) -> pa.Table:
    schema = store.schema().arrow_schema
    columns = list(zip(*part, strict=True))
    table = pa.Table.from_arrays(
        [pa.array(values, column.type) for values, column in zip(columns, schema, strict=True)],
        schema=pa.schema([column.with_nullable(True) for column in schema]),
    )
    return table if kinds is None else table.append_column("op", pa.array(kinds))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_rows_as_in_process(case: Case, store: Make, spark: Any) -> None:
    here, there = store(case.columns, **case.table), store(case.columns, **case.table)
    for number, part in enumerate(case.commits):
        data = arrow(here, part, case.kinds[number] if case.kinds else None)
        made = put(here, data, case.row_kind)
        also = put(there, frame(spark, data), case.row_kind)
        assert made is not None
        assert also is not None
        assert also.total_record_count == made.total_record_count
        assert rows(there) == rows(here)
    assert data_files(there) >= live_files(there)
    if case.table.get("primary_key"):
        spans = entries(there).select(["partition", "bucket", "level", "max_sequence_number"]).to_pylist()
        assert all(row["max_sequence_number"] >= 0 for row in spans)
        assert sorted(map(str, spans)) == sorted(
            map(str, entries(here).select(["partition", "bucket", "level", "max_sequence_number"]).to_pylist())
        ) or case.name not in {"upsert", "upsert by mod"}


def test_changelogs_hold_every_row(store: Make, spark: Any) -> None:
    options = keyed(**{"changelog-producer": "input"})
    here, there = store("k INT, v INT", **options), store("k INT, v INT", **options)
    data = arrow(here, CHANGES[0], KINDS[0])
    put(here, data, "op")
    put(there, frame(spark, data), "op")
    assert changelog(there) == changelog(here)
    assert len(changelog(there)) == 4


def changelog(store: TableStore) -> list[tuple[Any, ...]]:
    latest = store.snapshots.latest()
    assert latest is not None
    request = ScanRequest(snapshot=latest, schema=store.schema(), mode=ScanMode.CHANGELOG)
    found = []
    for entry in scan(store, request).entries.to_pylist():
        table = pq.read_table(f"{store.paths.root}/bucket-{entry['bucket']}/{entry['file_name']}")
        found += [(row["k"], row["v"], row["_VALUE_KIND"]) for row in table.to_pylist()]
    return sorted(found, key=lambda row: row[0])


def test_numbers_go_on_where_the_bucket_ends(store: Make, spark: Any) -> None:
    table = store("k INT, v STRING", **keyed(**{"write-only": "true"}))
    for _ in range(2):
        put(table, frame(spark, arrow(table, [(i, "x") for i in range(10)])))
    spans = entries(table).sort_by("min_sequence_number").to_pylist()
    for bucket in (0, 1):
        first, second = [row for row in spans if row["bucket"] == bucket]
        count = first["row_count"]
        assert (first["min_sequence_number"], first["max_sequence_number"]) == (0, count - 1)
        assert (second["min_sequence_number"], second["max_sequence_number"]) == (count, 2 * count - 1)


# -------------------------------------------------------------------------------------------------------------- values

MOMENT = dt.datetime(2024, 3, 10, 2, 30, 0, 123456)  # a clock time that New York skipped
TYPES = (
    "k BIGINT, b BOOLEAN, t TINYINT, d DECIMAL(10, 2), big DECIMAL(38, 10), f FLOAT, x DOUBLE, day DATE, "
    "wall TIMESTAMP(6), short TIMESTAMP(3), moment TIMESTAMP(6) WITH LOCAL TIME ZONE, bytes BYTES, text STRING, "
    "list ARRAY<INT>, map MAP<STRING, DOUBLE>, row ROW<a INT, b ARRAY<STRING>>"
)


def every_type() -> list[dict[str, Any]]:
    utc = MOMENT.replace(tzinfo=dt.UTC)
    full = {
        "k": 1,
        "b": True,
        "t": -128,
        "d": Decimal("-12345678.90"),
        "big": Decimal("1234567890123456789012345678.0123456789"),
        "f": 1.5,
        "x": float("nan"),
        "day": dt.date(1582, 10, 20),
        "wall": MOMENT,
        "short": MOMENT.replace(microsecond=123000),
        "moment": utc,
        "bytes": b"\x00\xff",
        "text": "é" * 40_000,
        "list": [1, None, 3],
        "map": [("a", 1.0), ("b", None)],
        "row": {"a": None, "b": ["x", None]},
    }
    old = {
        **full,
        "k": 2,
        "wall": dt.datetime(1900, 1, 1),
        "moment": dt.datetime(1900, 1, 1, tzinfo=dt.UTC),
        "text": "",
    }
    return [full, dict.fromkeys(full) | {"k": 3}, old, {**full, "k": 4, "x": -0.0, "list": [], "map": [], "row": None}]


@pytest.mark.parametrize("table", [{}, {"primary_key": ["k"], "options": {"bucket": "2"}}], ids=["append", "upsert"])
def test_every_type(table: dict[str, Any], store: Make, spark: Any) -> None:
    here, there = store(TYPES, **table), store(TYPES, **table)
    schema = pa.schema([column.with_nullable(True) for column in here.schema().arrow_schema])
    data = pa.Table.from_pylist(every_type(), schema)
    put(here, data)
    put(there, spark.createDataFrame(data, schema_to_spark(here.schema().fields)))
    assert rows(there) == rows(here)
    assert len(rows(there)) == 4


def test_clock_times_and_moments_of_a_session_in_another_zone(store: Make, spark: Any) -> None:
    """'2024-07-01 12:00' said in New York is 16:00 in UTC; a TIMESTAMP_NTZ stays what the clock showed."""
    table = store("m TIMESTAMP(6) WITH LOCAL TIME ZONE, w TIMESTAMP(6)")
    put(table, spark.sql("SELECT TIMESTAMP '2024-07-01 12:00:00' m, TIMESTAMP_NTZ '2024-07-01 12:00:00' w"))
    (row,) = Table(table).scan().to_arrow().to_pylist()
    assert row["m"] == dt.datetime(2024, 7, 1, 16, tzinfo=dt.UTC)
    assert row["w"] == dt.datetime(2024, 7, 1, 12)


def test_values_are_cast_where_nothing_is_lost(store: Make, spark: Any) -> None:
    table = store(
        "a BIGINT, b DECIMAL(12, 3), c DOUBLE, d STRING, e TIMESTAMP(3)", options={"bucket": "3", "bucket-key": "a"}
    )
    query = "SELECT TIMESTAMP_NTZ '2024-01-01 00:00:00.5' e, NULL d, 2 c, 1.5BD b, CAST(id - 5 AS INT) a FROM range(10)"
    put(table, spark.sql(query))
    found = Table(table).scan().to_arrow().sort_by("a").to_pylist()
    assert [row["a"] for row in found] == list(range(-5, 5))
    assert found[0] == {
        "a": -5,
        "b": Decimal("1.500"),
        "c": 2.0,
        "d": None,
        "e": dt.datetime(2024, 1, 1, 0, 0, 0, 500_000),
    }
    here = store("a BIGINT, b INT", options={"bucket": "3", "bucket-key": "a"})
    put(here, pa.table({"a": pa.array(range(-5, 5), pa.int64()), "b": pa.array([1] * 10, pa.int32())}))
    assert buckets(table) == buckets(here)


@pytest.mark.parametrize(
    "keys", [{}, {"primary_key": ["a.b", "p q"], "partition_by": ["p q"]}], ids=["append", "upsert"]
)
def test_names_with_dots_and_blanks(keys: dict[str, Any], store: Make, spark: Any) -> None:
    table = store(
        "`a.b` INT, `p q` STRING, `x``y` ROW<`c.d` INT>", **keys, options={"bucket": "2", "bucket-key": "a.b"}
    )
    put(table, spark.sql("SELECT named_struct('c.d', 3) `x``y`, 1 `a.b`, 'one' `p q`"))
    assert rows(table) == [repr({"a.b": 1, "p q": "one", "x`y": {"c.d": 3}})]


def buckets(store: TableStore) -> list[tuple[int, int]]:
    return sorted((row["bucket"], row["row_count"]) for row in entries(store).to_pylist())


def test_columns_of_any_name(store: Make, spark: Any) -> None:
    """Dots and backquotes, which mean something to Spark where it looks for a column."""
    names = ["c.d", "`q`", "a b", "ünï/x"]
    columns = "k INT, " + ", ".join("`" + name.replace("`", "``") + "` STRING" for name in names)
    here, there = store(columns, **PK), store(columns, **PK)
    data = arrow(here, [(k, *(f"{name} {k}" for name in names)) for k in range(5)])
    put(here, data)
    put(there, frame(spark, data))
    assert rows(there) == rows(here)


# ------------------------------------------------------------------------------------------------------------ bad input

BAD = [
    ("k INT, v STRING NOT NULL", {}, "SELECT 1 k", "lacks column"),
    ("k INT", {}, "SELECT 1 k, 2 w", "unknown column 'w'"),
    ("k INT", {}, "SELECT '1' k", "column 'k' of table db.t is INT, but the data has string"),
    (
        "k BIGINT",
        {},
        "SELECT 1e30D k",
        "column 'k' of table db.t is BIGINT, but a value of the data",
    ),
    ("k BOOLEAN", {}, "SELECT 1 k", "cast it before writing"),
    ("k INT", {}, "SELECT 1 k, 2 k", "more than once"),
    ("k INT", {}, "SELECT id + 3000000000 k FROM range(10)", "column 'k' of table db.t: a value does not fit INT"),
    ("k DECIMAL(3, 1)", {}, "SELECT 123.4BD k", "a value does not fit DECIMAL"),
    ("k INT NOT NULL", {}, "SELECT IF(id = 3, NULL, 1) k FROM range(5)", "is NOT NULL, but a row of the data"),
    ("k VARCHAR(3)", {}, "SELECT 'abcd' k", "a value has 4 characters"),
    ("k INT, v INT", PK, "SELECT CAST(NULL AS INT) k, 1 v", "column 'k' of table db.t is NOT NULL"),
    ("k DOUBLE, v INT", PK, "SELECT DOUBLE('NaN') k, 1 v", "part of the primary key"),
    ("k INT, v INT", PK, "SELECT 1 k, 2 v, 'x' op", "a row has the row kind 'x'"),
    ("k INT, v INT", PK, "SELECT 1 k, 2 v, 3 op", "must contain row kinds, but its type is int32"),
]


@pytest.mark.parametrize(("columns", "table", "query", "message"), BAD, ids=[bad[3] for bad in BAD])
def test_bad_input_is_refused_in_our_words(
    columns: str, table: dict[str, Any], query: str, message: str, store: Make, spark: Any
) -> None:
    made = store(columns, **table)
    with pytest.raises(DataError, match=message) as refused:
        put(made, spark.sql(query), "op" if query.endswith(" op") else None)
    assert "\n" not in str(refused.value)
    assert files_below(made.paths.root) == {"schema/schema-0"}


def test_types_that_tables_do_not_have(store: Make, spark: Any) -> None:
    with pytest.raises(UnsupportedError, match="column 'v'"):
        put(store(), spark.sql("SELECT 1L id, INTERVAL '1' DAY v"))


def test_a_row_kind_needs_a_primary_key(store: Make, spark: Any) -> None:
    with pytest.raises(DataError, match="has no primary key"):
        put(store(), spark.sql("SELECT 1L id, 'x' v, '+I' op"), "op")


# ------------------------------------------------------------------------------------------------------------ overwrite


def test_overwrites_replace_what_in_process_ones_do(store: Make, spark: Any) -> None:
    columns, table = "p INT, k INT", {"partition_by": ["p"], "primary_key": ["p", "k"], "options": {"bucket": "2"}}
    here, there = store(columns, **table), store(columns, **table)
    first = arrow(here, [(p, k) for p in range(3) for k in range(4)])
    second = arrow(here, [(1, 7), (1, 8)])
    for one in (here, there):
        put(one, first)
    replace_rows(here, second)
    replace_rows(there, frame(spark, second))
    assert rows(there) == rows(here)
    assert len(rows(there)) == 10
    assert entries(there)["level"].to_pylist().count(5) == len(live_files(there)) - 4  # new files are alone, so on top
    replace_rows(here, second, {"p": 1})
    replace_rows(there, frame(spark, second), {"p": 1})
    assert rows(there) == rows(here)
    with pytest.raises(DataError, match="outside of the partition"):
        replace_rows(there, frame(spark, second), {"p": 2})
    assert rows(there) == rows(here)


def test_overwrite_of_a_whole_table(store: Make, spark: Any) -> None:
    table = store()
    put(table, spark.sql("SELECT id, 'x' v FROM range(10)"))
    replace_rows(table, spark.sql("SELECT 5L id, 'y' v"))
    assert rows(table) == ["{'id': 5, 'v': 'y'}"]
    replace_rows(table, spark.sql("SELECT id, 'y' v FROM range(0)"))
    assert rows(table) == []


# --------------------------------------------------------------------------------------------------- how many files


def test_no_rows_make_no_snapshot(store: Make, spark: Any) -> None:
    empty = spark.sql("SELECT id, 'x' v FROM range(10) WHERE id < 0")
    for table in (store(), store(primary_key=["id"], options={"bucket": "2"}), store(partition_by=["v"])):
        assert put(table, empty) is None
        assert files_below(table.paths.root) == {"schema/schema-0"}


def test_few_rows_in_many_partitions_make_one_file(store: Make, spark: Any) -> None:
    table = store()
    put(table, spark.sql("SELECT id, 'x' v FROM range(0, 1000, 1, 8)"))
    assert len(entries(table)) == 1
    assert len(rows(table)) == 1000
    parted = store("id BIGINT, v BIGINT", partition_by=["v"])
    put(parted, spark.sql("SELECT id, id % 3 v FROM range(0, 1000, 1, 8)"))
    assert len(entries(parted)) == 3


def test_rows_of_a_partition_are_divided_by_the_size_of_files(
    store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's own idea of a large partition is a quarter of a file; unless the user has one, ours counts."""
    advised = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    seen: list[str] = []
    run = jobs.run_job

    def recorded(*arguments: Any) -> Any:
        seen.append(spark.conf.get(advised))
        return run(*arguments)

    monkeypatch.setattr(write, "run_job", recorded)
    before = spark.conf.get(advised)
    table = store("id BIGINT, v BIGINT", partition_by=["v"], options={"target-file-size": "100 mb"})
    put(table, spark.sql("SELECT id, id % 3 v FROM range(10)"))
    assert spark.conf.get(advised) == before
    spark.conf.set(advised, "5mb")
    try:
        put(table, spark.sql("SELECT id, id % 3 v FROM range(10)"))
    finally:
        spark.conf.unset(advised)
    assert seen == [f"{200 * 2**20}b", "5mb"]


def test_every_bucket_is_one_sorted_run_of_files_near_the_target_size(store: Make, spark: Any) -> None:
    options = {"bucket": "2", "target-file-size": "100 kb", "write-only": "true"}
    table = store(primary_key=["id"], options=options)
    put(table, spark.sql("SELECT id, uuid() v FROM range(0, 40000, 1, 4)"))
    made = entries(table)
    assert made["row_count"].to_numpy().sum() == 40_000
    for bucket in (0, 1):
        files = [row for row in made.to_pylist() if row["bucket"] == bucket]
        assert len(files) >= 3
        assert all(row["file_size"] < 600_000 for row in files)
        spans = sorted(key_range(table, row) for row in files)
        assert all(a[1] < b[0] for a, b in itertools.pairwise(spans))


def key_range(store: TableStore, entry: dict[str, Any]) -> tuple[int, int]:
    keys = pq.read_table(f"{store.paths.root}/bucket-{entry['bucket']}/{entry['file_name']}")["_KEY_id"].to_numpy()
    assert bool((np.diff(keys) > 0).all())
    return int(keys[0]), int(keys[-1])


def test_a_bucket_larger_than_the_budget_is_one_sorted_run(store: Make, spark: Any) -> None:
    """Four times the budget, and every key several times: the last row of the frame wins."""
    options = {"bucket": "1", "write-buffer-size": "512 kb", "write-only": "true"}
    table = store(primary_key=["id"], options=options)
    query = "SELECT (id * 7919) % 20000 id, concat('value number ', id) v FROM range(0, 60000, 1, 3)"
    put(table, spark.sql(query))
    (entry,) = entries(table).to_pylist()
    assert entry["row_count"] == 20_000
    assert (entry["min_sequence_number"], entry["max_sequence_number"]) == (2, 59_999)
    found = Table(table).scan().to_arrow().sort_by("id")
    newest = {(n * 7919) % 20_000: n for n in range(60_000)}
    assert found["v"].to_pylist() == [f"value number {newest[key]}" for key in range(20_000)]


# ------------------------------------------------------------------------------------------------------------- failures


def failing(folder: Path, times: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Passes rows on; a task fails at its end, so many times."""
    path = str(folder)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pathlib

        yield from batches
        for number in range(times):
            try:
                (pathlib.Path(path) / f"failure-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            raise RuntimeError("as the test wants it")

    return run


TABLES: dict[str, dict[str, Any]] = {
    "append": {"options": {"target-file-size": "300 kb", "write-buffer-size": "400 kb"}},
    "upsert": {"primary_key": ["id"], "options": {"bucket": "4"}},
}
ROWS = "SELECT id, repeat(uuid(), 3) v FROM range(0, 20000, 1, 2)"


@pytest.mark.parametrize("kind", TABLES)
def test_a_task_that_fails_twice(kind: str, store: Make, spark: Any, tmp_path: Path) -> None:
    table = store(**TABLES[kind])
    put(table, spark.sql(ROWS).mapInArrow(failing(tmp_path, 2), "id long, v string"))
    assert len(list(tmp_path.glob("failure-*"))) == 2
    assert len(rows(table)) == 20_000
    assert data_files(table) == live_files(table)


@pytest.mark.parametrize("kind", TABLES)
def test_a_job_that_fails_leaves_nothing(kind: str, store: Make, spark: Any, tmp_path: Path) -> None:
    table = store(**TABLES[kind])
    put(table, spark.sql("SELECT 1L id, 'x' v"))
    before = files_below(table.paths.root)
    with pytest.raises(Exception, match="as the test wants it"):
        put(table, spark.sql(ROWS).mapInArrow(failing(tmp_path, 100), "id long, v string"))
    assert files_below(table.paths.root) == before


@pytest.fixture
def only_in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are written in this process otherwise."""
    monkeypatch.setattr(exchange, "_LEAST_BYTES", 1)


@pytest.mark.usefixtures("only_in_tasks")
@pytest.mark.parametrize("partition_by", [[], ["p"]], ids=["one folder", "partitions"])
@pytest.mark.parametrize("raises", [False, True], ids=["killed", "failed"])
def test_a_worker_that_dies_between_two_files(
    raises: bool, partition_by: list[str], store: Make, spark: Any, tmp_path: Path
) -> None:
    table = store(
        "id BIGINT, p BIGINT", primary_key=[*partition_by, "id"], partition_by=partition_by, options={"bucket": "4"}
    )
    deadly = TableStore(Deadly(str(tmp_path), 1, raises), table.paths, table.name)
    put(deadly, spark.sql("SELECT id, id % 2 p FROM range(1000)"))
    assert len(list(tmp_path.glob("death-*"))) == 1
    assert len(rows(table)) == 1000
    assert data_files(table) == live_files(table)


@pytest.mark.usefixtures("only_in_tasks")
def test_workers_that_always_die(store: Make, spark: Any, tmp_path: Path) -> None:
    table = store(primary_key=["id"], options={"bucket": "4"})
    deadly = TableStore(Deadly(str(tmp_path), 100, raises=True), table.paths, table.name)
    with pytest.raises(LakebedError, match=r"^cannot write: no space left on the device$"):
        put(deadly, spark.sql("SELECT id, 'x' v FROM range(1000)"))
    assert files_below(table.paths.root) == {"schema/schema-0"}


def test_a_commit_that_fails_removes_the_files(store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = store(primary_key=["id"], options={"bucket": "2"})
    monkeypatch.setattr(write_operation, "commit", raising(CommitConflictError("others were faster")))
    with pytest.raises(CommitConflictError):
        put(table, spark.sql("SELECT id, 'x' v FROM range(10)"))
    assert data_files(table) == set()


def test_a_commit_of_unknown_outcome_removes_nothing(store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = store(primary_key=["id"], options={"bucket": "2"})
    monkeypatch.setattr(write_operation, "commit", raising(CommitOutcomeUnknownError("who knows")))
    with pytest.raises(CommitOutcomeUnknownError):
        put(table, spark.sql("SELECT id, 'x' v FROM range(10)"))
    assert len(data_files(table)) == 2


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def test_leftovers_of_a_job_are_told_by_their_names(store: Make) -> None:
    """What a speculative twin wrote goes; what the twin that counts wrote stays, and what other jobs write too."""
    table = store("id BIGINT, p INT", partition_by=["p"])
    job, other = JobFiles.new(), JobFiles.new()
    names = {
        who: f"data-{files.attempt(table)}-0.parquet" for who, files in (("one", job), ("twin", job), ("other", other))
    }
    assert len({*names.values()}) == 3
    for name in names.values():
        table.storage.write(f"{table.paths.root}/p=1/bucket-0/{name}", b"x")
    table.storage.write(f"{table.paths.indexes}/index-{job.attempt(table)}-0", b"x")
    job.remove(table, table.schema(), keep=[names["one"]])
    assert files_below(f"{table.paths.root}/p=1") == {f"bucket-0/{names['one']}", f"bucket-0/{names['other']}"}
    assert files_below(table.paths.indexes) == set()


# ------------------------------------------------------------------------------------------------------ durable commits


@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize("more", [{}, PK], ids=["append", "keyed"])
def test_a_task_flushes_what_it_wrote(tmp_path: Path, more: dict[str, Any], is_durable: bool) -> None:
    """Only the machine of the task can: the commit runs elsewhere on a cluster."""
    lake = connect(tmp_path, options={"commit.durable": is_durable})
    lake.create_database("db")
    store = lake.create_table("db.t", "k INT NOT NULL, v INT", **more)._store
    plan = WritePlan(store, store.schema(), None, False, lambda _: {})
    task = write._WriteTask.of(plan, JobFiles.new())
    columns = {name: pa.array(range(9), pa.int32()) for name in ("k", "v", exchange.ORDER)}
    with recorded() as events:
        task.write([pa.table({**columns, exchange.ORDER: pa.array(range(9), pa.int64())})])
    written = {event[1] for event in events if event[0] == "create"}
    flushed = {event[1] for event in events if event[0] == "flush"}
    assert written
    assert flushed & written == (written if is_durable else set())
