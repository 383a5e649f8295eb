"""ANALYZE: reads the rows of a table and writes statistics to a file that a snapshot refers to.

It reads the latest snapshot and commits a snapshot of kind ANALYZE, which changes no data. Later snapshots keep the
statistics until the schema changes or the table is analyzed again. ``snapshotId`` in the file is the snapshot that was
read, so concurrent commits do no harm. ``summarise`` decides where the rows are read; they are read batch by batch.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import (
    CommitConflictError,
    NotFoundError,
    OptionError,
    StorageError,
    UnsupportedError,
    unknown_name,
)
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.statistics.table_statistics import FILE_PREFIX, TableStatistics, is_analyzable, statistics_to_json
from lakebed.format.types.data_types import Field
from lakebed.metadata.commit.abort import abort_unless_committed
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.store import TableStore
from lakebed.operations.read import BranchRead, parts_of
from lakebed.rows.aggregates import Reader, known_count, narrowest
from lakebed.rows.summary import Summary, joined

ALL_COLUMNS = "all"

Work: TypeAlias = tuple[Reader, pa.Table]
"""A reader, and the entries of the files that it is to read."""

Summarise: TypeAlias = Callable[[Sequence[Work], Sequence[Field]], Summary]


def analyze(
    store: TableStore,
    columns: Sequence[Field],
    *,
    who: Identity,
    scan: bool = True,
    summarise: Summarise | None = None,
) -> Snapshot | None:
    """Write statistics of the table and of some columns; returns the new snapshot, ``None`` for an empty table.

    Without ``scan`` no row is read; raises if the rows cannot be counted from metadata.
    """
    latest = store.snapshots.latest()
    if latest is None:
        return None
    found = _look(store, latest, columns, scan=scan, summarise=summarise or summarise_here)
    path = f"{store.paths.statistics}/{FILE_PREFIX}{uuid.uuid4()}-0"
    nothing = Change()

    def plan(_latest: Snapshot | None) -> Change:
        if store.schema().id != found.schema_id:
            raise CommitConflictError(
                f"table {store.name} was altered while it was being analyzed; nothing was committed, analyze it again"
            )
        return nothing

    request = Commit(
        kind=CommitKind.ANALYZE, plan=plan, user=who.user, allow_empty=True, statistics=path.rpartition("/")[2]
    )

    def delete_statistics() -> None:
        with contextlib.suppress(StorageError):  # the removal of orphan files deletes it then
            store.storage.delete(path)

    with abort_unless_committed(delete_statistics):
        store.storage.write(path, statistics_to_json(found).encode())
        return commit(store, request)


def columns_to_analyze(schema: TableSchema, columns: Sequence[str] | str | None, *, where: str) -> tuple[Field, ...]:
    """Returns the columns with these names; none for ``None``, all that can be analyzed for ``"all"``."""
    if columns == ALL_COLUMNS:
        return tuple(column for column in schema.fields if is_analyzable(column.type))
    if isinstance(columns, str):
        raise OptionError(f'{where}: give columns as a list of names, or "all", not {columns!r}')
    for name in columns or ():
        if name not in schema.field_names:
            raise NotFoundError(unknown_name("column", name, schema.field_names, where=where))
        if not is_analyzable(schema.field(name).type):
            raise UnsupportedError(
                f"{where}: column {name!r} is {schema.field(name).type}, and nested columns have no statistics; leave "
                "it out"
            )
    return schema.select(tuple(dict.fromkeys(columns or ())))


def _look(
    store: TableStore, latest: Snapshot, columns: Sequence[Field], *, scan: bool, summarise: Summarise
) -> TableStatistics:
    schema = store.schema()
    asked = tuple(columns) or schema.fields[:1]
    parts = parts_of(BranchRead(store, schema, latest, asked, None), time_travel=False)
    works: list[Work] = [(part.reader, part.result.entries) for part in parts]
    summary = summarise(works, columns) if columns else _count(store, works, scan=scan, summarise=summarise)
    return TableStatistics(
        snapshot_id=latest.id,
        schema_id=schema.id,
        record_count=summary.rows,
        byte_count=_share([entries for _, entries in works], summary.rows),
        columns={column.column.name: column.statistics() for column in summary.columns},
    )


def _count(store: TableStore, works: Sequence[Work], *, scan: bool, summarise: Summarise) -> Summary:
    """Returns the number of rows: from metadata where possible, else by reading one column."""
    known = [known_count(reader, entries) for reader, entries in works]
    rest = [
        (replace(reader, columns=(narrowest(reader),)), part.rest)
        for (reader, _), part in zip(works, known, strict=True)
        if len(part.rest)
    ]
    if rest and not scan:
        raise UnsupportedError(
            f"the rows of table {store.name} can only be counted by reading them, because some have to be merged; "
            "leave out NOSCAN, or compact the table first"
        )
    return joined([Summary(sum(part.rows for part in known), []), *([summarise(rest, ())] if rest else [])], ())


def _share(parts: Sequence[pa.Table], rows: int) -> int:
    """Returns the size of a number of rows, as their share of some files."""
    size = sum(pc.sum(entries["file_size"]).as_py() or 0 for entries in parts)
    stored = sum(pc.sum(entries["row_count"]).as_py() or 0 for entries in parts)
    return int(size * rows // stored) if stored else 0


def summarise_here(works: Sequence[Work], columns: Sequence[Field]) -> Summary:
    """Summarise the rows in this process."""
    return joined((Summary.of(reader.batches(entries), columns) for reader, entries in works), columns)
