"""Reads rows together with where they are stored: the metadata columns of Paimon.

Only rows that are read as they are in their file have an origin. Files of a primary-key table that have to be merged
are refused, as in Paimon's Spark connector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_table
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Atomic, Field, Row, field_to_arrow, to_arrow
from lakebed.rows.files.file_reader import FileReader, data_file_paths, needed_columns
from lakebed.rows.keyed.keyed_read import KeyedReader

FILE_PATH: Final = "__paimon_file_path"
ROW_INDEX: Final = "__paimon_row_index"
PARTITION: Final = "__paimon_partition"
BUCKET: Final = "__paimon_bucket"


def origin_fields(schema: TableSchema) -> tuple[Field, ...]:
    """Returns the metadata columns of a table, without those whose name is that of one of its columns."""
    taken = {name.lower() for name in schema.field_names}
    fields = (
        Field(0, FILE_PATH, Atomic("STRING"), "the file that holds the row"),
        Field(0, ROW_INDEX, Atomic("BIGINT"), "the position of the row in its file, from 0"),
        Field(0, PARTITION, Row(schema.partition_fields), "the partition of the row"),
        Field(0, BUCKET, Atomic("INT"), "the bucket of the row"),
    )
    return tuple(field for field in fields if field.name not in taken)


def check_origins(reader: FileReader | KeyedReader, entries: pa.Table) -> None:
    """Raises UnsupportedError if files have to be merged: a merged row is in several files."""
    if type(reader) is FileReader:
        return
    if type(reader) is KeyedReader and all(job.plain for job in reader.jobs(entries)):
        return
    raise UnsupportedError(
        f"table {reader.store.name}: rows that are merged from several files have no metadata columns such as "
        f"{FILE_PATH!r}; they are read from append tables, and from primary-key tables with deletion vectors or after a "
        "full compaction"
    )


def batches_with_origins(
    reader: FileReader | KeyedReader, entries: pa.Table, origins: Sequence[Field]
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of files with their metadata columns, file by file."""
    needed = needed_columns(reader.columns, reader.predicate, reader.schema)
    whole = FileReader(reader.store, reader.schema, needed)
    asked = [column.name for column in reader.columns]
    schema = pa.schema([*reader.arrow_schema, *map(field_to_arrow, origins)])
    places = entries.select(["partition", "file_name", "bucket"]).to_pylist()
    for i, path in enumerate(data_file_paths(reader.store, reader.schema, entries)):
        rows = whole.read(entries.slice(i, 1))
        kept = np.ones(len(rows), bool)
        gone = reader.deleted.positions(reader.store, places[i]["partition"], places[i]["file_name"])
        if gone is not None:
            kept[gone] = False
        if reader.predicate is not None:
            kept &= pred.matches_rows(reader.predicate, rows)
        found = np.flatnonzero(kept)
        columns = rows.select(asked).take(pa.array(found)).columns
        columns += [_origin(field, path, places[i], reader.schema, found) for field in origins]
        yield from pa.Table.from_arrays(columns, schema=schema).to_batches()


def _origin(field: Field, path: str, place: dict[str, Any], schema: TableSchema, found: np.ndarray) -> pa.Array:
    kind = to_arrow(field.type)
    if field.name == ROW_INDEX:
        return pa.array(found, kind)
    if field.name == FILE_PATH:
        value: Any = path if "://" in path else f"file:{path}"
    elif field.name == PARTITION:
        (value,) = partition_table(
            pa.array([place["partition"]], pa.binary()), schema.partition_fields
        ).to_pylist() or [{}]
    else:
        value = place["bucket"]
    return pa.repeat(pa.scalar(value, kind), len(found))
