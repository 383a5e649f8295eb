"""The options of streams of ``format("lakebed")``: where it starts, how much a batch reads, how it is written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakebed.datasource.source_options import (
    NEW_COLUMNS,
    SEQUENCES,
    STREAM_LIMITS,
    STREAM_STARTS,
    Options,
    as_arrays,
    check_columns,
    chosen_columns,
    plain_names,
    read_fields,
    stream_table,
    wants_kinds,
    wants_updates,
    without_kinds,
    writable_table,
)
from lakebed.errors import OptionError, SchemaError, UnsupportedError
from lakebed.format.schema.table_schema import TableSchema
from lakebed.options import TableOptions
from lakebed.rows.where import parse_where
from lakebed.spark.worker_errors import plain_errors
from lakebed.spark.write.write_mode import WriteMode
from lakebed.streams.positions import Limits
from lakebed.streams.stream_files import ROW_KIND
from lakebed.streams.table_stream import TableStream
from lakebed.table.internals import store_of
from lakebed.table_checks import checked_schema
from lakebed.table_kinds import rules_of

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter
    from pyspark.sql.types import StructType

_STORED_LIMITS = {
    "files": TableOptions.read_stream_max_files,
    "size": TableOptions.read_stream_max_bytes,
    "rows": TableOptions.read_stream_max_rows,
}


def make_stream_reader(options: Options, schema: StructType) -> DataSourceStreamReader:
    """Returns a reader of the columns in ``schema``; it raises SchemaError if their types differ from the table's."""
    with plain_errors():
        try:
            from lakebed.datasource.stream_source import TableStreamReader  # noqa: PLC0415 - not in all versions of Spark
        except ImportError:
            from lakebed.datasource.no_stream_reader import NoStreamReader  # noqa: PLC0415 - see above

            return NoStreamReader()
        return TableStreamReader(partial(_stream, plain_names(options), schema))


def _stream(given: dict[str, str], wanted: StructType) -> tuple[TableStream, Limits]:
    updates = wants_updates(given)
    kinds = updates or wants_kinds(given)
    given = without_kinds(given) if kinds else given
    table = stream_table(given)
    store = store_of(table)
    schema = checked_schema(store, writing=False)
    rules = rules_of(store)
    rules.check_streamable(schema)
    columns = wanted[1:] if kinds else wanted
    if updates and "where" in given:
        raise UnsupportedError(
            "a stream of $binlog takes no condition: it may be true before an update and false after it; filter the frame"
        )
    if kinds and TableOptions(schema.options).table_read_sequence_number:
        raise UnsupportedError(f"a stream has no sequence numbers; leave option {SEQUENCES!r} out")
    if kinds and (not wanted.names or wanted.names[0] != ROW_KIND.name):
        raise SchemaError(
            f"column {ROW_KIND.name!r} must be the first column of a changelog; name it first in the schema"
        )
    fields = as_arrays(schema.fields) if updates else schema.fields
    check_columns(columns, {field.name: field for field in fields}, f"table {given['path']}")
    _check_todays(given, columns, schema)
    text = given.get("where")
    predicate = None if text is None else parse_where(text, schema.fields)
    every = chosen_columns(given) is None and columns.names == list(schema.field_names)
    passes = _new_columns_pass(given)
    stream = TableStream(store, schema, schema.select(columns.names), predicate, kinds, every, passes, updates)
    return rules.stream(stream), _limits(given, TableOptions(schema.options))


def _check_todays(given: dict[str, str], columns: StructType, schema: TableSchema) -> None:
    """Raises SchemaError if Spark took the columns of the first snapshot and the current ones differ."""
    if chosen_columns(given) is not None or columns.names == list(schema.field_names):
        return
    if STREAM_STARTS & given.keys() and columns.names == [field.name for field in read_fields(given)]:
        raise SchemaError(
            f"table {given['path']} had other columns at the snapshot that this stream begins with; name the columns to read; "
            f'option("columns", "{", ".join(schema.field_names)}") reads all current ones'
        )


def _limits(given: dict[str, str], stored: TableOptions) -> Limits:
    """Returns the limits of a batch: options of the query, else of the table."""
    found: dict[str, int] = {}
    for part, option in _STORED_LIMITS.items():
        limit = option.read(stored)
        if limit is not None:
            found[part] = limit
    for name, part in STREAM_LIMITS.items():
        if name in given:
            try:
                found[part] = int(given[name])
            except ValueError:
                raise OptionError(f"option {name!r} must be a number, not {given[name]!r}") from None
    for part, value in found.items():
        if value < 1:
            raise OptionError(
                f"the maximal number of {'bytes' if part == 'size' else part} of a batch must be 1 or more, not {value}"
            )
    return Limits(**found)


def _new_columns_pass(given: dict[str, str]) -> bool:
    value = given.get(NEW_COLUMNS, "stop").lower()
    if value not in {"stop", "ignore"}:
        raise OptionError(f"option {NEW_COLUMNS!r} must be stop or ignore, not {value!r}")
    return value == "ignore"


def make_stream_writer(options: Options, schema: StructType, *, overwrite: bool) -> DataSourceStreamWriter:
    """Returns a writer of batches with this schema."""
    with plain_errors():
        from lakebed.datasource.stream_sink import TableStreamWriter  # noqa: PLC0415 - batches do not need it

        given = plain_names(options)
        table = writable_table(given)
        for name in ("partition", "partitionoverwritemode"):
            if name in given:
                raise OptionError(
                    f"option {name!r} is for batches; a stream appends, or replaces all rows; leave it out"
                )
        # In output mode "complete" a batch has all rows, so it replaces all partitions.
        mode = WriteMode(overwrite, None, dynamic=False if overwrite else None, row_kind=given.get("row_kind"))
        return TableStreamWriter(table._store, schema, mode)  # noqa: SLF001 - one product, two packages
