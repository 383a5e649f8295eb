"""What a statement gives along: options for system tables, arguments of procedures."""

from __future__ import annotations

from typing import Any

import pytest

from lakebed import Lake, OptionError
from lakebed.sql.options_in_names import passes_options


@pytest.fixture
def kept(lake: Lake, db: str) -> str:
    lake.sql(f"CREATE TABLE {db}.t (id INT NOT NULL) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql(f"INSERT INTO {db}.t VALUES (1)")
    lake.sql(f"INSERT INTO {db}.t VALUES (2)")
    return f"{db}.`t"


def test_system_tables_of_changes_take_an_interval(lake: Lake, kept: str) -> None:
    def ids(text: str) -> list[int]:
        return sorted(row[0] for row in lake.sql(text).collect())

    assert ids(f"SELECT id FROM {kept}$audit_log`") == [1, 2]
    assert ids(f"SELECT id FROM {kept}$audit_log` WITH ('incremental-between' = '1,2')") == [2]
    assert ids(f"SELECT id FROM {kept}$audit_log` WITH ('incremental-between' = '0,1')") == [1]
    assert ids(f"SELECT id FROM {kept}` WITH ('incremental-between' = '1,2')") == [2]
    with pytest.raises(Exception, match="has no snapshot 9; its latest is 2"):
        lake.sql(f"SELECT id FROM {kept}$audit_log` WITH ('incremental-between' = '1,9')").collect()


def test_options_that_a_system_table_cannot_have_are_refused(lake: Lake, kept: str, spark: Any) -> None:
    with pytest.raises(Exception, match=r"'incremental-between' is for table .* not for \$files"):
        lake.sql(f"SELECT * FROM {kept}$files` WITH ('incremental-between' = '1,2')").collect()
    if passes_options(spark.version):
        with pytest.raises(Exception, match="unknown option 'nope'"):
            lake.sql(f"SELECT * FROM {kept}$files` WITH ('nope' = '1')").collect()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("create_tag('{}', 'x', true)", "create_tag: argument snapshot must be of type long, not boolean"),
        (
            "create_tag(snapshot => true, tag => 'x', table => '{}')",
            "argument snapshot must be of type long, not boolean",
        ),
        ("create_tag('{}', 'x', array(1))", "argument snapshot must be of type long, not array"),
        (
            "expire_snapshots(table => '{}', retain_max => false)",
            "argument retain_max must be of type integer, not boolean",
        ),
        ("compact_manifest(table => '{}', dry_run => 7)", "argument dry_run must be of type boolean, not integer"),
    ],
)
def test_arguments_of_other_types_are_told(lake: Lake, db: str, kept: str, call: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        lake.sql(f"CALL sys.{call.format(f'{db}.t')}")


def test_arguments_that_can_be_what_they_should(lake: Lake, db: str, kept: str) -> None:
    for number, given in enumerate(("1", "'1'", "1S", "CAST(1 AS TINYINT)", "1.0", "NULL", "1 + 1")):
        assert lake.sql(f"CALL sys.create_tag('{db}.t', 'x{number}', {given})").collect() == [(True,)]
    assert lake.sql(f"CALL sys.compact_manifest('{db}.t', dry_run => 'true')").collect() == [(True,)]


def test_young_orphan_files_need_force(lake: Lake, db: str, kept: str) -> None:
    with pytest.raises(OptionError, match="younger than one hour"):
        lake.sql(f"CALL sys.remove_orphan_files('{db}.t', '0 s')")
    assert lake.sql(f"CALL sys.remove_orphan_files('{db}.t', '0 s', force => true)").collect() == [(0, 0)]
