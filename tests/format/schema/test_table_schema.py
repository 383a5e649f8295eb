from __future__ import annotations

import json
import pickle
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.format.type_strategies import columns

from lakebed.errors import CorruptError, SchemaError, UnsupportedError
from lakebed.format.schema.table_schema import TableSchema, create_schema, default_scalar, highest_id, parquet_schema
from lakebed.format.types.column_ddl import parse_columns
from lakebed.format.types.data_types import Field, nested_fields, parse_type

# Written by Paimon 2.0.0 (Java), with time and option order fixed.
JAVA_TEXT = """{
  "version" : 3,
  "id" : 0,
  "fields" : [ {
    "id" : 0,
    "name" : "st",
    "type" : {
      "type" : "ROW",
      "fields" : [ {
        "id" : 2,
        "name" : "a",
        "type" : {
          "type" : "ROW",
          "fields" : [ {
            "id" : 1,
            "name" : "x",
            "type" : "INT"
          } ]
        }
      }, {
        "id" : 3,
        "name" : "b",
        "type" : "INT"
      }, {
        "id" : 4,
        "name" : "é\\"/<",
        "type" : {
          "type" : "ARRAY NOT NULL",
          "element" : "TIME(3) NOT NULL"
        }
      } ]
    },
    "description" : "desc"
  }, {
    "id" : 5,
    "name" : "z",
    "type" : "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL",
    "defaultValue" : "d"
  }, {
    "id" : 6,
    "name" : "m",
    "type" : {
      "type" : "MAP",
      "key" : "STRING NOT NULL",
      "value" : "DECIMAL(10, 2)"
    }
  } ],
  "highestFieldId" : 6,
  "partitionKeys" : [ ],
  "primaryKeys" : [ "z" ],
  "options" : {
    "bucket" : "2",
    "b-x" : "y"
  },
  "timeMillis" : 1794756302091
}"""

MINIMAL: dict[str, Any] = {
    "version": 3,
    "id": 0,
    "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
    "highestFieldId": 1,
    "partitionKeys": [],
    "primaryKeys": ["k"],
    "options": {},
    "timeMillis": 5,
}


def make(text: str, **given_args: Any) -> TableSchema:
    return create_schema(parse_columns(text), time_millis=7, **given_args)


def read(**changed: Any) -> TableSchema:
    return TableSchema.from_json(json.dumps(MINIMAL | changed), where="schema-0")


def test_java_text_reads_and_writes_back_byte_for_byte() -> None:
    schema = TableSchema.from_json(JAVA_TEXT, where="schema-0")
    assert schema.to_json() == JAVA_TEXT
    assert TableSchema.from_json(JAVA_TEXT.encode(), where="schema-0") == schema
    assert schema.field("z").default == "d"
    assert schema.field("st").description == "desc"


def test_empty_options_and_comment_in_java_layout() -> None:
    text = replace(read(), options={}, comment="c").to_json()
    assert '"options" : { },\n  "comment" : "c",\n  "timeMillis" : 5\n}' in text
    assert '"comment"' not in read(comment=None).to_json()


@given(columns())
@settings(max_examples=examples(80))
def test_any_schema_survives_its_text(cols: tuple[Field, ...]) -> None:
    reserved = [c for c in cols if c.name.startswith("_") or c.name == "rowkind"]
    if reserved:
        return
    schema = create_schema(cols, options={"a": "b"}, comment="é", time_millis=1)
    assert TableSchema.from_json(schema.to_json(), where="x") == schema
    ids = [f.id for c in schema.fields for f in (c, *nested_fields(c.type))]
    assert sorted(ids) == list(range(len(ids)))
    assert schema.highest_field_id == len(ids) - 1
    assert schema.arrow_schema.names == list(schema.field_names)


def test_old_versions_get_what_they_meant() -> None:
    first = TableSchema.from_json(json.dumps({k: v for k, v in MINIMAL.items() if k != "version"}), where="x")
    assert dict(first.options) == {"bucket": "1", "file.format": "orc"}
    assert dict(read(version=1, options={"bucket": "3"}).options) == {"bucket": "3", "file.format": "orc"}
    assert dict(read(version=2).options) == {"file.format": "orc"}
    assert dict(read(version=2, options={"file.format": "parquet"}).options) == {"file.format": "parquet"}
    assert dict(read(version=3).options) == {}


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"schema-0 .*newer Paimon, upgrade"):
        read(version=4)


def test_tolerance_of_readers() -> None:
    schema = read(comment=None, extra={"a": 1}, timeMillis=None, options={"a": True, "b": 3})
    assert schema.comment is None
    assert schema.time_millis == 0
    assert dict(schema.options) == {"a": "true", "b": "3"}


@pytest.mark.parametrize("key", ["id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options"])
def test_missing_keys_are_corrupt(key: str) -> None:
    with pytest.raises(CorruptError, match=f"schema-0 lacks {key}"):
        TableSchema.from_json(json.dumps({k: v for k, v in MINIMAL.items() if k != key}), where="schema-0")


@pytest.mark.parametrize(
    "changed",
    [
        {"fields": 3},
        {"fields": [3]},
        {"fields": [{"id": 0, "name": "k", "type": "WHAT"}]},
        {"fields": [{"id": "x", "name": "k", "type": "INT"}]},
        {"options": []},
        {"options": {"a": None}},
        {"options": {"a": {}}},
        {"id": "a"},
        {"version": "3"},
        {"highestFieldId": {}},
        {"partitionKeys": "k"},
        {"primaryKeys": [1]},
        {"primaryKeys": ["missing"]},
        {"fields": [{"id": 0, "name": "k", "type": "INT"}, {"id": 0, "name": "v", "type": "INT"}]},
        {"fields": [{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "k", "type": "INT"}]},
    ],
)
def test_rubbish_is_corrupt_and_names_the_file(changed: dict[str, Any]) -> None:
    with pytest.raises(CorruptError, match="schema-0"):
        read(**changed)


@pytest.mark.parametrize("text", ["", "{", "[]", b"\xff\xfe", JAVA_TEXT[:200]])
def test_broken_json_is_corrupt(text: str | bytes) -> None:
    with pytest.raises(CorruptError, match="schema-7"):
        TableSchema.from_json(text, where="schema-7")


def test_unsupported_type_names_file_and_column() -> None:
    with pytest.raises(UnsupportedError, match="schema-0: column 'v': column type VARIANT"):
        read(fields=[{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "v", "type": "VARIANT"}])


def test_ids_as_in_the_fact_sheet() -> None:
    plain = ", ".join(f"c{i} INT" for i in range(16))
    schema = make(f"{plain}, st ROW<a INT, b STRING>, n INT, arr ARRAY<ROW<x INT>>")
    assert schema.field("st").id == 16
    assert [f.id for f in nested_fields(schema.field("st").type)] == [17, 18]
    assert schema.field("n").id == 19
    assert schema.field("arr").id == 20
    assert [f.id for f in nested_fields(schema.field("arr").type)] == [21]
    assert schema.highest_field_id == 21


def test_deeper_ids_come_before_their_field_as_in_paimon() -> None:
    schema = make("st ROW<a ROW<x INT>, b INT, c ARRAY<TIME(3)>>, z INT, m MAP<STRING, ROW<y INT>>")
    assert {f.name: f.id for c in schema.fields for f in (c, *nested_fields(c.type))} == {
        "st": 0,
        "x": 1,
        "a": 2,
        "b": 3,
        "c": 4,
        "z": 5,
        "m": 6,
        "y": 7,
    }


def test_primary_key_becomes_not_null_and_is_trimmed() -> None:
    schema = make("dt STRING, id BIGINT, v INT", partition_by=["dt"], primary_key=["dt", "id"])
    assert [f.nullable for f in schema.fields] == [False, False, True]
    assert schema.id == 0
    assert schema.trimmed_primary_key == ("id",)
    assert schema.bucket_keys == ("id",)
    assert [f.name for f in schema.partition_fields] == ["dt"]
    assert schema.time_millis == 7


def test_bucket_keys_are_split_verbatim() -> None:
    assert make("a INT, b INT", options={"bucket-key": "a, b"}).bucket_keys == ("a", " b")
    assert make("a INT, b INT", primary_key=["b"], options={"bucket-key": " "}).bucket_keys == ("b",)
    assert make("a INT").bucket_keys == ()


def test_key_options_move_into_the_lists() -> None:
    schema = make("dt INT, id INT", options={"primary-key": "dt, id,", "partition": "dt", "bucket": "2"})
    assert schema.primary_keys == ("dt", "id")
    assert schema.partition_keys == ("dt",)
    assert dict(schema.options) == {"bucket": "2"}
    assert make("id INT", primary_key=["id"], options={"primary-key": "id"}).primary_keys == ("id",)


@pytest.mark.parametrize(
    ("text", "given_args", "message"),
    [
        ("a INT, a STRING", {}, "two fields named 'a'"),
        ("s ROW<x INT, x INT>", {}, "column 's' has two fields named 'x'"),
        ("s ARRAY<ROW<x ROW<y INT, y INT>>>", {}, "column 'x' has two fields named 'y'"),
        ("` ` INT", {}, "blank name"),
        ("s ROW<`` INT>", {}, "blank name"),
        ("_KEY_a INT", {}, "reserved"),
        ("_VALUE_KIND INT", {}, "reserved"),
        ("rowkind STRING", {}, "reserved"),
        ("_ROW_ID INT", {}, "reserved"),
        ("abc INT", {"partition_by": ["abd"]}, "unknown partition column 'abd'; did you mean 'abc'"),
        ("abc INT", {"primary_key": ["x"]}, "unknown primary key column 'x'"),
        ("a INT, b INT", {"partition_by": ["a", "a"]}, "named twice"),
        ("a INT, b INT", {"primary_key": ["b", "b"]}, "named twice"),
        ("a ARRAY<INT>, b INT", {"partition_by": ["a"]}, "simple types"),
        ("a ROW<x INT>, b INT", {"primary_key": ["a"]}, "simple types"),
        ("a INT, b INT", {"partition_by": ["a"], "primary_key": ["a"]}, "only one row"),
        ("a INT", {"primary_key": ["a"], "options": {"primary-key": "b"}}, "name the columns in one place"),
        ("a INT, b INT", {"partition_by": ["a"], "options": {"partition": "b"}}, "name the columns in one place"),
        ("a INT DEFAULT 'x'", {}, "default 'x' of column 'a' is not a value of type INT"),
        ("a VARCHAR(2) DEFAULT 'xyz'", {}, "not a value"),
        ("a ARRAY<INT> DEFAULT 'x'", {}, "is not a value of type ARRAY<INT>"),
        ("a DATE DEFAULT 'yesterday'", {}, "not a value"),
        ("a TIME(0) DEFAULT 'noon'", {}, "not a value"),
        ("a TIMESTAMP_LTZ DEFAULT '2020-01-01 00:00:00'", {}, "a different instant in each time zone"),
    ],
)
def test_what_no_table_may_be(text: str, given_args: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        make(text, **given_args)


def test_no_columns() -> None:
    with pytest.raises(SchemaError, match="at least one column"):
        create_schema([], time_millis=0)


def test_good_defaults() -> None:
    schema = make(
        "a INT DEFAULT -1, b DECIMAL(4,2) DEFAULT 1.5, c BOOLEAN DEFAULT TRUE, d DATE DEFAULT '2020-01-01', "
        "e TIMESTAMP DEFAULT '2020-01-01 01:02:03', h TIME(3) DEFAULT '01:02:03.004', i BYTES DEFAULT 'x', "
        "j VARCHAR(3) DEFAULT 'abc', k ARRAY<INT>"
    )
    assert [default_scalar(column).as_py() for column in schema.fields] == [
        -1,
        Decimal("1.50"),
        True,
        date(2020, 1, 1),
        datetime(2020, 1, 1, 1, 2, 3),
        time(1, 2, 3, 4000),
        b"x",
        "abc",
        None,
    ]
    assert pa.schema([(f.name, default_scalar(f).type) for f in schema.fields]) == schema.arrow_schema


def test_lookups() -> None:
    schema = make("a INT, b STRING")
    assert schema.index("b") == 1
    assert [f.name for f in schema.select(["b", "a"])] == ["b", "a"]
    assert schema.fields_by_id[1].name == "b"
    assert schema.arrow_schema is schema.arrow_schema
    with pytest.raises(SchemaError, match="unknown column 'c'"):
        schema.field("c")
    other = schema.with_options({"x": "y"})
    assert (dict(other.options), dict(schema.options)) == ({"x": "y"}, {})
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(schema) == hash(make("a INT, b STRING"))


def test_field_ids_in_parquet_are_those_of_paimon(tmp_path: Any) -> None:
    """The numbers are those that Paimon 2.0.0 (Java) writes for the same schema."""
    fields = [
        Field(
            3, "a", parse_type({"type": "ARRAY", "element": {"type": "MAP", "key": "STRING", "value": ARRAY_OF_INT}})
        ),
        Field(7, "r", parse_type({"type": "ROW", "fields": [{"id": 8, "name": "l", "type": ARRAY_OF_ROW}]})),
        Field(10, "t", parse_type("TIME(3) NOT NULL")),
    ]
    schema = parquet_schema(fields)
    pq.write_table(schema.empty_table(), tmp_path / "f")
    ids = [i for column in pq.read_schema(tmp_path / "f") for i in field_ids(column)]
    paimon = [3, 536873984, 536867837, 536873985, 536873986, 7, 8, 536879104, 9, 536861694, 536880128, 10]
    assert ids == paimon
    physical = pq.ParquetFile(tmp_path / "f").schema
    assert [physical.column(i).path for i in range(len(physical.names))] == [
        "a.list.element.key_value.key",
        "a.list.element.key_value.value.list.element",
        "r.l.list.element.x.key_value.key",
        "r.l.list.element.x.key_value.value",
        "t",
    ]
    assert not schema.field("t").nullable


ARRAY_OF_INT = {"type": "ARRAY", "element": "INT"}
MAP_OF_INT = {"type": "MAP", "key": "INT", "value": "INT"}
ARRAY_OF_ROW = {
    "type": "ARRAY",
    "element": {"type": "ROW", "fields": [{"id": 9, "name": "x", "type": MAP_OF_INT}]},
}


def field_ids(field: pa.Field) -> list[int]:
    arrow = field.type
    if pa.types.is_map(arrow):
        inside = [arrow.key_field, arrow.item_field]
    else:
        inside = [arrow.field(i) for i in range(arrow.num_fields)]
    return [int(field.metadata[b"PARQUET:field_id"]), *(i for f in inside for i in field_ids(f))]


def test_parquet_schema_is_the_arrow_schema_with_ids() -> None:
    schema = make("a INT NOT NULL, s ROW<x ARRAY<INT NOT NULL>>, m MAP<STRING, DOUBLE>")
    assert parquet_schema(schema.fields).equals(schema.arrow_schema, check_metadata=False)
    assert highest_id(schema.fields) == 3
    assert highest_id([]) == -1
