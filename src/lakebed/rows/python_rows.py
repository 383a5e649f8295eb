"""Rows as Python objects, such as dictionaries: their values become columns of the types of a table.

A key that a row lacks has the column's default value, else null. A value is converted if it means the same in the type
of the column: text in ISO form to a date or time, text and integers to DECIMAL, a dictionary to MAP or ROW. A float
becomes the nearest DECIMAL or FLOAT; all other conversions are exact. Everything else raises :class:`DataError` with
the row, the column and the value. Rows are counted from 0.

Arrow converts whole columns. Only values that Arrow has no conversion for are converted one by one.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError, unknown_name
from lakebed.format.schema.table_schema import default_scalar
from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    TIMESTAMP_ROOTS,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Row,
    to_arrow,
)
from lakebed.rows.conform import cast_column

_TEMPORAL: Final = frozenset({"DATE", "TIME", *TIMESTAMP_ROOTS})
_NOT_LISTS: Final = (str, bytes, bytearray, Mapping)
_LONGEST_VALUE: Final = 80
_WIDE: Final = pa.decimal256(76, 38)
_FAILURES: Final = (DataError, pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError)


def _is_row_type(kind: type) -> bool:
    """Returns whether objects of a type are rows: dictionaries, dataclasses and named tuples."""
    return issubclass(kind, Mapping) or dataclasses.is_dataclass(kind) or hasattr(kind, "_asdict")


def _as_mapping(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    mapping: Mapping[str, Any] = row._asdict() if hasattr(row, "_asdict") else dataclasses.asdict(row)
    return mapping


class RowsConverter:
    """Converts rows to Arrow tables with all columns of a table.

    Args:
        fields: The columns of the table.
        where: The table, for messages.
        row_kind: The name of the column with row kinds, of texts, which no row may lack; it may be one of the table.
            ``None`` if there is none.
        needed: Columns that no row may lack, although they are nullable.
    """

    def __init__(
        self, fields: Sequence[Field], where: str, row_kind: str | None = None, needed: Collection[str] = ()
    ) -> None:
        is_extra = row_kind is not None and all(field.name != row_kind for field in fields)
        self._fields = [*fields, Field(0, str(row_kind), Atomic("STRING"))] if is_extra else [*fields]
        self._needed = {*needed} if row_kind is None else {*needed, row_kind}
        self._where = where
        self._defaults = {field.name: default_scalar(field).as_py() for field in fields if field.default is not None}

    def table(self, rows: Sequence[Any], *, first_row: int = 0) -> pa.Table:
        """Returns the rows as an Arrow table.

        Args:
            rows: The rows.
            first_row: The number of the first of them, for messages.

        Raises:
            DataError: An object is not a row, has an unknown key, or has a value that does not fit its column.
        """
        kinds = set(map(type, rows))
        if not all(map(_is_row_type, kinds)):
            number = next(number for number, row in enumerate(rows) if not _is_row_type(type(row)))
            raise DataError(
                f"cannot write {type(rows).__name__}: row {first_row + number} is {_shown(rows[number])}; rows are "
                "dictionaries, dataclasses or named tuples. Nothing was written"
            )
        if not all(issubclass(kind, Mapping) for kind in kinds):
            rows = list(map(_as_mapping, rows))
        self._check_names(rows, first_row)
        columns = [self._column(rows, field, first_row) for field in self._fields]
        return pa.Table.from_arrays(columns, [field.name for field in self._fields])

    def _check_names(self, rows: Sequence[Mapping[str, Any]], first_row: int) -> None:
        known = [field.name for field in self._fields]
        unknown = set(chain.from_iterable(rows)) - set(known)
        if unknown:
            number, name = next((n, key) for n, row in enumerate(rows) for key in row if key in unknown)
            problem = unknown_name("column", str(name), known, where=self._where)
            raise DataError(f"row {first_row + number} of the data: {problem}. Nothing was written")

    def _column(self, rows: Sequence[Mapping[str, Any]], field: Field, first_row: int) -> pa.ChunkedArray:
        name, default = field.name, self._defaults.get(field.name)
        if name in self._needed and not all(name in row for row in rows):
            number = next(number for number, row in enumerate(rows) if name not in row)
            raise DataError(
                f"row {first_row + number} of the data lacks column {name!r}, which {self._where} needs in every row. "
                "Nothing was written"
            )
        values = [row.get(name, default) for row in rows]
        try:
            column = _converted(values, field.type)
        except _FAILURES:
            raise self._refusal(values, field, first_row) from None
        if column.null_count and not field.type.nullable:
            number = pc.index(pc.is_null(column), True).as_py()
            has = "has a null in" if name in rows[number] else "lacks"
            raise DataError(
                f"row {first_row + number} of the data {has} column {name!r} of {self._where}, which is NOT NULL. "
                "Nothing was written"
            )
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])

    def _refusal(self, values: Sequence[Any], field: Field, first_row: int) -> DataError:
        """Returns the error for the first value that cannot be converted."""
        fits, fails = 0, len(values)  # so many of the first values can be converted, and so many cannot
        while fails - fits > 1:
            middle = (fits + fails) // 2
            try:
                _converted(values[:middle], field.type)
                fits = middle
            except _FAILURES:
                fails = middle
        value = values[fits]
        return DataError(
            f"row {first_row + fits} of the data: {_shown(value)} does not fit column {field.name!r} of {self._where}, "
            f"which is {field.type}{_hint(value, field.type)}. Nothing was written"
        )


def _shown(value: object) -> str:
    text = repr(value)
    short = text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
    return f"{short} ({type(value).__name__})"


def _hint(value: object, data_type: DataType) -> str:
    root = data_type.root if isinstance(data_type, Atomic) else ""
    if root == "TIMESTAMP_LTZ":
        return ", an instant: give a time zone, such as 2025-01-31T10:00:00Z"
    if root == "TIMESTAMP":
        return ", a time without a zone, such as 2025-01-31T10:00:00"
    if root == "DATE" and isinstance(value, str):
        return ": write dates as 2025-01-31"
    return ""


# ----------------------------------------------------------------------------------------------------- conversion


def _converted(values: Sequence[Any], data_type: DataType) -> pa.Array | pa.ChunkedArray:
    """Returns values as a column of a type; its parts may be nullable where the type is not."""
    match data_type:
        case Array(element):
            return _lists(values, element)
        case Map(key, value):
            return _maps(values, key, value)
        case Row(fields):
            return _structs(values, fields)
        case Atomic(root):
            return _atoms(values, data_type, root)


def _atoms(values: Sequence[Any], data_type: Atomic, root: str) -> pa.Array | pa.ChunkedArray:
    kinds = set(map(type, values))
    if root == "DECIMAL":
        return _decimals(values, kinds, to_arrow(data_type))
    if root in TIMESTAMP_ROOTS:
        _check_zones(values, kinds, root)
    if root == "DATE" and any(issubclass(kind, dt.datetime) for kind in kinds):
        raise DataError("a time is not a date")
    if root in BINARY_ROOTS and any(issubclass(kind, str) for kind in kinds):
        raise DataError("a text is not bytes")
    if root in _TEMPORAL and str in kinds:
        others = [None if isinstance(value, str) else value for value in values]
        texts = [value if isinstance(value, str) else None for value in values]
        return pc.coalesce(_times(texts, data_type), _exact(others, data_type))
    if root == "FLOAT" and kinds <= {float, int, type(None)}:
        wide = pa.array(values, pa.float64())
        narrow = wide.cast(pa.float32())
        if pc.any(pc.and_(pc.is_inf(narrow), pc.invert(pc.is_inf(wide)))).as_py():
            raise DataError("out of range")
        return narrow
    return _exact(values, data_type)


def _exact(values: Sequence[Any], data_type: Atomic) -> pa.ChunkedArray:
    """Returns values in the type that Arrow infers, cast to another one without loss."""
    column = pa.array(values)
    return cast_column(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), data_type, "")


def _check_zones(values: Sequence[Any], kinds: set[type], root: str) -> None:
    """Raises if some times have a zone and others do not; Arrow would take those without one as UTC."""
    if any(issubclass(kind, dt.datetime) for kind in kinds):
        has_zone = {value.tzinfo is not None for value in values if isinstance(value, dt.datetime)}
        if has_zone != {root == "TIMESTAMP_LTZ"}:
            raise DataError("time zones")


def _times(texts: Sequence[str | None], data_type: Atomic) -> pa.Array:
    """Returns texts in ISO form as dates or times."""
    wanted = to_arrow(data_type)
    if data_type.root == "TIME":  # Arrow does not cast text to times
        times = [None if text is None else dt.time.fromisoformat(text) for text in texts]
        return cast_column(pa.chunked_array([pa.array(times, pa.time64("us"))]), data_type, "").combine_chunks()
    return pa.array(texts, pa.string()).cast(wanted)


def _decimals(values: Sequence[Any], kinds: set[type], wanted: pa.DataType) -> pa.Array:
    kinds = kinds - {type(None)}
    if kinds <= {int, Decimal}:
        return pa.array(values, wanted)
    if not all(issubclass(kind, int | float | str | Decimal | np.integer) for kind in kinds) or bool in kinds:
        raise DataError("not numbers")
    floats = pa.array([value if isinstance(value, float) else None for value in values], pa.float64())
    exact = [None if value is None or isinstance(value, float) else str(value).strip() for value in values]
    rounded = pc.round(floats.cast(pa.string()).cast(_WIDE), wanted.scale, round_mode="half_towards_infinity")
    return pc.coalesce(pa.array(exact, pa.string()).cast(wanted), rounded.cast(wanted))


def _lists(values: Sequence[Any], element: DataType) -> pa.Array:
    given = [value for value in values if value is not None]
    if any(issubclass(kind, _NOT_LISTS) for kind in set(map(type, given))):
        raise DataError("not a list")
    inner = _one_array(_converted(list(chain.from_iterable(given)), element))
    return pa.ListArray.from_arrays(_offsets(values), inner, mask=_nulls(values))


def _maps(values: Sequence[Any], key: DataType, item: DataType) -> pa.Array:
    given = [value.items() if isinstance(value, Mapping) else value for value in values if value is not None]
    pairs = list(chain.from_iterable(given))
    keys = _one_array(_converted([pair[0] for pair in pairs], key))
    items = _one_array(_converted([pair[1] for pair in pairs], item))
    if keys.null_count:
        raise DataError("a key is null")
    return pa.MapArray.from_arrays(_offsets(values), keys, items, mask=_nulls(values))


def _structs(values: Sequence[Any], fields: Sequence[Field]) -> pa.Array:
    rows: list[Mapping[str, Any]] = [{} if value is None else _as_mapping(value) for value in values]
    names = {field.name for field in fields}
    if not set(chain.from_iterable(rows)) <= names:
        raise DataError("unknown field")
    columns = [_one_array(_converted([row.get(field.name) for row in rows], field.type)) for field in fields]
    parts = [pa.field(field.name, column.type) for field, column in zip(fields, columns, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=parts, mask=_nulls(values))


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _offsets(values: Sequence[Any]) -> pa.Array:
    lengths = [0 if value is None else len(value) for value in values]
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _nulls(values: Sequence[Any]) -> pa.Array:
    return pa.array([value is None for value in values], pa.bool_())
