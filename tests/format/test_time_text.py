"""Points in time: the forms that users give and the texts that they read."""

from __future__ import annotations

import ast
import datetime as dt
import time
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import OptionError
from lakebed.format.time_text import (
    exact_time_text,
    local_datetime,
    local_millis,
    now_millis,
    parse_length,
    parse_time,
    time_text,
)


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        (1234, 1234),
        (-1, -1),
        ("1234", 1234),
        ("0", 0),
        ("1735689600000", 1_735_689_600_000),
        (dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), 1000),
        ("1970-01-01T00:00:02+00:00", 2000),
        ("1970-01-01T00:00:02Z", 2000),
        ("10 s", 90_000),
        ("10s", 90_000),
        ("1 min", 40_000),
        ("0 s", 100_000),
        (dt.timedelta(seconds=1), 99_000),
    ],
)
def test_forms_of_a_time(value: object, millis: int) -> None:
    assert parse_time(value, "older_than", now=100_000) == millis


def test_times_without_a_zone_are_local() -> None:
    local = dt.datetime(2025, 1, 31, 12)
    for given in (local, "2025-01-31 12:00:00", "2025-01-31T12:00", "20250131T12"):
        assert parse_time(given, "x") == round(local.timestamp() * 1000)
    assert parse_time("2025-01-31", "x") == round(dt.datetime(2025, 1, 31).timestamp() * 1000)


def test_lengths_of_time_count_back_from_now() -> None:
    day = 24 * 3600 * 1000
    before = time.time_ns() // 1_000_000
    assert before - 3 * day <= parse_time("3 d", "x") <= now_millis() - 3 * day
    assert before + day <= parse_time(dt.timedelta(days=-1), "x") <= now_millis() + day


@pytest.mark.parametrize(
    "value", [None, True, 1.5, "yesterday", "", " ", "5 weeks", b"1", "-5", "1e3", "²", "9" * 19, "3 d ago", "d"]
)
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(OptionError, match=r"older_than (is|must be) .*epoch milliseconds"):
        parse_time(value, "older_than", now=0)


@pytest.mark.parametrize("value", ["9999999999 d", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_times_out_of_range_are_refused_or_exact(value: str) -> None:
    if value.endswith(" d"):
        with pytest.raises(OptionError, match="older_than is"):
            parse_time(value, "older_than", now=0)
    else:
        assert abs(parse_time(value, "older_than", now=0)) > 62_000_000_000_000


def test_a_date_without_dashes_is_not_guessed() -> None:
    """Digits are milliseconds; eight of them may as well be a date."""
    with pytest.raises(
        OptionError, match="timestamp is '20250131', which is a date or milliseconds; write '2025-01-31'"
    ):
        parse_time("20250131", "timestamp")
    assert parse_time("20251399", "timestamp") == 20_251_399  # no such date
    assert parse_time(20_250_131, "timestamp") == 20_250_131


@pytest.mark.parametrize(
    ("given", "length"),
    [
        ("7 d", dt.timedelta(days=7)),
        ("10 ms", dt.timedelta(milliseconds=10)),
        (dt.timedelta(hours=1), dt.timedelta(hours=1)),
        (dt.timedelta(-1), dt.timedelta(-1)),
    ],
)
def test_lengths(given: object, length: dt.timedelta) -> None:
    assert parse_length(given, "time_retained") == length


@pytest.mark.parametrize("given", [None, 5, "soon", "", "2025-01-31", "99999999999999 d"])
def test_what_is_no_length_is_refused(given: object) -> None:
    with pytest.raises(OptionError, match=r"time_retained is .*; give a length of time such as '7 d', or a timedelta"):
        parse_length(given, "time_retained")


def test_local_times() -> None:
    moment = dt.datetime(2025, 1, 31, 12, 30, 1, 250_000)
    millis = round(moment.timestamp() * 1000)
    assert local_datetime(millis) == moment
    assert local_millis(moment) == millis
    assert local_millis(None) is None
    assert time_text(millis) == "2025-01-31 12:30:01"
    assert exact_time_text(millis) == "2025-01-31 12:30:01.250"


@pytest.mark.parametrize("millis", [-(10**18), 10**18])
def test_times_that_no_calendar_has(millis: int) -> None:
    with pytest.raises(OverflowError, match="out of the range of dates"):
        local_datetime(millis)
    assert time_text(millis) == exact_time_text(millis) == f"{millis} ms"


def test_no_other_module_reads_times() -> None:
    """Texts of times become times in one module; ``TIME`` literals, names of tags and expiries of keys are others."""
    source = Path(lakebed.__file__).parent
    readers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"fromisoformat", "fromtimestamp", "strptime"}
    }
    literals = {"format/schema/table_schema.py", "format/partition_names.py", "storage/aws_credentials.py"}
    literals.add("rows/python_rows.py")  # the values of TIME columns
    assert readers - literals == {"format/time_text.py", "metadata/plan/interval.py"}
