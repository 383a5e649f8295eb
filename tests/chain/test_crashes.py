"""Writers of chain tables that fail at any step, or run at the same time: every day shows the old or the new state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.chain.days import Days, date_of, new_table, partition
from tests.effort import STRIDE
from tests.faults.storage import CHANGES, Fault, Faulty
from tests.lakes import open_lake
from tests.places import copy_tree, delete_tree, stored_path
from tests.races.crew import together

from lakebed import Lake, LakebedError
from lakebed.chain.branch_log import forget_logs
from lakebed.errors import CommitConflictError

Act = Callable[[Days], object]


def prepare(folder: Path) -> Days:
    """Day 1 is full, days 2 to 4 are changes, day 3 was built, and day 2 is full by hand."""
    days = new_table(open_lake(folder))
    days.load(1, {1: "a"})
    for day in (2, 3, 4):
        days.change(day, {day: f"d{day}"})
    days.main.compact_chain(partition(3))
    days.load(2, {1: "hand"})
    return days


def overwrite(days: Days) -> None:
    days.overwrite_changes(2, {2: "new"})


def build(days: Days) -> object:
    return days.main.compact_chain(partition(4))


def rebuild(days: Days) -> object:
    return days.main.compact_chain(partition(3), overwrite=True)


def clean_up(days: Days) -> object:
    return days.main.expire_changes("2025-08-09")


def views(days: Days) -> list[tuple[str, int, str]]:
    """Every row of days 1 to 5, which has no changes of its own."""
    rows = days.main.scan(where=f"date IN ({', '.join(repr(date_of(day)) for day in range(1, 6))})").to_arrow()
    return sorted((row["date"], row["k"], row["v"]) for row in rows.to_pylist())


@pytest.mark.scales
@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (overwrite, Fault.BEFORE),
        (overwrite, Fault.AFTER),
        (build, Fault.BEFORE),
        (rebuild, Fault.AFTER),
        (clean_up, Fault.BEFORE),
        (clean_up, Fault.AFTER),
    ],
)
def test_a_fault_at_any_step_that_changes_something(tmp_path: Path, act: Act, fault: Fault) -> None:
    prepare(tmp_path / "start")
    copy_tree(tmp_path / "start", tmp_path / "whole")
    counting = Faulty()
    counting.arm()
    act(Days(Lake(str(tmp_path / "whole"), counting, {}), "db.t"))
    counting.disarm()
    forget_logs()
    whole = Days(open_lake(tmp_path / "whole"), "db.t")
    before, after = views(Days(open_lake(tmp_path / "start"), "db.t")), views(whole)
    committed = whole.delta.latest_snapshot(), whole.full.latest_snapshot()
    assert None not in committed

    changing = [number for number, step in enumerate(counting.steps, 1) if step in CHANGES]
    for at in changing[::STRIDE]:
        folder = tmp_path / f"at-{at}"
        copy_tree(tmp_path / "start", folder)
        forget_logs()
        faulty = Faulty(at, fault)
        faulty.arm()
        try:
            act(Days(Lake(str(folder), faulty, {}), "db.t"))
        except (LakebedError, OSError):
            pass
        finally:
            faulty.disarm()
        forget_logs()
        days = Days(open_lake(folder), "db.t")
        found = views(days)
        assert found in (before, after), (at, faulty.hit)
        days.change(9, {9: "next"})  # finishes what was begun
        assert views(days) == found, (at, faulty.hit)
        assert days.state().lost_truncations == frozenset()
        delete_tree(folder)


# ---------------------------------------------------------------------------------------------------- real processes


def compact_again_and_again(folder: str, count: int) -> int:
    days, built = Days(open_lake(stored_path(folder)), "db.t"), 0
    for number in range(count):
        try:
            built += bool(days.main.compact_chain(partition(3 + number % 2), overwrite=True))
        except CommitConflictError:
            continue
    return built


def overwrite_again_and_again(folder: str, count: int) -> int:
    days = Days(open_lake(stored_path(folder)), "db.t")
    for number in range(count):
        days.overwrite_changes(2 + number % 2, {2 + number % 2: f"run {number}", 10 + number: "x"})
    return count


def look_again_and_again(folder: str, count: int) -> list[Any]:
    """The row of the anchor, as it is seen on day 4."""
    days = Days(open_lake(stored_path(folder)), "db.t")
    return [days.view(4).get(1) for _ in range(count)]


def test_overwrites_race_with_compactions(tmp_path: Path) -> None:
    days = prepare(tmp_path)
    folder = str(tmp_path)
    _, overwritten, seen = together(
        [
            (compact_again_and_again, (folder, 6)),
            (overwrite_again_and_again, (folder, 6)),
            (look_again_and_again, (folder, 8)),
        ]
    )
    assert overwritten == 6
    assert set(seen) <= {"a", "hand"}  # the row of the anchor is never lost
    forget_logs()
    expected = {1: "a", 2: "run 4", 14: "x"}
    assert days.view(2) == expected
    expected |= {3: "run 5", 15: "x"}
    assert days.view(3) == expected
    assert days.view(4) == {**expected, 4: "d4"}
    days.main.compact_chain(where="date >= '20250802'")
    assert days.stale() == []
    assert days.view(4) == {**expected, 4: "d4"}
    assert days.main.verify(deep=True).errors == ()
