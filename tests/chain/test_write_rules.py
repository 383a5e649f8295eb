"""The rules of writes to the branches of a chain table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.chain.days import Days, as_dict, new_table, partition
from tests.metadata.stores import files_below

from lakebed import Lake
from lakebed.errors import DataError, OptionError, UnsupportedError
from lakebed.format.snapshot import CommitKind
from lakebed.rows.keyed.keyed_compact import Compactor


@pytest.fixture
def days(lake: Lake) -> Days:
    return new_table(lake)


@pytest.fixture
def regions(lake: Lake) -> Days:
    return new_table(lake, grouped=True)


# ------------------------------------------------------------------------------------------------- times of partitions


@pytest.mark.parametrize("branch", ["snapshot", "delta"])
@pytest.mark.parametrize("value", ["2025-08-01", "20251301", "", None])
def test_values_that_make_up_no_time_are_refused_and_nothing_is_written(
    days: Days, tmp_path: Path, branch: str, value: str | None
) -> None:
    rows = pa.table({"k": pa.array([1], pa.int64()), "v": ["a"], "date": pa.array([value], pa.string())})
    table = days.main.branch(branch)
    before = files_below(tmp_path)
    for write in (table.write, table.overwrite):
        with pytest.raises(DataError, match="date"):
            write(rows)
    assert files_below(tmp_path) == before
    assert table.latest_snapshot() is None


def test_main_is_written_like_any_table(days: Days) -> None:
    days.load(1, {1: "full"})
    days.main.write([{"k": 1, "v": "main", "date": "20250801"}, {"k": 7, "v": "x", "date": "no day"}])
    assert days.view(1) == {1: "main"}


def test_single_rows_of_main_are_not_changed(days: Days) -> None:
    days.load(1, {1: "full"})
    with pytest.raises(UnsupportedError, match=r"write changes and deletes of rows to db\.t\$branch_delta"):
        days.main.delete("k = 1")
    days.full.delete("k = 1")
    assert days.view(1) == {}


@pytest.mark.parametrize("branch", ["snapshot", "delta"])
def test_partitions_that_main_only_shows_are_not_dropped_from_it(days: Days, branch: str) -> None:
    assert days.main.truncate() is None
    days.main.branch(branch).write(days.rows(1, {1: "theirs"}), row_kind="op")
    ways: list[Callable[[], object]] = [days.main.truncate, lambda: days.main.drop_partition(partition(1))]
    for drop in ways:
        with pytest.raises(UnsupportedError, match=r"of db\.t\$branch_delta or of db\.t\$branch_snapshot"):
            drop()
    assert days.main.drop_partition(partition(2)) is None
    days.main.write([{"k": 1, "v": "main", "date": "20250801"}])
    with pytest.raises(UnsupportedError):
        days.main.truncate()
    assert days.view(1) == {1: "main"}
    days.main.drop_partition(partition(1))
    assert days.view(1) == {1: "theirs"}


@pytest.mark.parametrize("dry_run", [False, True])
def test_main_does_not_become_one_of_its_branches(days: Days, dry_run: bool) -> None:
    days.load(1, {1: "full"})
    days.change(2, {2: "changed"})
    for branch in ("snapshot", "delta"):
        with pytest.raises(OptionError, match=f"branch '{branch}' of chain table db.t cannot become main"):
            days.main.fast_forward(branch, dry_run=dry_run)
    assert days.view(2) == {1: "full", 2: "changed"}
    days.main.create_branch("other").write([{"k": 5, "v": "other", "date": "20250805"}])
    days.main.fast_forward("other", dry_run=dry_run)


# --------------------------------------------------------------------------------------------- overwriting changes


def test_overwriting_changes_empties_the_full_partition_of_the_same_day(days: Days) -> None:
    days.load(1, {1: "a", 2: "b"})
    days.change(2, {2: "B"})
    days.main.compact_chain(partition(2))
    days.load(3, {9: "by hand"})
    days.overwrite_changes(2, {3: "c"})
    assert days.days("snapshot") == [1, 3]
    made = days.full.latest_snapshot()
    assert made is not None
    assert (made.commit_kind, made.operation) == (CommitKind.OVERWRITE, "TRUNCATE")
    assert days.view(2) == {1: "a", 2: "b", 3: "c"}
    assert days.view(3) == {9: "by hand"}


def test_appending_changes_empties_nothing(days: Days) -> None:
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    days.main.compact_chain(partition(2))
    days.change(2, {3: "late"})
    assert days.days("snapshot") == [1, 2]
    assert days.view(2) == {1: "a", 2: "b"}  # a full partition is whole: what comes later is not in it


def test_a_full_partition_written_after_the_overwrite_stays(days: Days) -> None:
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    days.overwrite_changes(2, {3: "c"})
    days.load(2, {5: "e"})
    days.change(3, {6: "f"})  # looks for what is to be finished
    assert days.view(2) == {5: "e"}
    assert days.stale() == []


def test_overwriting_one_group_does_not_touch_another(regions: Days) -> None:
    for region in ("eu", "us"):
        regions.load(1, {1: region}, region)
        regions.change(2, {2: region}, region)
        regions.main.compact_chain(partition(2, region))
    regions.overwrite_changes(2, {3: "new"}, "eu")
    assert regions.view(2, "eu") == {1: "eu", 3: "new"}
    assert regions.view(2, "us") == {1: "us", 2: "us"}
    left = regions.full.scan(["region", "date"]).to_arrow().to_pylist()
    assert {(row["region"], row["date"][-1]) for row in left} == {("eu", "1"), ("us", "1"), ("us", "2")}


@pytest.mark.parametrize(
    "act",
    [
        lambda days: days.overwrite_changes(1, {1: "z"}),
        lambda days: days.delta.overwrite(days.rows(1, {}).drop(["op"]), partition(1)),
    ],
)
def test_changes_whose_full_partition_is_needed_are_not_overwritten(days: Days, act: Callable[[Days], object]) -> None:
    days.change(1, {5: "e"})
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    before = days.delta.latest_snapshot()
    with pytest.raises(OptionError, match=r"date=20250801 cannot be emptied.*changes of date=20250802"):
        act(days)
    assert days.delta.latest_snapshot() == before
    assert days.view(2) == {1: "a", 2: "b"}


def test_all_changes_may_go_at_once_and_full_partitions_stay(days: Days) -> None:
    days.change(1, {5: "e"})
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    with pytest.raises(OptionError, match="the view of date=20250802 and of later days would change"):
        days.delta.truncate()
    days.delta.truncate(force=True)
    assert days.days("delta") == []
    assert days.days("snapshot") == [1]
    assert (days.view(1), days.view(2)) == ({1: "a"}, {1: "a"})


# -------------------------------------------------------------------------------- overwriting a branch as a whole


@pytest.mark.parametrize("branch", ["snapshot", "delta"])
@pytest.mark.parametrize("by_option", [True, False])
def test_a_static_overwrite_that_names_no_day_is_refused(
    days: Days, branch: str, by_option: bool, tmp_path: Path
) -> None:
    table = days.main.branch(branch)
    rows = [days.rows(day, {day: "x"}).drop(["op"]) for day in (1, 2, 3)]
    table.overwrite(pa.concat_tables(rows[:2]), dynamic=False)  # nothing else is there
    table.overwrite(pa.concat_tables(rows[:2]), dynamic=False)  # replaces what it writes
    before = files_below(tmp_path)
    opened = days.lake.table(f"db.t$branch_{branch}", options={"dynamic-partition-overwrite": False})
    with pytest.raises(OptionError) as raised:
        opened.overwrite(rows[0]) if by_option else table.overwrite(rows[0], dynamic=False)
    assert f"this overwrite of branch '{branch}' names no day, so it would also remove date=20250802" in str(
        raised.value
    )
    assert f"INSERT OVERWRITE `db.t$branch_{branch}` PARTITION (date = '...')" in str(raised.value)
    assert "spark.sql.sources.partitionOverwriteMode = dynamic" in str(raised.value)
    assert files_below(tmp_path) == before
    table.overwrite(rows[2], partition(3))
    table.overwrite(rows[0])
    assert days.days(branch) == [1, 2, 3]


def test_a_static_overwrite_of_a_group_names_no_day_either(regions: Days) -> None:
    for day in (1, 2):
        regions.change(day, {day: "eu"}, "eu")
    rows = regions.rows(2, {2: "new"}, "eu").drop(["op"])
    with pytest.raises(OptionError, match="would also remove region=eu/date=20250801"):
        regions.delta.overwrite(rows, {"region": "eu"})
    regions.delta.overwrite(rows, {"date": "20250802"})
    assert regions.view(2) == {1: "eu", 2: "new"}


# ------------------------------------------------------------------------------------------- dropping full partitions


def drop(days: Days) -> object:
    return days.full.drop_partition(partition(1))


def truncate(days: Days) -> object:
    return days.full.truncate()


def overwrite_with_nothing(days: Days) -> object:
    return days.full.overwrite(days.rows(1, {}).drop(["op"]), partition(1))


def overwrite_with_another_day(days: Days) -> object:
    return days.full.overwrite(days.rows(3, {1: "x"}).drop(["op"]), dynamic=False)


def roll_back(days: Days) -> object:
    return days.full.rollback_to(snapshot=1)


WAYS = [drop, truncate, overwrite_with_nothing, overwrite_with_another_day, roll_back]


@pytest.mark.parametrize("way", WAYS)
def test_an_anchor_that_changes_need_does_not_go(days: Days, way: Callable[[Days], object]) -> None:
    days.load(9, {9: "later"})
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    before = days.full.latest_snapshot()
    with pytest.raises(OptionError, match=r"full partition date=20250801 cannot be .*changes of date=20250802"):
        way(days)
    assert days.full.latest_snapshot() == before
    assert days.view(2) == {1: "a", 2: "b"}


@pytest.mark.parametrize("way", [way for way in WAYS if way is not overwrite_with_another_day])
def test_an_anchor_that_no_changes_need_goes(days: Days, way: Callable[[Days], object]) -> None:
    days.load(9, {9: "later"})
    days.load(1, {1: "a"})
    days.change(1, {1: "z"})  # of its own day, so it does not build on it
    if way is not truncate:
        days.change(9, {1: "z"})  # that day is full
        days.change(10, {1: "y"})
    way(days)
    assert 1 not in days.days("snapshot")


def test_an_anchor_goes_if_there_is_an_earlier_one(days: Days) -> None:
    days.load(1, {1: "a"})
    days.load(2, {2: "b"})
    days.change(3, {3: "c"})
    days.full.drop_partition(partition(2))
    assert days.view(3) == {1: "a", 3: "c"}
    with pytest.raises(OptionError, match="date=20250801 cannot be dropped"):
        days.full.drop_partition(partition(1))


def test_an_anchor_of_another_group_does_not_count(regions: Days) -> None:
    regions.load(1, {1: "us"}, "us")
    regions.load(2, {2: "eu"}, "eu")
    regions.change(3, {3: "eu"}, "eu")
    with pytest.raises(OptionError, match="region=eu/date=20250802 cannot be dropped"):
        regions.full.drop_partition(partition(2, "eu"))
    regions.full.drop_partition(partition(1, "us"))
    assert regions.view(3, "eu") == {2: "eu", 3: "eu"}


def test_a_dry_run_of_a_rollback_says_no_too(days: Days) -> None:
    days.load(9, {9: "later"})
    days.load(1, {1: "a"})
    days.change(2, {2: "b"})
    with pytest.raises(OptionError, match="cannot be rolled back"):
        days.full.rollback_to(snapshot=1, dry_run=True)
    days.delta.rollback_to(snapshot=1)  # the branch of changes has no such rule


# ------------------------------------------------------------------------------------------ deletes in the delta branch


@pytest.mark.parametrize("options", [{}, {"deletion-vectors__enabled": True}])
def test_deletes_survive_every_compaction_of_the_changes(lake: Lake, options: dict[str, Any]) -> None:
    days = new_table(lake, **options)
    days.load(1, {1: "a", 2: "b", 3: "c"})
    days.change(2, {4: "d", 5: "e"})
    days.change(2, {2: None, 4: None})
    expected = {1: "a", 3: "c", 5: "e"}
    assert days.view(2) == expected
    days.delta.compact(full=True)
    assert days.view(2) == expected
    levels = set(days.lake.system_table("db.t$branch_delta$files").scan(["level"]).to_arrow()["level"].to_pylist())
    assert 0 not in levels
    again = days.delta.compact(full=True)
    assert again is None  # nothing is left to do, though deletes are there
    own = days.delta.scan().to_arrow()
    assert own["k"].to_pylist() == [5]
    days.change(2, {2: "back"})
    days.delta.compact(full=True)
    assert days.view(2) == {**expected, 2: "back"}
    days.main.compact_chain(partition(2))
    assert days.view(2) == {**expected, 2: "back"}


def test_a_mark_that_is_the_only_trace_of_a_delete_becomes_one(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"deletion-vectors__enabled": True}
    days = new_table(lake, **options)
    days.load(1, {1: "a", 2: "b", 3: "c"})
    days.change(2, {2: "B", 3: "C", 4: "d"})
    with monkeypatch.context() as patched:  # as another writer does: a delete marks the older row, and is dropped
        patched.setattr(Compactor, "keeps_deletes", False)
        days.change(2, {2: None})
    days.change(2, {3: "CC"})
    expected = {1: "a", 3: "CC", 4: "d"}
    assert days.view(2) == expected
    days.delta.compact(full=True)
    assert days.view(2) == expected
    assert as_dict(days.delta.scan().to_arrow()) == {3: "CC", 4: "d"}
    assert days.delta.verify(deep=True).errors == ()


def test_deletes_survive_many_small_writes(lake: Lake) -> None:
    options: dict[str, Any] = {"num-sorted-run__compaction-trigger": 2}
    days = new_table(lake, **options)
    days.load(1, dict.fromkeys(range(20), "a"))
    for key in range(10):
        days.change(2, {key: None, 100 + key: "new"})
    assert sorted(days.view(2)) == [*range(10, 20), *range(100, 110)]


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": True}])
def test_a_full_partition_of_which_no_row_is_left_stays_an_anchor(lake: Lake, options: dict[str, Any]) -> None:
    """If a compaction dropped it, older changes would become visible again."""
    days = new_table(lake, **options)
    days.change(1, {9: "old"})
    days.load(2, {1: "a", 2: "b"})
    days.change(3, {3: "c"})
    days.full.compact(full=True)
    days.full.delete("date = '20250802'")
    for _ in range(2):
        assert (days.view(2), days.view(3)) == ({}, {3: "c"})
        days.full.compact(full=True)
    for key in range(8):  # until writes compact on their own
        days.full.write(days.rows(2, {key: "x"}), row_kind="op")
        days.full.delete("date = '20250802'")
    assert (days.view(2), days.view(3)) == ({}, {3: "c"})
    days.full.write(days.rows(2, {4: "d"}), row_kind="op")
    days.full.compact(full=True)
    assert days.view(3) == {3: "c", 4: "d"}
    assert days.main.verify(deep=True).errors == ()


def test_the_full_branch_and_plain_tables_drop_deletes_as_before(days: Days) -> None:
    days.load(1, {1: "a", 2: "b"})
    days.full.write(days.rows(1, {2: None}), row_kind="op")
    days.full.compact(full=True)
    counts = days.lake.system_table("db.t$branch_snapshot$files").scan().to_arrow()
    assert sum(counts["record_count"].to_pylist()) == 1
