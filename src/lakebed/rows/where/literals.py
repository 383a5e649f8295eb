"""Literals: the value of a number, and of a string where another type is wanted, as in Spark's ANSI mode."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

import pyarrow as pa

from lakebed.rows.where.value_types import DATE, EXACT, fits

_SUFFIXES: Final = {"L": pa.int64(), "S": pa.int16(), "Y": pa.int8(), "D": pa.float64(), "F": pa.float32()}
_NUMBER_TEXT: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)(BD|[LSYDF])?", re.IGNORECASE)
_DATE_TEXT: Final = re.compile(r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](.*))?)?)?")
_CLOCK_TEXT: Final = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?\s*(\S*)")
_DOUBLE_TEXT: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_DECIMAL_TEXT: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_BOOLEANS: Final = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(
    ("f", "false", "n", "no", "0"), False
)


class CannotCastError(Exception):
    """A value that Spark's ANSI mode does not cast."""


def read_number(text: str) -> pa.Scalar:
    """A number as it stands in a condition, with its sign and suffix.

    >>> read_number("12345678901234567890.1234567890").type
    Decimal128Type(decimal128(30, 10))
    """
    match = _NUMBER_TEXT.fullmatch(text)
    if match is None:
        raise CannotCastError
    number, suffix = match[1], (match[2] or "").upper()
    if suffix in _SUFFIXES:
        return read_string(number, _SUFFIXES[suffix])
    try:
        if not suffix and "e" in number.lower():
            return pa.scalar(float(number))
        if not suffix and "." not in number:
            kind = next((kind for kind in (pa.int32(), pa.int64()) if fits(int(number), kind)), None)
            if kind is not None:
                return pa.scalar(int(number), kind)
        return _rounded(number, _narrowest_decimal(Decimal(number)))
    except (ArithmeticError, ValueError):
        raise CannotCastError from None


def _narrowest_decimal(value: Decimal) -> pa.DataType:
    """The decimal type with just the digits of a value; a ValueError if they are more than 38."""
    scale = max(0, -int(value.as_tuple().exponent))
    before_point = max(0, value.adjusted() + 1)
    return pa.decimal128(before_point + scale, scale)


def read_string(text: str, kind: pa.DataType) -> pa.Scalar:
    """A string literal as Spark's ANSI mode casts it; a timestamp keeps microseconds whatever unit is asked."""
    word = text.strip()
    if pa.types.is_string(kind):
        return pa.scalar(text)
    if pa.types.is_binary(kind):
        return pa.scalar(text.encode(), kind)
    if pa.types.is_integer(kind) and re.fullmatch(r"[+-]?[0-9]+", word):
        return _integer(int(word), kind)
    if pa.types.is_floating(kind) and _DOUBLE_TEXT.fullmatch(word):
        return pa.scalar(float(word), kind)
    if pa.types.is_decimal(kind) and _DECIMAL_TEXT.fullmatch(word):
        return _rounded(word, kind)
    if pa.types.is_boolean(kind) and word.lower() in _BOOLEANS:
        return pa.scalar(_BOOLEANS[word.lower()])
    if kind == DATE or pa.types.is_timestamp(kind):
        day, clock, zone = _read_moment(word)
        if kind == DATE:
            return pa.scalar(day, pa.int32()).cast(DATE)
        offset = zone if kind.tz else 0
        moment = day * 86_400 * 10**9 + clock - offset
        return pa.scalar(moment, kind) if kind.unit == "ns" else pa.scalar(moment // 1000, pa.timestamp("us", kind.tz))
    if pa.types.is_time(kind) and word.count(":") == 2:
        _, clock, _ = _read_moment(f"1970-01-01 {word}")
        return pa.scalar(clock // 10**6, pa.int32()).cast(kind)
    raise CannotCastError


def _integer(value: int, kind: pa.DataType) -> pa.Scalar:
    if not fits(value, kind):
        raise CannotCastError
    return pa.scalar(value, kind)


def _rounded(number: str, kind: pa.DataType) -> pa.Scalar:
    try:
        kept = Decimal(number).quantize(Decimal(1).scaleb(-kind.scale, EXACT), ROUND_HALF_UP, EXACT)
    except ArithmeticError:  # far more digits than any type has
        raise CannotCastError from None
    if len(kept.as_tuple().digits) > kind.precision:
        raise CannotCastError
    return pa.scalar(kept, kind)


def _read_moment(text: str) -> tuple[int, int, int]:
    """Days since 1970, nanoseconds of the day, and the zone's offset from UTC in nanoseconds."""
    match = _DATE_TEXT.fullmatch(text)
    clock = _CLOCK_TEXT.fullmatch((match[4] if match else None) or "0")
    if match is None or clock is None:
        raise CannotCastError
    hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
    try:
        year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
        moment = dt.datetime(year, month, day, hour, minute, second)  # noqa: DTZ001
        offset = _zone(clock[5]).utcoffset(moment) or dt.timedelta()
    except (ValueError, OverflowError, zoneinfo.ZoneInfoNotFoundError):
        raise CannotCastError from None
    seconds = hour * 3600 + minute * 60 + second
    nanos = int((clock[4] or "").ljust(9, "0"))
    return moment.toordinal() - 719_163, seconds * 10**9 + nanos, int(offset.total_seconds()) * 10**9


def _zone(text: str) -> dt.tzinfo:
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", text)
    if match:
        away = dt.timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return dt.timezone(-away if match[1] == "-" else away)
    return dt.UTC if text in {"", "Z", "UTC", "GMT"} else zoneinfo.ZoneInfo(text)
