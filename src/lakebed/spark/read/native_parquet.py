"""Reads data files with Spark's own Parquet reader, from an explicit list of files.

Spark lists no folder and takes no partition columns from the names of folders; the files hold all columns. Files whose
schemas name and type the columns alike are one Spark scan. As in any Spark scan, Spark prunes unused columns and pushes
filters down to row groups.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lakebed.errors import NotFoundError, UnsupportedError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Field
from lakebed.rows.files.file_reader import data_file_paths, needed_columns
from lakebed.spark.columns import all_nullable, spark_schema
from lakebed.spark.predicates import named, to_column
from lakebed.spark.read.hadoop_files import HadoopFiles
from lakebed.spark.read.native_evolution import absent, as_now
from lakebed.spark.read.native_files import Reader
from lakebed.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_OPTIONS: Final = {
    "__globPaths__": "false",  # names may contain wildcards
    "recursiveFileLookup": "true",  # no partition columns from the names of folders
    "mergeSchema": "false",
    "ignoreMissingFiles": "false",  # a missing file is an error, whatever the session is set to
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",  # Paimon files never use the Julian calendar
    "int96RebaseMode": "CORRECTED",
}
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_listing_lock = threading.Lock()


def read_files(spark: SparkSession, reader: Reader, entries: pa.Table, files: HadoopFiles) -> DataFrame:
    """Returns the rows of files that need no merge, with the reader's columns and condition."""
    columns = needed_columns(reader.columns, reader.predicate, reader.schema)
    paths = np.array(data_file_paths(reader.store, reader.schema, entries), object)
    if files.is_local:
        _check_present(reader.store.storage, paths.tolist())
    frames = []
    for layout in layouts(reader, columns, np.unique(entries["schema_id"].to_numpy()).tolist()):
        names = paths[np.isin(entries["schema_id"].to_numpy(), layout.schema_ids)].tolist()
        stored = [column for column in layout.stored if column is not None]
        if not stored:  # one column is read to count the rows
            stored = [reader.store.schemas.get(layout.schema_ids[0]).fields[0]]
        frame = _load(spark, files, names, stored)
        now = [
            (absent(column.type) if old is None else as_now(named(old.name), old.type, column.type)).alias(column.name)
            for old, column in zip(layout.stored, columns, strict=True)
        ]
        frames.append(frame.select(*now))
    frame = reduce(lambda left, right: left.unionAll(right), frames)
    if reader.predicate is not None:
        condition = to_column(reader.predicate)
        if condition is None:
            raise UnsupportedError("Spark cannot evaluate this condition, so Lakebed's readers must read the files")
        frame = frame.filter(condition)
    return frame.select(*(named(column.name) for column in reader.columns))


# --------------------------------------------------------------------------------------------------------- layouts


@dataclass(slots=True)
class Layout:
    """Schemas whose files can be read in one scan: they name and type the columns alike, or lack them."""

    stored: list[Field | None]
    schema_ids: list[int] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def takes(self, other: Sequence[Field | None], names: set[str]) -> bool:
        """Whether files with these columns (and all these names) can be read in the same scan."""
        for mine, theirs in zip(self.stored, other, strict=True):
            if mine is not None and theirs is not None:
                if mine.name != theirs.name or all_nullable(mine.type) != all_nullable(theirs.type):
                    return False
            elif mine is not None and mine.name.lower() in names:
                return False  # the name is that of another column there
            elif theirs is not None and theirs.name.lower() in self.names:
                return False
        return True

    def add(self, schema: TableSchema, columns: Sequence[Field | None], names: set[str]) -> None:
        self.stored = [mine or theirs for mine, theirs in zip(self.stored, columns, strict=True)]
        self.schema_ids.append(schema.id)
        self.names |= names


def layouts(reader: Reader, columns: Sequence[Field], schema_ids: Sequence[int]) -> list[Layout]:
    """Groups the schemas of files by how they store the columns. A column that a file lacks is null."""
    found: list[Layout] = []
    for number in schema_ids:
        schema = reader.store.schemas.get(number)
        stored = [schema.fields_by_id.get(column.id) for column in columns]
        names = {name.lower() for name in schema.field_names}
        fitting = next((layout for layout in found if layout.takes(stored, names)), None)
        if fitting is None:
            fitting = Layout([None] * len(columns))
            found.append(fitting)
        fitting.add(schema, stored, names)
    return found


# --------------------------------------------------------------------------------------------------------- loading


def _check_present(storage: Storage, paths: Sequence[str]) -> None:
    """Raises NotFoundError for a missing file; Spark would treat it as a file without rows."""
    gone = next((path for path in paths if not storage.exists(path)), None)
    if gone is not None:
        raise _gone(gone)


def _gone(path: str) -> NotFoundError:
    return NotFoundError(
        f"data file {path} is gone; the snapshot that needs it may have expired. Read a newer snapshot"
    )


def _load(spark: SparkSession, files: HadoopFiles, names: Sequence[str], stored: Sequence[Field]) -> DataFrame:
    paths = [files.uri(name) for name in names]
    reader = spark.read.options(**_OPTIONS, **files.options).schema(spark_schema(stored))
    if not hasattr(spark, "_jsparkSession"):  # Spark Connect
        return reader.parquet(*paths)
    if not files.is_local:
        return _load_remote(spark, reader, paths)
    with _listing_lock:  # for more files than this, Spark would start a task to list each of them
        before = spark.conf.get(_LISTING)
        spark.conf.set(_LISTING, str(2**31 - 1))
        try:
            return _load_classic(spark, reader, paths)
        finally:
            spark.conf.set(_LISTING, before)


def _load_remote(spark: SparkSession, reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    """Lets Spark look for the files, which it does for several at the same time."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - Spark is optional

    try:
        return _load_classic(spark, reader, paths)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise _gone(error.getMessageParameters().get("path", "of the table")) from None
        raise


def _load_classic(spark: SparkSession, reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    """Passes all paths in one call: Py4J makes a round trip for each element of a list."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame  # noqa: PLC0415 - Spark is optional

    jvm = spark.sparkContext._jvm  # noqa: SLF001 - no public way
    array = jvm.java.util.regex.Pattern.compile("\0").split("\0".join(paths))
    return ClassicFrame(reader._jreader.parquet(array), spark)  # noqa: SLF001 - no public way
