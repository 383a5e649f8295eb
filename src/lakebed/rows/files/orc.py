"""ORC data files: their columns as Arrow, and Arrow rows as a file.

Types are those of Paimon's Java writer: TIME is a number, TIMESTAMP_LTZ is an instant, and each column has the id of
its field as an attribute. Readers find columns by name. ORC stores CHAR with padding, which is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from pyarrow import orc

from lakebed.errors import DataError
from lakebed.format.schema.table_schema import parquet_schema
from lakebed.format.types.data_types import Field
from lakebed.rows.files.stored_types import as_stored
from lakebed.storage import Storage

_ID: Final = "paimon.id"
_DICTIONARY_THRESHOLD: Final = 0.8
# pyarrow reads timestamps as 64 bits of nanoseconds. It writes negative fractions of seconds, which Java cannot read.
_LATEST: Final = 2**63 - 1
_PER_SECOND: Final = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def read_orc(storage: Storage, path: str, fields: Sequence[Field]) -> pa.Table:
    """Returns these columns of a file, found by name."""
    with storage.arrow_filesystem().open_input_file(path) as source:
        file = orc.ORCFile(source)
        there = set(file.schema.names)
        names = [field.name for field in fields if field.name in there]
        if not names:  # reading no column at all would lose the number of rows
            return as_stored(_rows_without_columns(file.nrows), fields)
        table = file.read() if any("." in name for name in names) else file.read(columns=names)
    return as_stored(table, fields, padded=True)


def _rows_without_columns(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)})


def orc_columns(storage: Storage, path: str) -> list[str]:
    """Returns the names of the columns of a file."""
    with storage.arrow_filesystem().open_input_file(path) as source:
        return list(orc.ORCFile(source).schema.names)


class OrcOutput:
    """An ORC file being written, with a codec under its name in pyarrow."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[Field], codec: str, stripe_bytes: int) -> None:
        self._fields = fields
        self._schema = orc_schema(fields)
        self._sink = sink
        self._writer = orc.ORCWriter(
            _Unclosed(sink),
            compression=codec,
            stripe_size=stripe_bytes,
            dictionary_key_size_threshold=_DICTIONARY_THRESHOLD,
        )

    def write(self, columns: Sequence[pa.ChunkedArray]) -> int:
        """Write rows; return the bytes written so far, without those of the current stripe."""
        for field, column in zip(self._fields, columns, strict=True):
            _check_times(column, field.name)
        stored = [_unsliced(column).cast(field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write(pa.Table.from_arrays(stored, schema=self._schema))
        return int(self._sink.tell())

    def close(self) -> None:
        self._writer.close()

    def give_up(self) -> None:
        """Keep the writer from finishing its file when it is garbage-collected."""
        self._writer.is_open = False


def _unsliced(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the column, copied if it is nested and sliced: pyarrow writes sliced structs wrongly."""
    if not pa.types.is_nested(column.type) or not any(chunk.offset for chunk in column.chunks):
        return column
    return column.take(pa.array(np.arange(len(column))))


class _Unclosed:
    """The sink of a writer that closes what it writes to; the owner of the sink asks it for its position later."""

    closed = False

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink

    def write(self, data: bytes) -> int:
        return int(self._sink.write(data))

    def tell(self) -> int:
        return int(self._sink.tell())

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        """Leave the sink open."""


def orc_schema(fields: Iterable[Field]) -> pa.Schema:
    """Returns the Arrow schema for writing ORC, with the ids of fields as attributes."""
    return pa.schema([_orc_field(column) for column in parquet_schema(fields)])


def _orc_field(field: pa.Field) -> pa.Field:
    number = (field.metadata or {}).get(b"PARQUET:field_id")
    return pa.field(field.name, _orc_type(field.type), field.nullable, {_ID: number} if number else None)


def _orc_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_time(kind):
        return pa.int32()
    if pa.types.is_struct(kind):
        return pa.struct([_orc_field(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_orc_field(kind.key_field), _orc_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_orc_field(kind.value_field))
    return kind


def _check_times(column: pa.ChunkedArray, name: str) -> None:
    """Raise for a timestamp that not all readers could read from the file."""
    for times in (found for chunk in column.chunks for found in _timestamps(chunk)):
        per_second = _PER_SECOND[times.type.unit]
        numbers = times.cast(pa.int64()).drop_null().to_numpy()
        unreadable = numbers > _LATEST // (10**9 // per_second)
        unreadable |= (numbers < 0) & (numbers % per_second != 0)
        unreadable |= numbers < -(_LATEST // (10**9 // per_second))
        if unreadable.any():
            raise DataError(
                f"column {name!r} has a timestamp that an ORC file cannot hold for all readers: one before 1677-09-22 "
                "or after 2262-04-11, or one before 1970 with a fraction of a second; write it to a table with "
                "'file.format' = 'parquet'"
            )


def _timestamps(array: pa.Array) -> list[pa.Array]:
    """Returns the timestamps anywhere in an array."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        return [array]
    if pa.types.is_struct(kind):
        return [found for part in array.flatten() for found in _timestamps(part)]
    if pa.types.is_map(kind):
        return _timestamps(array.keys) + _timestamps(array.items)
    if pa.types.is_list(kind):
        return _timestamps(array.flatten())
    return []
