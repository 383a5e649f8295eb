"""Reads columns of data files of any supported format; the name of a file says its format.

Only Parquet files can answer a condition (:func:`pushed_condition`). Rows of other formats are filtered by the caller.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ROLL_BACK, CorruptError, NotFoundError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.row_kind import KIND_COLUMN
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN, TableSchema
from lakebed.format.types.data_types import Atomic, Field, field_to_arrow
from lakebed.rows.files import parquet
from lakebed.rows.files.avro_rows import avro_file_columns, read_avro
from lakebed.rows.files.orc import orc_columns, read_orc
from lakebed.rows.files.parquet import read_parquet
from lakebed.rows.files.read_watch import note_read
from lakebed.storage import Storage, run_together

PARQUET: Final = "parquet"
SYSTEM_FIELDS: Final = (
    Field(2**31 - 2, SEQUENCE_COLUMN, Atomic("BIGINT")),
    Field(2**31 - 3, KIND_COLUMN, Atomic("TINYINT")),
)
"""The columns of files of primary-key tables beside those of the table and the copies of its keys."""
_READERS: Final[dict[str, Callable[[Storage, str, Sequence[Field]], pa.Table]]] = {"orc": read_orc, "avro": read_avro}
_NAMES: Final[dict[str, Callable[[Storage, str], list[str]]]] = {"orc": orc_columns, "avro": avro_file_columns}


def format_of(path: str) -> str:
    """Returns the format of a data file by its name.

    >>> format_of("dt=1/bucket-0/data-1-0.zst.orc")
    'orc'
    """
    return path.rpartition(".")[2]


def check_formats(paths: Sequence[str]) -> None:
    """Raise if a file has a format that Lakebed does not read, judged by its name."""
    for path in paths:
        if format_of(path) != PARQUET and format_of(path) not in _READERS:
            raise UnsupportedError(
                f"{path} is not a Parquet, ORC or Avro file; Lakebed does not read other formats. Rewrite the table with "
                "'file.format' = 'parquet', for example by compacting it with Apache Paimon"
            )


def read_columns(
    storage: Storage,
    paths: Sequence[str],
    fields: Sequence[Field],
    columns: Sequence[str],
    rows: pc.Expression | None = None,
) -> pa.Table:
    """Returns columns of files with the schema ``fields``, in the order of the files.

    ``rows`` is what :func:`pushed_condition` returned for these files.
    """
    check_formats(paths)
    if all(format_of(path) == PARQUET for path in paths):
        schema = pa.schema([field_to_arrow(field).with_nullable(True) for field in fields])
        return read_parquet(storage, paths, schema, columns, rows)
    by_name = {field.name: field for field in fields}
    wanted = [by_name[name] for name in columns]
    calls = [partial(_read_one, storage, path, fields, wanted) for path in paths]
    tables = run_together(calls, threads=max(1, os.cpu_count() or 1))
    note_read(sum(table.nbytes for table in tables))
    return pa.concat_tables(tables)


def _read_one(storage: Storage, path: str, fields: Sequence[Field], wanted: Sequence[Field]) -> pa.Table:
    if format_of(path) == PARQUET:
        return read_columns(storage, [path], fields, [field.name for field in wanted])
    try:
        # A file without any of the columns still says how many rows it has, which a table without columns does not.
        table = _READERS[format_of(path)](storage, path, wanted or fields[:1])
        return table.select([field.name for field in wanted])
    except NotFoundError:
        raise _is_gone(path) from None
    except CorruptError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if not storage.exists(path):
            raise _is_gone(path) from error
        reason = str(error).split("\n")[0]
        raise CorruptError(f"data file {path} cannot be read: {reason}; {ROLL_BACK}") from error


def _is_gone(path: str) -> NotFoundError:
    return NotFoundError(
        f"data file {path} is gone; the snapshot that needs it may have expired. Read a newer snapshot"
    )


def column_names(storage: Storage, path: str) -> list[str]:
    """Returns the names of the columns of an ORC or Avro file."""
    return _NAMES[format_of(path)](storage, path)


def pushed_condition(
    node: pred.Node | None, schema: TableSchema, by_id: Mapping[int, Field], paths: Sequence[str]
) -> tuple[pc.Expression | None, bool]:
    """Return the part of a condition that the columns of files can answer, and whether that is all of it."""
    if node is None or node == pred.TRUE:
        return None, True
    if any(format_of(path) != PARQUET for path in paths):
        return None, False
    return parquet.pushed_condition(node, schema, by_id)
