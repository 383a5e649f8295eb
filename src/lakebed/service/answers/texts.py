"""Rows as JSON."""

from __future__ import annotations

import math
from typing import Any, Final

import pyarrow as pa

_EXACT: Final = 2**53
"""Up to here JavaScript tells whole numbers apart."""


def json_rows(table: pa.Table) -> list[list[Any]]:
    r"""The rows as lists of JSON values.

    Decimals, dates, times and whole numbers that JavaScript would round become text, bytes hexadecimal text.

    >>> json_rows(pa.table({"a": [b"\x01\xff"], "b": [float("nan")], "c": [2**60], "d": [7]}))
    [['01ff', 'NaN', '1152921504606846976', 7]]
    """
    columns = [[_plain(value) for value in _as_text(column).to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = _text_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _text_type(kind: pa.DataType) -> pa.DataType:
    """The type with text wherever JSON has no type of its own; Arrow makes the texts."""
    if pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _text_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_text_type(kind.key_type), _text_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_text_type(kind.value_type))
    return kind


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        return str(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [{"key": _plain(i[0]), "value": _plain(i[1])} if isinstance(i, tuple) else _plain(i) for i in value]
    return value
