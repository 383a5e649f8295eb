"""The differences between two snapshots of a branch: schema, files, and some of the rows.

Files are compared by name, so a file that a compaction only moved to another level is in both. Rows are compared in
files that only one snapshot has, and in files whose key ranges overlap those. A changed row is one removed row and one
added row. Rows have the columns of the newer schema. No rows are compared if the files to read are larger than a limit;
their sizes are known from metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.human_text import count_text, size_text
from lakebed.format.printed import Printed
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.data_file_paths import path_array
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.interval import Interval, Mode
from lakebed.metadata.store import TableStore
from lakebed.operations.read_changes import IncrementalRead
from lakebed.options.secrets import shown_value

MAX_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """One difference between two schemas.

    Attributes:
        what: What differs, such as ``column`` or ``option``.
        name: Its name.
        before: Its text before; ``None`` if it did not exist.
        after: Its text after; ``None`` if it does not exist any more.
    """

    what: str
    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.what} {self.name}: new, {self.after}"
        if self.after is None:
            return f"{self.what} {self.name}: gone, was {self.before}"
        return f"{self.what} {self.name}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, repr=False)
class Difference(Printed):
    """What differs from one snapshot to another.

    Attributes:
        before: The first snapshot.
        after: The second snapshot.
        schema: The differences of their schemas.
        files_added: A row for each file that only the second has.
        files_removed: A row for each file that only the first has.
        bytes_to_compare: The size of these files.
        rows_added: A sample of rows that only the second has; ``None`` if no rows were compared, because the call did
            not ask for them or the files are larger than it allowed.
        rows_removed: The same for rows that only the first has.
        has_more_rows: Whether there are more rows than the samples show.
    """

    before: Snapshot
    after: Snapshot
    schema: tuple[SchemaDifference, ...]
    files_added: pa.Table
    files_removed: pa.Table
    bytes_to_compare: int
    rows_added: pa.Table | None
    rows_removed: pa.Table | None
    has_more_rows: bool

    def __str__(self) -> str:
        lines = [f"from snapshot {self.before.id} to snapshot {self.after.id}:"]
        lines += [f"  {one}" for one in self.schema]
        files = [
            f"{count_text(len(table), 'file')} {verb} "
            f"({size_text(int(pc.sum(table['file_size_in_bytes']).as_py() or 0))})"
            for table, verb in ((self.files_added, "added"), (self.files_removed, "removed"))
        ]
        lines.append(f"  {', '.join(files)}")
        if self.rows_added is not None and self.rows_removed is not None:
            more = " in the sample; there are more" if self.has_more_rows else ""
            rows = (
                f"{count_text(len(self.rows_added), 'row')} added, {count_text(len(self.rows_removed), 'row')} removed"
            )
            lines.append(f"  {rows}{more}")
        return "\n".join(lines)


def diff(
    store: TableStore, before: Snapshot, after: Snapshot, *, sample: int = 20, max_bytes: int = MAX_BYTES
) -> Difference:
    """Compare two snapshots of a branch, in any order; returns at most ``sample`` rows of each side."""
    old, new = store.schema_of(before), store.schema_of(after)
    newer = max(old, new, key=lambda schema: schema.id)
    came, went = _changes(store, newer, before, after), _changes(store, newer, after, before)
    size = came.result.byte_count
    rows_added = rows_removed = None
    more = False
    if sample and size <= max_bytes:
        (rows_added, more_added), (rows_removed, more_removed) = _head(came, sample), _head(went, sample)
        more = more_added or more_removed
    entries_before, entries_after = live_entries(store, before), live_entries(store, after)
    return Difference(
        before=before,
        after=after,
        schema=tuple(schema_differences(old, new)),
        files_added=_files(store, newer, _only_in(entries_after, entries_before)),
        files_removed=_files(store, newer, _only_in(entries_before, entries_after)),
        bytes_to_compare=size,
        rows_added=rows_added,
        rows_removed=rows_removed,
        has_more_rows=more,
    )


# ------------------------------------------------------------------------------------------------------------ schema


def schema_differences(old: TableSchema, new: TableSchema) -> Iterator[SchemaDifference]:
    """Returns the differences of two schemas. Columns are matched by id, so a renamed column is the same column."""
    were, are = ({column.id: column for column in schema.fields} for schema in (old, new))
    for number in dict.fromkeys([*are, *were]):
        yield from _column_differences(were.get(number), are.get(number))
    if [number for number in were if number in are] != [number for number in are if number in were]:
        names = (", ".join(schema.field_names) for schema in (old, new))
        yield SchemaDifference("order", "columns", *names)
    for what, were_keys, are_keys in (
        ("partition", old.partition_keys, new.partition_keys),
        ("primary", old.primary_keys, new.primary_keys),
    ):
        if were_keys != are_keys:  # the columns of a key may be renamed
            yield SchemaDifference("key", what, ", ".join(were_keys) or None, ", ".join(are_keys) or None)
    for key in sorted({*old.options, *new.options}):
        if old.options.get(key) != new.options.get(key):
            texts = (schema.options.get(key) for schema in (old, new))
            shown = (None if text is None else shown_value(key, text) for text in texts)
            yield SchemaDifference("option", key, *shown)
    if old.comment != new.comment:
        yield SchemaDifference("comment", "table", old.comment, new.comment)


def _column_differences(old: Field | None, new: Field | None) -> Iterator[SchemaDifference]:
    if old is None or new is None:
        present = new or old
        if present is not None:
            texts = (None if column is None else str(column.type) for column in (old, new))
            yield SchemaDifference("column", present.name, *texts)
        return
    for what, before, after in (
        ("name of column", old.name, new.name),
        ("type of column", str(old.type), str(new.type)),
        ("default of column", old.default, new.default),
        ("comment of column", old.description, new.description),
    ):
        if before != after:
            yield SchemaDifference(what, old.name, before, after)


# ------------------------------------------------------------------------------------------------------------- files


def _only_in(entries: pa.Table, others: pa.Table) -> pa.Table:
    return entries.filter(pc.invert(pc.is_in(entries["file_name"], value_set=others["file_name"].combine_chunks())))


def _files(store: TableStore, schema: TableSchema, entries: pa.Table) -> pa.Table:
    return pa.table(
        {
            "file_path": path_array(store, schema, entries),
            "bucket": entries["bucket"],
            "level": entries["level"],
            "record_count": entries["row_count"],
            "file_size_in_bytes": entries["file_size"],
        }
    )


# -------------------------------------------------------------------------------------------------------------- rows


def _changes(store: TableStore, schema: TableSchema, start: Snapshot, end: Snapshot) -> IncrementalRead:
    """Returns a read of the rows of the second snapshot that the first does not have.

    ``first`` may be the newer one.
    """
    interval = Interval(start.id, end, Mode.DIFF, start)
    return IncrementalRead(store, schema, interval, schema.fields, None)


def _head(read: IncrementalRead, count: int) -> tuple[pa.Table, bool]:
    """Returns the first rows of a read and whether there are more; reads no more batches than that takes."""
    kept: list[pa.RecordBatch] = []
    found = 0
    for batch in read.batches():
        kept.append(batch)
        found += batch.num_rows
        if found > count:
            break
    schema = pa.schema([field_to_arrow(column) for column in read.columns])
    return pa.Table.from_batches(kept, schema=schema).slice(0, count), found > count
