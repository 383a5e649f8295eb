"""What each partition is read from: named cases, and random sets of partitions compared with a simple model."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.chain.layout import Link
from lakebed.chain.reading.plan_views import Kind, View, plan_views


def link(day: int, group: str = "") -> Link:
    values = {"region": group, "dt": f"2025{day:04d}"}
    moment = dt.datetime(2025, 1, 1) + dt.timedelta(days=day)
    return Link(f"{group}{day}".encode(), values, (group,), moment)


def links(days: Sequence[int], group: str = "") -> list[Link]:
    return [link(day, group) for day in days]


def shown(views: Sequence[View]) -> list[tuple[str, str, str | None, list[str]]]:
    return [
        (
            view.partition.encoded.decode(),
            str(view.kind),
            None if view.anchor is None else view.anchor.encoded.decode(),
            [delta.encoded.decode() for delta in view.deltas],
        )
        for view in views
    ]


@pytest.mark.parametrize(
    ("full", "delta", "more", "expected"),
    [
        pytest.param([1], [], {}, [("1", "full", None, [])], id="a full partition is read as it is"),
        pytest.param([1], [1], {}, [("1", "full", None, [])], id="changes of a full day are in it already"),
        pytest.param(
            [1], [2, 3], {"asked": {b"3"}}, [("3", "chain", "1", ["2", "3"])], id="the anchor and all deltas after it"
        ),
        pytest.param(
            [1, 3], [2, 3, 4], {"asked": {b"4"}}, [("4", "chain", "3", ["4"])], id="the latest anchor, no older deltas"
        ),
        pytest.param([5], [1, 2], {"asked": {b"2"}}, [("2", "chain", None, ["1", "2"])], id="a later one is no anchor"),
        pytest.param(
            [1], [2], {"named": [9], "asked": set()}, [("9", "carried", "1", ["2"])], id="a named day without changes"
        ),
        pytest.param([4], [], {"named": [1], "asked": set()}, [], id="nothing at or before a named day"),
        pytest.param([1], [2], {"named": [2], "asked": {b"2"}}, [("2", "chain", "1", ["2"])], id="a named day that is"),
        pytest.param([1], [2], {"hidden": {b"2"}, "asked": {b"2"}}, [], id="main has it"),
        pytest.param([1], [3], {"hidden": {b"2"}, "named": [2], "asked": set()}, [], id="main has a named day"),
        pytest.param(
            [1, 2],
            [2, 3],
            {"skipped": {b"2"}},
            [("1", "full", None, []), ("2", "chain", "1", ["2"]), ("3", "chain", "1", ["2", "3"])],
            id="a stale partition is neither read nor an anchor",
        ),
        pytest.param([1, 2], [], {"skipped": {b"2"}, "asked": {b"2"}}, [("2", "chain", "1", [])], id="stale, no delta"),
        pytest.param([2], [], {"skipped": {b"2"}}, [], id="stale, and nothing to build it from"),
    ],
)
def test_rules(
    full: list[int], delta: list[int], more: dict[str, Collection[object]], expected: list[tuple[object, ...]]
) -> None:
    given_named = [link(int(str(day))) for day in more.get("named", ())]
    sets = {key: value for key, value in more.items() if key != "named"}
    views = plan_views(links(full), links(delta), gaps=given_named, **sets)  # type: ignore[arg-type]
    assert shown(views) == expected


def test_another_group_is_no_anchor() -> None:
    views = plan_views([link(3, "us"), link(1, "eu")], [link(4, "eu"), link(2, "us")], asked={b"eu4"})
    assert shown(views) == [("eu4", "chain", "eu1", ["eu4"])]


def test_views_come_by_group_and_time() -> None:
    views = plan_views([link(9, "a"), link(10, "a")], [link(11, "a"), link(1, "b")])
    assert [view.partition.encoded for view in views] == [b"a9", b"a10", b"a11", b"b1"]


DAYS = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["eu", "us"])), unique=True, max_size=12)


@given(full=DAYS, delta=DAYS, named=DAYS, hidden=DAYS, skipped=DAYS, asked=st.none() | DAYS)
def test_any_partitions_against_a_model(
    full: list[tuple[int, str]],
    delta: list[tuple[int, str]],
    named: list[tuple[int, str]],
    hidden: list[tuple[int, str]],
    skipped: list[tuple[int, str]],
    asked: list[tuple[int, str]] | None,
) -> None:
    def codes(days: list[tuple[int, str]]) -> set[bytes]:
        return {link(*one).encoded for one in days}

    views = plan_views(
        [link(*one) for one in full],
        [link(*one) for one in delta],
        gaps=[link(*one) for one in named],
        hidden=codes(hidden),
        skipped=codes(skipped),
        asked=None if asked is None else codes(asked),
    )
    usable = set(full) - set(skipped)
    expected: dict[tuple[int, str], tuple[Kind, int | None, list[int]]] = {}
    for one in {*full, *delta, *named} - set(hidden):
        exists = one in full or one in delta
        if exists and asked is not None and one not in asked:
            continue
        if one in usable:
            expected[one] = (Kind.FULL, None, [])
            continue
        before = [day for day, group in usable if group == one[1] and day < one[0]]
        anchor = max(before, default=None)
        changes = sorted(d for d, g in delta if g == one[1] and d <= one[0] and (anchor is None or d > anchor))
        if anchor is not None or changes:
            expected[one] = (Kind.CHAIN if exists else Kind.CARRIED, anchor, changes)
    found = {}
    for view in views:
        numbers = [(one.time - dt.datetime(2025, 1, 1)).days for one in view.deltas]
        anchor = None if view.anchor is None else (view.anchor.time - dt.datetime(2025, 1, 1)).days
        key = ((view.partition.time - dt.datetime(2025, 1, 1)).days, view.partition.group[0])
        assert key not in found
        found[key] = (view.kind, anchor, numbers)
    assert found == expected
