"""Conditions as pyarrow expressions: ``(pc.field("id") > 3) & pc.field("day").isin(["2025-01-31"])``.

pyarrow offers no way to look into an expression but its text. The text is read, the expression that it seems to mean
is built again, and only if both are equal the condition is used. So a misread text is an error, never another
condition. Comparisons of columns with numbers, texts and booleans, ``isin``, ``is_null``, ``is_valid``, ``&``, ``|``
and ``~`` are supported. They mean what they mean in SQL: NaN is larger than any number.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ExpressionError
from lakebed.format.predicate import name_text, value_text

_Read: TypeAlias = tuple[pc.Expression, str]
"""An expression that was built again, and its meaning as SQL."""

_IS_IN: Final = re.compile(r"is_in\((\w+), \{value_set=\w+:\[([^\]]*)\], null_matching_behavior=MATCH\}\)")
_IS_NULL: Final = re.compile(r"is_null\((\w+), \{nan_is_null=false\}\)")
_BOOLEANS: Final = {"true": True, "false": False}
_OPERATORS: Final[dict[type[ast.cmpop], tuple[Callable[[Any, Any], Any], str]]] = {
    ast.Eq: (operator.eq, "="),
    ast.NotEq: (operator.ne, "!="),
    ast.Lt: (operator.lt, "<"),
    ast.LtE: (operator.le, "<="),
    ast.Gt: (operator.gt, ">"),
    ast.GtE: (operator.ge, ">="),
}


class _CannotReadError(Exception):
    """The text of an expression has a form that is not supported."""


def expression_text(expression: pc.Expression) -> str:
    """Returns a pyarrow expression as a condition in SQL.

    Raises:
        ExpressionError: The expression has a part that cannot be translated.

    Example:
        >>> expression_text((pc.field("id") > 3) & ~pc.field("v").isin(["a", "b"]))
        "(id > 3) AND (NOT (v IN ('a', 'b') AND v IS NOT NULL))"
    """
    text = _IS_NULL.sub(r"is_null(\1)", _IS_IN.sub(r"is_in(\1, [\2])", str(expression)))
    try:
        built, sql = _read(ast.parse(text, mode="eval").body)
        if built.equals(expression):
            return sql
    except (_CannotReadError, SyntaxError, ValueError, pa.ArrowException):
        pass
    raise ExpressionError(
        f"cannot translate the pyarrow expression {str(expression)!r}; write the condition as SQL text or as a list of "
        "tuples, or filter the rows afterwards"
    )


def _read(node: ast.expr) -> _Read:
    match node:
        case ast.Compare(ast.Name(column), [comparison], [value]):
            function, sign = _OPERATORS.get(type(comparison), (None, ""))
            if function is None:
                raise _CannotReadError
            constant = _constant(value)
            return function(pc.field(column), constant), f"{name_text(column)} {sign} {_sql(constant)}"
        case ast.BoolOp(kind, [first, second]):
            (left, left_sql), (right, right_sql) = _read(first), _read(second)
            if isinstance(kind, ast.And):
                return left & right, f"({left_sql}) AND ({right_sql})"
            return left | right, f"({left_sql}) OR ({right_sql})"
        case ast.Call(ast.Name("invert"), [inner]):
            built, sql = _read(inner)
            return ~built, f"NOT ({sql})"
        case ast.Call(ast.Name("is_null"), [ast.Name(column)]):
            return pc.field(column).is_null(), f"{name_text(column)} IS NULL"
        case ast.Call(ast.Name("is_valid"), [ast.Name(column)]):
            return pc.field(column).is_valid(), f"{name_text(column)} IS NOT NULL"
        case ast.Call(ast.Name("is_in"), [ast.Name(column), ast.List(items)]) if items:
            values = [_constant(item) for item in items]
            name, listed = name_text(column), ", ".join(map(_sql, values))
            return pc.field(column).isin(
                values
            ), f"{name} IN ({listed}) AND {name} IS NOT NULL"  # never unknown in Arrow
        case _:
            raise _CannotReadError


def _constant(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in _BOOLEANS:
        return _BOOLEANS[node.id]
    value = ast.literal_eval(node)
    if not isinstance(value, bool | int | float | str):
        raise _CannotReadError
    return value


def _sql(value: Any) -> str:
    return value_text(pa.scalar(value))
