"""How much the autopilot may do: bytes in an hour, jobs at a time, hours of the day."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from lakebed.errors import OptionError

_HOURS = re.compile(r"(\d{1,2})-(\d{1,2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of an autopilot.

    Attributes:
        bytes_per_hour: How many bytes its jobs may read and write in an hour. A job that is larger than this runs alone
            in its hour, so that it is not put off for ever.
        parallel: How many jobs run at a time.
        hours: The hours of the day, in local time, in which jobs begin: ``"22-6"``.
    """

    bytes_per_hour: int | None = None
    parallel: int = 1
    hours: str | None = None

    def __post_init__(self) -> None:
        if self.parallel < 1:
            raise OptionError(f"the number of parallel jobs is {self.parallel}; it must be at least 1")
        if self.bytes_per_hour is not None and self.bytes_per_hour < 1:
            raise OptionError(f"the bytes per hour are {self.bytes_per_hour}; they must be at least 1")
        if self.hours is not None:
            _range(self.hours)

    def allows(self, cost: int, *, used: int, now: dt.datetime | None = None) -> bool:
        """Returns whether a job of this cost may begin, if so many bytes were used in the last hour.

        >>> Budget(bytes_per_hour=100).allows(60, used=30), Budget(bytes_per_hour=100).allows(60, used=50)
        (True, False)
        >>> Budget(hours="22-6").allows(1, used=0, now=dt.datetime(2025, 1, 1, 23))
        True
        """
        if self.hours is not None:
            begin, end = _range(self.hours)
            hour = (now or dt.datetime.now()).hour  # noqa: DTZ005 - the hours of the day are local
            if not (begin <= hour < end if begin < end else hour >= begin or hour < end):
                return False
        return self.bytes_per_hour is None or used == 0 or used + cost <= self.bytes_per_hour


def _range(text: str) -> tuple[int, int]:
    found = _HOURS.fullmatch(text.strip())
    hours = (int(found[1]), int(found[2])) if found else (0, 0)
    if hours[0] == hours[1] or max(hours) > 24:
        raise OptionError(f"the hours are {text!r}; they must be two different hours from 0 to 24, such as '22-6'")
    return hours
