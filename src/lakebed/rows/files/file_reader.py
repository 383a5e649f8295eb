"""Reads files of append tables: entries in, Arrow out.

pyarrow reads files of the same layout as one dataset and prunes columns and row groups. Columns of older schemas are
mapped by field id. Rows that a deletion vector marks are dropped. Errors name the missing or damaged file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.index_files.deletion_vector import VectorRange, read_deletion_vector
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.data_file_paths import data_file_paths, index_file_path
from lakebed.metadata.store import TableStore
from lakebed.rows.files.evolve import evolve
from lakebed.rows.files.parquet import without_rows
from lakebed.rows.files.read_columns import pushed_condition, read_columns

__all__ = ["DeletedRows", "FileReader", "data_file_paths", "needed_columns"]


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """The deletion vectors of a snapshot: data file to (index file, position in it)."""

    by_file: Mapping[tuple[bytes, str], tuple[str, VectorRange]] = field(default_factory=dict)

    @staticmethod
    def of(store: TableStore, entries: Sequence[IndexEntry]) -> DeletedRows:
        found = {}
        for entry in entries:
            if entry.index_type == DELETION_VECTORS:
                path = index_file_path(store, entry)
                for vector in entry.vectors or ():
                    found[entry.partition, vector.file_name] = (path, vector)
        return DeletedRows(found)

    def positions(self, store: TableStore, partition: bytes, file_name: str) -> np.ndarray | None:
        """The deleted rows of a file, or ``None`` if it has none."""
        place = self.by_file.get((partition, file_name))
        if place is None:
            return None
        path, vector = place
        # For one kind of bitmap the stored length excludes the framing; reading a little more works for both.
        blob = store.storage.read_range(path, vector.offset, vector.length + 8)
        return read_deletion_vector(blob, where=f"{path} at {vector.offset} (for {file_name})")


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads data files of one table for one query: some columns, some rows."""

    store: TableStore
    schema: TableSchema
    columns: tuple[Field, ...]
    predicate: pred.Node | None = None
    deleted: DeletedRows = field(default_factory=DeletedRows)

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema([field_to_arrow(column) for column in self.columns])

    def read(self, entries: pa.Table) -> pa.Table:
        """All matching rows of these files, in the order of the files."""
        tables = [table for part in self._parts(entries) for table in self._read_part(part)]
        return self._as_declared(tables)

    def batches(self, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        """The same rows, a batch at a time, with memory for a few files."""
        for part in self._parts(entries):
            for index in range(len(part.paths)):
                for table in self._read_part(part.only(index)):
                    yield from self._as_declared([table]).to_batches()

    def _as_declared(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Return one table with the declared schema. The table decides about nullability, not the schema of a file."""
        schema = self.arrow_schema
        if not tables:
            return schema.empty_table()
        return pa.concat_tables([pa.Table.from_arrays(table.columns, schema=schema) for table in tables])

    # -------------------------------------------------------------------------------------------------- parts

    def _parts(self, entries: pa.Table) -> Iterator[_Part]:
        """Yield runs of neighbouring files that can be read together: the same schema, no deletion vector."""
        paths = data_file_paths(self.store, self.schema, entries)
        rows = entries.select(["schema_id", "partition", "file_name", "write_cols"]).to_pylist()
        run: _Part | None = None
        for path, row in zip(paths, rows, strict=True):
            if row["write_cols"] is not None:
                raise UnsupportedError(
                    f"{path} contains only some of the columns (data evolution), which Lakebed does not support; "
                    "read this table with Apache Paimon"
                )
            positions = self.deleted.positions(self.store, row["partition"], row["file_name"])
            if run is not None and run.schema_id == row["schema_id"] and run.deleted is None and positions is None:
                run.paths.append(path)
                continue
            if run is not None:
                yield run
            run = _Part(row["schema_id"], [path], positions)
        if run is not None:
            yield run

    def _read_part(self, part: _Part) -> Iterator[pa.Table]:
        file_schema = self.store.schemas.get(part.schema_id)
        by_id = file_schema.fields_by_id
        needed = needed_columns(self.columns, self.predicate, self.schema)
        present = [by_id[column.id] for column in needed if column.id in by_id]
        condition = self.predicate if part.deleted is None else None
        pushed, decides = pushed_condition(condition, self.schema, by_id, part.paths)
        names = [column.name for column in present]
        table = read_columns(self.store.storage, part.paths, file_schema.fields, names, pushed)
        if part.deleted is not None:
            table = without_rows(table, part.deleted, part.paths[0])
        where = f"table {self.store.name}"
        if self.predicate is None or (decides and part.deleted is None):
            yield evolve(table, present, self.columns, where=where)
            return
        rows = evolve(table, present, needed, where=where)
        yield rows.filter(pa.array(pred.matches_rows(self.predicate, rows))).select([c.name for c in self.columns])


def needed_columns(columns: tuple[Field, ...], predicate: pred.Node | None, schema: TableSchema) -> tuple[Field, ...]:
    """Returns the columns of a read and those that only its condition needs."""
    asked = {column.name for column in columns}
    extra = frozenset() if predicate is None else pred.columns(predicate) - asked
    return (*columns, *(column for column in schema.fields if column.name in extra))


@dataclass(slots=True)
class _Part:
    schema_id: int
    paths: list[str]
    deleted: np.ndarray | None = None

    def only(self, index: int) -> _Part:
        return _Part(self.schema_id, [self.paths[index]], self.deleted)
