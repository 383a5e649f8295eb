"""Rows of old files under a newer schema: nested fields by id, wider types, and text as Java prints it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.rows.random_tables import plain, tables

from lakebed.errors import CorruptError, UnsupportedError
from lakebed.format.schema.evolution import (
    AddColumn,
    After,
    Change,
    DropColumn,
    First,
    RenameColumn,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    apply_changes,
)
from lakebed.format.schema.table_schema import TableSchema, create_schema
from lakebed.format.types.column_ddl import parse_columns
from lakebed.format.types.data_types import Atomic, Field, to_arrow
from lakebed.format.types.sql_types import parse_data_type
from lakebed.rows.files.evolve import evolve, same_type


def schema_of(ddl: str) -> TableSchema:
    return create_schema(parse_columns(ddl), time_millis=0)


def evolved(ddl: str, rows: list[dict[str, Any]], changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Rows of a table after changes of its schema, read whole, in slices and in chunks."""
    old = schema_of(ddl)
    new = apply_changes(old, changes, time_millis=1)
    table = pa.Table.from_pylist(rows, schema=old.arrow_schema)
    expected = evolve(table, old.fields, new.fields, where="t")
    expected.validate(full=True)
    assert expected.schema.types == new.arrow_schema.types
    for start in range(len(rows) + 1):
        part = evolve(table.slice(start), old.fields, new.fields, where="t")
        part.validate(full=True)
        assert part.to_pylist() == expected.to_pylist()[start:]
    chunks = pa.concat_tables([table.slice(i, 1) for i in range(len(rows))] or [table])
    assert evolve(chunks, old.fields, new.fields, where="t").to_pylist() == expected.to_pylist()
    found: list[dict[str, Any]] = expected.to_pylist()
    return found


NESTED = [
    # (columns, path of the ROW that changes)
    ("id INT, s ROW<a INT, b STRING, c TINYINT NOT NULL>", ("s",)),
    ("id INT, s ARRAY<ROW<a INT, b STRING, c TINYINT NOT NULL>>", ("s", "element")),
    ("id INT, s MAP<STRING, ROW<a INT, b STRING, c TINYINT NOT NULL>>", ("s", "value")),
    ("id INT, s ROW<r ROW<a INT, b STRING, c TINYINT NOT NULL>>", ("s", "r")),
    ("id INT, s ARRAY<MAP<STRING, ROW<a INT, b STRING, c TINYINT NOT NULL>>>", ("s", "element", "value")),
]
ROWS = [{"a": 1, "b": "x", "c": 1}, None, {"a": None, "b": None, "c": 2}]


def wrapped(path: tuple[str, ...], row: Any) -> Any:
    """A row as the value of a column in which it lies at a path."""
    value = row
    for part in reversed(path[1:]):
        if part == "element":
            value = [value, None, value]
        elif part == "value":
            value = [("k", value), ("l", None)]
        else:
            value = {part: value}
    return value


CHANGES: list[tuple[str, Any, Any]] = [
    ("add", lambda p: [AddColumn((*p, "n"), Atomic("INT"))], lambda r: {**r, "n": None}),
    ("add first", lambda p: [AddColumn((*p, "n"), "ROW<y INT>", position=First())], lambda r: {"n": None, **r}),
    ("rename", lambda p: [RenameColumn((*p, "a"), "z")], lambda r: {"z": r["a"], "b": r["b"], "c": r["c"]}),
    ("drop", lambda p: [DropColumn((*p, "b"))], lambda r: {"a": r["a"], "c": r["c"]}),
    ("drop and add again", lambda p: [DropColumn((*p, "b")), AddColumn((*p, "b"), Atomic("STRING"))],
     lambda r: {"a": r["a"], "c": r["c"], "b": None}),
    ("reorder", lambda p: [UpdateColumnPosition((*p, "a"), After("c"))],
     lambda r: {"b": r["b"], "c": r["c"], "a": r["a"]}),
    ("widen", lambda p: [UpdateColumnType((*p, "a"), Atomic("BIGINT")), UpdateColumnType((*p, "c"), Atomic("INT"))],
     lambda r: r),
    ("to text", lambda p: [UpdateColumnType((*p, "a"), Atomic("STRING"))],
     lambda r: {**r, "a": None if r["a"] is None else str(r["a"])}),
    ("swap names", lambda p: [RenameColumn((*p, "a"), "x"), RenameColumn((*p, "b"), "a"), RenameColumn((*p, "x"), "b")],
     lambda r: {"b": r["a"], "a": r["b"], "c": r["c"]}),
    ("nullable", lambda p: [UpdateColumnNullability((*p, "c"), nullable=True)], lambda r: r),
]  # fmt: skip


@pytest.mark.parametrize(("ddl", "path"), NESTED, ids=[case[0] for case in NESTED])
@pytest.mark.parametrize(("changes", "expected"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_nested_changes_by_id(ddl: str, path: tuple[str, ...], changes: Any, expected: Any) -> None:
    rows = [{"id": i, "s": wrapped(path, row)} for i, row in enumerate(ROWS)] + [{"id": 9, "s": None}]
    found = evolved(ddl, rows, changes(path))
    after = [{"id": i, "s": wrapped(path, None if row is None else expected(row))} for i, row in enumerate(ROWS)]
    assert found == [*after, {"id": 9, "s": None}]
    # the order of fields counts too, and == on dictionaries leaves it open
    assert repr(found) == repr([*after, {"id": 9, "s": None}])


def test_empty_lists_and_maps_stay_empty() -> None:
    rows: list[dict[str, Any]] = [{"l": [], "m": []}, {"l": None, "m": None}]
    changes = [AddColumn(("l", "element", "n"), Atomic("INT")), AddColumn(("m", "value", "n"), Atomic("INT"))]
    assert evolved("l ARRAY<ROW<a INT>>, m MAP<INT, ROW<a INT>>", rows, changes) == rows


def test_widening_inside_arrays_and_maps() -> None:
    ddl = "l ARRAY<INT>, m MAP<INT, FLOAT>, n ARRAY<ARRAY<DECIMAL(4, 2)>>"
    rows = [{"l": [1, None], "m": [(1, 0.5), (2, None)], "n": [[Decimal("1.50")], None]}, dict.fromkeys("lmn")]
    changes = [
        UpdateColumnType(("l", "element"), Atomic("BIGINT")),
        UpdateColumnType(("m", "value"), Atomic("DOUBLE")),
        UpdateColumnType(("n", "element", "element"), Atomic("DECIMAL", (10, 4))),
    ]
    assert evolved(ddl, rows, changes) == rows


@settings(max_examples=examples(40), deadline=None)
@given(tables(depth=2), st.data())
def test_changes_around_a_column_leave_its_values(
    case: tuple[tuple[Field, ...], pa.Table], data: st.DataObject
) -> None:
    """Any columns, nested too, after others were added, dropped, renamed and moved."""
    fields, table = case
    old = TableSchema(id=0, fields=fields, highest_field_id=10_000)
    moved = list(fields)
    data.draw(st.randoms()).shuffle(moved)
    renamed = [Field(f.id, f"r_{f.name}", f.type) for f in moved]
    wanted = [*renamed, Field(20_000, "new", Atomic("INT"))]
    found = evolve(table, old.fields, wanted, where="t")
    expected = table.select([f.name for f in moved]).rename_columns([f.name for f in renamed])
    assert plain(found.select([f.name for f in renamed])) == plain(expected)
    assert found["new"].null_count == len(table)


def test_same_type_is_about_ids_names_and_types() -> None:
    (row,) = schema_of("s ROW<a INT, b ARRAY<STRING>>").fields
    cases: list[tuple[Change, bool]] = [
        (UpdateColumnNullability(("s", "a"), nullable=True), True),
        (RenameColumn(("s", "a"), "x"), False),
        (UpdateColumnType(("s", "a"), Atomic("BIGINT")), False),
        (UpdateColumnPosition(("s", "b"), First()), False),
        (AddColumn(("s", "n"), Atomic("INT")), False),
    ]
    for change, same in cases:
        new = apply_changes(schema_of("s ROW<a INT, b ARRAY<STRING>>"), [change], time_millis=1)
        assert same_type(row.type, new.fields[0].type) is same, change
    assert same_type(parse_data_type("VARCHAR(5)"), parse_data_type("STRING"))
    assert not same_type(parse_data_type("INT"), parse_data_type("ARRAY<INT>"))


# --------------------------------------------------------------------------------------------------------- wider types

WIDER: list[tuple[str, str, list[Any], list[Any]]] = [
    ("TINYINT", "INT", [1, None, -128], [1, None, -128]),
    ("INT", "DOUBLE", [2**31 - 1], [float(2**31 - 1)]),
    ("FLOAT", "DOUBLE", [0.1], [0.10000000149011612]),
    ("INT", "DECIMAL(12, 2)", [5, -7], [Decimal("5.00"), Decimal("-7.00")]),
    ("DECIMAL(4, 2)", "DECIMAL(30, 4)", [Decimal("1.25")], [Decimal("1.2500")]),
    ("DATE", "TIMESTAMP(6)", [dt.date(2024, 1, 2)], [dt.datetime(2024, 1, 2)]),
    ("TIMESTAMP(3)", "TIMESTAMP(6)", [dt.datetime(2024, 1, 2, 3)], [dt.datetime(2024, 1, 2, 3)]),
    ("CHAR(2)", "STRING", ["ab"], ["ab"]),
    ("BINARY(2)", "BYTES", [b"ab"], [b"ab"]),
]


def column(kind: str, values: list[Any], new: str, *, slice_at: int = 0) -> list[Any]:
    old = parse_data_type(kind)
    array = pa.array([*([None] * slice_at), *values], to_arrow(old)).slice(slice_at)
    found = evolve(pa.table({"a": array}), [Field(0, "a", old)], [Field(0, "b", parse_data_type(new))], where="t")["b"]
    assert found.type == to_arrow(parse_data_type(new))
    result: list[Any] = found.to_pylist()
    return result


@pytest.mark.parametrize(("kind", "new", "values", "expected"), WIDER, ids=str)
def test_wider_types_keep_values(kind: str, new: str, values: list[Any], expected: list[Any]) -> None:
    assert column(kind, values, new) == expected


# What Paimon's own cast to STRING gives (Java, release 2.0).
TEXTS: list[tuple[str, list[Any], list[str]]] = [
    ("BOOLEAN", [True, False], ["true", "false"]),
    ("TINYINT", [-5], ["-5"]),
    ("BIGINT", [-(2**63), 2**63 - 1], ["-9223372036854775808", "9223372036854775807"]),
    ("DECIMAL(10, 2)", [Decimal("1.5"), Decimal("-0.01"), Decimal(0)], ["1.50", "-0.01", "0.00"]),
    ("DECIMAL(38, 10)", [Decimal("1234567890123456789012345678.0123456789"), Decimal(0), Decimal("1e-10")],
     ["1234567890123456789012345678.0123456789", "0.0000000000", "0.0000000001"]),
    ("DECIMAL(5, 0)", [Decimal(12345), Decimal(0), Decimal(-3)], ["12345", "0", "-3"]),
    ("DECIMAL(18, 18)", [Decimal("1e-18"), Decimal("-1e-18")], ["0.000000000000000001", "-0.000000000000000001"]),
    ("DATE", [0, 19724, -719162, 2932896], ["1970-01-01", "2024-01-02", "0001-01-01", "9999-12-31"]),
    ("TIME(0)", [0, 3723004, 86399999], ["00:00:00", "01:02:03", "23:59:59"]),
    ("TIME(1)", [0, 3723004, 3723400, 86399999], ["00:00:00.0", "01:02:03.0", "01:02:03.4", "23:59:59.9"]),
    ("TIME(3)", [0, 3723004, 3723400, 3723000], ["00:00:00.0", "01:02:03.004", "01:02:03.4", "01:02:03.0"]),
    ("TIME(9)", [3723004, 3723400], ["01:02:03.004", "01:02:03.4"]),
    ("TIMESTAMP(0)", [0, 1704164645678, 1704164645600, -1],
     ["1970-01-01 00:00:00", "2024-01-02 03:04:05.678", "2024-01-02 03:04:05.6", "1969-12-31 23:59:59.999"]),
    ("TIMESTAMP(1)", [0, 1704164645678], ["1970-01-01 00:00:00.0", "2024-01-02 03:04:05.678"]),
    ("TIMESTAMP(3)", [0, 1704164645600, -62135596800000],
     ["1970-01-01 00:00:00.000", "2024-01-02 03:04:05.600", "0001-01-01 00:00:00.000"]),
    ("TIMESTAMP(4)", [0, 1704164645678000, 1704164645678901],
     ["1970-01-01 00:00:00.0000", "2024-01-02 03:04:05.6780", "2024-01-02 03:04:05.678901"]),
    ("TIMESTAMP(6)", [0, 1704164645678901, 1704164645600000],
     ["1970-01-01 00:00:00.000000", "2024-01-02 03:04:05.678901", "2024-01-02 03:04:05.600000"]),
    ("TIMESTAMP(7)", [1704164645678901000, 1704164645678123456],
     ["2024-01-02 03:04:05.6789010", "2024-01-02 03:04:05.678123456"]),
    ("TIMESTAMP(9)", [0, -1], ["1970-01-01 00:00:00.000000000", "1969-12-31 23:59:59.999999999"]),
    ("DOUBLE",
     [1.0, 1e10, 1e7, 9999999.0, 1e-3, 9.99e-4, -0.0, 0.0, np.nan, np.inf, -np.inf, 0.1, 123456789.123, 1e21, 5e-324],
     ["1.0", "1.0E10", "1.0E7", "9999999.0", "0.001", "9.99E-4", "-0.0", "0.0", "NaN", "Infinity", "-Infinity", "0.1",
      "1.23456789123E8", "1.0E21", "4.9E-324"]),
    ("FLOAT", [1.0, 1e10, 0.1, 3.4028235e38, 1.4e-45, 16777216.0, 0.001, 1e-4, np.nan],
     ["1.0", "1.0E10", "0.1", "3.4028235E38", "1.4E-45", "1.6777216E7", "0.001", "1.0E-4", "NaN"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values", "expected"), TEXTS, ids=[case[0] for case in TEXTS])
def test_text_is_what_java_prints(kind: str, values: list[Any], expected: list[str]) -> None:
    assert column(kind, values, "STRING") == expected
    assert column(kind, [None, *values, None], "STRING", slice_at=3) == [None, *expected, None]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))), st.data())
def test_decimals_are_printed_plainly(size: tuple[int, int], data: st.DataObject) -> None:
    precision, scale = size
    most = 10**precision - 1
    unscaled = data.draw(st.lists(st.integers(-most, most), max_size=5))
    values = [Decimal((int(v < 0), tuple(map(int, str(abs(v)))), -scale)) for v in unscaled]
    expected = [format(abs(value), "f") if not value else format(value, "f") for value in values]
    assert column(f"DECIMAL({precision}, {scale})", values, "STRING") == expected


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5))
def test_floats_are_printed_so_that_they_read_back(values: list[float]) -> None:
    texts = column("DOUBLE", values, "STRING")
    assert [repr(float(text)) for text in texts] == [repr(value) for value in values]
    assert all("." in text and "e" not in text and "+" not in text for text in texts)


# ------------------------------------------------------------------------------------ changes that only others make


def test_text_of_zoned_timestamps_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="depends on the reader's time zone"):
        column("TIMESTAMP_LTZ(6)", [0], "STRING")


@pytest.mark.parametrize(
    ("kind", "new", "values"),
    [
        ("BIGINT", "INT", [2**40]),
        ("STRING", "INT", ["x"]),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", [1]),
        ("DOUBLE", "INT", [1.5]),
    ],
)
def test_values_that_a_narrower_type_cannot_hold_are_an_error(kind: str, new: str, values: list[Any]) -> None:
    with pytest.raises(CorruptError, match=rf"column 'b' of t: a stored {kind.split('(', maxsplit=1)[0]}"):
        column(kind, values, new)
