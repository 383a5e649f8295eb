"""Batch reads of the data source ``lakebed``: the schema of a read, and the reader that Spark runs.

Spark plans in one process and reads in others, so everything that a task needs is pickled with its partition. Spark
does not hand the data source to its own Parquet reader: all files go through Lakebed's readers here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lakebed.datasource.source_options import (
    AUDIT_LOG,
    BINLOG,
    Options,
    check_columns,
    fields_of_scan,
    fields_with_kinds,
    open_scan,
    plain_names,
    read_fields,
    wants_kinds,
    wants_updates,
    without_kinds,
)
from lakebed.operations.read_changes import Part
from lakebed.scan import Scan
from lakebed.spark.columns import spark_arrow_schema, spark_batches, spark_schema
from lakebed.spark.read.native_files import TASK_MERGE_BUDGET, divide, pack, split_size
from lakebed.spark.read.read_frame import for_task, read_split
from lakebed.spark.worker_errors import plain_errors
from lakebed.table.internals import parts_of


def read_schema(options: Options) -> StructType:
    """Returns the columns that a read with these options has."""
    with plain_errors():
        given = plain_names(options)
        if wants_updates(given) or wants_kinds(given):
            return spark_schema(fields_with_kinds(without_kinds(given), updates=wants_updates(given)))
        return spark_schema(read_fields(given))


def make_reader(options: Options, schema: StructType) -> DataSourceReader:
    """Returns a reader of the columns in ``schema``; raises SchemaError if their types differ from the table's."""
    with plain_errors():
        given = plain_names(options)
        if wants_updates(given) or wants_kinds(given):
            plain = without_kinds(given)
            given = plain | {"path": plain["path"] + (BINLOG if wants_updates(given) else AUDIT_LOG)}
        scan = open_scan(given)
        fields = {field.name: field for field in fields_of_scan(scan)}
        check_columns(schema, fields, f"table {given['path']}")
        if schema.names != list(fields):
            scan = open_scan(given, schema.names)
        return ScanReader(parts_of(scan)) if isinstance(scan, Scan) else RowsReader(scan.to_arrow)


class ScanReader(DataSourceReader):  # type: ignore[misc]
    """Reads the parts of a scan; each split is one Spark partition."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self._readers = tuple(for_task(part.reader, TASK_MERGE_BUDGET) for part in parts)

    def partitions(self) -> list[InputPartition]:
        """Plan the scan."""
        with plain_errors():
            return self._planned()

    def _planned(self) -> list[InputPartition]:
        found = []
        for number, part in enumerate(self._parts):
            entries = part.result.entries
            size = split_size(part.result.byte_count, len(entries), os.cpu_count() or 1)
            division = divide(part.reader, entries, native=False, split_bytes=size)
            found += [
                InputPartition((number, split)) for split in pack(entries, division.grouped, part.reader.deleted, size)
            ]
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yields the rows of one split, in a task. Without splits, Spark passes a partition without a value."""
        if partition.value is not None:
            number, split = partition.value
            with plain_errors():
                yield from read_split(self._readers[number], split)


class RowsReader(DataSourceReader):  # type: ignore[misc]
    """Reads the rows of a system table in one task."""

    def __init__(self, rows: Callable[[], pa.Table]) -> None:
        self._rows = rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - there is one
        """Runs in a task: yields all rows."""
        with plain_errors():
            table = self._rows()
        schema = spark_arrow_schema(table.schema)
        for batch in table.to_batches():
            yield from spark_batches(batch, schema)
