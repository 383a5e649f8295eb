"""Files of append tables: entries in, Arrow out.

Files that share a layout are read as one dataset by pyarrow, with columns and row groups pruned; files of older schemas
are mapped by field id; rows that a deletion vector marks are left out. A missing or damaged file is named in the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lakebed.errors import CorruptError, LakebedError, NotFoundError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.deletion_vector import read_deletion_vector
from lakebed.format.index_manifest import DELETION_VECTORS, IndexEntry, VectorRange
from lakebed.format.paths import partition_path
from lakebed.format.schema import TableSchema
from lakebed.format.types import Array, Atomic, DataType, Field, Map, Row, field_to_arrow
from lakebed.metadata.scan import partition_table
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.evolve import evolve, same_type


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """The deletion vectors of a snapshot: data file to (index file, place in it)."""

    by_file: Mapping[tuple[bytes, str], tuple[str, VectorRange]] = field(default_factory=dict)

    @staticmethod
    def of(store: TableStore, entries: Sequence[IndexEntry]) -> DeletedRows:
        found = {}
        for entry in entries:
            if entry.index_type == DELETION_VECTORS:
                path = entry.external_path or store.paths.index(entry.file_name)
                for vector in entry.vectors or ():
                    found[entry.partition, vector.file_name] = (path, vector)
        return DeletedRows(found)

    def positions(self, store: TableStore, partition: bytes, file_name: str) -> np.ndarray | None:
        """The deleted rows of a file, or ``None`` if it has none."""
        place = self.by_file.get((partition, file_name))
        if place is None:
            return None
        path, vector = place
        # The stored length leaves out the framing for one kind of bitmap; reading a little more serves both.
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
        """One table with the declared schema; nullability is the table's promise, whatever a file's schema said."""
        schema = self.arrow_schema
        if not tables:
            return schema.empty_table()
        return pa.concat_tables([pa.Table.from_arrays(table.columns, schema=schema) for table in tables])

    # -------------------------------------------------------------------------------------------------- parts

    def _parts(self, entries: pa.Table) -> Iterator[_Part]:
        """Runs of neighbouring files that can be read together: the same schema, no deletion vector."""
        paths = data_file_paths(self.store, self.schema, entries)
        rows = entries.select(["schema_id", "partition", "file_name", "write_cols"]).to_pylist()
        run: _Part | None = None
        for path, row in zip(paths, rows, strict=True):
            if row["write_cols"] is not None:
                raise UnsupportedError(
                    f"{path} holds only some columns (data evolution), which Lakebed does not support; "
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
        needed = self._needed_columns()
        present = [by_id[column.id] for column in needed if column.id in by_id]
        pushed, decides = self._pushed_filter(by_id) if part.deleted is None else (None, False)
        table = self._dataset(part, file_schema, present, pushed)
        if part.deleted is not None:
            table = _without_rows(table, part.deleted, part.paths[0])
        where = f"table {self.store.name}"
        if self.predicate is None or decides:
            yield evolve(table, present, self.columns, where=where)
            return
        rows = evolve(table, present, needed, where=where)
        yield rows.filter(pa.array(pred.matches_rows(self.predicate, rows))).select([c.name for c in self.columns])

    def _needed_columns(self) -> tuple[Field, ...]:
        """The columns asked for, and those that only the predicate reads."""
        asked = {column.name for column in self.columns}
        extra = () if self.predicate is None else pred.columns(self.predicate) - asked
        return (*self.columns, *(column for column in self.schema.fields if column.name in extra))

    def _pushed_filter(self, by_id: Mapping[int, Field]) -> tuple[pc.Expression | None, bool]:
        """What of the predicate the file's own columns can answer, and whether that is all of it.

        Floating point columns are left out: statistics of row groups do not tell that there is a NaN.
        """
        if self.predicate is None:
            return None, False
        names = {}
        for name in pred.columns(self.predicate):
            column = self.schema.field(name)
            stored = by_id.get(column.id)
            if stored is not None and same_type(stored.type, column.type) and not _holds_floats(stored.type):
                names[name] = stored.name
        part = pred.implied(self.predicate, names)
        if part == pred.TRUE:
            return None, self.predicate == pred.TRUE
        return pred.to_arrow_expression(pred.rename(part, names)), part == self.predicate

    def _dataset(
        self, part: _Part, file_schema: TableSchema, present: Sequence[Field], filter_by: pc.Expression | None
    ) -> pa.Table:
        names = [column.name for column in present]
        schema = pa.schema([field_to_arrow(column).with_nullable(True) for column in file_schema.fields])
        filesystem = self.store.storage.arrow_filesystem()
        _check_formats(part.paths)
        try:
            dataset = ds.FileSystemDataset(
                [_FORMAT.make_fragment(path, filesystem) for path in part.paths], schema, _FORMAT, filesystem
            )
            return dataset.to_table(columns=names, filter=filter_by)
        except (pa.ArrowException, OSError) as error:
            raise self._blame(part.paths, error) from error

    def _blame(self, paths: Sequence[str], error: Exception) -> LakebedError:
        """The file that made a read fail, by looking at each."""
        filesystem = self.store.storage.arrow_filesystem()
        for path in paths:
            if not self.store.storage.exists(path):
                return NotFoundError(
                    f"data file {path} is gone; the snapshot that needs it may have expired. Read a newer snapshot"
                )
            try:
                with pq.ParquetFile(path, filesystem=filesystem) as file:
                    for batch in file.iter_batches():
                        del batch
            except (pa.ArrowException, OSError) as problem:
                reason = str(problem).split("\n")[0]
                return CorruptError(f"data file {path} cannot be read: {reason}; restore it or roll back")
        return CorruptError(f"data files of table {self.store.name} cannot be read: {error}")


@dataclass(slots=True)
class _Part:
    schema_id: int
    paths: list[str]
    deleted: np.ndarray | None = None

    def only(self, index: int) -> _Part:
        return _Part(self.schema_id, [self.paths[index]], self.deleted)


def _without_rows(table: pa.Table, deleted: np.ndarray, path: str) -> pa.Table:
    """A whole file's rows without those at some positions."""
    if len(deleted) and int(deleted[-1]) >= len(table):
        raise CorruptError(
            f"the deletion vector of {path} names row {int(deleted[-1])}, but the file has {len(table)} rows; "
            "restore its index file or roll back"
        )
    keep = np.ones(len(table), np.bool_)
    keep[deleted] = False
    return table.filter(pa.array(keep))


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


_FORMAT: Any = ds.ParquetFileFormat()


def _check_formats(paths: Sequence[str]) -> None:
    for path in paths:
        if not path.endswith(".parquet"):
            raise UnsupportedError(
                f"{path} is not a Parquet file; Lakebed reads Parquet only. Rewrite the table with "
                "'file.format' = 'parquet', for example by compacting it with Apache Paimon"
            )


def data_file_paths(store: TableStore, schema: TableSchema, entries: pa.Table) -> list[str]:
    """Where the files of entries lie; each distinct partition is decoded once."""
    options = TableOptions(schema.options)
    fields = schema.partition_fields
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    if not len(encoded):
        return []
    folders = [""]
    if fields:
        values = partition_table(encoded.dictionary, fields)
        folders = [
            partition_path(
                [column.name for column in fields],
                [column.type for column in fields],
                list(row.values()),
                default_name=options.partition_default_name,
                legacy_names=options.partition_legacy_name,
            )
            for row in values.to_pylist()
        ]
    directory = options.data_file_directory or ""
    rows = zip(
        encoded.indices.to_pylist(),
        entries["bucket"].to_pylist(),
        entries["file_name"].to_pylist(),
        entries["external_path"].to_pylist(),
        strict=True,
    )
    return [
        external or f"{store.paths.bucket(folders[code], bucket, directory=directory)}/{name}"
        for code, bucket, name, external in rows
    ]
