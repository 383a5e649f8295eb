"""Writes to primary-key tables: rows in, sorted files of level 0 and their entries out.

Rows are split by partition and bucket, get sequence numbers after those of the bucket's files, and are sorted by key
and merged, so that a file has one row per key. On request, every given row is also written to a changelog file.

A stream is written in portions, each as a sorted run. With a ``budget``, all portions become one run: rows that
exceed the budget are sorted on the local disk and merged from there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import DataError, OptionError, UnsupportedError, unknown_name
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.manifest import NO_ENTRIES, entries_from_rows
from lakebed.format.row_kind import INSERT, KIND_COLUMN, Kinds, kinds_from_texts
from lakebed.format.schema.table_schema import SEQUENCE_COLUMN
from lakebed.format.types.data_types import Field
from lakebed.rows.conform import conform, portions
from lakebed.rows.files.data_file import FileLayout, FilePlace, RollingFiles
from lakebed.rows.grouping import Group, group_rows
from lakebed.rows.merge_engines.merge_rows import MergeSpec, SortedRows, check_kinds, kept_rows, merge_rows, pick_rows
from lakebed.rows.order import KeyOrder, order_by_key
from lakebed.rows.spill import Spill

BucketOf: TypeAlias = Callable[[pa.Table], npt.NDArray[np.int32]]
_Place: TypeAlias = tuple[tuple[object, ...], int]
_FEW_ROWS: Final = 1_000_000
_UPLOADS: Final = 16
_BUCKET = "_BUCKET"
_SEQUENCE_FIELD = pa.field(SEQUENCE_COLUMN, pa.int64(), nullable=False)


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The entries of the written files, to be committed together."""

    data: pa.Table
    changelog: pa.Table


class KeyedWriter:
    """Writes rows of one primary-key table. Use it once: write, then ``finish`` or ``abort``.

    ``next_sequences`` returns, for some encoded partitions, the first free sequence number of each of their buckets;
    absent buckets start at 0. ``bucket_of`` returns the bucket of each row; without it rows go to a fixed number of
    buckets. With a ``budget`` in bytes, nothing is written before ``finish``.
    """

    def __init__(
        self,
        layout: FileLayout,
        next_sequences: Callable[[pa.Array], Mapping[tuple[bytes, int], int]],
        *,
        bucket_of: BucketOf | None = None,
        level: int = 0,
        threads: int | None = None,
        changelog: bool = False,
        budget: int | None = None,
        spill_folder: str | None = None,
    ) -> None:
        self._layout = layout
        self._schema = layout.schema
        self._spec = MergeSpec.of(layout.schema)
        self._next_sequences = next_sequences
        self._bucket_of = bucket_of or self._fixed_bucket
        self._next: dict[tuple[bytes, int], int] = {}
        self._known: set[bytes] = set()
        self._level = level
        self._keeps_changelog = changelog
        self._threads = threads or os.cpu_count() or 1
        self._paths: list[str] = []
        self._data: list[dict[str, Any]] = []
        self._changelog: list[dict[str, Any]] = []
        self._budget = budget
        self._held: list[Group] = []
        self._arrived = 0
        self._spill: Spill[tuple[bytes, int]] = Spill([key.name for key in layout.keys], spill_folder)
        self._spilled: dict[tuple[bytes, int], _Place] = {}

    def write(
        self,
        data: pa.Table | pa.RecordBatchReader,
        *,
        row_kind: str | int | None = None,
        order: str | None = None,
        bucket: str | None = None,
    ) -> None:
        """Add rows; ``row_kind`` is one kind for all of them, or the name of a column with ``+I -U +U -D``.

        Later rows are newer. If rows are not in this order, ``order`` names a column of numbers with the order, and a
        budget is required. ``bucket`` names a column with the bucket of each row, if the caller has chosen it.
        """
        where = f"table {self._layout.store.name}"
        for given in portions(data, self._budget):
            chosen = None if bucket is None else given[bucket]
            table, numbers = self._split_order(given if bucket is None else given.drop_columns(bucket), order)
            table, kinds = self._split_kinds(table, row_kind, where)
            table = conform(table, self._schema.fields, where=where)
            _check_keys(table, self._layout.keys, where)
            if row_kind is None:
                kinds = self._own_kinds(table, kinds)
            check_kinds(self._spec, kinds)
            kept = kept_rows(self._spec, kinds)
            table = table.append_column(pa.field(KIND_COLUMN, pa.int8(), nullable=False), pa.array(kinds))
            table = table.append_column(_SEQUENCE_FIELD, numbers)
            if chosen is not None:
                table = table.append_column(_BUCKET, chosen)
            self._write_conformed(table if kept is None else table.filter(pa.array(kept)))

    def _split_order(self, table: pa.Table, order: str | None) -> tuple[pa.Table, pa.ChunkedArray]:
        """Return the data, and a number per row that says which rows are newer."""
        if order is not None:
            return table.drop_columns(order), table[order].cast(pa.int64())
        first, self._arrived = self._arrived, self._arrived + len(table)
        return table, pa.chunked_array([pa.array(np.arange(first, self._arrived))])

    def _split_kinds(self, table: pa.Table, row_kind: str | int | None, where: str) -> tuple[pa.Table, Kinds]:
        if not isinstance(row_kind, str):
            return table, np.full(len(table), INSERT if row_kind is None else row_kind, np.int8)
        if row_kind not in table.column_names:
            raise DataError(unknown_name("column", row_kind, table.column_names, where=f"the data for {where}"))
        kinds = _kinds_of(table, row_kind, where)
        return (table if row_kind in self._schema.field_names else table.drop_columns(row_kind)), kinds

    def _own_kinds(self, table: pa.Table, kinds: Kinds) -> Kinds:
        """Return row kinds from the column that the option ``rowkind.field`` names, unless the caller gave them."""
        name = self._layout.options.rowkind_field
        if name is None:
            return kinds
        where = f"table {self._layout.store.name}"
        if name not in table.column_names:
            raise OptionError(
                "option 'rowkind.field': " + unknown_name("column", name, table.column_names, where=where)
            )
        return _kinds_of(table, name, where)

    def _fixed_bucket(self, table: pa.Table) -> npt.NDArray[np.int32]:
        schema, options = self._schema, self._layout.options
        if options.bucket <= 0:
            raise UnsupportedError(
                f"table {self._layout.store.name} has dynamic buckets ('bucket' = {options.bucket}), which cannot be "
                "written this way yet; write the rows in process, as Arrow, pandas or Polars. Nothing was written"
            )
        names = schema.bucket_keys
        columns, types = [table[name] for name in names], [schema.field(name).type for name in names]
        return bucket_of_rows(columns, types, options.bucket, options.bucket_function)

    def _write_conformed(self, table: pa.Table) -> None:
        if _BUCKET in table.column_names:
            buckets, table = table[_BUCKET], table.drop_columns(_BUCKET)
        else:
            buckets = pa.chunked_array([pa.array(self._bucket_of(table))])
        groups = group_rows(table, [*(table[name] for name in self._schema.partition_keys), buckets])
        if self._budget is None:
            self._write_groups(groups)
            return
        if self._held:
            self._spill_held()
        self._held = groups

    def _spill_held(self) -> None:
        held, self._held = self._held, []

        def run(group: Group) -> tuple[tuple[bytes, int], pa.Table]:
            place, rows = _place(group), group.rows
            key = self._key(place)
            self._spilled[key] = place
            return key, rows.take(pa.array(self._order(rows).rows))

        self._spill.add(map(run, held))

    def _write_groups(self, groups: Sequence[Group]) -> None:
        """Write the rows of some buckets, each as one run."""
        self._look_up_sequences([_place(group) for group in groups])
        jobs = [(_place(group), self._first_sequence(_place(group), group.count), group) for group in groups]
        with ThreadPoolExecutor(self._threads_for(groups)) as pool:
            each = pool.map if len(jobs) > 1 else map  # for one small file, a thread costs as much as writing it
            for data, changelog in each(lambda job: self._write_bucket(job[0], job[1], [job[2].rows]), jobs):
                self._data += data
                self._changelog += changelog

    def _threads_for(self, groups: Sequence[Group]) -> int:
        """Return how many buckets to write at a time: with few rows on a remote storage, each one only uploads."""
        is_waiting = self._layout.store.storage.is_remote and sum(group.count for group in groups) <= _FEW_ROWS
        return max(self._threads, _UPLOADS) if is_waiting else self._threads

    def _write_spilled(self, budget: int) -> None:
        self._look_up_sequences(list(self._spilled.values()))
        for key, place in self._spilled.items():
            first = self._first_sequence(place, self._spill.rows(key))
            data, changelog = self._write_bucket(place, first, self._spill.pieces(key, budget))
            self._data += data
            self._changelog += changelog

    def _look_up_sequences(self, places: Sequence[_Place]) -> None:
        new = {self._key(place)[0] for place in places} - self._known
        if new:
            self._next.update(self._next_sequences(pa.array(sorted(new), pa.binary())))
            self._known |= new

    def _first_sequence(self, place: _Place, count: int) -> int:
        key = self._key(place)
        first = self._next.get(key, 0)
        self._next[key] = first + count
        return first

    def _key(self, place: _Place) -> tuple[bytes, int]:
        """Return a key for a place by its bytes.

        In the format, -0.0 and 0.0 are two partitions, unlike Python's ``==``.
        """
        partition, bucket = place
        return encode_row(partition, [column.type for column in self._schema.partition_fields]), bucket

    def _write_bucket(
        self, place: _Place, first: int, pieces: Iterable[pa.Table]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Sort, merge and write the rows of one bucket, which come in ranges of keys."""
        options = self._layout.options
        data = self._files(place, options.data_file_prefix)
        changelog = self._files(place, options.changelog_file_prefix) if self._keeps_changelog else None
        try:
            for piece in pieces:
                order = self._order(piece)
                if changelog is None and self._budget is not None and self._spec.picks_rows:
                    data.write(self._picked(piece, order, first))
                else:
                    rows = self._numbered(piece, order, first)
                    if changelog is not None:
                        changelog.write(rows.take(pa.array(order.rows)))
                    data.write(self._merged(rows, order))
                first += len(piece)
            return data.close(), [] if changelog is None else changelog.close()
        except BaseException:
            data.discard()
            if changelog is not None:
                changelog.discard()
            raise

    def _files(self, place: _Place, prefix: str) -> RollingFiles:
        return RollingFiles(self._layout, FilePlace(*place, self._level, prefix=prefix), self._paths)

    def _order(self, rows: pa.Table) -> KeyOrder:
        direction = "descending" if self._spec.sequence_descending else "ascending"
        then_by = [(rows[name], direction) for name in self._spec.sequence_fields]
        keys = [rows[key.name] for key in self._layout.keys]
        order = order_by_key(keys, then_by)
        if len(order.starts) == len(rows) or _ascends(rows[SEQUENCE_COLUMN]):
            return order
        return order_by_key(keys, [*then_by, (rows[SEQUENCE_COLUMN], "ascending")])

    def _numbered(self, rows: pa.Table, order: KeyOrder, first: int) -> pa.Table:
        """Return rows with their final sequence numbers.

        A portion is numbered in the given order. If several portions became one run, the numbers follow the order of
        keys: they only have to say which row of a key is newer.
        """
        numbers = np.arange(first, first + len(rows))
        if self._budget is not None:
            in_order = numbers
            numbers = np.empty_like(in_order)
            numbers[order.rows] = in_order
        position = rows.schema.get_field_index(SEQUENCE_COLUMN)
        return rows.set_column(position, _SEQUENCE_FIELD, pa.array(numbers))

    def _picked(self, rows: pa.Table, order: KeyOrder, first: int) -> pa.Table:
        """Return one row per key, as :meth:`_merged` of :meth:`_numbered` rows, but number only the sorted result."""
        kinds = rows[KIND_COLUMN].to_numpy()[order.rows]
        winners = pick_rows(self._spec, kinds, order.starts)
        winners = winners[winners >= 0]
        picked = rows.drop_columns([KIND_COLUMN, SEQUENCE_COLUMN]).take(pa.array(order.rows[winners]))
        picked = picked.append_column(rows.schema.field(KIND_COLUMN), pa.array(kinds[winners]))
        return picked.append_column(_SEQUENCE_FIELD, pa.array(winners.astype(np.int64) + first))

    def _merged(self, rows: pa.Table, order: KeyOrder) -> pa.Table:
        """One row per key."""
        if self._spec.picks_rows:
            winners = pick_rows(self._spec, rows[KIND_COLUMN].to_numpy()[order.rows], order.starts)
            return rows.take(pa.array(order.rows[winners[winners >= 0]]))
        ordered = SortedRows(rows.take(pa.array(order.rows)), order.starts)
        return merge_rows(self._spec, ordered, self._schema.field_names)

    def finish(self) -> WrittenFiles:
        """ADD entries of everything written, to be committed."""
        if self._spilled:
            self._spill_held()
            self._write_spilled(self._budget or 0)
            self._spill.close()
        elif self._held:
            held, self._held = self._held, []
            self._write_groups(held)
        return WrittenFiles(
            entries_from_rows(self._data) if self._data else NO_ENTRIES,
            entries_from_rows(self._changelog) if self._changelog else NO_ENTRIES,
        )

    def abort(self) -> None:
        """Delete all files that were written."""
        self._spill.close()
        for path in self._paths:
            with contextlib.suppress(Exception):
                self._layout.store.storage.delete(path)


def _place(group: Group) -> _Place:
    return group.values[:-1], int(group.values[-1])  # type: ignore[call-overload]


def _ascends(numbers: pa.ChunkedArray) -> bool:
    values = numbers.to_numpy()
    return bool((values[1:] > values[:-1]).all())


def _kinds_of(table: pa.Table, name: str, where: str) -> Kinds:
    """The row kinds in a column of texts."""
    given = table[name]
    plain = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
    is_text = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain)
    if not is_text and not pa.types.is_null(plain):
        raise DataError(
            f"column {name!r} of the data for {where} must contain row kinds, but its type is {given.type}; "
            "give +I, -U, +U or -D as text. Nothing was written"
        )
    return kinds_from_texts(given.cast(pa.string()))


def _check_keys(table: pa.Table, keys: Sequence[Field], where: str) -> None:
    """Refuse NaN in keys: it has no place in their order, so it would be neither found again nor merged."""
    for key in keys:
        if pa.types.is_floating(table[key.name].type) and pc.any(pc.is_nan(table[key.name])).as_py():
            raise DataError(
                f"column {key.name!r} of {where} is part of the primary key, but a row of the data has NaN there, "
                "which equals nothing. Nothing was written"
            )
