"""What users give to write(): Arrow, pandas and Polars data, streams, and rows as Python objects."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import DataError
from lakebed.format.types.data_types import Atomic, Field, not_null
from lakebed.format.types.sql_types import parse_data_type
from lakebed.rows import open_data
from lakebed.rows.conform import conform
from lakebed.rows.open_data import open_batches

COLUMNS = [Field(0, "id", Atomic("INT")), Field(1, "name", Atomic("STRING"))]


def _rows(data: Any) -> list[dict[str, Any]]:
    opened = open_batches(data, COLUMNS, where="t")
    table = opened if isinstance(opened, pa.Table) else opened.read_all()
    rows: list[dict[str, Any]] = conform(table, COLUMNS, where="t").to_pylist()
    return rows


TWO = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
ARROW = pa.Table.from_pylist(TWO, schema=pa.schema({"id": pa.int32(), "name": pa.string()}))


@dataclasses.dataclass
class Person:
    id: int
    name: str | None = None


class Pair(NamedTuple):
    id: int
    name: str


class Stream:
    """Anything that hands over Arrow's C stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return ARROW.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "data",
    [
        ARROW,
        ARROW.to_batches()[0],
        ARROW.to_reader(),
        Stream(),
        TWO,
        tuple(TWO),
        (row for row in TWO),
        [Person(1, "a"), Person(2)],
        [Pair(1, "a"), {"id": 2}],
        [{"id": 1, "name": "a"}, {"id": 2}],
        pl.DataFrame(TWO),
        pl.DataFrame(TWO, schema_overrides={"name": pl.Categorical}),
        pl.LazyFrame(TWO),
        pd.DataFrame(TWO),
        pd.DataFrame(TWO).astype({"name": "string"}),
        pd.DataFrame(TWO).astype({"name": "category"}),
        pd.DataFrame(TWO).astype({"name": pd.ArrowDtype(pa.string())}),
        pd.DataFrame(TWO, index=[7, 8]),
    ],
    ids=lambda data: type(data).__module__.split(".")[0] + "." + type(data).__name__,
)
def test_all_that_can_be_handed_over(data: Any) -> None:
    assert _rows(data) == TWO


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot write NoneType"),
        ("rows", "cannot write str"),
        ({"id": [1], "name": ["a"]}, "cannot write dict: one row is a list of one dictionary"),
        ([1, 2], "cannot write list: row 0 is 1 (int)"),
        ([{"id": 1}, Person], "cannot write list: row 1 is <class"),
        (pd.Series([1]), "cannot write Series"),
        (pl.Series([1]), "cannot write Series"),
        ([{"id": 1}, {"id": 2, "x": 3}], "row 1 of the data: unknown column 'x' in t; known: id, name"),
        ([{"id": 1}, {"id": "b"}], "row 1 of the data: 'b' (str) does not fit column 'id' of t, which is INT"),
        ([{"id": 2**70}], "row 0 of the data: 1180591620717411303424 (int) does not fit column 'id'"),
        (pd.DataFrame({"id": [1, "a"], "name": ["a", "b"]}), "cannot take columns from a DataFrame"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "Duplicate column names"),
        (pa.chunked_array([[1]]), "cannot take columns from a ChunkedArray"),
    ],
    ids=str,
)
def test_what_cannot_be_handed_over(data: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        _rows(data)
    assert message in str(caught.value)


# --------------------------------------------------------------------------------------------- values of Python

NOON = dt.datetime(2025, 1, 31, 12)
ZONE = dt.timezone(dt.timedelta(hours=2))

CONVERTED: list[tuple[str, list[Any], list[Any]]] = [
    ("DECIMAL(10, 2)", [1, 1.5, "2.25", Decimal("3.5"), None], [Decimal(n) for n in ("1.00", "1.50", "2.25", "3.50")]),
    ("DECIMAL(10, 2)", [0.1 + 0.2, -0.125, 1e-9], [Decimal("0.30"), Decimal("-0.13"), Decimal("0.00")]),
    ("DECIMAL(38, 20)", [0.3], [Decimal("0.30000000000000000000")]),
    ("DECIMAL(20, 0)", [2**62 + 1, "9007199254740993"], [Decimal(2**62 + 1), Decimal(2**53 + 1)]),
    ("FLOAT", [0.1, 2, float("inf")], [0.10000000149011612, 2.0, float("inf")]),
    ("DOUBLE", [1, 0.5], [1.0, 0.5]),
    ("DATE", ["2025-01-31", dt.date(2025, 1, 30)], [dt.date(2025, 1, 31), dt.date(2025, 1, 30)]),
    ("TIMESTAMP", ["2025-01-31T12:00:00", "2025-01-31 12:00", NOON], [NOON] * 3),
    ("TIMESTAMP(3)", ["2025-01-31", "2025-01-31 00:00:00.001"],
     [dt.datetime(2025, 1, 31), dt.datetime(2025, 1, 31, 0, 0, 0, 1000)]),
    ("TIMESTAMP_LTZ", ["2025-01-31T14:00:00+02:00", "2025-01-31 12:00:00Z", NOON.replace(hour=14, tzinfo=ZONE)],
     [NOON.replace(tzinfo=dt.UTC)] * 3),
    ("TIME(3)", ["12:00:00.5", dt.time(1)], [dt.time(12, 0, 0, 500_000), dt.time(1)]),
    ("MAP<STRING, DECIMAL(5, 1)>", [{"a": "1.5", "b": None}, None, [("c", 2)], {}],
     [[("a", Decimal("1.5")), ("b", None)], None, [("c", Decimal("2.0"))], []]),
    ("ARRAY<DATE>", [["2025-01-31", None], None, (), [dt.date(2025, 1, 1)]],
     [[dt.date(2025, 1, 31), None], None, [], [dt.date(2025, 1, 1)]]),
    ("ROW<x DATE, y ARRAY<MAP<STRING, INT>>>", [{"x": "2025-01-31"}, None, {"y": [{"a": 1}, None]}],
     [{"x": dt.date(2025, 1, 31), "y": None}, None, {"x": None, "y": [[("a", 1)], None]}]),
    ("INT", [], []),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "expected"), CONVERTED, ids=lambda value: str(value)[:30])
def test_values_follow_the_type_of_the_column(kind: str, values: list[Any], expected: list[Any]) -> None:
    fields = [Field(0, "c", parse_data_type(kind))]
    made = conform(open_batches([{"c": value} for value in values], fields, where="t"), fields, where="t")
    made.validate(full=True)
    assert made["c"].to_pylist() == expected + [None] * (len(values) - len(expected))


REFUSED: list[tuple[str, list[Any], str]] = [
    ("INT", [1, 1.5], "row 1 of the data: 1.5 (float) does not fit column 'c' of table db.t, which is INT."),
    ("INT", [1, True], "row 1 of the data: True (bool)"),
    ("TINYINT", [1, 2, 300, 4], "row 2 of the data: 300 (int)"),
    ("STRING", ["a", b"b"], "row 1 of the data: b'b' (bytes)"),
    ("BYTES", [b"a", "b"], "row 1 of the data: 'b' (str)"),
    ("STRING", ["a", 5], "row 1 of the data: 5 (int)"),
    ("FLOAT", [0.1, 1e300], "row 1 of the data: 1e+300 (float)"),
    ("DECIMAL(4, 2)", [1, "1.234"], "row 1 of the data: '1.234' (str)"),
    ("DECIMAL(4, 2)", [1.0, 100.0], "row 1 of the data: 100.0 (float)"),
    ("DECIMAL(4, 2)", [True], "row 0 of the data: True (bool)"),
    ("DECIMAL(4, 2)", [1, "abc"], "row 1 of the data: 'abc' (str)"),
    ("DATE", ["2025-01-31", "31.1.2025"], "row 1 of the data: '31.1.2025' (str)"),
    ("DATE", ["2025-01-31", NOON], "row 1 of the data: datetime.datetime(2025, 1, 31, 12, 0) (datetime)"),
    ("TIMESTAMP", ["2025-01-31T12:00:00Z"], "a time without a zone, such as 2025-01-31T10:00:00"),
    ("TIMESTAMP", [NOON, NOON.replace(tzinfo=ZONE)], "row 1 of the data: datetime"),
    ("TIMESTAMP(3)", ["2025-01-31T12:00:00.0001"], "row 0 of the data"),
    ("TIMESTAMP_LTZ", [NOON], "an instant: give a time zone"),
    ("TIMESTAMP_LTZ", [NOON.replace(tzinfo=ZONE), NOON, "2025-01-31T12:00:00Z"], "row 1 of the data: datetime"),
    (
        "TIMESTAMP_LTZ",
        ["2025-01-31T12:00:00Z", "2025-01-31T12:00:00"],
        "row 1 of the data: '2025-01-31T12:00:00' (str)",
    ),
    ("ARRAY<INT>", [[1], "ab"], "row 1 of the data: 'ab' (str)"),
    ("ARRAY<INT>", [[1], [1, "x"]], "row 1 of the data: [1, 'x'] (list)"),
    ("MAP<STRING, INT>", [{"a": 1}, {None: 1}], "row 1 of the data: {None: 1} (dict)"),
    ("MAP<STRING, INT>", [5], "row 0 of the data: 5 (int)"),
    ("ROW<x INT>", [{"x": 1}, {"x": 1, "y": 2}], "row 1 of the data: {'x': 1, 'y': 2} (dict)"),
    ("STRING", [["a" * 200]], "... (list)"),
    ("INT NOT NULL", [1, None], "row 1 of the data has a null in column 'c' of table db.t, which is NOT NULL"),
]


@pytest.mark.parametrize(("kind", "values", "message"), REFUSED, ids=lambda value: str(value)[:30])
def test_an_error_names_the_row_and_the_column(kind: str, values: list[Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        open_batches([{"c": value} for value in values], [Field(0, "c", parse_data_type(kind))], where="table db.t")
    assert message in str(caught.value)
    assert "column 'c' of table db.t" in str(caught.value)
    assert str(caught.value).endswith("Nothing was written")


def test_keys_that_rows_lack() -> None:
    fields = [
        Field(0, "a", not_null(Atomic("INT"))),
        Field(1, "b", Atomic("STRING"), default="x"),
        Field(2, "c", Atomic("INT")),
    ]
    rows = [{"a": 1}, {"c": 2, "a": 2, "b": None}]
    made = conform(open_batches(rows, fields, where="t"), fields, where="t")
    assert made.to_pylist() == [{"a": 1, "b": "x", "c": None}, {"a": 2, "b": None, "c": 2}]
    with pytest.raises(DataError, match="row 1 of the data lacks column 'a' of t, which is NOT NULL"):
        open_batches([{"a": 1}, {"b": "y"}], fields, where="t")


def test_a_long_generator_is_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_data, "_ROWS_AT_ONCE", 3)
    opened = open_batches(({"id": n} for n in range(7)), COLUMNS, where="t")
    assert isinstance(opened, pa.RecordBatchReader)
    assert opened.read_all()["id"].to_pylist() == list(range(7))
    failing = open_batches(({"id": n if n != 5 else "x"} for n in range(7)), COLUMNS, where="t")
    with pytest.raises(DataError, match=r"row 5 of the data: 'x' \(str\) does not fit column 'id'"):
        failing.read_all()


def test_no_rows_write_nothing(lake: lakebed.Lake) -> None:
    for options in ({}, {"primary_key": ["id"]}):
        table = lake.create_table(f"db.t{len(options)}", "id INT, name STRING", **options)  # type: ignore[arg-type]
        assert table.write([]) is None
        assert table.write(iter(())) is None
        table.write([{"id": 1}])
        assert table.write([]) is None
        assert table.count() == 1


def test_row_kinds_stand_beside_the_columns(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT, name STRING", primary_key=["id"])
    table.write([{"id": 1, "op": "+I"}, {"id": 2, "op": "+I"}], row_kind="op")
    table.write(({"id": n, "op": "-D"} for n in (1,)), row_kind="op")
    assert table.to_arrow().to_pylist() == [{"id": 2, "name": None}]
    with pytest.raises(DataError, match="unknown column 'op'"):
        table.write([{"id": 1, "op": "+I"}])
    with pytest.raises(DataError, match=r"row 1 of the data lacks column 'op', which table db.t needs in every row"):
        table.write([{"id": 1, "op": "+I"}, {"id": 2}], row_kind="op")
    own = lake.create_table("db.own", "id INT, op STRING", primary_key=["id"])
    own.write([{"id": 1, "op": "+I"}, {"id": 2, "op": "-D"}], row_kind="op")
    assert own.to_arrow().to_pylist() == [{"id": 1, "op": "+I"}]


def test_a_failing_generator_leaves_nothing_behind(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT")

    def rows() -> Any:
        yield {"id": 1}
        raise KeyError("the user's own error")

    with pytest.raises(KeyError, match="the user's own error"):
        table.write(rows())
    assert table.latest_snapshot() is None
