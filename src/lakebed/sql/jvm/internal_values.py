"""Converts Arrow values to and from the texts of Spark's internal values (days, microseconds, ...)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def from_internal(text: str, arrow: pa.DataType) -> pa.Scalar:
    """Returns the value of a text of ``Values.java``. Raises an Arrow error or ValueError for a bad value.

    >>> from_internal("19000", pa.date32())
    <pyarrow.Date32Scalar: datetime.date(2022, 1, 8)>
    """
    if pa.types.is_timestamp(arrow):
        return pa.scalar(int(text), pa.int64()).cast(pa.timestamp("us", arrow.tz)).cast(arrow)
    if pa.types.is_date32(arrow):
        return pa.scalar(int(text), pa.int32()).cast(arrow)
    if pa.types.is_boolean(arrow):
        return pa.scalar(text == "true", arrow)
    if pa.types.is_binary(arrow) or pa.types.is_fixed_size_binary(arrow):
        return pa.scalar(bytes.fromhex(text), arrow)
    plain: Callable[[str], Any] = str
    if pa.types.is_integer(arrow):
        plain = int
    elif pa.types.is_floating(arrow):
        plain = float
    elif pa.types.is_decimal(arrow):
        plain = Decimal
    return pa.scalar(plain(text), arrow)


def to_internal(values: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Returns the texts that ``Values.java`` takes for these values.

    >>> to_internal(pa.array([True, None])), to_internal(pa.array([19000], pa.date32()))
    (['true', None], ['19000'])
    """
    kind = values.type
    if pa.types.is_timestamp(kind):
        values = pc.floor_temporal(values, unit="microsecond").cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    return list(values.cast(pa.string()).to_pylist())
