from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.format.type_strategies import data_types

from lakebed.errors import SchemaError, UnsupportedError
from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    STRING_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    field_to_json,
    from_arrow,
    nested_fields,
    parse_field,
    parse_type,
    quoted_name,
    to_arrow,
    type_text,
    type_to_json,
)


@given(data_types())
@settings(max_examples=examples(150))
def test_json_round_trip(data_type: DataType) -> None:
    assert parse_type(json.loads(json.dumps(type_to_json(data_type)))) == data_type


def after_arrow(data_type: DataType) -> DataType:
    """What Arrow keeps of a type: no lengths, timestamps and times in steps of three digits."""
    match data_type:
        case Atomic(root, params):
            if root in STRING_ROOTS:
                return Atomic("STRING", (), data_type.nullable)
            if root in BINARY_ROOTS:
                return Atomic("BYTES", (), data_type.nullable)
            if root == "TIME":
                return replace(data_type, params=(3,))
            if root.startswith("TIMESTAMP"):
                return replace(data_type, params=(3 if params[0] <= 3 else 6 if params[0] <= 6 else 9,))
            return data_type
        case Array(element):
            return replace(data_type, element=after_arrow(element))
        case Map(key, value):
            return replace(data_type, key=after_arrow(key), value=after_arrow(value))
        case Row(inside):
            return replace(data_type, fields=tuple(replace(f, type=after_arrow(f.type)) for f in inside))


@given(data_types())
@settings(max_examples=examples(150))
def test_arrow_round_trip(data_type: DataType) -> None:
    assert from_arrow(to_arrow(data_type), is_nullable=data_type.nullable) == after_arrow(data_type)


# What Paimon 2.0's own parser makes of these texts.
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("VARCHAR", "VARCHAR(1)"),
        ("CHAR", "CHAR(1)"),
        ("BINARY", "BINARY(1)"),
        ("VARBINARY", "VARBINARY(1)"),
        ("VARCHAR(2147483647)", "STRING"),
        ("VARBINARY(2147483647) NOT NULL", "BYTES NOT NULL"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)"),
        ("TIMESTAMP_LTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("TIMESTAMP_LTZ(3) NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"),
        ("TIMESTAMP(9) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("DECIMAL(5)", "DECIMAL(5, 0)"),
        ("NUMERIC(38,38)", "DECIMAL(38, 38)"),
        ("FLOAT NULL", "FLOAT"),
        ("int", "INT"),
        ("INTEGER NOT NULL", "INT NOT NULL"),
        ("DOUBLE PRECISION", "DOUBLE"),
    ],
)
def test_spellings(text: str, written: str) -> None:
    assert type_to_json(parse_type(text)) == written


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "INTT",
        "CHAR(0)",
        "VARCHAR(0)",
        "BINARY(2147483648)",
        "DECIMAL(39, 0)",
        "DECIMAL(5, 6)",
        "DECIMAL(1,1,1)",
        "TIME(10)",
        "TIMESTAMP(10)",
        "INT(3)",
        "INT WITH LOCAL TIME ZONE",
        "DATE WITHOUT TIME ZONE",
        "INT NOT",
        7,
        {"type": "ARRAY"},
        {"type": "ARRAY MAYBE NULL", "element": "INT"},
        {"type": "MAP", "key": "INT"},
        {"type": "ROW", "fields": [{"id": 0, "name": "a"}]},
        {"type": "THING"},
        {},
    ],
)
def test_bad_types_are_refused(bad: object) -> None:
    with pytest.raises(SchemaError):
        parse_type(bad)


@pytest.mark.parametrize(
    "unsupported",
    [
        "VARIANT",
        "BLOB NOT NULL",
        {"type": "MULTISET", "element": "INT"},
        {"type": "VECTOR NOT NULL", "element": "FLOAT", "length": 3},
        {"type": "ARRAY", "element": "VARIANT"},
    ],
)
def test_unsupported_types_are_named(unsupported: object) -> None:
    with pytest.raises(UnsupportedError, match="not supported by Lakebed"):
        parse_type(unsupported)


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.large_string(), "STRING"),
        (pa.dictionary(pa.int32(), pa.string()), "STRING"),
        (pa.binary(16), "BINARY(16)"),
        (pa.time32("s"), "TIME(0)"),
        (pa.timestamp("s"), "TIMESTAMP(0)"),
        (pa.timestamp("ns", "Europe/Paris"), "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        (pa.decimal256(30, 2), "DECIMAL(30, 2)"),
        (pa.large_list(pa.int8()), "ARRAY<TINYINT>"),
    ],
)
def test_more_arrow_types(arrow: pa.DataType, expected: str) -> None:
    assert str(from_arrow(arrow)) == expected


@pytest.mark.parametrize(
    "arrow", [pa.null(), pa.uint8(), pa.float16(), pa.duration("s"), pa.decimal128(10, -2), pa.list_(pa.int8(), 3)]
)
def test_arrow_types_without_counterpart(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedError, match="cast the column first"):
        from_arrow(arrow)


def test_fields_keep_description_and_default() -> None:
    raw: dict[str, Any] = {"id": 3, "name": "a", "type": "INT", "description": "d", "defaultValue": "1"}
    assert parse_field(raw) == Field(3, "a", Atomic("INT"), "d", "1")
    assert field_to_json(parse_field(raw)) == raw
    assert field_to_json(Field(0, "a", Atomic("INT"))) == {"id": 0, "name": "a", "type": "INT"}
    with pytest.raises(SchemaError, match="lacks its 'id'"):
        parse_field({"name": "a", "type": "INT"})


def test_nested_fields_are_found_everywhere() -> None:
    inner = Row((Field(2, "x", Atomic("INT")),))
    outer = Row((Field(1, "a", Array(inner)), Field(3, "m", Map(Row((Field(4, "k", Atomic("INT")),)), inner))))
    assert [f.id for f in nested_fields(outer)] == [1, 2, 3, 4, 2]


def test_text_for_people() -> None:
    data_type = Row((Field(0, "a b", Map(Atomic("STRING", (), False), Array(Atomic("INT")))),), nullable=False)
    assert type_text(data_type) == "ROW<`a b` MAP<STRING NOT NULL, ARRAY<INT>>> NOT NULL"
    assert quoted_name("1a`") == "`1a```"
