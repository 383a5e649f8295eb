"""A lake as a catalog of plain Spark: attaching, names, push-down, errors."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

import lakebed
from lakebed import AlreadyExistsError, Lake, LakebedError, NotFoundError, OptionError, UnsupportedError, connect
from lakebed.spark import session
from lakebed.sql import attach as attach_module
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.names import options_for


def plan_of(spark: Any, text: str) -> str:
    return str(spark.sql(f"EXPLAIN EXTENDED {text}").collect()[0][0]).split("== Physical Plan ==")[1]


@pytest.fixture
def keyed(lake: Lake, db: str) -> lakebed.Table:
    """A table some of whose files have to be merged."""
    table = lake.create_table(
        f"{db}.k", "id BIGINT, v STRING, n INT", primary_key=["id"], options={"bucket": "1", "write-only": "true"}
    )
    table.write(pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"], "n": pa.array([1, 2, 3], pa.int32())}))
    table.write(pa.table({"id": [2, 4], "v": ["B", "D"], "n": pa.array([20, 40], pa.int32())}))
    return table


@pytest.fixture
def plain(lake: Lake, db: str) -> lakebed.Table:
    """A table of three files that need no merge."""
    table = lake.create_table(f"{db}.t", "id BIGINT, v STRING, n INT")
    for i in range(3):
        table.write(pa.table({"id": [2 * i, 2 * i + 1], "v": [f"v{i}", None], "n": pa.array([i, i], pa.int32())}))
    return table


# ------------------------------------------------------------------------------------------------- plain Spark


def test_plain_spark_reads_joins_and_writes(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    assert spark.table(f"lakebed.{db}.t").count() == 6
    spark.createDataFrame([(1, "one"), (4, "four")], "id long, word string").createOrReplaceTempView("words")
    joined = spark.sql(f"SELECT w.word, t.n FROM lakebed.{db}.t t JOIN words w ON t.id = w.id ORDER BY w.id")
    assert [tuple(row) for row in joined.collect()] == [("one", 0), ("four", 2)]
    frame = spark.sql("SELECT 10L AS id, 'ten' AS v, 5 AS n")
    frame.writeTo(f"lakebed.{db}.t").append()
    assert lake.table(f"{db}.t").scan(where="id = 10").to_arrow().to_pylist() == [{"id": 10, "v": "ten", "n": 5}]
    frame.writeTo(f"lakebed.{db}.new").using("paimon").tableProperty("bucket", "1").tableProperty(
        "primary-key", "id"
    ).create()
    assert lake.table(f"{db}.new").schema.primary_keys == ("id",)
    assert lake.table(f"{db}.new").scan().count() == 1
    spark.sql(f"USE lakebed.{db}")
    assert spark.table("t").count() == 7
    assert spark.sql("SELECT count(*) FROM t").first()[0] == 7


def test_a_frame_sees_what_was_committed_when_it_is_run(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    frame = spark.table(f"lakebed.{db}.t")
    assert frame.count() == 6
    plain.write(pa.table({"id": [9], "v": ["x"], "n": pa.array([1], pa.int32())}))
    assert spark.table(f"lakebed.{db}.t").count() == 7


def test_two_part_names_need_no_use_in_lake_sql(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    assert lake.sql(f"SELECT count(*) FROM {db}.t").first()[0] == 6
    assert spark.catalog.currentCatalog() == "spark_catalog"
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {db}.t")
    with pytest.raises(AnalysisException):
        lake.sql("SELECT * FROM nowhere.t")
    assert spark.catalog.currentCatalog() == "spark_catalog"
    lake.sql(f"USE {db}")
    assert (spark.catalog.currentCatalog(), spark.catalog.currentDatabase()) == ("lakebed", db)
    assert lake.sql("SELECT count(*) FROM t").first()[0] == 6


def test_parameters(lake: Lake, db: str, plain: lakebed.Table) -> None:
    found = lake.sql(f"SELECT id FROM {db}.t WHERE id > :low ORDER BY id", {"low": 4}).collect()
    assert [row.id for row in found] == [5]


def test_databases_with_properties(lake: Lake, db: str) -> None:
    lake.sql("CREATE DATABASE told COMMENT 'some words' WITH DBPROPERTIES ('a' = 'b')")
    assert lake.database_properties("told") == {"comment": "some words", "a": "b"}
    lake.sql("ALTER DATABASE told SET DBPROPERTIES ('c' = 'd', 'a' = 'z')")
    lake.sql("COMMENT ON DATABASE told IS 'other words'")
    shown = {row[0]: row[1] for row in lake.sql("DESCRIBE DATABASE EXTENDED told").collect()}
    assert shown["Comment"] == "other words"
    assert shown["Properties"] == "((a,z), (c,d))"
    assert {"told", db} <= {row[0] for row in lake.sql("SHOW DATABASES").collect()}
    lake.sql("CREATE DATABASE IF NOT EXISTS told")
    with pytest.raises(AnalysisException, match="SCHEMA_ALREADY_EXISTS"):
        lake.sql("CREATE DATABASE told")
    lake.create_table("told.t", "id INT")
    assert [row.tableName for row in lake.sql("SHOW TABLES IN told LIKE 't*'").collect()] == ["t"]
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        lake.sql("DROP DATABASE told")
    lake.sql("DROP DATABASE told CASCADE")
    assert "told" not in lake.databases()
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        lake.sql("SHOW TABLES IN told")


def test_show_create_makes_the_same_table_again(lake: Lake, db: str) -> None:
    lake.sql(
        f"CREATE TABLE {db}.a (id BIGINT NOT NULL COMMENT 'the key', v VARCHAR(5) DEFAULT 'it\\'s', d DATE) "
        "PARTITIONED BY (d) COMMENT 'hello' TBLPROPERTIES ('primary-key' = 'id,d', 'bucket' = '3')"
    )
    text = lake.sql(f"SHOW CREATE TABLE {db}.a").first()[0]
    assert f"LOCATION '{lake.table(f'{db}.a').path}'" in text
    text = text.replace(f"/{db}.db/a'", f"/{db}.db/b'")
    lake.sql(text.replace(f"{db}.a", f"{db}.b").replace(" COLLATE UTF8_BINARY", ""))
    first, second = lake.table(f"{db}.a").schema, lake.table(f"{db}.b").schema
    assert first.fields == second.fields
    assert first.partition_keys == second.partition_keys == ("d",)
    assert first.primary_keys == second.primary_keys == ("id", "d")
    assert (first.options, first.comment) == (second.options, second.comment)
    shown = {row[0]: row[1] for row in lake.sql(f"DESCRIBE EXTENDED {db}.a").collect()}
    assert shown["Comment"] == "hello"
    assert shown["Provider"] == "paimon"
    assert shown["Location"] == lake.table(f"{db}.a").path


# --------------------------------------------------------------------------------------------------- push-down


def test_plain_files_are_read_by_spark_itself(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    plan = plan_of(spark, f"SELECT v FROM lakebed.{db}.t WHERE id > 3 AND length(v) = 2")
    assert "FileScan parquet" in plan
    assert "MapInArrow" not in plan
    assert "GreaterThan(id,3)" in plan
    read = plan.split("ReadSchema: ")[1]
    assert "id:bigint" in read
    assert "n:int" not in read
    files = plan_of(spark, f"SELECT id FROM lakebed.{db}.t WHERE id = 5")
    assert "InMemoryFileIndex(1 paths)" in files  # statistics ruled out the others
    counted = plan_of(spark, f"SELECT count(*) FROM lakebed.{db}.t")
    assert "ReadSchema: struct<>" in counted


def test_a_limit_reaches_the_list_of_files(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    plan = plan_of(spark, f"SELECT id FROM lakebed.{db}.t LIMIT 3")
    assert "InMemoryFileIndex(2 paths)" in plan
    assert spark.sql(f"SELECT id FROM lakebed.{db}.t LIMIT 3").count() == 3


def test_what_must_be_merged_runs_in_our_kernel(spark: Any, lake: Lake, db: str, keyed: lakebed.Table) -> None:
    plan = plan_of(spark, f"SELECT n FROM lakebed.{db}.k WHERE v = 'b'")
    assert "MapInArrow" in plan
    assert "[n#" in plan
    assert "Filter" not in plan  # the kernel has the condition
    assert spark.sql(f"SELECT n FROM lakebed.{db}.k WHERE v = 'b'").collect() == []
    assert [row.n for row in spark.sql(f"SELECT n FROM lakebed.{db}.k WHERE v = 'B'").collect()] == [20]
    keyed.compact(full=True)
    assert "FileScan parquet" in plan_of(spark, f"SELECT n FROM lakebed.{db}.k WHERE v = 'b'")


def test_small_tables_are_broadcast(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    plan = plan_of(spark, f"SELECT * FROM lakebed.{db}.t a JOIN lakebed.{db}.t b ON a.id = b.id")
    assert "BroadcastHashJoin" in plan


def test_explain_changes_nothing(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    before = plain.latest_snapshot()
    for text in (
        f"UPDATE lakebed.{db}.t SET n = 0",
        f"DELETE FROM lakebed.{db}.t WHERE n IN (SELECT 1)",
        f"INSERT INTO lakebed.{db}.t SELECT * FROM lakebed.{db}.t",
    ):
        plan_of(spark, text)
    assert plain.latest_snapshot() == before


# ------------------------------------------------------------------------------------------------------ errors


def test_our_errors_are_ours_in_lake_sql_and_sparks_in_spark(
    spark: Any, lake: Lake, db: str, plain: lakebed.Table, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "py4j"):
        with pytest.raises(NotFoundError, match="snapshot 99 of table"):
            lake.sql(f"SELECT * FROM {db}.t VERSION AS OF 99")
        with pytest.raises(PySparkException, match="snapshot 99 of table") as caught:
            spark.sql(f"SELECT * FROM lakebed.{db}.t VERSION AS OF 99")
        with pytest.raises(OptionError, match="unknown option 'bukcet'"):
            lake.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('bukcet' = '1')")
    assert str(caught.value).startswith("snapshot 99")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_nobody_foresaw_is_a_sentence_too(
    spark: Any, lake: Lake, db: str, plain: lakebed.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_table: lakebed.Table) -> None:
        raise ValueError("two\nlines")

    monkeypatch.setattr(lakebed.Table, "truncate", fail)
    with pytest.raises(LakebedError, match="an error inside of Lakebed, ValueError: two lines; please report it"):
        lake.sql(f"TRUNCATE TABLE {db}.t")
    with pytest.raises(PySparkException, match="ValueError: two lines") as caught:
        spark.sql(f"TRUNCATE TABLE lakebed.{db}.t")
    assert "Traceback" not in str(caught.value)


def test_errors_of_the_jvm_come_in_one_line(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    java = Jvm(lake.spark).java.java.lang

    def fail(*_given: Any) -> None:
        cause = java.IllegalStateException("the very cause\nof it all")
        raise Py4JJavaError("", java.RuntimeException("around it", cause))

    monkeypatch.setattr(lake.spark, "sql", fail)
    with pytest.raises(LakebedError, match=r"^Spark: the very cause of it all$"):
        lake.sql("SELECT 1")


def test_settings_of_tables() -> None:
    settings = {
        "branch": "everywhere",
        "*.*.*.scan.mode": "latest",
        "lakebed.db.t.branch": "here",
        "lakebed.*.u.branch": "there",
        "elsewhere.db.t.scan.snapshot-id": "1",
        "fields.a.aggregate-function": "sum",
        "lakebed.db.t.no.option": "x",
    }
    common = {"fields.a.aggregate-function": "sum", "lakebed.db.t.no.option": "x", "scan.mode": "latest"}
    assert options_for("lakebed", "db.t", settings) == {**common, "branch": "here"}
    assert options_for("lakebed", "db.t$files", settings) == {**common, "branch": "here"}
    assert options_for("lakebed", "other.u", settings) == {**common, "branch": "there"}
    assert options_for("lakebed", "other.w", settings) == {**common, "branch": "everywhere"}


def test_a_failed_insert_leaves_nothing(spark: Any, lake: Lake, db: str, plain: lakebed.Table) -> None:
    before = plain.latest_snapshot()
    with pytest.raises(PySparkException):
        spark.sql(f"INSERT INTO lakebed.{db}.t SELECT id, v, n / raise_error('no') FROM lakebed.{db}.t")
    assert plain.latest_snapshot() == before
    assert plain.verify().ok


# --------------------------------------------------------------------------------------------------- attaching


def test_a_lake_has_the_name_that_it_is_given(spark: Any, tmp_path: Path) -> None:
    other = connect(tmp_path / "other", spark=spark, name="elsewhere")
    other.create_database("db")
    other.sql("CREATE TABLE db.t AS SELECT 1 AS id")
    assert spark.sql("SELECT * FROM elsewhere.db.t").first().id == 1
    other.attach(spark)  # again is fine
    same = connect(tmp_path / "other", spark=spark, name="elsewhere")
    assert same.sql("SELECT count(*) FROM db.t").first()[0] == 1


def test_a_name_is_taken_only_once(spark: Any, lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(AlreadyExistsError, match="another catalog of the name 'lakebed'"):
        connect(tmp_path / "other", spark=spark).attach()
    spark.conf.set("spark.sql.catalog.mine", "org.example.Catalog")
    with pytest.raises(AlreadyExistsError, match=r"spark\.sql\.catalog\.mine"):
        connect(tmp_path / "other", spark=spark, name="mine").attach()
    spark.conf.unset("spark.sql.catalog.mine")
    for name in ("spark_catalog", "a b", ""):
        with pytest.raises(OptionError, match="cannot be the name of a catalog"):
            connect(tmp_path / "other", spark=spark, name=name).attach()


def test_a_new_session_keeps_the_lakes(spark: Any, lake: Lake, db: str, plain: lakebed.Table, tmp_path: Path) -> None:
    fresh = spark.newSession()
    assert fresh.table(f"lakebed.{db}.t").count() == 6
    fresh.sql(f"USE lakebed.{db}")
    assert spark.catalog.currentCatalog() == "spark_catalog"
    fresh.conf.set(f"spark.paimon.lakebed.{db}.t.scan.snapshot-id", "1")  # each session has its own settings
    assert fresh.sql("SELECT count(*) FROM t").first()[0] == 2
    assert spark.table(f"lakebed.{db}.t").count() == 6
    fresh.conf.unset(f"spark.paimon.lakebed.{db}.t.scan.snapshot-id")
    fresh.sql("UPDATE t SET n = 7 WHERE id = 0")
    assert fresh.sql("CALL sys.create_tag('t', 'told')").collect() == [(True,)]
    assert [row[0] for row in fresh.newSession().sql(f"SHOW TAGS lakebed.{db}.t").collect()] == ["told"]


def test_a_new_session_may_have_another_lake(spark: Any, lake: Lake, db: str, tmp_path: Path) -> None:
    fresh = spark.newSession()
    assert db in [row[0] for row in fresh.sql("SHOW DATABASES IN lakebed").collect()]
    other = connect(tmp_path / "other", spark=fresh)
    assert [row[0] for row in other.sql("SHOW DATABASES").collect()] == ["default"]
    with pytest.raises(AlreadyExistsError, match="another catalog of the name 'lakebed'"):
        connect(tmp_path / "third", spark=fresh).attach()
    assert db in [row[0] for row in spark.sql("SHOW DATABASES IN lakebed").collect()]


def test_a_second_lake_changes_nothing_of_the_session(
    spark: Any, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark logs a warning if a function or a data source is registered again."""
    state = spark._jsparkSession.sessionState()

    def extras() -> tuple[int, int]:
        analyzer = state.analyzer()
        rules = attach_module._resolution_rules(analyzer).get(analyzer)
        return rules.size(), state.experimentalMethods().extraOptimizations().size()

    def fail(*_given: Any) -> None:
        raise AssertionError("registered again")

    before = extras()
    monkeypatch.setattr(attach_module, "_name_paimon", fail)
    monkeypatch.setattr(attach_module, "_FUNCTIONS", {"a function": None})
    connect(tmp_path / "second", spark=spark, name="second").attach()
    assert extras() == before
    assert [row[0] for row in spark.sql("SHOW DATABASES IN second").collect()] == ["default"]


def test_workers_with_another_python_are_told_in_one_sentence(
    spark: Any, lake: Lake, db: str, keyed: lakebed.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.99")
    session._served.discard(spark)
    for text in (
        "SELECT count(n) FROM {0} WHERE v = 'a'",
        "INSERT INTO {0} VALUES (7, 'x', 1)",
        "INSERT OVERWRITE {0} VALUES (7, 'x', 1)",
        "UPDATE {0} SET n = n + 1 WHERE id = 1",
        "DELETE FROM {0} WHERE n IN (SELECT 1)",
        "MERGE INTO {0} t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 0",
        "ANALYZE TABLE {0} COMPUTE STATISTICS FOR ALL COLUMNS",
        "CREATE TABLE {0}_new AS SELECT id FROM range(3)",
        "CALL sys.compact('{0}')",
    ):
        with pytest.raises(Exception, match="PYSPARK_PYTHON") as caught:
            lake.sql(text.format(f"{db}.k")).collect()
        assert "\n" not in str(caught.value), text
        assert "PYTHON_VERSION_MISMATCH" in str(caught.value)
        assert len(str(caught.value)) < 700, text
    assert lake.tables(db) == ["k"]
    assert len(keyed.snapshots()) == 2


def test_a_stopped_session_is_replaced_or_refused(tmp_path: Path) -> None:
    script = """
        import sys
        import lakebed
        from pyspark.sql import SparkSession

        mine = lakebed.connect(sys.argv[1], spark=lakebed.connect(sys.argv[1]).spark)
        lake = lakebed.connect(sys.argv[1])
        lake.sql("CREATE TABLE t (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket' = '1')")
        table = lake.table("default.t")
        lake.spark.stop()
        for call in (lambda: mine.sql("SELECT 1"), mine.attach, lambda: table.compact(full=True)):
            try:
                call()
            except lakebed.LakebedError as error:
                assert "this Spark session was stopped" in str(error), error
            else:
                raise AssertionError("not refused")
        lake.sql("INSERT INTO default.t VALUES (1); INSERT INTO default.t VALUES (1), (2)")
        assert lake.sql("SELECT count(*) FROM default.t").first()[0] == 2
        assert lake.spark.newSession().table("lakebed.default.t").count() == 2
        lake.spark.stop()
        spark = SparkSession.builder.master("local[1]").getOrCreate()
        assert lakebed.connect(sys.argv[1], spark=spark).sql("SELECT count(*) FROM default.t").first()[0] == 2
        print("fine")
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(script), str(tmp_path)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.stdout.splitlines()[-1:] == ["fine"], done.stdout + done.stderr


def test_spark_connect_is_refused(lake: Lake) -> None:
    class ConnectSession:
        """Has no JVM at hand."""

    with pytest.raises(UnsupportedError, match="Spark Connect"):
        lake.attach(ConnectSession())


def test_a_spark_of_another_shape_is_told_in_one_sentence(
    spark: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Odd(Jvm):
        @property
        def session_state(self) -> Any:
            return self.java.java.util.ArrayList()

    monkeypatch.setattr(attach_module, "Jvm", Odd)
    with pytest.raises(LakebedError, match=r"cannot be a catalog of Spark 4\.\d") as caught:
        lake.attach(spark)
    assert "\n" not in str(caught.value)
