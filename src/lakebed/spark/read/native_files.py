"""Which files Spark reads itself: divides a read into files for Spark's Parquet reader and splits for Lakebed's.

Spark reads a file itself (:func:`divide`, :func:`_fits_spark`) if all of this holds:

* Spark has a file system for the storage (:mod:`lakebed.spark.read.hadoop_files`), and the file is large enough for it;
* no other file can hold a version of its rows, so it needs no merge;
* it is a Parquet file, by its name;
* it has no deleted rows (deletion vectors, or DELETE rows in a primary-key table);
* Spark can read and convert the types of its columns (:mod:`lakebed.spark.read.native_evolution`), and finds them by
  name;
* Spark can evaluate the condition of the read (:func:`lakebed.spark.predicates.to_column`).

All other files are packed into splits, one per Python task. Files that must be merged are in the same split. A task
costs tens of milliseconds, so small files share a split. The cost of opening a file is counted as additional bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import UnsupportedError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import stats_mask
from lakebed.rows.files.file_reader import DeletedRows, FileReader, data_file_paths, needed_columns
from lakebed.rows.files.read_columns import PARQUET, check_formats
from lakebed.rows.keyed.keyed_merge import SYSTEM_COLUMNS
from lakebed.rows.keyed.keyed_read import KeyedReader
from lakebed.spark.read.native_evolution import is_readable, reads_like

SPLIT_BYTES: Final = 128 * 1024 * 1024
OPEN_COST: Final = 4 * 1024 * 1024
# A task merges a bucket in pieces of this size (of files on disk).
TASK_MERGE_BUDGET: Final = 256 * 1024 * 1024
_KEY_PREFIX: Final = "_KEY_"
# Columns of entries that only planning needs.
_PLANNING_ONLY: Final = (
    *("key_min", "key_max", "key_null_counts"),
    *("value_min", "value_max", "value_null_counts", "value_stats_cols"),
)

Rows = npt.NDArray[np.int64]
Reader = FileReader | KeyedReader


@dataclass(frozen=True, slots=True)
class Division:
    """Positions in the table of entries: files for Spark's reader, and groups of files for Lakebed's readers."""

    plain: Rows
    grouped: tuple[Rows, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The files that one task reads: entries as bytes, and the deletion vectors of their files."""

    entries: bytes
    deleted: DeletedRows

    def table(self) -> pa.Table:
        return pa.ipc.open_stream(self.entries).read_all()


def divide(reader: Reader, entries: pa.Table, *, native: bool, split_bytes: int, least_bytes: int = 0) -> Division:
    """Divides the files of a read.

    Without ``native``, Lakebed's readers read all of them; else those below ``least_bytes``.
    """
    check_readable(reader, entries)
    if isinstance(reader, KeyedReader):
        plain, grouped = _keyed(replace(reader, budget=split_bytes), entries)
    else:
        plain, grouped = np.arange(len(entries)), []
    if not native:
        return Division(np.zeros(0, np.int64), (*_singly(plain), *grouped))
    fit = _fits_spark(reader, entries.take(pa.array(plain)))
    fit &= entries["file_size"].to_numpy()[plain] >= least_bytes
    return Division(plain[fit], (*_singly(plain[~fit]), *grouped))


def enough(division: Division, entries: pa.Table, limit: int) -> Division:
    """Returns only the first files for Spark's reader if they hold ``limit`` rows, else the whole division."""
    rows = np.cumsum(entries["row_count"].to_numpy()[division.plain])
    if not len(rows) or rows[-1] < limit:
        return division
    return Division(division.plain[: int(np.searchsorted(rows, limit)) + 1], ())


def check_readable(reader: Reader, entries: pa.Table) -> None:
    """Raises UnsupportedError on the driver for files that no task could read."""
    check_formats(data_file_paths(reader.store, reader.schema, entries))
    if entries["write_cols"].null_count < len(entries):
        name = entries["file_name"].filter(entries["write_cols"].is_valid())[0]
        raise UnsupportedError(
            f"{name} of table {reader.store.name} holds only some columns (data evolution), which Lakebed does not support; "
            "read this table with Apache Paimon"
        )


def _singly(rows: Rows) -> Iterator[Rows]:
    return (rows[i : i + 1] for i in range(len(rows)))


def _keyed(reader: KeyedReader, entries: pa.Table) -> tuple[Rows, list[Rows]]:
    """Returns the files that need no merge, and the groups of files that do."""
    plain: list[int] = []
    grouped: list[Rows] = []
    for job in reader.jobs(entries):
        if job.plain:
            plain += job.rows
        else:
            grouped.append(np.array(sorted(job.rows), np.int64))
    alone = np.array(sorted(plain), np.int64)
    if reader.predicate is not None and len(alone):
        # Planning tests only keys, since a newer version of a row may be in another file. For these files there is
        # none.
        alone = alone[stats_mask(reader.store, entries.take(pa.array(alone)), reader.predicate, reader.schema)]
    return alone, grouped


# --------------------------------------------------------------------------------------------- what Spark can read


def _fits_spark(reader: Reader, entries: pa.Table) -> npt.NDArray[np.bool_]:
    """Returns the files that Spark can read: without deleted rows, with types and names that it supports."""
    ids = entries["schema_id"].to_numpy()
    good = [
        number
        for number in np.unique(ids).tolist()
        if _schema_fits(
            reader.store.schemas.get(number), needed_columns(reader.columns, reader.predicate, reader.schema)
        )
    ]
    fit: npt.NDArray[np.bool_] = np.isin(ids, good)
    fit &= pc.ends_with(entries["file_name"], f".{PARQUET}").to_numpy().astype(np.bool_)
    if reader.deleted.by_file:
        marked = reader.deleted.by_file.keys()
        files = zip(entries["partition"].to_pylist(), entries["file_name"].to_pylist(), strict=True)
        fit &= np.array([file not in marked for file in files], np.bool_)
    return fit


def _schema_fits(file_schema: TableSchema, columns: Iterable[Field]) -> bool:
    by_id = file_schema.fields_by_id
    stored = [*file_schema.field_names]
    if file_schema.primary_keys:
        stored += [*SYSTEM_COLUMNS, *(_KEY_PREFIX + name for name in file_schema.trimmed_primary_key)]
    if len({name.lower() for name in stored}) < len(stored):  # Spark ignores the case of the columns of a file
        return False
    pairs = [(by_id[column.id].type, column.type) for column in columns if column.id in by_id]
    return all(is_readable(old) and is_readable(new) and reads_like(old, new) for old, new in pairs)


# --------------------------------------------------------------------------------------------------------- packing


def split_size(total_bytes: int, files: int, parallelism: int) -> int:
    """Returns the bytes per task: at most :data:`SPLIT_BYTES`, fewer if some cores would have no task."""
    return min(SPLIT_BYTES, max(OPEN_COST, (total_bytes + files * OPEN_COST) // max(1, parallelism)))


def pack(entries: pa.Table, groups: Sequence[Rows], deleted: DeletedRows, split_bytes: int) -> list[Split]:
    """Packs groups of files into splits of a size."""
    sizes = entries["file_size"].to_numpy()
    weights = [int(np.sum(np.maximum(sizes[group], OPEN_COST))) for group in groups]
    slim = entries.drop_columns(list(_PLANNING_ONLY))
    packed: list[list[Rows]] = []
    held = split_bytes
    for group, weight in zip(groups, weights, strict=True):
        if held + weight > split_bytes:
            packed.append([])
            held = 0
        packed[-1].append(group)
        held += weight
    return [_split(slim.take(pa.array(np.concatenate(rows))), deleted) for rows in packed]


def _split(entries: pa.Table, deleted: DeletedRows) -> Split:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, entries.schema, options=options) as stream:
        stream.write_table(entries.combine_chunks())
    found = {}
    if deleted.by_file:
        files = zip(entries["partition"].to_pylist(), entries["file_name"].to_pylist(), strict=True)
        found = {file: deleted.by_file[file] for file in files if file in deleted.by_file}
    return Split(sink.getvalue().to_pybytes(), DeletedRows(found))
