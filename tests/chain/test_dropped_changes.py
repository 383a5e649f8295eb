"""Dropping changes that full partitions hold is clean-up: no view at or after such a full partition changes by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.chain.days import Days, codes, new_table, partition
from tests.places import stored_path

from lakebed import Lake
from lakebed.chain.branch_log import sidecar_path
from lakebed.errors import OptionError
from lakebed.format.commit_facts import CHAIN_REPLACED, read_flag
from lakebed.metadata.commit.identity import Identity
from lakebed.operations.drop_partitions import drop_partitions


@pytest.fixture
def days(lake: Lake) -> Days:
    """A full day 22, changes of days 23 and 24, and the full day 24 that was built from them."""
    made = new_table(lake)
    made.load(22, {1: "a"})
    made.change(23, {2: "b"})
    made.change(24, {3: "c"})
    made.main.compact_chain(partition(24))
    return made


WHOLE = {1: "a", 2: "b", 3: "c"}


def drop_as_another_engine(days: Days, *dropped: int) -> None:
    """Drop changes as a writer does that records no facts and knows no rules."""
    store = days.chain.delta
    for day in dropped:
        assert drop_partitions(store, [partition(day)], Identity.of(store.schema())) is not None


def forget_sidecars(days: Days) -> None:
    for store in (days.chain.full, days.chain.delta):
        stored_path(sidecar_path(store)).unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------------ what is refused


def test_a_removal_that_changes_a_view_is_refused_and_names_the_day(days: Days) -> None:
    before = days.delta.latest_snapshot()
    with pytest.raises(OptionError, match=r"the view of date=20250823 would change\. Nothing was changed") as raised:
        days.delta.drop_partition(partition(23))
    assert "date=20250824" not in str(raised.value)
    assert "later days" not in str(raised.value)
    assert "expire_changes(before=...)" in str(raised.value)
    assert days.delta.latest_snapshot() == before
    assert (days.view(23), days.view(24)) == ({1: "a", 2: "b"}, WHOLE)


def test_changes_that_no_full_partition_holds_change_all_later_views(days: Days) -> None:
    days.change(25, {4: "d"})
    days.change(26, {5: "e"})
    with pytest.raises(OptionError, match="the view of date=20250825, date=20250826 and of later days would change"):
        days.delta.drop_partition(partition(25))
    with pytest.raises(OptionError, match="date=20250823, date=20250825, date=20250826 and of later days"):
        days.delta.truncate()
    assert days.view(26) == {**WHOLE, 4: "d", 5: "e"}


def test_a_day_that_main_shows_itself_does_not_change(days: Days) -> None:
    days.main.write([{"k": 9, "v": "main", "date": "20250823"}])
    days.delta.drop_partition(partition(23))
    assert (days.view(23), days.view(24)) == ({9: "main"}, WHOLE)


def test_other_groups_are_not_concerned(lake: Lake) -> None:
    days = new_table(lake, grouped=True)
    for region in ("eu", "us"):
        days.load(1, {1: region}, region)
        days.change(2, {2: region}, region)
    days.main.compact_chain(partition(2, "eu"))
    days.delta.drop_partition(partition(2, "eu"))
    with pytest.raises(OptionError, match="the view of region=us/date=20250802 and of later days would change"):
        days.delta.drop_partition(partition(2, "us"))
    assert days.view(2, "eu") == {1: "eu", 2: "eu"}


# ----------------------------------------------------------------------------------------------------- what is clean-up


def test_the_changes_of_a_built_day_may_go_and_the_full_partition_stays(days: Days) -> None:
    days.delta.drop_partition(partition(24))
    assert days.days("snapshot") == [22, 24]
    assert (days.stale(), days.view(23), days.view(24)) == ([], {1: "a", 2: "b"}, WHOLE)
    days.change(25, {4: "d"})  # the next write looks for unfinished work
    assert days.days("snapshot") == [22, 24]
    assert days.view(25) == {**WHOLE, 4: "d"}
    assert codes(days.main.verify().problems) == []


def drop_with_force(days: Days) -> None:
    days.delta.drop_partition(partition(23), force=True)


def drop_all_with_force(days: Days) -> None:
    days.delta.truncate(force=True)


@pytest.mark.parametrize(
    "drop", [drop_with_force, drop_all_with_force, lambda days: drop_as_another_engine(days, 23, 24)]
)
def test_views_of_full_partitions_do_not_change_whoever_drops(days: Days, drop: Callable[[Days], None]) -> None:
    drop(days)
    forget_sidecars(days)
    assert days.stale() == []
    assert days.view(24) == WHOLE
    days.change(25, {4: "d"})
    assert days.days("snapshot") == [22, 24]
    done = days.main.compact_chain(partition(25))
    assert [one.rows for one in done.built] == [4]
    assert (days.view(24), days.view(25)) == (WHOLE, {**WHOLE, 4: "d"})
    assert codes(days.main.verify().problems) == []


def test_a_day_without_its_changes_has_no_view(days: Days) -> None:
    """It would show the full partition before it, which is not its state."""
    assert days.view(23) == {1: "a", 2: "b"}
    moment = days.delta.latest_snapshot()
    assert moment is not None
    days.change(26, {5: "e"})
    drop_with_force(days)
    assert days.view(23) == {}
    assert days.view(22) == {1: "a"}
    assert days.view(25) == WHOLE  # a gap day after a full partition is what it was
    old = days.main.scan(where="date = '20250823'", timestamp=moment.time_millis).to_arrow()
    assert sorted(old["v"].to_pylist()) == ["a", "b"]


def test_without_a_later_full_partition_dropped_changes_never_happened(days: Days) -> None:
    days.change(25, {4: "d"})
    days.change(26, {5: "e"})
    days.delta.drop_partition(partition(25), force=True)
    assert (days.view(25), days.view(26)) == (WHOLE, {**WHOLE, 5: "e"})
    days.main.compact_chain(partition(26))
    days.overwrite_changes(26, {6: "f"})  # the full partition holds none of the dropped changes
    assert (days.view(25), days.view(26)) == (WHOLE, {**WHOLE, 6: "f"})


# ------------------------------------------------------------------------------------------------------- real deletions


def test_overwriting_changes_with_no_rows_deletes_them_from_full_partitions_too(days: Days) -> None:
    made = days.delta.overwrite(days.rows(23, {}).drop(["op"]), partition(23))
    assert made is not None
    assert read_flag(made.properties, CHAIN_REPLACED)
    forget_sidecars(days)
    assert days.stale() == [24]
    assert days.view(24) == {1: "a", 3: "c"}
    days.main.compact_chain(partition(24))
    assert (days.stale(), days.view(24)) == ([], {1: "a", 3: "c"})


def test_overwriting_the_changes_of_a_built_day_with_no_rows_empties_it(days: Days) -> None:
    days.delta.overwrite(days.rows(24, {}).drop(["op"]), partition(24))
    assert days.days("snapshot") == [22]
    assert days.view(24) == {1: "a", 2: "b"}


def test_what_records_a_drop_is_a_fact_and_not_the_name_of_the_operation(days: Days) -> None:
    dropped = days.delta.drop_partition(partition(23), force=True)
    assert dropped is not None
    assert not read_flag(dropped.properties, CHAIN_REPLACED)


# ---------------------------------------------------------------------- full partitions that alone hold dropped changes


def test_a_rebuild_does_not_lose_what_only_the_full_partition_holds(days: Days) -> None:
    drop_with_force(days)
    done = days.main.compact_chain(partition(24), overwrite=True)
    assert done.skipped == ((partition(24), "it holds changes that were dropped: date=20250823"),)
    assert days.view(24) == WHOLE


def test_overwriting_other_changes_does_not_lose_them_either(days: Days) -> None:
    days.change(21, {9: "early"})
    days.load(20, {8: "older"})
    days.main.compact_chain(partition(24), overwrite=True)
    drop_with_force(days)
    days.load(22, {1: "A"})  # the anchor of day 24
    assert days.view(24) == WHOLE
    assert codes(days.main.verify().warnings) == ["chain-outdated"]


def test_writing_the_dropped_changes_again_brings_the_chain_back(days: Days) -> None:
    drop_with_force(days)
    days.overwrite_changes(23, {2: "B"})
    assert days.stale() == [24]
    assert (days.view(23), days.view(24)) == ({1: "a", 2: "B"}, {**WHOLE, 2: "B"})


def test_a_full_partition_that_holds_dropped_changes_is_not_emptied(days: Days) -> None:
    drop_with_force(days)
    before = days.delta.latest_snapshot()
    with pytest.raises(OptionError, match=r"date=20250824 cannot be emptied.*holds the changes of date=20250823"):
        days.overwrite_changes(24, {3: "C"})
    assert days.delta.latest_snapshot() == before
    assert days.view(24) == WHOLE


def test_the_changes_of_its_own_day_may_be_written_again(days: Days) -> None:
    days.delta.drop_partition(partition(24))
    days.overwrite_changes(24, {3: "C"})
    assert days.days("snapshot") == [22]
    assert days.view(24) == {1: "a", 2: "b", 3: "C"}


@pytest.mark.parametrize(
    "way", [lambda days: days.full.drop_partition(partition(24)), lambda days: days.full.rollback_to(snapshot=1)]
)
def test_a_full_partition_that_holds_dropped_changes_is_not_dropped(days: Days, way: Callable[[Days], object]) -> None:
    drop_with_force(days)
    with pytest.raises(OptionError, match=r"date=20250824 cannot be .*it holds the changes of date=20250823"):
        way(days)
    assert days.view(24) == WHOLE


def test_a_hand_written_full_partition_holds_everything_before_it(days: Days) -> None:
    days.load(24, {7: "hand"})
    drop_with_force(days)
    with pytest.raises(OptionError, match="date=20250824 cannot be emptied"):
        days.overwrite_changes(24, {3: "C"})
    days.load(26, {7: "later"})
    days.change(25, {4: "d"})
    days.delta.drop_partition(partition(24))
    with pytest.raises(OptionError, match="date=20250824 cannot be dropped"):
        days.full.drop_partition(partition(24))
    assert days.view(25) == {7: "hand", 4: "d"}


def test_old_full_partitions_go_once_the_changes_after_them_are_gone(days: Days) -> None:
    with pytest.raises(OptionError, match=r"date=20250822 cannot be dropped.*expire_changes\(\) first"):
        days.full.drop_partition(partition(22))
    drop_with_force(days)
    days.full.drop_partition(partition(22))
    assert days.days("snapshot") == [24]
    assert (days.view(24), days.view(25)) == (WHOLE, WHOLE)
