"""Order and identity of values, as Java has them."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.rows.merge_engines.reference import identity

from lakebed.rows.merge_engines.order_codes import identity_codes, order_keys, row_ranks

ASCENDING: list[pa.Array] = [
    pa.array([-math.inf, -1e300, -2.5, -5e-324, -0.0, 0.0, 5e-324, 1.0, math.inf, math.nan]),
    pa.array([-math.inf, -2.5, -1.0, -0.0, 0.0, 3.0, math.inf, math.nan], pa.float32()),
    pa.array([-(2**63), -1, 0, 2**63 - 1]),
    pa.array([-128, 0, 127], pa.int8()),
    pa.array([False, True]),
    pa.array(["", "A", "a", "ab", "z", "ä", "\uffff", "\U00010000"]),
    pa.array([b"", b"\x00", b"\x7f", b"\x80", b"\xff"]),
    pa.array([Decimal("-9.99"), Decimal("-0.01"), Decimal("0.00"), Decimal("9.99")]),
    pa.array([Decimal(-(10**37)), Decimal(0), Decimal(10**37)], pa.decimal128(38, 0)),
    pa.array([dt.date(1969, 1, 1), dt.date(2024, 1, 1)]),
    pa.array([-1, 0, 1], pa.timestamp("us", tz="UTC")),
    pa.array([0, 1, 86_399_999], pa.time32("ms")),
]


@pytest.mark.parametrize("values", ASCENDING, ids=lambda values: str(values.type))
def test_order(values: pa.Array) -> None:
    assert (np.diff(order_keys(values)) > 0).all()
    mixed = pa.concat_arrays([values[::-1], pa.nulls(1, values.type), values])
    ranks = row_ranks([mixed])
    assert ranks[len(values)] == 0
    assert (np.diff(ranks[len(values) :]) > 0).all()
    assert (ranks[: len(values)][::-1] == ranks[len(values) + 1 :]).all()


def test_order_of_several_columns() -> None:
    ranks = row_ranks([pa.array([None, None, 0, 0, 1]), pa.array([None, 5, None, 2, None])])
    assert ranks[0] == 0
    assert (np.diff(ranks) > 0).all()
    assert (row_ranks([pa.array([1, None]), pa.array([None, 1])]) > 0).all()


KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.list_(pa.int32()), st.lists(st.one_of(st.none(), st.integers(0, 2)), max_size=3)),
    (
        pa.list_(pa.list_(pa.string())),
        st.lists(st.one_of(st.none(), st.lists(st.sampled_from("ab"), max_size=2)), max_size=2),
    ),
    (pa.float64(), st.sampled_from([0.0, -0.0, math.nan, 1.0])),
]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind[0]), st.lists(st.one_of(st.none(), kind[1]))))
)
def test_identity(case: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = case
    codes = identity_codes(pa.array(values, kind)).tolist()
    for left, a in zip(codes, values, strict=True):
        assert (left == 0) == (a is None)
        for right, b in zip(codes, values, strict=True):
            assert (left == right) == (identity(a) == identity(b))


def test_identity_of_maps_and_rows() -> None:
    maps = pa.array(
        [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 1)], [], None], pa.map_(pa.string(), pa.int32())
    )
    codes = identity_codes(maps)
    assert codes[0] == codes[1]
    assert len(set(codes.tolist())) == 4
    rows = pa.array([{"x": 1, "y": None}, {"x": 1, "y": None}, {"x": None, "y": 1}, None, {"x": None, "y": None}])
    codes = identity_codes(rows)
    assert codes[0] == codes[1]
    assert len(set(codes.tolist())) == 4
    assert len(set(identity_codes(rows[1:]).tolist())) == 4
    assert len(set(identity_codes(maps[1:]).tolist())) == 4
