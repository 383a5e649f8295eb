from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.format.type_strategies import columns

from lakebed.errors import SchemaError, UnsupportedError
from lakebed.format.types.column_ddl import parse_columns, to_columns
from lakebed.format.types.data_types import BINARY_ROOTS, Array, Atomic, DataType, Field, Map, Row
from lakebed.format.types.spark_types import (
    CHAR_VARCHAR_KEY,
    fields_from_spark,
    fields_to_spark_json,
    from_spark,
    schema_to_spark,
    to_spark_json,
)

spark = importlib.import_module("pyspark.sql.types")  # the checks install it; one that is missing is no reason to skip


def after_spark(data_type: DataType) -> DataType:
    """What Spark keeps of a type: strings of any length (noted aside), binary without length, microseconds."""
    match data_type:
        case Atomic(root, params):
            if root in BINARY_ROOTS:
                return Atomic("BYTES", (), data_type.nullable)
            if root == "TIME":
                return replace(data_type, params=(min(params[0], 6),))
            if root.startswith("TIMESTAMP"):
                return replace(data_type, params=(6,))
            return data_type
        case Array(element):
            return replace(data_type, element=after_spark(element))
        case Map(key, value):
            return replace(data_type, key=after_spark(key), value=after_spark(value))
        case Row(inside):
            return replace(data_type, fields=tuple(replace(f, type=after_spark(f.type)) for f in inside))


@given(columns())
@settings(max_examples=examples(150))
def test_round_trip_through_pyspark(cols: tuple[Field, ...]) -> None:
    struct = schema_to_spark(cols)
    assert isinstance(struct, spark.StructType)
    assert fields_from_spark(struct) == tuple(replace(c, type=after_spark(c.type)) for c in cols)
    assert to_columns(struct) == fields_from_spark(struct)


def test_every_type_by_name() -> None:
    cols = parse_columns(
        "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(10,2), i STRING, j BYTES, "
        "k DATE, l TIME(3), m TIMESTAMP(3), n TIMESTAMP_LTZ(9), o BINARY(4), p VARCHAR(4)"
    )
    assert [f.dataType for f in schema_to_spark(cols).fields] == [
        spark.BooleanType(),
        spark.ByteType(),
        spark.ShortType(),
        spark.IntegerType(),
        spark.LongType(),
        spark.FloatType(),
        spark.DoubleType(),
        spark.DecimalType(10, 2),
        spark.StringType(),
        spark.BinaryType(),
        spark.DateType(),
        spark.TimeType(3),
        spark.TimestampNTZType(),
        spark.TimestampType(),
        spark.BinaryType(),
        spark.StringType(),
    ]


def test_lengths_are_noted_as_spark_notes_them() -> None:
    raw = fields_to_spark_json(parse_columns("a CHAR(3), b ARRAY<ROW<x VARCHAR(2), y BIGINT>>, c STRING"))
    assert [column["metadata"].get(CHAR_VARCHAR_KEY) for column in raw["fields"]] == [
        "char(3)",
        "array<struct<x:varchar(2),y:bigint>>",
        None,
    ]
    assert raw["fields"][1]["type"]["elementType"]["fields"][0]["type"] == "string"


def test_from_spark_by_hand() -> None:
    struct = spark.StructType(
        [
            spark.StructField("a", spark.LongType(), False, {"comment": "key", "CURRENT_DEFAULT": "'7'"}),
            spark.StructField("b", spark.MapType(spark.StringType(), spark.ArrayType(spark.DateType(), False))),
            spark.StructField("c", spark.VarcharType(3)),
            spark.StructField("d", spark.StringType(), True, {CHAR_VARCHAR_KEY: "char(2)"}),
            spark.StructField("e", spark.TimestampType()),
            spark.StructField("f", spark.TimestampNTZType()),
            spark.StructField("g", spark.TimeType()),
        ]
    )
    assert fields_from_spark(struct) == (
        Field(0, "a", Atomic("BIGINT", (), False), "key", "7"),
        Field(0, "b", Map(Atomic("STRING", (), False), Array(Atomic("DATE", (), False)))),
        Field(0, "c", Atomic("VARCHAR", (3,))),
        Field(0, "d", Atomic("CHAR", (2,))),
        Field(0, "e", Atomic("TIMESTAMP_LTZ", (6,))),
        Field(0, "f", Atomic("TIMESTAMP", (6,))),
        Field(0, "g", Atomic("TIME", (6,))),
    )
    assert from_spark(spark.ArrayType(spark.ShortType())) == Array(Atomic("SMALLINT"))
    assert to_spark_json(Array(Atomic("SMALLINT"))) == spark.ArrayType(spark.ShortType()).jsonValue()


@pytest.mark.parametrize(
    "data_type",
    [
        spark.NullType(),
        spark.VariantType(),
        spark.CalendarIntervalType(),
        spark.DayTimeIntervalType(),
        spark.YearMonthIntervalType(),
        spark.StringType("UNICODE"),
        spark.ArrayType(spark.VariantType()),
    ],
)
def test_types_without_counterpart(data_type: Any) -> None:
    with pytest.raises(UnsupportedError):
        from_spark(data_type)
    with pytest.raises(UnsupportedError, match="column 'x'"):
        fields_from_spark(spark.StructType([spark.StructField("x", data_type)]))


def test_defaults_that_are_not_literals() -> None:
    struct = spark.StructType([spark.StructField("a", spark.DateType(), True, {"CURRENT_DEFAULT": "current_date()"})])
    with pytest.raises(SchemaError, match="expected a literal"):
        fields_from_spark(struct)


def test_columns_need_a_struct() -> None:
    with pytest.raises(SchemaError, match="StructType"):
        fields_from_spark(spark.LongType())


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(UnsupportedError, match=r"lakebed\[spark\]"):
        schema_to_spark(parse_columns("a INT"))
