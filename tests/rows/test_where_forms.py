"""Conditions that are no SQL text: filter tuples and pyarrow expressions give the rows of the same text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lakebed
from lakebed.errors import ExpressionError
from lakebed.format.predicate import to_text
from lakebed.format.types.data_types import Atomic, Field
from lakebed.rows.where import condition_of, parse_where

FIELDS = [
    Field(0, "id", Atomic("INT")),
    Field(1, "v", Atomic("STRING")),
    Field(2, "a b", Atomic("DECIMAL", (10, 2))),
    Field(3, "d", Atomic("DATE")),
    Field(4, "t", Atomic("TIMESTAMP", (6,))),
    Field(5, "ok", Atomic("BOOLEAN")),
    Field(6, "x", Atomic("DOUBLE")),
    Field(7, "y", Atomic("BYTES")),
]
F = pc.field

SAME: list[tuple[Any, str]] = [
    ([("id", ">", 3)], "id > 3"),
    ([("id", "==", 3), ("v", "!=", "it's")], "id = 3 AND v != 'it\\'s'"),
    ([[("id", "=", 3)], [("v", "<>", "x"), ("id", "<=", 5)]], "id = 3 OR (v != 'x' AND id <= 5)"),
    ([("id", "in", {3}), ("v", "not in", ("x", "y"))], "id IN (3) AND v NOT IN ('x', 'y')"),
    ([("id", "in", [])], "FALSE"),
    ([("id", "not in", [])], "TRUE"),
    ([("v", "=", None), ("id", "!=", None)], "v IS NULL AND id IS NOT NULL"),
    ([("a b", ">=", Decimal("1.50"))], "`a b` >= 1.50"),
    ([("d", "<", dt.date(2025, 1, 31))], "d < DATE '2025-01-31'"),
    ([("d", "=", "2025-01-31")], "d = DATE '2025-01-31'"),
    ([("t", ">", dt.datetime(2025, 1, 31, 12))], "t > TIMESTAMP_NTZ '2025-01-31 12:00:00'"),
    ([("ok", "=", True), ("x", ">", 1.5), ("y", "=", b"ab")], "ok = TRUE AND x > 1.5D AND y = X'6162'"),
    ([("id", ">", 1.5)], "id > 1.5D"),
    ((("id", ">", 3), ("v", "=", "x")), "id > 3 AND v = 'x'"),
    (F("id") > 3, "id > 3"),
    ((F("id") > -3) & (F("v") == "a  b"), "id > -3 AND v = 'a  b'"),
    ((F("id") < 3) | ~(F("v") != "true"), "id < 3 OR NOT v != 'true'"),
    (F("v").is_null() | F("id").is_valid(), "v IS NULL OR id IS NOT NULL"),
    (F("id").isin([1, 2]), "id IN (1, 2) AND id IS NOT NULL"),
    (~F("v").isin(["x", "y"]), "NOT (v IN ('x', 'y') AND v IS NOT NULL)"),
    ((F("ok") == True) & (F("x") >= 1.5), "ok = TRUE AND x >= 1.5D"),  # noqa: E712 - builds an expression
]


@pytest.mark.parametrize(("given", "text"), SAME, ids=lambda value: str(value)[:40])
def test_a_condition_in_another_form(given: Any, text: str) -> None:
    found, expected = condition_of(given, FIELDS), parse_where(text, FIELDS)
    assert found is not None
    assert to_text(found) == to_text(expected)


REFUSED: list[tuple[Any, str]] = [
    (5, "a condition is a SQL text"),
    ([], "a filter is a list of tuples"),
    (("id", ">", 3), "a filter is a list of tuples"),
    ([["id", ">", 3]], "a filter is a list of tuples"),
    ([("id", ">")], "it has ('id', '>')"),
    ([("id", "~", 3)], "unknown operator '~'"),
    ([("id", "in", "abc")], "the value of 'in' is a list"),
    ([("id", "in", [1, None])], "a list may not hold None"),
    ([("id", "<", None)], "None can only be compared with = and !="),
    ([("id", "=", 1j)], "cannot compare with a complex"),
    ([("id", "=", [1])], "cannot compare with a list"),
    ([("nope", "=", 1)], "unknown column 'nope'"),
    ([[("id", "=", 1)], []], "it has an empty list"),
    (F("id") + 1 > 3, "cannot translate the pyarrow expression"),
    (F("a b") > 3, "cannot translate the pyarrow expression"),
    (F("d") > dt.date(2025, 1, 31), "write the condition as SQL text or as a list of tuples"),
    (F("id").isin(list(range(100))), "cannot translate the pyarrow expression"),
    (F("id") > pa.scalar(3, pa.int8()), "cannot translate the pyarrow expression"),
    (F("id").isin([]), "cannot translate the pyarrow expression"),
    (F("nope") > 3, "unknown column 'nope'"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_no_condition(given: Any, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        condition_of(given, FIELDS)
    assert message in str(caught.value)


def test_scans_deletes_and_system_tables_take_all_forms(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT, v STRING")
    table.write([{"id": n, "v": "x" if n % 2 else None} for n in range(6)])
    rows = table.to_arrow()
    for expression in ((F("id") > 3) & (F("v") == "x"), ~F("v").isin(["x"]), ~(F("v") == "x"), F("v").is_null()):
        assert table.scan(where=expression).to_arrow().sort_by("id") == rows.filter(expression).sort_by("id")
    assert table.scan(where=[("id", ">", 3)]).count() == 2
    assert lake.system_table("db.t$snapshots").scan(where=[("snapshot_id", "=", 1)]).to_arrow().num_rows == 1
    table.delete([("id", "in", [0, 1])])
    table.delete(F("id") == 2)
    assert table.count() == 3
    with pytest.raises(lakebed.OptionError, match=r"delete\(\) needs a condition; truncate\(\) deletes all rows"):
        table.delete(None)
    assert table.count() == 3
