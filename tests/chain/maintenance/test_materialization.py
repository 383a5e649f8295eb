"""Views of a chain table in a plain table: the rows of the view, day by day, as often as one likes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.chain.days import COLUMNS, GROUPED, Days, as_dict, new_table, partition

import lakebed
from lakebed import Lake
from lakebed.errors import DataError, OptionError, SchemaError


@pytest.fixture
def days(lake: Lake) -> Days:
    """A full day 1, and changes of days 2 and 4."""
    made = new_table(lake)
    made.load(1, {1: "a", 2: "b"})
    made.change(2, {2: "B", 3: "c"})
    made.change(4, {1: None, 4: "d"})
    return made


@pytest.fixture
def plain(lake: Lake, days: Days) -> lakebed.Table:
    return lake.create_table("db.plain", days.main.arrow_schema, partition_by=["date"])


def copied(plain: lakebed.Table) -> dict[int, dict[int, str]]:
    """The rows of each day of the plain table, which is read like any append table."""
    assert plain.schema.primary_keys == ()
    found = sorted(set(plain.scan(["date"]).to_arrow()["date"].to_pylist()))
    return {int(day[-2:]): as_dict(plain.scan(where=f"date = '{day}'").to_arrow()) for day in found}


def test_one_day_and_a_gap_day(days: Days, plain: lakebed.Table) -> None:
    done = days.main.materialize_chain(plain, [partition(2), partition(3)])
    assert done.partitions == ((partition(2), 3), (partition(3), 3))
    assert copied(plain) == {2: days.view(2), 3: days.view(3)}
    assert days.view(3) == {1: "a", 2: "B", 3: "c"}
    assert str(done).splitlines() == [
        "wrote the views of 2 partitions to db.plain, 6 rows:",
        "  date=20250802: 3 rows",
        "  date=20250803: 3 rows",
    ]


def test_again_replaces_the_rows_of_that_day_only(days: Days, plain: lakebed.Table) -> None:
    days.main.materialize_chain(plain, where="date >= '20250801'")
    assert copied(plain) == {day: days.view(day) for day in (1, 2, 4)}
    days.change(2, {1: None, 9: "late"})
    for _ in range(2):
        days.main.materialize_chain(plain, partition(2))
        assert copied(plain)[2] == days.view(2) == {2: "B", 3: "c", 9: "late"}
    assert copied(plain)[4] == {2: "B", 3: "c", 4: "d"}  # as it was, although its view has changed since
    days.change(4, {2: None, 3: None, 4: None, 9: None})
    assert days.main.materialize_chain(plain, partition(4)).rows == 0
    assert sorted(copied(plain)) == [1, 2]


def test_a_day_without_a_view_keeps_its_copy(days: Days, plain: lakebed.Table) -> None:
    days.main.compact_chain(partition(4))
    days.main.materialize_chain(plain, partition(2))
    view = days.view(2)
    days.main.expire_changes("2025-08-09")
    done = days.main.materialize_chain(plain, [partition(2), partition(4)])
    assert done.skipped == (partition(2),)
    assert "  skipped date=20250802: it has no view" in str(done).splitlines()
    assert copied(plain) == {2: view, 4: days.view(4)}


def test_a_dry_run_writes_nothing(days: Days, plain: lakebed.Table) -> None:
    done = days.main.materialize_chain(plain, where="date > '20250801'", dry_run=True)
    assert done.partitions == ((partition(2), None), (partition(4), None))
    assert str(done).startswith("would write the views of 2 partitions to db.plain:\n")
    assert repr(done) == "<Materialization: would write the views of 2 partitions to db.plain>"
    assert plain.latest_snapshot() is None


def test_a_table_with_a_primary_key_is_as_good(days: Days, lake: Lake) -> None:
    keyed = lake.create_table(
        "db.keyed", COLUMNS, partition_by=["date"], primary_key=["date", "k"], options={"bucket": 1}
    )
    for _ in range(2):
        days.main.materialize_chain(keyed, partition(4))
    assert as_dict(keyed.scan().to_arrow()) == days.view(4)


def test_a_day_of_every_group(lake: Lake) -> None:
    days = new_table(lake, grouped=True)
    for region in ("eu", "us"):
        days.load(1, {1: region}, region)
        days.change(2, {2: region}, region)
    plain = lake.create_table("db.plain", GROUPED, partition_by=["region", "date"])
    assert days.main.materialize_chain(plain, partition(2)).rows == 4
    assert days.main.materialize_chain(plain, partition(2, "us")).rows == 2
    assert as_dict(plain.scan(where="region = 'us'").to_arrow()) == {1: "us", 2: "us"}


def test_bad_calls(days: Days, plain: lakebed.Table, lake: Lake) -> None:
    calls: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, OptionError, "needs partition= or where="),
        ({"partition": {}}, OptionError, "must name values"),
        ({"partition": {"day": "1"}}, SchemaError, "unknown partition column 'day'"),
        ({"partition": {"date": "someday"}}, DataError, "someday"),
    ]
    for given, error, problem in calls:
        with pytest.raises(error, match=problem):
            days.main.materialize_chain(plain, **given)
    with pytest.raises(OptionError, match="cannot be written to itself"):
        days.main.materialize_chain(days.full, partition(2))
    with pytest.raises(OptionError, match=r"table db\.flat is partitioned by \(\), but chain table db\.t by \(date\)"):
        days.main.materialize_chain(lake.create_table("db.flat", COLUMNS), partition(2))
    with pytest.raises(OptionError, match="is not a chain table"):
        plain.materialize_chain(days.main, partition(2))
    with pytest.raises(OptionError, match=r"works on table db\.t itself"):
        days.delta.materialize_chain(plain, partition(2))
