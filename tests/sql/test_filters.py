"""Conditions of Spark as conditions of ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakebed.format import predicate as pred
from lakebed.format.types.column_ddl import parse_columns
from lakebed.sql.pushed_filters import nodes

FIELDS = parse_columns(
    "i INT, s STRING, d DATE, t TIMESTAMP(3), n TIMESTAMP(9), m DECIMAL(10, 2), c CHAR(3), b BOOLEAN, f DOUBLE, x BYTES"
)


def column(name: str) -> dict[str, Any]:
    return {"column": [name]}


def value(text: str | None, kind: str) -> dict[str, Any]:
    return {"value": text, "type": kind}


def node(tree: Any) -> pred.Node | None:
    (found,) = nodes(json.dumps([tree]), FIELDS)
    return found


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (["=", [column("i"), value("5", "int")]], "i = 5"),
        (["<", [value("5", "int"), column("i")]], "i > 5"),
        (["<=>", [column("i"), value(None, "int")]], "i IS NULL"),
        (["NOT", [["=", [column("i"), value("5", "int")]]]], "i != 5"),
        (["IN", [column("s"), value("a", "string"), value("b", "string")]], "s IN ('a', 'b')"),
        (["=", [column("d"), value("19000", "date")]], "d = DATE '2022-01-08'"),
        (["IS_NOT_NULL", [column("x")]], "x IS NOT NULL"),
        (["OR", [["IS_NULL", [column("i")]], ["=", [column("b"), value("true", "boolean")]]]], "i IS NULL OR b = TRUE"),
    ],
)
def test_a_condition(tree: Any, text: str) -> None:
    found = node(tree)
    assert found is not None
    assert pred.to_text(found).upper() == text.upper()


@pytest.mark.parametrize(
    "tree",
    [
        ["=", [column("i"), value("5", "bigint")]],  # another type than the column's
        ["=", [column("i"), value(None, "int")]],
        ["=", [{"column": ["s", "a"]}, value("5", "int")]],  # inside of a column
        ["=", [column("c"), value("a", "string")]],  # padded in Spark
        ["=", [column("n"), value("1000000", "timestamp_ntz")]],  # finer than Spark's
        ["=", [column("t"), value("1000001", "timestamp_ntz")]],  # has no such value
        ["=", [column("i"), column("i")]],
        ["=", [None, value("5", "int")]],
        ["RLIKE", [column("s"), value("a", "string")]],
        ["AND", [["IS_NULL", [column("i")]], None]],
        ["=", [column("gone"), value("5", "int")]],
    ],
)
def test_what_stays_with_spark(tree: Any) -> None:
    assert node(tree) is None


def test_texts_are_texts_not_patterns() -> None:
    assert node(["STARTS_WITH", [column("s"), value("5%_\\", "string")]]) == pred.Like("s", r"5\%\_\\%")
    assert node(["ENDS_WITH", [column("s"), value("a", "string")]]) == pred.Like("s", "%a")
    assert node(["CONTAINS", [column("s"), value("a", "string")]]) == pred.Like("s", "%a%")


def test_values_have_the_type_of_their_column() -> None:
    found = node([">=", [column("t"), value("1704067200000000", "timestamp_ntz")]])
    assert isinstance(found, pred.Compare)
    assert str(found.value.type) == "timestamp[ms]"
    decimal = node(["=", [column("m"), value("2.50", "decimal(10,2)")]])
    assert isinstance(decimal, pred.Compare)
    assert str(decimal.value) == "2.50"
