"""``chain``: compact, expire, materialize, enable, disable."""

from __future__ import annotations

import pytest
from tests.chain.days import Days, new_table
from tests.cli.runner import Lakebed

from lakebed import Lake, changes


@pytest.fixture
def days(lake: Lake) -> Days:
    made = new_table(lake)
    made.load(1, {1: "a"})
    for day in (2, 3, 4):
        made.change(day, {day: f"d{day}"})
    return made


def test_compact(cli: Lakebed, days: Days) -> None:
    plan = cli.json("chain", "compact", "db.t", "--depth", "2", "--dry-run")
    assert (plan["dry_run"], [one["partition"] for one in plan["built"]]) == (True, [{"date": "20250803"}])
    assert plan["built"][0]["rows"] is None
    assert days.days("snapshot") == [1]
    shown = cli("chain", "compact", "db.t", "--where", "date = '20250803'")
    assert "built 1 full partition\n" in shown.out
    assert "date=20250803" in shown.out
    assert days.days("snapshot") == [1, 3]
    again = cli("chain", "compact", "db.t", "--where", "date = '20250803'")
    assert "nothing to build; date=20250803: it is full already" in again.out
    made = cli.json("chain", "compact", "db.t", "--where", "date = '20250803'", "--overwrite")
    assert made["built"][0]["anchor"] == {"date": "20250801"}
    assert made["built"][0]["rows"] == 3
    assert cli.json("chain", "compact", "db.t", "--age", "9 d", "--bytes", "1 gb")["built"] == []
    assert "--where" in cli.fails(2, "chain", "compact", "db.t")


def test_disable_and_enable(cli: Lakebed, days: Days) -> None:
    assert "exist only as changes" in cli.fails(3, "chain", "disable", "db.t", "--yes")
    cli("chain", "compact", "db.t", "--where", "date > '20250801'")
    plan = cli("chain", "disable", "db.t")
    assert "would become a plain table" in plan.out
    assert days.main.options["chain-table.enabled"] == "true"
    assert "is a plain table" in cli("chain", "disable", "db.t", "--yes").out
    assert "chain-table.enabled" not in days.main.options
    for branch in ("delta", "snapshot"):
        days.main.drop_branch(branch)
    assert cli.json("chain", "enable", "db.t")["branches"] == ["delta", "snapshot"]
    assert days.view(4) == {1: "a", 2: "d2", 3: "d3", 4: "d4"}


def test_expire(cli: Lakebed, days: Days) -> None:
    cli("chain", "compact", "db.t", "--where", "date = '20250803'")
    plan = cli.json("chain", "expire", "db.t", "--before", "2025-08-09")
    assert plan["dry_run"]
    assert plan["partitions"] == [{"date": "20250802"}, {"date": "20250803"}]
    assert plan["without_view"] == [{"date": "20250802"}]
    assert plan["kept"] == [{"partition": {"date": "20250804"}, "reason": "later days are merged from it"}]
    assert (plan["files"], plan["snapshot_id"]) == (2, None)
    assert days.days("delta") == [2, 3, 4]
    shown = cli("chain", "expire", "db.t", "--before", "2025-08-09", "--yes").out
    assert "dropped the changes of 2 partitions, " in shown
    assert "none any more" in shown
    assert "kept date=20250804: later days are merged from it" in shown
    assert days.days("delta") == [4]
    assert days.view(4) == {1: "a", 2: "d2", 3: "d3", 4: "d4"}
    assert "no changes to drop" in cli("chain", "expire", "db.t", "--before", "2025-08-09", "--yes").out
    assert "not a time" in cli.fails(2, "chain", "expire", "db.t", "--before", "soon")


def test_expire_by_the_option(cli: Lakebed, days: Days) -> None:
    cli("chain", "compact", "db.t", "--where", "date = '20250803'")
    assert "chain-table.changes.time-retained" in cli.fails(3, "chain", "expire", "db.t", "--yes")
    days.main.alter(changes.SetOption("chain-table.changes.time-retained", "7 d"))
    assert cli.json("chain", "expire", "db.t")["partitions"] == [{"date": "20250802"}, {"date": "20250803"}]
    assert "dropped the changes of 2 partitions, " in cli("chain", "expire", "db.t", "--yes").out
    assert days.days("delta") == [4]


def test_materialize(cli: Lakebed, days: Days) -> None:
    plain = days.lake.create_table("db.plain", days.main.arrow_schema, partition_by=["date"])
    where = ("--into", "db.plain", "--where", "date = '20250804'")
    plan = cli.json("chain", "materialize", "db.t", *where, "--dry-run")
    assert (plan["dry_run"], plan["partitions"]) == (True, [{"partition": {"date": "20250804"}, "rows": None}])
    assert plain.count() == 0
    for _ in range(2):
        shown = cli("chain", "materialize", "db.t", *where)
        assert "wrote the views of 1 partition to db.plain, 4 rows:" in shown.out
        assert "date=20250804: 4 rows" in shown.out
    assert plain.count() == 4
    assert "not found" not in cli.fails(4, "chain", "materialize", "db.t", "--into", "db.none", "--where", "date = '1'")


def test_main_is_shown_with_its_branches(cli: Lakebed, days: Days) -> None:
    (listed,) = cli.json("tables", "--long")
    assert (listed["snapshot_id"], listed["snapshots"], listed["total_record_count"]) == (
        None,
        {"snapshot": 1, "delta": 3},
        4,
    )
    assert "snapshot 1, delta 3" in cli("tables", "--long").out
    shown = cli.json("show", "db.t")
    assert (shown["record_count"], shown["file_count"], shown["data_branches"]) == (4, 4, ["snapshot", "delta"])
    assert shown["latest_snapshot"] is None
    assert {name: one["id"] for name, one in shown["latest_snapshots"].items()} == {"snapshot": 1, "delta": 3}
    text = cli("show", "db.t").out
    assert "4 in the branches snapshot and delta" in text
    assert "branch delta: 3, APPEND of" in text
    assert cli.json("show", "db.t$branch_delta")["record_count"] == 3
    assert len(cli.json("files", "db.t")) == 4
    for command in ("snapshots", "history", "compactions", "compact"):
        assert "see also db.t$branch_snapshot and db.t$branch_delta" in cli(command, "db.t").err, command
        assert "see also" not in cli(command, "db.t$branch_delta").err


def test_system_tables_of_main_list_its_branches(days: Days) -> None:
    files = days.lake.system_table("db.t$files").scan().to_arrow()
    assert sorted(files["partition"].to_pylist()) == [f"{{2025080{day}}}" for day in (1, 2, 3, 4)]
    days.load(3, {3: "full"})
    files = days.lake.system_table("db.t$files").scan().to_arrow()
    assert sorted(files["partition"].to_pylist()) == [f"{{2025080{day}}}" for day in (1, 2, 3, 3, 4)]
    buckets = days.lake.system_table("db.t$buckets").scan(["partition", "record_count"]).to_arrow().to_pylist()
    assert [row["record_count"] for row in buckets] == [1, 1, 1, 1]
    assert days.lake.system_table("db.t$branch_delta$files").scan().to_arrow().num_rows == 3
