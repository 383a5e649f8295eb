"""Grouping rows by key values, against the obvious way to do it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.rows.grouping import Group, group_rows

KEYS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), st.sampled_from(["", " ", "a", "b", "a\0", None])),
    (pa.int32(), st.sampled_from([0, 1, -1, None])),
    (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), None])),
    (pa.date32(), st.sampled_from([dt.date(2024, 1, 1), dt.date(2024, 1, 2), None])),
    (pa.bool_(), st.sampled_from([True, False, None])),
]


@st.composite
def keyed_rows(draw: st.DrawFn) -> tuple[pa.Table, list[pa.ChunkedArray], list[tuple[Any, ...]]]:
    """Rows numbered from 0, key columns in chunks of their own, and the keys of each row."""
    chosen = draw(st.lists(st.sampled_from(KEYS), min_size=0, max_size=4))
    count = draw(st.integers(0, 12))
    columns, values = [], []
    for kind, strategy in chosen:
        column = draw(st.lists(strategy, min_size=count, max_size=count))
        if draw(st.booleans()):
            column = sorted(column, key=repr)  # rows that already lie together
        values.append(column)
        cut = draw(st.integers(0, count))
        columns.append(pa.chunked_array([pa.array(column[:cut], kind), pa.array(column[cut:], kind)]))
    table = pa.table({"row": pa.array(range(count), pa.int64())})
    return table, columns, list(zip(*values, strict=True)) if values else [()] * count


def rows_of(group: Group) -> list[int]:
    rows: list[int] = group.rows["row"].to_pylist()
    return rows


@settings(max_examples=examples(150), deadline=None)
@given(keyed_rows())
def test_groups_are_those_of_brute_force(case: tuple[pa.Table, list[pa.ChunkedArray], list[tuple[Any, ...]]]) -> None:
    table, keys, of_row = case
    expected: dict[str, list[int]] = {}
    for row, key in enumerate(of_row):
        expected.setdefault(repr(key), []).append(row)
    groups = group_rows(table, keys)
    assert {repr(group.values): rows_of(group) for group in groups} == expected
    assert len(groups) == len(expected)


@pytest.mark.parametrize("together", [True, False])
def test_rows_that_lie_together_are_not_copied(together: bool) -> None:
    key = ["a", "a", "b", "b"] if together else ["a", "b", "a", "b"]
    table = pa.table({"row": pa.array(range(4), pa.int64())})
    groups = group_rows(table, [pa.chunked_array([key])])
    shared = [g.rows["row"].chunk(0).buffers()[1].address == table["row"].chunk(0).buffers()[1].address for g in groups]
    assert shared == [together, together]


def test_many_distinct_keys_do_not_run_into_each_other() -> None:
    """Six keys of 5000 values each have more combinations than 64 bits can number."""
    count = 5000
    random = np.random.default_rng(5)
    columns = [random.permutation(count) for _ in range(6)]
    table = pa.table({"row": pa.array(range(count), pa.int64())})
    groups = group_rows(table, [pa.chunked_array([pa.array(column)]) for column in columns])
    assert len(groups) == count
    for group in groups[::500]:
        (row,) = rows_of(group)
        assert group.values == tuple(int(column[row]) for column in columns)


def test_nothing_to_group() -> None:
    empty = pa.table({"row": pa.array([], pa.int64())})
    assert group_rows(empty, []) == []
    assert group_rows(empty, [pa.chunked_array([], pa.string())]) == []
