"""A partition as folder, name, text and spec."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import DataError, OptionError, SchemaError
from lakebed.format import predicate as pred
from lakebed.format.binary_row import encode_row
from lakebed.format.partition_names import (
    escape,
    parse_partition_spec,
    partition_folder,
    partition_names,
    partition_path,
    partition_predicate,
    partition_table,
    partition_text,
    partition_value,
    partition_values,
)
from lakebed.format.schema.table_schema import TableSchema, create_schema
from lakebed.format.types.column_ddl import parse_columns
from lakebed.format.types.data_types import Atomic, Field, parse_type

STRING = Atomic("STRING")
ESCAPED = "\"#%'*/:=?\\{}[]^" + "\x7f" + "".join(map(chr, range(32)))


# ----------------------------------------------------------------------------------------------------------- folders

# FORMAT 1.3 and what the Java implementation was seen to do.
LEGACY = [
    ("STRING", "a b/c=d%", "p=a b%2Fc%3Dd%25"),
    ("STRING", None, "p=__DEFAULT_PARTITION__"),
    ("STRING", "", "p=__DEFAULT_PARTITION__"),
    ("STRING", "  ", "p=__DEFAULT_PARTITION__"),
    ("STRING", "\t", "p=__DEFAULT_PARTITION__"),
    ("STRING", "ä,&+$ 漢😀", "p=ä,&+$ 漢😀"),
    ("STRING", "v/1", "p=v%2F1"),
    ("VARCHAR(5)", "True", "p=True"),
    ("INT", 5, "p=5"),
    ("BIGINT", -9223372036854775808, "p=-9223372036854775808"),
    ("BOOLEAN", True, "p=true"),
    ("BOOLEAN", False, "p=false"),
    ("DATE", dt.date(2024, 1, 2), "p=19724"),
    ("DATE", dt.date(1969, 12, 31), "p=-1"),
    ("DATE", None, "p=__DEFAULT_PARTITION__"),
    ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4, 5, 678000), "p=2024-01-02T03%3A04%3A05.678"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 5, 678901), "p=2024-01-02T03%3A04%3A05.678901"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4), "p=2024-01-02T03%3A04"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 5), "p=2024-01-02T03%3A04%3A05"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 0, 500000), "p=2024-01-02T03%3A04%3A00.500"),
    ("TIMESTAMP(6)", dt.datetime(1, 1, 1), "p=0001-01-01T00%3A00"),
    ("DECIMAL(25, 4)", Decimal("1.5000"), "p=1.5000"),
    ("DECIMAL(38, 10)", Decimal("1E-10"), "p=0.0000000001"),
    ("TIME(3)", dt.time(1, 2, 3, 4000), "p=3723004"),
    ("DOUBLE", 1.0, "p=1.0"),
    ("DOUBLE", 0.001, "p=0.001"),
    ("DOUBLE", 1e7, "p=1.0E7"),
    ("DOUBLE", 9999999.5, "p=9999999.5"),
    ("DOUBLE", 1.25e-5, "p=1.25E-5"),
    ("DOUBLE", -0.0, "p=-0.0"),
    ("DOUBLE", math.nan, "p=NaN"),
    ("DOUBLE", -math.inf, "p=-Infinity"),
    ("FLOAT", float(np.float32(0.1)), "p=0.1"),
    ("FLOAT", float(np.float32(16777216)), "p=1.6777216E7"),
    ("FLOAT", float(np.float32(1e10)), "p=1.0E10"),
    ("FLOAT", 2.0, "p=2.0"),
]


@pytest.mark.parametrize(("type_text", "value", "folder"), LEGACY)
def test_partition_folders(type_text: str, value: object, folder: str) -> None:
    assert partition_path(["p"], [parse_type(type_text)], [value]) == folder


@pytest.mark.parametrize(
    ("type_text", "value", "folder"),
    [
        ("DATE", dt.date(2024, 1, 2), "p=2024-01-02"),
        ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 5, 678901), "p=2024-01-02 03%3A04%3A05.678901"),
        ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4, 5, 678000), "p=2024-01-02 03%3A04%3A05.678"),
        ("TIMESTAMP(0)", dt.datetime(2024, 1, 2, 3, 4, 5), "p=2024-01-02 03%3A04%3A05"),
        ("TIME(3)", dt.time(1, 2, 3, 4000), "p=01%3A02%3A03.004"),
        ("TIME(3)", dt.time(1, 2, 3), "p=01%3A02%3A03.0"),
        ("TIME(0)", dt.time(1, 2, 3), "p=01%3A02%3A03"),
        ("BOOLEAN", True, "p=true"),
    ],
)
def test_partition_folders_without_legacy_names(type_text: str, value: object, folder: str) -> None:
    assert partition_path(["p"], [parse_type(type_text)], [value], legacy_names=False) == folder


def test_several_keys_odd_names_and_another_default() -> None:
    types = [STRING, Atomic("INT")]
    assert partition_path(["p=1", "h"], types, ["v/1", 5]) == "p%3D1=v%2F1/h=5"
    assert partition_path(["a", "h"], types, [None, None], default_name="NULL!") == "a=NULL!/h=NULL!"
    assert partition_path([], [], []) == ""


@given(st.text())
def test_escaping_can_be_undone_and_leaves_one_segment(text: str) -> None:
    escaped = escape(text)
    assert unquote(escaped, errors="strict") == text
    assert not set(escaped) & (set(ESCAPED) - {"%"})


@pytest.mark.parametrize("character", ESCAPED)
def test_what_is_escaped(character: str) -> None:
    assert escape(character) == f"%{ord(character):02X}"


@given(st.characters(codec="utf-8", exclude_characters=ESCAPED))
def test_what_is_not_escaped(character: str) -> None:
    assert escape(character) == character


# ------------------------------------------------------------------------------------------------- names for people


def schema_of(columns: str, *partition_by: str, **options: str) -> TableSchema:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return create_schema(parse_columns(columns), partition_by=partition_by, options=named, time_millis=0)


def encoded(schema: TableSchema, *rows: tuple[Any, ...]) -> pa.Array:
    types = [field.type for field in schema.partition_fields]
    return pa.array([encode_row(row, types) for row in rows], pa.binary())


def test_folder_and_name_of_a_date_differ() -> None:
    schema = schema_of("dt DATE, p STRING, v INT", "dt", "p")
    rows = [(dt.date(2024, 1, 2), "a/b"), (None, " "), (dt.date(1970, 1, 1), "c")]
    partitions = encoded(schema, *rows)
    assert [partition_folder(schema, row) for row in rows] == [
        "dt=19724/p=a%2Fb",
        "dt=__DEFAULT_PARTITION__/p=__DEFAULT_PARTITION__",
        "dt=0/p=c",
    ]
    assert partition_names(schema, partitions).to_pylist() == [
        "dt=2024-01-02/p=a/b",
        "dt=__DEFAULT_PARTITION__/p=__DEFAULT_PARTITION__",
        "dt=1970-01-01/p=c",
    ]
    values = partition_values(schema, partitions)
    assert {name: texts.to_pylist() for name, texts in values.items()} == {
        "dt": ["2024-01-02", None, "1970-01-01"],
        "p": ["a/b", " ", "c"],
    }
    assert [tuple(row.values()) for row in partition_table(partitions, schema.partition_fields).to_pylist()] == rows


def test_options_of_the_table_decide_about_folders() -> None:
    options = {"partition.legacy-name": "false", "partition.default-name": "none"}
    schema = create_schema(parse_columns("dt DATE, v INT"), partition_by=["dt"], options=options, time_millis=0)
    assert partition_folder(schema, [dt.date(2024, 1, 2)]) == "dt=2024-01-02"
    assert partition_folder(schema, [None]) == "dt=none"
    assert partition_names(schema, encoded(schema, (None,))).to_pylist() == ["dt=none"]


def test_a_table_without_partitions() -> None:
    schema = schema_of("v INT")
    assert partition_folder(schema, []) == ""
    assert partition_names(schema, encoded(schema, (), ())).to_pylist() == ["", ""]
    assert partition_values(schema, encoded(schema, ())) == {}


def test_text_of_values() -> None:
    assert partition_text({"dt": dt.date(2024, 1, 2), "h": 5}) == "dt=2024-01-02/h=5"
    assert partition_text({}) == ""


# ------------------------------------------------------------------------------------------------- specs of users


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("dt=20250101", {"dt": "20250101"}),
        (" dt = 2025-01-01 , h=5,", {"dt": "2025-01-01", "h": "5"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
    ],
)
def test_specs_as_text(text: str, spec: dict[str, str]) -> None:
    assert parse_partition_spec(text, "option 'partition'") == spec


@pytest.mark.parametrize("text", ["", " ", ",", "20250101", "dt=1,h"])
def test_texts_that_are_no_specs(text: str) -> None:
    with pytest.raises(OptionError, match="option 'partition' must be like key=value,key=value, such as dt=20250101"):
        parse_partition_spec(text, "option 'partition'")


def test_a_spec_is_a_predicate() -> None:
    schema = schema_of("dt DATE, h INT, v INT", "dt", "h")
    node = partition_predicate(schema, {"dt": "2024-01-02", "h": None})
    assert pred.to_text(node) == "dt = DATE '2024-01-02' AND h IS NULL"
    with pytest.raises(SchemaError, match="unknown partition column 'v'"):
        partition_predicate(schema, {"v": 1})


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("INT", "5", 5),
        ("DATE", "2024-01-02", dt.date(2024, 1, 2)),
        ("TIME(3)", "01:02:03", dt.time(1, 2, 3)),
        ("TIMESTAMP(3)", dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2)),
        ("STRING", "x", "x"),
    ],
)
def test_values_may_be_text(kind: str, given: Any, value: Any) -> None:
    assert partition_value(given, Field(0, "p", parse_type(kind))).as_py() == value


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("INT", "x"),
        ("INT", 1.5),
        ("DATE", dt.datetime(2024, 1, 2)),
        ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, tzinfo=dt.UTC)),
        ("TINYINT", 300),
        ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, 0, 0, 0, 1)),
    ],
)
def test_values_that_do_not_fit(kind: str, given: Any) -> None:
    with pytest.raises(DataError, match=r"partition column 'p' is .*, not "):
        partition_value(given, Field(0, "p", parse_type(kind)))
