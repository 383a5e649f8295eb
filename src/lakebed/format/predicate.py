"""What a filter is once it is bound to columns: an immutable tree, its Arrow expression, and what it says about files.

A node stands for a condition in SQL's three-valued logic. ``NOT`` is no node: whoever builds a tree pushes it down to
the leaves, so every node is monotone in its children and "unknown" may be read as "no". Leaves hold values of exactly
the Arrow type of their column; whatever cannot be said with such leaves is an :class:`Opaque` Arrow expression.

Three questions are answered here, none of them with I/O:

* which rows satisfy it: :func:`to_arrow_expression`, :func:`matches_rows`;
* which files may hold such a row, and which hold nothing else: :func:`may_match` and :func:`must_match`, vectorised
  over the statistics of all files at once. Statistics are bounds, not attained values: strings and bytes may be
  truncated, and NaN is in no bound. What is unknown never prunes a file and never vouches for one;
* which part of it speaks of some columns only: :func:`split` (exactly) and :func:`implied` (at least).

Floating-point numbers compare as in Spark: NaN equals NaN and is greater than every other number, -0.0 equals 0.0.

>>> node = And((Compare("id", ">", pa.scalar(5)), Like("name", "a%")))
>>> to_text(node)
"id > 5 AND name LIKE 'a%'"
>>> files = StatsView(
...     np.array([10, 10]),
...     {"id": ColumnBounds(pa.array([1, 3]), pa.array([5, 9]), pa.array([0, 0]))},
... )
>>> may_match(node, files).tolist()
[False, True]
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero

from lakebed.errors import ExpressionError

Mask: TypeAlias = npt.NDArray[np.bool_]

_OPPOSITE: Final = {"=": "!=", "<=>": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MAX_CANDIDATES: Final = 1000


@dataclass(frozen=True, slots=True)
class And:
    """True where every child is."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where any child is."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """A column against a value of its own Arrow type, which is never null."""

    column: str
    op: str
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class In:
    """A column against a list of values of its own Arrow type, none of them null."""

    column: str
    values: pa.Array
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a column is null, or (negated) is not."""

    column: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    r"""A string column against a SQL pattern: ``%`` is any text, ``_`` one character, ``\`` escapes either or itself."""

    column: str
    pattern: str
    negated: bool = False

    @property
    def prefix(self) -> str:
        r"""The text that every match starts with.

        >>> Like("c", r"50\%_x%").prefix
        '50%'
        """
        literal = re.match(r"(?:\\.|[^%_\\])*", self.pattern, re.DOTALL)
        return re.sub(r"\\(.)", r"\1", literal[0], flags=re.DOTALL) if literal else ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is SQL's unknown."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A boolean Arrow expression that statistics cannot answer.

    ``rebind`` builds the same expression for columns of other names; two nodes are equal if their texts are.
    """

    expression: pc.Expression = field(compare=False)
    columns: frozenset[str]
    text: str
    rebind: Callable[[Mapping[str, str]], pc.Expression] | None = field(default=None, compare=False, repr=False)


Leaf: TypeAlias = Compare | In | IsNull | Like
Node: TypeAlias = And | Or | Leaf | Literal | Opaque

TRUE: Final = Literal(True)
FALSE: Final = Literal(False)
UNKNOWN: Final = Literal(None)


# ------------------------------------------------------------------------------------------- building and taking apart


def conjunction(nodes: Iterable[Node]) -> Node:
    """All of these, flat and without constants that decide nothing."""
    return _connect(And, nodes, neutral=TRUE, deciding=FALSE)


def disjunction(nodes: Iterable[Node]) -> Node:
    """Any of these, flat and without constants that decide nothing."""
    return _connect(Or, nodes, neutral=FALSE, deciding=TRUE)


def _connect(kind: type[And | Or], nodes: Iterable[Node], *, neutral: Literal, deciding: Literal) -> Node:
    flat: list[Node] = []
    for node in nodes:
        parts = node.children if isinstance(node, kind) else (node,)
        if deciding in parts:
            return deciding
        flat.extend(part for part in parts if part != neutral)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def negate(node: Node) -> Node:
    """The condition that is true where this one is false, false where it is true, and unknown where it is.

    >>> to_text(negate(Or((Compare("id", "<", pa.scalar(5)), IsNull("id")))))
    'id >= 5 AND id IS NOT NULL'
    """
    match node:
        case And(children):
            return disjunction(map(negate, children))
        case Or(children):
            return conjunction(map(negate, children))
        case Literal(value):
            return Literal(None if value is None else not value)
        case Compare(column, "<=>", value):
            return Or((IsNull(column), Compare(column, "!=", value)))
        case IsNull(column, negated):
            return IsNull(column, not negated)
        case Opaque(expression, names, text, rebind):
            again = None if rebind is None else partial(_rebind_inverted, rebind)
            return Opaque(pc.invert(expression), names, f"NOT ({text})", again)
        case _:
            return _opposite(node)


def _opposite(node: Compare | In | Like) -> Compare | In | Like:
    """The opposite for a value that is not null."""
    if isinstance(node, Compare):
        return replace(node, op=_OPPOSITE[node.op])
    return replace(node, negated=not node.negated)


def _rebind_inverted(rebind: Callable[[Mapping[str, str]], pc.Expression], mapping: Mapping[str, str]) -> pc.Expression:
    return pc.invert(rebind(mapping))


def columns(node: Node) -> frozenset[str]:
    """The top-level columns that the condition reads."""
    match node:
        case And(children) | Or(children):
            return frozenset().union(*map(columns, children))
        case Literal():
            return frozenset()
        case Opaque():
            return node.columns
        case _:
            return frozenset((node.column,))


def conjuncts(node: Node) -> tuple[Node, ...]:
    """The conditions that all must hold; none for TRUE."""
    return node.children if isinstance(node, And) else () if node == TRUE else (node,)


def split(node: Node, names: Collection[str]) -> tuple[Node, Node]:
    """The condition in two, of which both must hold: what only uses these columns, and the rest."""
    known = frozenset(names)
    inside = [part for part in conjuncts(node) if columns(part) <= known]
    rest = [part for part in conjuncts(node) if not columns(part) <= known]
    return conjunction(inside), conjunction(rest)


def implied(node: Node, names: Collection[str]) -> Node:
    """The strongest condition on these columns alone that every row that satisfies ``node`` satisfies too.

    >>> one = And((Compare("dt", "=", pa.scalar("a")), Compare("id", "=", pa.scalar(1))))
    >>> two = And((Compare("dt", "=", pa.scalar("b")), Compare("id", "=", pa.scalar(2))))
    >>> to_text(implied(Or((one, two)), ["dt"]))
    "dt = 'a' OR dt = 'b'"
    """
    match node:
        case And(children):
            return conjunction(implied(child, names) for child in children)
        case Or(children):
            return disjunction(implied(child, names) for child in children)
        case _:
            return node if columns(node) <= frozenset(names) else TRUE


def rename(node: Node, mapping: Mapping[str, str]) -> Node:
    """The same condition on columns of other names; names that are not in the mapping stay."""
    match node:
        case And(children):
            return And(tuple(rename(child, mapping) for child in children))
        case Or(children):
            return Or(tuple(rename(child, mapping) for child in children))
        case Literal():
            return node
        case Opaque():
            return _rename_opaque(node, mapping)
        case _:
            return replace(node, column=mapping.get(node.column, node.column))


def _rename_opaque(node: Opaque, mapping: Mapping[str, str]) -> Opaque:
    if all(mapping.get(name, name) == name for name in node.columns):
        return node
    if node.rebind is None:
        raise ExpressionError(f"the columns of {node.text!r} cannot be renamed; filter after renaming the rows instead")
    names = frozenset(mapping.get(name, name) for name in node.columns)
    return replace(node, expression=node.rebind(mapping), columns=names, rebind=None)


def key_candidates(node: Node, column: str) -> pa.Array | None:
    """The values that a column must be among, where the condition says so; None where it does not or they are many.

    Used to find the buckets of keys, so a value comes in all its encodings: 0.0 also as -0.0, and NaN is not answered.
    """
    found = _candidates(node, column)
    if found is None or len(found) > MAX_CANDIDATES:
        return None
    if pa.types.is_floating(found.type):
        if pc.any(pc.is_nan(found)).as_py():
            return None
        found = _with_both_zeros(found)
    return pc.unique(found)


def _candidates(node: Node, column: str) -> pa.Array | None:
    match node:
        case Compare(name, "=" | "<=>", value) if name == column:
            return pa.repeat(value, 1)
        case In(name, values, False) if name == column:
            return values
        case And(children):
            every = [found for child in children if (found := _candidates(child, column)) is not None]
            return min(every, key=len) if every else None
        case Or(children):
            parts = [_candidates(child, column) for child in children if child not in (FALSE, UNKNOWN)]
            some = [part for part in parts if part is not None]
            return pa.concat_arrays(some) if some and len(some) == len(parts) else None
        case _:
            return None


# ------------------------------------------------------------------------------------------------------------ as rows


def to_arrow_expression(node: Node) -> pc.Expression:
    """The condition as an Arrow expression: true, false or null exactly where SQL says so.

    A Parquet reader that gets it as a dataset filter first asks the row groups' statistics, and those leave NaN out:
    a row group of 3.0 and NaN passes for one of 3.0 only. Hand such a reader ``implied(node, other_columns)`` without
    the floating-point columns, and filter its batches with the whole expression.
    """
    match node:
        case And(children):
            return _connected(children, pc.and_kleene)
        case Or(children):
            return _connected(children, pc.or_kleene)
        case Literal(value):
            return pc.scalar(pa.scalar(value, pa.bool_()))
        case IsNull(column, negated):
            return pc.is_valid(pc.field(column)) if negated else pc.is_null(pc.field(column))
        case Opaque():
            return node.expression
        case Compare(column, "<=>", value):
            equal = to_arrow_expression(Compare(column, "=", value))
            return pc.and_kleene(pc.is_valid(pc.field(column)), equal)
        case Compare(column, op, value):
            compared = _compare_float if pa.types.is_floating(value.type) else _compare
            return compared(pc.field(column), op, value)
        case In():
            return _in_expression(node)
        case Like():
            return _like_expression(node)


def _connected(
    nodes: tuple[Node, ...], connect: Callable[[pc.Expression, pc.Expression], pc.Expression]
) -> pc.Expression:
    """Connected as a balanced tree: Arrow walks expressions recursively, and conditions may be thousands."""
    parts = [to_arrow_expression(node) for node in nodes]
    while len(parts) > 1:
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        parts = [connect(*pair) for pair in pairs] + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _compare(column: pc.Expression, op: str, value: pa.Scalar) -> pc.Expression:
    return COMPARE[op](column, pc.scalar(value))


def _compare_float(column: pc.Expression, op: str, value: pa.Scalar) -> pc.Expression:
    nan = pc.is_nan(column)
    if not math.isnan(value.as_py()):
        compared = COMPARE[op](column, pc.scalar(value))
        return pc.or_kleene(compared, nan) if op in {">", ">=", "!="} else pc.and_kleene(compared, pc.invert(nan))
    unknown = pc.scalar(pa.scalar(None, pa.bool_()))
    match op:
        case "=" | ">=":
            return nan
        case "!=" | "<":
            return pc.invert(nan)
        case "<=":
            return pc.or_kleene(pc.is_valid(column), unknown)
        case _:
            return pc.and_kleene(pc.is_null(column), unknown)


def _in_expression(node: In) -> pc.Expression:
    column = pc.field(node.column)
    values = _with_both_zeros(node.values) if pa.types.is_floating(node.values.type) else node.values
    found = pc.is_in(column, value_set=values)
    found = pc.invert(found) if node.negated else found
    unknown = pc.scalar(pa.scalar(None, pa.bool_()))
    if node.negated:  # is_in says false for null, so here null has to be made of true
        return pc.and_kleene(found, pc.or_kleene(pc.is_valid(column), unknown))
    return pc.or_kleene(found, pc.and_kleene(pc.is_null(column), unknown))


def _with_both_zeros(values: pa.Array) -> pa.Array:
    """Arrow's hash tables and Paimon's bucket hash both tell -0.0 from 0.0, SQL does not."""
    zero = pc.equal(values, pa.scalar(0, values.type))
    if not pc.any(zero).as_py():
        return values
    return pa.concat_arrays([values.filter(pc.invert(zero)), pa.array([0.0, -0.0], values.type)])


def _like_expression(node: Like) -> pc.Expression:
    column = pc.field(node.column)
    found = pc.match_like(column, node.pattern)
    if node.negated:
        return pc.invert(found)
    if node.prefix:  # a range that readers can hold against row group statistics, where they cannot use a pattern
        found = pc.and_kleene(pc.greater_equal(column, pc.scalar(node.prefix)), found)
        after = _successor(node.prefix)
        found = found if after is None else pc.and_kleene(pc.less(column, pc.scalar(after)), found)
    return found


def _successor(prefix: str) -> str | None:
    """The least string greater than all that start with the prefix, in the order of code points."""
    kept = prefix.rstrip(chr(0x10FFFF))
    if not kept:
        return None
    last = ord(kept[-1]) + 1
    return kept[:-1] + chr(0xE000 if last == 0xD800 else last)


def truth(node: Node, table: pa.Table) -> pa.ChunkedArray:
    """True, false or null for each row of a table."""
    names = sorted(columns(node))
    rows = table.select(names) if names else pa.table({"row": pa.nulls(table.num_rows)})
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    project = acero.Declaration("project", acero.ProjectNodeOptions([to_arrow_expression(node)], ["truth"]))
    try:
        return acero.Declaration.from_sequence([source, project]).to_table(use_threads=False).column("truth")
    except pa.ArrowInvalid as problem:
        raise ExpressionError(f"{to_text(node)!r} cannot be evaluated on these rows: {problem}") from None


def matches_rows(node: Node, table: pa.Table) -> Mask:
    """Which rows of a table satisfy the condition; where it is unknown they do not.

    >>> matches_rows(Compare("dt", ">", pa.scalar("b")), pa.table({"dt": ["a", "c", None]})).tolist()
    [False, True, False]
    """
    return _filled(truth(node, table), if_null=False)


# ----------------------------------------------------------------------------------------------------------- as files


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """One column of many files: no value is below ``minimum`` or above ``maximum``. Null means unknown.

    A file whose bounds are both null and whose null count equals its row count holds nothing but nulls.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array


@dataclass(frozen=True, slots=True)
class StatsView:
    """The statistics of many files; a column that is not there is unknown."""

    row_count: npt.NDArray[np.int64]
    columns: Mapping[str, ColumnBounds]


def may_match(node: Node, view: StatsView) -> Mask:
    """False for a file only if none of its rows can satisfy the condition."""

    def leaf(leaf: Leaf, bounds: ColumnBounds) -> Mask:
        if isinstance(leaf, IsNull):
            return ~_all_null(bounds, view) if leaf.negated else ~_no_nulls(bounds)
        return _may_hold(leaf, bounds) & ~_all_null(bounds, view)

    return _judge(node, view, leaf, unknown=True)


def must_match(node: Node, view: StatsView) -> Mask:
    """True for a file only if every one of its rows certainly satisfies the condition."""

    def leaf(leaf: Leaf, bounds: ColumnBounds) -> Mask:
        if isinstance(leaf, IsNull):
            return _no_nulls(bounds) if leaf.negated else _all_null(bounds, view)
        return ~_may_hold(_opposite(leaf), bounds) & _no_nulls(bounds)

    return _judge(node, view, leaf, unknown=False)


def _judge(node: Node, view: StatsView, leaf: Callable[[Leaf, ColumnBounds], Mask], *, unknown: bool) -> Mask:
    match node:
        case And(children):
            parts = [_judge(child, view, leaf, unknown=unknown) for child in children]
            return np.asarray(np.logical_and.reduce(parts))
        case Or(children):
            parts = [_judge(child, view, leaf, unknown=unknown) for child in children]
            return np.asarray(np.logical_or.reduce(parts))
        case Literal(value):
            return np.full(len(view.row_count), value is True)
        case Opaque():
            return np.full(len(view.row_count), unknown)
        case _:
            bounds = view.columns.get(node.column)
            return np.full(len(view.row_count), unknown) if bounds is None else leaf(node, bounds)


def _all_null(bounds: ColumnBounds, view: StatsView) -> Mask:
    full = _filled(pc.equal(bounds.null_count, pa.array(view.row_count)), if_null=False)
    return full & ~_known(bounds.minimum) & ~_known(bounds.maximum)


def _no_nulls(bounds: ColumnBounds) -> Mask:
    return _filled(pc.equal(bounds.null_count, 0), if_null=False)


def _may_hold(node: Compare | In | Like, bounds: ColumnBounds) -> Mask:
    """Whether a value within the bounds (or NaN, which is outside of all bounds) can satisfy the leaf."""
    everything = np.full(len(bounds.minimum), fill_value=True)
    match node:
        case Like(_, _, negated):
            return everything if negated or not _has_type(bounds, pa.string()) else _prefix_in_bounds(node, bounds)
        case In(_, values, negated):
            if not _has_type(bounds, values.type):
                return everything
            return ~_single_value_in(values, bounds) if negated else _some_in_bounds(values, bounds)
        case Compare(_, op, value):
            if not _has_type(bounds, value.type):
                return everything
            if op in {"=", "<=>"}:
                return _some_in_bounds(pa.repeat(value, 1), bounds)
            if op == "!=":
                return ~_single_value_in(pa.repeat(value, 1), bounds)
            if op in {"<", "<="}:
                return _bound_holds(bounds.minimum, op, value)
            return everything if pa.types.is_floating(value.type) else _bound_holds(bounds.maximum, op, value)


def _has_type(bounds: ColumnBounds, wanted: pa.DataType) -> bool:
    return bool(bounds.minimum.type == wanted and bounds.maximum.type == wanted)


def _bound_holds(bound: pa.Array, op: str, value: pa.Scalar) -> Mask:
    """A bound against a value; a bound that is unknown or NaN, or a value that is NaN, rules nothing out."""
    if pa.types.is_floating(value.type) and math.isnan(value.as_py()):
        return np.full(len(bound), fill_value=True)
    return _filled(COMPARE[op](_without_nan(bound), value), if_null=True)


def _some_in_bounds(values: pa.Array, bounds: ColumnBounds) -> Mask:
    """Whether any of the values lies within a file's bounds; an unknown bound is no bound."""
    files = len(bounds.minimum)
    if len(values) == 0:
        return np.full(files, fill_value=False)
    if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
        return np.full(files, fill_value=True)
    low, high = _without_nan(bounds.minimum), _without_nan(bounds.maximum)
    if len(values) == 1:
        above = _filled(pc.less_equal(low, values[0]), if_null=True)
        return above & _filled(pc.greater_equal(high, values[0]), if_null=True)
    # ranks stand for values of any type, so that one binary search serves all files
    ranks = pc.rank(pa.concat_arrays([low, high, values]), tiebreaker="dense").to_numpy().astype(np.int64)
    lows = np.where(_known(low), ranks[:files], 0)
    highs = np.where(_known(high), ranks[files : 2 * files], np.iinfo(np.int64).max)
    wanted = np.append(np.sort(ranks[2 * files :]), np.iinfo(np.int64).max)
    first = np.searchsorted(wanted, lows)
    found: Mask = (first < len(values)) & (wanted[first] <= highs)
    return found


def _single_value_in(values: pa.Array, bounds: ColumnBounds) -> Mask:
    """Whether a file holds one value only and it is among these. Truncated types and NaN leave that open."""
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type) or pa.types.is_floating(values.type):
        return np.full(len(bounds.minimum), fill_value=False)
    single = _filled(pc.equal(bounds.minimum, bounds.maximum), if_null=False)
    return single & _filled(pc.is_in(bounds.minimum, value_set=values), if_null=False)


def _prefix_in_bounds(node: Like, bounds: ColumnBounds) -> Mask:
    """Whether a string with the pattern's prefix lies within a file's bounds."""
    prefix = node.prefix
    found = _filled(pc.greater_equal(bounds.maximum, prefix), if_null=True)
    after = _successor(prefix)
    return found if after is None else found & _filled(pc.less(bounds.minimum, after), if_null=True)


def _without_nan(bound: pa.Array) -> pa.Array:
    if not pa.types.is_floating(bound.type):
        return bound
    return pc.if_else(pc.is_nan(bound), pa.scalar(None, bound.type), bound)


def _known(bound: pa.Array) -> Mask:
    return _filled(pc.is_valid(bound), if_null=False)


def _filled(mask: pa.Array | pa.ChunkedArray, *, if_null: bool) -> Mask:
    return np.asarray(pc.fill_null(mask, if_null).to_numpy(zero_copy_only=False), dtype=np.bool_)


# ------------------------------------------------------------------------------------------------------------ as text


def to_text(node: Node) -> str:
    """The condition as Spark SQL, for people; timestamps with a zone are in UTC."""
    match node:
        case And(children):
            return " AND ".join(
                f"({to_text(child)})" if isinstance(child, Or) else to_text(child) for child in children
            )
        case Or(children):
            return " OR ".join(map(to_text, children))
        case Literal(value):
            return "NULL" if value is None else str(value).upper()
        case Opaque(_, _, text):
            return text
        case Compare(column, op, value):
            return f"{_name_text(column)} {op} {value_text(value)}"
        case In(column, values, negated):
            listed = ", ".join(map(value_text, values))
            return f"{_name_text(column)} {'NOT ' if negated else ''}IN ({listed})"
        case IsNull(column, negated):
            return f"{_name_text(column)} IS {'NOT ' if negated else ''}NULL"
        case Like(column, pattern, negated):
            return f"{_name_text(column)} {'NOT ' if negated else ''}LIKE {_string_text(pattern)}"


def _name_text(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def _string_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def value_text(value: pa.Scalar) -> str:
    """A value that is not null as a Spark SQL literal.

    >>> value_text(pa.scalar(dt.date(2024, 1, 31)))
    "DATE '2024-01-31'"
    """
    kind = value.type
    if pa.types.is_timestamp(kind):
        naive = pc.cast(value.cast(pa.timestamp(kind.unit)), pa.string()).as_py()
        return f"TIMESTAMP{'' if kind.tz else '_NTZ'} '{naive}'"
    plain = value.as_py()
    if isinstance(plain, bool):
        return str(plain).upper()
    if isinstance(plain, str):
        return _string_text(plain)
    if isinstance(plain, bytes):
        return f"X'{plain.hex().upper()}'"
    if isinstance(plain, float):
        return f"{plain!r}D" if math.isfinite(plain) else f"CAST('{plain}' AS DOUBLE)"
    if isinstance(plain, dt.date):
        return f"DATE '{plain.isoformat()}'"
    if isinstance(plain, dt.time):
        return f"TIME '{plain.isoformat()}'"
    return f"{plain:f}" if pa.types.is_decimal(kind) else str(plain)
