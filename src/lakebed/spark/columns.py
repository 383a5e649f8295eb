"""The columns of a table in Spark's types, and Arrow data in the types that Spark takes.

All columns and nested fields are nullable, as Spark's own Parquet reader returns them; a table may be read in part by
Spark and in part by Lakebed's readers. Spark's timestamps have microseconds: finer digits are cut off, as in Apache
Paimon's Spark connector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row
from lakebed.format.types.spark_types import CHAR_VARCHAR_KEY, fields_to_spark_json

if TYPE_CHECKING:
    from pyspark.sql.types import DataType as SparkType
    from pyspark.sql.types import StructType

_BATCH_ROWS: Final = 1 << 16
_MICROS: Final = {True: pa.timestamp("us", tz="UTC"), False: pa.timestamp("us")}


def all_nullable(data_type: DataType) -> DataType:
    """Returns the same type, nullable everywhere except in the keys of maps."""
    match data_type:
        case Atomic():
            return replace(data_type, nullable=True)
        case Array(element):
            return Array(all_nullable(element))
        case Map(key, value):
            return Map(replace(all_nullable(key), nullable=False), all_nullable(value))
        case Row(fields):
            return Row(tuple(replace(field, type=all_nullable(field.type)) for field in fields))


def spark_schema(fields: Sequence[Field]) -> StructType:
    """Returns columns as a Spark schema for reading.

    It omits the lengths of CHAR and VARCHAR: with them Spark would pad the values that it compares.
    """
    from pyspark.sql.types import StructType as SparkStruct  # noqa: PLC0415 - Spark is optional

    raw = fields_to_spark_json([replace(field, type=all_nullable(field.type)) for field in fields])
    for column in raw["fields"]:
        column["metadata"].pop(CHAR_VARCHAR_KEY, None)
    return SparkStruct.fromJson(raw)


def spark_type(data_type: DataType) -> SparkType:
    """Returns one type in Spark, for reading."""
    return spark_schema([Field(0, "column", data_type)])[0].dataType


# ------------------------------------------------------------------------------------------------------- Arrow


def spark_arrow_type(arrow: pa.DataType) -> pa.DataType:
    """Returns the Arrow type in which Spark takes values of an Arrow type."""
    if pa.types.is_timestamp(arrow):
        return _MICROS[arrow.tz is not None]
    if pa.types.is_time(arrow):
        return pa.time64("ns")
    if pa.types.is_list(arrow):
        return pa.list_(pa.field("element", spark_arrow_type(arrow.value_type)))
    if pa.types.is_map(arrow):
        return pa.map_(spark_arrow_type(arrow.key_type), spark_arrow_type(arrow.item_type))
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(part.name, spark_arrow_type(part.type)) for part in arrow])
    return arrow


def spark_arrow_schema(schema: pa.Schema) -> pa.Schema:
    """Returns the Arrow schema in which Spark takes rows of a schema."""
    return pa.schema([pa.field(column.name, spark_arrow_type(column.type)) for column in schema])


def spark_batches(batch: pa.RecordBatch, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Returns rows in batches for Spark; ``schema`` is that of :func:`spark_arrow_schema`."""
    columns = [_as_spark(column, wanted.type) for column, wanted in zip(batch.columns, schema, strict=True)]
    whole = pa.RecordBatch.from_arrays(columns, schema=schema)
    return [whole.slice(start, _BATCH_ROWS) for start in range(0, len(whole), _BATCH_ROWS)]


def _as_spark(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    # Arrow's equality ignores the names of list elements, which Spark does not, so nested types are always converted.
    if array.type == wanted and not pa.types.is_nested(wanted):
        return array
    if pa.types.is_struct(wanted):
        parts = [_as_spark(pc.struct_field(array, [i]), part.type) for i, part in enumerate(wanted)]
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=array.is_null())
    if pa.types.is_map(wanted):
        keys, items = _as_spark(array.keys, wanted.key_type), _as_spark(array.items, wanted.item_type)
        return pa.MapArray.from_arrays(_offsets(array), keys, items, type=wanted, mask=_mask(array))
    if pa.types.is_list(wanted):
        values = _as_spark(array.values, wanted.value_type)
        return pa.ListArray.from_arrays(_offsets(array), values, type=wanted, mask=_mask(array))
    if pa.types.is_timestamp(wanted) and array.type.unit == "ns":
        return pc.floor_temporal(array, unit="microsecond").cast(wanted)
    return array.cast(wanted)


def _offsets(array: Any) -> pa.Array:
    """Returns the offsets of a list or map array, starting at zero, as masks need them."""
    return pa.concat_arrays([array.offsets]) if array.offsets.offset else array.offsets


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None
