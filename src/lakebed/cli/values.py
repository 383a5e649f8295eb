"""Rows of Arrow tables as JSON values, without loss. Imported late, as it brings Arrow along.

Numbers stay numbers; decimals, dates and times become text as SQL writes them; bytes become hexadecimal text; maps become
lists of key and value; NaN and the infinities, which JSON has no word for, become text.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from lakebed.scan import Scan
from lakebed.system_tables import SystemScan


def head(scan: Scan | SystemScan, limit: int) -> pa.Table:
    """At least one row more than asked for, if there are, so that it can be told; 0 asks for all.

    Of a table no more is read than needed for that.
    """
    if limit == 0 or not isinstance(scan, Scan):
        return scan.to_arrow()
    kept: list[pa.RecordBatch] = []
    reader = scan.to_batches()
    for batch in reader:
        kept.append(batch)
        if sum(batch.num_rows for batch in kept) > limit:
            break
    return pa.Table.from_batches(kept, schema=reader.schema)


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type stand to the right of their column."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def json_rows(table: pa.Table) -> list[dict[str, Any]]:
    r"""One dictionary per row.

    >>> import decimal
    >>> json_rows(pa.table({"a": [decimal.Decimal("1.50")], "b": [b"\x01\xff"], "c": [float("nan")]}))
    [{'a': '1.50', 'b': '01ff', 'c': 'NaN'}]
    """
    texts = pa.schema([pa.field(field.name, _as_text(field.type)) for field in table.schema])
    return [{name: _plain(value) for name, value in row.items()} for row in table.cast(texts).to_pylist()]


def _as_text(kind: pa.DataType) -> pa.DataType:
    """The type with text wherever JSON has no type of its own; Arrow makes the texts."""
    if pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _as_text(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_as_text(kind.key_type), _as_text(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_as_text(kind.value_type))
    return kind


def _plain(value: Any) -> Any:
    """What is left for Python: bytes, numbers that are none, and values inside of values."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [{"key": _plain(i[0]), "value": _plain(i[1])} if isinstance(i, tuple) else _plain(i) for i in value]
    return value
