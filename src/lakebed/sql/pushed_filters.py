"""Converts conditions that Spark pushes down to conditions of Lakebed that are true for exactly the same rows.

Conditions without an equivalent are ``None``, and Spark evaluates them: expressions, nested columns, values of another
type than their column, CHAR columns (which Spark pads before it compares) and timestamps finer than Spark's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.format import predicate as pred
from lakebed.format.types.data_types import Atomic, Field, to_arrow
from lakebed.spark.columns import spark_type
from lakebed.sql.jvm.internal_values import from_internal

_COMPARISONS: Final = {"=": "=", "<>": "!=", "!=": "!=", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MICROS: Final = 6


class _NoNode(Exception):  # noqa: N818 - not an error: Spark evaluates it
    """The condition has no equivalent node."""


def nodes(described: str, fields: Sequence[Field]) -> list[pred.Node | None]:
    """Returns the conditions that ``Values.java`` describes, each as a node over the columns, or ``None``."""
    by_name = {field.name: field for field in fields}
    found: list[pred.Node | None] = []
    for tree in json.loads(described):
        try:
            found.append(_node(tree, by_name))
        except _NoNode:
            found.append(None)
    return found


def _node(tree: Any, fields: Mapping[str, Field]) -> pred.Node:
    match tree:
        case [("AND" | "OR") as name, children]:
            connect = pred.conjunction if name == "AND" else pred.disjunction
            return connect(_node(child, fields) for child in children)
        case ["NOT", [child]]:
            return pred.negate(_node(child, fields))
        case ["ALWAYS_TRUE", _]:
            return pred.TRUE
        case ["ALWAYS_FALSE", _]:
            return pred.FALSE
        case [("IS_NULL" | "IS_NOT_NULL") as name, [{"column": [column]}]] if column in fields:
            return pred.IsNull(column, negated=name == "IS_NOT_NULL")
        case ["IN", [{"column": [column]}, *values]] if column in fields:
            scalars = [_scalar(value, fields[column]) for value in values]
            return pred.In(column, pa.array(scalars, to_arrow(fields[column].type)))
        case [("STARTS_WITH" | "ENDS_WITH" | "CONTAINS") as name, [{"column": [column]}, value]] if column in fields:
            return _like(name, column, _scalar(value, fields[column]).as_py())
        case ["<=>", [{"column": [column]}, {"value": None}]] if column in fields:
            return pred.IsNull(column)
        case [name, [{"column": [column]}, {"value": _} as value]] if name in _COMPARISONS and column in fields:
            return pred.Compare(column, _COMPARISONS[name], _scalar(value, fields[column]))
        case [name, [{"value": _} as value, {"column": [column]}]] if name in _COMPARISONS and column in fields:
            operator = _COMPARISONS[name]
            return pred.Compare(column, _MIRRORED.get(operator, operator), _scalar(value, fields[column]))
    raise _NoNode


def _like(name: str, column: str, text: Any) -> pred.Node:
    if not isinstance(text, str):
        raise _NoNode
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    pattern = {"STARTS_WITH": f"{escaped}%", "ENDS_WITH": f"%{escaped}", "CONTAINS": f"%{escaped}%"}[name]
    return pred.Like(column, pattern)


def _scalar(literal: Any, field: Field) -> pa.Scalar:
    """Returns a value of Spark in the type of the column, without rounding or casting it."""
    kind = field.type
    if not isinstance(literal, dict) or literal.get("value") is None or not isinstance(kind, Atomic):
        raise _NoNode
    if kind.root in {"CHAR", "TIME"} or spark_type(kind).simpleString() != literal["type"]:
        raise _NoNode
    arrow = to_arrow(kind)
    if pa.types.is_timestamp(arrow) and kind.params[0] > _MICROS:
        raise _NoNode
    try:
        return from_internal(literal["value"], arrow)
    except (pa.ArrowException, ValueError, ArithmeticError):
        raise _NoNode from None
