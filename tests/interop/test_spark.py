"""Lakebed and the Paimon Spark connector on the same tables, through SQL.

The newest connector on Maven Central is 0.9.0, older than the Java classes of ``test_java``: it shows that tables of
ours are read by old Paimon, and that we read what old Paimon writes. What it cannot do is in the cases, with the
reason.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.interop.cases import CASES, ID_V_DT, STORIES, Case, Rows, Story, comparable, expected, table
from tests.interop.matrix import TABLE, play, play_steps
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

import lakebed

TYPES = [replace(case, filters=[]) for case in CASES if case.name.startswith("type ")]
LAYOUTS = [case for case in CASES if not case.name.startswith("type ")]


@pytest.mark.parametrize("case", TYPES, ids=lambda c: c.name)
def test_type(case: Case, ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    play(case, "ours", ours, spark, tmp_path)


@pytest.mark.parametrize("maker", ["ours", "theirs"])
@pytest.mark.parametrize("case", LAYOUTS, ids=lambda c: c.name)
def test_layout(case: Case, maker: str, ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    play(case, maker, ours, spark, tmp_path)


@pytest.mark.parametrize("order", ["us them", "them us"])
@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.name)
def test_story(story: Story, order: str, ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    play_steps(story, order, ours, spark, tmp_path)


def both_read(ours: Ours, spark: Oracle, warehouse: Path, rows: Rows) -> None:
    for side in (ours, spark):
        assert comparable(side.read(warehouse, TABLE), ID_V_DT) == expected(ID_V_DT, rows), side.name


def test_statements_and_procedures_of_spark(ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    """DELETE and UPDATE with deletion vectors, compaction, expiry and orphan removal by Spark between our commits."""
    spark.create_table(tmp_path, TABLE, ID_V_DT, ["dt"], options={"deletion-vectors.enabled": "true"})
    spark.write(tmp_path, TABLE, table(ID_V_DT, [(i, f"v{i}", "xy"[i % 2]) for i in range(6)]))
    ours.write(tmp_path, TABLE, table(ID_V_DT, [(10, "ours", "x")]))

    def sql(statement: str) -> list[list[str]]:
        found: list[list[str]] = spark.call("sql", warehouse=str(tmp_path), table=TABLE, statement=statement)
        return found

    sql("DELETE FROM {table} WHERE id IN (0, 3)")
    rows: Rows = [(i, f"v{i}", "xy"[i % 2]) for i in (1, 2, 4, 5)] + [(10, "ours", "x")]
    both_read(ours, spark, tmp_path, rows)
    sql("UPDATE {table} SET v = 'new' WHERE id = 10 OR id = 1")
    rows = [(i, "new" if i in {1, 10} else v, dt) for i, v, dt in rows]
    both_read(ours, spark, tmp_path, rows)
    ours.write(tmp_path, TABLE, table(ID_V_DT, [(11, "more", "y")]))
    rows.append((11, "more", "y"))
    sql("CALL {catalog}.sys.compact(table => 'db.t')")
    both_read(ours, spark, tmp_path, rows)
    sql("CALL {catalog}.sys.expire_snapshots(table => 'db.t', retain_max => 1)")
    sql("CALL {catalog}.sys.remove_orphan_files(table => 'db.t')")
    both_read(ours, spark, tmp_path, rows)
    assert len(lakebed.connect(str(tmp_path)).table(TABLE).snapshots()) == 1
    ours.delete(tmp_path, TABLE, "id = 2")
    both_read(ours, spark, tmp_path, [row for row in rows if row[0] != 2])
