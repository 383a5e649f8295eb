"""``chain``: compact, expire, materialize, enable, disable."""

from __future__ import annotations

import pytest
from tests.chain.days import Days, new_table
from tests.cli.runner import Lakebed

from lakebed import Lake


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
