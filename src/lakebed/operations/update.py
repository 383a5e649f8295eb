"""Update rows: give columns of the rows that satisfy a condition new values, in one commit.

Append tables rewrite the files with matching rows; if another commit removes one of these files first, the commit
raises a conflict and the table is unchanged. Primary-key tables write the changed rows as upserts, so a change that
another commit makes to the same row meanwhile is replaced. Merge engines that would not show the new values are
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import NewFiles
from lakebed.errors import DataError, NotFoundError, OptionError, UnsupportedError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.commit.commit import Change, Commit, append
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import ScanRequest, scan
from lakebed.metadata.store import TableStore
from lakebed.operations.replace_rows import replace_rows
from lakebed.operations.write import Guard, unguarded, write_files
from lakebed.options import TableOptions
from lakebed.rows.conform import cast_column
from lakebed.rows.evaluate import evaluate
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.python_rows import RowsConverter

_MERGING_FIELDS: Final = (".sequence-group", ".aggregate-function", ".default-aggregate-function")
_OPERATION: Final = "UPDATE"


class NewValues:
    """The new values of some columns, each a constant or an Arrow expression over the columns of the table.

    Args:
        schema: The schema of the table.
        where: The table, for messages.
        values: The new values by column.

    Raises:
        DataError: A value does not fit its column.
        NotFoundError: There is no such column.
        OptionError: There are no values.
        UnsupportedError: A column is part of the primary key.
    """

    def __init__(self, schema: TableSchema, where: str, values: Mapping[str, Any]) -> None:
        if not values:
            raise OptionError(f"{where}: an update needs new values, such as update({{'name': 'x'}}, \"id = 1\")")
        self._where = where
        self._fields = schema.fields
        self._values: dict[str, pc.Expression | pa.Scalar] = {}
        for name, value in values.items():
            if name not in schema.field_names:
                raise NotFoundError(unknown_name("column", name, schema.field_names, where=where))
            if name in schema.primary_keys:
                raise UnsupportedError(
                    f"{where}: {name!r} is part of the primary key, which an update cannot change; delete the rows and "
                    "write new ones"
                )
            is_expression = isinstance(value, pc.Expression)
            self._values[name] = value if is_expression else self._constant(schema.field(name), value)

    def _constant(self, field: Field, value: Any) -> pa.Scalar:
        if value is None and not field.type.nullable:
            raise DataError(f"column {field.name!r} of {self._where} is NOT NULL, so it cannot be set to null")
        return RowsConverter([replace(field, default=None)], self._where).table([{field.name: value}])[field.name][0]

    def given_to(self, rows: pa.Table, mask: pa.Array | None = None) -> pa.Table:
        """Returns rows of the table with the new values in those that the mask selects, or in all of them."""
        changed = rows
        for name, value in self._values.items():
            number = self._fields.index(next(field for field in self._fields if field.name == name))
            new = self._column(value, self._fields[number], rows)
            if mask is not None:
                new = pc.if_else(mask, new, rows[name])
            changed = changed.set_column(number, field_to_arrow(self._fields[number]), new)
        return changed

    def _column(self, value: pc.Expression | pa.Scalar, field: Field, rows: pa.Table) -> pa.ChunkedArray:
        where = f"the new value of column {field.name!r} of {self._where}"
        if isinstance(value, pa.Scalar):
            return pa.chunked_array([pa.repeat(value, len(rows))])
        return cast_column(evaluate(value, rows, where), field.type, where)


def check_updatable(schema: TableSchema, name: str, verb: str) -> None:
    """Raises UnsupportedError if the merge engine would not show a row as it is written."""
    engine = TableOptions(schema.options).merge_engine
    if not schema.primary_keys or engine == "deduplicate":
        return
    if engine != "partial-update":
        raise UnsupportedError(
            f"table {name}: {verb} replaces values, but 'merge-engine' = {engine} would merge them with the existing "
            "ones; insert rows instead"
        )
    for option in schema.options:
        if option.startswith("fields.") and option.endswith(_MERGING_FIELDS):
            raise UnsupportedError(
                f"table {name}: {verb} replaces values, but option {option!r} would merge them with the existing ones; "
                "insert rows instead"
            )


def update_append_table(store: TableStore, values: NewValues, node: pred.Node, who: Identity) -> Snapshot | None:
    """Rewrites the files with matching rows; returns ``None`` if no row matches."""
    latest = store.snapshots.latest()
    if latest is None:
        return None
    schema = store.schema()
    deleted = DeletedRows.of(store, store.manifests.read_index(latest.index_manifest))
    reader = FileReader(store, schema, schema.fields, None, deleted)
    read = pred.columns(node)
    finder = replace(reader, columns=tuple(field for field in schema.fields if field.name in read) or schema.fields[:1])
    found = scan(store, ScanRequest(snapshot=latest, schema=schema, predicate=node)).entries
    hit = [pred.matches_rows(node, finder.read(found.slice(i, 1))).any() for i in range(len(found))]
    entries = found.filter(pa.array(hit, pa.bool_()))
    if not len(entries):
        return None

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in reader.batches(entries):
            table = pa.Table.from_batches([batch])
            yield from values.given_to(table, pa.array(pred.matches_rows(node, table))).to_batches()

    data = pa.RecordBatchReader.from_batches(schema.arrow_schema, rows())
    return replace_rows(store, latest, entries, data, who, operation=_OPERATION)


def update_keyed_table(
    store: TableStore, values: NewValues, matching: pa.Table, who: Identity, guard: Guard = unguarded
) -> Snapshot | None:
    """Writes the matching rows with their new values; returns ``None`` if there are none."""
    schema = store.schema()
    check_updatable(schema, store.name, _OPERATION)
    if not len(matching):
        return None
    changed = values.given_to(matching)
    if TableOptions(schema.options).merge_engine == "partial-update":
        check_no_new_nulls(matching, changed, store.name)

    def make(files: NewFiles) -> Commit:
        change = Change(entries=files.data, changelog=files.changelog, index=files.index)
        return append(change, user=who.user, identifier=who.identifier, operation=_OPERATION)

    return write_files(store, changed, make, guard=guard)


def check_no_new_nulls(old: pa.Table, new: pa.Table, name: str) -> None:
    """Raises UnsupportedError if a value of the same rows became null."""
    for column in old.column_names:
        lost = pc.and_(pc.is_valid(old[column]), pc.is_null(new[column]))
        if pc.any(lost).as_py():
            raise UnsupportedError(
                f"table {name}: the update sets {column!r} to NULL, which 'merge-engine' = partial-update ignores; "
                "delete the row and insert it again. Nothing was written"
            )
