"""The types of SQL values as Arrow types: their names, and the type in which Spark's ANSI mode compares two of them."""

from __future__ import annotations

from decimal import Context
from typing import Final

import pyarrow as pa
from sqlglot import exp

INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_DIGITS: Final = dict(zip(INTEGERS, (3, 5, 10, 20), strict=True))
EXACT: Final = Context(prec=200)  # Python's own context rounds to 28 digits, and decimals have up to 38
DATE, LTZ, NTZ, TIME = pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.time32("ms")
NAMED_TYPES: Final = {
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.TEXT: pa.string(),
    exp.DType.BINARY: pa.binary(),
    exp.DType.DATE: DATE,
    exp.DType.TIME: TIME,
    exp.DType.TIMESTAMP: LTZ,
    exp.DType.TIMESTAMPTZ: LTZ,
    exp.DType.TIMESTAMPLTZ: LTZ,
    exp.DType.TIMESTAMPNTZ: NTZ,
}


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is an integer, a decimal or a floating-point number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def fits(value: int, kind: pa.DataType) -> bool:
    """Whether an integer type holds a value."""
    return bool(-(2 ** (kind.bit_width - 1)) <= value < 2 ** (kind.bit_width - 1))


def type_name(kind: pa.DataType) -> str:
    """The name of a type in Spark SQL."""
    names = {arrow: named.value for named, arrow in reversed(NAMED_TYPES.items())}
    names |= {pa.string(): "STRING", pa.null(): "NULL"}
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    return f"DECIMAL({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else names.get(kind, str(kind))


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which Spark's ANSI mode compares two others; None if it does not."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if pa.types.is_string(left) or pa.types.is_string(right):
        other = right if pa.types.is_string(left) else left
        if is_number(other):
            return pa.int64() if pa.types.is_integer(other) else pa.float64()
        return None if pa.types.is_nested(other) else other
    stamps = [kind for kind in (left, right) if pa.types.is_timestamp(kind)]
    if stamps and all(kind == DATE or pa.types.is_timestamp(kind) for kind in (left, right)):
        unit = max((kind.unit for kind in stamps), key=["s", "ms", "us", "ns"].index)
        return pa.timestamp(unit, "UTC" if any(kind.tz for kind in stamps) else None)
    return None


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if pa.types.is_decimal(left) or pa.types.is_decimal(right):
        one, two = as_decimal(left), as_decimal(right)
        scale = max(one.scale, two.scale)
        return decimal(max(one.precision - one.scale, two.precision - two.scale) + scale, scale)
    return max(left, right, key=INTEGERS.index)


def as_decimal(kind: pa.DataType) -> pa.DataType:
    """The decimal that holds every value of an exact number."""
    return kind if pa.types.is_decimal(kind) else pa.decimal128(_DIGITS[kind], 0)


def decimal(precision: int, scale: int) -> pa.DataType:
    """A decimal type; Spark's end at 38 digits, wider ones are for results in between."""
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
