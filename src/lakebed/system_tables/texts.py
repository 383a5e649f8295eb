"""Values in system tables as Paimon prints them: times, rows and partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.format.binary_row import decode_rows
from lakebed.format.java_text import value_text
from lakebed.format.types.data_types import Field, nullable

MILLIS: Final = pa.timestamp("ms")


def make_table(fields: Mapping[str, pa.DataType], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Returns rows as an Arrow table with exactly these columns."""
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(fields.items())))


def row_texts(encoded: pa.Array, fields: Sequence[Field], brackets: str = "{}") -> list[str]:
    """Returns encoded rows as Paimon prints them: ``{2024-01-01, 1}``."""
    if not fields:
        return [brackets] * len(encoded)
    columns = [
        [nullable_text(value, field) for value in column.to_pylist()]
        for column, field in zip(decode_rows(encoded, [nullable(field.type) for field in fields]), fields, strict=True)
    ]
    return [brackets[0] + ", ".join(values) + brackets[1] for values in zip(*columns, strict=True)]


def nullable_text(value: object, field: Field, *, internal: bool = False) -> str:
    """Returns a value as text, or (``internal``) as Java prints the object that holds it; ``null`` for null."""
    return "null" if value is None else value_text(value, field.type, internal=internal)
