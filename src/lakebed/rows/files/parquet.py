"""Reads columns of Parquet data files into Arrow; a failure names the damaged file.

Pages are compared with their checksums. Files of Lakebed have them; those of other writers may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lakebed.errors import ROLL_BACK, CorruptError, ExpressionError, LakebedError, NotFoundError
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Array, Atomic, DataType, Field, Map, Row
from lakebed.rows.files.evolve import same_type
from lakebed.rows.files.read_watch import Watcher, current_watcher, note_read
from lakebed.rows.files.remote_parquet import read_remote_parquet
from lakebed.storage import Storage

_FORMAT: Final[Any] = ds.ParquetFileFormat(page_checksum_verification=True)


def read_parquet(
    storage: Storage, paths: Sequence[str], schema: pa.Schema, columns: Sequence[str], rows: pc.Expression | None = None
) -> pa.Table:
    """Columns of files that share a schema, in the order of the files; row groups that cannot match are skipped."""
    if storage.has_ranges:
        try:
            table = read_remote_parquet(storage, paths, schema, columns, rows)
        except (pa.ArrowException, OSError, NotFoundError) as error:
            raise _blame(storage, paths, rows, error) from error
        note_read(table.nbytes)
        return table
    filesystem = storage.arrow_filesystem()
    try:
        fragments = [_FORMAT.make_fragment(path, filesystem) for path in paths]
        dataset = ds.FileSystemDataset(fragments, schema, _FORMAT, filesystem)
        watcher = current_watcher()
        if watcher is None:
            return dataset.to_table(columns=list(columns), filter=rows)
        return _watched_table(dataset.scanner(columns=list(columns), filter=rows), watcher)
    except (pa.ArrowException, OSError) as error:
        raise _blame(storage, paths, rows, error) from error


def _watched_table(scanner: Any, watcher: Watcher) -> pa.Table:
    """Returns all rows, and lets the watcher end the read after each batch, also after one without a matching row."""
    kept = []
    for batch in scanner.to_batches():
        watcher(batch.nbytes)
        kept.append(batch)
    return pa.Table.from_batches(kept, schema=scanner.projected_schema)


def pushed_condition(
    node: pred.Node | None, schema: TableSchema, by_id: Mapping[int, Field]
) -> tuple[pc.Expression | None, bool]:
    """Return the part of a condition that a file's own columns can answer, and whether that is all of it.

    Floating point columns are left out, because statistics of row groups do not show NaN.
    """
    if node is None or node == pred.TRUE:
        return None, True
    names = {}
    for name in pred.columns(node):
        column = schema.field(name)
        stored = by_id.get(column.id)
        if stored is not None and same_type(stored.type, column.type) and not _holds_floats(stored.type):
            names[name] = stored.name
    part = pred.implied(node, names)
    if part == pred.TRUE:
        return None, False
    return pred.to_arrow_expression(pred.rename(part, names)), part == node


def _holds_floats(data_type: DataType) -> bool:
    """Whether a column has floating point numbers anywhere inside."""
    match data_type:
        case Atomic(root):
            return root in {"FLOAT", "DOUBLE"}
        case Array(element):
            return _holds_floats(element)
        case Map(key, value):
            return _holds_floats(key) or _holds_floats(value)
        case Row(fields):
            return any(_holds_floats(field.type) for field in fields)


def without_rows(table: pa.Table, deleted: npt.NDArray[np.int64], path: str) -> pa.Table:
    """Return the rows of a whole file without those at some positions."""
    return table.filter(pa.array(~marked_rows(table, deleted, path)))


def marked_rows(table: pa.Table, deleted: npt.NDArray[np.int64], path: str) -> npt.NDArray[np.bool_]:
    """Return which rows of a whole file a deletion vector marks."""
    if len(deleted) and int(deleted[-1]) >= len(table):
        raise CorruptError(
            f"the deletion vector of {path} names row {int(deleted[-1])}, but the file has {len(table)} rows; "
            "restore its index file or roll back"
        )
    marked = np.zeros(len(table), np.bool_)
    marked[deleted] = True
    return marked


def _blame(storage: Storage, paths: Sequence[str], rows: pc.Expression | None, error: Exception) -> LakebedError:
    """Return an error that names the file that made a read fail; each file is tried on its own.

    If every file can be read, it was the condition, such as a cast of a text that is no number.
    """
    filesystem = storage.arrow_filesystem()
    for path in paths:
        if not storage.exists(path):
            return NotFoundError(
                f"data file {path} is gone; the snapshot that needs it may have expired. Read a newer snapshot"
            )
        try:
            with pq.ParquetFile(path, filesystem=filesystem, page_checksum_verification=True) as file:
                for batch in file.iter_batches():
                    del batch
        except (pa.ArrowException, OSError) as problem:
            reason = str(problem).split("\n")[0]
            return CorruptError(f"data file {path} cannot be read: {reason}; {ROLL_BACK}")
    if rows is not None and isinstance(error, pa.ArrowInvalid):
        return ExpressionError(f"the condition cannot be evaluated on these rows: {str(error).splitlines()[0]}")
    return CorruptError(f"data files {paths[0]} and following cannot be read: {error}")
