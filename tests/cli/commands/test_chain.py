"""``chain``: compact, enable, disable."""

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
