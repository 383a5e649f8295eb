"""Expiry of partitions by segments, and of snapshots of each branch by its own rules."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.chain.days import Days, new_table, partition

from lakebed import Lake, changes
from lakebed.chain.layout import Link
from lakebed.chain.maintenance.expire_chain import expire_chain_partitions, expire_main_partitions, old_segments
from lakebed.errors import OptionError


def link(text: str, group: str = "eu") -> Link:
    moment = dt.datetime.strptime(f"2025{text}", "%Y%m%d")
    return Link(f"{group}{text}".encode(), {"region": group, "date": text}, (group,), moment)


def texts(links: Any) -> list[str]:
    return [one.encoded.decode() for one in links]


CUTOFF = dt.datetime(2025, 3, 1)


@pytest.mark.parametrize(
    ("fulls", "deltas", "most", "expected"),
    [
        # The example of the format: what is at the limit is not older than it.
        ("0101 0201 0301", "0110 0210 0315", 10, [("0101", "0110")]),
        ("0101 0201 0228", "0110 0210 0227 0228", 10, [("0101", "0110"), ("0201", "0210 0227")]),
        ("0101 0201 0228", "0110 0210", 1, [("0101", "0110")]),
        # Changes before the first full partition go with it.
        ("0105 0201 0301", "0101 0102 0105 0110", 10, [("0105", "0101 0102 0105 0110")]),
        # Fewer than two old ones: nothing goes, however old.
        ("0101", "0102 0103", 10, []),
        ("0101 0301", "0102 0103", 10, []),
        ("", "0101 0102", 10, []),
        ("0301 0401", "0101 0102", 10, []),
        ("0101 0201", "", 10, [("0101", "")]),
    ],
)
def test_segments(fulls: str, deltas: str, most: int, expected: list[tuple[str, str]]) -> None:
    found = old_segments(
        [link(text) for text in fulls.split()], [link(text) for text in deltas.split()], frozenset(), CUTOFF, most
    )
    assert [(texts(one.full), texts(one.deltas)) for one in found] == [
        ([f"eu{text}" for text in full.split()], [f"eu{text}" for text in delta.split()]) for full, delta in expected
    ]


def test_groups_have_segments_of_their_own_and_stale_ones_begin_none() -> None:
    fulls = [link("0101"), link("0115"), link("0201"), link("0101", "us"), link("0102", "us")]
    deltas = [link("0110"), link("0120"), link("0205"), link("0101", "us")]
    found = old_segments(fulls, deltas, frozenset({b"eu0115"}), CUTOFF, 10)
    assert [(texts(one.full), texts(one.deltas)) for one in found] == [
        (["eu0101", "eu0115"], ["eu0110", "eu0120"]),
        (["us0101"], ["us0101"]),
    ]
    assert old_segments(fulls, deltas, frozenset({b"eu0201", b"us0102"}), CUTOFF, 10)[0].full[0].encoded == b"eu0101"


@pytest.fixture
def days(lake: Lake) -> Days:
    made = new_table(lake)
    made.load(1, {1: "a"})
    for day in (2, 3, 4, 5, 6):
        made.change(day, {day: f"d{day}"})
    made.main.compact_chain(partition(3))
    made.main.compact_chain(partition(5))
    return made


NOW = dt.datetime(2025, 8, 14)


def expire(days: Days, **given: Any) -> list[int]:
    found = expire_chain_partitions(days.chain, expiration_time="8 d", now=NOW, **given)
    return [int(one["date"][-2:]) for one in found]


def test_what_stays_reads_as_before_and_is_not_stale(days: Days) -> None:
    views = {day: days.view(day) for day in (5, 6)}
    assert expire(days, dry_run=True) == [1, 2, 3, 4]
    assert days.days("snapshot") == [1, 3, 5]
    assert expire(days) == [1, 2, 3, 4]
    assert days.days("snapshot") == [5]
    assert days.days("delta") == [5, 6]
    assert {day: days.view(day) for day in (5, 6)} == views
    assert days.stale() == []
    assert expire(days) == []
    assert days.main.verify().problems == ()
    days.change(7, {7: "g"})  # whoever looks for unfinished work finds none
    assert days.days("snapshot") == [5]


def test_at_most_so_many_segments_go_at_once(days: Days) -> None:
    assert expire(days, max_expires=1) == [1, 2]
    assert expire(days, max_expires=1) == [3, 4]


def test_through_the_table_and_by_its_options(days: Days) -> None:
    days.main.write([{"k": 1, "v": "own", "date": "20250801"}])
    found = days.main.expire_partitions(expiration_time="1 d", dry_run=True)
    assert [int(one["date"][-2:]) for one in found] == [1, 2, 3, 4]
    for name, value in (("strategy", "update-time"), ("timestamp_pattern", "$date"), ("timestamp_formatter", "yyyy")):
        with pytest.raises(OptionError, match=r"expire by their values|define the times of its partitions"):
            days.main.expire_partitions(expiration_time="1 d", **{name: value})  # type: ignore[arg-type]
    for branch in (days.full, days.delta):
        with pytest.raises(OptionError, match="in both branches together"):
            branch.expire_partitions(expiration_time="1 d")
    with pytest.raises(OptionError, match="has no expiration time for partitions"):
        days.main.expire_partitions()
    days.main.alter(
        changes.SetOption("partition.expiration-time", "1 d"),
        changes.SetOption("end-input.check-partition-expire", "true"),
    )
    days.change(6, {66: "x"})  # a commit to a branch lets old partitions go, of both
    assert days.days("snapshot") == [5]
    assert days.days("delta") == [5, 6]
    assert days.main.scan(where="date = '20250801'").to_arrow().num_rows == 0
    assert expire_main_partitions(days.chain, now=NOW) == []


def test_changes_that_come_while_it_expires_keep_their_anchor(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakebed.chain.maintenance import expire_chain as module

    drop = module._drop

    def raced(chain: Any, role: Any, links: Any) -> None:
        drop(chain, role, links)
        if role == "delta":
            monkeypatch.setattr(module, "_drop", drop)
            days.change(2, {2: "late"})

    monkeypatch.setattr(module, "_drop", raced)
    with pytest.raises(OptionError, match="date=20250801 cannot be dropped"):
        expire(days)
    assert days.view(2) == {1: "a", 2: "late"}
    assert days.days("snapshot") == [1, 3, 5]


def test_snapshots_of_a_branch_expire_by_its_own_options(lake: Lake) -> None:
    days = new_table(lake)
    days.main.alter(
        changes.SetOption("snapshot.num-retained.max", "100"), changes.SetOption("snapshot.num-retained.min", "100")
    )
    days.delta.alter(
        changes.SetOption("snapshot.num-retained.min", "2"), changes.SetOption("snapshot.num-retained.max", "2")
    )
    days.load(1, {1: "a"})
    for day in range(2, 7):
        days.change(day, {day: "x"})
        days.full.write(days.rows(1, {1: f"a{day}"}).drop(["op"]))
    assert len(days.delta.snapshots()) == 2
    assert len(days.full.snapshots()) > 5
    assert days.view(6) == {1: "a6", **dict.fromkeys(range(2, 7), "x")}
    assert days.main.verify(deep=True).problems == ()
