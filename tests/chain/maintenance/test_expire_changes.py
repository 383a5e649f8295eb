"""Expiry of changes: what full partitions hold goes, what later views need stays, and the result tells both."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.chain.days import Days, codes, new_table, partition

from lakebed import ChangesExpiry, Lake, changes
from lakebed.chain.maintenance import expire_changes as module
from lakebed.chain.maintenance import expire_due
from lakebed.errors import CommitConflictError, OptionError
from lakebed.format.commit_facts import CHAIN_EXPIRED, read_flag


@pytest.fixture
def days(lake: Lake) -> Days:
    """A full day 1, changes of days 2 to 8, full days 3 (of 1) and 6 (of 3)."""
    made = new_table(lake)
    made.load(1, {1: "a"})
    for day in range(2, 9):
        made.change(day, {day: f"d{day}"})
    made.main.compact_chain(partition(3))
    made.main.compact_chain(partition(6))
    return made


def numbers(partitions: Any) -> list[int]:
    return [int(one["date"][-2:]) for one in partitions]


def expire(days: Days, before: int, **more: Any) -> tuple[list[int], list[int], list[int]]:
    """The days that went, those of them without a view, and those that were kept."""
    done = days.main.expire_changes(dt.date(2025, 8, before), **more)
    return numbers(done.partitions), numbers(done.without_view), numbers(values for values, _ in done.kept)


@pytest.mark.parametrize(
    ("before", "gone", "without_view", "kept"),
    [
        (9, [2, 3, 4, 5, 6], [2, 4, 5], [7, 8]),
        (7, [2, 3, 4, 5, 6], [2, 4, 5], []),
        (6, [2, 3, 4, 5], [2, 4, 5], []),  # the day itself is not before it
        (5, [2, 3], [2], [4]),
        (3, [2], [2], []),
        (2, [], [], []),
    ],
)
def test_what_goes(days: Days, before: int, gone: list[int], without_view: list[int], kept: list[int]) -> None:
    views = {day: days.view(day) for day in range(1, 10)}
    deltas = days.delta.latest_snapshot()
    assert expire(days, before, dry_run=True) == (gone, without_view, kept)
    assert days.delta.latest_snapshot() == deltas
    assert expire(days, before) == (gone, without_view, kept)
    assert days.days("delta") == [day for day in range(2, 9) if day not in gone]
    assert days.days("snapshot") == [1, 3, 6]
    assert {day: days.view(day) for day in range(1, 10)} == {
        day: {} if day in without_view else view for day, view in views.items()
    }
    assert days.stale() == []
    assert codes(days.main.verify(deep=True).problems) == []
    assert expire(days, before)[0] == []


def test_the_commit_says_that_it_is_clean_up(days: Days) -> None:
    done = days.main.expire_changes("2025-08-09")
    made = days.delta.latest_snapshot()
    assert made is not None
    assert made.id == done.snapshot
    assert read_flag(made.properties, CHAIN_EXPIRED)
    assert days.main.expire_changes("2025-08-09").snapshot is None


def test_later_days_go_on(days: Days) -> None:
    expire(days, 9)
    days.change(9, {9: "d9"})
    days.main.compact_chain(partition(9))
    expected = {1: "a", **{day: f"d{day}" for day in range(2, 10)}}
    assert days.view(9) == expected
    assert expire(days, 10)[0] == [7, 8, 9]
    assert days.view(9) == days.view(12) == expected
    days.full.drop_partition(partition(1))
    days.full.drop_partition(partition(3))
    days.full.drop_partition(partition(6))
    assert days.days("snapshot") == [9]
    assert days.view(9) == expected


def test_without_a_full_partition_everything_is_needed(lake: Lake) -> None:
    days = new_table(lake)
    for day in (1, 2):
        days.change(day, {day: "x"})
    done = days.main.expire_changes("2025-08-09")
    assert not done
    assert done.kept == tuple((partition(day), "later days are merged from it") for day in (1, 2))
    assert days.view(2) == {1: "x", 2: "x"}


def test_groups_have_their_own_full_partitions(lake: Lake) -> None:
    days = new_table(lake, grouped=True)
    for region in ("eu", "us"):
        days.load(1, {1: region}, region)
        for day in (2, 3):
            days.change(day, {day: region}, region)
    days.main.compact_chain(partition(3, "eu"))
    done = days.main.expire_changes("2025-08-09")
    assert [one["region"] for one in done.partitions] == ["eu", "eu"]
    assert days.view(3, "eu") == {1: "eu", 2: "eu", 3: "eu"}
    assert days.view(2, "us") == {1: "us", 2: "us"}


def test_late_rows_are_kept_until_full_partitions_have_them(days: Days) -> None:
    days.change(2, {22: "late"})
    gone, _, kept = expire(days, 9)
    assert (gone, kept) == ([], list(range(2, 9)))  # day 6 is built on day 3, which lacks the row
    reason = days.main.expire_changes("2025-08-09", dry_run=True).kept[0][1]
    assert reason.startswith(
        "full partition date=20250803 lacks rows that were appended to date=20250802; compact_chain("
    )
    days.main.compact_chain([partition(3), partition(6)], overwrite=True)
    assert expire(days, 9)[0] == [2, 3, 4, 5, 6]
    assert days.view(6)[22] == "late"


def test_what_a_stale_full_partition_is_rebuilt_from_is_kept(days: Days) -> None:
    days.overwrite_changes(2, {2: "new"})
    days.main.compact_chain(partition(6))
    assert days.stale() == [3]
    gone, _, kept = expire(days, 9)
    assert (gone, kept) == ([], list(range(2, 9)))
    assert days.view(3) == {1: "a", 2: "new", 3: "d3"}
    days.main.compact_chain(partition(3))
    assert expire(days, 9)[0] == [2, 3, 4, 5, 6]
    assert days.view(3) == {1: "a", 2: "new", 3: "d3"}


def test_rows_that_come_meanwhile_are_not_dropped(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    drop = module._drop

    def raced(*args: Any) -> Any:
        days.change(2, {22: "late"})
        return drop(*args)

    monkeypatch.setattr(module, "_drop", raced)
    with pytest.raises(CommitConflictError, match="nothing was dropped, call expire_changes"):
        expire(days, 9)
    assert days.view(2) == {1: "a", 2: "d2", 22: "late"}


@pytest.mark.parametrize("before", ["soon", "20250809", None, 1.5])
def test_bad_times(days: Days, before: Any) -> None:
    with pytest.raises(OptionError, match="before"):
        days.main.expire_changes(before)


def test_all_forms_of_a_time(days: Days) -> None:
    moment = dt.datetime(2025, 8, 7)
    forms: list[Any] = [moment, moment.date(), "2025-08-07", round(moment.timestamp() * 1000), "1 d"]
    for before in forms:
        assert numbers(days.main.expire_changes(before, dry_run=True).partitions) == [2, 3, 4, 5, 6]


SINCE_THE_SEVENTH = dt.datetime(2025, 8, 6, 12)


def test_the_option_is_the_default(days: Days) -> None:
    with days.changes_retained(SINCE_THE_SEVENTH):
        assert numbers(days.main.expire_changes("2025-08-05", dry_run=True).partitions) == [2, 3]
        planned = days.main.expire_changes(dry_run=True)
        assert numbers(planned.partitions) == [2, 3, 4, 5, 6]
        assert days.main.expire_changes().partitions == planned.partitions
    assert days.days("delta") == [7, 8]
    assert days.view(8) == {1: "a", **{day: f"d{day}" for day in range(2, 9)}}
    with pytest.raises(OptionError, match=r"give before, such as '30 d', or set option chain-table\.changes\.time"):
        days.main.expire_changes()


@pytest.mark.parametrize("by", ["changes", "full", "main", "compact_chain"])
def test_old_changes_go_after_a_commit_to_any_branch(days: Days, by: str) -> None:
    views = {day: days.view(day) for day in range(1, 9)}
    with days.changes_retained(SINCE_THE_SEVENTH):
        assert days.days("delta") == list(range(2, 9)), "no commit yet"
        match by:
            case "changes":
                days.change(8, {8: "d8"})
            case "full":
                days.load(8, views[8])
            case "main":
                days.main.write([{"k": 10, "v": "main", "date": "20250810"}])
            case _:
                days.main.compact_chain(partition(8))
    assert days.days("delta") == [7, 8]
    assert days.days("snapshot") == [1, 3, 6, *([8] if by in {"full", "compact_chain"} else [])]
    assert {day: days.view(day) for day in range(1, 9)} == {
        day: {} if day in {2, 4, 5} else view for day, view in views.items()
    }
    dropped = [one for one in days.delta.snapshots() if read_flag(one.properties, CHAIN_EXPIRED)]
    assert len(dropped) == 1


def test_without_the_option_and_for_write_only_tables_changes_stay(days: Days) -> None:
    days.change(8, {8: "d8"})
    assert days.days("delta") == list(range(2, 9))
    days.main.alter(changes.SetOption("write-only", "true"))
    with days.changes_retained(SINCE_THE_SEVENTH):
        days.change(8, {8: "d8"})
        assert days.days("delta") == list(range(2, 9))


def test_changes_expire_although_partitions_cannot(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OptionError("no partitions today")

    monkeypatch.setattr(expire_due, "expire_main_partitions", fail)
    days.main.alter(changes.SetOption("partition.expiration-time", "10000 d"))
    with days.changes_retained(SINCE_THE_SEVENTH):
        days.change(8, {8: "d8"})
    assert days.days("delta") == [7, 8]


def test_changes_after_the_newest_full_partition_stay_however_old(days: Days) -> None:
    days.main.alter(changes.SetOption("chain-table.changes.time-retained", "0 ms"))
    assert numbers(days.main.expire_changes().partitions) == [2, 3, 4, 5, 6]
    assert days.days("snapshot") == [1, 3, 6]
    assert days.view(8) == {1: "a", **{day: f"d{day}" for day in range(2, 9)}}
    days.main.alter(changes.SetOption("chain-table.changes.time-retained", "9000000 d"))
    assert not days.main.expire_changes(dry_run=True)


def test_other_tables_have_no_changes(lake: Lake) -> None:
    plain = lake.create_table("db.p", "k INT")
    with pytest.raises(OptionError, match="is not a chain table"):
        plain.expire_changes("1 d")


def test_it_prints_what_went_and_what_was_kept(days: Days) -> None:
    planned = days.main.expire_changes("2025-08-09", dry_run=True)
    lines = str(planned).splitlines()
    assert lines[0].startswith("would drop the changes of 5 partitions (5 files, ")
    assert lines[1:6] == [f"  date=2025080{day}" for day in range(2, 7)]
    assert lines[6:10] == ["without a view from now on:", *(f"  date=2025080{day}" for day in (2, 4, 5))]
    assert lines[10:] == [f"  kept date=2025080{day}: later days are merged from it" for day in (7, 8)]
    assert repr(planned) == f"<ChangesExpiry: {lines[0].removesuffix(':')}>"
    assert str(days.main.expire_changes("2025-08-09")).startswith("dropped the changes of 5 partitions (")
    assert str(ChangesExpiry()) == "dropped no changes"
