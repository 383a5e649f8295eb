"""Sorting by key against Python's own stable sort."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.rows.order import order_by_key

COLUMNS = {
    "bigint": (pa.int64(), st.sampled_from([-(2**63), -5, 0, 3, 2**62, 2**63 - 1])),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "decimal": (pa.decimal128(10, 2), st.decimals(-1000, 1000, places=2)),
    "wide decimal": (pa.decimal128(38, 2), st.decimals(Decimal("-1e30"), Decimal("1e30"), places=2)),
    "short bytes": (pa.binary(), st.binary(max_size=3)),
    "long bytes": (pa.binary(), st.binary(max_size=20)),
    "bytes with a prefix": (pa.binary(), st.binary(max_size=9).map(lambda tail: b"a common prefix " + tail)),
    "double": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, math.nan])),
    "float": (pa.float32(), st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan])),
}


def as_java_sorts(value: object) -> object:
    """Floating point numbers sort as in Java: -0.0 before 0.0, NaN last and equal to itself."""
    if isinstance(value, float):
        return (1, 0.0, 0.0) if math.isnan(value) else (0, value, math.copysign(1.0, value))
    return value


@st.composite
def keyed_rows(draw: st.DrawFn) -> tuple[list[list[object]], list[pa.ChunkedArray], list[int | None]]:
    count = draw(st.integers(0, 30))
    values, arrays = [], []
    for name in draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3)):
        arrow, strategy = COLUMNS[name]
        column = draw(st.lists(strategy, min_size=count, max_size=count))
        cut = draw(st.integers(0, count))
        array = pa.array([column[0], *column] if count else [], arrow)[1 if count else 0 :]  # with an offset
        values.append(column)
        arrays.append(pa.chunked_array([array[:cut], array[cut:]]))
    sequence = draw(st.lists(st.none() | st.integers(0, 3), min_size=count, max_size=count))
    return values, arrays, sequence


@settings(max_examples=examples(300), deadline=None)
@given(keyed_rows(), st.sampled_from([None, "ascending", "descending"]))
def test_order_is_the_stable_order_of_keys(
    rows: tuple[list[list[object]], list[pa.ChunkedArray], list[int | None]], direction: str | None
) -> None:
    values, arrays, sequence = rows
    count = len(values[0])

    def key(i: int) -> tuple[object, ...]:
        return tuple(as_java_sorts(column[i]) for column in values)

    def version(i: int) -> int:
        if direction is None:
            return 0
        value = sequence[i]
        if value is None:
            return -99  # nulls come first in both directions
        return value if direction == "ascending" else -value

    then_by = [] if direction is None else [(pa.array(sequence, pa.int64()), direction)]
    expected = sorted(range(count), key=lambda i: (key(i), version(i)))
    order = order_by_key(arrays, then_by)
    assert order.rows.tolist() == expected
    starts = [i for i in range(count) if i == 0 or key(expected[i]) != key(expected[i - 1])]
    assert order.starts.tolist() == starts
    assert order.lasts.tolist() == [*(start - 1 for start in starts[1:]), count - 1] if count else [[]]


@pytest.mark.parametrize("size", [7, 8])
def test_texts_around_the_packed_length(size: int) -> None:
    texts = ["b" * size, "a" * size, "a" * (size - 1), "a" * (size - 1) + "\0", ""]
    order = order_by_key([pa.array(texts)])
    assert [texts[i] for i in order.rows] == sorted(texts)


@pytest.mark.parametrize("bits", [1, 8, 16, 17, 32, 33, 48, 63, 64])
@pytest.mark.parametrize("runs", [1, 10, 1000])
def test_many_rows_in_any_number_of_runs(bits: int, runs: int) -> None:
    pick = np.random.default_rng(bits)
    keys = pick.integers(0, 2**bits, 5000, np.uint64, endpoint=False) if bits < 64 else pick.bytes(40_000)
    keys = np.frombuffer(keys, np.uint64).view(np.int64) - (2**62 if bits < 64 else 0)
    keys = np.concatenate([np.sort(run) for run in np.array_split(keys, runs)])
    order = order_by_key([pa.array(keys)])
    assert order.rows.tolist() == sorted(range(len(keys)), key=keys.tolist().__getitem__)
    assert order.starts.tolist() == np.unique(np.sort(keys), return_index=True)[1].tolist()


TYPES = (pa.int32(), pa.int64(), pa.string(), pa.int64())
VERSIONS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2) | st.none(), st.sampled_from(["", "a", "b" * 9]), st.integers(0, 2)),
    max_size=25,
)


@settings(deadline=None)
@given(VERSIONS, st.booleans(), st.sampled_from(["ascending", "descending"]))
def test_versions_of_a_key_go_by_several_columns(
    rows: list[tuple[int, int | None, str, int]], nulls: bool, direction: str
) -> None:
    if not nulls:
        rows = [(key, first or 0, text, number) for key, first, text, number in rows]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(TYPES)]
    then_by = [(columns[1], direction), (columns[3], "ascending")]
    sign = 1 if direction == "ascending" else -1

    def version(i: int) -> tuple[int, int, int]:
        first = rows[i][1]
        return rows[i][0], -99 if first is None else sign * first, rows[i][3]

    assert order_by_key(columns[:1], then_by).rows.tolist() == sorted(range(len(rows)), key=version)
    by_text = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][2]))
    assert order_by_key(columns[:1], [(columns[2], "ascending")]).rows.tolist() == by_text
