r"""Rows of Arrow tables as JSON values, without loss; the command line and the service both print them this way.

Integers, finite floats, booleans and texts stay as they are. Decimals, dates and times become text as SQL writes them,
bytes hexadecimal text, maps lists of ``key`` and ``value``. NaN and the infinities, which JSON cannot express, become
text.
"""

from __future__ import annotations

import math
from typing import Any, Final

import pyarrow as pa

_EXACT_IN_JAVASCRIPT: Final = 2**53


def json_records(table: pa.Table) -> list[dict[str, Any]]:
    r"""Returns one dictionary per row.

    >>> import decimal
    >>> json_records(pa.table({"a": [decimal.Decimal("1.50")], "b": [b"\x01\xff"], "c": [float("nan")]}))
    [{'a': '1.50', 'b': '01ff', 'c': 'NaN'}]
    """
    return [dict(zip(table.column_names, row, strict=True)) for row in json_rows(table)]


def json_rows(table: pa.Table, *, for_javascript: bool = False) -> list[list[Any]]:
    """Returns one list of values per row.

    JavaScript reads every number as a double: with ``for_javascript``, integers beyond 2**53 become text.

    >>> rows = pa.table({"a": [2**60], "b": [7]})
    >>> json_rows(rows), json_rows(rows, for_javascript=True)
    ([[1152921504606846976, 7]], [['1152921504606846976', 7]])
    """
    most = _EXACT_IN_JAVASCRIPT if for_javascript else None
    columns = [[_json_value(value, most) for value in _with_texts(column).to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _with_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = _text_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _text_type(kind: pa.DataType) -> pa.DataType:
    """Returns the type with text wherever JSON has no type of its own; Arrow makes the texts."""
    if pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _text_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_text_type(kind.key_type), _text_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_text_type(kind.value_type))
    return kind


def _json_value(value: Any, most: int | None) -> Any:
    """Converts what Arrow leaves: bytes, floats that are not finite, large integers, and values inside of values."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if most is not None and isinstance(value, int) and abs(value) > most:
        return str(value)
    if isinstance(value, dict):
        return {name: _json_value(inner, most) for name, inner in value.items()}
    if isinstance(value, list):
        return [
            {"key": _json_value(item[0], most), "value": _json_value(item[1], most)}
            if isinstance(item, tuple)
            else _json_value(item, most)
            for item in value
        ]
    return value
