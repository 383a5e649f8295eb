"""Reads on Spark give the rows that reads in process give, whatever the table looks like."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from tests.lakes import reopened
from tests.places import stored_path

from lakebed import Scan, Table
from lakebed.changes import AddColumn, DropColumn, RenameColumn, SetOption, UpdateColumnType
from lakebed.errors import NotFoundError
from lakebed.rows.files.file_reader import data_file_paths
from lakebed.spark.columns import spark_arrow_schema, spark_batches
from lakebed.spark.read.read_frame import to_spark

NAN = float("nan")
NASTY = ["a b", "{x}*[1-3]?", "50%/%20", "ü:\\'\"", "a,b;c=d", None, ""]


def in_spark_form(rows: pa.Table) -> pa.Table:
    schema = spark_arrow_schema(rows.schema)
    return pa.Table.from_batches([b for batch in rows.to_batches() for b in spark_batches(batch, schema)], schema)


def as_text(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


def check(spark: Any, scan: Scan, **more: Any) -> Any:
    """The DataFrame of a scan, after its rows were found to be those of the scan in process."""
    frame = to_spark(spark, scan._parts, **more)
    expected = in_spark_form(scan.to_arrow())
    assert frame.columns == expected.column_names
    assert as_text(frame.toArrow().cast(expected.schema)) == as_text(expected)
    return frame


def plan_of(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def kinds(frame: Any) -> tuple[int, int]:
    """How many scans of Spark's own reader, and how many of our kernels."""
    plan = plan_of(frame)
    return plan.count("FileScan parquet"), plan.count("MapInArrow")


# ------------------------------------------------------------------------------------------------------ append tables


@pytest.mark.parametrize("form", ["orc", "avro"])
def test_files_of_other_formats_are_read_by_our_kernels(spark: Any, table: Callable[..., Table], form: str) -> None:
    made = table("k INT, v STRING, t TIMESTAMP(6), a ARRAY<ROW<x INT>>", options={"file.format": form})
    data = pa.table(
        {"k": [1, 2], "v": ["a", None], "t": [dt.datetime(2024, 1, 2, 3, 4, 5, 6), None], "a": [[{"x": 1}, None], None]}
    )
    made.write(data)
    made.write(spark.createDataFrame([(3, "c", None, None)], made.scan().to_spark(spark).schema))
    assert kinds(check(spark, made.scan())) == (0, 1)
    made.alter(SetOption("file.format", "parquet"))
    made.write(data)
    assert kinds(check(spark, made.scan())) == (1, 1)
    assert kinds(check(spark, made.scan(where="k = 2"))) == (1, 1)


def test_partitions_with_nasty_values(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id BIGINT, v STRING, dt STRING, n INT", partition_by=["dt", "n"])
    made.write(
        pa.table({"id": range(7), "v": list("abcdefg"), "dt": NASTY, "n": pa.array([7] * 6 + [None], pa.int32())})
    )
    frame = check(spark, made.scan())
    assert kinds(frame) == (1, 0)
    assert frame.schema["n"].dataType.simpleString() == "int"
    check(spark, made.scan(["v"], where="dt = '50%/%20'"))
    check(spark, made.scan(["n", "id"], where="dt IS NULL OR id = 1"))


def test_an_empty_table_and_a_scan_of_nothing(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id BIGINT, s ROW<a INT>")
    assert check(spark, made.scan()).schema.simpleString() == "struct<id:bigint,s:struct<a:int>>"
    made.write(pa.table({"id": [1], "s": [{"a": 1}]}))
    check(spark, made.scan(where="id > 5"))


def test_only_the_columns_asked_for_are_read(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id BIGINT, v STRING, w STRING")
    made.write(pa.table({"id": [1, 2], "v": ["a", "b"], "w": ["c", "d"]}))
    frame = to_spark(spark, made.scan()._parts).filter("id > 1").select("v")
    assert "ReadSchema: struct<id:bigint,v:string>" in plan_of(frame)
    assert "GreaterThan(id,1)" in plan_of(frame)
    assert [row.v for row in frame.collect()] == ["b"]


def test_columns_with_nasty_names(spark: Any, table: Callable[..., Table]) -> None:
    made = table("`a b` INT, `x.y` STRING, `back``tick` DOUBLE, `{};,=` ROW<`a.b` INT>")
    made.write([{"a b": 1, "x.y": "v", "back`tick": 1.5, "{};,=": {"a.b": 3}}])
    assert kinds(check(spark, made.scan(where="`x.y` = 'v' AND `back``tick` > 1"))) == (1, 0)


def test_names_that_differ_in_case_only(spark: Any, table: Callable[..., Table]) -> None:
    made = table("a INT, b INT")
    path = stored_path(made.path, "schema", "schema-0")  # other writers allow such names
    schema = json.loads(path.read_text())
    schema["fields"][1]["name"] = "A"
    path.write_text(json.dumps(schema))
    made = reopened(made)
    made.write(pa.table({"a": pa.array([1], pa.int32()), "A": pa.array([2], pa.int32())}))
    frame = to_spark(spark, made.scan()._parts)
    assert [tuple(row) for row in frame.collect()] == [(1, 2)]


def test_a_limit(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id BIGINT")
    made.write([{"id": n} for n in range(9)])
    assert made.scan(limit=4).to_spark(spark).count() == 4


def test_many_files_are_listed_without_a_job(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id BIGINT, p INT", partition_by=["p"])
    made.write(pa.table({"id": range(80), "p": pa.array(range(80), pa.int32())}))
    key = "spark.sql.sources.parallelPartitionDiscovery.threshold"
    before = spark.conf.get(key)
    spark.sparkContext.setJobGroup("listing", "listing")
    frame = to_spark(spark, made.scan()._parts)
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("listing")
    assert spark.conf.get(key) == before
    assert frame.count() == 80


# -------------------------------------------------------------------------------------------------------------- types

TYPES = (
    "b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INT, i8 BIGINT, f4 FLOAT, f8 DOUBLE, d9 DECIMAL(9, 2), d18 DECIMAL(18, 3), "
    "d38 DECIMAL(38, 10), s STRING, c CHAR(3), vc VARCHAR(5), by BYTES, bi BINARY(2), da DATE, t0 TIMESTAMP(0), "
    "t3 TIMESTAMP(3), t6 TIMESTAMP(6), l3 TIMESTAMP_LTZ(3), l6 TIMESTAMP_LTZ(6), ar ARRAY<INT>, ma MAP<STRING, DOUBLE>, "
    "ro ROW<x INT, y ROW<z FLOAT, w STRING>>"
)
UTC = dt.UTC
ROWS: list[dict[str, Any]] = [
    {
        "b": True,
        "i1": -128,
        "i2": 32767,
        "i4": -(2**31),
        "i8": 2**63 - 1,
        "f4": 1.5,
        "f8": NAN,
        "d9": decimal.Decimal("1234567.89"),
        "d18": decimal.Decimal("-0.001"),
        "d38": decimal.Decimal("1e27"),
        "s": "text",
        "c": "ab",
        "vc": "ünï",
        "by": b"\x00\xff",
        "bi": b"ab",
        "da": dt.date(1500, 2, 3),
        "t0": dt.datetime(1, 1, 1),
        "t3": dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
        "t6": dt.datetime(2024, 3, 10, 2, 30, 0, 1),
        "l3": dt.datetime(2024, 3, 10, 7, 30, tzinfo=UTC),
        "l6": dt.datetime(1600, 1, 1, 0, 0, 0, 7, tzinfo=UTC),
        "ar": [1, None],
        "ma": {"k": NAN},
        "ro": {"x": 1, "y": {"z": NAN, "w": "q"}},
    },
    dict.fromkeys(part.split()[0] for part in TYPES.replace(", ", "\n").split("\n") if "(" not in part.split()[0]),
    {
        "b": False,
        "i1": 0,
        "i2": 0,
        "i4": 0,
        "i8": 0,
        "f4": NAN,
        "f8": -0.0,
        "d9": decimal.Decimal(0),
        "d18": decimal.Decimal(0),
        "d38": decimal.Decimal(0),
        "s": "",
        "c": "a'b",
        "vc": "",
        "by": b"",
        "bi": b"",
        "da": dt.date(9999, 12, 31),
        "t0": dt.datetime(2024, 1, 1),
        "t3": dt.datetime(2024, 1, 1),
        "t6": dt.datetime(9999, 12, 31, 23, 59, 59),
        "l3": dt.datetime(1970, 1, 1, tzinfo=UTC),
        "l6": dt.datetime(1970, 1, 1, tzinfo=UTC),
        "ar": [],
        "ma": {},
        "ro": {"x": None, "y": None},
    },
]


def typed_rows(made: Table, rows: list[dict[str, Any]]) -> pa.Table:
    names = made.arrow_schema.names
    plain = [{name: row.get(name) for name in names} for row in rows]
    for row in plain:
        row["ma"] = None if row["ma"] is None else list(row["ma"].items())
    return pa.Table.from_pylist(plain, schema=made.arrow_schema)


def test_every_type_by_both_roads(spark: Any, table: Callable[..., Table]) -> None:
    made = table(TYPES)
    made.write(typed_rows(made, ROWS))
    frame = check(spark, made.scan())
    assert kinds(frame) == (1, 0)
    by_kernel = check(spark, made.scan(where="length(coalesce(s, '')) >= 0"))
    assert kinds(by_kernel) == (0, 1)
    assert frame.schema == by_kernel.schema


def test_times_and_nanoseconds_come_from_the_kernels(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id INT, ti TIME(3), n TIMESTAMP(9), l TIMESTAMP_LTZ(9), a ARRAY<TIMESTAMP(7)>")
    columns: dict[str, Any] = {
        "id": pa.array([1, 2], pa.int32()),
        "ti": pa.array([dt.time(1, 2, 3, 4000), None], pa.time32("ms")),
        "n": pa.array([-1, 1_999], pa.timestamp("ns")),
        "l": pa.array([-1_001, None], pa.timestamp("ns", "UTC")),
        "a": pa.array([[-1], None], pa.list_(pa.timestamp("ns"))),
    }
    made.write(pa.table(columns))
    frame = check(spark, made.scan())
    assert kinds(frame) == (0, 1)
    assert frame.schema["ti"].dataType.simpleString() == "time(3)"
    first = frame.filter("id = 1").collect()[0]
    assert first.n == dt.datetime(1969, 12, 31, 23, 59, 59, 999999), "digits are cut towards the past"
    assert first.ti == dt.time(1, 2, 3, 4000)
    assert kinds(check(spark, made.scan(["id"]))) == (1, 0)


def test_nan_is_not_lost_in_statistics(spark: Any, table: Callable[..., Table]) -> None:
    """Arrow leaves NaN out of the bounds of a row group, so Spark would skip it where NaN is greater than all."""
    made = table("id INT, x DOUBLE, f FLOAT, s ROW<y DOUBLE, i INT>")
    values = [1.0, NAN, -0.0]
    made.write(
        pa.table(
            {
                "id": pa.array([1, 2, 3], pa.int32()),
                "x": values,
                "f": pa.array(values, pa.float32()),
                "s": [{"y": value, "i": 1} for value in values],
            }
        )
    )
    frame = to_spark(spark, made.scan()._parts)
    for name in ("x", "f", "s.y"):
        assert [row.id for row in frame.filter(f"{name} > 5").collect()] == [2], name
    assert [row.id for row in check(spark, made.scan(where="x > 5 OR f > 7")).collect()] == [2]
    assert str(frame.filter("id = 3").collect()[0].x) == "-0.0"
    assert "ReadSchema: struct<s:struct<i:int>>" in plan_of(frame.select("s.i")), "other fields are not read"


CONDITIONS = [
    *("b", "NOT b", "i1 = -128", "i2 > 100", "i4 <> 0", "i8 = 9223372036854775807", "i8 IN (0, 5)", "i4 NOT IN (0, 7)"),
    *("f4 > 1", "f4 = CAST('NaN' AS FLOAT)", "f8 = 0.0", "f8 IN (0.0, 3.5)", "f8 < 1", "f8 >= CAST('NaN' AS DOUBLE)"),
    *("d9 = 1234567.89", "d18 < 0", "d38 > 1", "s = 'text'", "s <> ''", "s LIKE 't%'", "s NOT LIKE '%x%'"),
    *("vc > 'u'", "by = X'00FF'", "by > X''", "bi = X'6162'", "da < DATE '1600-01-01'", "da IS NULL"),
    *("t0 < TIMESTAMP '1000-01-01 00:00:00'", "t3 = TIMESTAMP_NTZ '1969-12-31 23:59:59.999'"),
    *("t6 >= TIMESTAMP_NTZ '2024-03-10 02:30:00.000001'", "l3 = TIMESTAMP '2024-03-10 07:30:00'"),
    *("l6 < TIMESTAMP '1600-01-01 00:00:00.000008'", "l3 <=> NULL", "s <=> 'text'", "ar IS NOT NULL", "ro IS NULL"),
    *("i4 = 0 AND s = ''", "i4 = 0 OR s IS NULL", "NOT (i4 = 0 OR s = 'text')", "TRUE", "FALSE", "i1 IN (1, NULL)"),
    "s NOT IN ('text', NULL)",
]


def test_conditions_mean_the_same(spark: Any, table: Callable[..., Table]) -> None:
    """All at once: a column of truth for each condition, over rows that Spark got from the table."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    from lakebed.format.predicate import matches_rows
    from lakebed.rows.where import parse_where
    from lakebed.spark.predicates import to_column

    made = table(TYPES)
    made.write(typed_rows(made, ROWS))
    fields = made.schema.fields
    nodes = [parse_where(text, fields) for text in CONDITIONS]
    columns = [to_column(node) for node in nodes]
    assert all(column is not None for column in columns), "none of these is left to the kernels"
    for text in ("c = 'ab'", "lower(s) = 'text'", "i4 + i8 > 3"):  # blanks, functions, overflow: by our own rules
        assert to_column(parse_where(text, fields)) is None, text
    check(spark, made.scan(["i8"], where="c = 'ab'"))
    frame = to_spark(spark, made.scan()._parts)
    truths = [F.coalesce(column, F.lit(False)).alias(f"c{i}") for i, column in enumerate(columns) if column is not None]
    got = frame.select("i8", *truths).toArrow()
    rows = made.scan().to_arrow()
    order = [rows["i8"].to_pylist().index(value) for value in got["i8"].to_pylist()]
    for i, (text, node) in enumerate(zip(CONDITIONS, nodes, strict=True)):
        assert got[f"c{i}"].to_pylist() == [bool(matches_rows(node, rows)[row]) for row in order], text


# ---------------------------------------------------------------------------------------------------------- evolution


def test_columns_that_changed_since(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id INT, v STRING, w INT, x INT, d DATE, m DECIMAL(5, 2)")
    made.write([{"id": 1, "v": "old", "w": 1, "x": 7, "d": dt.date(2024, 1, 2), "m": decimal.Decimal("1.25")}])
    made.alter(UpdateColumnType("id", "BIGINT"), RenameColumn("v", "name"), DropColumn("w"), AddColumn("n", "DOUBLE"))
    made.write(
        [{"id": 2**40, "name": "b", "x": 8, "d": None, "m": decimal.Decimal("2.5"), "n": 1.5}],
    )
    made.alter(AddColumn("w", "STRING"), UpdateColumnType("d", "TIMESTAMP(3)"), UpdateColumnType("m", "DECIMAL(20, 4)"))
    made.alter(RenameColumn("name", "v"), UpdateColumnType("n", "DOUBLE"))
    new = {
        "id": 3,
        "v": "c",
        "x": None,
        "d": dt.datetime(2024, 5, 6, 7),
        "m": decimal.Decimal(3),
        "n": None,
        "w": "new",
    }
    made.write(pa.Table.from_pylist([new], schema=made.arrow_schema))
    frame = check(spark, made.scan())
    assert kinds(frame)[1] == 0
    check(spark, made.scan(["w"]))
    check(spark, made.scan(["id"], where="w IS NULL AND v <> 'b' AND d = TIMESTAMP_NTZ '2024-01-02 00:00:00'"))
    check(spark, made.scan(where="m > 1.3", version=2))
    check(spark, made.scan(version=1))


def test_a_column_that_became_text_comes_from_the_kernels(spark: Any, table: Callable[..., Table]) -> None:
    made = table("id INT, x DECIMAL(10, 3), y INT")
    made.write([{"id": 1, "x": decimal.Decimal("1.500"), "y": 1}])
    made.alter(UpdateColumnType("x", "STRING"))
    made.write([{"id": 2, "x": "text", "y": 2}])
    assert kinds(check(spark, made.scan())) == (1, 1)
    assert kinds(check(spark, made.scan(["id", "y"]))) == (1, 0)
    check(spark, made.scan(["id"], where="x = '1.500'"))


def test_nested_fields_that_changed_since(spark: Any, table: Callable[..., Table]) -> None:
    made = table(
        "id INT, s ROW<a INT, b STRING, c ROW<d FLOAT>>, l ARRAY<ROW<p INT, q INT>>, m MAP<STRING, ROW<r INT>>"
    )
    nested: dict[str, Any] = {"s": {"a": 1, "b": "x", "c": {"d": 1.5}}, "l": [{"p": 1, "q": 2}, None]}
    rows = [{"id": 1, **nested, "m": [("k", {"r": 1})]}, {"id": 2, "s": None, "l": None, "m": None}]
    made.write(pa.Table.from_pylist(rows, schema=made.arrow_schema))
    made.alter(
        UpdateColumnType(("s", "a"), "BIGINT"),
        RenameColumn(("s", "b"), "bb"),
        AddColumn(("s", "c", "e"), "INT"),
        DropColumn(("l", "element", "p")),
        AddColumn(("m", "value", "t"), "STRING"),
    )
    later = {"s": {"a": 2**40, "bb": "y", "c": None}, "l": [{"q": 5}], "m": [("k", {"r": 2, "t": "t"})]}
    made.write(pa.Table.from_pylist([{"id": 3, **later}], schema=made.arrow_schema))
    assert kinds(check(spark, made.scan()))[1] == 0
    check(spark, made.scan(["s"]))
    made.alter(DropColumn(("m", "value", "r")))
    assert kinds(check(spark, made.scan(["id", "m"])))[1] == 1, "a struct that keeps none of its fields is not null"


# ------------------------------------------------------------------------------------------------------- keyed tables


def rounds(made: Table, count: int = 4) -> Table:
    for number in range(count):
        keys = range(number * 5, number * 5 + 20)
        made.write(
            pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array([number] * 20, pa.int32()), "s": ["x"] * 20})
        )
    return made


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bucket": "3"},
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
        {"merge-engine": "partial-update"},
        {"merge-engine": "first-row"},
        {"deletion-vectors.enabled": "true"},
        {"sequence.field": "v"},
    ],
)
def test_keyed_tables(spark: Any, table: Callable[..., Table], options: dict[str, str]) -> None:
    made = rounds(table("k INT, v INT, s STRING", primary_key=["k"], options={"bucket": "1", **options}))
    if not options.get("merge-engine"):
        made.delete("k = 3")
    check(spark, made.scan())
    check(spark, made.scan(["v"], where="v <= 2 AND k > 2"))
    check(spark, made.scan(["s"], where="v + k > 15"))


def test_files_that_stand_alone_and_files_to_merge(spark: Any, table: Callable[..., Table]) -> None:
    made = table("p INT, k INT, v INT", partition_by=["p"], primary_key=["p", "k"], options={"bucket": "1"})
    for number, parts in enumerate(([1, 2, 3], [2])):
        made.write([{"p": part, "k": key, "v": number} for part in parts for key in range(3)])
    assert kinds(check(spark, made.scan())) == (1, 1)
    assert kinds(check(spark, made.scan(where="p <> 2"))) == (1, 0)
    made.compact(full=True)
    assert kinds(check(spark, made.scan())) == (1, 0)
    check(spark, made.scan(version=1))


def test_marked_files_go_to_the_kernels(spark: Any, table: Callable[..., Table]) -> None:
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    made = table("p INT, k INT, v INT", partition_by=["p"], primary_key=["p", "k"], options=options)
    made.write([{"p": part, "k": key, "v": 0} for part in (1, 2) for key in range(100)])
    made.compact(full=True)
    made.write([{"p": 2, "k": 5, "v": 1}])
    (part,) = made.scan()._parts
    assert part.deleted.by_file, "the case is not what it was made for"
    assert kinds(check(spark, made.scan())) == (1, 1)


def test_a_bucket_larger_than_the_budget(spark: Any, table: Callable[..., Table]) -> None:
    made = rounds(table("k INT, v INT, s STRING", primary_key=["k"], options={"bucket": "1", "write-only": "true"}))
    size = made.scan().plan().byte_count
    check(spark, made.scan(), merge_budget=size // 4)
    check(spark, made.scan(["v"], where="v = 1"), merge_budget=1)


def test_a_table_over_two_branches(spark: Any, table: Callable[..., Table]) -> None:
    made = table("dt STRING, id INT, v STRING", partition_by=["dt"])
    root = Path(made.path)
    (root / "branch/branch-dev").mkdir(parents=True)
    shutil.copytree(root / "schema", root / "branch/branch-dev/schema")
    made.write([{"dt": "a", "id": 1, "v": "main"}, {"dt": "b", "id": 2, "v": "main"}])
    made.branch("dev").write([{"dt": day, "id": 3, "v": "dev"} for day in "bc"])
    made.alter(SetOption("scan.fallback-branch", "dev"))
    frame = made.scan().to_spark(spark)
    assert sorted(map(tuple, frame.collect())) == [("a", 1, "main"), ("b", 2, "main"), ("c", 3, "dev")]
    assert made.scan().count() == 3
    assert made.scan().min_max("id") == (1, 3)


# ----------------------------------------------------------------------------------------------------------- failures


def paths_of(made: Table) -> list[str]:
    (part,) = made.scan()._parts
    return data_file_paths(part.store, part.schema, part.result.entries)


def test_a_file_that_is_gone_is_named(spark: Any, table: Callable[..., Table]) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    made.write([{"id": 2, "v": "b"}])
    path = paths_of(made)[1]
    Path(path).unlink()
    with pytest.raises(
        NotFoundError, match=r"data file .* is gone; the snapshot that needs it may have expired"
    ) as told:
        to_spark(spark, made.scan()._parts)
    assert path in str(told.value)


def test_a_task_tells_its_error_in_one_sentence(spark: Any, table: Callable[..., Table]) -> None:
    made = rounds(table("k INT, v INT, s STRING", primary_key=["k"], options={"bucket": "1"}), 2)
    frame = to_spark(spark, made.scan()._parts)
    Path(paths_of(made)[0]).unlink()
    with pytest.raises(PythonException, match=r"NotFoundError: data file .* is gone") as told:
        frame.collect()
    assert "File " not in str(told.value)


def test_settings_that_forgive_missing_files_are_overruled(spark: Any, table: Callable[..., Table]) -> None:
    made = table()
    made.write([{"id": 1, "v": "a"}])
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        frame = to_spark(spark, made.scan()._parts)
        Path(paths_of(made)[0]).unlink()
        with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
            frame.collect()
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
