"""Primary-key tables between lakebed and paimon-spark 0.9.0: old Paimon reads what we write and compact, and we read,
compact and write on what it writes. Spark writes no row kinds; deletes are SQL statements.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.cases import Rows, comparable, expected, table
from tests.interop.keyed_cases import KEYED, KEYS, PKV, Keyed
from tests.interop.keyed_matrix import Actor, Order, check_filters, check_rows, play_keyed
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

FILTERED = {"deduplicate in partitions", "deletion vectors in one bucket"}
WE_COMPACT = Order("we write and compact", ("us",), ("us", "us full"))


@pytest.mark.parametrize("case", [*KEYS[::2], *KEYED], ids=lambda c: c.name)
def test_spark_reads(case: Keyed, ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    if "spark" in case.cannot:
        pytest.skip(case.cannot["spark"])
    play_keyed(case, WE_COMPACT, {"us": ours}, [ours], tmp_path)
    check_rows(case, spark, tmp_path)
    if case.name in FILTERED:
        check_filters(case, [spark], tmp_path)


@pytest.mark.parametrize("maker", ["us", "spark"])
@pytest.mark.parametrize(
    "options",
    [{}, {"deletion-vectors.enabled": "true"}, {"merge-engine": "partial-update"}, {"merge-engine": "first-row"}],
    ids=lambda o: " ".join(o.values()) or "deduplicate",
)
def test_spark_writes_in_turn(options: dict[str, str], maker: str, ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    sides: list[Actor] = [ours, spark] if maker == "us" else [spark, ours]
    fields = PKV if maker == "us" else [(name, f"{kind} NOT NULL" if name in "pk" else kind) for name, kind in PKV]
    sides[0].create_table(
        tmp_path,
        TABLE,
        fields,
        ["p"],
        primary_keys=["p", "k"],
        options={"bucket": "2", "num-sorted-run.compaction-trigger": "3", **options},
    )
    model: dict[tuple[str, int], tuple[str, int, str]] = {}
    for i in range(4):
        rows = [("xy"[k % 2], k, f"{i} by {sides[i % 2].name}") for k in range(i, i + 5)]
        sides[i % 2].write(tmp_path, TABLE, table(PKV, rows))
        for row in rows:
            if "first-row" not in options.values() or row[:2] not in model:
                model[row[:2]] = row
    read_alike(sides, tmp_path, list(model.values()))
    ours.compact(tmp_path, TABLE, full=True)
    read_alike(sides, tmp_path, list(model.values()))


def read_alike(sides: list[Actor], warehouse: Path, rows: Rows) -> None:
    for side in sides:
        assert comparable(side.read(warehouse, TABLE), PKV) == expected(PKV, rows), side.name


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_statements_of_spark(vectors: str, ours: Ours, spark: Oracle, tmp_path: Path) -> None:
    """DELETE, UPDATE and MERGE by Spark, and its compaction, between our commits."""
    options = {"bucket": "2", "deletion-vectors.enabled": vectors}
    ours.create_table(tmp_path, TABLE, PKV, ["p"], primary_keys=["p", "k"], options=options)

    def sql(statement: str) -> None:
        spark.call("sql", warehouse=str(tmp_path), table=TABLE, statement=statement)

    ours.write(tmp_path, TABLE, table(PKV, [("xy"[k % 2], k, f"v{k}") for k in range(8)]))
    sql("DELETE FROM {table} WHERE k IN (0, 3)")
    sql("UPDATE {table} SET v = 'updated' WHERE k < 3")
    ours.write(tmp_path, TABLE, table(PKV, [("x", 4, "ours"), ("y", 3, "back")]))
    rows: Rows = [("y", 1, "updated"), ("x", 2, "updated"), ("y", 3, "back"), ("x", 4, "ours")]
    rows += [("xy"[k % 2], k, f"v{k}") for k in (5, 6, 7)]
    read_alike([ours, spark], tmp_path, rows)
    sql("CALL {catalog}.sys.compact(table => 'db.t')")
    read_alike([ours, spark], tmp_path, rows)
    ours.delete(tmp_path, TABLE, "k = 7")
    read_alike([ours, spark], tmp_path, [row for row in rows if row[1] != 7])
    ours.compact(tmp_path, TABLE, full=True)
    read_alike([ours, spark], tmp_path, [row for row in rows if row[1] != 7])
