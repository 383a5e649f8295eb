"""The time of a partition: computed from its values, and back.

The option ``partition.timestamp-pattern`` combines partition columns to a text, such as ``$dt $hour:00:00``. Without it
the text is the first partition column. The option ``partition.timestamp-formatter`` says how to parse the text. It is a
pattern of Java's ``DateTimeFormatter`` with the letters ``y u M L d D H k m s``; other characters are literals, in
single quotes if they are letters. Without a formatter the text is ``2025-01-31`` or ``2025-01-31 12:00:00``. Times have
no zone.

:meth:`PartitionTime.parse` returns the time of partition values, :meth:`PartitionTime.format` the values for a time.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lakebed.errors import DataError, OptionError
from lakebed.options import TableOptions

_PATTERN: Final = TableOptions.partition_timestamp_pattern.name
_FORMATTER: Final = TableOptions.partition_timestamp_formatter.name
_UNITS: Final = {
    "y": "year",
    "u": "year",
    "M": "month",
    "L": "month",
    "d": "day",
    "D": "day",
    "H": "hour",
    "k": "hour",
    "m": "minute",
    "s": "second",
}
_UNIT_ORDER: Final = ("year", "month", "day", "hour", "minute", "second")
_WIDEST: Final = {"y": 4, "u": 4, "D": 3}
_DEFAULT: Final = re.compile(
    r"(?P<y>\d{1,4})-(?P<M>\d{1,2})-(?P<d>\d{1,2})(?: (?P<H>\d{1,2}):(?P<m>\d{1,2}):(?P<s>\d{1,2})(?:\.\d{1,9})?)?"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a formatter: ``width`` times a letter, or (with no letter) one character of text."""

    letter: str
    width: int
    text: str = ""

    @property
    def regex(self) -> str:
        if not self.letter:
            return re.escape(self.text)
        fixed = self.width == 2 or (self.letter in "yu" and self.width == 4) or (self.letter == "D" and self.width == 3)
        return rf"\d{{{self.width}}}" if fixed else rf"\d{{{self.width},{_WIDEST.get(self.letter, 2)}}}"


def parse_formatter(text: str) -> tuple[Part, ...]:
    """Returns the pieces of a formatter. Raises OptionError if it is not supported or is not a full date.

    >>> [part.letter * part.width or part.text for part in parse_formatter("yyyyMMdd'T'HH")]
    ['yyyy', 'MM', 'dd', 'T', 'HH']
    """
    parts: list[Part] = []
    for match in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", text, re.DOTALL):
        quoted, letter, other = match[1], match[2], match[3]
        if letter is not None:
            parts.append(_field(text, letter, len(match[0])))
        elif other is not None:
            if other in "'[]{}#":
                raise OptionError(f"option {_FORMATTER} is {text!r}: {other} is not supported")
            parts.append(Part("", 0, other))
        else:
            parts += [Part("", 0, character) for character in (quoted.replace("''", "'") or "'")]
    letters = {part.letter.replace("u", "y").replace("L", "M") for part in parts}
    if not ({"y", "M", "d"} <= letters or {"y", "D"} <= letters):
        raise OptionError(
            f"option {_FORMATTER} is {text!r}; it must contain the whole date: year, month and day, or year and day of "
            "the year"
        )
    return tuple(parts)


def _field(text: str, letter: str, width: int) -> Part:
    if letter not in _UNITS:
        raise OptionError(f"option {_FORMATTER} is {text!r}; the only letters outside of quotes are {' '.join(_UNITS)}")
    if width > _WIDEST.get(letter, 2):
        raise OptionError(
            f"option {_FORMATTER} is {text!r}: {letter * width} is too wide; names of months are not supported"
        )
    return Part(letter, width)


@dataclass(frozen=True)
class PartitionTime:
    """Converts between the partitions of one table and times."""

    columns: tuple[str, ...]
    pattern: str | None = None
    formatter: str | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise OptionError("the table has no partition columns, so its partitions have no time")
        _ = self._pieces, self._parts  # an invalid pattern raises here

    # -------------------------------------------------------------------------------------------------- parsing

    def parse(self, values: Mapping[str, object]) -> dt.datetime:
        """Returns the time of a partition. Raises DataError if its values are not a time.

        >>> time = PartitionTime(("dt", "hour"), "$dt $hour:00:00", "yyyyMMdd HH:mm:ss")
        >>> time.parse({"dt": "20250131", "hour": 5})
        datetime.datetime(2025, 1, 31, 5, 0)
        """
        first = values[self.columns[0]]
        if self.pattern is None and isinstance(first, dt.date):  # it is a time already
            return dt.datetime(*first.timetuple()[:6])  # noqa: DTZ001 - has no zone
        text = "".join(
            self._value_text(piece.column, values[piece.column]) if piece.column else piece.text
            for piece in self._pieces
        )
        match = self._regex.fullmatch(text)
        if match is None:
            wanted = self.formatter or "yyyy-MM-dd or yyyy-MM-dd HH:mm:ss"
            raise DataError(f"partition {dict(values)} makes up {text!r}, which is not a time of the form {wanted}")
        try:
            return _moment(
                {name[0]: int(digits) for name, digits in match.groupdict().items() if digits}, self._is_short
            )
        except ValueError as error:
            raise DataError(f"partition {dict(values)} makes up {text!r}, which is not a time: {error}") from None

    def _value_text(self, column: str, value: object) -> str:
        if value is None:
            raise DataError(f"partition column {column!r} is null, so the partition has no time")
        if isinstance(value, int) and not isinstance(value, bool) and len(self._ways) == 1:
            width = sum(part.width or len(part.text) for part in self._ways[0].get(column, ()))
            return str(value).zfill(width)  # a number has no leading zeros
        return str(value)

    # ------------------------------------------------------------------------------------------------ formatting

    def format(self, moment: dt.datetime) -> dict[str, str]:
        """Returns the texts of the columns that the pattern names, for a time.

        >>> PartitionTime(("dt", "hour"), "$dt $hour:00:00", "yyyyMMdd HH:mm:ss").format(dt.datetime(2025, 1, 31, 5))
        {'dt': '20250131', 'hour': '05'}
        """
        if self._parts is None:
            raise OptionError(
                f"partition values cannot be computed from a time without a formatter; set option {_FORMATTER}"
            )
        return {name: "".join(_text(part, moment) for part in parts) for name, parts in self._bound.items()}

    @cached_property
    def unit(self) -> str:
        """The smallest unit of time in which partitions can differ: year, month, day, hour, minute or second."""
        if self._parts is None:
            raise OptionError(
                f"the length of time of a partition is unknown without a formatter; set option {_FORMATTER}"
            )
        units = {_UNITS[part.letter] for parts in self._bound.values() for part in parts if part.letter}
        return max(units, key=_UNIT_ORDER.index)

    # --------------------------------------------------------------------------------------------------- inside

    @cached_property
    def _parts(self) -> tuple[Part, ...] | None:
        return None if self.formatter is None else parse_formatter(self.formatter)

    @cached_property
    def _pieces(self) -> tuple[_Piece, ...]:
        if self.pattern is None:
            return (_Piece(self.columns[0], ""),)
        names = "|".join(re.escape(name) for name in sorted(self.columns, key=len, reverse=True))
        pieces = [
            _Piece(match[1] or "", match[2] or "") for match in re.finditer(rf"\$({names})|([^$]+|\$)", self.pattern)
        ]
        if any("$" in piece.text for piece in pieces) or not any(piece.column for piece in pieces):
            known = ", ".join(f"${name}" for name in self.columns)
            raise OptionError(f"option {_PATTERN} is {self.pattern!r}; it must name partition columns: {known}")
        return tuple(pieces)

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        if self._parts is None:
            return _DEFAULT
        # Group names must differ, and a letter may come twice.
        groups = (
            f"(?P<{part.letter}{number}>{part.regex})" if part.letter else part.regex
            for number, part in enumerate(self._parts)
        )
        return re.compile("".join(groups))

    @property
    def _is_short(self) -> bool:
        """Whether years have two digits; they are from 2000 on."""
        return any(part.letter in {"y", "u"} and part.width == 2 for part in self._parts or ())

    @cached_property
    def _bound(self) -> dict[str, tuple[Part, ...]]:
        """The pieces of the formatter that each column of the pattern covers."""
        if len(self._ways) != 1:
            problem = "in several ways (put a separator between the columns)" if self._ways else "in no way"
            raise OptionError(
                f"option {_PATTERN} {self.pattern!r} fits {_FORMATTER} {self.formatter!r} {problem}, so partition "
                "values cannot be computed from times"
            )
        return self._ways[0]

    @cached_property
    def _ways(self) -> list[dict[str, tuple[Part, ...]]]:
        return list(_bindings(self._pieces, self._parts or ()))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a pattern: a column, or text."""

    column: str
    text: str


def _bindings(pieces: Sequence[_Piece], parts: Sequence[Part]) -> Iterator[dict[str, tuple[Part, ...]]]:
    """Yields every assignment of the pieces of a formatter to the pieces of a pattern.

    A column begins and ends with a field.
    """
    if not pieces:
        if not parts:
            yield {}
        return
    piece, rest = pieces[0], pieces[1:]
    if piece.column:
        for end in range(1, len(parts) + 1):
            if parts[0].letter and parts[end - 1].letter:
                for more in _bindings(rest, parts[end:]):
                    if more.get(piece.column, parts[:end]) == parts[:end]:
                        yield {piece.column: tuple(parts[:end]), **more}
        return
    for left in _after_text(piece.text, parts):
        yield from _bindings(rest, left)


def _after_text(text: str, parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    """Yields the rest of a formatter after a text has matched its beginning."""
    if not text:
        yield parts
    elif parts:
        for length in range(1, min(4, len(text)) + 1):
            if re.fullmatch(parts[0].regex, text[:length]):
                yield from _after_text(text[length:], parts[1:])


def _moment(fields: Mapping[str, int], short_year: bool) -> dt.datetime:
    year = fields.get("y", fields.get("u", 0)) + (2000 if short_year else 0)
    clock = (fields.get("H", fields.get("k", 0) % 24), fields.get("m", 0), fields.get("s", 0))
    if fields.get("k", 1) not in range(1, 25):
        raise ValueError("hours of k go from 1 to 24")
    if "D" in fields:
        if not 1 <= fields["D"] <= 365 + calendar.isleap(year):
            raise ValueError(f"{year} has no day {fields['D']}")
        return dt.datetime(year, 1, 1, *clock) + dt.timedelta(days=fields["D"] - 1)  # noqa: DTZ001 - has no zone
    month, day = fields.get("M", fields.get("L", 0)), fields["d"]
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise ValueError("month or day is out of range")
    # Java reads the 31st of a shorter month as its last day.
    last = calendar.monthrange(year, month)[1]
    return dt.datetime(year, month, min(day, last), *clock)  # noqa: DTZ001 - has no zone


def _text(part: Part, moment: dt.datetime) -> str:
    if not part.letter:
        return part.text
    value = {
        "day": moment.timetuple().tm_yday if part.letter == "D" else moment.day,
        "hour": moment.hour or (24 if part.letter == "k" else 0),
        "year": moment.year % 100 if part.width == 2 else moment.year,
    }
    unit = _UNITS[part.letter]
    return str(value.get(unit, getattr(moment, unit))).zfill(part.width)
