"""Orders that rows are sorted in: numbers that keep the order of values, curves, and ranges of them."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.rows.sort_order import BITS, Scale, Sorter, SortOrder, hilbert_axes, interleaved
from lakebed.rows.sorted_rows import sorted_portions

COLUMNS = {
    "bigint": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "tinyint": (pa.int8(), st.integers(-128, 127)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "time": (pa.time32("ms"), st.integers(0, 86_399_999)),
    "timestamp": (pa.timestamp("ns"), st.integers(-(2**60), 2**60)),
    "decimal": (pa.decimal128(38, 2), st.decimals(Decimal("-1e30"), Decimal("1e30"), places=2)),
    "string": (pa.string(), st.text(max_size=12)),
    "prefix": (pa.string(), st.text(max_size=3).map(lambda tail: "customer-" + tail)),
    "bytes": (pa.binary(), st.binary(max_size=12)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
}


def column(kind: pa.DataType, values: list[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([None, *values], kind)[1:]])  # with an offset


def comparable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(sorted(COLUMNS)), st.data())
def test_places_are_in_the_order_of_the_values(name: str, data: st.DataObject) -> None:
    """Also those of values that the sample lacks; nulls come first."""
    kind, strategy = COLUMNS[name]
    sample = column(kind, data.draw(st.lists(strategy | st.none(), max_size=20)))
    values = data.draw(st.lists(strategy | st.none(), max_size=20))
    places = Scale.of(sample).places(column(kind, values)).tolist()
    assert all(0 <= place < 2**BITS for place in places)
    pairs = [(comparable(value), place) for value, place in zip(values, places, strict=True)]
    assert all(place == 0 for value, place in pairs if value is None)
    known = sorted(pair for pair in pairs if pair[0] is not None)
    assert all(lower[1] <= higher[1] for lower, higher in itertools.pairwise(known) if lower[0] < higher[0])
    if len(sample) > sample.null_count:
        assert all(place > 0 for _, place in known)


def test_values_of_the_sample_are_told_apart() -> None:
    for values in (["shared-" + str(i) for i in range(100, 200)], list(range(100)), [i / 7 for i in range(100)]):
        sample = pa.chunked_array([values])
        places = Scale.of(sample).places(sample)
        assert len(np.unique(places)) == 100
        assert int(places.max()) == 2**BITS - 1, "a column with few values counts as much as one with many"


def test_nan_is_the_greatest() -> None:
    sample = pa.chunked_array([[math.nan, -math.inf, 1.0, math.inf]])
    assert np.argsort(Scale.of(sample).places(sample)).tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(("axes", "bits"), [(1, 4), (2, 1), (2, 5), (3, 3), (4, 2), (5, 2)])
def test_hilbert_goes_from_neighbour_to_neighbour(axes: int, bits: int) -> None:
    grid = np.stack(np.meshgrid(*[np.arange(2**bits)] * axes)).reshape(axes, -1).astype(np.uint64)
    (place,) = interleaved(hilbert_axes(list(grid), bits), bits)
    assert len(np.unique(place)) == 2 ** (axes * bits), "every cell has a place of its own"
    path = grid[:, np.argsort(place)].astype(np.int64)
    assert (np.abs(np.diff(path, axis=1)).sum(axis=0) == 1).all()


def test_more_columns_than_one_word_holds() -> None:
    axes = [np.array([value], np.uint64) for value in (1, 2**15, 0, 0, 2**15 + 1)]
    first, second = interleaved(axes, 16)
    assert bin(first[0]) == "0b" + "01001".ljust(64, "0")[1:]  # the highest bits of all five, then zeros
    assert bin(second[0]) == "0b" + ("0" * 11 + "10001").ljust(64, "0").lstrip("0")  # the lowest ones end 80 bits


ROWS = pa.table(
    {
        "a": pa.array([None if i % 11 == 0 else (i * 7919) % 1000 for i in range(1000)], pa.int32()),
        "b": pa.array([f"key-{(i * 31) % 97:03}" for i in range(1000)]),
        "n": pa.array(range(1000)),
    }
)


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
@pytest.mark.parametrize("budget", [10**9, 4000, 1])
def test_portions_are_the_rows_in_order(strategy: str, budget: int) -> None:
    sorter = Sorter.of(SortOrder(strategy, ("a", "b")), ROWS)
    portions = list(sorted_portions(ROWS.to_batches(max_chunksize=70), sorter, budget))
    rows = pa.concat_tables(portions)
    assert rows.schema == ROWS.schema
    assert sorted(rows["n"].to_pylist()) == list(range(1000))
    keys = [tuple(row.values()) for row in sorter.with_keys(rows).select(sorter.keys).to_pylist()]
    assert keys == sorted(keys, key=lambda key: tuple((value is not None, value) for value in key))
    if strategy == "order":
        assert rows["a"].slice(0, 91).null_count == 91
    assert (len(portions) == 1) == (budget == 10**9)


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
def test_ranges_follow_each_other(strategy: str) -> None:
    sorter = Sorter.of(SortOrder(strategy, ("b", "a")), ROWS)
    cuts = sorter.cuts(ROWS, 5)
    ordered = sorter.without_keys(sorter.sorted(sorter.with_keys(ROWS)))
    ranges = sorter.range_of(ordered, cuts)
    assert (np.diff(ranges) >= 0).all()
    assert np.bincount(ranges).min() > 100
    assert len(np.bincount(ranges)) == 5


@pytest.mark.parametrize(("strategy", "files"), [("order", 25), ("zorder", 15), ("hilbert", 15)])
def test_a_curve_serves_conditions_on_every_column(strategy: str, files: int) -> None:
    """Of 25 files of a square of numbers, how many hold rows of one column's tenth: by a curve a few, by order all."""
    x, y = np.meshgrid(np.arange(100), np.arange(100) * 1_000_000)
    rows = pa.table({"x": x.ravel(), "y": y.ravel()})
    sorter = Sorter.of(SortOrder(strategy, ("x", "y")), rows)
    ordered = sorter.sorted(sorter.with_keys(rows))
    parts = [ordered.slice(start, 400) for start in range(0, 10_000, 400)]
    for name in ("x", "y"):
        values = [part[name].to_numpy() for part in parts]
        low, high = np.quantile(rows[name].to_numpy(), [0.43, 0.52])
        hit = sum(bool(part.max() >= low and part.min() <= high) for part in values)
        assert hit <= files
        if strategy != "order":
            assert hit < 25


def test_an_empty_sample() -> None:
    sorter = Sorter.of(SortOrder("hilbert", ("a", "b")), ROWS.slice(0, 0))
    assert len(sorter.sorted(sorter.with_keys(ROWS))) == 1000


def test_dates_beside_times() -> None:
    rows = pa.table(
        {"d": pa.array([dt.date(2024, 1, 1 + i % 28) for i in range(280)]), "t": pa.array(range(280), pa.time32("ms"))}
    )
    sorter = Sorter.of(SortOrder("zorder", ("d", "t")), rows)
    assert len(sorter.sorted(sorter.with_keys(rows))) == 280
