from __future__ import annotations

import datetime as dt

import pytest

from lakebed.errors import OptionError
from lakebed.format.times import moment_millis


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        (1234, 1234),
        (dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), 1000),
        ("1970-01-01T00:00:02+00:00", 2000),
        ("10 s", 90_000),
        (dt.timedelta(seconds=1), 99_000),
    ],
)
def test_moments(value: object, millis: int) -> None:
    assert moment_millis(value, now_millis=100_000, what="older_than") == millis


def test_times_without_a_zone_are_local() -> None:
    local = dt.datetime(2025, 1, 31, 12)
    assert moment_millis(local, now_millis=0, what="x") == round(local.timestamp() * 1000)
    assert moment_millis("2025-01-31 12:00:00", now_millis=0, what="x") == round(local.timestamp() * 1000)


@pytest.mark.parametrize("value", [None, True, 1.5, "yesterday", "", "5 weeks", b"1"])
def test_what_is_no_moment_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match="older_than"):
        moment_millis(value, now_millis=0, what="older_than")
