"""Values as Java prints them: one value at a time and whole columns give the same text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.errors import UnsupportedError
from lakebed.format.java_text import cast_to_text, float_text, value_text
from lakebed.format.types.data_types import Atomic, parse_type, to_arrow

# What Double.toString and Float.toString return (Java 19 and later, where the digits are the fewest possible).
DOUBLES = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (100.0, "100.0"),
    (0.1, "0.1"),
    (0.001, "0.001"),
    (0.002, "0.002"),
    (0.0009999999999999998, "9.999999999999998E-4"),
    (1e-5, "1.0E-5"),
    (1.25e-5, "1.25E-5"),
    (1234567.0, "1234567.0"),
    (9999999.0, "9999999.0"),
    (9999999.999999998, "9999999.999999998"),
    (1e7, "1.0E7"),
    (12345678.0, "1.2345678E7"),
    (-12345678.5, "-1.23456785E7"),
    (1e10, "1.0E10"),
    (1e21, "1.0E21"),
    (8.41e21, "8.41E21"),
    (1e23, "1.0E23"),
    (2e23, "2.0E23"),
    (9007199254740993.0, "9.007199254740992E15"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (2.2250738585072014e-308, "2.2250738585072014E-308"),
    (5e-324, "4.9E-324"),
    (1e-323, "9.9E-324"),
    (2e-323, "2.0E-323"),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
]
FLOATS = [
    (0.1, "0.1"),
    (1.0, "1.0"),
    (0.001, "0.001"),
    (1e-4, "1.0E-4"),
    (9999999.0, "9999999.0"),
    (1e7, "1.0E7"),
    (16777216.0, "1.6777216E7"),
    (1e10, "1.0E10"),
    (3.4028235e38, "3.4028235E38"),
    (1.17549435e-38, "1.1754944E-38"),
    (1.4e-45, "1.4E-45"),
    (2.8e-45, "2.8E-45"),
    (float("nan"), "NaN"),
    (float("-inf"), "-Infinity"),
]


@pytest.mark.parametrize(("value", "text"), DOUBLES)
def test_doubles(value: float, text: str) -> None:
    assert float_text(value) == value_text(value, Atomic("DOUBLE")) == text
    assert value_text(value, Atomic("DOUBLE"), internal=True) == text
    assert cast_to_text(pa.array([value]), Atomic("DOUBLE")).to_pylist() == [text]


@pytest.mark.parametrize(("value", "text"), FLOATS)
def test_floats(value: float, text: str) -> None:
    stored = float(np.float32(value))
    assert float_text(stored, single=True) == value_text(stored, Atomic("FLOAT")) == text
    assert cast_to_text(pa.array([stored], pa.float32()), Atomic("FLOAT")).to_pylist() == [text]


# What Paimon's cast to STRING returns for one value, and what Java prints for the object that holds it.
VALUES: list[tuple[str, Any, str, str]] = [
    ("BOOLEAN", True, "true", "true"),
    ("INT", -5, "-5", "-5"),
    ("STRING", "a/b", "a/b", "a/b"),
    ("DECIMAL(38, 10)", Decimal("1E-10"), "0.0000000001", "0.0000000001"),
    ("DATE", dt.date(2024, 1, 2), "2024-01-02", "19724"),
    ("DATE", dt.date(1969, 12, 31), "1969-12-31", "-1"),
    ("TIME(0)", dt.time(1, 2, 3), "01:02:03", "3723000"),
    ("TIME(1)", dt.time(1, 2, 3, 4000), "01:02:03.0", "3723004"),
    ("TIME(3)", dt.time(1, 2, 3), "01:02:03.0", "3723000"),
    ("TIME(3)", dt.time(1, 2, 3, 4000), "01:02:03.004", "3723004"),
    ("TIME(3)", dt.time(1, 2, 3, 400_000), "01:02:03.4", "3723400"),
    ("TIMESTAMP(0)", dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05", "2024-01-02T03:04:05"),
    ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4), "2024-01-02 03:04:00.000", "2024-01-02T03:04"),
    (
        "TIMESTAMP(6)",
        dt.datetime(2024, 1, 2, 3, 4, 5, 600_000),
        "2024-01-02 03:04:05.600000",
        "2024-01-02T03:04:05.600",
    ),
    ("TIMESTAMP(6)", dt.datetime(1, 1, 1, 0, 0, 0, 1), "0001-01-01 00:00:00.000001", "0001-01-01T00:00:00.000001"),
]


@pytest.mark.parametrize(("kind", "value", "cast", "internal"), VALUES)
def test_values(kind: str, value: Any, cast: str, internal: str) -> None:
    data_type = _type(kind)
    assert value_text(value, data_type) == cast
    assert value_text(value, data_type, internal=True) == internal
    assert cast_to_text(pa.array([value], to_arrow(data_type)), data_type).to_pylist() == [cast]


def test_bytes_are_read_as_text() -> None:
    assert value_text(b"a\xff", Atomic("BYTES")) == "a�"


def test_zoned_timestamps_have_no_text_of_their_own() -> None:
    zoned = _type("TIMESTAMP_LTZ(6)")
    with pytest.raises(UnsupportedError, match="depends on the reader's time zone"):
        cast_to_text(pa.array([0], to_arrow(zoned)), zoned)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_one_value_and_a_column_have_the_same_text(data: st.DataObject) -> None:
    precision = data.draw(st.integers(0, 6))
    kinds: list[tuple[str, st.SearchStrategy[Any]]] = [
        ("DOUBLE", st.floats()),
        ("FLOAT", st.floats(width=32)),
        ("DATE", st.dates()),
        (f"TIME({min(precision, 3)})", st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000))),
        (f"TIMESTAMP({precision})", st.datetimes().map(lambda t: t.replace(microsecond=_kept(t, precision)))),
        ("DECIMAL(20, 7)", st.decimals(min_value=-(10**12), max_value=10**12, places=7).map(lambda d: d + 0)),
        ("BOOLEAN", st.booleans()),
        ("BIGINT", st.integers(-(2**63), 2**63 - 1)),
    ]
    kind, values = data.draw(st.sampled_from(kinds))
    data_type = _type(kind)
    drawn = data.draw(st.lists(values, max_size=5))
    texts = cast_to_text(pa.array(drawn, to_arrow(data_type)), data_type).to_pylist()
    assert texts == [value_text(value, data_type) for value in drawn]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_identifies_it(value: float) -> None:
    text = float_text(value, single=True)
    assert np.float32(text) == np.float32(value)
    assert "." in text


def _type(text: str) -> Atomic:
    data_type = parse_type(text)
    assert isinstance(data_type, Atomic)
    return data_type


def _kept(time: dt.datetime, precision: int) -> int:
    """Microseconds that a column of the precision can hold: milliseconds up to 3 digits."""
    return time.microsecond // 1000 * 1000 if precision <= 3 else time.microsecond
