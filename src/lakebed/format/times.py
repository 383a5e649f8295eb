"""Moments as users give them, as epoch milliseconds."""

from __future__ import annotations

import datetime as dt

from lakebed.errors import OptionError
from lakebed.options.parsing import parse_duration


def moment_millis(value: object, *, now_millis: int, what: str) -> int:
    """Epoch milliseconds of a number, a datetime, ISO text, or a length of time before now.

    Times without a zone are local. ``what`` names the argument in errors.

    >>> moment_millis("1 d", now_millis=86_400_000, what="older_than")
    0
    >>> moment_millis("1970-01-02T00:00:00+00:00", now_millis=0, what="older_than")
    86400000
    """
    if isinstance(value, bool) or not isinstance(value, int | str | dt.datetime | dt.timedelta):
        raise OptionError(
            f"{what} must be epoch milliseconds, a datetime, ISO text or a length of time such as '1 d', not {value!r}"
        )
    if isinstance(value, int):
        return value
    try:
        if isinstance(value, dt.timedelta):
            return now_millis - round(value.total_seconds() * 1000)
        moment = _read(value) if isinstance(value, str) else value
        if isinstance(moment, float):
            return now_millis - round(moment * 1000)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise OptionError(
            f"{what} is {value!r}; give a time such as 2025-01-31 12:00:00 or a length such as 1 d"
        ) from None


def _read(text: str) -> dt.datetime | float:
    """A point in time, or a number of seconds."""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return parse_duration(text)
