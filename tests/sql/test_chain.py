"""Chain tables in SQL: set up, written, overwritten and compacted by the statements that people use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import functions

from lakebed import Lake

COLUMNS = "(t1 string COMMENT 't1', t2 string COMMENT 't2', t3 string COMMENT 't3') PARTITIONED BY (date string COMMENT 'date')"
KEYS = "'primary_key' = 'date,t1', 'bucket' = '2', 'bucket-key' = 't1'"
TIME = "'partition.timestamp-pattern' = '$date', 'partition.timestamp-formatter' = 'yyyyMMdd'"
CHAIN = """'chain-table.enabled' = 'true', 'scan.fallback-snapshot-branch' = 'snapshot',
  'scan.fallback-delta-branch' = 'delta'"""


def rows(lake: Lake, text: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in lake.sql(text).collect())


def use(lake: Lake, name: str) -> None:
    """Three full views: by a full partition, by changes on it, and by both deletes and changes."""
    lake.sql(
        f"INSERT OVERWRITE {name}`t$branch_snapshot` SELECT '1', 'a', 'x', '20250725' UNION ALL SELECT '2', 'b', 'x', '20250725'"
    )
    lake.sql(
        f"INSERT INTO {name}`t$branch_delta` SELECT '2', 'B', 'y', '20250726' UNION ALL SELECT '3', 'c', 'y', '20250726'"
    )
    lake.sql(f"INSERT INTO {name}`t$branch_delta` VALUES ('4', 'd', 'z', '20250729')")
    full = [("1", "a"), ("2", "B"), ("3", "c")]
    assert rows(lake, f"SELECT t1, t2 FROM {name}t WHERE date = '20250726'") == full
    assert rows(lake, f"SELECT t1, t2 FROM {name}`t$branch_delta` WHERE date = '20250726'") == full[1:]
    both = rows(
        lake,
        f"""SELECT t1, t2, 'full' FROM {name}t WHERE date = '20250726'
        UNION ALL SELECT t1, t2, 'changes' FROM {name}`t$branch_delta` WHERE date = '20250726'""",
    )
    assert both == sorted([*((*row, "full") for row in full), *((*row, "changes") for row in full[1:])])

    call = f"CALL sys.compact_chain_table(table => '{name}t', partition => 'date=\"20250729\"')"
    assert rows(lake, call) == [(True,)]
    assert rows(lake, call) == [(False,)]
    assert rows(lake, call.replace(")", ", overwrite => true)")) == [(True,)]
    latest = [*full, ("4", "d")]
    assert rows(lake, f"SELECT t1, t2 FROM {name}`t$branch_snapshot` WHERE date = '20250729'") == latest
    assert rows(lake, f"SELECT t1, t2 FROM {name}t WHERE date = '20250729'") == latest

    lake.sql(f"INSERT OVERWRITE {name}`t$branch_delta` PARTITION (date = '20250726') VALUES ('9', 'i', 'w')")
    assert rows(lake, f"SELECT t1, t2 FROM {name}t WHERE date = '20250729'") == [
        *full[:1],
        ("2", "b"),
        ("4", "d"),
        ("9", "i"),
    ]


def test_as_it_is_written_in_the_issue(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, {CHAIN})")
    lake.sql(f"CALL sys.create_branch('{db}.t', 'snapshot')")
    lake.sql(f"CALL sys.create_branch('{db}.t', 'delta')")
    use(lake, f"{db}.")
    assert lake.table(f"{db}.t").verify(deep=True).errors == ()


def test_as_paimon_documents_it(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'sequence.field' = 't3')")
    for branch in ("snapshot", "delta"):
        lake.sql(f"CALL sys.create_branch('{db}.t', '{branch}')")
    for name in ("t", "`t$branch_snapshot`", "`t$branch_delta`"):
        lake.sql(f"ALTER TABLE {db}.{name} SET TBLPROPERTIES ({CHAIN})")
    use(lake, f"{db}.")


def test_the_short_way(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'chain-table.enabled' = 'true')")
    use(lake, f"{db}.")
    lake.sql(f"ALTER TABLE {db}.t ADD COLUMNS (extra int)")
    for branch in ("main", "snapshot", "delta"):
        assert lake.table(f"{db}.t").branch(branch).schema.field_names[-1] == "extra"
    lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES ('5', 'e', 'v', '20250730', 7)")
    assert ("5", 7) in rows(lake, f"SELECT t1, extra FROM {db}.t WHERE date = '20250730'")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ('partition => \'date="20250729";date="20250730"\'', "names one partition"),
        ("partition => 'day=\"20250729\"'", "unknown partition column 'day'"),
        ("partition => '20250729'", "must be like key=value"),
    ],
)
def test_bad_calls(lake: Lake, db: str, call: str, problem: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'chain-table.enabled' = 'true')")
    with pytest.raises(Exception, match=problem):
        lake.sql(f"CALL sys.compact_chain_table(table => '{db}.t', {call})").collect()


@pytest.mark.parametrize("branch", ["snapshot", "delta"])
def test_an_overwrite_that_names_no_day_is_refused(lake: Lake, db: str, branch: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'chain-table.enabled' = 'true')")
    name = f"{db}.`t$branch_{branch}`"
    target = f"lakebed.{name}"
    lake.sql(f"INSERT INTO {name} VALUES ('1', 'a', 'x', '20250725'), ('2', 'b', 'x', '20250726')")
    new = "SELECT '3' AS t1, 'c' AS t2, 'y' AS t3, '20250726' AS date"
    frame = lake.sql(new)
    ways: list[Callable[[], object]] = [
        lambda: lake.sql(f"INSERT OVERWRITE {name} {new}").collect(),
        lambda: frame.write.mode("overwrite").insertInto(target),
        lambda: frame.writeTo(target).overwrite(functions.lit(True)),
        lambda: lake.table(f"{db}.t$branch_{branch}").overwrite(frame, dynamic=False),
    ]
    for way in ways:
        with pytest.raises(Exception, match="names no day, so it would also remove date=20250725") as raised:
            way()
        assert f"INSERT OVERWRITE `{db}.t$branch_{branch}` PARTITION (date = '...')" in str(raised.value)
        assert "SET spark.sql.sources.partitionOverwriteMode = dynamic" in str(raised.value)
    assert rows(lake, f"SELECT t1, date FROM {name}") == [("1", "20250725"), ("2", "20250726")]
    lake.sql(f"INSERT OVERWRITE {name} PARTITION (date = '20250726') VALUES ('4', 'd', 'y')")
    assert rows(lake, f"SELECT t1, date FROM {name}") == [("1", "20250725"), ("4", "20250726")]
    frame.writeTo(target).overwritePartitions()
    assert rows(lake, f"SELECT t1, date FROM {name}") == [("1", "20250725"), ("3", "20250726")]


def test_changes_expire_and_views_are_copied(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'chain-table.enabled' = 'true')")
    lake.sql(f"INSERT INTO {db}.`t$branch_snapshot` VALUES ('1', 'a', 'x', '20250722')")
    for day, key in (("20250723", "2"), ("20250724", "3"), ("20250725", "4")):
        lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES ('{key}', 'b', 'x', '{day}')")
    lake.sql(f"CALL sys.compact_chain_table('{db}.t', 'date=\"20250724\"')").collect()
    with pytest.raises(Exception, match="the view of date=20250723 would change"):
        lake.sql(f"ALTER TABLE {db}.`t$branch_delta` DROP PARTITION (date = '20250723')").collect()
    kept = ("date=20250725", "kept: later days are merged from it")
    call = f"CALL sys.expire_changes(table => '{db}.t', before => '2025-08-01'"
    assert rows(lake, f"{call}, dry_run => true)") == [
        ("date=20250723", "would drop, no view any more"),
        ("date=20250724", "would drop, still full"),
        kept,
    ]
    assert rows(lake, f"{call})") == [
        ("date=20250723", "dropped, no view any more"),
        ("date=20250724", "dropped, still full"),
        kept,
    ]
    assert rows(lake, f"SELECT t1 FROM {db}.t WHERE date = '20250725'") == [("1",), ("2",), ("3",), ("4",)]
    with pytest.raises(Exception, match=r"chain-table\.changes\.time-retained"):
        rows(lake, f"CALL sys.expire_changes(table => '{db}.t')")
    lake.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('chain-table.changes.time-retained' = '30 d')")
    assert rows(lake, f"CALL sys.expire_changes(table => '{db}.t')") == [kept]

    lake.sql(f"CREATE TABLE {db}.plain (t1 string, t2 string, t3 string) PARTITIONED BY (date string)")
    copy = f"CALL sys.materialize_chain(table => '{db}.t', into => '{db}.plain'"
    for _ in range(2):
        assert rows(lake, f"{copy}, partitions => 'date=20250724;date=20250725')") == [
            ("date=20250724", 3),
            ("date=20250725", 4),
        ]
    assert rows(lake, f"{copy}, where => \"date = '20250722'\")") == [("date=20250722", 1)]
    assert rows(lake, f"SELECT date, count(*) FROM {db}.plain GROUP BY date") == [
        ("20250722", 1),
        ("20250724", 3),
        ("20250725", 4),
    ]


def test_rules_hold_for_every_way_to_write(lake: Lake, db: str, spark: Any) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'chain-table.enabled' = 'true')")
    lake.sql(f"INSERT INTO {db}.`t$branch_snapshot` VALUES ('1', 'a', 'x', '20250725')")
    lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES ('2', 'b', 'x', '20250726')")
    for statement in (
        f"ALTER TABLE {db}.`t$branch_snapshot` DROP PARTITION (date = '20250725')",
        f"TRUNCATE TABLE {db}.`t$branch_snapshot`",
        f"INSERT OVERWRITE {db}.`t$branch_snapshot` VALUES ('1', 'a', 'x', '20250728')",
    ):
        with pytest.raises(Exception, match="date=20250725 cannot be dropped"):
            lake.sql(statement).collect()
    for statement in (
        f"DELETE FROM {db}.t WHERE t1 = '1'",
        f"UPDATE {db}.t SET t2 = 'z' WHERE t1 = '1'",
        f"MERGE INTO {db}.t USING (SELECT '1' AS t1) s ON t.t1 = s.t1 WHEN MATCHED THEN DELETE",
        f"DELETE FROM {db}.t",
        f"TRUNCATE TABLE {db}.t",
        f"ALTER TABLE {db}.t DROP PARTITION (date = '20250725')",
    ):
        with pytest.raises(Exception, match="main only shows what its branches hold"):
            lake.sql(statement).collect()
    with pytest.raises(Exception, match="not a time of the form yyyyMMdd"):
        lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES ('2', 'b', 'x', 'someday')").collect()
    assert rows(lake, f"SELECT t1 FROM {db}.t WHERE date = '20250726'") == [("1",), ("2",)]


def test_a_range_and_a_policy_tell_what_was_built(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS}, {TIME}, 'chain-table.enabled' = 'true')")
    lake.sql(f"INSERT INTO {db}.`t$branch_snapshot` VALUES ('1', 'a', 'x', '20250722')")
    for day in ("20250723", "20250724", "20250725"):
        lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES ('{day}', 'b', 'x', '{day}')")
    call = f"CALL sys.compact_chain_table(table => '{db}.t'"
    full = f"SELECT DISTINCT date FROM {db}.`t$branch_snapshot`"

    ((day, text),) = rows(lake, f"{call}, depth => 3, dry_run => true)")
    assert day == "date=20250725"
    assert text.startswith("would be built from date=20250722 and 3 partitions of changes: reads ")
    assert rows(lake, full) == [("20250722",)]
    found = rows(lake, f"{call}, where => \"date BETWEEN '20250722' AND '20250723'\")")
    assert [day for day, _ in found] == ["date=20250722", "date=20250723"]
    assert found[0][1].startswith("skipped: ")
    assert found[1][1].startswith("built from date=20250722 and 1 partition of changes: ")
    assert "wrote 2 rows" in found[1][1]
    assert rows(lake, full) == [("20250722",), ("20250723",)]
    assert rows(lake, f"{call}, partition => 'date=20250723;date=\"20250724\"', bytes => '1 gb')") == []
    found = rows(lake, f"{call}, partition => 'date=20250723;date=\"20250724\"', overwrite => true, dry_run => false)")
    assert [text.partition(" ")[0] for _, text in found] == ["built", "built"]
    for arguments, problem in (
        ("", "needs at least one of the arguments partition, where, depth, bytes and age"),
        (", depth => 0", "depth"),
        (", age => 'soon'", "age"),
        (", where => 't1 = 1'", "t1"),
    ):
        with pytest.raises(Exception, match=problem):
            lake.sql(f"{call}{arguments})")


def test_tables_become_chain_tables_and_back(lake: Lake, db: str) -> None:
    lake.sql(f"CREATE TABLE {db}.t {COLUMNS} TBLPROPERTIES ({KEYS})")
    lake.sql(f"INSERT INTO {db}.t VALUES ('1', 'a', 'x', '20250722')")
    enable = f"CALL sys.enable_chain('{db}.t', '$date', 'yyyyMMdd'"
    with pytest.raises(Exception, match="timestamp-pattern"):
        lake.sql(f"CALL sys.enable_chain('{db}.t')")
    assert rows(lake, f"{enable}, chain_keys => 'date', options => 'snapshot.num-retained.max=30')") == [(True,)]
    assert lake.table(f"{db}.t").options["snapshot.num-retained.max"] == "30"
    with pytest.raises(Exception, match="already a chain table"):
        lake.sql(f"{enable})")
    lake.sql(f"INSERT INTO {db}.`t$branch_delta` VALUES ('2', 'b', 'x', '20250723')")
    assert rows(lake, f"SELECT t1 FROM {db}.t WHERE date = '20250723'") == [("1",), ("2",)]
    with pytest.raises(Exception, match="date=20250723"):
        lake.sql(f"CALL sys.disable_chain(table => '{db}.t', dry_run => true)")
    lake.sql(f"CALL sys.compact_chain_table('{db}.t', 'date=20250723')")
    assert rows(lake, f"CALL sys.disable_chain('{db}.t', true)") == [(True,)]
    assert "chain-table.enabled" in lake.table(f"{db}.t").options
    assert rows(lake, f"CALL sys.disable_chain('{db}.t')") == [(True,)]
    assert "chain-table.enabled" not in lake.table(f"{db}.t").options
    assert rows(lake, f"SELECT t1, date FROM {db}.t") == [("1", "20250722"), ("1", "20250723"), ("2", "20250723")]
