"""A partition in all its forms, and how one becomes another.

| form | example | functions |
|---|---|---|
| encoded | the bytes of a BinaryRow; the identity of a partition in manifests | :func:`partition_table` |
| folder | ``dt=19724/region=a%2Fb``, below the root of the table | :func:`partition_folder` |
| name | ``dt=2024-01-02/region=a/b``, in system tables and in the service | :func:`partition_names` |
| text | ``dt=2024-01-02/region=a/b``, of decoded values in messages | :func:`partition_text` |
| spec | ``{"dt": "2024-01-02"}``, given by users | :func:`parse_partition_spec`, :func:`partition_predicate` |

A folder is only a place: the value of a partition is what the manifest says, never what a folder is called. The folder
of a null or blank value has the default name. How partitions stand for times is in ``partition_time``.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError, OptionError, SchemaError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.binary_row import decode_rows
from lakebed.format.java_text import value_text
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import DataType, Field, to_arrow
from lakebed.options import TableOptions

DEFAULT_PARTITION: Final = "__DEFAULT_PARTITION__"

_ESCAPED: Final = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{}\[\]^]")


# ----------------------------------------------------------------------------------------------------------- folders


def partition_folder(schema: TableSchema, values: Sequence[object], options: TableOptions | None = None) -> str:
    """Returns the folder of a partition below the root of the table; empty for a table without partitions."""
    settings = TableOptions(schema.options) if options is None else options
    fields = schema.partition_fields
    return partition_path(
        [field.name for field in fields],
        [field.type for field in fields],
        values,
        default_name=settings.partition_default_name,
        legacy_names=settings.partition_legacy_name,
    )


def partition_path(
    names: Sequence[str],
    types: Sequence[DataType],
    values: Sequence[object],
    *,
    default_name: str = DEFAULT_PARTITION,
    legacy_names: bool = True,
) -> str:
    """Returns the folder of a partition; with ``legacy_names`` values have the text that Java prints for its objects.

    >>> from lakebed.format.types.data_types import Atomic
    >>> partition_path(["dt", "h"], [Atomic("STRING"), Atomic("INT")], ["2024-01-01", 5])
    'dt=2024-01-01/h=5'
    """
    segments = []
    for name, data_type, value in zip(names, types, values, strict=True):
        text = "" if value is None else value_text(value, data_type, internal=legacy_names)
        segments.append(f"{escape(name)}={escape(text) if text.strip() else default_name}")
    return "/".join(segments)


def escape(text: str) -> str:
    """Returns a name or value as a segment of a path.

    >>> escape("a b/c=d%")
    'a b%2Fc%3Dd%25'
    """
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


# ------------------------------------------------------------------------------------------------- names for people


def partition_text(values: Mapping[str, Any]) -> str:
    """Returns decoded values of a partition as text for a message.

    >>> partition_text({"region": "eu", "date": 20250101})
    'region=eu/date=20250101'
    """
    return "/".join(f"{name}={value}" for name, value in values.items())


def partition_table(encoded: pa.Array, fields: Sequence[Field]) -> pa.Table:
    """Returns encoded partitions as a table of partition columns."""
    columns = decode_rows(encoded, [field.type for field in fields])
    return pa.table(columns, schema=pa.schema([pa.field(field.name, to_arrow(field.type)) for field in fields]))


def partition_names(schema: TableSchema, encoded: pa.Array) -> pa.Array:
    """Returns encoded partitions as Paimon names them: ``dt=2025-01-01/h=1``.

    The name is empty in a table without partitions.
    """
    columns = partition_values(schema, encoded)
    if not columns:
        return pa.array([""] * len(encoded), pa.string())
    default = TableOptions(schema.options).partition_default_name
    parts = []
    for name, texts in columns.items():
        is_blank = pc.equal(pc.utf8_trim_whitespace(texts.fill_null("")), "")
        parts.append(pc.binary_join_element_wise(f"{name}=", pc.if_else(is_blank, default, texts), ""))
    return pc.binary_join_element_wise(*parts, "/")


def partition_values(schema: TableSchema, encoded: pa.Array) -> dict[str, pa.Array]:
    """Returns the values of encoded partitions as text, by column; null stays null.

    Each distinct value is printed once.
    """
    if not schema.partition_keys:
        return {}
    columns = partition_table(encoded, schema.partition_fields)
    return {field.name: _texts(columns[field.name], field) for field in schema.partition_fields}


def _texts(column: pa.ChunkedArray, field: Field) -> pa.Array:
    codes = pa.chunked_array(column).combine_chunks().dictionary_encode()
    texts = [None if value is None else value_text(value, field.type) for value in codes.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(codes.indices)


# ------------------------------------------------------------------------------------------------- specs of users


def parse_partition_spec(text: str, what: str) -> dict[str, str]:
    """Returns the spec that a text such as ``dt=2025-01-01, region=eu`` holds; ``what`` names the argument in errors.

    >>> parse_partition_spec("dt=20250101, region=eu", "option 'partition'")
    {'dt': '20250101', 'region': 'eu'}
    """
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise OptionError(f"{what} must be like key=value,key=value, such as dt=20250101,region=eu, not {text!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def partition_predicate(schema: TableSchema, spec: Mapping[str, Any]) -> pred.Node:
    """Returns the predicate that a spec stands for. Values may be given as text, and ``None`` is null.

    A partition is named exactly, as in Java: 0.0 and -0.0 are two partitions, although they are equal in SQL.

    Raises:
        SchemaError: The spec names a column that is not a partition column.
        DataError: A value does not fit its column.
    """
    parts: list[pred.Node] = []
    for name, value in spec.items():
        if name not in schema.partition_keys:
            raise SchemaError(unknown_name("partition column", name, schema.partition_keys, where="the partition"))
        if value is None:
            parts.append(pred.IsNull(name, negated=False))
        else:
            exact = partition_value(value, schema.field(name))
            parts.append(pred.Compare(name, "=", exact))
            if pa.types.is_floating(exact.type) and exact.as_py() == 0:
                parts.append(_sign_of_zero(name, negative=math.copysign(1, exact.as_py()) < 0))
    return pred.conjunction(parts)


def _sign_of_zero(name: str, *, negative: bool) -> pred.Node:
    """Returns the condition that a zero has this sign."""
    text = f"{name} is {'-0.0' if negative else '0.0'}"
    rebind = partial(_has_sign, name, negative)
    return pred.Opaque(rebind({}), frozenset({name}), text, rebind)


def _has_sign(name: str, negative: bool, names: Mapping[str, str]) -> pc.Expression:
    inverse = pc.divide(pc.scalar(1.0), pc.field(names.get(name, name)).cast(pa.float64()))
    return inverse < 0 if negative else inverse > 0


def partition_value(value: Any, column: Field) -> pa.Scalar:
    """Returns a value of a partition column, which may be given as text.

    Raises:
        DataError: The value does not fit the column.
    """
    try:
        return _exactly(value, column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"partition column {column.name!r} is {column.type}, not {value!r}: {error}") from None


def _exactly(value: Any, data_type: DataType) -> pa.Scalar:
    """Returns a value of a type without rounding it or guessing its time zone."""
    wanted = to_arrow(data_type)
    if isinstance(value, dt.datetime):
        if not pa.types.is_timestamp(wanted):
            raise TypeError("it is a timestamp")
        if (value.tzinfo is None) != (wanted.tz is None):
            raise TypeError("it has no time zone" if value.tzinfo is None else "it has a time zone")
    if isinstance(value, str):
        # Arrow does not cast text to times.
        return pa.scalar(dt.time.fromisoformat(value) if pa.types.is_time(wanted) else value).cast(wanted)
    found = pa.scalar(value, wanted)
    if pa.types.is_integer(wanted) and isinstance(value, float) and found.as_py() != value:
        raise TypeError("it is not a whole number")
    if isinstance(value, dt.datetime | dt.time) and found.as_py() != value:
        raise TypeError("it is more precise than the column")
    return found
