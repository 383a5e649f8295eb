"""What the schema and options of a chain table must satisfy, when it is created and when it is altered."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.chain.days import COLUMNS, GROUPED, OPTIONS, new_table

import lakebed
from lakebed import changes
from lakebed.errors import LakebedError, NotFoundError, OptionError, SchemaError

NAMES = {"scan.fallback-snapshot-branch": "snapshot", "scan.fallback-delta-branch": "delta"}


def create(lake: lakebed.Lake, options: Mapping[str, object], name: str = "db.t") -> lakebed.Table:
    return lake.create_table(name, COLUMNS, partition_by=["date"], primary_key=["date", "k"], options=options)


def test_enabled_alone_makes_both_branches_with_the_options_of_main(lake: lakebed.Lake) -> None:
    table = create(lake, OPTIONS)
    assert table.branches() == ["delta", "snapshot"]
    for branch in ("main", "delta", "snapshot"):
        assert table.branch(branch).options == table.options
    assert {name: table.options[name] for name in NAMES} == NAMES


def test_named_branches_may_come_later(lake: lakebed.Lake) -> None:
    table = create(lake, {**OPTIONS, **NAMES})
    assert table.branches() == []
    with pytest.raises(NotFoundError, match=r"has no branch 'snapshot'.*sys.create_branch"):
        table.scan().to_arrow()
    table.create_branch("snapshot")
    table.create_branch("delta")
    assert table.scan().to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"partition.timestamp-pattern": None}, r"needs option 'partition.timestamp-pattern'"),
        ({"partition.timestamp-formatter": None}, r"needs option 'partition.timestamp-formatter'"),
        ({"partition.timestamp-formatter": "yyyyMM"}, r"whole date"),
        ({"partition.timestamp-pattern": "$date 00"}, r"fits partition.timestamp-formatter 'yyyyMMdd' in no way"),
        ({"bucket": -1}, r"fixed number of buckets"),
        ({"merge-engine": "aggregation"}, r"merges by deduplicate or partial-update, not by 'aggregation'"),
        ({"merge-engine": "first-row"}, r"not by 'first-row'"),
        ({"changelog-producer": "lookup"}, r"may be none or input, not 'lookup'"),
        ({"merge-engine": "partial-update", "deletion-vectors.enabled": True}, r"only with merge-engine deduplicate"),
        ({"partition.expiration-time": "7 d", "partition.expiration-strategy": "update-time"}, r"to values-time"),
        ({"chain-table.chain-partition-keys": "k"}, r"must be the last of the partition columns \(date\)"),
        ({"scan.fallback-snapshot-branch": "snapshot"}, r"'scan.fallback-delta-branch' does not name one"),
        ({**NAMES, "scan.fallback-delta-branch": "snapshot"}, r"name the same branch"),
        ({**NAMES, "scan.fallback-delta-branch": "main"}, r"names 'main'"),
        ({**NAMES, "scan.fallback-delta-branch": "a/b"}, r"cannot be the name of a branch"),
    ],
)
def test_what_cannot_be_a_chain_table_is_refused(lake: lakebed.Lake, options: dict[str, object], problem: str) -> None:
    given = {name: value for name, value in {**OPTIONS, **options}.items() if value is not None}
    with pytest.raises(OptionError, match=problem):
        create(lake, given)
    assert lake.tables("db") == []
    # The same is refused of a table that is there.
    table = create(lake, {**given, "chain-table.enabled": False})
    with pytest.raises(OptionError, match=problem):
        table.alter(changes.SetOption("chain-table.enabled", "true"))
    assert table.options["chain-table.enabled"] == "false"
    assert table.branches() == []


def test_keys_and_partitions_are_needed(lake: lakebed.Lake) -> None:
    for more in ({}, {"bucket-key": "k"}):
        with pytest.raises(SchemaError, match="needs a primary key"):
            lake.create_table("db.t", COLUMNS, partition_by=["date"], options={**OPTIONS, **more})
    with pytest.raises(SchemaError, match="needs partition columns"):
        lake.create_table("db.t", COLUMNS, primary_key=["k"], options=OPTIONS)


def test_every_chain_column_is_in_the_pattern(lake: lakebed.Lake) -> None:
    with pytest.raises(OptionError, match="does not name chain column 'region'"):
        lake.create_table(
            "db.t", GROUPED, partition_by=["region", "date"], primary_key=["region", "date", "k"], options=OPTIONS
        )


@pytest.mark.parametrize(
    "options",
    [
        {"merge-engine": "partial-update"},
        {"changelog-producer": "input"},
        {"deletion-vectors.enabled": True},
        {"partition.expiration-time": "7 d"},
        {"sequence.field": "v"},
        {"partition.timestamp-formatter": "yyyyDDD"},
    ],
)
def test_what_may_be_is_made(lake: lakebed.Lake, options: dict[str, object]) -> None:
    assert create(lake, {**OPTIONS, **options}).branches() == ["delta", "snapshot"]


# ---------------------------------------------------------------------------------------------------------- changing


def test_the_documented_set_up_branches_first_then_options_on_all_three(lake: lakebed.Lake) -> None:
    table = create(lake, {"bucket": 1})
    wanted = {**OPTIONS, **NAMES, "bucket": 1}
    setting = [changes.SetOption(name, str(value)) for name, value in wanted.items() if name != "bucket"]
    for name in ("snapshot", "delta"):
        table.create_branch(name)
    table.alter(*setting)
    for name in ("snapshot", "delta"):
        table.branch(name).alter(*setting)  # main has set them already, so nothing is left to do
    for name in ("main", "snapshot", "delta"):
        assert all(str(table.branch(name).options[key]).lower() == str(value).lower() for key, value in wanted.items())
    assert table.branch("delta").schema.id == 1


def test_columns_and_options_of_main_change_on_both_branches(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    days.main.alter(changes.AddColumn("extra", "INT"), changes.SetOption("snapshot.num-retained.max", "20"))
    for branch in (days.main, days.full, days.delta):
        assert branch.schema.field_names == ("k", "v", "date", "extra")
        assert branch.options["snapshot.num-retained.max"] == "20"
    days.main.alter(changes.RenameColumn("extra", "more"), changes.RemoveOption("snapshot.num-retained.max"))
    for branch in (days.main, days.full, days.delta):
        assert branch.schema.field_names == ("k", "v", "date", "more")
        assert "snapshot.num-retained.max" not in branch.options
    assert days.view(2) == {1: "a", 2: "b"}


def test_an_option_that_a_branch_has_set_apart_stays(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    days.delta.alter(changes.SetOption("snapshot.num-retained.max", "5"))
    days.main.alter(changes.SetOption("snapshot.num-retained.max", "20"))
    assert days.full.options["snapshot.num-retained.max"] == "20"
    assert days.delta.options["snapshot.num-retained.max"] == "5"
    days.main.alter(changes.SetOption("chain-table.gap-read", "strict"))
    assert days.delta.options["chain-table.gap-read"] == "strict"


def test_drifted_columns_are_refused_by_name_and_nothing_changes(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    days.delta.alter(changes.AddColumn("alone", "INT"))
    with pytest.raises(SchemaError, match="its branch 'delta' are not those of main"):
        days.main.alter(changes.AddColumn("extra", "INT"))
    assert days.main.schema.field_names == days.full.schema.field_names == ("k", "v", "date")


def test_a_change_that_died_half_way_is_made_again(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    days.full.alter(changes.AddColumn("extra", "INT"))  # as far as a call got
    days.main.alter(changes.AddColumn("extra", "INT"))
    for branch in (days.main, days.full, days.delta):
        assert branch.schema.field_names == ("k", "v", "date", "extra")
    assert days.full.schema.id == 1


def test_enabling_by_alter_makes_the_branches_of_an_empty_table_only(lake: lakebed.Lake) -> None:
    plain = {**OPTIONS, "chain-table.enabled": False}
    table = create(lake, plain)
    table.alter(changes.SetOption("chain-table.enabled", "true"))
    assert table.branches() == ["delta", "snapshot"]
    assert table.branch("delta").options == table.options
    other = create(lake, plain, "db.other")
    other.write([{"k": 1, "v": "a", "date": "20250801"}])
    with pytest.raises(OptionError, match=r"call enable_chain\(\)"):
        other.alter(changes.SetOption("chain-table.enabled", "true"))


def test_branches_of_a_chain_are_not_dropped_or_renamed_by_mistake(lake: lakebed.Lake) -> None:
    days = new_table(lake)
    for name in ("snapshot", "delta"):
        with pytest.raises(LakebedError, match="names it"):
            days.main.drop_branch(name)
