"""Parse the values of options as Apache Paimon writes them: sizes, durations, lists, maps.

:func:`parse_option` parses the value of one option, with the limits that its definition sets. The other parsers take a
text of one kind. They raise ``ValueError`` with what is allowed; :func:`parse_option` adds the option's name and value.

>>> parse_size("128 mb"), parse_duration("10 ms"), parse_map("0:none, 1:full")
(134217728, 0.01, {'0': 'none', '1': 'full'})
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final, TypeAlias

from lakebed.errors import OptionError
from lakebed.options.definitions import Kind, Option

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | dict[str, str]

_INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
_SIZE_UNITS: Final = {
    unit: 1024**power
    for power, units in enumerate(
        (
            ("", "b", "bytes"),
            ("k", "kb", "kibibytes"),
            ("m", "mb", "mebibytes"),
            ("g", "gb", "gibibytes"),
            ("t", "tb", "tebibytes"),
        )
    )
    for unit in units
}
_NANOS: Final = {
    unit: nanos
    for units, nanos in (
        (("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
        (("µs", "micro", "micros", "microsecond", "microseconds"), 10**3),
        (("", "ms", "milli", "millis", "millisecond", "milliseconds"), 10**6),
        (("s", "sec", "secs", "second", "seconds"), 10**9),
        (("min", "m", "minute", "minutes"), 60 * 10**9),
        (("h", "hour", "hours"), 3600 * 10**9),
        (("d", "day", "days"), 86400 * 10**9),
    )
    for unit in units
}
_AMOUNT: Final = re.compile(r"\s*([0-9]+)\s*(\S*)\s*")


def parse_bool(text: str) -> bool:
    """Parses ``true`` or ``false``, in upper or lower case."""
    try:
        return {"true": True, "false": False}[text.lower()]
    except KeyError:
        raise ValueError("true or false") from None


def parse_int(text: str, limit: int = _INT_MAX) -> int:
    """Parses a whole number up to ``limit``, by default one of 32 bits."""
    if re.fullmatch(r"[+-]?[0-9]+", text) and -limit - 1 <= int(text) <= limit:
        return int(text)
    raise ValueError(f"a whole number of {limit.bit_length() + 1} bits")


def parse_float(text: str) -> float:
    """Parses a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("a number")
    return number


def parse_size(text: str) -> int:
    """Parses a size and returns bytes. Units are powers of 1024; a number alone is bytes.

    >>> parse_size("8mb"), parse_size("1 G"), parse_size("500")
    (8388608, 1073741824, 500)
    """
    return _amount(text, _SIZE_UNITS, "a size such as 128 mb (units b, kb, mb, gb, tb)")


def parse_duration(text: str) -> float:
    """Parses a duration and returns seconds. A number alone is milliseconds.

    >>> parse_duration("1 h"), parse_duration("2days"), parse_duration("10")
    (3600.0, 172800.0, 0.01)
    """
    return _amount(text, _NANOS, "a duration such as 10 s (units d, h, min, s, ms, µs, ns)") / 10**9


def _amount(text: str, units: Mapping[str, int], allowed: str) -> int:
    match = _AMOUNT.fullmatch(text)
    factor = units.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(allowed)
    amount = int(match[1]) * factor
    # Durations are counted in nanoseconds here. Paimon counts the seconds of a duration in 64 bits.
    if amount > LONG_MAX * (10**9 if units is _NANOS else 1) or int(match[1]) > LONG_MAX:
        raise ValueError(f"{allowed} that fits into 64 bits")
    return amount


def parse_list(text: str) -> tuple[str, ...]:
    """Splits a text at commas. The parts are not trimmed, and empty parts at the end are dropped.

    >>> parse_list("a,b"), parse_list("a, b,"), parse_list("")
    (('a', 'b'), ('a', ' b'), ())
    """
    parts = text.split(",")
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def parse_map(text: str) -> dict[str, str]:
    """Parses entries such as ``0:lz4,1:zstd``. Single quotes enclose an entry, key or value that contains a separator.

    >>> parse_map("0:lz4, 1 : zstd"), parse_map("'a:x,y'"), parse_map("a:'it''s'")
    ({'0': 'lz4', '1': 'zstd'}, {'a': 'x,y'}, {'a': "it's"})
    """
    entries: dict[str, str] = {}
    for entry in _split(text, ","):
        pair = _split(entry, ":")
        if len(pair) != 2 or pair[0] in entries:
            raise ValueError("a map such as 0:zstd,1:lz4 with each key once")
        entries[pair[0]] = pair[1]
    return entries


def _split(text: str, separator: str) -> list[str]:
    """Splits a text at separators, removes spaces and quotes around each part, and drops empty parts."""
    token = re.compile(rf"\s*(?:'((?:[^']|'')*)'|([^{separator}]*?))\s*(?:{separator}|$)")
    parts, position = [], 0
    while position < len(text):
        match = token.match(text, position)
        if match is None or (match[1] is None and match[2].startswith("'")):
            raise ValueError("a map such as 0:zstd,1:lz4 with quotes around whole texts")
        if match[1] is not None:
            parts.append(match[1].replace("''", "'"))
        elif match[2]:
            parts.append(match[2])
        position = match.end()
    return parts


_PARSERS: Final[Mapping[Kind, Callable[[str], Value]]] = {
    Kind.BOOL: parse_bool,
    Kind.INT: parse_int,
    Kind.LONG: lambda text: parse_int(text, LONG_MAX),
    Kind.FLOAT: parse_float,
    Kind.SIZE: parse_size,
    Kind.TIME: parse_duration,
    Kind.TEXT: str,
    Kind.LIST: parse_list,
    Kind.MAP: parse_map,
}


def parse_option(option: Option, name: str, text: str, where: str = "") -> Value:
    """Returns the value of ``option`` that is stored as ``text`` under ``name``.

    The name may be an alias or an entry of a map.

    Raises:
        OptionError: if the value is not allowed; the message names the option, the value and what is allowed.
    """
    try:
        return _parse_value(option, name, text)
    except ValueError as error:
        place = f" in {where}" if where else ""
        raise OptionError(f"option {name!r}{place} is {text!r}; it must be {error}") from None


@cache
def default_value(option: Option) -> Value | None:
    """Returns the parsed default of an option, or None if it has none."""
    return None if option.default is None else _parse_value(option, option.name, option.default)


def _parse_value(option: Option, name: str, text: str) -> Value:
    value: Value
    if option.kind is Kind.ENUM:
        spellings = {known.lower(): known for known in option.values}
        if text.lower() not in spellings:
            raise ValueError(f"one of {', '.join(option.values)}")
        value = spellings[text.lower()]
    elif option.kind is Kind.MAP and name.startswith(f"{option.name}."):
        value = {name.removeprefix(f"{option.name}."): text}
    else:
        try:
            value = _PARSERS[option.kind](text)
        except ValueError as error:
            raise ValueError(option.form or str(error)) from None
    # The keys of every map option are levels.
    if isinstance(value, dict) and not all(re.fullmatch("[0-9]+", level) for level in value):
        raise ValueError("a map whose keys are levels, such as 0:zstd,1:lz4")
    checked: Iterable[str] = value.values() if isinstance(value, dict) else (text,)
    if option.pattern and not all(re.fullmatch(option.pattern, part) for part in checked):
        raise ValueError(option.form)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if option.low is not None and value < option.low:
            raise ValueError(f"at least {option.low}")
        if option.high is not None and value > option.high:
            raise ValueError(f"at most {option.high}")
    return value
