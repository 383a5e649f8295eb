"""What users give to ``write`` as rows: Arrow, pandas and Polars data, streams, and rows as Python objects.

:func:`open_batches` returns Arrow. Columns of Arrow data keep their types, and :mod:`lakebed.rows.conform` casts what
can be cast without loss. Rows as Python objects follow the types of the table (:mod:`lakebed.rows.python_rows`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import DataError
from lakebed.format.types.data_types import Field
from lakebed.rows.python_rows import RowsConverter

_ROWS_AT_ONCE: Final = 65_536
_KNOWN: Final = (
    "give an Arrow table, batch or stream, a pandas or Polars frame, or a list or generator of dictionaries or "
    "dataclasses"
)


def open_batches(
    data: Any, fields: Sequence[Field], *, where: str, row_kind: object = None, needed: Collection[str] = ()
) -> pa.Table | pa.RecordBatchReader:
    """Returns rows as Arrow.

    Args:
        data: The rows.
        fields: The columns of the table, whose types rows as Python objects get.
        where: The table, for messages.
        row_kind: The name of a column with row kinds; any other value is ignored.
        needed: Columns that no row may lack, although they are nullable.

    Raises:
        DataError: The data is not in a known form, or a value does not fit its column.
    """
    try:
        opened = _arrow_data(data)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        reason = str(error.args[0] if error.args else error).split("\n")[0]
        raise DataError(f"cannot take columns from a {type(data).__name__}: {reason}. Nothing was written") from None
    if opened is not None:
        return opened
    if isinstance(data, Mapping):
        raise DataError(
            f"cannot write {type(data).__name__}: one row is a list of one dictionary, columns are an Arrow table"
        )
    if not isinstance(data, Iterable) or isinstance(data, str | bytes) or _is_of(data, "pandas", "polars", "numpy"):
        raise DataError(f"cannot write {type(data).__name__}: {_KNOWN}")
    converter = RowsConverter(fields, where, row_kind if isinstance(row_kind, str) else None, needed)
    if isinstance(data, Sequence):
        return converter.table(data)
    return _stream(iter(data), converter)


def _arrow_data(data: Any) -> pa.Table | pa.RecordBatchReader | None:
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    kind = f"{type(data).__module__.split('.')[0]}.{type(data).__name__}"
    if kind in {"polars.DataFrame", "polars.LazyFrame"}:
        return (data.collect() if kind == "polars.LazyFrame" else data).to_arrow()
    if kind == "pandas.DataFrame":
        return pa.Table.from_pandas(data, preserve_index=False)
    if hasattr(data, "__arrow_c_stream__") and not _is_of(data, "pandas", "polars"):
        return pa.RecordBatchReader.from_stream(data)
    return None


def _is_of(data: Any, *packages: str) -> bool:
    return type(data).__module__.split(".")[0] in packages


def _stream(rows: Iterator[Any], converter: RowsConverter) -> pa.RecordBatchReader | pa.Table:
    """Returns the rows of a generator as a stream, so that not all of them are in memory at once."""
    first = list(islice(rows, _ROWS_AT_ONCE))
    if len(first) < _ROWS_AT_ONCE:
        return converter.table(first)

    def batches() -> Iterator[pa.RecordBatch]:
        number = 0
        for start in chain([first], iter(lambda: list(islice(rows, _ROWS_AT_ONCE)), [])):
            yield from converter.table(start, first_row=number).to_batches()
            number += len(start)

    return pa.RecordBatchReader.from_batches(converter.table([]).schema, batches())
