"""Which full partitions are stale: by the log, by snapshots alone, after a rollback, and at earlier times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.chain.days import Days, as_dict, codes, date_of, new_table, partition
from tests.places import stored_path

from lakebed import Lake
from lakebed.chain import write_rules as writes
from lakebed.chain.branch_log import forget_logs, sidecar_path
from lakebed.chain.staleness import ChainState, stale_partitions


@pytest.fixture
def days(lake: Lake) -> Days:
    """A full day 1, changes of days 2 to 6, full days 3 (of 1) and 5 (of 3)."""
    made = new_table(lake)
    made.load(1, {1: "a"})
    for day in range(2, 7):
        made.change(day, {day: f"d{day}"})
    made.main.compact_chain(partition(3))
    made.main.compact_chain(partition(5))
    return made


def sidecars(days: Days) -> list[Path]:
    return [stored_path(sidecar_path(store)) for store in (days.chain.full, days.chain.delta)]


def test_nothing_is_stale_at_first(days: Days) -> None:
    assert days.stale() == []
    assert days.view(5) == {1: "a", 2: "d2", 3: "d3", 4: "d4", 5: "d5"}


@pytest.mark.parametrize(("day", "stale"), [(2, [3, 5]), (3, [5]), (4, [5]), (5, []), (6, [])])
def test_overwriting_changes_makes_later_full_partitions_stale(days: Days, day: int, stale: list[int]) -> None:
    days.overwrite_changes(day, {day: "new"})
    assert days.stale() == stale
    expected = {1: "a", **{number: f"d{number}" for number in range(2, 7)}, day: "new"}
    for number in range(2, 7):
        assert days.view(number) == {key: value for key, value in expected.items() if key <= number}


def test_a_stale_partition_is_built_anew_without_being_asked_to_overwrite(days: Days) -> None:
    days.overwrite_changes(2, {2: "new"})
    done = days.main.compact_chain(where="date >= '20250803'")
    assert [one.partition["date"][-1] for one in done.built] == ["3", "4", "5", "6"]
    assert days.stale() == []
    assert days.view(6) == {1: "a", 2: "new", 3: "d3", 4: "d4", 5: "d5", 6: "d6"}
    assert as_dict(days.full.scan(where="date = '20250805'").to_arrow())[2] == "new"


def test_rebuilding_the_anchor_does_not_heal_what_was_built_on_it(days: Days) -> None:
    days.overwrite_changes(2, {2: "new"})
    days.main.compact_chain(partition(3))
    assert days.stale() == [5]
    days.main.compact_chain(partition(5))
    assert days.stale() == []


def test_an_emptied_and_rebuilt_anchor_leaves_the_rest_stale(days: Days) -> None:
    days.overwrite_changes(3, {3: "new"})
    assert days.days("snapshot") == [1, 5]
    days.main.compact_chain(partition(3))
    assert days.stale() == [5]


def test_overwriting_the_anchor_by_hand_makes_what_was_built_on_it_stale(days: Days) -> None:
    days.load(3, {7: "hand"})
    assert days.stale() == [5]
    assert days.view(5) == {7: "hand", 4: "d4", 5: "d5"}


def test_a_partition_overwritten_by_hand_has_no_lineage_and_is_not_stale(days: Days) -> None:
    days.load(5, {7: "hand"})
    days.overwrite_changes(2, {2: "new"})
    assert days.stale() == [3]
    assert days.view(5) == {7: "hand"}


def test_appends_make_nothing_stale_but_show_in_verify(days: Days) -> None:
    days.change(2, {2: "late"})
    assert days.stale() == []
    report = days.main.verify()
    assert codes(report.problems) == ["chain-late"]
    assert "date=20250802" in report.problems[0].what
    days.main.compact_chain(partition(3), overwrite=True)
    assert days.stale() == [5]
    days.main.compact_chain(partition(5))
    assert codes(days.main.verify().problems) == []
    assert days.view(5)[2] == "late"


def test_compactions_of_a_branch_change_nothing(days: Days) -> None:
    days.change(2, {22: "x"})
    days.delta.compact(full=True)
    days.full.compact(full=True)
    days.delta.rescale(3)
    assert days.stale() == []


def test_letting_go_of_lost_files_replaces_nothing(days: Days) -> None:
    for path in stored_path(days.main.path).glob("date=20250803/bucket-0/*.parquet"):
        if days.delta.scan(where="date = '20250803'").plan().files["file_path"][0].as_py().endswith(path.name):
            path.unlink()
            break
    assert len(days.delta.remove_missing_files(dry_run=False)) == 1
    days.change(6, {6: "again"})
    assert days.days("snapshot") == [1, 3, 5]
    assert days.stale() == []


def test_dropping_changes_makes_nothing_stale(days: Days) -> None:
    before = days.view(5)
    days.delta.drop_partition(partition(4), force=True)
    assert days.stale() == []
    assert days.view(5) == before


def test_overwriting_changes_with_no_rows_makes_later_full_partitions_stale(days: Days) -> None:
    days.delta.overwrite(days.rows(4, {}).drop(["op"]), partition(4))
    assert days.stale() == [5]
    assert days.view(5) == {1: "a", 2: "d2", 3: "d3", 5: "d5"}


def test_what_cannot_be_built_again_stays_in_use(days: Days, lake: Lake) -> None:
    made = new_table(lake, "db.u")
    made.change(1, {1: "a"})
    made.change(2, {2: "b"})
    made.main.compact_chain(partition(2))
    made.delta.drop_partition(partition(1), force=True)
    assert made.stale() == []
    made.overwrite_changes(1, {1: "back"})
    assert made.stale() == [2]
    made.delta.drop_partition(partition(1), force=True)
    assert made.stale() == []
    assert codes(made.main.verify().warnings) == ["chain-outdated"]
    assert made.view(2) == {1: "a", 2: "b"}


# ------------------------------------------------------------------------------------------------------- the sidecars


def test_without_sidecars_the_snapshots_tell_the_same(days: Days) -> None:
    days.overwrite_changes(2, {2: "new"})
    for path in sidecars(days):
        path.unlink()
    assert days.stale() == [3, 5]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 1}', b'{"version": 99, "upto": 3}', b"\xff\xfe"])
def test_sidecars_that_make_no_sense_do_no_harm(days: Days, content: bytes) -> None:
    days.overwrite_changes(2, {2: "new"})
    for path in sidecars(days):
        path.write_bytes(content)
    assert days.stale() == [3, 5]


def test_what_expired_is_known_from_the_sidecars(days: Days) -> None:
    days.overwrite_changes(2, {2: "new"})
    assert days.stale() == [3, 5]
    for branch in (days.full, days.delta):
        branch.write(days.rows(1 if branch.branch_name == "snapshot" else 6, {1: "z"}).drop(["op"]))
        branch.expire_snapshots(retain_max=1, retain_min=1, older_than=2**53)
        assert len(branch.snapshots()) == 1
    assert days.stale() == [3, 5]
    for path in sidecars(days):
        path.unlink()
    assert days.stale() == []  # what nobody can know any more counts as if it had not happened


def test_a_rollback_takes_the_mark_back(days: Days) -> None:
    before = days.delta.latest_snapshot()
    assert before is not None
    days.overwrite_changes(2, {2: "new"})
    assert days.stale() == [3, 5]
    days.delta.rollback_to(snapshot=before.id)
    assert days.stale() == []
    days.change(6, {66: "other"})  # takes the id of the overwrite
    assert ChainState.latest(days.chain).stale == frozenset()
    assert days.stale() == []


def test_a_rollback_of_the_full_branch_takes_a_build_back(days: Days) -> None:
    days.full.rollback_to(snapshot=2)
    assert days.days("snapshot") == [1, 3]
    days.overwrite_changes(2, {2: "new"})
    assert days.stale() == [3]


def test_earlier_moments_have_their_own_truth(days: Days) -> None:
    delta, full = days.delta.latest_snapshot(), days.full.latest_snapshot()
    days.overwrite_changes(2, {2: "new"})
    assert stale_partitions(days.chain, full, delta) == frozenset()
    assert len(stale_partitions(days.chain, full, days.delta.latest_snapshot())) == 2
    days.main.compact_chain(where="date >= '20250803'")
    assert stale_partitions(days.chain, full, delta) == frozenset()
    assert stale_partitions(days.chain, days.full.latest_snapshot(), days.delta.latest_snapshot()) == frozenset()
    assert len(stale_partitions(days.chain, full, days.delta.latest_snapshot())) == 2
    assert stale_partitions(days.chain, None, delta) == frozenset()
    assert stale_partitions(days.chain, full, None) == frozenset()


def test_the_log_forgets_builds_that_nobody_stands_on(days: Days) -> None:
    for _ in range(5):
        days.main.compact_chain(partition(3), overwrite=True)
    days.state().full_log  # noqa: B018 - is read for it
    raw = json.loads(sidecars(days)[0].read_text())
    assert raw["upto"] == days.full.latest_snapshot().id  # type: ignore[union-attr]


def test_a_read_only_warehouse_is_read(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    days.overwrite_changes(2, {2: "new"})
    for path in sidecars(days):
        path.unlink()

    def refuse(*_: object, **__: object) -> None:
        from lakebed.errors import StorageError

        raise StorageError("read-only")

    monkeypatch.setattr(type(days.chain.full.storage), "replace", refuse)
    assert days.stale() == [3, 5]
    assert not any(path.exists() for path in sidecars(days))


# ---------------------------------------------------------------------------- dying between the commits of two branches


def test_a_crash_between_the_two_commits_is_noticed_and_finished(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    days.load(4, {1: "by hand"})

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(writes, "truncate", die)
        with pytest.raises(KeyboardInterrupt):
            days.overwrite_changes(4, {4: "new"})
    forget_logs()
    assert 4 in days.days("snapshot")
    assert days.stale() == [4, 5]
    report = days.main.verify()
    assert sorted(codes(report.warnings)) == ["chain-lost-truncation", "chain-stale"]
    expected = {1: "a", 2: "d2", 3: "d3", 4: "new"}
    assert days.view(4) == expected
    days.change(6, {6: "again"})  # the next operation on either branch
    assert days.days("snapshot") == [1, 3, 5]
    assert days.stale() == [5]
    assert days.view(4) == expected


def test_a_lost_truncation_is_noticed_without_snapshots_and_sidecars(
    days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    days.load(4, {1: "by hand"})
    with monkeypatch.context() as patched:
        patched.setattr(writes, "truncate", lambda *_: None)
        days.overwrite_changes(4, {4: "new"})
    days.full.expire_snapshots(retain_max=1, retain_min=1, older_than=2**53)
    for path in sidecars(days):
        path.unlink(missing_ok=True)
    forget_logs()
    assert 4 in days.stale()
    assert days.view(4) == {1: "a", 2: "d2", 3: "d3", 4: "new"}


def test_a_truncation_that_came_too_late_does_not_cost_the_base(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    made = new_table(days.lake, "db.u")
    made.load(1, {1: "a"})
    with monkeypatch.context() as patched:
        patched.setattr(writes, "truncate", lambda *_: None)
        made.overwrite_changes(1, {5: "e"})
        patched.setattr(writes, "finish_truncations", lambda *_: None)
        made.change(2, {2: "b"})  # by somebody who does not know, so now day 1 is needed
    assert made.stale() == []
    made.change(3, {3: "c"})
    assert made.view(date := 3) == {1: "a", 2: "b", 3: "c"}
    assert date_of(date) == "20250803"
