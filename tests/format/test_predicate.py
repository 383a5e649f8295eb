"""Predicates against an evaluator of their own: one row at a time, in plain Python, in three-valued logic."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.errors import ExpressionError
from lakebed.format.predicate import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    ColumnBounds,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Opaque,
    Or,
    StatsView,
    columns,
    conjunction,
    conjuncts,
    disjunction,
    implied,
    key_candidates,
    matches_rows,
    may_match,
    must_match,
    negate,
    rename,
    split,
    to_arrow_expression,
    to_text,
    truth,
)

NAN, INF = float("nan"), float("inf")
_MOMENTS = [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1)]

# few values of each type, so that columns, literals and bounds meet
POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), [-128, -1, 0, 1, 127]),
    "i64": (pa.int64(), [-(2**63), 2**53, 2**53 + 1, 2**63 - 1, 5]),
    "m": (pa.decimal128(6, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("0.10"), Decimal("9999.99")]),
    "w": (
        pa.decimal128(38, 10),
        [Decimal(f"{sign}{'9' * 28}.999999999{last}") for sign in ("-", "") for last in (8, 9)],
    ),
    "s": (pa.string(), ["", "a", "ab", "abc", "abd", "b%c", "b_c", "b\\", "\U0010ffff", "\ud7ffx", "é\n"]),
    "raw": (pa.binary(), [b"", b"\x00", b"a", b"a\xff", b"\xff", b"\xff\xff"]),
    "d": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 2, 29)]),
    "ts": (pa.timestamp("us"), _MOMENTS),
    "tz": (pa.timestamp("us", "UTC"), [moment.replace(tzinfo=dt.UTC) for moment in _MOMENTS]),
    "tm": (pa.time32("ms"), [dt.time(0), dt.time(23, 59, 59, 999000)]),
    "b": (pa.bool_(), [False, True]),
    "f": (pa.float32(), [-INF, -1.5, -0.0, 0.0, 2.5, INF, NAN]),
    "x": (pa.float64(), [-INF, -1.5, -0.0, 0.0, 0.1, INF, NAN]),
}
FLOATS = ("f", "x")
PATTERNS = [
    "%",
    "",
    "a%",
    "ab%",
    "_",
    "a_",
    "%c",
    "b\\%%",
    "b\\_%",
    "b\\\\%",
    "b\\\\",
    "\U0010ffff%",
    "\ud7ff%",
    "_%\n",
]
OPAQUE: dict[str, tuple[pc.Expression, frozenset[str], Callable[[dict[str, Any]], bool | None]]] = {
    "length(s) > 1": (
        pc.greater(pc.utf8_length(pc.field("s")), 1),
        frozenset({"s"}),
        lambda row: None if row["s"] is None else len(row["s"]) > 1,
    ),
    "i8 = i64": (
        pc.equal(pc.field("i8"), pc.field("i64")),
        frozenset({"i8", "i64"}),
        lambda row: None if row["i8"] is None or row["i64"] is None else row["i8"] == row["i64"],
    ),
}

Rows = list[dict[str, Any]]


def to_table(rows: Rows) -> pa.Table:
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, (kind, _) in POOLS.items()})


# ------------------------------------------------------------------------------------------------------ the reference


def rank(value: Any) -> Any:
    """Spark's order: NaN after everything, one zero."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


def evaluate(node: Node, row: dict[str, Any]) -> bool | None:
    match node:
        case And(children):
            seen = {evaluate(child, row) for child in children}
            return False if False in seen else None if None in seen else True
        case Or(children):
            seen = {evaluate(child, row) for child in children}
            return True if True in seen else None if None in seen else False
        case Literal(constant):
            return constant
        case IsNull(column, negated):
            return (row[column] is None) != negated
        case Opaque():
            return OPAQUE[node.text][2](row)
        case Compare(column, "<=>", value):
            return row[column] is not None and rank(row[column]) == rank(value.as_py())
        case Compare() | In() | Like():
            return None if row[node.column] is None else holds(node, row[node.column])


def holds(node: Compare | In | Like, value: Any) -> bool:
    match node:
        case Like(_, pattern, negated):
            words = re.findall(r"\\.|.", pattern, re.DOTALL)
            regex = "".join({"%": "(?s:.*)", "_": "(?s:.)"}.get(word, re.escape(word[-1])) for word in words)
            return (re.fullmatch(regex, value) is not None) != node.negated
        case In(_, values, negated):
            return (rank(value) in {rank(item) for item in values.to_pylist()}) != negated
        case Compare(_, op, wanted):
            left, right = rank(value), rank(wanted.as_py())
            order = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
            return bool({**order, "=": left == right, "!=": left != right}[op])


# ----------------------------------------------------------------------------------------------------------- examples


@st.composite
def leaves(draw: st.DrawFn) -> Node:
    name = draw(st.sampled_from(sorted(POOLS)))
    kind, pool = POOLS[name]
    value = st.sampled_from(pool)
    shape = draw(st.integers(0, 9))
    if shape == 0:
        return IsNull(name, draw(st.booleans()))
    if shape <= 2:
        return In(name, pa.array(draw(st.lists(value, max_size=4)), kind), draw(st.booleans()))
    if shape == 3:
        return Like("s", draw(st.sampled_from(PATTERNS)), draw(st.booleans()))
    if shape == 4:
        text = draw(st.sampled_from(sorted(OPAQUE)))
        return Opaque(OPAQUE[text][0], OPAQUE[text][1], text)
    if shape == 5:
        return draw(st.sampled_from([TRUE, FALSE, UNKNOWN]))
    op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"]))
    return Compare(name, op, pa.scalar(draw(value), kind))


def _grown(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    many = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(many.map(And), many.map(Or))


nodes = st.recursive(leaves(), _grown, max_leaves=5)


def rows_for(node: Node, *, least: int = 0, most: int = 8) -> st.SearchStrategy[Rows]:
    """Rows with values in the columns that a node reads."""
    used = {name: st.none() | st.sampled_from(POOLS[name][1]) for name in sorted(columns(node))}
    return st.lists(st.fixed_dictionaries(used), min_size=least, max_size=most)


@st.composite
def nodes_and_rows(draw: st.DrawFn) -> tuple[Node, Rows]:
    node = draw(nodes)
    return node, draw(rows_for(node, least=1))


@st.composite
def nodes_and_files(draw: st.DrawFn) -> tuple[Node, list[tuple[Rows, int]]]:
    node = draw(nodes)
    file = st.tuples(rows_for(node, least=1, most=4), st.integers(0, 2))
    return node, draw(st.lists(file, min_size=1, max_size=4))


few = settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(nodes_and_rows())
def test_rows_are_true_false_or_unknown_as_in_sql(given_case: tuple[Node, Rows]) -> None:
    node, rows = given_case
    table = to_table(rows)
    expected = [evaluate(node, row) for row in rows]
    assert truth(node, table).to_pylist() == expected
    assert matches_rows(node, table).tolist() == [value is True for value in expected]
    opposite = [None if value is None else not value for value in expected]
    assert truth(negate(node), table).to_pylist() == opposite


@pytest.mark.parametrize("name", sorted(POOLS))
def test_every_operator_on_every_pair_of_values(name: str) -> None:
    kind, pool = POOLS[name]
    rows = [{name: value} for value in (*pool, None)]
    table = to_table(rows)
    for value in pool:
        for op in ("=", "!=", "<", "<=", ">", ">=", "<=>"):
            node = Compare(name, op, pa.scalar(value, kind))
            assert truth(node, table).to_pylist() == [evaluate(node, row) for row in rows], to_text(node)


@few
@given(nodes_and_rows(), st.sets(st.sampled_from(sorted(POOLS))))
def test_parts_of_a_condition(given_case: tuple[Node, Rows], names: set[str]) -> None:
    node, rows = given_case
    table = to_table(rows)
    whole = matches_rows(node, table)
    inside, rest = split(node, names)
    assert columns(inside) <= names
    assert (matches_rows(inside, table) & matches_rows(rest, table)).tolist() == whole.tolist()
    weaker = implied(node, names)
    assert columns(weaker) <= names
    assert not (whole & ~matches_rows(weaker, table)).any()
    assert matches_rows(conjunction(conjuncts(node)), table).tolist() == whole.tolist()


@few
@given(nodes_and_rows(), st.sampled_from(sorted(POOLS)))
def test_a_row_that_satisfies_has_a_candidate_key(given_case: tuple[Node, Rows], name: str) -> None:
    node, rows = given_case
    found = key_candidates(node, name)
    if found is None:
        return
    known = [repr(value) for value in found.to_pylist()]  # repr tells -0.0 from 0.0, as a bucket hash does
    for row in rows:
        if evaluate(node, row) is True:
            assert repr(pa.scalar(row[name], POOLS[name][0]).as_py()) in known


# -------------------------------------------------------------------------------------------------------------- files


def bounds_of(values: list[Any], kind: pa.DataType, style: int) -> tuple[Any, Any]:
    """What some writer says of a file's values. Styles: 0 exact, 1 and 2 truncated to as many characters."""
    present = [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]
    if not present:
        return None, None
    low, high = min(present, key=rank), max(present, key=rank)
    if style == 0 or not isinstance(low, str | bytes):
        return low, high
    cut = high[:style]
    if cut != high:
        cut = incremented(cut)
    return (None, None) if cut is None else (low[:style], cut)


def incremented(text: str | bytes) -> str | bytes | None:
    for end in range(len(text), 0, -1):
        if isinstance(text, bytes):
            if text[end - 1] < 0xFF:
                return text[: end - 1] + bytes([text[end - 1] + 1])
        elif ord(text[end - 1]) not in {0xD7FF, 0x10FFFF}:
            return text[: end - 1] + chr(ord(text[end - 1]) + 1)
    return None


def view_of(files: list[Rows], styles: Sequence[int], hidden: set[str], no_counts: bool) -> StatsView:
    stats = {}
    for name in files[0][0].keys() - hidden:
        kind = POOLS[name][0]
        values = [[row[name] for row in rows] for rows in files]
        both = [bounds_of(column, kind, style) for column, style in zip(values, styles, strict=True)]
        nulls = [None if no_counts else sum(value is None for value in column) for column in values]
        if name == "f":  # some writers do put NaN into their bounds
            both = [
                (low, NAN if any(value is not None and math.isnan(value) for value in column) else high)
                for (low, high), column in zip(both, values, strict=True)
            ]
        minimum, maximum = (pa.array([pair[i] for pair in both], kind) for i in (0, 1))
        stats[name] = ColumnBounds(minimum, maximum, pa.array(nulls, pa.int64()))
    return StatsView(np.array([len(rows) for rows in files], np.int64), stats)


@settings(few, max_examples=examples(200))
@given(nodes_and_files(), st.sets(st.sampled_from(sorted(POOLS)), max_size=3), st.booleans())
def test_statistics_never_lie(
    given_case: tuple[Node, list[tuple[Rows, int]]], hidden: set[str], no_counts: bool
) -> None:
    node, files = given_case
    view = view_of([rows for rows, _ in files], [style for _, style in files], hidden, no_counts)
    may, must = may_match(node, view), must_match(node, view)
    for i, (rows, _) in enumerate(files):
        found = [evaluate(node, row) is True for row in rows]
        assert may[i] or not any(found)
        assert not must[i] or all(found)


def one_file(low: Any, high: Any, nulls: int | None, kind: pa.DataType, rows: int = 10) -> StatsView:
    low, high = pa.array([low], kind), pa.array([high], kind)
    return StatsView(np.array([rows]), {"c": ColumnBounds(low, high, pa.array([nulls], pa.int64()))})


def number(op: str, value: int) -> Node:
    return Compare("c", op, pa.scalar(value))


# a condition on a file with values from 3 to 7, or of one value 3 only: may it match, must it?
INTEGER_FILES: list[tuple[Node, tuple[int, int], int | None, bool, bool]] = [
    (number("=", 2), (3, 7), 0, False, False),
    (number("=", 3), (3, 7), 0, True, False),
    (number("=", 8), (3, 7), 0, False, False),
    (number("=", 3), (3, 3), 0, True, True),
    (number("<=>", 3), (3, 3), 0, True, True),
    (number("=", 3), (3, 3), 1, True, False),
    (number("=", 3), (3, 3), None, True, False),
    (number("!=", 3), (3, 3), 0, False, False),
    (number("!=", 8), (3, 7), 0, True, True),
    (number("<", 3), (3, 7), 0, False, False),
    (number("<", 8), (3, 7), 0, True, True),
    (number("<=", 3), (3, 7), 0, True, False),
    (number("<=", 7), (3, 7), 0, True, True),
    (number(">", 7), (3, 7), 0, False, False),
    (number(">", 2), (3, 7), 0, True, True),
    (number(">=", 7), (3, 7), 0, True, False),
    (number(">=", 3), (3, 7), 2, True, False),
    (In("c", pa.array([1, 2, 8])), (3, 7), 0, False, False),
    (In("c", pa.array([9, 5, 1])), (3, 7), 0, True, False),
    (In("c", pa.array([9, 3])), (3, 3), 0, True, True),
    (In("c", pa.array([9, 3]), negated=True), (3, 3), 0, False, False),
    (In("c", pa.array([1, 2, 8]), negated=True), (3, 7), 0, True, True),
    (In("c", pa.array([], pa.int64())), (3, 7), 0, False, False),
    (IsNull("c"), (3, 7), 0, False, False),
    (IsNull("c"), (3, 7), 1, True, False),
    (IsNull("c"), (3, 7), None, True, False),
    (IsNull("c", negated=True), (3, 7), 0, True, True),
    (IsNull("c", negated=True), (3, 7), 1, True, False),
    (UNKNOWN, (3, 7), 0, False, False),
    (And((number(">", 2), number("<", 8))), (3, 7), 0, True, True),
    (Or((number("<", 3), number(">", 7))), (3, 7), 0, False, False),
    (Compare("other", "=", pa.scalar(1)), (3, 7), 0, True, False),
    (Compare("c", "=", pa.scalar(99, pa.int32())), (3, 7), 0, True, False),  # another type: nothing is known
]


@pytest.mark.parametrize(("node", "bounds", "nulls", "may", "must"), INTEGER_FILES)
def test_statistics_decide(node: Node, bounds: tuple[int, int], nulls: int | None, may: bool, must: bool) -> None:
    view = one_file(*bounds, nulls, pa.int64())
    assert (may_match(node, view)[0], must_match(node, view)[0]) == (may, must)


def test_a_file_of_nulls_matches_nothing_but_is_null() -> None:
    view = one_file(None, None, 10, pa.int64())
    assert not may_match(number("!=", 3), view)[0]
    assert not may_match(IsNull("c", negated=True), view)[0]
    assert must_match(IsNull("c"), view)[0]
    unknown = one_file(None, None, 9, pa.int64())
    assert may_match(number("!=", 3), unknown)[0]
    assert may_match(IsNull("c", negated=True), unknown)[0]


def test_statistics_that_contradict_themselves_decide_nothing() -> None:
    view = one_file(3, 7, 10, pa.int64())  # ten rows, ten nulls, and yet bounds
    assert may_match(number("=", 3), view)[0]
    assert not must_match(IsNull("c"), view)[0]


@pytest.mark.parametrize("bounds", [(None, 7), (3, None), (None, None)])
@pytest.mark.parametrize("values", [[4, 5], [4]])
def test_an_unknown_bound_is_no_bound(bounds: tuple[int | None, int | None], values: list[int]) -> None:
    view = one_file(*bounds, 0, pa.int64())
    assert may_match(In("c", pa.array(values)), view)[0]
    assert not must_match(In("c", pa.array(values), negated=True), view)[0]
    if bounds[0] is not None:
        assert not may_match(In("c", pa.array([1, 2])), view)[0]
    if bounds[1] is not None:
        assert not may_match(In("c", pa.array([8, 9])), view)[0]


def test_lists_know_one_zero() -> None:
    table = pa.table({"c": [0.0, -0.0, 1.0]})
    for zero in (0.0, -0.0):
        assert matches_rows(In("c", pa.array([zero, 5.0])), table).tolist() == [True, True, False]
        assert matches_rows(In("c", pa.array([zero, 5.0]), negated=True), table).tolist() == [False, False, True]
        assert may_match(In("c", pa.array([zero, 5.0])), one_file(-zero, -zero, 0, pa.float64()))[0]


def test_the_text_after_a_prefix_skips_surrogates() -> None:
    node = Like("c", "\ud7ff%")
    assert matches_rows(node, pa.table({"c": ["\ud7ffx", "\ue000"]})).tolist() == [True, False]
    assert not may_match(node, one_file("\ue000", "\uf000", 0, pa.string()))[0]


@pytest.mark.parametrize(
    ("pattern", "negated", "may", "must"),
    [
        ("ab%", False, True, False),
        ("ac%", False, True, False),
        ("ad%", False, False, False),
        ("aa%", False, False, False),
        ("a%", False, True, False),
        ("aa%", True, True, True),
        ("ab%", True, True, False),
        ("%x", False, True, False),
        ("b_%", False, False, False),
    ],
)
def test_patterns_prune_by_their_prefix(pattern: str, negated: bool, may: bool, must: bool) -> None:
    view = one_file("ab", "ac", 0, pa.string())
    node = Like("c", pattern, negated)
    assert (may_match(node, view)[0], must_match(node, view)[0]) == (may, must)


@pytest.mark.parametrize(("one", "other"), [("ab", "b"), (b"ab", b"b")])
def test_what_looks_like_one_value_may_be_truncated(one: str | bytes, other: str | bytes) -> None:
    view = one_file(one, one, 0, pa.scalar(one).type)
    equal = Compare("c", "=", pa.scalar(one))
    assert not must_match(equal, view)[0]
    assert may_match(negate(equal), view)[0]
    assert not may_match(Compare("c", "=", pa.scalar(other)), view)[0]


def test_nan_hides_behind_every_upper_bound() -> None:
    view = one_file(1.0, 2.0, 0, pa.float64())
    assert may_match(Compare("c", ">", pa.scalar(5.0)), view)[0]
    assert may_match(Compare("c", "=", pa.scalar(NAN)), view)[0]
    assert not may_match(Compare("c", "=", pa.scalar(5.0)), view)[0]
    assert not may_match(Compare("c", "<", pa.scalar(1.0)), view)[0]
    assert not must_match(Compare("c", "<", pa.scalar(5.0)), view)[0]
    assert must_match(Compare("c", ">", pa.scalar(0.5)), view)[0]


def test_a_hundred_thousand_files_at_once() -> None:
    starts = np.arange(100_000, dtype=np.int64) * 10
    low, high = pa.array(starts), pa.array(starts + 9)
    view = StatsView(np.full(100_000, 5), {"c": ColumnBounds(low, high, pa.array(np.zeros(100_000, np.int64)))})
    wanted = pa.array(np.arange(0, 1_000_000, 5_000) + 3)
    node = And((In("c", wanted), number(">=", 500_000)))
    assert np.flatnonzero(may_match(node, view)).tolist() == list(range(50_000, 100_000, 500))


# ------------------------------------------------------------------------------------------------------ Parquet, text


@settings(
    few, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(given_case=nodes_and_rows())
def test_a_parquet_reader_may_prune_with_what_is_implied(tmp_path: Path, given_case: tuple[Node, Rows]) -> None:
    node, rows = given_case
    table = to_table(rows).append_column("row", pa.array(range(len(rows))))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=2)
    ordered = [name for name in POOLS if name not in FLOATS]
    pushed = to_arrow_expression(implied(node, ordered))
    read = ds.dataset(tmp_path / "rows.parquet").to_table(filter=pushed)
    found = read.filter(pa.array(matches_rows(node, read)))["row"].to_pylist()
    assert found == [i for i, row in enumerate(rows) if evaluate(node, row) is True]


def test_row_groups_are_pruned(tmp_path: Path) -> None:
    table = pa.table({"k": pa.array(range(100)), "s": [f"{i:03d}" for i in range(100)]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=10)
    fragment = next(iter(ds.dataset(tmp_path / "rows.parquet").get_fragments()))
    for node in (
        Compare("k", "=", pa.scalar(42)),
        Compare("k", "<=>", pa.scalar(42)),
        In("k", pa.array([42, 43])),
        Like("s", "04%"),
        And((Compare("k", ">=", pa.scalar(42)), Compare("k", "<", pa.scalar(44)))),
    ):
        assert len(fragment.subset(to_arrow_expression(node)).row_groups) == 1


def test_constants_fold() -> None:
    leaf = IsNull("c")
    assert conjunction([]) == TRUE
    assert disjunction([]) == FALSE
    assert conjunction([TRUE, leaf]) == leaf
    assert conjunction([leaf, FALSE]) == FALSE
    assert disjunction([leaf, TRUE]) == TRUE
    assert disjunction([leaf, UNKNOWN]) == Or((leaf, UNKNOWN))
    assert conjunction([And((leaf, leaf)), leaf]) == And((leaf, leaf, leaf))
    assert conjuncts(TRUE) == ()


def test_rename() -> None:
    node = And((number("=", 3), Or((IsNull("c"), Like("d", "a%"))), TRUE))
    assert columns(rename(node, {"c": "c2"})) == {"c2", "d"}
    expression, names, _ = OPAQUE["i8 = i64"]
    opaque = Opaque(expression, names, "i8 = i64")
    assert rename(opaque, {"other": "o"}) is opaque
    with pytest.raises(ExpressionError, match="i8 = i64"):
        rename(opaque, {"i8": "i"})


def test_candidates() -> None:
    node = Or((number("=", 3), And((In("c", pa.array([4, 5])), IsNull("d"))), UNKNOWN))
    assert key_candidates(node, "c") == pa.array([3, 4, 5])
    assert key_candidates(And((node, number("=", 4), IsNull("d"))), "c") == pa.array([4])
    assert key_candidates(node, "d") is None
    assert key_candidates(Or((node, IsNull("d"))), "c") is None
    assert key_candidates(In("c", pa.array(range(1001))), "c") is None
    assert key_candidates(In("c", pa.array([1]), negated=True), "c") is None
    zeros = key_candidates(Compare("c", "=", pa.scalar(0.0)), "c")
    assert zeros is not None
    assert sorted(map(str, zeros.to_pylist())) == ["-0.0", "0.0"]
    assert key_candidates(Compare("c", "=", pa.scalar(NAN)), "c") is None


TEXTS: list[tuple[Node, str]] = [
    (And((Or((IsNull("a"), number("<", 1))), In("b c", pa.array(["x", "it's"]), negated=True))),
     r"(a IS NULL OR c < 1) AND `b c` NOT IN ('x', 'it\'s')"),
    (Compare("a", "=", pa.scalar(Decimal("1.50"))), "a = 1.50"),
    (Compare("a", "=", pa.scalar(Decimal(f"-{'9' * 28}.{'9' * 10}"))), f"a = -{'9' * 28}.{'9' * 10}"),
    (Compare("a", "=", pa.scalar(Decimal("1e-38"), pa.decimal128(38, 38))), f"a = 0.{'0' * 37}1"),
    (Compare("a", "=", pa.scalar(b"\x1f")), "a = X'1F'"),
    (Compare("a", "=", pa.scalar(0.5)), "a = 0.5D"),
    (Compare("a", "=", pa.scalar(NAN)), "a = CAST('nan' AS DOUBLE)"),
    (Compare("a", "=", pa.scalar(dt.date(2024, 1, 2))), "a = DATE '2024-01-02'"),
    (Compare("a", "=", pa.scalar(dt.time(1, 2))), "a = TIME '01:02:00'"),
    (Compare("a", "=", pa.scalar(_MOMENTS[1])), "a = TIMESTAMP_NTZ '2024-01-01 00:00:00.000000'"),
    (Compare("a", "=", pa.scalar(_MOMENTS[1], pa.timestamp("ms", "UTC"))), "a = TIMESTAMP '2024-01-01 00:00:00.000'"),
    (Compare("a", "=", pa.scalar(_MOMENTS[1], pa.timestamp("ns"))), "a = '2024-01-01 00:00:00.000000000'"),
    (Compare("a", "=", pa.scalar(True)), "a = TRUE"),
    (Like("a", "b\\%%", negated=True), r"a NOT LIKE 'b\\%%'"),
    (UNKNOWN, "NULL"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "text"), TEXTS)
def test_text(node: Node, text: str) -> None:
    assert to_text(node) == text
