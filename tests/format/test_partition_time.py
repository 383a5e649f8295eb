from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import DataError, OptionError
from lakebed.format.partition_time import PartitionTime

HOURLY = ("$dt $hour:00:00", "yyyyMMdd HH:mm:ss")


@pytest.mark.parametrize(
    ("pattern", "formatter", "values", "time"),
    [
        (None, None, {"dt": "2025-01-31"}, (2025, 1, 31)),
        (None, None, {"dt": "2025-1-3"}, (2025, 1, 3)),
        (None, None, {"dt": "2025-01-31 12:30:05"}, (2025, 1, 31, 12, 30, 5)),
        (None, None, {"dt": dt.date(2025, 1, 31)}, (2025, 1, 31)),
        (None, "yyyyMMdd", {"dt": dt.datetime(2025, 1, 31, 4)}, (2025, 1, 31, 4)),
        (None, "yyyyMMdd", {"dt": "20250131", "x": "no matter"}, (2025, 1, 31)),
        (None, "yyyyMMdd", {"dt": 20250131}, (2025, 1, 31)),
        (None, "yyMMdd", {"dt": "250131"}, (2025, 1, 31)),
        (None, "uuuu/L/d", {"dt": "2025/1/31"}, (2025, 1, 31)),
        (None, "y-DDD", {"dt": "2024-366"}, (2024, 12, 31)),
        (None, "yyyyMMdd'T'kk", {"dt": "20250131T24"}, (2025, 1, 31, 0)),
        (None, "yyyy''MM'day'dd", {"dt": "2025'01day31"}, (2025, 1, 31)),
        (None, "yyyyMMdd", {"dt": "20230231"}, (2023, 2, 28)),
        (*HOURLY, {"dt": "20250131", "hour": "05"}, (2025, 1, 31, 5)),
        (*HOURLY, {"dt": 20250131, "hour": 5}, (2025, 1, 31, 5)),
        ("$dt$hour", "yyyyMMddHH", {"dt": "20250131", "hour": "05"}, (2025, 1, 31, 5)),
        ("$y-$m-$d", "yyyy-MM-dd", {"y": 2025, "m": 1, "d": 3}, (2025, 1, 3)),
        ("$dtx$dt", "yyyy-MM-dd", {"dt": "01-31", "dtx": "2025-"}, (2025, 1, 31)),
    ],
)
def test_values_make_up_a_time(
    pattern: str | None, formatter: str | None, values: dict[str, Any], time: tuple[int, ...]
) -> None:
    assert PartitionTime(tuple(values), pattern, formatter).parse(values) == dt.datetime(*time)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("formatter", "value"),
    [
        (None, "20250131"),
        (None, "2025-01-31T00:00:00"),
        (None, None),
        (None, "2025-13-01"),
        ("yyyyMMdd", "2025-01-31"),
        ("yyyyMMdd", "20250132"),
        ("yyyyMMdd", "20250100"),
        ("yyyyMMdd", " 20250131"),
        ("yyyyMMdd HH", "20250131 24"),
        ("yyyyMMdd kk", "20250131 00"),
        ("yyyyDDD", "2025366"),
        ("yyyyMMdd", "00000101"),
    ],
)
def test_values_that_make_up_no_time_are_told(formatter: str | None, value: str | None) -> None:
    with pytest.raises(DataError, match="partition"):
        PartitionTime(("dt",), None, formatter).parse({"dt": value})


@pytest.mark.parametrize(
    ("pattern", "formatter", "problem"),
    [
        (None, "yyyyMM", "whole date"),
        (None, "HH:mm", "whole date"),
        (None, "yyyyMMdd a", "the only letters outside of quotes are y u M L"),
        (None, "yyyyMMMdd", "names of months"),
        (None, "yyyyyMMdd", "too wide"),
        (None, "yyyyMMdd[HH]", r": \[ is not supported"),
        (None, "yyyyMMdd'T", r": ' is not supported"),
        ("$day", "yyyyMMdd", r"\$dt"),
        ("2025-01-01", "yyyy-MM-dd", r"must name partition columns: \$dt"),
    ],
)
def test_patterns_that_cannot_work_are_refused(pattern: str | None, formatter: str, problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        PartitionTime(("dt",), pattern, formatter)


def test_a_table_without_partitions_has_no_times() -> None:
    with pytest.raises(OptionError):
        PartitionTime(())


CASES = [
    (("dt",), None, "yyyyMMdd", "day"),
    (("dt",), None, "yyyy-DDD", "day"),
    (("dt",), None, "yyyyMMdd'T'kk", "hour"),
    (("dt", "hour"), *HOURLY, "hour"),
    (("dt", "hour"), "$dt $hour:00:00", "yyyy-MM-dd HH:mm:ss", "hour"),
    (("y", "m"), "$y-$m-01", "yyyy-MM-dd", "month"),
    (("y",), "$y-01-01", "yyyy-MM-dd", "year"),
    (("h", "dt", "m"), "$dt at $h:$m", "yyMMdd 'at' H:m", "minute"),
    (("ts",), "$ts", "yyyy-MM-dd HH:mm:ss", "second"),
]


@pytest.mark.parametrize(("columns", "pattern", "formatter", "unit"), CASES)
@given(moment=st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2099, 12, 31)))
def test_what_is_made_of_a_time_is_read_as_that_time(
    columns: tuple[str, ...], pattern: str | None, formatter: str, unit: str, moment: dt.datetime
) -> None:
    times = PartitionTime(columns, pattern, formatter)
    parts = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    finer = list(parts)[["year", "month", "day", "hour", "minute", "second"].index(unit) :]
    start = moment.replace(**{name: parts[name] for name in finer})  # type: ignore[arg-type]
    made = times.format(start)
    assert set(made) == set(columns)
    assert times.parse(made) == start
    assert times.parse({name: int(text) if text.isdigit() else text for name, text in made.items()}) == start
    assert times.unit == unit


def test_columns_that_cannot_be_told_apart_make_no_values() -> None:
    times = PartitionTime(("a", "b"), "$a$b", "yyyyMMdd")
    assert times.parse({"a": "2025", "b": "0131"}) == dt.datetime(2025, 1, 31)
    for use in (lambda: times.format(dt.datetime(2025, 1, 31)), lambda: times.unit):
        with pytest.raises(OptionError, match="several ways"):
            use()
    with pytest.raises(OptionError, match="no way"):
        PartitionTime(("a",), "$a/01", "yyyy-MM-dd").format(dt.datetime(2025, 1, 31))
    with pytest.raises(OptionError, match="timestamp-formatter"):
        PartitionTime(("a",)).format(dt.datetime(2025, 1, 31))
