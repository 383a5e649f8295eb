"""Compaction of chains: what is built, from what, and what the result tells."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.chain.days import Days, as_dict, new_table, partition
from tests.metadata.stores import files_below

from lakebed import Lake
from lakebed.chain.maintenance import compact_chain as compact
from lakebed.chain.maintenance.compact_chain import ChainPolicy
from lakebed.errors import CommitConflictError, DataError, OptionError, SchemaError
from lakebed.format.snapshot import CommitKind


@pytest.fixture
def days(lake: Lake) -> Days:
    """A full day 1 and changes of days 2 to 8."""
    made = new_table(lake)
    made.load(1, {1: "a", 2: "b"})
    for day in range(2, 9):
        made.change(day, {day: f"d{day}", 1: None} if day == 4 else {day: f"d{day}"})
    return made


def built(done: compact.ChainCompaction) -> list[tuple[int, int | None, int]]:
    """Day, anchor and depth of what was built."""
    return [
        (int(one.partition["date"][-2:]), None if one.anchor is None else int(one.anchor["date"][-2:]), one.depth)
        for one in done.built
    ]


def test_one_partition(days: Days) -> None:
    views = {day: days.view(day) for day in range(1, 9)}
    deltas = days.delta.latest_snapshot()
    done = days.main.compact_chain(partition(5))
    assert done
    assert built(done) == [(5, 1, 4)]
    (one,) = done.built
    assert (one.rows, one.delta_files, one.files_read) == (len(views[5]), 4, 5)
    assert one.bytes_read > one.delta_bytes > 0
    assert "built 1 full partition in " in str(done)
    assert {day: days.view(day) for day in range(1, 9)} == views
    assert as_dict(days.full.scan(where="date = '20250805'").to_arrow()) == views[5]
    made = days.full.latest_snapshot()
    assert made is not None
    assert (made.id, made.commit_kind) == (one.snapshot, CommitKind.APPEND)
    assert days.delta.latest_snapshot() == deltas


def test_what_is_full_already_is_left_alone(days: Days) -> None:
    days.main.compact_chain(partition(5))
    before = days.full.latest_snapshot()
    again = days.main.compact_chain(partition(5))
    assert not again
    assert again.skipped == (({"date": "20250805"}, "it is full already"),)
    assert not days.main.compact_chain(partition(1))
    assert not days.main.compact_chain(partition(20))
    assert days.full.latest_snapshot() == before


def test_overwrite_ignores_what_the_full_partition_holds(lake: Lake) -> None:
    days = new_table(lake, sequence__field="v")
    days.load(24, {3: "1"})
    days.load(25, {3: "2"})
    days.change(25, {4: "2"})
    assert days.view(25) == {3: "2"}
    assert not days.main.compact_chain(partition(25))
    assert built(days.main.compact_chain(partition(25), overwrite=True)) == [(25, 24, 1)]
    assert days.view(25) == {3: "1", 4: "2"}
    made = days.full.latest_snapshot()
    assert made is not None
    assert made.commit_kind is CommitKind.OVERWRITE


def test_a_range_is_built_one_upon_the_other(days: Days) -> None:
    done = days.main.compact_chain(where="date BETWEEN '20250803' AND '20250805'")
    assert built(done) == [(3, 1, 2), (4, 3, 1), (5, 4, 1)]
    assert days.view(5) == {2: "d2", 3: "d3", 4: "d4", 5: "d5"}


def test_progress_is_told_day_by_day_and_a_call_can_be_ended(days: Days) -> None:
    told: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        told.append((done, total))
        if done == 2:
            raise KeyboardInterrupt

    views = {day: days.view(day) for day in range(1, 9)}
    with pytest.raises(KeyboardInterrupt):
        days.main.compact_chain(where="date <= '20250804'", report=report)
    assert told == [(0, 3), (1, 3), (2, 3)]
    assert days.days("snapshot") == [1, 2, 3]
    days.main.compact_chain(where="date <= '20250804'", report=lambda *one: told.append(one))
    assert told[3:] == [(0, 1), (1, 1)]
    assert {day: days.view(day) for day in range(1, 9)} == views


def test_several_by_name(days: Days) -> None:
    assert built(days.main.compact_chain([partition(3), partition(6)])) == [(3, 1, 2), (6, 3, 3)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"depth": 3}, [(4, 1, 3), (7, 4, 3)]),
        (ChainPolicy(depth=7), [(8, 1, 7)]),
        ({"depth": 8}, []),
        ({"age": "3 d"}, [(4, 1, 3), (7, 4, 3)]),
        ({"age": dt.timedelta(days=6)}, [(7, 1, 6)]),
        ({"bytes": "1 b"}, [(day, day - 1, 1) for day in range(2, 9)]),
        ({"bytes": "1 gb"}, []),
        ({"bytes": "1 gb", "depth": 4}, [(5, 1, 4)]),
    ],
)
def test_a_policy_says_when(days: Days, policy: Any, expected: list[tuple[int, int, int]]) -> None:
    planned = days.main.compact_chain(policy=policy, dry_run=True)
    assert planned.dry_run
    assert built(planned) == expected
    assert days.days("snapshot") == [1]
    done = days.main.compact_chain(policy=policy)
    assert built(done) == expected
    assert built(days.main.compact_chain(policy=policy)) == []


def test_a_dry_run_tells_cost_and_gain_and_changes_nothing(days: Days, tmp_path: Path) -> None:
    before = files_below(tmp_path)
    planned = days.main.compact_chain(partition(5), dry_run=True)
    (plan,) = planned.built
    assert files_below(tmp_path) == before
    assert (plan.rows, plan.bytes_written, plan.snapshot) == (None, None, None)
    assert "would build 1 full partition\n" in str(planned)
    (done,) = days.main.compact_chain(partition(5)).built
    assert (plan.bytes_read, plan.delta_bytes, plan.depth) == (done.bytes_read, done.delta_bytes, done.depth)


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ({}, "at least one of depth"),
        ({"depth": 0}, "a whole number from 1 on"),
        ({"depth": True}, "a whole number from 1 on"),
        ({"bytes": -1}, "a whole number from 1 on"),
        ({"age": "soon"}, "a value must be"),
        ({"age": dt.timedelta(0)}, "such as '7 d'"),
        ({"weight": 1}, "'weight' is not a limit"),
    ],
)
def test_bad_policies(days: Days, policy: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        days.main.compact_chain(policy=policy)


def test_bad_calls(days: Days) -> None:
    with pytest.raises(OptionError, match="needs at least one of partition=, where= and policy="):
        days.main.compact_chain()
    with pytest.raises(OptionError, match="must name values"):
        days.main.compact_chain({})
    with pytest.raises(SchemaError, match="unknown partition column 'day'"):
        days.main.compact_chain({"day": "1"})
    plain = days.lake.create_table("db.plain", "k INT", primary_key=["k"], options={"bucket": 1})
    with pytest.raises(OptionError, match="is not a chain table; enable_chain"):
        plain.compact_chain(policy={"depth": 1})


def test_a_day_that_has_no_changes_is_told_of(days: Days) -> None:
    for done in (days.main.compact_chain(partition(9)), days.main.compact_chain(where="date IN ('20250809')")):
        assert not done
        assert done.skipped == ((partition(9), "it has no changes of its own to build from"),)
    assert days.main.compact_chain(where="date > '20250809'").skipped == ()


@pytest.mark.parametrize("date", ["20250x03", "2025-08-03", "20250832"])
def test_a_day_that_is_no_time_is_refused(days: Days, date: str) -> None:
    with pytest.raises(DataError, match=date):
        days.main.compact_chain([partition(3), {"date": date}])
    assert days.days("snapshot") == [1]


def test_a_partition_without_the_group_means_every_group_in_one_commit(lake: Lake) -> None:
    days = new_table(lake, grouped=True)
    for region in ("eu", "us", "asia"):
        days.load(1, {1: region}, region)
    for region in ("eu", "us"):
        days.change(2, {2: region}, region)
    days.change(3, {3: "asia"}, "asia")
    before = days.full.latest_snapshot()
    done = days.main.compact_chain(partition(2))
    assert sorted(one.partition["region"] for one in done.built) == ["eu", "us"]
    assert days.full.latest_snapshot().id == before.id + 1  # type: ignore[union-attr]
    assert days.view(2, "us") == {1: "us", 2: "us"}
    assert days.view(3, "asia") == {1: "asia", 3: "asia"}
    days.overwrite_changes(2, {9: "x"}, "eu")
    state = days.state()
    assert state.stale == frozenset()
    assert [link.values["region"] for link in state.fulls if link.values["date"] == "20250802"] == ["us"]


def test_without_an_anchor_all_changes_are_built(lake: Lake) -> None:
    days = new_table(lake)
    for day in (1, 2, 3):
        days.change(day, {day: str(day)})
    assert built(days.main.compact_chain(partition(3))) == [(3, None, 3)]
    assert days.view(3) == {1: "1", 2: "2", 3: "3"}


def test_a_day_of_which_no_row_is_left_is_not_built(lake: Lake) -> None:
    days = new_table(lake)
    days.load(1, {1: "a"})
    days.change(2, {1: None})
    done = days.main.compact_chain(partition(2))
    assert not done
    assert done.skipped == (({"date": "20250802"}, "all its rows were deleted"),)
    assert days.view(2) == {}


@pytest.mark.parametrize("options", [{"merge-engine": "partial-update"}, {"deletion-vectors__enabled": True}])
def test_other_engines(lake: Lake, options: dict[str, Any]) -> None:
    days = new_table(lake, **options)
    days.load(1, {1: "a", 2: "b"})
    days.delta.write(days.rows(2, {1: "A", 3: "c"}).drop(["op"]))
    days.delta.write(days.rows(3, {2: "B"}).drop(["op"]))
    view = days.view(3)
    days.main.compact_chain(partition(3))
    assert days.view(3) == view == {1: "A", 2: "B", 3: "c"}
    assert as_dict(days.full.scan(where="date = '20250803'").to_arrow()) == view


def test_two_chain_columns_one_of_them_a_number(lake: Lake) -> None:
    table = lake.create_table(
        "db.h",
        "k BIGINT, v STRING, region STRING, dt STRING, hour INT",
        partition_by=["region", "dt", "hour"],
        primary_key=["region", "dt", "hour", "k"],
        options={
            "bucket": 1,
            "chain-table.enabled": True,
            "chain-table.chain-partition-keys": "dt,hour",
            "partition.timestamp-pattern": "$dt $hour:00:00",
            "partition.timestamp-formatter": "yyyyMMdd HH:mm:ss",
        },
    )

    def row(key: int, dt: str, hour: int, region: str = "eu") -> dict[str, Any]:
        return {"k": key, "v": f"{dt} {hour}", "region": region, "dt": dt, "hour": hour}

    full, delta = table.branch("snapshot"), table.branch("delta")
    full.write([row(1, "20250801", 22), row(1, "20250801", 22, "us")])
    for dt_text, hour in (("20250801", 23), ("20250802", 9), ("20250802", 10)):
        delta.write([row(hour, dt_text, hour), row(hour, dt_text, hour, "us")])
    done = table.compact_chain({"region": "eu", "dt": "20250802", "hour": "9"})
    assert [(one.partition["hour"], one.anchor["hour"], one.depth) for one in done.built if one.anchor] == [(9, 22, 2)]
    shown = as_dict(table.scan(where="region = 'eu' AND dt = '20250802' AND hour = 10").to_arrow())
    assert sorted(shown) == [1, 9, 10, 23]
    plan = table.compact_chain(policy={"depth": 1}, where="region = 'eu'", dry_run=True)
    assert [one.partition["hour"] for one in plan.built] == [23, 10]
    with pytest.raises(OptionError, match="region=us/dt=20250801/hour=22 cannot be dropped"):
        full.drop_partition({"region": "us"})
    delta.overwrite([row(5, "20250801", 23, "us")])  # another group: nothing of eu is stale
    assert table.verify().problems == ()


# -------------------------------------------------------------------------------------------------------------- races


def test_changes_overwritten_while_they_are_compacted_make_it_fail(
    days: Days, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = compact._build

    def raced(chain: Any, state: Any, views: Any, read: Any, engine: Any) -> Any:
        def read_and_wait(state: Any, views: Any) -> Any:
            rows = read(state, views).read_all()
            days.overwrite_changes(2, {2: "raced"})
            return rows

        return original(chain, state, views, read_and_wait, engine)

    with monkeypatch.context() as patched:
        patched.setattr(compact, "_build", raced)
        before = files_below(tmp_path)
        with pytest.raises(
            CommitConflictError, match="another commit overwrote what was being compacted; nothing was committed"
        ):
            days.main.compact_chain(partition(3))
    left = {name for name in files_below(tmp_path) - before if "date=20250803" in name}
    assert left == set()
    assert days.days("snapshot") == [1]


def test_a_commit_that_slips_past_the_last_look_is_stale(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_away(*_: object) -> None:
        with monkeypatch.context() as inner:
            inner.setattr(compact, "_check_unchanged", lambda *_: None)
            days.overwrite_changes(2, {2: "raced"})

    with monkeypatch.context() as patched:
        patched.setattr(compact, "_check_unchanged", look_away)
        days.main.compact_chain(partition(3))
    assert days.stale() == [3]
    assert days.view(3) == {1: "a", 2: "raced", 3: "d3"}


def test_two_compactions_of_one_partition_make_one(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    check = compact._check_unchanged

    def raced(*args: Any) -> None:
        monkeypatch.setattr(compact, "_check_unchanged", check)
        days.main.compact_chain(partition(3))
        check(args[0], days.full.latest_snapshot(), *args[2:])

    monkeypatch.setattr(compact, "_check_unchanged", raced)
    with pytest.raises(
        CommitConflictError, match="another commit wrote a full partition that was being built; nothing was committed"
    ):
        days.main.compact_chain(partition(3))
    assert days.view(3) == {1: "a", 2: "d2", 3: "d3"}
