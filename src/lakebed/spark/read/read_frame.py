"""Returns a scan as a Spark DataFrame.

Spark's own Parquet reader reads the files that :mod:`lakebed.spark.read.native_files` finds suitable. Lakebed's readers
read the others in ``mapInArrow``, with only the columns and rows of the scan. No data file is opened before the
DataFrame is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.operations.read_changes import Part
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.rows.keyed.keyed_read import KeyedReader
from lakebed.rows.row_origins import batches_with_origins, check_origins
from lakebed.spark.columns import spark_arrow_schema, spark_batches, spark_schema
from lakebed.spark.predicates import to_column
from lakebed.spark.read.decode_manifests import ManifestJob
from lakebed.spark.read.hadoop_files import hadoop_files
from lakebed.spark.read.native_evolution import absent
from lakebed.spark.read.native_files import (
    TASK_MERGE_BUDGET,
    Reader,
    Split,
    check_readable,
    divide,
    enough,
    pack,
    split_size,
)
from lakebed.spark.read.native_parquet import read_files
from lakebed.spark.session import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNKNOWN_PARALLELISM: Final = 8


def to_spark(
    spark: SparkSession,
    parts: Sequence[Part],
    *,
    merge_budget: int = TASK_MERGE_BUDGET,
    limit: int | None = None,
    origins: Sequence[Field] = (),
) -> DataFrame:
    """Returns the rows of a scan as a DataFrame. ``merge_budget`` limits the bytes of files that a task merges at once.

    With ``limit`` the frame has at least that many rows, or all rows; files beyond that may be skipped. ``origins`` are
    metadata columns (:mod:`lakebed.rows.row_origins`), which follow the columns of the parts.
    """
    planned = [planned_on(spark, part) for part in parts]
    frames = [
        frame
        for part in planned
        for frame in (
            _frames_with_origins(spark, part.reader, part.result.entries, origins)
            if origins
            else _frames(spark, part.reader, part.result.entries, merge_budget, limit)
        )
    ]
    if not frames:
        columns = (*parts[0].columns, *origins)
        return spark.range(0).select(*(absent(column.type).alias(column.name) for column in columns))
    return reduce(lambda left, right: left.unionAll(right), frames)


def planned_on(spark: SparkSession, part: Part) -> Part:
    """Returns the part with manifests that Spark reads if they are many.

    A part that is already planned is returned unchanged.
    """
    if part.planned.is_made or part.read_manifests is not None:
        return part
    return replace(part, read_manifests=ManifestJob(spark))


def _frames(
    spark: SparkSession, reader: Reader, entries: pa.Table, merge_budget: int, limit: int | None
) -> Iterator[DataFrame]:
    if not len(entries):
        return
    total = int(pc.sum(entries["file_size"]).as_py())
    size = split_size(total, len(entries), parallelism(spark))
    files = hadoop_files(spark, reader.store)
    native = files is not None and (reader.predicate is None or to_column(reader.predicate) is not None)
    least = 0 if files is None else files.least_bytes
    division = divide(reader, entries, native=native, split_bytes=size, least_bytes=least)
    if limit is not None and reader.predicate is None:
        division = enough(division, entries, limit)
    if files is not None and len(division.plain):
        yield read_files(spark, reader, entries.take(pa.array(division.plain)), files)
    if division.grouped:
        splits = pack(entries, division.grouped, reader.deleted, size)
        yield _read_splits(spark, for_task(reader, merge_budget), splits)


def _frames_with_origins(
    spark: SparkSession, reader: Reader, entries: pa.Table, origins: Sequence[Field]
) -> Iterator[DataFrame]:
    """Yields the rows with metadata columns; only Lakebed's readers add these."""
    if not len(entries):
        return
    check_readable(reader, entries)
    check_origins(reader, entries)
    size = split_size(int(pc.sum(entries["file_size"]).as_py()), len(entries), parallelism(spark))
    splits = pack(entries, list(np.arange(len(entries)).reshape(-1, 1)), reader.deleted, size)
    yield _read_splits(spark, for_task(reader, TASK_MERGE_BUDGET), splits, origins)


def parallelism(spark: SparkSession) -> int:
    """Returns the number of tasks that run at once; a constant with Spark Connect, which does not tell it."""
    if hasattr(spark, "_jsparkSession"):
        return int(spark.sparkContext.defaultParallelism)
    return _UNKNOWN_PARALLELISM


def _read_splits(
    spark: SparkSession, reader: Reader, splits: Sequence[Split], origins: Sequence[Field] = ()
) -> DataFrame:
    # The function carries the splits, each a few bytes. A DataFrame of splits would need a shuffle to get exactly one
    # into each task.
    numbers = spark.range(0, len(splits), 1, len(splits))
    kernel = partial(_run_splits, reader, tuple(splits), tuple(origins))
    return map_in_arrow(numbers, kernel, spark_schema([*reader.columns, *origins]))


def _run_splits(
    reader: Reader, splits: Sequence[Split], origins: Sequence[Field], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: takes numbers of splits, yields their rows."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from read_split(reader, splits[number], origins)


def for_task(reader: Reader, merge_budget: int) -> Reader:
    """Returns the reader for tasks, without what only planning needs."""
    if isinstance(reader, KeyedReader):
        return replace(reader, deleted=DeletedRows(), budget=merge_budget)
    return replace(reader, deleted=DeletedRows())


def read_split(reader: Reader, split: Split, origins: Sequence[Field] = ()) -> Iterator[pa.RecordBatch]:
    """Yields the rows of one split in the types that Spark takes."""
    reader.store.check_seen()
    schema = spark_arrow_schema(pa.schema([*reader.arrow_schema, *map(field_to_arrow, origins)]))
    reader, entries = replace(reader, deleted=split.deleted), split.table()
    for batch in batches_with_origins(reader, entries, origins) if origins else reader.batches(entries):
        yield from spark_batches(batch, schema)
