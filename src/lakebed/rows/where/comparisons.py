"""Compare a column with a constant, exactly: as leaves with values of the column's own type, which can prune files."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from lakebed.format.predicate import FALSE, UNKNOWN, And, Compare, IsNull, Node, Or, conjunction, negate
from lakebed.rows.where.value_types import DATE, EXACT, is_number


def compare_column(column: str, kind: pa.DataType, op: str, constant: pa.Scalar) -> Node:
    """A column against a constant of a type that it can be compared with, as leaves that hold the column's type."""
    if pa.types.is_floating(kind):
        return _compare_float(column, kind, op, constant)
    if kind.id in {pa.bool_().id, pa.string().id, pa.binary().id}:
        return Compare(column, op, constant)
    low, high, scalar = _ordinals(kind)
    first, after = (min(max(cut, low), high + 1) for cut in _cuts(kind, constant, low, high))
    nowhere, everywhere = never(column), _always(column)
    match op:
        case "<":
            return nowhere if first <= low else everywhere if first > high else Compare(column, "<", scalar(first))
        case ">=":
            return everywhere if first <= low else nowhere if first > high else Compare(column, ">=", scalar(first))
        case "<=":
            return nowhere if after <= low else everywhere if after > high else Compare(column, "<=", scalar(after - 1))
        case ">":
            return everywhere if after <= low else nowhere if after > high else Compare(column, ">", scalar(after - 1))
        case "!=":
            return negate(compare_column(column, kind, "=", constant))
    if after == first:
        return FALSE if op == "<=>" else nowhere
    if after == first + 1:
        return Compare(column, op, scalar(first))
    between = conjunction((Compare(column, ">=", scalar(first)), Compare(column, "<=", scalar(after - 1))))
    return conjunction((IsNull(column, negated=True), between)) if op == "<=>" else between


def never(column: str) -> Node:
    """False for every value, unknown for null."""
    return And((IsNull(column), UNKNOWN))


def _always(column: str) -> Node:
    """True for every value, unknown for null."""
    return Or((IsNull(column, negated=True), UNKNOWN))


def _ordinals(kind: pa.DataType) -> tuple[int, int, Callable[[int], pa.Scalar]]:
    """The least and greatest value of a discrete type as integers, and the way back to a value."""
    if pa.types.is_decimal(kind):
        limit = 10**kind.precision - 1
        return -limit, limit, lambda unscaled: pa.scalar(_unscaled(unscaled, kind.scale), kind)
    if pa.types.is_time(kind):
        return 0, 86_400_000 - 1, lambda millis: pa.scalar(millis, pa.int32()).cast(kind)
    if kind == DATE:
        return -(2**31), 2**31 - 1, lambda day: pa.scalar(day, pa.int32()).cast(kind)
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1, lambda value: pa.scalar(value, kind)


def _unscaled(value: int, scale: int) -> Decimal:
    return Decimal(value).scaleb(-scale, EXACT)


def _cuts(kind: pa.DataType, constant: pa.Scalar, low: int, high: int) -> tuple[int, int]:
    """The least ordinal whose value is at least the constant, and the least whose value is greater."""
    step = _step(kind)
    if pa.types.is_floating(constant.type):
        limit = constant.as_py()
        if math.isnan(limit):
            return high + 1, high + 1
        return (
            _least(lambda ordinal: float(ordinal * step) >= limit, low, high),
            _least(lambda ordinal: float(ordinal * step) > limit, low, high),
        )
    exact = Fraction(constant.as_py()) if is_number(constant.type) else constant.value * _step(constant.type)
    return math.ceil(exact / step), math.floor(exact / step) + 1


def _step(kind: pa.DataType) -> Fraction:
    """What one ordinal is worth; temporal types in seconds."""
    if pa.types.is_decimal(kind):
        return Fraction(1, 10**kind.scale)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return Fraction(1, {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit])
    return Fraction(86_400 if kind == DATE else 1)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least integer of a range from which on a condition holds; past its end if nowhere."""
    after = high + 1
    while low < after:
        middle = (low + after) // 2
        if holds(middle):
            after = middle
        else:
            low = middle + 1
    return low


def _compare_float(column: str, kind: pa.DataType, op: str, constant: pa.Scalar) -> Node:
    """Compare a FLOAT with a constant.

    A FLOAT compares as DOUBLE except with a FLOAT, so a constant between two FLOATs moves to one of them.
    """
    wanted = constant.as_py()
    with np.errstate(over="ignore"):
        near = np.float32(wanted)
    if kind == pa.float64() or math.isnan(wanted) or float(near) == wanted:
        return Compare(column, op, pa.scalar(wanted, kind))
    if op in {"=", "<=>"}:
        return FALSE if op == "<=>" else never(column)
    if op == "!=":
        return _always(column)
    outward = np.float32("-inf") if op in {"<", "<="} else np.float32("inf")
    beyond = (float(near) > wanted) == (op in {"<", "<="})
    moved = np.nextafter(near, outward) if beyond else near
    return Compare(column, "<=" if op in {"<", "<="} else ">=", pa.scalar(float(moved), kind))
