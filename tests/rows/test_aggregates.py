"""Counts and bounds from metadata are those of a read, and where metadata is exact nothing is read."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed import Scan, Table
from lakebed.changes import AddColumn, UpdateColumnType
from lakebed.errors import UnsupportedError
from lakebed.rows.aggregates import count, known_count, known_min_max, min_max
from lakebed.rows.files.file_reader import FileReader
from lakebed.rows.keyed.keyed_read import KeyedReader

NAN = float("nan")


def parts(scan: Scan) -> tuple[FileReader | KeyedReader, pa.Table]:
    (part,) = scan._parts
    return part.reader, part.result.entries


def check(made: Table, where: str | None = None, **more: Any) -> int:
    """The count of a scan, found to be right; gives the number of files that had to be read for it."""
    scan = made.scan(where=where, **more)
    reader, entries = parts(scan)
    assert count(reader, entries) == len(scan.to_arrow())
    return len(known_count(reader, entries).rest)


def bounds(made: Table, column: str, where: str | None = None) -> tuple[Any, Any, int]:
    """The bounds of a column in a scan, and the number of files that had to be read for them."""
    reader, entries = parts(made.scan(where=where))
    field = made.schema.field(column)
    least, greatest = min_max([(reader, entries)], column)
    return least.as_py(), greatest.as_py(), len(known_min_max(reader, entries, field).rest)


def test_counts_of_append_tables(table: Callable[..., Table]) -> None:
    made = table("id BIGINT, v STRING, dt STRING", partition_by=["dt"])
    assert check(made) == 0
    made.write([{"id": number, "v": "v", "dt": "ab"[number % 2]} for number in range(10)])
    made.write([{"id": number, "v": None, "dt": "b"} for number in range(100, 103)])
    assert check(made) == 0
    assert check(made, "dt = 'b'") == 0, "whole partitions are known"
    assert check(made, "dt = 'b' OR dt LIKE 'a%'") == 0
    assert check(made, "id >= 100") == 0, "statistics vouch for every row of the file"
    assert check(made, "id > 100") == 1
    assert check(made, "v IS NULL") == 0
    assert check(made, "dt = 'a' AND id < 4") == 1
    assert check(made, "id + 1 > 5") == 3
    assert check(made, version=1) == 0


def test_counts_of_keyed_tables(table: Callable[..., Table]) -> None:
    options = {"bucket": "1", "write-only": "true"}
    made = table("p INT, k INT, v INT", partition_by=["p"], primary_key=["p", "k"], options=options)
    made.write([{"p": part, "k": key, "v": 0} for part in range(3) for key in range(5)])
    assert check(made) == 0
    made.write([{"p": 1, "k": key, "v": 1} for key in range(3, 9)])
    made.delete("p = 2 AND k = 0")
    assert check(made) == 4, "two partitions have to be merged"
    assert check(made, "p = 0") == 0
    assert check(made, "v = 1") == 4
    made.compact(full=True)
    assert check(made) == 0


def test_counts_with_deletion_vectors(table: Callable[..., Table]) -> None:
    made = table("k INT, v INT", primary_key=["k"], options={"bucket": "1", "deletion-vectors.enabled": "true"})
    made.write([{"k": key, "v": 0} for key in range(100)])
    made.compact(full=True)
    made.write([{"k": 5, "v": 1}, {"k": 1000, "v": 1}])
    (part,) = made.scan()._parts
    assert part.deleted.by_file
    assert check(made) == 0, "the vectors say how many rows they mark"
    assert bounds(made, "k") == (0, 1000, 1), "which rows they mark is not known"


def test_bounds_of_append_tables(table: Callable[..., Table]) -> None:
    made = table("id BIGINT, d DATE, s STRING, x DOUBLE, t TIMESTAMP(3), n INT")
    assert bounds(made, "id") == (None, None, 0)
    day = dt.date(2024, 1, 1)
    moment = dt.datetime(2024, 1, 1, 5)
    for number in range(3):
        made.write(
            pa.table(
                {
                    "id": [number, None],
                    "d": [day + dt.timedelta(number), day],
                    "s": ["a" * 40, "b"],
                    "x": [float(number), NAN if number == 1 else -0.5],
                    "t": pa.array([moment, moment + dt.timedelta(number)], pa.timestamp("ms")),
                    "n": pa.array([None, None], pa.int32()),
                }
            )
        )
    assert bounds(made, "id") == (0, 2, 0)
    assert bounds(made, "d") == (day, day + dt.timedelta(2), 0)
    assert bounds(made, "t") == (moment, moment + dt.timedelta(2), 0)
    assert bounds(made, "n") == (None, None, 0)
    assert bounds(made, "s") == ("a" * 40, "b", 3), "texts may be cut in statistics"
    least, greatest, _ = bounds(made, "x")
    assert least == -0.5
    assert math.isnan(greatest)
    assert bounds(made, "id", "id >= 1") == (1, 2, 2)
    assert bounds(made, "id", "d IS NOT NULL") == (0, 2, 0)


def test_bounds_follow_changes_of_columns(table: Callable[..., Table]) -> None:
    made = table("id INT, v STRING")
    made.write([{"id": 7, "v": "a"}])
    made.alter(UpdateColumnType("id", "BIGINT"), AddColumn("n", "INT"))
    made.write([{"id": 2**40, "v": "b", "n": 3}])
    assert bounds(made, "id") == (7, 2**40, 0)
    assert bounds(made, "n") == (3, 3, 0)
    assert check(made, "n IS NULL") == 0


def test_nested_columns_have_no_bounds(table: Callable[..., Table]) -> None:
    made = table("id INT, a ARRAY<INT>")
    with pytest.raises(UnsupportedError, match="column 'a' is ARRAY<INT>, which has no minimum and maximum"):
        bounds(made, "a")


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    writes=st.lists(
        st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(-5, 5)), min_size=1, max_size=6),
        min_size=1,
        max_size=5,
    ),
    keyed=st.booleans(),
    where=st.sampled_from([None, "k > 5", "v > 0", "v IS NULL", "k BETWEEN 3 AND 9 AND v < 3", "k IN (1, 2, 3)"]),
)
def test_metadata_and_files_agree(
    table: Callable[..., Table], writes: list[list[tuple[int, int | None]]], keyed: bool, where: str | None
) -> None:
    more: dict[str, Any] = {"primary_key": ["k"], "options": {"bucket": "1"}} if keyed else {}
    made = table("k INT, v INT", **more)
    for rows in writes:
        made.write([{"k": key, "v": value} for key, value in rows])
    check(made, where)
    rows = made.scan(where=where).to_arrow().to_pylist()
    for column in ("k", "v"):
        values = [row[column] for row in rows if row[column] is not None]
        assert bounds(made, column, where)[:2] == (min(values, default=None), max(values, default=None))
