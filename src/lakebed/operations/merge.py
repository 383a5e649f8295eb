"""Merge rows of a source into a table: update, delete or insert, decided row by row, in one commit.

The source is joined with the table by equal keys; null keys match nothing. The first clause whose condition holds
decides what happens to a row, and a row without such a clause stays as it is. Values and conditions are Arrow
expressions over the columns of both, which are named ``target.x`` and ``source.x``.

Append tables rewrite the files with changed rows, one after the other. Primary-key tables write the changed rows and
deletes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engine import NewFiles
from lakebed.errors import DataError, NotFoundError, OptionError, UnsupportedError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.row_kind import DELETE, INSERT, KIND_TEXTS, UPDATE_AFTER
from lakebed.format.schema.table_schema import TableSchema, default_scalar
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field, field_to_arrow, to_arrow
from lakebed.metadata.commit.commit import Change, Commit, append
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import ScanRequest, scan
from lakebed.metadata.store import TableStore
from lakebed.operations.delete import check_removes
from lakebed.operations.read import BranchRead
from lakebed.operations.replace_rows import replace_rows
from lakebed.operations.update import check_no_new_nulls, check_updatable
from lakebed.operations.write import Guard, unguarded, write_files
from lakebed.options import TableOptions
from lakebed.rows.conform import cast_column
from lakebed.rows.evaluate import evaluate
from lakebed.rows.files.file_reader import DeletedRows, FileReader
from lakebed.rows.merge_engines.merge_rows import MergeSpec
from lakebed.rows.python_rows import RowsConverter

_OPERATION: Final = "MERGE"
_MOST_LISTED_KEYS: Final = 10_000
_T, _S = "__target_row", "__source_row"

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Clause:
    """What happens to rows: ``values`` by column for an update or insert, where ``where`` holds."""

    action: Literal["update", "delete", "insert"]
    values: Mapping[str, Any] = field(default_factory=dict)
    where: pc.Expression | None = None


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a merge, by the rows that they are for."""

    matched: tuple[Clause, ...] = ()
    not_matched: tuple[Clause, ...] = ()
    not_matched_by_source: tuple[Clause, ...] = ()


@dataclass(slots=True)
class Counts:
    """How many rows a merge changed."""

    updated: int = 0
    deleted: int = 0
    inserted: int = 0


@dataclass(frozen=True, slots=True)
class _Decided:
    """Rows of the table after the clauses, and which of them were changed."""

    rows: pa.Table
    updated: Mask
    deleted: Mask

    @property
    def changes(self) -> bool:
        return bool(self.updated.any() or self.deleted.any())


class Merge:
    """A merge of a source into a table.

    Args:
        schema: The schema of the table.
        name: The table, for messages.
        source: The rows to merge.
        on: Pairs of a column of the table and the column of the source that it equals.
        clauses: What to do.
    """

    def __init__(
        self, schema: TableSchema, name: str, source: pa.Table, on: Sequence[tuple[str, str]], clauses: Clauses
    ) -> None:
        self._schema, self._name, self._source, self._clauses = schema, name, source, clauses
        if not on:
            raise OptionError(f"table {name}: a merge needs columns to match rows by, such as on='id'")
        for target, own in on:
            if target not in schema.field_names:
                raise NotFoundError(unknown_name("column", target, schema.field_names, where=f"table {name}"))
            if own not in source.column_names:
                raise NotFoundError(unknown_name("column", own, source.column_names, where="the source of the merge"))
        self._keys = [schema.field(target) for target, _ in on]
        columns = [
            cast_column(source[own], _nullable(key), f"column {own!r} of the source of the merge")
            for key, (_, own) in zip(self._keys, on, strict=True)
        ]
        names = [key.name for key in self._keys]
        numbers = pa.chunked_array([pa.array(np.arange(len(source), dtype=np.int64))])
        self._source_keys = pa.table([*columns, numbers], [*names, _S])
        self._matched_sources = np.zeros(len(source), np.bool_)
        self.counts = Counts()
        self._check_clauses()

    def _check_clauses(self) -> None:
        every = (*self._clauses.matched, *self._clauses.not_matched, *self._clauses.not_matched_by_source)
        if not every:
            raise OptionError(f"table {self._name}: a merge needs clauses, such as when_matched_update_all()")
        for clause in every:
            for column in clause.values:
                if column not in self._schema.field_names:
                    where = f"table {self._name}"
                    raise NotFoundError(unknown_name("column", column, self._schema.field_names, where=where))
                if clause.action == "update" and column in self._schema.primary_keys:
                    raise UnsupportedError(
                        f"table {self._name}: {column!r} is part of the primary key, which a merge cannot update; delete "
                        "the row and insert another one"
                    )

    @property
    def updates(self) -> bool:
        """Whether a clause updates rows."""
        return self._has("update")

    @property
    def deletes(self) -> bool:
        """Whether a clause deletes rows."""
        return self._has("delete")

    def _has(self, action: str) -> bool:
        return any(clause.action == action for clause in (*self._clauses.matched, *self._clauses.not_matched_by_source))

    # ------------------------------------------------------------------------------------------------ the table

    def candidates(self) -> pred.Node:
        """Returns a condition that all rows of the table satisfy that the merge may change or match."""
        if self._clauses.not_matched_by_source:
            return pred.TRUE
        parts: list[pred.Node] = []
        for key in self._keys:
            values = pc.unique(self._source_keys[key.name].drop_null())
            if len(values) <= _MOST_LISTED_KEYS and not pa.types.is_floating(values.type):
                parts.append(pred.In(key.name, values))
        return pred.conjunction(parts) if parts else pred.TRUE

    def matches(self, keys: pa.Table) -> bool:
        """Returns whether the merge could change rows with these keys, and remembers which source rows they match."""
        target, source = self._pairs(keys)
        self._matched_sources[source] = True
        return bool(len(target)) or bool(self._clauses.not_matched_by_source)

    @property
    def key_fields(self) -> tuple[Field, ...]:
        """The columns of the table by which rows are matched."""
        return tuple(self._keys)

    def _pairs(self, rows: pa.Table) -> tuple[Rows, Rows]:
        """Returns which rows of the table match which rows of the source, by number, in the order of the table."""
        numbers = pa.chunked_array([pa.array(np.arange(len(rows), dtype=np.int64))])
        names = [key.name for key in self._keys]
        keys = pa.table([*(rows[name] for name in names), numbers], [*names, _T])
        joined = keys.join(self._source_keys, keys=names, join_type="inner")
        target, source = joined[_T].to_numpy(), joined[_S].to_numpy()
        order = np.argsort(target, kind="stable")
        return target[order], source[order]

    def decide(self, rows: pa.Table) -> _Decided:
        """Returns rows of the table after the merge.

        Raises:
            DataError: Several rows of the source match one of these rows, so that it is open which one wins.
        """
        target, source = self._pairs(rows)
        self._matched_sources[source] = True
        if self._clauses.matched and len(target) > 1 and (target[1:] == target[:-1]).any():
            again = int(target[1:][target[1:] == target[:-1]][0])
            key = {field.name: rows[field.name][again].as_py() for field in self._keys}
            raise DataError(
                f"table {self._name}: several rows of the source match the row with {key}; remove the repeated rows from "
                "the source. Nothing was written"
            )
        both = pa.table(
            [*rows.take(target).columns, *self._source.take(source).columns],
            [
                *(f"target.{name}" for name in rows.column_names),
                *(f"source.{name}" for name in self._source.column_names),
            ],
        )
        alone = np.setdiff1d(np.arange(len(rows)), target)
        single = rows.take(alone).rename_columns([f"target.{name}" for name in rows.column_names])
        updated, deleted = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        made = rows
        parts = ((self._clauses.matched, both, target), (self._clauses.not_matched_by_source, single, alone))
        for clauses, combined, numbers in parts:
            for clause, chosen in _chosen(clauses, combined):
                at = numbers[chosen]
                if clause.action == "delete":
                    deleted[at] = True
                    continue
                updated[at] = True
                for name, value in clause.values.items():
                    new = self._values(value, self._schema.field(name), combined.filter(pa.array(chosen)))
                    made = _with_values(made, self._schema.field(name), at, new)
        return _Decided(made, updated, deleted)

    # ------------------------------------------------------------------------------------------------ new rows

    def inserted(self) -> pa.Table:
        """Returns the rows of the source that matched nothing, as the clauses make them rows of the table."""
        rows = self._source.filter(pa.array(~self._matched_sources))
        combined = rows.rename_columns([f"source.{name}" for name in rows.column_names])
        made = [self._schema.arrow_schema.empty_table()]
        for clause, chosen in _chosen(self._clauses.not_matched, combined):
            part = combined.filter(pa.array(chosen))
            columns = [self._insert_column(clause, column, part) for column in self._schema.fields]
            made.append(pa.Table.from_arrays(columns, schema=self._schema.arrow_schema))
        found = pa.concat_tables(made)
        self.counts.inserted = len(found)
        return found

    def _insert_column(self, clause: Clause, column: Field, part: pa.Table) -> pa.ChunkedArray:
        if column.name in clause.values:
            new = self._values(clause.values[column.name], column, part)
        else:
            default = default_scalar(column) if column.default is not None else pa.scalar(None, to_arrow(column.type))
            new = pa.chunked_array([pa.repeat(default, len(part))])
        if new.null_count and not column.type.nullable:
            raise DataError(
                f"table {self._name}: a merged row has no value for column {column.name!r}, which is NOT NULL. Nothing "
                "was written"
            )
        return new

    def _values(self, value: Any, column: Field, rows: pa.Table) -> pa.ChunkedArray:
        where = f"the new value of column {column.name!r} of table {self._name}"
        if isinstance(value, pc.Expression):
            return cast_column(evaluate(value, rows, where), column.type, where)
        given = RowsConverter([replace(column, default=None)], f"table {self._name}").table([{column.name: value}])
        return pa.chunked_array([pa.repeat(given[column.name][0], len(rows))])


def _nullable(key: Field) -> Any:
    """Returns the type of a key column, with nulls, which match nothing."""
    return replace(key.type, nullable=True)


def _chosen(clauses: Sequence[Clause], combined: pa.Table) -> Iterator[tuple[Clause, Mask]]:
    """Yields each clause with the rows that it is the first one for."""
    open_rows = np.ones(len(combined), np.bool_)
    for clause in clauses:
        holds = open_rows.copy()
        if clause.where is not None:
            truth = evaluate(clause.where, combined, "the condition of a clause of the merge")
            if not pa.types.is_boolean(truth.type):
                raise OptionError(f"the condition of a clause of the merge is {truth.type}, not true or false")
            holds &= np.asarray(pc.fill_null(truth, False).to_numpy(zero_copy_only=False), np.bool_)
        open_rows &= ~holds
        if holds.any():
            yield clause, holds


def _with_values(rows: pa.Table, column: Field, at: Rows, new: pa.ChunkedArray) -> pa.Table:
    """Returns rows with new values of a column at some rows."""
    old = rows[column.name].cast(to_arrow(column.type))
    picks = np.arange(len(rows), dtype=np.int64)
    picks[at] = len(rows) + np.arange(len(at))
    both = pa.chunked_array([*old.chunks, *new.cast(old.type).chunks], old.type)
    if not column.type.nullable and new.null_count:
        raise DataError(f"the new value of column {column.name!r}, which is NOT NULL, is null. Nothing was written")
    return rows.set_column(rows.column_names.index(column.name), field_to_arrow(column), both.take(pa.array(picks)))


# ------------------------------------------------------------------------------------------------------ committing


def merge_into_append_table(store: TableStore, merge: Merge, who: Identity) -> Snapshot | None:
    """Rewrites the files with changed rows and adds new ones; returns ``None`` if nothing changes."""
    latest = store.snapshots.latest()
    schema = store.schema()
    if latest is None:
        return _append(store, merge.inserted(), who)
    deleted = DeletedRows.of(store, store.manifests.read_index(latest.index_manifest))
    reader = FileReader(store, schema, schema.fields, None, deleted)
    finder = replace(reader, columns=merge.key_fields)
    found = scan(store, ScanRequest(snapshot=latest, schema=schema, predicate=merge.candidates())).entries
    files = [found.slice(number, 1) for number in range(len(found))]
    hit = []
    for file in files:
        decided = merge.decide(reader.read(file)) if merge.matches(finder.read(file)) else None
        hit.append(decided is not None and decided.changes)
        if decided is not None:
            merge.counts.updated += int(decided.updated.sum())
            merge.counts.deleted += int(decided.deleted.sum())
    entries, new = found.filter(pa.array(hit, pa.bool_())), merge.inserted()
    if not len(entries):
        return _append(store, new, who)

    def rows() -> Iterator[pa.RecordBatch]:
        for number in range(len(entries)):
            decided = merge.decide(reader.read(entries.slice(number, 1)))
            kept = decided.rows.filter(pa.array(~decided.deleted))
            yield from pa.Table.from_arrays(kept.columns, schema=schema.arrow_schema).to_batches()
        yield from new.to_batches()

    data = pa.RecordBatchReader.from_batches(schema.arrow_schema, rows())
    return replace_rows(store, latest, entries, data, who, operation=_OPERATION)


def _append(store: TableStore, rows: pa.Table, who: Identity) -> Snapshot | None:
    return write_files(store, rows, lambda files: _commit(files, who)) if len(rows) else None


def _commit(files: NewFiles, who: Identity) -> Commit:
    change = Change(entries=files.data, changelog=files.changelog, index=files.index)
    return append(change, user=who.user, identifier=who.identifier, operation=_OPERATION)


def merge_into_keyed_table(store: TableStore, merge: Merge, who: Identity, guard: Guard = unguarded) -> Snapshot | None:
    """Writes changed and new rows and deletes; returns ``None`` if there are none."""
    schema = store.schema()
    if merge.updates:
        check_updatable(schema, store.name, _OPERATION)
    if merge.deletes:
        check_removes(MergeSpec.of(schema), store.name)
    latest = store.snapshots.latest()
    old = BranchRead(store, schema, latest, schema.fields, merge.candidates()).to_arrow()
    decided = merge.decide(old)
    changed, gone = decided.rows.filter(pa.array(decided.updated)), old.filter(pa.array(decided.deleted))
    if TableOptions(schema.options).merge_engine == "partial-update":
        check_no_new_nulls(old.filter(pa.array(decided.updated)), changed, store.name)
    merge.counts.updated, merge.counts.deleted = len(changed), len(gone)
    kind = "_row_kind"
    while kind in schema.field_names:
        kind = f"_{kind}"
    parts = ((changed, UPDATE_AFTER), (merge.inserted(), INSERT), (gone, DELETE))
    rows = pa.concat_tables(
        pa.Table.from_arrays(part.columns, schema=schema.arrow_schema).append_column(
            kind, pa.array([KIND_TEXTS[number]] * len(part), pa.string())
        )
        for part, number in parts
    )
    if not len(rows):
        return None
    return write_files(store, rows, lambda files: _commit(files, who), row_kind=kind, guard=guard)
