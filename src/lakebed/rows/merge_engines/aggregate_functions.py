"""The aggregate functions by name: which columns they take, whether they can retract values, and how they run.

:func:`merged` runs a function on a column. Names, types and retractions are those of Paimon 2.0. Functions on
sketches and bitmaps, ``merge_map_with_keytime`` and ``nested_partial_update`` are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from lakebed.errors import DataError, OptionError, UnsupportedError, unknown_name
from lakebed.format.types.data_types import Array, Atomic, DataType, Map, Row
from lakebed.rows.merge_engines import arithmetic, nested, picks
from lakebed.rows.merge_engines import listagg as texts
from lakebed.rows.merge_engines.key_history import TAKE, History, take_rows, valid_mask

_NUMERIC: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"})


@dataclass(frozen=True, slots=True)
class Function:
    """One aggregate function: which columns it takes, and whether it can retract values.

    ``words`` describes the columns in messages.
    """

    takes: Callable[[DataType], bool]
    words: str
    retracts: bool = False


def _anything(_: DataType) -> bool:
    return True


def _numeric(kind: DataType) -> bool:
    return isinstance(kind, Atomic) and kind.root in _NUMERIC


def _ordered(kind: DataType) -> bool:
    return isinstance(kind, Atomic) and kind.root != "BOOLEAN"


def _root(root: str) -> Callable[[DataType], bool]:
    return lambda kind: isinstance(kind, Atomic) and kind.root == root


def _rows(kind: DataType) -> bool:
    return isinstance(kind, Array) and isinstance(kind.element, Row)


FUNCTIONS: Final = {
    "primary-key": Function(_anything, "any column", retracts=True),
    "sum": Function(_numeric, "numeric columns", retracts=True),
    "product": Function(_numeric, "numeric columns", retracts=True),
    "max": Function(_ordered, "columns of simple types other than BOOLEAN"),
    "min": Function(_ordered, "columns of simple types other than BOOLEAN"),
    "last_value": Function(_anything, "any column", retracts=True),
    "last_non_null_value": Function(_anything, "any column", retracts=True),
    "first_value": Function(_anything, "any column"),
    "first_non_null_value": Function(_anything, "any column"),
    "first_not_null_value": Function(_anything, "any column"),
    "listagg": Function(_root("STRING"), "STRING columns"),
    "bool_and": Function(_root("BOOLEAN"), "BOOLEAN columns"),
    "bool_or": Function(_root("BOOLEAN"), "BOOLEAN columns"),
    "collect": Function(lambda kind: isinstance(kind, Array), "ARRAY columns", retracts=True),
    "merge_map": Function(lambda kind: isinstance(kind, Map), "MAP columns", retracts=True),
    "nested_update": Function(_rows, "ARRAY<ROW> columns", retracts=True),
}
REFUSED: Final = frozenset(
    {"theta_sketch", "hll_sketch", "rbm32", "rbm64", "merge_map_with_keytime", "nested_partial_update"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """How one column is merged."""

    column: str
    function: str
    ignores_retractions: bool = False
    delimiter: str = ","
    distinct: bool = False
    nested: nested.NestedKey = field(default_factory=nested.NestedKey)


def check_function(name: str, column: str, kind: DataType, *, where: str) -> None:
    """Raise if a function does not exist, is not supported, or does not take columns of this type."""
    if name in REFUSED:
        raise UnsupportedError(
            f"column {column!r} of {where} is merged by {name!r}, which Lakebed does not support; use another "
            "aggregate function, or work on this table with Apache Paimon"
        )
    if name not in FUNCTIONS:
        raise OptionError(unknown_name("aggregate function", name, FUNCTIONS, where=f"column {column!r} of {where}"))
    if not FUNCTIONS[name].takes(kind):
        raise OptionError(
            f"aggregate function {name!r} takes {FUNCTIONS[name].words}, but column {column!r} of {where} is {kind}; "
            "use another function or another type"
        )


def merged(rule: Rule, history: History, column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Return the merged value of each key."""
    where = f"column {rule.column!r}"
    if rule.ignores_retractions:
        history = history.without(TAKE)
    elif not FUNCTIONS[rule.function].retracts and history.has(TAKE):
        raise DataError(
            f"{where} is merged by {rule.function!r}, which cannot retract values, but a row to merge is -U or -D; "
            f"set 'fields.{rule.column}.ignore-retract' to true, or write no such rows"
        )
    valid = valid_mask(column)
    match rule.function:
        case "sum":
            return arithmetic.total(history, column, valid, where=where)
        case "product":
            return arithmetic.product(history, column, valid, where=where)
        case "max" | "bool_or":
            return take_rows(column, picks.extreme(history, column, valid, largest=True))
        case "min" | "bool_and":
            return take_rows(column, picks.extreme(history, column, valid, largest=False))
        case "listagg":
            return texts.joined(history, column, valid, delimiter=rule.delimiter, distinct=rule.distinct)
        case "collect":
            in_front = rule.ignores_retractions
            return nested.collected(history, column, valid, distinct=rule.distinct, late_in_front=in_front)
        case "merge_map":
            return nested.merged_map(history, column, valid)
        case "nested_update":
            return nested.nested_updated(history, column, valid, nested=rule.nested, where=where)
        case name:
            rows = picks.PICKS[name](history, valid)
            return column if np.array_equal(rows, np.arange(len(column))) else take_rows(column, rows)
