from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.format.type_strategies import columns, data_types

from lakebed.errors import LakebedError, SchemaError, UnsupportedError
from lakebed.format.types.column_ddl import parse_columns, to_columns
from lakebed.format.types.data_types import Atomic, DataType, Field, quoted_name, type_text
from lakebed.format.types.sql_types import parse_data_type, parse_literal


def types_of(text: str) -> dict[str, str]:
    return {column.name: str(column.type) for column in parse_columns(text)}


def test_everything_at_once() -> None:
    parsed = parse_columns(
        "id BIGINT NOT NULL COMMENT 'x', v STRING, s STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING,INT>, "
        "d DECIMAL(10,2) DEFAULT 0, ts TIMESTAMP(3), l TIMESTAMP_LTZ(6)"
    )
    assert [(c.name, str(c.type), c.description, c.default) for c in parsed] == [
        ("id", "BIGINT NOT NULL", "x", None),
        ("v", "STRING", None, None),
        ("s", "ROW<a INT, b ARRAY<STRING>>", None, None),
        ("m", "MAP<STRING NOT NULL, INT>", None, None),
        ("d", "DECIMAL(10, 2)", None, "0"),
        ("ts", "TIMESTAMP(3)", None, None),
        ("l", "TIMESTAMP(6) WITH LOCAL TIME ZONE", None, None),
    ]
    assert {c.id for c in parsed} == {0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("long", "BIGINT"),
        ("Integer", "INT"),
        ("short", "SMALLINT"),
        ("byte", "TINYINT"),
        ("real", "FLOAT"),
        ("double precision", "DOUBLE"),
        ("dec(5)", "DECIMAL(5, 0)"),
        ("numeric", "DECIMAL(10, 0)"),
        ("bytes", "BYTES"),
        ("char(3)", "CHAR(3)"),
        ("time", "TIME(0)"),
        ("time(3) without time zone", "TIME(3)"),
        ("timestamp", "TIMESTAMP(6)"),
        ("timestamp_ntz", "TIMESTAMP(6)"),
        ("timestamp_ntz(3)", "TIMESTAMP(3)"),
        ("timestamp_ltz", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("timestamp(3) with local time zone", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("timestamp without time zone", "TIMESTAMP(6)"),
        ("row<a int not null, b string>", "ROW<a INT NOT NULL, b STRING>"),
        ("ROW(a INT, b STRING)", "ROW<a INT, b STRING>"),
        ("struct<`a:b`: int, c: struct<d: int>>", "ROW<`a:b` INT, c ROW<d INT>>"),
        ("array<array<int not null> not null>", "ARRAY<ARRAY<INT NOT NULL> NOT NULL>"),
        ("map<int, map<int, string not null>>", "MAP<INT NOT NULL, MAP<INT NOT NULL, STRING NOT NULL>>"),
        ("int null", "INT"),
    ],
)
def test_spellings(text: str, expected: str) -> None:
    assert str(parse_data_type(text)) == expected


def test_comments_inside_structs() -> None:
    (column,) = parse_columns("s STRUCT<a: INT NOT NULL COMMENT 'spark', b INT 'flink'>")
    inside = column.type.fields  # type: ignore[union-attr]
    assert [(f.name, f.description) for f in inside] == [("a", "spark"), ("b", "flink")]


def test_names() -> None:
    parsed = types_of(
        "`a b` INT, `x``y` INT, order INT, `select` INT, größe INT, 1st INT, comment INT, `,` INT, a: INT"
    )
    assert list(parsed) == ["a b", "x`y", "order", "select", "größe", "1st", "comment", ",", "a"]


def test_clauses_in_any_order() -> None:
    (column,) = parse_columns("a INT COMMENT 'it''s' DEFAULT -1 NOT NULL")
    assert column == Field(0, "a", Atomic("INT", (), False), "it's", "-1")
    (column,) = parse_columns('a STRING NULL DEFAULT NULL COMMENT "q"')
    assert column == Field(0, "a", Atomic("STRING"), "q", None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ("''", ""),
        ("1e3", "1e3"),
        ("+.5", "+.5"),
        ("True", "true"),
        ("null", None),
        ("DATE '2020-01-01'", "2020-01-01"),
    ],
)
def test_literals(text: str, value: str | None) -> None:
    assert parse_literal(text) == value


@pytest.mark.parametrize("text", ["current_date()", "1 + 1", "a", "", "X'00'", "DATE 1"])
def test_defaults_are_literals_only(text: str) -> None:
    with pytest.raises(SchemaError, match="cannot read the default"):
        parse_literal(text)


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("", "expected a column name", 0),
        ("   ", "expected a column name", 3),
        ("a", "expected a type, found the end", 1),
        ("a INT,", "expected a column name", 6),
        ("a INT b INT", "expected ',' or one of NOT NULL, DEFAULT, COMMENT, found 'b'", 6),
        ("a INT, 7 INT", "expected a column name", 7),
        ("a BIGINTT", "unknown type 'BIGINTT'; did you mean 'BIGINT'?", 2),
        ("a ARRAY", "expected '<'", 7),
        ("a ARRAY<INT", "expected '>'", 11),
        ("a MAP<INT>", "expected ','", 9),
        ("a ROW<>", "expected a column name", 6),
        ("a ROW<x INT, >", "expected a column name", 13),
        ("a ROW(x INT>", "expected ')'", 11),
        ("a INT NOT", "expected NULL", 9),
        ("a INT NOT NULL NOT NULL", "two clauses about NULL", 15),
        ("a INT NULL NOT NULL", "two clauses about NULL", 11),
        ("a INT COMMENT x", "expected a string in quotes", 14),
        ("a INT COMMENT 'x", "expected a string in quotes", 14),
        ("a INT DEFAULT now()", "expected a literal", 14),
        ("a DECIMAL(39, 2)", "precision must be 1 to 38", 2),
        ("a DECIMAL(-1, 2)", "expected a number", 10),
        ("a DECIMAL(1.5)", "expected a number", 10),
        ("a DECIMAL(5", "expected ')'", 11),
        ("a INT(5)", "takes no parameters", 2),
        ("a TIMESTAMP(10)", "between 0 and 9", 2),
        ("a TIMESTAMP WITH TIME ZONE", "expected LOCAL", 17),
        ("a BINARY", "BINARY needs a length, BINARY(n); for any length use BYTES", 2),
        ("a VARCHAR NOT NULL", "VARCHAR needs a length, VARCHAR(n); for any length use STRING", 2),
        ("a INT, PRIMARY KEY (a)", "pass primary_key=", 7),
        ("`a INT", "expected a column name", 0),
        ("a INT; b INT", "expected ','", 5),
    ],
)
def test_errors_show_the_place(text: str, message: str, at: int) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_columns(text)
    first, line, caret = str(caught.value).split("\n")
    assert message in first
    assert f"at character {at + 1}:" in first
    assert line == "  " + text
    assert caret == "  " + " " * at + "^"


def test_errors_in_longer_texts_show_their_line() -> None:
    with pytest.raises(SchemaError) as caught:
        parse_columns("a INT,\n  b STRNG,\n  c INT")
    assert str(caught.value).split("\n")[1:] == ["    b STRNG,", "      ^"]


@pytest.mark.parametrize("text", ["a VARIANT", "a MULTISET<INT>", "a ARRAY<BLOB>"])
def test_unsupported_types(text: str) -> None:
    with pytest.raises(UnsupportedError, match="not supported by Lakebed"):
        parse_columns(text)


@given(data_types())
@settings(max_examples=examples(150))
def test_the_text_of_a_type_means_the_type(data_type: DataType) -> None:
    assert parse_data_type(type_text(data_type)) == data_type


@given(columns())
@settings(max_examples=examples(80))
def test_the_text_of_columns_means_the_columns(cols: tuple[Field, ...]) -> None:
    def text(column: Field) -> str:
        escaped = (column.description or "").replace("'", "''")
        comment = "" if column.description is None else f" COMMENT '{escaped}'"
        return f"{quoted_name(column.name)} {type_text(column.type)}{comment}"

    assert parse_columns(", ".join(text(column) for column in cols)) == cols


@given(st.text(alphabet="aINT<>(),:` '\"ROWMP1.-\n", max_size=30))
@settings(max_examples=examples(200))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        parse_columns(text)
    except LakebedError as error:
        assert "^" in str(error)  # noqa: PT017 - most texts are refused, some are columns


def test_to_columns_takes_what_people_have() -> None:
    by_text = to_columns("a INT NOT NULL, s STRUCT<x: STRING>")
    arrow = pa.schema([pa.field("a", pa.int32(), nullable=False), ("s", pa.struct({"x": pa.large_string()}))])
    assert to_columns(arrow) == by_text
    assert to_columns(list(by_text)) == by_text
    assert to_columns(by_text) == by_text
    numbered = [replace(column, id=7) for column in by_text]
    assert to_columns(numbered) == tuple(numbered)


@pytest.mark.parametrize("bad", [None, 3, {"a": "INT"}, ["a"], b"a INT"])
def test_to_columns_refuses_the_rest(bad: object) -> None:
    with pytest.raises(SchemaError, match="cannot take columns from"):
        to_columns(bad)


def test_nothing_here_imports_pyspark() -> None:
    code = "import sys, lakebed.format.types.column_ddl; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
