"""Arrow expressions with Spark's meaning: comparisons, casts and rounding of whole columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.predicate import COMPARE
from lakebed.rows.where.value_types import DATE, decimal, is_number


def null_of(kind: pa.DataType) -> pc.Expression:
    """The null of a type."""
    return pc.scalar(pa.scalar(None, kind))


def holds(condition: pc.Expression) -> pc.Expression:
    """True where the condition is, false where it is false or unknown."""
    return pc.coalesce(condition, pc.scalar(False))


def round_half_up(value: pc.Expression, digits: int = 0) -> pc.Expression:
    """Round as SQL does: halves away from zero."""
    return pc.round(value, ndigits=digits, round_mode="half_towards_infinity")


def compare_expressions(op: str, left: pc.Expression, right: pc.Expression, kind: pa.DataType) -> pc.Expression:
    """Two values of one type compared; NaN equals NaN and is greater than every other number."""
    if op == "<=>":
        equal = compare_expressions("=", left, right, kind)
        nulls = pc.and_kleene(pc.is_null(left), pc.is_null(right))
        return pc.or_kleene(holds(equal), nulls)
    if not pa.types.is_floating(kind):
        return COMPARE[op](left, right)
    match op:
        case "=":
            return pc.or_kleene(pc.equal(left, right), pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))
        case "<":
            return pc.or_kleene(pc.less(left, right), pc.and_kleene(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
        case ">":
            return compare_expressions("<", right, left, kind)
        case _:
            return pc.invert(compare_expressions({"!=": "=", "<=": ">", ">=": "<"}[op], left, right, kind))


def cast_expression(value: pc.Expression, source: pa.DataType, kind: pa.DataType) -> pc.Expression | None:
    """Cast as in Spark's ANSI mode, if Arrow does the same or raises; None if it cannot."""
    if source == kind:
        return value
    if pa.types.is_null(source):
        return null_of(kind)
    if pa.types.is_string(source):
        return _cast_string(value, kind)
    if pa.types.is_string(kind):
        same = pa.types.is_integer(source) or pa.types.is_boolean(source) or source == DATE
        return value.cast(kind) if same else None
    if is_number(source) and is_number(kind):
        return _cast_number(value, source, kind)
    if pa.types.is_boolean(source) and pa.types.is_integer(kind):
        return value.cast(kind)
    if pa.types.is_integer(source) and pa.types.is_boolean(kind):
        return pc.not_equal(value, pc.scalar(pa.scalar(0, source)))
    if (source == DATE or pa.types.is_timestamp(source)) and (kind == DATE or pa.types.is_timestamp(kind)):
        return value.cast(kind)
    return None


def _cast_string(value: pc.Expression, kind: pa.DataType) -> pc.Expression | None:
    trimmed = pc.utf8_trim_whitespace(value)
    if pa.types.is_integer(kind):  # Arrow refuses a plus sign, and accepts hexadecimal numbers, unlike Spark
        plain = pc.replace_substring_regex(trimmed, pattern=r"^\+", replacement="")
        return pc.replace_substring_regex(plain, pattern="[xX]", replacement="?").cast(kind)
    if pa.types.is_timestamp(kind):
        return trimmed.cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_binary(kind):
        return value.cast(kind)
    same = pa.types.is_floating(kind) or pa.types.is_boolean(kind) or kind == DATE
    return trimmed.cast(kind) if same else None


def _cast_number(value: pc.Expression, source: pa.DataType, kind: pa.DataType) -> pc.Expression | None:
    if pa.types.is_decimal(source):
        if pa.types.is_floating(kind):
            return value.cast(pa.string()).cast(kind)  # Arrow's own cast is sometimes off by one digit
        wide = value.cast(decimal(source.precision + 1, source.scale))
        if pa.types.is_integer(kind):
            return pc.trunc(wide).cast(kind)
        if kind.scale < source.scale:
            wide = round_half_up(wide, kind.scale)
        return wide.cast(kind)
    if pa.types.is_decimal(kind):
        return value.cast(pa.decimal128(20, 0)).cast(kind) if pa.types.is_integer(source) else None
    if pa.types.is_floating(source) and pa.types.is_integer(kind):
        return pc.trunc(value).cast(kind)
    return value.cast(kind, safe=pa.types.is_integer(kind))
