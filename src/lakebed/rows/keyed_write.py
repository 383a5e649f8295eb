"""Primary-key tables: rows in, sorted files of level 0 and their entries out.

Rows are split by partition and bucket, numbered on from where the bucket's files end, sorted by key, and merged so that a
file holds one row per key. If asked for, every row that came in is written to a changelog file too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.errors import DataError, OptionError, unknown_name
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest import NO_ENTRIES, entries_from_rows
from lakebed.format.types import Field
from lakebed.rows.conform import conform, portions
from lakebed.rows.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.merge import (
    KIND_COLUMN,
    SEQUENCE_COLUMN,
    MergeSpec,
    SortedRows,
    check_kinds,
    kept_rows,
    kinds_from_strings,
    merge_rows,
    pick_rows,
)
from lakebed.rows.order import order_by_key
from lakebed.rows.partitions import Group, group_rows

Kinds = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The entries of what was written, to be committed together."""

    data: pa.Table
    changelog: pa.Table


class KeyedWriter:
    """Writes rows of one primary-key table. Use it once: write, then ``finish`` or ``abort``.

    ``next_sequences`` gives, for some encoded partitions, the first free sequence number of each of their buckets;
    absent ones start at 0.
    """

    def __init__(
        self,
        layout: FileLayout,
        next_sequences: Callable[[pa.Array], Mapping[tuple[bytes, int], int]],
        *,
        level: int = 0,
        threads: int | None = None,
        changelog: bool = False,
    ) -> None:
        self._layout = layout
        self._schema = layout.schema
        self._spec = MergeSpec.of(layout.schema)
        self._next_sequences = next_sequences
        self._next: dict[tuple[bytes, int], int] = {}
        self._known: set[bytes] = set()
        self._level = level
        self._keeps_changelog = changelog
        self._threads = threads or os.cpu_count() or 1
        self._paths: list[str] = []
        self._data: list[dict[str, Any]] = []
        self._changelog: list[dict[str, Any]] = []

    def write(self, data: pa.Table | pa.RecordBatchReader, *, row_kind: str | int | None = None) -> None:
        """Take rows; ``row_kind`` is one kind for all of them, or the name of a column with ``+I -U +U -D``."""
        where = f"table {self._layout.store.name}"
        for given in portions(data):
            table, kinds = self._split_kinds(given, row_kind, where)
            table = conform(table, self._schema.fields, where=where)
            _check_keys(table, self._layout.keys, where)
            if row_kind is None:
                kinds = self._own_kinds(table, kinds)
            check_kinds(self._spec, kinds)
            kept = kept_rows(self._spec, kinds)
            if kept is not None:
                table, kinds = table.filter(pa.array(kept)), kinds[kept]
            self._write_conformed(table, kinds)

    def _split_kinds(self, table: pa.Table, row_kind: str | int | None, where: str) -> tuple[pa.Table, Kinds]:
        if not isinstance(row_kind, str):
            return table, np.full(len(table), row_kind or 0, np.int8)
        if row_kind not in table.column_names:
            raise DataError(unknown_name("column", row_kind, table.column_names, where=f"the data for {where}"))
        kinds = _kinds_of(table, row_kind, where)
        return (table if row_kind in self._schema.field_names else table.drop_columns(row_kind)), kinds

    def _own_kinds(self, table: pa.Table, kinds: Kinds) -> Kinds:
        """The option ``rowkind.field`` names a column of the table that says what each row is, unless the writer did."""
        name = self._schema.options.get("rowkind.field")
        if name is None:
            return kinds
        where = f"table {self._layout.store.name}"
        if name not in table.column_names:
            raise OptionError(
                "option 'rowkind.field': " + unknown_name("column", name, table.column_names, where=where)
            )
        return _kinds_of(table, name, where)

    def _write_conformed(self, table: pa.Table, kinds: Kinds) -> None:
        schema = self._schema
        names = schema.bucket_keys
        buckets = bucket_of_rows(
            [table[name] for name in names],
            [schema.field(name).type for name in names],
            self._layout.options.bucket,
            self._layout.options.bucket_function,
        )
        table = table.append_column(pa.field(KIND_COLUMN, pa.int8(), nullable=False), pa.array(kinds))
        keys = [*(table[name] for name in schema.partition_keys), pa.chunked_array([pa.array(buckets)])]
        groups = group_rows(table, keys)
        self._look_up_sequences(groups)
        jobs = [(group, self._first_sequence(group)) for group in groups]
        with ThreadPoolExecutor(self._threads) as pool:
            for data, changelog in pool.map(lambda job: self._write_group(*job), jobs):
                self._data += data
                self._changelog += changelog

    def _look_up_sequences(self, groups: Sequence[Group]) -> None:
        new = {self._encoded(group) for group in groups} - self._known
        if new:
            self._next.update(self._next_sequences(pa.array(sorted(new), pa.binary())))
            self._known |= new

    def _first_sequence(self, group: Group) -> int:
        key = (self._encoded(group), self._place(group)[1])
        first = self._next.get(key, 0)
        self._next[key] = first + group.count
        return first

    def _encoded(self, group: Group) -> bytes:
        return encode_row(group.values[:-1], [column.type for column in self._schema.partition_fields])

    def _place(self, group: Group) -> tuple[tuple[object, ...], int]:
        return group.values[:-1], int(group.values[-1])  # type: ignore[call-overload]

    def _write_group(self, group: Group, first: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Sort, merge and write the rows of one bucket."""
        partition, bucket = self._place(group)
        rows = group.rows
        sequence = pa.array(np.arange(first, first + len(rows)))
        rows = rows.append_column(pa.field(SEQUENCE_COLUMN, pa.int64(), nullable=False), sequence)
        direction = "descending" if self._spec.sequence_descending else "ascending"
        then_by = [(rows[name], direction) for name in self._spec.sequence_fields]
        order = order_by_key([rows[key.name] for key in self._layout.keys], then_by)
        place = FilePlace(partition, bucket, self._level, prefix=self._layout.options.data_file_prefix)
        changelog: list[dict[str, Any]] = []
        if self._keeps_changelog:
            prefix = self._layout.options.changelog_file_prefix
            changelog = self._write_files(
                rows.take(pa.array(order.rows)), FilePlace(partition, bucket, self._level, prefix=prefix)
            )
        if self._spec.picks_rows:
            winners = pick_rows(self._spec, rows[KIND_COLUMN].to_numpy()[order.rows], order.starts)
            merged = rows.take(pa.array(order.rows[winners[winners >= 0]]))
        else:
            ordered = SortedRows(rows.take(pa.array(order.rows)), order.starts)
            merged = merge_rows(self._spec, ordered, self._schema.field_names)
        return self._write_files(merged, place), changelog

    def _write_files(self, rows: pa.Table, place: FilePlace) -> list[dict[str, Any]]:
        files = RollingFiles(self._layout, place, self._paths)
        try:
            files.write(rows)
            return files.close()
        except BaseException:
            files.discard()
            raise

    def finish(self) -> WrittenFiles:
        """ADD entries of everything written, to be committed."""
        return WrittenFiles(
            entries_from_rows(self._data) if self._data else NO_ENTRIES,
            entries_from_rows(self._changelog) if self._changelog else NO_ENTRIES,
        )

    def abort(self) -> None:
        """Remove everything that was written."""
        for path in self._paths:
            with contextlib.suppress(Exception):
                self._layout.store.storage.delete(path)


def _kinds_of(table: pa.Table, name: str, where: str) -> Kinds:
    """The row kinds in a column of texts."""
    given = table[name]
    plain = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
    is_text = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)
    if not is_text and not pa.types.is_null(plain):
        raise DataError(
            f"column {name!r} of the data for {where} is to say what each row is, but holds {given.type}; "
            "give +I, -U, +U or -D as text. Nothing was written"
        )
    return kinds_from_strings(given.cast(pa.string()))


def _check_keys(table: pa.Table, keys: Sequence[Field], where: str) -> None:
    """NaN has no place in the order of keys: it would be neither found again nor merged."""
    for key in keys:
        if pa.types.is_floating(table[key.name].type) and pc.any(pc.is_nan(table[key.name])).as_py():
            raise DataError(
                f"column {key.name!r} of {where} is part of the primary key, but a row of the data has NaN there, which "
                "equals nothing. Nothing was written"
            )
