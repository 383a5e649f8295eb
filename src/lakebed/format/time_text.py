"""Points in time: every form in which users give one, and the text in which they read one.

All entry points (Python, SQL options, the data source, the command line and the service) take the same forms:

| form | meaning |
|---|---|
| ``1735689600000``, a number or a text of digits only | milliseconds since 1970-01-01 UTC |
| a ``datetime``, or ISO text such as ``2025-01-31 12:00:00`` | that time; local time if it has no zone |
| a ``timedelta``, or a text such as ``3 d`` or ``12 h`` | that long ago |

Inside Lakebed a point in time is a number of epoch milliseconds. The texts in which Paimon itself writes timestamps
(names of partitions, values cast to STRING) are in ``java_text``.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import Final, TypeAlias

from lakebed.errors import OptionError
from lakebed.options.parsing import parse_duration

Time: TypeAlias = int | str | dt.datetime | dt.timedelta
"""A point in time as users give it."""

Length: TypeAlias = str | dt.timedelta
"""A length of time as users give it."""

_MOST_DIGITS: Final = 18


def now_millis() -> int:
    """Returns the current time as epoch milliseconds."""
    return time.time_ns() // 1_000_000


def parse_time(given: object, what: str, *, now: int | None = None) -> int:
    """Returns a point in time as epoch milliseconds.

    Args:
        given: A point in time in any form that the module lists.
        what: The name of the argument or option, for error messages.
        now: The time, in epoch milliseconds, from which lengths of time count back; the current time by default.

    Raises:
        OptionError: ``given`` is not a point in time.

    Example:
        >>> parse_time("1 d", "older_than", now=86_400_000)
        0
        >>> parse_time("1970-01-02T00:00:00+00:00", "older_than"), parse_time("86400000", "older_than")
        (86400000, 86400000)
    """
    if isinstance(given, bool) or not isinstance(given, int | str | dt.datetime | dt.timedelta):
        raise OptionError(
            f"{what} must be epoch milliseconds, a datetime, ISO text or a length of time such as '1 d', not {given!r}"
        )
    if isinstance(given, int):
        return given
    try:
        read = _read(given, what) if isinstance(given, str) else given
        if isinstance(read, int):
            return read
        if isinstance(read, dt.timedelta):
            return (now_millis() if now is None else now) - round(read.total_seconds() * 1000)
        return round(read.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise OptionError(
            f"{what} is {given!r}, which is not a time; give one such as '2025-01-31 12:00:00', a time ago such as "
            "'3 d' or '12 h', or epoch milliseconds"
        ) from None


def _read(text: str, what: str) -> int | dt.datetime | dt.timedelta:
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        _refuse_date_without_dashes(text, what)
        return int(text)
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return dt.timedelta(seconds=parse_duration(text))


def _refuse_date_without_dashes(digits: str, what: str) -> None:
    """Raises for digits such as ``20250131``, which could also mean milliseconds."""
    try:
        day = dt.date.fromisoformat(digits)
    except ValueError:
        return
    raise OptionError(f"{what} is {digits!r}, which is a date or milliseconds; write {str(day)!r}, or give a number")


def parse_length(given: object, what: str) -> dt.timedelta:
    """Returns a length of time, given as a timedelta or as text with a unit.

    Raises:
        OptionError: ``given`` is neither.

    Example:
        >>> parse_length("36 h", "time_retained")
        datetime.timedelta(days=1, seconds=43200)
    """
    if isinstance(given, dt.timedelta):
        return given
    try:
        if isinstance(given, str):
            return dt.timedelta(seconds=parse_duration(given))
    except (ValueError, OverflowError):
        pass
    raise OptionError(f"{what} is {given!r}; give a length of time such as '7 d', or a timedelta")


# ----------------------------------------------------------------------------------------------------- local time


def local_datetime(millis: int) -> dt.datetime:
    """Returns epoch milliseconds as local time without a zone, as Paimon stores the times of tags and files.

    Raises:
        OverflowError: The year is before 1 or after 9999.
    """
    try:
        return dt.datetime.fromtimestamp(millis / 1000)  # noqa: DTZ006 - local by definition
    except (ValueError, OSError):
        raise OverflowError(f"{millis} milliseconds are out of the range of dates") from None


def local_millis(moment: dt.datetime | None) -> int | None:
    """Returns a local time without a zone as epoch milliseconds, or ``None`` where it has none."""
    if moment is None:
        return None
    try:
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def time_text(millis: int) -> str:
    """Returns epoch milliseconds as the local time that people read, to the second."""
    return _text(millis, "seconds")


def exact_time_text(millis: int) -> str:
    """Returns epoch milliseconds as the local time that people read, to the millisecond."""
    return _text(millis, "milliseconds")


def _text(millis: int, timespec: str) -> str:
    try:
        return local_datetime(millis).isoformat(sep=" ", timespec=timespec)
    except OverflowError:
        return f"{millis} ms"
