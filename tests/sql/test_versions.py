"""Versions of Spark whose internals differ from what is needed: one sentence says what is missing, and nothing is
changed.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakebed import Lake, LakebedError, UnsupportedError, connect
from lakebed.sql import attach as attach_module
from lakebed.sql.catalog_tables import SystemTableProxy, TableProxy
from lakebed.sql.jvm import jvm_values as jvm_module
from lakebed.sql.jvm.jvm_values import Jvm


@pytest.fixture
def other(spark: Any, tmp_path: Path) -> Lake:
    """A lake that no session knows yet."""
    return connect(tmp_path / "warehouse", spark=spark, name="untried")


def check_one_sentence(spark: Any, other: Lake) -> str:
    with pytest.raises(LakebedError, match=r"cannot be a catalog of Spark 4\.\d.*use one of those, or") as caught:
        other.attach(spark)
    assert "\n" not in str(caught.value)
    with pytest.raises(Exception, match="untried"):
        spark.sql("SHOW TABLES IN untried.db")
    return str(caught.value)


@pytest.mark.parametrize(
    "state",
    [
        "java.util.ArrayList",  # no catalog manager
        "java.lang.Object",
    ],
)
def test_a_session_without_what_we_look_for(
    spark: Any, other: Lake, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    class Odd(Jvm):
        @property
        def session_state(self) -> Any:
            made = self.java
            for part in state.split("."):
                made = getattr(made, part)
            return made()

    monkeypatch.setattr(attach_module, "Jvm", Odd)
    assert "catalogManager" in check_one_sentence(spark, other)


def test_a_spark_without_a_class_that_our_java_needs(
    spark: Any, other: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    needed = "import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;"
    folder = tmp_path / "java"
    folder.mkdir()
    for source in files("lakebed.sql.jvm").iterdir():
        if source.name.endswith(".java"):
            (folder / source.name).write_text(source.read_text().replace(needed, needed.replace(";", "Elsewhere;")))
    assert "MergeIntoTableElsewhere;" in (folder / "OptimizerRule.java").read_text()
    monkeypatch.setattr(jvm_module, "files", lambda _: folder)
    monkeypatch.setattr(jvm_module, "_bridges", {})
    assert "MergeIntoTable" in check_one_sentence(spark, other)


@pytest.mark.parametrize(
    ("version", "fine"), [("4.0.5", False), ("3.5.9", False), ("4.1.0", True), ("5.0.0-rc1", True)]
)
def test_a_spark_that_is_too_old_is_told_before_anything_is_tried(version: str, fine: bool) -> None:
    if fine:
        attach_module._check_version(version)
        return
    with pytest.raises(UnsupportedError, match=rf"Spark 4\.1 and later, and this is Spark {version}; install a newer"):
        attach_module._check_version(version)


def test_system_tables_do_not_ignore_options(lake: Lake, db: str, spark: Any) -> None:
    """Spark 4.1 and 4.2 give the options of a query to the scan of a system table only, which is too late."""
    lake.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")
    jvm = Jvm(spark)
    proxy = SystemTableProxy(jvm, "t$files", lake.system_table(f"{db}.t$files"), {})
    nothing, some = (jvm.sql.util.CaseInsensitiveStringMap(jvm.map(given)) for given in ({}, {"scan.snapshot-id": "1"}))
    older = SimpleNamespace(spark=SimpleNamespace(version="4.2.1"))
    proxy._jvm = older  # type: ignore[assignment]
    with pytest.raises(UnsupportedError, match=r"Spark 4\.2\.1 does not tell system tables.*write VERSION AS OF"):
        SystemTableProxy.newScanBuilder.__wrapped__(proxy, some)  # type: ignore[attr-defined]
    SystemTableProxy.newScanBuilder.__wrapped__(proxy, nothing)  # type: ignore[attr-defined]


def test_columns_that_a_version_does_not_have_are_told(lake: Lake, db: str, spark: Any) -> None:
    """Spark 4.1 and 4.2 use the latest columns for a query that asks for a version by options."""
    lake.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")
    lake.sql(f"ALTER TABLE {db}.t ADD COLUMN n INT")
    table = lake.table(f"{db}.t")
    proxy = TableProxy(Jvm(spark), f"{db}.t", table, lambda given: lake.table(f"{db}.t", options=given), {})
    earlier = lake.table(f"{db}.t", options={"scan.snapshot-id": "1"})
    proxy._check_columns(earlier, ["id"])
    with pytest.raises(UnsupportedError, match=r"has no column 'n'.*write VERSION AS OF instead"):
        proxy._check_columns(earlier, ["id", "n"])


def test_names_carry_options_where_spark_does_not(
    lake: Lake, db: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Spark 4.3 the session's parser is wrapped; what it makes is the same on any version."""
    monkeypatch.setattr(attach_module, "passes_options", lambda _: False)
    session = spark.newSession()
    lake.attach(session)
    lake.attach(session)
    t = f"lakebed.{db}.t"
    session.sql(f"CREATE TABLE {t} AS SELECT 1 AS id")
    session.sql(f"ALTER TABLE {t} ADD COLUMN n INT")
    session.sql(f"INSERT INTO {t} VALUES (2, 2)")

    def rows(text: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in session.sql(text).collect())

    one, two = (f"{t} WITH ('scan.snapshot-id' = '{number}')" for number in (1, 2))
    assert rows(f"SELECT * FROM {one}") == [(1,)]
    assert rows(f"SELECT t.id, lakebed.{db}.t.n FROM {two}") == [(1, None), (2, 2)]
    assert rows(f"SELECT b.id FROM {two} b LEFT ANTI JOIN {one} a ON a.id = b.id") == [(2,)]
    assert rows(f"WITH old AS (SELECT id FROM {one}) SELECT id FROM {two} WHERE id NOT IN (SELECT id FROM old)") == [
        (2,)
    ]
    assert rows(f"SELECT (SELECT count(*) FROM {one}), (SELECT count(*) FROM {t})") == [(1, 2)]
    assert rows(f"SELECT count(*) FROM lakebed.{db}.`t$files` WITH ('scan.snapshot-id' = '1')") == [(1,)]
    assert rows(f"SELECT id FROM paimon_incremental_query('{t}', 1, 2)") == [(2,)]
    session.sql(f"INSERT INTO {t} WITH ('write.merge-schema' = 'true') BY NAME SELECT 3 AS id, 'x' AS more")
    assert rows(f"SELECT id, more FROM {t} WHERE id = 3") == [(3, "x")]
    with pytest.raises(Exception, match=rf"TABLE_OR_VIEW_NOT_FOUND.*`{db}`.`nope` cannot"):
        session.sql(f"SELECT * FROM lakebed.{db}.nope WITH ('scan.snapshot-id' = '1')")
    with pytest.raises(Exception, match="PARSE_SYNTAX_ERROR"):
        session.sql("SELEC 1")
    session.createDataFrame([(5,)], "x int").createOrReplaceTempView("others")
    assert rows("SELECT * FROM others") == [(5,)]
