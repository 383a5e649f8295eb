"""The rules for functions: of strings, of numbers, of dates and timestamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lakebed.rows.where.binder import NULL, Binder, Value, Values, constant_value
from lakebed.rows.where.expressions import round_half_up
from lakebed.rows.where.syntax import of, sql
from lakebed.rows.where.value_types import DATE, LTZ, decimal

_FLOORS: Final[dict[type[exp.Expr], Callable[[Any], Any]]] = {exp.Floor: pc.floor, exp.Ceil: pc.ceil}
_PARTS: Final[dict[type[exp.Expr], str]] = {
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}


def _lower_upper(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.cast(bind.value(syntax.this), pa.string(), syntax)
    mapped = pc.utf8_lower if isinstance(syntax, exp.Lower) else pc.utf8_upper
    return bind.made(mapped(value.expression), syntax, value)


def _trim(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.cast(bind.value(syntax.this), pa.string(), syntax)
    characters = " " if syntax.expression is None else bind.text(syntax.expression)
    if characters is None:
        return NULL
    trim = {"LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}.get(syntax.text("position").upper(), pc.utf8_trim)
    return bind.made(trim(value.expression, characters=characters), syntax, value)


def _length(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.value(syntax.this)
    if pa.types.is_binary(value.type):
        return bind.made(pc.binary_length(value.expression), syntax, value)
    value = bind.cast(value, pa.string(), syntax)
    return bind.made(pc.utf8_length(value.expression), syntax, value)


def _substring(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.cast(bind.value(syntax.this), pa.string(), syntax)
    position = bind.whole(syntax.args["start"])
    length = bind.whole(syntax.args["length"]) if syntax.args.get("length") is not None else None
    start = position - 1 if position > 0 else position
    stop = None if length is None else start + max(length, 0)
    if stop is not None and start < 0 <= stop:
        stop = None
    if length is not None and length <= 0:
        start = stop = 0
    return bind.made(pc.utf8_slice_codeunits(value.expression, start=start, stop=stop), syntax, value)


def _replace(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.cast(bind.value(syntax.this), pa.string(), syntax)
    old, new = bind.text(syntax.expression), bind.text(syntax.args.get("replacement") or exp.Literal.string(""))
    if old is None or new is None:
        return NULL
    if not old:
        return value
    return bind.made(pc.replace_substring(value.expression, pattern=old, replacement=new), syntax, value)


def _rounding(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.number(syntax.this)
    digits = bind.whole(syntax.args["decimals"]) if syntax.args.get("decimals") is not None else 0
    if isinstance(syntax, exp.Abs):
        return bind.made(pc.abs_checked(value.expression), syntax, value)
    if digits < 0 or (digits > 0 and not pa.types.is_decimal(value.type)):
        bind.refuse(syntax, "rounding to these digits")
    if pa.types.is_integer(value.type):
        return value if isinstance(syntax, exp.Round) else bind.cast(value, pa.int64(), syntax)
    if pa.types.is_floating(value.type):
        whole = (
            round_half_up(value.expression)
            if isinstance(syntax, exp.Round)
            else _FLOORS[type(syntax)](value.expression)
        )
        made = bind.made(whole, syntax, value)
        return made if isinstance(syntax, exp.Round) else bind.cast(made, pa.int64(), syntax)
    wide = value.expression.cast(decimal(value.type.precision + 1, value.type.scale))
    if isinstance(syntax, exp.Round):
        return bind.made(round_half_up(wide, min(digits, value.type.scale)), syntax, value)
    return bind.made(_FLOORS[type(syntax)](wide), syntax, value)


def _date_part(bind: Binder, syntax: exp.Expr) -> Value:
    value = bind.value(syntax.this)
    if not pa.types.is_timestamp(value.type):
        value = bind.cast(
            value, DATE if isinstance(syntax, exp.Year | exp.Month | exp.Day | exp.DayOfMonth) else LTZ, syntax
        )
    part = getattr(pc, _PARTS[type(syntax)])(value.expression)
    return bind.made(part.cast(pa.int32()), syntax, value)


def _add_days(bind: Binder, syntax: exp.Expr) -> Value:
    if syntax.text("unit").upper() != "DAY":
        bind.refuse(syntax)
    return days_after(bind, _date(bind, syntax.this), bind.value(syntax.expression), syntax)


def days_after(bind: Binder, day: Value, days: Value, syntax: exp.Expr, *, backwards: bool = False) -> Value:
    """A date, and a number of days after or before it."""
    if not pa.types.is_integer(days.type):
        bind.fail(f"the number of days in {sql(syntax)} must be an integer", syntax)
    change = pc.subtract_checked if backwards else pc.add_checked
    moved = change(day.expression.cast(pa.int32()), days.expression.cast(pa.int32()))
    return bind.made(moved.cast(DATE), syntax, day, days)


def _days_between(bind: Binder, syntax: exp.Expr) -> Value:
    end, start = _date(bind, syntax.this), _date(bind, syntax.expression)
    days = pc.subtract_checked(end.expression.cast(pa.int32()), start.expression.cast(pa.int32()))
    return bind.made(days, syntax, end, start)


def _to_date(bind: Binder, syntax: exp.Expr) -> Value:
    return _date(bind, syntax.this)


def _date(bind: Binder, syntax: exp.Expr) -> Value:
    return bind.cast(bind.value(syntax), DATE, syntax)


def _now(bind: Binder, syntax: exp.Expr) -> Value:
    is_date = isinstance(syntax, exp.CurrentDate)
    name = "current_date" if is_date else "current_timestamp"
    if any(candidate.name.lower() == name for candidate in bind.scope.fields):
        bind.fail(f"{name} is a column here and a function in SQL; write the column as `{name}`", syntax)
    return constant_value(pa.scalar(bind.scope.now.date() if is_date else bind.scope.now, DATE if is_date else LTZ))


def _named(bind: Binder, syntax: exp.Expr) -> Value:
    name, arguments = syntax.name.lower(), syntax.expressions
    if name == "now" and not arguments:
        return _now(bind, syntax)
    if name in {"isnull", "isnotnull"} and len(arguments) == 1:
        test = of(exp.Is, arguments[0], exp.Null())
        return bind.value(test if name == "isnull" else exp.Not(this=test))
    return bind.refuse(syntax)


FUNCTIONS: Final[Values] = {
    exp.Lower: (_lower_upper, "this"),
    exp.Upper: (_lower_upper, "this"),
    exp.Trim: (_trim, "this expression position"),
    exp.Length: (_length, "this"),
    exp.Substring: (_substring, "this start length"),
    exp.Replace: (_replace, "this expression replacement"),
    exp.Abs: (_rounding, "this"),
    exp.Floor: (_rounding, "this"),
    exp.Ceil: (_rounding, "this"),
    exp.Round: (_rounding, "this decimals"),
    exp.TsOrDsAdd: (_add_days, "this expression unit"),
    exp.DateDiff: (_days_between, "this expression"),
    exp.TsOrDsToDate: (_to_date, "this safe"),
    exp.CurrentDate: (_now, ""),
    exp.CurrentTimestamp: (_now, ""),
    exp.Anonymous: (_named, "this expressions"),
    **dict.fromkeys(_PARTS, (_date_part, "this")),
}
