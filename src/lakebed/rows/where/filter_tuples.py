"""Conditions as tuples, as in pandas and pyarrow: ``[("id", ">", 3), ("day", "in", ["2025-01-30", "2025-01-31"])]``.

All tuples of a list must hold. Of a list of such lists, one must hold. A tuple becomes SQL text, so that a value means
what the same literal means in a text: :func:`lakebed.rows.where.parse_where` does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import ExpressionError
from lakebed.format.predicate import name_text, value_text

_OPERATORS: Final = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LISTS: Final = {"in": "IN", "not in": "NOT IN"}
_HOW: Final = 'a filter is a list of tuples, such as [("id", ">", 3), ("day", "in", ["2025-01-31"])]'


def filters_text(filters: Any) -> str:
    """Returns filter tuples as a condition in SQL.

    Raises:
        ExpressionError: The filters do not have the form of tuples, or an operator is unknown.

    Example:
        >>> filters_text([("id", ">", 3), ("v", "not in", ["a", "b"]), ("w", "=", None)])
        "id > 3 AND v NOT IN ('a', 'b') AND w IS NULL"
        >>> filters_text([[("id", "==", 1)], [("id", "==", 2), ("v", "!=", "x")]])
        "(id = 1) OR (id = 2 AND v != 'x')"
    """
    if not isinstance(filters, Sequence) or isinstance(filters, str) or not filters:
        raise ExpressionError(f"{_HOW}, not {filters!r}")
    if all(isinstance(each, list) for each in filters):
        return " OR ".join(f"({_all_of(each)})" for each in filters)
    return _all_of(filters)


def _all_of(filters: Any) -> str:
    if not filters:
        raise ExpressionError(f"{_HOW}; it has an empty list")
    return " AND ".join(map(_one, filters))


def _one(given: Any) -> str:
    if not isinstance(given, tuple) or len(given) != 3 or not isinstance(given[0], str):
        raise ExpressionError(f"{_HOW}; it has {given!r}")
    column, operator, value = given
    name, word = name_text(column), str(operator).strip().lower()
    if word in _LISTS:
        if isinstance(value, str | bytes) or not isinstance(value, Collection):
            raise ExpressionError(f"{given!r}: the value of {word!r} is a list")
        if not value:
            return "FALSE" if word == "in" else "TRUE"
        return f"{name} {_LISTS[word]} ({', '.join(_literal(given, each) for each in value)})"
    if word not in _OPERATORS:
        raise ExpressionError(f"unknown operator {operator!r} in {given!r}; known: {', '.join([*_OPERATORS, *_LISTS])}")
    if value is None:
        if _OPERATORS[word] not in {"=", "!="}:
            raise ExpressionError(f"{given!r}: None can only be compared with = and !=")
        return f"{name} IS {'' if _OPERATORS[word] == '=' else 'NOT '}NULL"
    return f"{name} {_OPERATORS[word]} {_literal(given, value)}"


def _literal(given: object, value: Any) -> str:
    try:
        scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise ExpressionError(f"{given!r}: cannot compare with a {type(value).__name__}") from None
    if not scalar.is_valid:
        raise ExpressionError(f"{given!r}: a list may not hold None")
    if pa.types.is_nested(scalar.type):
        raise ExpressionError(f"{given!r}: cannot compare with a {type(value).__name__}")
    return value_text(scalar)
