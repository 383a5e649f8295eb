"""Rows from outside: what fits is cast without loss, everything else is one error that names the column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.rows.random_tables import data_types, plain, tables, values_of

from lakebed.errors import DataError
from lakebed.format.types.data_types import Atomic, DataType, Field, not_null, to_arrow
from lakebed.format.types.sql_types import parse_data_type
from lakebed.rows.conform import conform

# ------------------------------------------------------------------------------ columns with rows (used elsewhere too)


# ---------------------------------------------------------------------------------------------------------- what fits


@settings(max_examples=examples(60), deadline=None)
@given(tables(), st.randoms())
def test_rows_that_fit_stay_as_they_are(case: tuple[tuple[Field, ...], pa.Table], random: Any) -> None:
    fields, table = case
    names = table.column_names
    random.shuffle(names)
    made = conform(table.select(names), fields, where="table db.t")
    assert made.schema.types == [to_arrow(field.type) for field in fields]
    assert [field.nullable for field in made.schema] == [field.nullable for field in fields]
    assert plain(made) == plain(table)


def _variants(arrow: pa.DataType) -> Iterator[pa.DataType]:
    """Other Arrow types for the same values."""
    if pa.types.is_string(arrow):
        yield from (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()))
        yield pa.dictionary(pa.int8(), pa.large_string())
    elif pa.types.is_binary(arrow):
        yield from (pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary()))
    elif pa.types.is_list(arrow):
        yield from (pa.large_list(arrow.value_field), pa.list_view(arrow.value_field))
        yield pa.large_list_view(arrow.value_field)
    elif pa.types.is_decimal(arrow):
        yield pa.decimal256(arrow.precision + 5, arrow.scale)
        yield pa.decimal128(38, arrow.scale)
    elif pa.types.is_integer(arrow):
        yield from (pa.int64(), pa.dictionary(pa.int32(), arrow))
    elif pa.types.is_time(arrow):
        yield from (pa.time64("us"), pa.time64("ns"))
    elif pa.types.is_date(arrow):
        yield pa.date64()
    elif pa.types.is_timestamp(arrow) and arrow.tz is not None:
        yield pa.timestamp(arrow.unit, "Europe/Berlin")
        yield pa.timestamp("ns", "+05:30")
    elif pa.types.is_timestamp(arrow):
        yield pa.timestamp("ns")


def _converted(exact: pa.Array, other: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(other):
        return exact.cast(other.value_type).dictionary_encode()
    if pa.types.is_list_view(other) or pa.types.is_large_list_view(other):
        return pa.array(exact.to_pylist(), other)
    return exact.cast(other)


@settings(max_examples=examples(60), deadline=None)
@given(data_types(1).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(values_of(kind), max_size=5))))
def test_other_arrow_types_for_the_same_values(case: tuple[DataType, list[Any]]) -> None:
    data_type, values = case
    exact = pa.array(values, to_arrow(data_type))
    for other in _variants(exact.type):
        converted = _converted(exact, other)
        table = pa.table({"c": pa.chunked_array([converted, converted[:0]])})
        made = conform(table, [Field(0, "c", data_type)], where="t")
        assert made.schema.types == [exact.type]
        assert plain(made) == plain(pa.table({"c": exact})), other


LOSSLESS: list[tuple[str, pa.Array, list[Any]]] = [
    ("BIGINT", pa.array([1, 2**31], pa.uint32()), [1, 2**31]),
    ("TINYINT", pa.array([-128, 127], pa.int64()), [-128, 127]),
    ("DOUBLE", pa.array([2**53, -5], pa.int64()), [2.0**53, -5.0]),
    ("DOUBLE", pa.array([0.5], pa.float32()), [0.5]),
    ("DOUBLE", pa.array(np.array([0.5], np.float16)), [0.5]),
    ("FLOAT", pa.array([0.5, None, float("inf")], pa.float64()), [0.5, None, float("inf")]),
    ("DECIMAL(10, 2)", pa.array([5, None], pa.int32()), [Decimal("5.00"), None]),
    ("DECIMAL(10, 2)", pa.array([Decimal("1.5")], pa.decimal128(3, 1)), [Decimal("1.50")]),
    ("DECIMAL(10, 1)", pa.array([Decimal("1.50")], pa.decimal128(10, 2)), [Decimal("1.5")]),
    ("INT", pa.nulls(2), [None, None]),
    ("ARRAY<INT>", pa.array([[1], None, [2]], pa.list_(pa.int64(), 1)), [[1], None, [2]]),
    ("ARRAY<INT>", pa.array([[1, None], []], pa.large_list(pa.int8())), [[1, None], []]),
    ("ARRAY<STRING>", pa.array([["a", "a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), [["a", "a"]]),
    ("ARRAY<INT>", pa.array([[], None], pa.list_(pa.null())), [[], None]),
    (
        "ROW<x INT, y STRING>",
        pa.array([{"y": "a", "x": 1}], pa.struct([("y", pa.large_string()), ("x", pa.int64())])),
        [{"x": 1, "y": "a"}],
    ),
    ("ROW<x INT, y STRING>", pa.array([{"x": 1, "y": None}]), [{"x": 1, "y": None}]),
    ("MAP<STRING, INT>", pa.array([[("a", 1)], None], pa.map_(pa.large_string(), pa.int64())), [[("a", 1)], None]),
    ("TIMESTAMP(3)", pa.array([5], pa.timestamp("s")), [dt.datetime(1970, 1, 1, 0, 0, 5)]),
    ("TIMESTAMP(0)", pa.array([5_000_000], pa.timestamp("us")), [dt.datetime(1970, 1, 1, 0, 0, 5)]),
    ("DATE", pa.array([86_400_000], pa.date64()), [dt.date(1970, 1, 2)]),
    ("TIME(3)", pa.array([1], pa.time32("s")), [dt.time(0, 0, 1)]),
    ("BINARY(2)", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
]


@pytest.mark.parametrize(("kind", "values", "expected"), LOSSLESS, ids=lambda value: str(getattr(value, "type", value)))
def test_casts_that_lose_nothing(kind: str, values: pa.Array, expected: list[Any]) -> None:
    field = Field(0, "c", parse_data_type(kind))
    made = conform(pa.table({"c": values}), [field], where="t")
    assert made.schema.types == [to_arrow(field.type)]
    assert made["c"].to_pylist() == expected
    made.validate(full=True)


def test_nan_survives_as_float() -> None:
    made = conform(pa.table({"c": [float("nan"), 1.0]}), [Field(0, "c", Atomic("FLOAT"))], where="t")
    assert repr(made["c"].to_pylist()) == "[nan, 1.0]"


def test_missing_columns_with_a_default_are_filled_in() -> None:
    fields = [Field(0, "a", Atomic("INT")), Field(1, "b", not_null(Atomic("STRING")), default="x")]
    assert conform(pa.table({"a": [1, 2]}), fields, where="t")["b"].to_pylist() == ["x", "x"]
    assert conform(pa.table({"a": [1], "b": ["y"]}), fields, where="t")["b"].to_pylist() == ["y"]


# ------------------------------------------------------------------------------------------------------ what does not

_WHERE = "table db.t"

REFUSED: list[tuple[str, pa.Array, str]] = [
    # wrong kinds
    ("INT", pa.array(["1"]), "is INT, but the data has string"),
    ("INT", pa.array([1.0]), "is INT, but the data has double"),
    ("INT", pa.array([True]), "is INT, but the data has bool"),
    ("BOOLEAN", pa.array([1]), "is BOOLEAN, but the data has int64"),
    ("STRING", pa.array([1]), "is STRING, but the data has int64"),
    ("STRING", pa.array([b"a"]), "is STRING, but the data has binary"),
    ("BYTES", pa.array(["a"]), "is BYTES, but the data has string"),
    ("DOUBLE", pa.array([Decimal("1.5")]), "is DOUBLE, but the data has decimal"),
    ("DECIMAL(10, 2)", pa.array([1.5]), "but the data has double"),
    ("DATE", pa.array([dt.datetime(2024, 1, 1)]), "is DATE, but the data has timestamp"),
    ("TIMESTAMP(6)", pa.array([dt.date(2024, 1, 1)]), "but the data has date32"),
    ("TIME(3)", pa.array([5], pa.int32()), "but the data has int32"),
    ("ARRAY<INT>", pa.array([1]), "but the data has int64"),
    ("ARRAY<INT>", pa.array([["a"]]), "is ARRAY<INT>, but the data has list<"),
    ("MAP<STRING, INT>", pa.array([{"a": 1}]), "but the data has struct<"),
    ("ROW<x INT>", pa.array([{"y": 1}]), "is ROW<x INT>, but the data has struct<y"),
    ("ROW<x INT>", pa.array([{"x": 1, "y": 1}]), "but the data has struct<x: int64, y: int64>"),
    ("ROW<x INT, y INT>", pa.array([{"x": 1}]), "but the data has struct<x: int64>"),
    ("INT", pa.array(["a"]).dictionary_encode(), "but the data has string"),
    # zones
    ("TIMESTAMP(6)", pa.array([0], pa.timestamp("us", "UTC")), "but the data has timestamp[us, tz=UTC]"),
    ("TIMESTAMP_LTZ(6)", pa.array([0], pa.timestamp("us")), "but the data has timestamp[us];"),
    ("ARRAY<TIMESTAMP(6)>", pa.array([[0]], pa.list_(pa.timestamp("us", "UTC"))), "tz=UTC"),
    # values that do not fit
    ("TINYINT", pa.array([1, 300]), "does not fit TINYINT (Integer value 300"),
    ("INT", pa.array([2**31], pa.uint32()), "does not fit INT"),
    ("FLOAT", pa.array([0.5, 0.1]), "0.1 does not fit FLOAT"),
    ("FLOAT", pa.array([1e300]), "1e+300 does not fit FLOAT"),
    ("ARRAY<FLOAT>", pa.array([[0.5]]), "is ARRAY<FLOAT>, but the data has list<"),
    ("FLOAT", pa.array([2**24 + 1]), "does not fit FLOAT"),
    ("DOUBLE", pa.array([2**53 + 1]), "does not fit DOUBLE"),
    ("DECIMAL(4, 2)", pa.array([100]), "does not fit DECIMAL(4, 2)"),
    ("DECIMAL(4, 1)", pa.array([Decimal("1.25")]), "does not fit DECIMAL(4, 1)"),
    ("TIMESTAMP(3)", pa.array([1], pa.timestamp("us")), "would lose data"),
    ("TIMESTAMP(9)", pa.array([2**55], pa.timestamp("ms")), "does not fit TIMESTAMP(9)"),
    ("DATE", pa.array([1], pa.date64()), "does not fit DATE"),
    ("TIME(3)", pa.array([1], pa.time64("us")), "does not fit TIME(3)"),
    ("ARRAY<TINYINT>", pa.array([[1, 300]]), "does not fit ARRAY<TINYINT>"),
    # lengths
    ("VARCHAR(3)", pa.array(["abc", "äöüß"]), "is VARCHAR(3), but a value has 4 characters"),
    ("CHAR(2)", pa.array(["abc"]), "is CHAR(2), but a value has 3 characters"),
    ("VARBINARY(2)", pa.array([b"abc"]), "but a value has 3 bytes"),
    ("BINARY(2)", pa.array([b"abc"]), "but a value has 3 bytes"),
    ("ROW<x VARCHAR(1)>", pa.array([{"x": "ab"}]), "field 'x' in column 'c' of table db.t is VARCHAR(1)"),
    ("ARRAY<VARCHAR(1)>", pa.array([["ab"]]), "an element in column 'c' of table db.t is VARCHAR(1)"),
    ("MAP<STRING, VARCHAR(1)>", pa.array([[("k", "ab")]], pa.map_(pa.string(), pa.string())), "a value in column 'c'"),
    ("MAP<VARCHAR(1), INT>", pa.array([[("kk", 1)]], pa.map_(pa.string(), pa.int32())), "a key in column 'c'"),
    # nulls
    ("INT NOT NULL", pa.array([1, None]), "is NOT NULL, but row 1 of the data has a null there"),
    ("ARRAY<INT NOT NULL>", pa.array([[1], [None]]), "an element in column 'c' of table db.t is NOT NULL"),
    ("ROW<x INT NOT NULL>", pa.array([{"x": None}], pa.struct([("x", pa.int32())])), "field 'x' in column 'c'"),
    ("MAP<STRING, INT NOT NULL>", pa.array([[("a", None)]], pa.map_(pa.string(), pa.int32())), "a value in column 'c'"),
    ("ARRAY<ROW<x ARRAY<INT NOT NULL>>>", pa.array([[{"x": [None]}]], pa.list_(pa.struct([("x", pa.list_(pa.int32()))]))),
     "an element in field 'x' in an element in column 'c' of table db.t is NOT NULL"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "message"), REFUSED, ids=lambda value: str(getattr(value, "type", value)))
def test_what_does_not_fit_is_refused(kind: str, values: pa.Array, message: str) -> None:
    with pytest.raises(DataError) as caught:
        conform(pa.table({"c": values}), [Field(0, "c", parse_data_type(kind))], where=_WHERE)
    assert message in str(caught.value)
    assert "column 'c' of table db.t" in str(caught.value)
    assert str(caught.value).endswith("Nothing was written")


def test_values_below_nulls_do_not_count() -> None:
    """What lies below a null list, map or struct is nobody's value."""
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2]), pa.array([None, 1], pa.int32()), mask=pa.array([True, False]))
    maps = pa.MapArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array(["toolong", "k"]), pa.array([None, 1], pa.int32()),
        mask=pa.array([True, False]),
    )  # fmt: skip
    structs = pa.StructArray.from_arrays([pa.array([None, 1], pa.int32())], ["x"], mask=pa.array([True, False]))
    fields = [
        Field(0, "l", parse_data_type("ARRAY<INT NOT NULL>")),
        Field(1, "m", parse_data_type("MAP<VARCHAR(1), INT NOT NULL>")),
        Field(2, "s", parse_data_type("ROW<x INT NOT NULL>")),
    ]
    made = conform(pa.table({"l": lists, "m": maps, "s": structs}), fields, where="t")
    assert made.to_pylist() == [{"l": None, "m": None, "s": None}, {"l": [1], "m": [("k", 1)], "s": {"x": 1}}]


def test_sliced_maps_are_checked_where_they_are() -> None:
    maps = pa.array([[("toolong", 1)], [("k", 2)]], pa.map_(pa.string(), pa.int32()))
    field = Field(0, "m", parse_data_type("MAP<VARCHAR(1), INT>"))
    assert conform(pa.table({"m": maps[1:]}), [field], where="t")["m"].to_pylist() == [[("k", 2)]]
    with pytest.raises(DataError, match="7 characters"):
        conform(pa.table({"m": maps}), [field], where="t")


COLUMNS = [Field(0, "id", Atomic("INT")), Field(1, "name", Atomic("STRING"))]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["id"], "lacks column(s) 'name'; add them"),
        ([], "lacks column(s) 'id', 'name'"),
        (["id", "name", "nmae"], "unknown column 'nmae' in table db.t; did you mean 'name'?"),
        (["id", "NAME"], "unknown column 'NAME'"),
        (["id", "name", "id"], "has column 'id' more than once"),
    ],
)
def test_columns_that_are_not_the_tables(names: list[str], message: str) -> None:
    table = pa.Table.from_arrays([pa.nulls(1) for _ in names], names)
    with pytest.raises(DataError) as caught:
        conform(table, COLUMNS, where=_WHERE)
    assert message in str(caught.value)
    assert "table db.t" in str(caught.value)
