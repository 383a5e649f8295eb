r"""A condition in Spark SQL, as users write it in ``where=``, bound to the columns of a table.

:func:`parse_where` promises the rows that Spark 4 (ANSI mode, session time zone UTC) would give, or an
:class:`ExpressionError`; never other rows. What Arrow cannot do with the same meaning is refused by name. In detail:

* Column names match whatever their case, as long as that is not ambiguous. ``s.a`` reads a field of a struct.
* Literals take the type of the column they are compared with, exactly: out of range and fractional ones still mean
  what they say (``tinyint_col < 1000`` holds for every value, ``int_col > 1.5`` is ``int_col > 1``).
* A timestamp without a zone is read in UTC. ``current_date`` and ``current_timestamp`` are those of the call.
* A string that is compared with a number, date or boolean is cast to it; one that cannot be cast is an error, at once
  for a literal and when its row is read for a column.
* ``lower`` and ``upper`` map character by character: upper('ß') stays 'ẞ' where Spark says 'SS'.

>>> from lakebed.format.predicate import to_text
>>> from lakebed.format.types import Atomic, Field
>>> fields = [Field(0, "id", Atomic("INT")), Field(1, "name", Atomic("STRING"))]
>>> to_text(parse_where("5.5 < ID AND name LIKE 'a%'", fields))
"id > 5 AND name LIKE 'a%'"
>>> parse_where("nmae = 'x'", fields)
Traceback (most recent call last):
...
lakebed.errors.ExpressionError: unknown column 'nmae'; did you mean 'name'?
  nmae = 'x'
  ^
"""

from __future__ import annotations

import datetime as dt
import math
import re
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from lakebed.errors import ExpressionError, unknown_name
from lakebed.format import predicate
from lakebed.format.predicate import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Opaque,
    Or,
    conjunction,
    disjunction,
    negate,
    to_arrow_expression,
)
from lakebed.format.types import Atomic, Field, Row, to_arrow


def parse_where(text: str, fields: Sequence[Field]) -> Node:
    """The condition that a text means for a table with these columns."""
    scope = _Scope(text, tuple(fields), dt.datetime.now(dt.UTC))
    syntax = _parse(text)
    if isinstance(syntax, exp.Null):
        raise ExpressionError("NULL is not a condition; to take no row, write FALSE")
    return _without_unknown(_Binder(scope).condition(syntax))


def _without_unknown(node: Node) -> Node:
    """A row is taken where the condition is true: at the top, unknown is as good as false."""
    match node:
        case And(children):
            return conjunction(map(_without_unknown, children))
        case Or(children):
            return disjunction(map(_without_unknown, children))
        case _:
            return FALSE if node == UNKNOWN else node


# ---------------------------------------------------------------------------------------------------- text to syntax

_DIALECT: Final = Spark()
_ESCAPE: Final = re.compile(r"\\(?:([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _parse(text: str) -> exp.Expr:
    try:
        found = _DIALECT.parser().parse_into(exp.Condition, _tokens(text), text)
    except ParseError as problem:
        first = problem.errors[0]
        word = first.get("highlight") or ""
        raise ExpressionError(
            f"cannot parse the condition: unexpected {word!r}" + _caret(text, first["line"], first["col"] - len(word))
        ) from None
    except TokenError:
        raise ExpressionError(f"cannot parse the condition: a quote or comment is not closed\n  {text}") from None
    if len(found) != 1 or found[0] is None:
        raise ExpressionError(f"a condition must be one expression, like \"id = 3 AND name = 'a'\", not {text!r}")
    condition: exp.Expr = found[0]
    return condition


def _caret(text: str, line: int, column: int) -> str:
    lines = text.split("\n")
    shown = lines[min(line, len(lines)) - 1]
    return f"\n  {shown}\n  {' ' * max(0, min(column, len(shown)))}^"


def _tokens(text: str) -> list[Token]:
    """The tokens of sqlglot, but strings and numbers read as Spark 4 does.

    sqlglot keeps other escapes, splits ``'it''s'`` in two, and turns ``1.5BD`` into a cast.
    """
    tokens: list[Token] = []
    for token in _DIALECT.tokenize(text):
        before = tokens[-1] if tokens else None
        written = text[token.start : token.end + 1]
        if before is not None and token.start == before.start:
            continue  # the cast that stands for a suffix
        if token.token_type == TokenType.NUMBER:
            tokens.append(_with_text(token, written))
        elif token.token_type == TokenType.STRING:
            body, quote = _unescape(written[1:-1]), written[0]
            doubled = before is not None and before.token_type == TokenType.STRING and before.end + 1 == token.start
            if before is not None and doubled and text[before.end] == quote:
                tokens[-1] = _with_text(before, before.text + quote + body, end=token.end)
            else:
                tokens.append(_with_text(token, body))
        else:
            tokens.append(token)
    return tokens


def _with_text(token: Token, text: str, end: int | None = None) -> Token:
    last = token.end if end is None else end
    return Token(token.token_type, text, token.line, token.col, token.start, last, token.comments)


def _unescape(body: str) -> str:
    def meaning(match: re.Match[str]) -> str:
        octal, short, long, char = match.groups()
        if char is not None:
            return _ESCAPED.get(char, char)
        return chr(int(octal, 8)) if octal else chr(int(short or long, 16))

    return _ESCAPE.sub(meaning, body)


# --------------------------------------------------------------------------------------------------- types and values

_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_DIGITS: Final = dict(zip(_INTEGERS, (3, 5, 10, 20), strict=True))
_DATE, _LTZ, _NTZ, _TIME = pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.time32("ms")
_NAMED_TYPES: Final = {
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.TEXT: pa.string(),
    exp.DType.BINARY: pa.binary(),
    exp.DType.DATE: _DATE,
    exp.DType.TIME: _TIME,
    exp.DType.TIMESTAMP: _LTZ,
    exp.DType.TIMESTAMPTZ: _LTZ,
    exp.DType.TIMESTAMPLTZ: _LTZ,
    exp.DType.TIMESTAMPNTZ: _NTZ,
}
_SUFFIXES: Final = {"L": pa.int64(), "S": pa.int16(), "Y": pa.int8(), "D": pa.float64(), "F": pa.float32()}
_EXACT: Final = Context(prec=200)


@dataclass(frozen=True, slots=True)
class _Value:
    """A typed expression: a constant if it reads no column, a plain column if ``column`` is set."""

    type: pa.DataType
    expression: pc.Expression
    columns: frozenset[str] = frozenset()
    constant: pa.Scalar | None = None
    column: str | None = None
    char_length: int = 0


class _CannotCastError(Exception):
    """A value that Spark's ANSI mode would not cast."""


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _type_name(kind: pa.DataType) -> str:
    names = {arrow: named.value for named, arrow in reversed(_NAMED_TYPES.items())}
    names |= {pa.string(): "STRING", pa.null(): "NULL"}
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    return f"DECIMAL({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else names.get(kind, str(kind))


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which Spark's ANSI mode compares two others; None if it does not."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if _is_number(left) and _is_number(right):
        return _common_number(left, right)
    if pa.types.is_string(left) or pa.types.is_string(right):
        other = right if pa.types.is_string(left) else left
        if _is_number(other):
            return pa.int64() if pa.types.is_integer(other) else pa.float64()
        return None if pa.types.is_nested(other) else other
    stamps = [kind for kind in (left, right) if pa.types.is_timestamp(kind)]
    if stamps and all(kind == _DATE or pa.types.is_timestamp(kind) for kind in (left, right)):
        unit = max((kind.unit for kind in stamps), key=["s", "ms", "us", "ns"].index)
        return pa.timestamp(unit, "UTC" if any(kind.tz for kind in stamps) else None)
    return None


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float64()
    if pa.types.is_decimal(left) or pa.types.is_decimal(right):
        one, two = _as_decimal(left), _as_decimal(right)
        scale = max(one.scale, two.scale)
        return _decimal(max(one.precision - one.scale, two.precision - two.scale) + scale, scale)
    return max(left, right, key=_INTEGERS.index)


def _as_decimal(kind: pa.DataType) -> pa.DataType:
    return kind if pa.types.is_decimal(kind) else pa.decimal128(_DIGITS[kind], 0)


def _decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


# ------------------------------------------------------------------------------------------------ strings as literals

_DATE_TEXT: Final = re.compile(r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](.*))?)?)?")
_CLOCK_TEXT: Final = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?\s*(\S*)")
_DOUBLE_TEXT: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_DECIMAL_TEXT: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_BOOLEANS: Final = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(
    ("f", "false", "n", "no", "0"), False
)


def _read_string(text: str, kind: pa.DataType) -> pa.Scalar:
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
        return _rounded(Decimal(word), kind)
    if pa.types.is_boolean(kind) and word.lower() in _BOOLEANS:
        return pa.scalar(_BOOLEANS[word.lower()])
    if kind == _DATE or pa.types.is_timestamp(kind):
        day, clock, zone = _read_moment(word)
        if kind == _DATE:
            return pa.scalar(day, pa.int32()).cast(_DATE)
        offset = zone if kind.tz else 0
        moment = day * 86_400 * 10**9 + clock - offset
        return pa.scalar(moment, kind) if kind.unit == "ns" else pa.scalar(moment // 1000, pa.timestamp("us", kind.tz))
    if pa.types.is_time(kind) and word.count(":") == 2:
        _, clock, _ = _read_moment(f"1970-01-01 {word}")
        return pa.scalar(clock // 10**6, pa.int32()).cast(kind)
    raise _CannotCastError


def _integer(value: int, kind: pa.DataType) -> pa.Scalar:
    if not -(2 ** (kind.bit_width - 1)) <= value < 2 ** (kind.bit_width - 1):
        raise _CannotCastError
    return pa.scalar(value, kind)


def _rounded(value: Decimal, kind: pa.DataType) -> pa.Scalar:
    kept = value.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, _EXACT)
    if len(kept.as_tuple().digits) > kind.precision:
        raise _CannotCastError
    return pa.scalar(kept, kind)


def _read_moment(text: str) -> tuple[int, int, int]:
    """Days since 1970, nanoseconds of the day, and the zone's offset from UTC in nanoseconds."""
    match = _DATE_TEXT.fullmatch(text)
    clock = _CLOCK_TEXT.fullmatch((match[4] if match else None) or "0")
    if match is None or clock is None:
        raise _CannotCastError
    hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
    try:
        moment = dt.datetime(int(match[1]), int(match[2] or 1), int(match[3] or 1), hour, minute, second)  # noqa: DTZ001
        offset = _zone(clock[5]).utcoffset(moment) or dt.timedelta()
    except (ValueError, OverflowError, zoneinfo.ZoneInfoNotFoundError):
        raise _CannotCastError from None
    seconds = hour * 3600 + minute * 60 + second
    nanos = int((clock[4] or "").ljust(9, "0"))
    return moment.toordinal() - 719_163, seconds * 10**9 + nanos, int(offset.total_seconds()) * 10**9


def _zone(text: str) -> dt.tzinfo:
    match = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", text)
    if match:
        away = dt.timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return dt.timezone(-away if match[1] == "-" else away)
    return dt.UTC if text in {"", "Z", "UTC", "GMT"} else zoneinfo.ZoneInfo(text)


# ------------------------------------------------------------------------------- a column against a constant, exactly


def _never(column: str) -> Node:
    """False for every value, unknown for null."""
    return And((IsNull(column), UNKNOWN))


def _always(column: str) -> Node:
    """True for every value, unknown for null."""
    return Or((IsNull(column, negated=True), UNKNOWN))


def _compare_column(column: str, kind: pa.DataType, op: str, constant: pa.Scalar) -> Node:
    """A column against a constant of a type that it can be compared with, as leaves that hold the column's type."""
    if pa.types.is_floating(kind):
        return _compare_float(column, kind, op, constant)
    if kind.id in {pa.bool_().id, pa.string().id, pa.binary().id}:
        return Compare(column, op, constant)
    low, high, scalar = _ordinals(kind)
    first, after = (min(max(cut, low), high + 1) for cut in _cuts(kind, constant, low, high))
    never, always = _never(column), _always(column)
    match op:
        case "<":
            return never if first <= low else always if first > high else Compare(column, "<", scalar(first))
        case ">=":
            return always if first <= low else never if first > high else Compare(column, ">=", scalar(first))
        case "<=":
            return never if after <= low else always if after > high else Compare(column, "<=", scalar(after - 1))
        case ">":
            return always if after <= low else never if after > high else Compare(column, ">", scalar(after - 1))
        case "!=":
            return negate(_compare_column(column, kind, "=", constant))
    if after == first:
        return FALSE if op == "<=>" else never
    if after == first + 1:
        return Compare(column, op, scalar(first))
    between = conjunction((Compare(column, ">=", scalar(first)), Compare(column, "<=", scalar(after - 1))))
    return conjunction((IsNull(column, negated=True), between)) if op == "<=>" else between


def _ordinals(kind: pa.DataType) -> tuple[int, int, Callable[[int], pa.Scalar]]:
    """The least and greatest value of a discrete type as integers, and the way back to a value."""
    if pa.types.is_decimal(kind):
        limit = 10**kind.precision - 1
        return -limit, limit, lambda unscaled: pa.scalar(_unscaled(unscaled, kind.scale), kind)
    if pa.types.is_time(kind):
        return 0, 86_400_000 - 1, lambda millis: pa.scalar(millis, pa.int32()).cast(kind)
    if kind == _DATE:
        return -(2**31), 2**31 - 1, lambda day: pa.scalar(day, pa.int32()).cast(kind)
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1, lambda value: pa.scalar(value, kind)


def _unscaled(value: int, scale: int) -> Decimal:
    return Decimal(value).scaleb(-scale, _EXACT)


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
    exact = Fraction(constant.as_py()) if _is_number(constant.type) else constant.value * _step(constant.type)
    return math.ceil(exact / step), math.floor(exact / step) + 1


def _step(kind: pa.DataType) -> Fraction:
    """What one ordinal is worth; temporal types in seconds."""
    if pa.types.is_decimal(kind):
        return Fraction(1, 10**kind.scale)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return Fraction(1, {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit])
    return Fraction(86_400 if kind == _DATE else 1)


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
    """A FLOAT compares as DOUBLE with everything but a FLOAT, so a constant between two FLOATs moves to one of them."""
    wanted = constant.as_py()
    with np.errstate(over="ignore"):
        near = np.float32(wanted)
    if kind == pa.float64() or math.isnan(wanted) or float(near) == wanted:
        return Compare(column, op, pa.scalar(wanted, kind))
    if op in {"=", "<=>"}:
        return FALSE if op == "<=>" else _never(column)
    if op == "!=":
        return _always(column)
    outward = np.float32("-inf") if op in {"<", "<="} else np.float32("inf")
    beyond = (float(near) > wanted) == (op in {"<", "<="})
    moved = np.nextafter(near, outward) if beyond else near
    return Compare(column, "<=" if op in {"<", "<="} else ">=", pa.scalar(float(moved), kind))


# ---------------------------------------------------------------------------------------------------------- patterns


def _like_pattern(text: str, escape: str) -> tuple[str, str | None]:
    r"""A LIKE pattern with ``\`` as its escape, and the one text that it matches if it has no wildcards."""
    parts = re.findall(rf"{re.escape(escape)}.?|.", text, re.DOTALL)
    if any(part[0] == escape and part[1:] not in {"%", "_", escape} for part in parts):
        raise _CannotCastError
    wild = any(part in {"%", "_"} for part in parts)
    plain = "".join(part[-1] for part in parts)
    return "".join(part if part in {"%", "_"} else _literal_like(part[-1]) for part in parts), None if wild else plain


def _literal_like(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)


_LINE_END: Final = r"\n\r\x{85}\x{2028}\x{2029}"
_SAME_ESCAPES: Final = frozenset("dDwWtnrfA") | frozenset(r"\.[]{}()*+-?^$|/")
_QUANTIFIER: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_CLASS: Final = re.compile(r"\[\^?(?:[^\[\]\\&]|&(?!&)|\\.)+\]", re.DOTALL)


def _re2(pattern: str) -> str | None:
    """A Java regular expression as one of RE2's with the same meaning; None where that is not certain."""
    out: list[str] = []
    position = 0
    while position < len(pattern):
        char, following = pattern[position], pattern[position + 1 : position + 2]
        taken = char
        if char == "\\":
            taken = char + following
            if following not in _SAME_ESCAPES and following not in {"s", "z"}:
                return None
            out.append(r"[\t\n\x0B\f\r ]" if following == "s" else taken)
        elif char == "[":
            found = _CLASS.match(pattern, position)
            if found is None or any(escape not in _SAME_ESCAPES for escape in re.findall(r"\\(.)", found[0])):
                return None
            taken = found[0]
            out.append(taken)
        elif char == "(" and following == "?":
            taken = pattern[position : position + 3]
            if taken != "(?:":
                return None
            out.append(taken)
        elif char == "{":
            found = _QUANTIFIER.match(pattern, position)
            if found is None:
                return None
            taken = found[0]
            out.append(taken)
        elif char == "$":
            if following not in {"", ")", "|"}:
                return None
            out.append(rf"(?:\r\n|[{_LINE_END}])?\z")
        else:
            out.append(f"[^{_LINE_END}]" if char == "." else char)
        position += len(taken)
    return "".join(out)


# ------------------------------------------------------------------------------------------------- Arrow expressions


def _null(kind: pa.DataType) -> pc.Expression:
    return pc.scalar(pa.scalar(None, kind))


def _holds(condition: pc.Expression) -> pc.Expression:
    """True where the condition is, false where it is false or unknown."""
    return pc.coalesce(condition, pc.scalar(False))


def _compare_expressions(op: str, left: pc.Expression, right: pc.Expression, kind: pa.DataType) -> pc.Expression:
    if op == "<=>":
        equal = _compare_expressions("=", left, right, kind)
        nulls = pc.and_kleene(pc.is_null(left), pc.is_null(right))
        return pc.or_kleene(_holds(equal), nulls)
    if not pa.types.is_floating(kind):
        return predicate.COMPARE[op](left, right)
    match op:
        case "=":
            return pc.or_kleene(pc.equal(left, right), pc.and_kleene(pc.is_nan(left), pc.is_nan(right)))
        case "<":
            return pc.or_kleene(pc.less(left, right), pc.and_kleene(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
        case ">":
            return _compare_expressions("<", right, left, kind)
        case _:
            return pc.invert(_compare_expressions({"!=": "=", "<=": ">", ">=": "<"}[op], left, right, kind))


def _cast_expression(value: pc.Expression, source: pa.DataType, kind: pa.DataType) -> pc.Expression | None:
    """A cast as Spark's ANSI mode does it, where Arrow can do the same or fails loudly; None where it cannot."""
    if source == kind:
        return value
    if pa.types.is_null(source):
        return _null(kind)
    if pa.types.is_string(source):
        return _cast_string(value, kind)
    if pa.types.is_string(kind):
        same = pa.types.is_integer(source) or pa.types.is_boolean(source) or source == _DATE
        return value.cast(kind) if same else None
    if _is_number(source) and _is_number(kind):
        return _cast_number(value, source, kind)
    if pa.types.is_boolean(source) and pa.types.is_integer(kind):
        return value.cast(kind)
    if pa.types.is_integer(source) and pa.types.is_boolean(kind):
        return pc.not_equal(value, pc.scalar(pa.scalar(0, source)))
    if (source == _DATE or pa.types.is_timestamp(source)) and (kind == _DATE or pa.types.is_timestamp(kind)):
        return value.cast(kind)
    return None


def _cast_string(value: pc.Expression, kind: pa.DataType) -> pc.Expression | None:
    trimmed = pc.utf8_trim_whitespace(value)
    if pa.types.is_integer(kind):  # Arrow reads no sign of plus, and hexadecimal numbers, which Spark refuses
        plain = pc.replace_substring_regex(trimmed, pattern=r"^\+", replacement="")
        return pc.replace_substring_regex(plain, pattern="[xX]", replacement="?").cast(kind)
    if pa.types.is_timestamp(kind):
        return trimmed.cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_binary(kind):
        return value.cast(kind)
    same = pa.types.is_floating(kind) or pa.types.is_boolean(kind) or kind == _DATE
    return trimmed.cast(kind) if same else None


def _cast_number(value: pc.Expression, source: pa.DataType, kind: pa.DataType) -> pc.Expression | None:
    if pa.types.is_decimal(source):
        if pa.types.is_floating(kind):
            return value.cast(pa.string()).cast(kind)  # Arrow's own cast is off by one digit now and then
        wide = value.cast(_decimal(source.precision + 1, source.scale))
        if pa.types.is_integer(kind):
            return pc.trunc(wide).cast(kind)
        if kind.scale < source.scale:
            wide = pc.round(wide, ndigits=kind.scale, round_mode="half_towards_infinity")
        return wide.cast(kind)
    if pa.types.is_decimal(kind):
        return value.cast(pa.decimal128(20, 0)).cast(kind) if pa.types.is_integer(source) else None
    if pa.types.is_floating(source) and pa.types.is_integer(kind):
        return pc.trunc(value).cast(kind)
    return value.cast(kind, safe=pa.types.is_integer(kind))


# ---------------------------------------------------------------------------------------------------- syntax to nodes


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a condition is bound in. ``names`` gives columns other names than their fields have."""

    text: str
    fields: tuple[Field, ...]
    now: dt.datetime
    names: Mapping[str, str] = field(default_factory=dict)

    def name(self, name: str) -> str:
        return self.names.get(name, name)

    def no_rows(self) -> pa.Table:
        return pa.schema([(self.name(column.name), to_arrow(column.type)) for column in self.fields]).empty_table()


def _rebind(syntax: exp.Expr, scope: _Scope, names: Mapping[str, str]) -> pc.Expression:
    return to_arrow_expression(_Binder(replace(scope, names=names)).condition(syntax))


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
_PARTS: Final[dict[type[exp.Expr], str]] = {
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}


class _Binder:
    """Gives syntax its meaning in a scope: as a condition (a node) or as a value (a typed Arrow expression)."""

    def __init__(self, scope: _Scope) -> None:
        self.scope = scope

    def condition(self, syntax: exp.Expr) -> Node:
        """What a boolean expression means, with every NOT pushed down."""
        rule = _CONDITIONS.get(type(syntax))
        if rule is not None:
            self.check_arguments(syntax, rule[1])
            return rule[0](self, syntax)
        value = self.value(syntax)
        if pa.types.is_null(value.type):
            return UNKNOWN
        if not pa.types.is_boolean(value.type):
            self.fail(f"{_sql(syntax)} is {_type_name(value.type)}, not a condition; compare it with something", syntax)
        if value.constant is not None:
            return Literal(value.constant.as_py())
        if value.column is not None:
            return Compare(value.column, "=", pa.scalar(True))
        return self.opaque(syntax, value)

    def value(self, syntax: exp.Expr) -> _Value:
        """What any expression means."""
        if type(syntax) in _CONDITIONS and not isinstance(syntax, exp.Paren):
            node = self.condition(syntax)
            expression, names = to_arrow_expression(node), predicate.columns(node)
            constant = pa.scalar(node.value, pa.bool_()) if isinstance(node, Literal) else None
            return _Value(pa.bool_(), expression, names, constant)
        rule = _VALUES.get(type(syntax))
        if rule is None:
            self.refuse(syntax)
        self.check_arguments(syntax, rule[1])
        return rule[0](self, syntax)

    # ------------------------------------------------------------------------------------------------- conditions

    def paren(self, syntax: exp.Expr) -> Node:
        return self.condition(syntax.this)

    def connector(self, syntax: exp.Expr) -> Node:
        parts = [self.condition(part) for part in syntax.flatten()]
        return conjunction(parts) if isinstance(syntax, exp.And) else disjunction(parts)

    def negation(self, syntax: exp.Expr) -> Node:
        return negate(self.condition(syntax.this))

    def boolean(self, syntax: exp.Expr) -> Node:
        return TRUE if syntax.this else FALSE

    def distinct(self, syntax: exp.Expr) -> Node:
        return negate(self.condition(_of(exp.NullSafeEQ, syntax.this, syntax.expression)))

    def comparison(self, syntax: exp.Expr) -> Node:
        if type(syntax.expression) in _OPERATORS:  # sqlglot and Spark bind a = b < c differently
            self.fail(f"put parentheses around one of the comparisons in {_sql(syntax)}", syntax)
        return self.compare(self.value(syntax.this), _OPERATORS[type(syntax)], self.value(syntax.expression), syntax)

    def compare(self, left: _Value, op: str, right: _Value, syntax: exp.Expr) -> Node:
        if left.column is None and right.column is not None and left.constant is not None:
            left, right, op = right, left, _FLIPPED.get(op, op)
        kind = self.common([left, right], syntax)
        if left.column is not None and right.constant is not None:
            if not right.constant.is_valid:
                return IsNull(left.column) if op == "<=>" else UNKNOWN
            if _compares_as_is(left, kind):
                constant = self.constant(right.constant, kind, syntax)
                return _compare_column(left.column, left.type, op, constant)
        if pa.types.is_nested(kind):
            self.refuse(syntax, f"comparing {_type_name(kind)}")
        width = _char_width(left, right)
        sides = (_padded(side, width) if width else side for side in (left, right))
        one, two = (self.cast(side, kind, syntax).expression for side in sides)
        return self.node(_compare_expressions(op, one, two, kind), syntax, left, right)

    def between(self, syntax: exp.Expr) -> Node:
        low = self.condition(_of(exp.GTE, syntax.this, syntax.args["low"]))
        return conjunction((low, self.condition(_of(exp.LTE, syntax.this, syntax.args["high"]))))

    def membership(self, syntax: exp.Expr) -> Node:
        subject, items = self.value(syntax.this), [self.value(item) for item in syntax.expressions]
        if not items:
            self.fail(f"the list of {_sql(syntax)} is empty", syntax)
        kind = self.common([subject, *items], syntax)
        constants = [item.constant for item in items if item.constant is not None]
        if subject.column is None or len(constants) < len(items) or not _compares_as_is(subject, kind):
            return disjunction(self.condition(_of(exp.EQ, syntax.this, item)) for item in syntax.expressions)
        found: list[Node] = [
            _compare_column(subject.column, subject.type, "=", self.constant(constant, kind, syntax))
            for constant in constants
            if constant.is_valid
        ]
        same = [node.value for node in found if isinstance(node, Compare)]
        rest: list[Node] = [node for node in found if not isinstance(node, Compare) and node != _never(subject.column)]
        if len(same) > 1:
            rest.append(In(subject.column, pc.unique(pa.array(same, subject.type))))
        elif same:
            rest.append(Compare(subject.column, "=", same[0]))
        if len(constants) > len(found):
            rest.append(UNKNOWN)
        return disjunction(rest) if rest else _never(subject.column)

    def is_test(self, syntax: exp.Expr) -> Node:
        if isinstance(syntax.expression, exp.Boolean):
            return self.condition(_of(exp.NullSafeEQ, syntax.this, syntax.expression))
        if not isinstance(syntax.expression, exp.Null):
            self.refuse(syntax)
        return self.is_null(self.value(syntax.this), syntax)

    def is_null(self, value: _Value, syntax: exp.Expr) -> Node:
        if value.column is not None:
            return IsNull(value.column)
        return self.node(pc.is_null(value.expression), syntax, value)

    def like(self, syntax: exp.Expr) -> Node:
        like, escape = syntax, "\\"
        if isinstance(syntax, exp.Escape):
            like, escape = syntax.this, self.text(syntax.expression) or ""
            self.check_arguments(like, "this expression negate")
            if len(escape) != 1:
                self.fail(f"ESCAPE in {_sql(syntax)} must be one character", syntax)
        if like.args.get("negate"):
            positive = syntax.copy()
            (positive.this if isinstance(syntax, exp.Escape) else positive).set("negate", None)
            return negate(self.condition(positive))
        subject, text = self.cast(self.value(like.this), pa.string(), syntax), self.text(like.expression)
        if text is None:
            return UNKNOWN
        fold_case = isinstance(like, exp.ILike)
        try:
            pattern, plain = _like_pattern(text.lower() if fold_case else text, escape)
        except _CannotCastError:
            self.fail(f"the escape character {escape!r} in {text!r} must stand before '%', '_' or itself", syntax)
        if fold_case:
            return self.node(pc.match_like(pc.utf8_lower(subject.expression), pattern), syntax, subject)
        if plain is not None and subject.column is not None and not subject.char_length:
            return Compare(subject.column, "=", pa.scalar(plain))
        return self.like_node(subject, pattern, syntax)

    def like_node(self, subject: _Value, pattern: str, syntax: exp.Expr) -> Node:
        if subject.column is not None and not subject.char_length:
            return Like(subject.column, pattern)
        return self.node(pc.match_like(subject.expression, pattern), syntax, subject)

    def contains(self, syntax: exp.Expr) -> Node:
        subject = self.cast(self.value(syntax.this), pa.string(), syntax)
        text = self.text(syntax.expression)
        if text is None:
            return UNKNOWN
        before = "" if isinstance(syntax, exp.StartsWith) else "%"
        after = "" if isinstance(syntax, exp.EndsWith) else "%"
        return self.like_node(subject, before + _literal_like(text) + after, syntax)

    def rlike(self, syntax: exp.Expr) -> Node:
        subject = self.cast(self.value(syntax.this), pa.string(), syntax)
        text = self.text(syntax.expression)
        if text is None:
            return UNKNOWN
        pattern = _re2(text)
        try:
            pc.match_substring_regex(pa.array([""]), pattern=pattern or "(")
        except pa.ArrowInvalid:
            self.refuse(syntax, f"the regular expression {text!r}")
        return self.node(pc.match_substring_regex(subject.expression, pattern=pattern), syntax, subject)

    def is_nan(self, syntax: exp.Expr) -> Node:
        value = self.number(syntax.this)
        if not pa.types.is_floating(value.type):
            value = self.cast(value, pa.float64(), syntax)
        return self.node(_holds(pc.is_nan(value.expression)), syntax, value)

    # ----------------------------------------------------------------------------------------------------- values

    def inner(self, syntax: exp.Expr) -> _Value:
        return self.value(syntax.this)

    def null(self, syntax: exp.Expr) -> _Value:  # noqa: ARG002
        return _constant_value(pa.scalar(None, pa.null()))

    def literal(self, syntax: exp.Expr) -> _Value:
        if isinstance(syntax, exp.RawString) or syntax.is_string:
            return _constant_value(pa.scalar(syntax.name, pa.string()))
        return self.number_literal(syntax, syntax.name)

    def number_literal(self, syntax: exp.Expr, text: str) -> _Value:
        match = re.fullmatch(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)(BD|[LSYDF])?", text, re.IGNORECASE)
        number, suffix = (match[1], (match[2] or "").upper()) if match else ("", "")
        try:
            exact = Decimal(number)
            if suffix in _SUFFIXES:
                return _constant_value(_read_string(number, _SUFFIXES[suffix]))
            if not suffix and "e" in number.lower():
                return _constant_value(pa.scalar(float(number)))
            if not suffix and "." not in number:
                kind = next((kind for kind in (pa.int32(), pa.int64()) if _fits(int(number), kind)), None)
                if kind is not None:
                    return _constant_value(pa.scalar(int(number), kind))
            scale = max(0, -int(exact.as_tuple().exponent))
            digits = max(len(f"{abs(exact):f}".replace(".", "").lstrip("0")), scale, 1)
            return _constant_value(_rounded(exact, pa.decimal128(digits, scale)))
        except (_CannotCastError, ArithmeticError, ValueError):
            self.fail(f"{text} is not a number that Spark SQL has a type for", syntax)

    def hex(self, syntax: exp.Expr) -> _Value:
        digits = syntax.name
        try:
            return _constant_value(pa.scalar(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))))
        except ValueError:
            self.fail(f"X'{digits}' is not hexadecimal", syntax)

    def column(self, syntax: exp.Expr) -> _Value:
        parts = [part.name for part in syntax.parts] if isinstance(syntax, exp.Column | exp.Dot) else []
        if isinstance(syntax.this, exp.Star):
            self.refuse(syntax)
        found = self.find(parts[0], self.scope.fields, syntax)
        path, data_type = [self.scope.name(found.name)], found.type
        for part in parts[1:]:
            if not isinstance(data_type, Row):
                self.fail(f"{'.'.join(parts[: len(path)])} is {data_type} and has no field {part!r}", syntax)
            inner = self.find(part, data_type.fields, syntax)
            path, data_type = [*path, inner.name], inner.type
        expression, names = pc.field(*path), frozenset(path[:1])
        top = path[0] if len(path) == 1 else None
        if isinstance(data_type, Atomic) and data_type.root == "CHAR":
            (length,) = data_type.params
            padded = pc.utf8_rpad(expression, width=length, padding=" ")
            return _Value(pa.string(), padded, names, column=top, char_length=length)
        return _Value(to_arrow(data_type), expression, names, column=top)

    def find(self, name: str, fields: tuple[Field, ...], syntax: exp.Expr) -> Field:
        alike = [candidate for candidate in fields if candidate.name.lower() == name.lower()]
        exact = [candidate for candidate in alike if candidate.name == name]
        if not alike:
            self.fail(unknown_name("column", name, [candidate.name for candidate in fields]), syntax)
        if len(alike) > 1 and not exact:
            names = " and ".join(candidate.name for candidate in alike)
            self.fail(f"column {name!r} is ambiguous: there are {names}; write it exactly", syntax)
        return (exact or alike)[0]

    def negative(self, syntax: exp.Expr) -> _Value:
        if isinstance(syntax.this, exp.Literal) and not syntax.this.is_string:
            return self.number_literal(syntax, "-" + syntax.this.name)
        value = self.number(syntax.this)
        return self.made(pc.negate_checked(value.expression), syntax, value)

    def arithmetic(self, syntax: exp.Expr) -> _Value:
        left, right = self.value(syntax.this), self.value(syntax.expression)
        if isinstance(syntax, exp.Add | exp.Sub) and left.type == _DATE and pa.types.is_integer(right.type):
            return self.days_after(left, right, syntax, backwards=isinstance(syntax, exp.Sub))
        left, right = self.number(syntax.this), self.number(syntax.expression)
        kind = self.common([left, right], syntax)
        if pa.types.is_null(kind):
            return left
        if isinstance(syntax, exp.Div) and not pa.types.is_decimal(kind):
            kind = pa.float64()
        elif isinstance(syntax, exp.IntDiv) and pa.types.is_integer(kind):
            kind = pa.int64()
        elif isinstance(syntax, exp.Div | exp.IntDiv) or (isinstance(syntax, exp.Mod) and kind not in _INTEGERS):
            self.refuse(syntax, f"this division of {_type_name(kind)} (cast to DOUBLE first, or")
        if pa.types.is_decimal(kind):
            sides = [self.cast(side, _decimal_for(side), syntax).expression for side in (left, right)]
        else:
            sides = [self.cast(side, kind, syntax).expression for side in (left, right)]
        if isinstance(syntax, exp.Mod):
            times = pc.multiply_checked(pc.divide_checked(*sides), sides[1])
            return self.made(pc.subtract_checked(sides[0], times), syntax, left, right)
        return self.made(_ARITHMETIC[type(syntax)](*sides), syntax, left, right)

    def concat(self, syntax: exp.Expr) -> _Value:
        given = [syntax.this, syntax.expression] if isinstance(syntax, exp.DPipe) else syntax.expressions
        if isinstance(syntax, exp.DPipe) and any(isinstance(part, exp.Add | exp.Sub) for part in given):
            self.fail(f"put parentheses around + and - in {_sql(syntax)}", syntax)
        values = [self.cast(self.value(part), pa.string(), syntax) for part in given]
        joined = pc.binary_join_element_wise(*(value.expression for value in values), pc.scalar(""))
        return self.made(joined, syntax, *values)

    def explicit_cast(self, syntax: exp.Expr) -> _Value:
        target = syntax.args["to"]
        if target.this == exp.DType.DECIMAL:
            params = [int(param.name) for param in target.expressions] or [10, 0]
            kind = pa.decimal128(params[0], params[1] if len(params) > 1 else 0)
        elif target.this in _NAMED_TYPES:
            kind = _NAMED_TYPES[target.this]
        else:
            self.refuse(syntax)
        return self.cast(self.value(syntax.this), kind, syntax)

    def case(self, syntax: exp.Expr) -> _Value:
        subject, branches = syntax.this, syntax.args["ifs"]
        tests = [_of(exp.EQ, subject, branch.this) if subject is not None else branch.this for branch in branches]
        return self._choose(tests, [branch.args["true"] for branch in branches], syntax.args.get("default"), syntax)

    def if_(self, syntax: exp.Expr) -> _Value:
        return self._choose([syntax.this], [syntax.args["true"]], syntax.args.get("false"), syntax)

    def _choose(
        self, tests: list[exp.Expr], results: list[exp.Expr], default: exp.Expr | None, syntax: exp.Expr
    ) -> _Value:
        values = [self.value(result) for result in [*results, exp.Null() if default is None else default]]
        kind = self.common(values, syntax)
        *chosen, last = [self.cast(value, kind, syntax).expression for value in values]
        used = [self.value(test) for test in tests]
        for test, result in zip(reversed(tests), reversed(chosen), strict=True):
            last = pc.if_else(_holds(to_arrow_expression(self.condition(test))), result, last)
        return self.made(last, syntax, *values, *used)

    def coalesce(self, syntax: exp.Expr) -> _Value:
        values = [self.value(part) for part in [syntax.this, *syntax.expressions]]
        kind = self.common(values, syntax)
        parts = [self.cast(value, kind, syntax).expression for value in values]
        return self.made(pc.coalesce(*parts), syntax, *values)

    def nullif(self, syntax: exp.Expr) -> _Value:
        value, other = self.value(syntax.this), self.value(syntax.expression)
        equal = to_arrow_expression(self.compare(value, "=", other, _of(exp.EQ, syntax.this, syntax.expression)))
        return self.made(pc.if_else(_holds(equal), _null(value.type), value.expression), syntax, value, other)

    # -------------------------------------------------------------------------------------------------- functions

    def lower_upper(self, syntax: exp.Expr) -> _Value:
        value = self.cast(self.value(syntax.this), pa.string(), syntax)
        mapped = pc.utf8_lower if isinstance(syntax, exp.Lower) else pc.utf8_upper
        return self.made(mapped(value.expression), syntax, value)

    def trim(self, syntax: exp.Expr) -> _Value:
        value = self.cast(self.value(syntax.this), pa.string(), syntax)
        characters = " " if syntax.expression is None else self.text(syntax.expression)
        if characters is None:
            return self.null(syntax)
        trim = {"LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}.get(syntax.text("position").upper(), pc.utf8_trim)
        return self.made(trim(value.expression, characters=characters), syntax, value)

    def length(self, syntax: exp.Expr) -> _Value:
        value = self.value(syntax.this)
        if pa.types.is_binary(value.type):
            return self.made(pc.binary_length(value.expression), syntax, value)
        value = self.cast(value, pa.string(), syntax)
        return self.made(pc.utf8_length(value.expression), syntax, value)

    def substring(self, syntax: exp.Expr) -> _Value:
        value = self.cast(self.value(syntax.this), pa.string(), syntax)
        position = self.whole(syntax.args["start"])
        length = self.whole(syntax.args["length"]) if syntax.args.get("length") is not None else None
        start = position - 1 if position > 0 else position
        stop = None if length is None else start + max(length, 0)
        if stop is not None and start < 0 <= stop:
            stop = None
        if length is not None and length <= 0:
            start = stop = 0
        return self.made(pc.utf8_slice_codeunits(value.expression, start=start, stop=stop), syntax, value)

    def replace(self, syntax: exp.Expr) -> _Value:
        value = self.cast(self.value(syntax.this), pa.string(), syntax)
        old, new = self.text(syntax.expression), self.text(syntax.args.get("replacement") or exp.Literal.string(""))
        if old is None or new is None:
            return self.null(syntax)
        if not old:
            return value
        return self.made(pc.replace_substring(value.expression, pattern=old, replacement=new), syntax, value)

    def rounding(self, syntax: exp.Expr) -> _Value:
        value = self.number(syntax.this)
        digits = self.whole(syntax.args["decimals"]) if syntax.args.get("decimals") is not None else 0
        if isinstance(syntax, exp.Abs):
            return self.made(pc.abs_checked(value.expression), syntax, value)
        if digits < 0 or (digits > 0 and not pa.types.is_decimal(value.type)):
            self.refuse(syntax, "rounding to these digits")
        if pa.types.is_integer(value.type):
            return value if isinstance(syntax, exp.Round) else self.cast(value, pa.int64(), syntax)
        if pa.types.is_floating(value.type):
            whole = (
                _round_half_up(value.expression)
                if isinstance(syntax, exp.Round)
                else _FLOORS[type(syntax)](value.expression)
            )
            made = self.made(whole, syntax, value)
            return made if isinstance(syntax, exp.Round) else self.cast(made, pa.int64(), syntax)
        wide = value.expression.cast(_decimal(value.type.precision + 1, value.type.scale))
        if isinstance(syntax, exp.Round):
            return self.made(_round_half_up(wide, min(digits, value.type.scale)), syntax, value)
        return self.made(_FLOORS[type(syntax)](wide), syntax, value)

    def date_part(self, syntax: exp.Expr) -> _Value:
        value = self.value(syntax.this)
        if not pa.types.is_timestamp(value.type):
            value = self.cast(
                value, _DATE if isinstance(syntax, exp.Year | exp.Month | exp.Day | exp.DayOfMonth) else _LTZ, syntax
            )
        part = getattr(pc, _PARTS[type(syntax)])(value.expression)
        return self.made(part.cast(pa.int32()), syntax, value)

    def add_days(self, syntax: exp.Expr) -> _Value:
        if syntax.text("unit").upper() != "DAY":
            self.refuse(syntax)
        return self.days_after(self.date(syntax.this), self.value(syntax.expression), syntax)

    def days_after(self, day: _Value, days: _Value, syntax: exp.Expr, *, backwards: bool = False) -> _Value:
        if not pa.types.is_integer(days.type):
            self.fail(f"the number of days in {_sql(syntax)} must be an integer", syntax)
        change = pc.subtract_checked if backwards else pc.add_checked
        moved = change(day.expression.cast(pa.int32()), days.expression.cast(pa.int32()))
        return self.made(moved.cast(_DATE), syntax, day, days)

    def days_between(self, syntax: exp.Expr) -> _Value:
        end, start = self.date(syntax.this), self.date(syntax.expression)
        days = pc.subtract_checked(end.expression.cast(pa.int32()), start.expression.cast(pa.int32()))
        return self.made(days, syntax, end, start)

    def to_date(self, syntax: exp.Expr) -> _Value:
        return self.date(syntax.this)

    def date(self, syntax: exp.Expr) -> _Value:
        return self.cast(self.value(syntax), _DATE, syntax)

    def now(self, syntax: exp.Expr) -> _Value:
        is_date = isinstance(syntax, exp.CurrentDate)
        name = "current_date" if is_date else "current_timestamp"
        if any(candidate.name.lower() == name for candidate in self.scope.fields):
            self.fail(f"{name} is a column here and a function in SQL; write the column as `{name}`", syntax)
        return _constant_value(
            pa.scalar(self.scope.now.date() if is_date else self.scope.now, _DATE if is_date else _LTZ)
        )

    def named(self, syntax: exp.Expr) -> _Value:
        name, arguments = syntax.name.lower(), syntax.expressions
        if name == "now" and not arguments:
            return self.now(syntax)
        if name in {"isnull", "isnotnull"} and len(arguments) == 1:
            test = _of(exp.Is, arguments[0], exp.Null())
            return self.value(test if name == "isnull" else exp.Not(this=test))
        return self.refuse(syntax)

    # ---------------------------------------------------------------------------------------------------- helpers

    def made(self, expression: pc.Expression, syntax: exp.Expr, *parts: _Value) -> _Value:
        """A value made of others: its type is Arrow's, and it is computed here and now if no column is read."""
        names = frozenset[str]().union(*(part.columns for part in parts))
        probe = Opaque(expression, frozenset(self.scope.no_rows().column_names), _sql(syntax))
        try:
            if names:
                return _Value(predicate.truth(probe, self.scope.no_rows()).type, expression, names)
            return _constant_value(predicate.truth(Opaque(expression, names, _sql(syntax)), _ONE_ROW)[0])
        except pa.ArrowNotImplementedError:
            kinds = " and ".join(_type_name(part.type) for part in parts)
            self.fail(f"{_sql(syntax)} does not go with {kinds}", syntax)

    def node(self, expression: pc.Expression, syntax: exp.Expr, *parts: _Value) -> Node:
        value = self.made(expression, syntax, *parts)
        if value.constant is not None:
            return Literal(value.constant.as_py())
        return self.opaque(syntax, value)

    def opaque(self, syntax: exp.Expr, value: _Value) -> Opaque:
        return Opaque(value.expression, value.columns, _sql(syntax), partial(_rebind, syntax, self.scope))

    def common(self, values: Sequence[_Value], syntax: exp.Expr) -> pa.DataType:
        kind = values[0].type
        for value in values[1:]:
            wider = _common_type(kind, value.type)
            if wider is None:
                names = f"{_type_name(kind)} and {_type_name(value.type)}"
                self.fail(f"{_sql(syntax)} mixes {names}, which Spark does not compare; add a CAST", syntax)
            kind = wider
        return kind

    def cast(self, value: _Value, kind: pa.DataType, syntax: exp.Expr) -> _Value:
        if value.type == kind:
            return value
        if value.constant is not None and value.constant.is_valid and pa.types.is_string(value.type):
            return _constant_value(self.constant(value.constant, kind, syntax))
        expression = _cast_expression(value.expression, value.type, kind)
        if expression is None:
            self.refuse(syntax, f"a cast of {_type_name(value.type)} to {_type_name(kind)}")
        return self.made(expression, syntax, value)

    def constant(self, constant: pa.Scalar, kind: pa.DataType, syntax: exp.Expr) -> pa.Scalar:
        """A constant for comparison in a type; exact ones stay as they are, however wide."""
        try:
            if pa.types.is_string(constant.type):
                return _read_string(constant.as_py(), kind)
            if pa.types.is_floating(kind) and _is_number(constant.type):
                return pa.scalar(float(constant.as_py()), kind)
        except _CannotCastError:
            shown = predicate.value_text(constant)
            self.fail(f"{shown} cannot be cast to {_type_name(kind)} (Spark's ANSI mode says so too)", syntax)
        return constant

    def number(self, syntax: exp.Expr) -> _Value:
        value = self.value(syntax)
        if pa.types.is_string(value.type):
            value = self.cast(value, pa.float64(), syntax)
        if not _is_number(value.type) and not pa.types.is_null(value.type):
            self.fail(f"{_sql(syntax)} is {_type_name(value.type)}, not a number", syntax)
        return value

    def text(self, syntax: exp.Expr) -> str | None:
        value = self.value(syntax)
        if value.constant is None or not (pa.types.is_string(value.type) or pa.types.is_null(value.type)):
            self.refuse(syntax, f"{_sql(syntax)} where a string literal is expected")
        text: str | None = value.constant.as_py()
        return text

    def whole(self, syntax: exp.Expr) -> int:
        value = self.value(syntax)
        if value.constant is None or not pa.types.is_integer(value.type) or not value.constant.is_valid:
            self.refuse(syntax, f"{_sql(syntax)} where an integer literal is expected")
        return int(value.constant.as_py())

    def check_arguments(self, syntax: exp.Expr, known: str) -> None:
        """Refuse syntax that sqlglot took in but nobody here looks at."""
        given = {name for name, value in syntax.args.items() if value and not name.startswith("_")}
        extra = given - set(known.split()) - _HARMLESS
        if extra:
            self.refuse(syntax, f"{_sql(syntax)} ({', '.join(sorted(extra))})")

    def refuse(self, syntax: exp.Expr, what: str | None = None) -> NoReturn:
        if isinstance(syntax, exp.Query | exp.Subquery | exp.Exists | exp.SubqueryPredicate):
            what = "a subquery"
        elif isinstance(syntax, exp.Placeholder | exp.Parameter):
            what = f"the parameter {_sql(syntax)}"
        elif isinstance(syntax, exp.AggFunc | exp.Window):
            what = f"the aggregate or window function {_sql(syntax)}"
        elif what is None:
            name = syntax.name if isinstance(syntax, exp.Anonymous) else syntax.key
            what = f"{name.upper()} in {_sql(syntax)}"
        self.fail(f"{what} is not supported in a where condition; Spark SQL can do it: use lake.sql(...)", syntax)

    def fail(self, message: str, syntax: exp.Expr) -> NoReturn:
        text = self.scope.text
        starts = [node.meta["start"] for node in syntax.walk() if "start" in node.meta]
        if not starts:
            raise ExpressionError(f"{message}\n  {text}")
        before = text[: min(starts)]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
        raise ExpressionError(message + _caret(text, line, column))


_ONE_ROW: Final = pa.table({"row": pa.nulls(1)})
_HARMLESS: Final = frozenset({"safe", "typed", "coalesce"})
_FLOORS: Final[dict[type[exp.Expr], Callable[[Any], Any]]] = {exp.Floor: pc.floor, exp.Ceil: pc.ceil}
_ARITHMETIC: Final[dict[type[exp.Expr], Callable[[Any, Any], Any]]] = {
    exp.Add: pc.add_checked,
    exp.Sub: pc.subtract_checked,
    exp.Mul: pc.multiply_checked,
    exp.Div: pc.divide_checked,
    exp.IntDiv: pc.divide_checked,
}


def _of(kind: type[exp.Expr], this: exp.Expr, expression: exp.Expr) -> exp.Expr:
    return kind(this=this.copy(), expression=expression.copy())


def _sql(syntax: exp.Expr) -> str:
    return syntax.sql(dialect=_DIALECT, comments=False)


def _fits(value: int, kind: pa.DataType) -> bool:
    return bool(-(2 ** (kind.bit_width - 1)) <= value < 2 ** (kind.bit_width - 1))


def _constant_value(constant: pa.Scalar) -> _Value:
    return _Value(constant.type, pc.scalar(constant), constant=constant)


def _compares_as_is(column: _Value, kind: pa.DataType) -> bool:
    """Whether a column compares in a type without being cast; a CHAR is padded, a string may become a number."""
    return (
        not column.char_length
        and not pa.types.is_nested(kind)
        and pa.types.is_string(column.type) == pa.types.is_string(kind)
    )


def _char_width(left: _Value, right: _Value) -> int:
    """Spark pads a CHAR and the CHAR or literal that it is compared with to the longer of the two."""
    if not left.char_length and not right.char_length:
        return 0
    literals = (side.constant.as_py() for side in (left, right) if side.constant is not None)
    return max(left.char_length, right.char_length, *(len(text) for text in literals if isinstance(text, str)))


def _padded(value: _Value, width: int) -> _Value:
    if not value.char_length and (value.constant is None or not pa.types.is_string(value.type)):
        return value
    return replace(value, expression=pc.utf8_rpad(value.expression, width=width, padding=" "), constant=None)


def _decimal_for(value: _Value) -> pa.DataType:
    """The decimal that a number is in decimal arithmetic; a literal is as narrow as it can be."""
    if value.constant is not None and pa.types.is_integer(value.type) and value.constant.is_valid:
        return pa.decimal128(len(str(abs(value.constant.as_py()))), 0)
    return _as_decimal(value.type)


def _round_half_up(value: pc.Expression, digits: int = 0) -> pc.Expression:
    return pc.round(value, ndigits=digits, round_mode="half_towards_infinity")


_Conditions: TypeAlias = dict[type[exp.Expr], tuple[Callable[[_Binder, Any], Node], str]]
_CONDITIONS: Final[_Conditions] = {
    exp.Paren: (_Binder.paren, "this"),
    exp.And: (_Binder.connector, "this expression"),
    exp.Or: (_Binder.connector, "this expression"),
    exp.Not: (_Binder.negation, "this"),
    exp.Boolean: (_Binder.boolean, "this"),
    exp.NullSafeNEQ: (_Binder.distinct, "this expression"),
    exp.Between: (_Binder.between, "this low high"),
    exp.In: (_Binder.membership, "this expressions"),
    exp.Is: (_Binder.is_test, "this expression"),
    exp.Like: (_Binder.like, "this expression negate"),
    exp.ILike: (_Binder.like, "this expression negate"),
    exp.Escape: (_Binder.like, "this expression"),
    exp.RegexpLike: (_Binder.rlike, "this expression"),
    exp.StartsWith: (_Binder.contains, "this expression"),
    exp.EndsWith: (_Binder.contains, "this expression"),
    exp.Contains: (_Binder.contains, "this expression"),
    exp.IsNan: (_Binder.is_nan, "this"),
} | dict.fromkeys(_OPERATORS, (_Binder.comparison, "this expression"))

_Values: TypeAlias = dict[type[exp.Expr], tuple[Callable[[_Binder, Any], _Value], str]]
_VALUES: Final[_Values] = {
    exp.Paren: (_Binder.inner, "this"),
    exp.Null: (_Binder.null, ""),
    exp.Literal: (_Binder.literal, "this is_string"),
    exp.RawString: (_Binder.literal, "this"),
    exp.HexString: (_Binder.hex, "this"),
    exp.Column: (_Binder.column, "this table db catalog"),
    exp.Dot: (_Binder.column, "this expression"),
    exp.Neg: (_Binder.negative, "this"),
    exp.Mod: (_Binder.arithmetic, "this expression"),
    exp.DPipe: (_Binder.concat, "this expression"),
    exp.Concat: (_Binder.concat, "expressions"),
    exp.Cast: (_Binder.explicit_cast, "this to"),
    exp.TryCast: (_Binder.explicit_cast, "this to"),
    exp.Case: (_Binder.case, "this ifs default"),
    exp.If: (_Binder.if_, "this true false"),
    exp.Coalesce: (_Binder.coalesce, "this expressions"),
    exp.Nullif: (_Binder.nullif, "this expression"),
    exp.Lower: (_Binder.lower_upper, "this"),
    exp.Upper: (_Binder.lower_upper, "this"),
    exp.Trim: (_Binder.trim, "this expression position"),
    exp.Length: (_Binder.length, "this"),
    exp.Substring: (_Binder.substring, "this start length"),
    exp.Replace: (_Binder.replace, "this expression replacement"),
    exp.Abs: (_Binder.rounding, "this"),
    exp.Floor: (_Binder.rounding, "this"),
    exp.Ceil: (_Binder.rounding, "this"),
    exp.Round: (_Binder.rounding, "this decimals"),
    exp.TsOrDsAdd: (_Binder.add_days, "this expression unit"),
    exp.DateDiff: (_Binder.days_between, "this expression"),
    exp.TsOrDsToDate: (_Binder.to_date, "this"),
    exp.CurrentDate: (_Binder.now, ""),
    exp.CurrentTimestamp: (_Binder.now, ""),
    exp.Anonymous: (_Binder.named, "this expressions"),
    **dict.fromkeys(_ARITHMETIC, (_Binder.arithmetic, "this expression")),
    **dict.fromkeys(_PARTS, (_Binder.date_part, "this")),
}
