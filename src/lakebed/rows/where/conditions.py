"""The rules for syntax that is a condition: connectives, comparisons, membership, tests and patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lakebed.format.predicate import (
    FALSE,
    TRUE,
    UNKNOWN,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    conjunction,
    disjunction,
    negate,
    to_arrow_expression,
)
from lakebed.rows.where.binder import Binder, Conditions, Value
from lakebed.rows.where.comparisons import compare_column, never
from lakebed.rows.where.expressions import compare_expressions, holds
from lakebed.rows.where.patterns import like_pattern, literal_like, re2
from lakebed.rows.where.syntax import of, sql
from lakebed.rows.where.value_types import type_name

_OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _paren(bind: Binder, syntax: exp.Expr) -> Node:
    return bind.condition(syntax.this)


def _connector(bind: Binder, syntax: exp.Expr) -> Node:
    parts = [bind.condition(part) for part in syntax.flatten()]
    return conjunction(parts) if isinstance(syntax, exp.And) else disjunction(parts)


def _negation(bind: Binder, syntax: exp.Expr) -> Node:
    return negate(bind.condition(syntax.this))


def _boolean(bind: Binder, syntax: exp.Expr) -> Node:  # noqa: ARG001
    return TRUE if syntax.this else FALSE


def _comparison(bind: Binder, syntax: exp.Expr) -> Node:
    if type(syntax.expression) in _OPERATORS:  # sqlglot and Spark parse a = b < c differently
        bind.fail(f"put parentheses around one of the comparisons in {sql(syntax)}", syntax)
    return compare(bind, bind.value(syntax.this), _OPERATORS[type(syntax)], bind.value(syntax.expression), syntax)


def _distinct(bind: Binder, syntax: exp.Expr) -> Node:
    return negate(bind.condition(of(exp.NullSafeEQ, syntax.this, syntax.expression)))


def compare(bind: Binder, left: Value, op: str, right: Value, syntax: exp.Expr) -> Node:
    """Two values compared: as a leaf if one is a column and the other a constant."""
    if left.column is None and right.column is not None and left.constant is not None:
        left, right, op = right, left, _FLIPPED.get(op, op)
    kind = bind.common([left, right], syntax)
    if left.column is not None and right.constant is not None:
        if not right.constant.is_valid:
            return IsNull(left.column) if op == "<=>" else UNKNOWN
        if _compares_as_is(left, kind):
            constant = bind.constant(right.constant, kind, syntax)
            return compare_column(left.column, left.type, op, constant)
    if pa.types.is_nested(kind):
        bind.refuse(syntax, f"comparing {type_name(kind)}")
    width = _char_width(left, right)
    sides = (_padded(side, width) if width else side for side in (left, right))
    one, two = (bind.cast(side, kind, syntax).expression for side in sides)
    return bind.node(compare_expressions(op, one, two, kind), syntax, left, right)


def _compares_as_is(column: Value, kind: pa.DataType) -> bool:
    """Whether a column compares in a type without being cast; a CHAR is padded, a string may become a number."""
    return (
        not column.char_length
        and not pa.types.is_nested(kind)
        and pa.types.is_string(column.type) == pa.types.is_string(kind)
    )


def _char_width(left: Value, right: Value) -> int:
    """Spark pads a CHAR and the CHAR or literal that it is compared with to the longer of the two."""
    if not left.char_length and not right.char_length:
        return 0
    literals = (side.constant.as_py() for side in (left, right) if side.constant is not None)
    return max(left.char_length, right.char_length, *(len(text) for text in literals if isinstance(text, str)))


def _padded(value: Value, width: int) -> Value:
    if not value.char_length and (value.constant is None or not pa.types.is_string(value.type)):
        return value
    return replace(value, expression=pc.utf8_rpad(value.expression, width=width, padding=" "), constant=None)


def as_read(value: Value) -> Value:
    """Return a CHAR as a plain string with its spaces, as Spark compares it where it does not pad both sides."""
    return replace(value, column=None, char_length=0) if value.char_length else value


def _pads_items(subject: Value, items: Sequence[Value]) -> bool:
    """Whether Spark pads both sides of an IN: only a CHAR column with constants only, or with CHAR columns only."""
    if not subject.char_length:
        return False
    constants = all(item.constant is not None and not pa.types.is_null(item.type) for item in items)
    return constants or all(item.char_length for item in items)


def _whole(bind: Binder, node: Node, syntax: exp.Expr, values: Sequence[Value]) -> Node:
    """Return a condition as one node with its own syntax: its parts alone would be padded."""
    return node if isinstance(node, Literal) else bind.node(to_arrow_expression(node), syntax, *values)


def _between(bind: Binder, syntax: exp.Expr) -> Node:
    sides = (of(exp.GTE, syntax.this, syntax.args["low"]), of(exp.LTE, syntax.this, syntax.args["high"]))
    values = [bind.value(part) for part in (syntax.this, syntax.args["low"], syntax.args["high"])]
    if not any(value.char_length for value in values):
        return conjunction(bind.condition(side) for side in sides)
    subject, low, high = map(as_read, values)
    both = conjunction((compare(bind, subject, ">=", low, sides[0]), compare(bind, subject, "<=", high, sides[1])))
    return _whole(bind, both, syntax, values)


def _membership(bind: Binder, syntax: exp.Expr) -> Node:
    subject, items = bind.value(syntax.this), [bind.value(item) for item in syntax.expressions]
    if not items:
        bind.fail(f"the list of {sql(syntax)} is empty", syntax)
    kind = bind.common([subject, *items], syntax)
    if any(value.char_length for value in [subject, *items]) and not _pads_items(subject, items):
        equal = [compare(bind, as_read(subject), "=", as_read(item), syntax) for item in items]
        return _whole(bind, disjunction(equal), syntax, [subject, *items])
    constants = [item.constant for item in items if item.constant is not None]
    if subject.column is None or len(constants) < len(items) or not _compares_as_is(subject, kind):
        return disjunction(bind.condition(of(exp.EQ, syntax.this, item)) for item in syntax.expressions)
    found: list[Node] = [
        compare_column(subject.column, subject.type, "=", bind.constant(constant, kind, syntax))
        for constant in constants
        if constant.is_valid
    ]
    same = [node.value for node in found if isinstance(node, Compare)]
    rest: list[Node] = [node for node in found if not isinstance(node, Compare) and node != never(subject.column)]
    if len(same) > 1:
        rest.append(In(subject.column, pc.unique(pa.array(same, subject.type))))
    elif same:
        rest.append(Compare(subject.column, "=", same[0]))
    if len(constants) > len(found):
        rest.append(UNKNOWN)
    return disjunction(rest) if rest else never(subject.column)


def _is_test(bind: Binder, syntax: exp.Expr) -> Node:
    if isinstance(syntax.expression, exp.Boolean):
        return bind.condition(of(exp.NullSafeEQ, syntax.this, syntax.expression))
    if not isinstance(syntax.expression, exp.Null):
        bind.refuse(syntax)
    value = bind.value(syntax.this)
    return bind.node(pc.is_null(value.expression), syntax, value) if value.column is None else IsNull(value.column)


def _like(bind: Binder, syntax: exp.Expr) -> Node:
    like, escape = syntax, "\\"
    if isinstance(syntax, exp.Escape):
        like, escape = syntax.this, bind.text(syntax.expression) or ""
        bind.check_arguments(like, "this expression negate")
        if len(escape) != 1:
            bind.fail(f"ESCAPE in {sql(syntax)} must be one character", syntax)
    if like.args.get("negate"):
        positive = syntax.copy()
        (positive.this if isinstance(syntax, exp.Escape) else positive).set("negate", None)
        return negate(bind.condition(positive))
    subject, text = bind.cast(bind.value(like.this), pa.string(), syntax), bind.text(like.expression)
    if text is None:
        return UNKNOWN
    fold_case = isinstance(like, exp.ILike)
    found = like_pattern(text.lower() if fold_case else text, escape)
    if found is None:
        bind.fail(f"the escape character {escape!r} in {text!r} must stand before '%', '_' or itself", syntax)
    pattern, plain = found
    if fold_case:
        return bind.node(pc.match_like(pc.utf8_lower(subject.expression), pattern), syntax, subject)
    if plain is not None and subject.column is not None and not subject.char_length:
        return Compare(subject.column, "=", pa.scalar(plain))
    return _like_node(bind, subject, pattern, syntax)


def _like_node(bind: Binder, subject: Value, pattern: str, syntax: exp.Expr) -> Node:
    if subject.column is not None and not subject.char_length:
        return Like(subject.column, pattern)
    return bind.node(pc.match_like(subject.expression, pattern), syntax, subject)


def _contains(bind: Binder, syntax: exp.Expr) -> Node:
    subject = bind.cast(bind.value(syntax.this), pa.string(), syntax)
    text = bind.text(syntax.expression)
    if text is None:
        return UNKNOWN
    before = "" if isinstance(syntax, exp.StartsWith) else "%"
    after = "" if isinstance(syntax, exp.EndsWith) else "%"
    return _like_node(bind, subject, before + literal_like(text) + after, syntax)


def _rlike(bind: Binder, syntax: exp.Expr) -> Node:
    subject = bind.cast(bind.value(syntax.this), pa.string(), syntax)
    text = bind.text(syntax.expression)
    if text is None:
        return UNKNOWN
    pattern = re2(text)
    try:
        pc.match_substring_regex(pa.array([""]), pattern=pattern or "(")
    except pa.ArrowInvalid:
        bind.refuse(syntax, f"the regular expression {text!r}")
    return bind.node(pc.match_substring_regex(subject.expression, pattern=pattern), syntax, subject)


def _is_nan(bind: Binder, syntax: exp.Expr) -> Node:
    value = bind.number(syntax.this)
    if not pa.types.is_floating(value.type):
        value = bind.cast(value, pa.float64(), syntax)
    return bind.node(holds(pc.is_nan(value.expression)), syntax, value)


CONDITIONS: Final[Conditions] = {
    exp.Paren: (_paren, "this"),
    exp.And: (_connector, "this expression"),
    exp.Or: (_connector, "this expression"),
    exp.Not: (_negation, "this"),
    exp.Boolean: (_boolean, "this"),
    exp.NullSafeNEQ: (_distinct, "this expression"),
    exp.Between: (_between, "this low high"),
    exp.In: (_membership, "this expressions"),
    exp.Is: (_is_test, "this expression"),
    exp.Like: (_like, "this expression negate"),
    exp.ILike: (_like, "this expression negate"),
    exp.Escape: (_like, "this expression"),
    exp.RegexpLike: (_rlike, "this expression"),
    exp.StartsWith: (_contains, "this expression"),
    exp.EndsWith: (_contains, "this expression"),
    exp.Contains: (_contains, "this expression"),
    exp.IsNan: (_is_nan, "this"),
} | dict.fromkeys(_OPERATORS, (_comparison, "this expression"))
