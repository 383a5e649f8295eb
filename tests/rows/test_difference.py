"""Differences of multisets of rows, against Python's own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.rows.difference import not_in

SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("s", pa.string()),
        ("l", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), pa.int8())),
        ("r", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])),
    ]
)
FAR = st.sampled_from([0, 1, 2**62, -(2**63)])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | FAR,
            "s": st.none() | st.sampled_from(["", "a", "ab"]),
            "l": st.none() | st.lists(st.none() | st.integers(0, 1), max_size=2),
            "m": st.none() | st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), max_size=1),
            "r": st.none()
            | st.fixed_dictionaries(
                {"x": st.none() | st.just(1), "y": st.none() | st.lists(st.sampled_from("ab"), max_size=1)}
            ),
        }
    ),
    max_size=12,
)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """In two chunks, sliced out of something longer, as tables come."""
    whole = pa.Table.from_pylist([*rows[:1], *rows, *rows[:1]], SCHEMA)
    sliced = whole.slice(min(1, len(rows)), len(rows))
    half = len(rows) // 2
    return pa.concat_tables([sliced.slice(0, half), sliced.slice(half)])


def text(row: dict[str, Any]) -> str:
    """The same for equal rows, whatever the order of their keys."""
    return repr([(name, text(value) if isinstance(value, dict) else value) for name, value in sorted(row.items())])


@settings(max_examples=examples(150), deadline=None)
@given(rows=ROWS, others=ROWS, share=st.booleans())
def test_against_counters(rows: list[dict[str, Any]], others: list[dict[str, Any]], *, share: bool) -> None:
    if share:
        others = [*others, *rows[::2]]
    mask = not_in(table(rows), table(others))
    left = Counter(text(row) for row, keep in zip(rows, mask.tolist(), strict=True) if keep)
    assert left == Counter(map(text, rows)) - Counter(map(text, others))


def test_not_a_number_and_many_columns() -> None:
    nan = pa.table({"f": [float("nan"), 1.0, None]})
    assert not_in(nan, nan).tolist() == [False, False, False]
    wide = pa.table({str(i): pa.array([0, 2**30, i]) for i in range(9)})  # more than fits into one number
    assert not_in(wide, wide.slice(0, 1)).tolist() == [False, True, True]
    assert not_in(wide, wide.slice(0, 0)).tolist() == [True, True, True]
