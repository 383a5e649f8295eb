"""Where-conditions: a table of texts with Spark's answers, and what must hold for all of them."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.rows.where_cases import (
    CASES,
    COLUMNS,
    ERRORS,
    NESTED,
    ROWS,
    WIDE_CASES,
    WIDE_COLUMNS,
    WIDE_ROWS,
)

from lakebed.errors import ExpressionError
from lakebed.format import predicate as pred
from lakebed.format.types.data_types import Atomic, Field, parse_type, to_arrow
from lakebed.rows.where import parse_where
from lakebed.rows.where.literals import read_number


def fields_of(columns: dict[str, str]) -> list[Field]:
    return [Field(i, name, parse_type(text)) for i, (name, text) in enumerate(columns.items())]


def table_of(rows: list[tuple[Any, ...]], fields: list[Field]) -> pa.Table:
    arrays = [pa.array([row[i] for row in rows], to_arrow(field.type)) for i, field in enumerate(fields)]
    return pa.table(arrays, names=[field.name for field in fields])


FIELDS = fields_of(COLUMNS)
TABLE = table_of(ROWS, FIELDS)
WIDE_FIELDS = fields_of(WIDE_COLUMNS)
WIDE_TABLE = table_of(WIDE_ROWS, WIDE_FIELDS)
_STRUCT = {
    "type": "ROW",
    "fields": [{"id": 1, "name": "a", "type": "INT"}, {"id": 2, "name": "B", "type": "STRING"}],
}
NESTED_FIELDS = [
    Field(i, name, parse_type(kind))
    for i, (name, kind) in enumerate(
        {
            "s": _STRUCT,
            "S2": _STRUCT,
            "ids": {"type": "ARRAY", "element": "INT"},
            "Id": "INT",
            "iD": "INT",
            "tm": "TIME(3)",
            "ms": "TIMESTAMP(3)",
            "ns": "TIMESTAMP(9)",
        }.items()
    )
]
NESTED_VALUES = [{"a": 1, "B": "x"}, None, [1], 1, 2, dt.time(10), dt.datetime(2024, 1, 1, 0, 0, 0, 1000)]
_NS = pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ns")).cast(pa.int64())
NESTED_TABLE = pa.table(
    [
        *(
            pa.array([value], to_arrow(field.type))
            for field, value in zip(NESTED_FIELDS[:-1], NESTED_VALUES, strict=True)
        ),
        pc.add(_NS, 1).cast(pa.timestamp("ns")),
    ],
    names=[field.name for field in NESTED_FIELDS],
)


def ids(node: pred.Node, table: pa.Table = TABLE, column: str = "id") -> list[int]:
    found: list[int] = table.filter(pa.array(pred.matches_rows(node, table)))[column].to_pylist()
    return found


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_takes_the_rows_that_spark_takes(text: str, expected: list[int]) -> None:
    node = parse_where(text, FIELDS)
    assert ids(node) == expected
    # what it says of itself must mean the same, and unknown must have been decided
    assert ids(parse_where(pred.to_text(node), FIELDS)) == expected
    assert pred.UNKNOWN not in pred.conjuncts(node)


@pytest.mark.parametrize(("text", "expected"), WIDE_CASES, ids=[text for text, _ in WIDE_CASES])
def test_decimals_of_many_digits(text: str, expected: list[int]) -> None:
    node = parse_where(text, WIDE_FIELDS)
    assert ids(node, WIDE_TABLE) == expected
    assert ids(parse_where(pred.to_text(node), WIDE_FIELDS), WIDE_TABLE) == expected


@st.composite
def wide_literals(draw: st.DrawFn) -> str:
    """The text of a number of up to 38 digits, often one that differs from a stored value in its last digit."""
    stored = [Decimal(value) for row in WIDE_ROWS for value in row[1:] if value is not None]
    near = draw(st.none() | st.sampled_from(stored))
    if near is None:
        digits, scale = draw(st.integers(-(10**38) + 1, 10**38 - 1)), draw(st.integers(0, 38))
    else:
        scale = max(0, -int(near.as_tuple().exponent))
        digits = int(f"{near:f}".replace(".", "")) + draw(st.integers(-1, 1))
        extra = draw(st.integers(0, max(0, 38 - max(scale, len(str(abs(digits)))))))
        digits, scale = digits * 10**extra + draw(st.integers(0, int(extra > 0))), scale + extra
    with localcontext(prec=100):
        return f"{max(min(digits, 10**38 - 1), 1 - 10**38) * Decimal(10) ** -scale:f}"


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(["x", "n", "z"]), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), wide_literals())
def test_a_decimal_literal_compares_exactly(column: str, op: str, literal: str) -> None:
    wanted = Decimal(literal)
    compare = {"=": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[op]
    place = list(WIDE_COLUMNS).index(column)
    stored = {row[0]: Decimal(row[place]) for row in WIDE_ROWS if row[place] is not None}
    expected = [i for i, value in stored.items() if getattr(value, compare)(wanted)]
    with localcontext(prec=3):  # the caller's context must not matter
        assert ids(parse_where(f"{column} {op} {literal}", WIDE_FIELDS), WIDE_TABLE) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("12345678901234567890.1234567890", pa.decimal128(30, 10)),
        ("-12345678901234567890.1234567890BD", pa.decimal128(30, 10)),
        ("9" * 38, pa.decimal128(38, 0)),
        ("0." + "9" * 38, pa.decimal128(38, 38)),
        ("1e-38BD", pa.decimal128(38, 38)),
        ("1e37BD", pa.decimal128(38, 0)),
        ("00.10", pa.decimal128(2, 2)),
        ("0.00", pa.decimal128(2, 2)),
        ("0e5BD", pa.decimal128(6, 0)),
        ("9223372036854775808", pa.decimal128(19, 0)),
        ("9223372036854775807", pa.int64()),
    ],
)
def test_a_number_has_the_type_that_spark_gives_it(text: str, kind: pa.DataType) -> None:
    found = read_number(text)
    assert found.type == kind
    assert found.as_py() == Decimal(text.removesuffix("BD"))


def test_the_same_rows_under_other_column_names() -> None:
    names = {name: f"{name}_old" for name in COLUMNS if name != "id"}
    renamed = TABLE.rename_columns([names.get(name, name) for name in COLUMNS])
    for text, expected in CASES:
        node = pred.rename(parse_where(text, FIELDS), names)
        assert pred.columns(node) <= set(renamed.column_names), text
        assert ids(node, renamed) == expected, text


def test_negation_takes_what_is_false_and_leaves_what_is_unknown() -> None:
    for text, taken in CASES:
        node = parse_where(f"NOT ({text}\n)", FIELDS)
        known = pred.truth(parse_where(f"({text}\n) IS NOT NULL", FIELDS), TABLE).to_pylist()
        rest = [row[0] for row, is_known in zip(ROWS, known, strict=True) if is_known and row[0] not in taken]
        assert ids(node) == rest, text


@pytest.mark.parametrize(("text", "holds"), NESTED, ids=[text for text, _ in NESTED])
def test_nested_and_less_common_columns(text: str, holds: bool) -> None:
    node = parse_where(text, NESTED_FIELDS)
    assert pred.matches_rows(node, NESTED_TABLE).tolist() == [holds]


@pytest.mark.parametrize(("text", "words"), ERRORS, ids=[text for text, _ in ERRORS])
def test_refuses(text: str, words: list[str]) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_where(text, FIELDS)
    for word in words:
        assert word in str(caught.value)


def test_a_name_that_differs_in_case_only_must_be_exact() -> None:
    with pytest.raises(ExpressionError, match="ambiguous"):
        parse_where("ID = 1", NESTED_FIELDS)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("id > 5", pred.Compare("id", ">", pa.scalar(5, pa.int32()))),
        ("5 < id", pred.Compare("id", ">", pa.scalar(5, pa.int32()))),
        ("id > 1.5", pred.Compare("id", ">", pa.scalar(1, pa.int32()))),
        ("id < 1.5", pred.Compare("id", "<", pa.scalar(2, pa.int32()))),
        ("t < 1000", pred.IsNull("t", negated=True)),
        ("t > 1000", pred.FALSE),
        ("t in (1, 1000, 2)", pred.In("t", pa.array([1, 2], pa.int8()))),
        ("t in (1, null)", pred.Compare("t", "=", pa.scalar(1, pa.int8()))),
        ("t not in (1, null)", pred.FALSE),
        ("name like 'abc'", pred.Compare("name", "=", pa.scalar("abc"))),
        ("startswith(name, '50%')", pred.Like("name", "50\\%%")),
        ("not name like 'a%'", pred.Like("name", "a%", negated=True)),
        ("d = '2024-01-31'", pred.Compare("d", "=", pa.scalar(dt.date(2024, 1, 31)))),
        ("d = date_add('2024-01-30', 1)", pred.Compare("d", "=", pa.scalar(dt.date(2024, 1, 31)))),
        ("b", pred.Compare("b", "=", pa.scalar(True))),
        ("not b", pred.Compare("b", "!=", pa.scalar(True))),
        ("1 = 1 and id = 3", pred.Compare("id", "=", pa.scalar(3, pa.int32()))),
    ],
)
def test_prunable_conditions_become_leaves_of_the_column_type(text: str, node: pred.Node) -> None:
    assert parse_where(text, FIELDS) == node


def test_current_date_is_a_constant_that_can_prune() -> None:
    node = parse_where("d >= current_date()", FIELDS)
    assert isinstance(node, pred.Compare)
    assert abs((node.value.as_py() - dt.datetime.now(dt.UTC).date()).days) <= 1


def test_a_column_named_like_a_function_must_be_quoted() -> None:
    fields = [Field(0, "current_date", Atomic("DATE"))]
    with pytest.raises(ExpressionError, match="`current_date`"):
        parse_where("current_date > '2024-01-01'", fields)
    assert pred.columns(parse_where("`current_date` > '2024-01-01'", fields)) == {"current_date"}


def test_a_value_that_cannot_be_cast_fails_when_its_row_is_read() -> None:
    with pytest.raises(ExpressionError, match="Failed to parse string"):
        pred.matches_rows(parse_where("name = 5", FIELDS), TABLE)


def test_a_decimal_becomes_the_nearest_double() -> None:
    fields = [Field(0, "id", Atomic("DECIMAL", (20, 4))), Field(1, "x", Atomic("DOUBLE"))]
    texts = ["602680031898.5396", "555519594004.2996"]  # Arrow's own cast misses both by one digit
    table = pa.table([pa.array(map(Decimal, texts), pa.decimal128(20, 4)), pa.array(map(float, texts))], ["id", "x"])
    assert pred.matches_rows(parse_where("CAST(id AS DOUBLE) = x AND id = x", fields), table).all()


def test_thousands_of_conditions_are_no_problem() -> None:
    text = " OR ".join(f"(id = {i} AND name = '{i}')" for i in range(1000))
    node = parse_where(text, FIELDS)
    assert ids(node) == []
    assert ids(parse_where(f"id IN ({', '.join(map(str, range(5, 5000)))})", FIELDS)) == [5, 6, 7, 8]


def test_conditions_travel_to_other_processes() -> None:
    for text in ("id = 3", "lower(name) = 'apple' AND id IN (1, 2)", "name LIKE 'a%'"):
        node = parse_where(text, FIELDS)
        again = pickle.loads(pickle.dumps(node))
        assert again == node
        assert ids(pred.rename(again, {"name": "n2"}), TABLE.append_column("n2", TABLE["name"])) == ids(node)
