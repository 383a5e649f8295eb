"""Avro data files: their columns as Arrow, and Arrow rows as a file.

Types are those of Paimon's Java writer, which gives the logical type of instants to TIMESTAMP and that of local
timestamps to TIMESTAMP_LTZ; readers use the numbers only. Fields are found by name. Rows are encoded and decoded by
column (:mod:`lakebed.format.manifest.avro`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from lakebed.format.manifest import avro, avro_columns
from lakebed.format.types.data_types import Field
from lakebed.rows.files.avro_schema import avro_schema
from lakebed.rows.files.stored_types import as_stored
from lakebed.storage import Storage

_STEP_BYTES: Final = 64 * 1024 * 1024


def read_avro(storage: Storage, path: str, fields: Sequence[Field]) -> pa.Table:
    """Returns these columns of a file, found by name."""
    table, rows = avro.decode_data(storage.read(path), [field.name for field in fields], where=f"data file {path}")
    if not table.num_columns:  # a table without columns has no number of rows
        table = pa.table({"": pa.nulls(rows)})
    return as_stored(table, fields)


def avro_file_columns(storage: Storage, path: str) -> list[str]:
    """Returns the names of the columns of a file."""
    return avro.data_columns(storage.read(path), where=f"data file {path}")


class AvroOutput:
    """An Avro file being written, with a codec under its name in Avro."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[Field], codec: str, level: int) -> None:
        self._codec = codec
        self._level = level
        self._fields = fields
        self._schema = avro_schema(fields)
        self._sink = sink
        self._header = avro.encode(self._schema, [], codec=self._codec, level=level)
        self._sink.write(self._header)

    def write(self, columns: Sequence[pa.ChunkedArray]) -> int:
        """Write rows; return the bytes written so far."""
        rows = pa.table(columns, names=[field.name for field in self._fields])
        step = max(1, _STEP_BYTES * len(rows) // max(_STEP_BYTES, rows.nbytes))
        for start in range(0, len(rows), step):
            part = rows.slice(start, step)
            named = {name: part[name].combine_chunks() for name in part.column_names}
            records = avro_columns.encode_records(self._schema, named, len(part))
            self._sink.write(avro_columns.blocks(self._header, records, codec=self._codec, level=self._level))
        return int(self._sink.tell())

    def close(self) -> None:
        """Do nothing: every block is complete."""

    def give_up(self) -> None:
        """Do nothing: nothing is buffered."""
