"""Primary-key tables for tests: made in one line, and looked into below their public face."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.places import stored_path

import lakebed
from lakebed.format.binary_row import decode_rows
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.levels import CompactionOptions, CompactUnit, LevelFile
from lakebed.operations.compact.compaction_rules import compaction_options
from lakebed.options import TableOptions
from lakebed.rows.files.data_file import FileLayout
from lakebed.rows.files.file_reader import DeletedRows, data_file_paths
from lakebed.rows.keyed.keyed_compact import Compactor, Pick
from lakebed.rows.keyed.keyed_read import KeyedReader

COLUMNS = "k INT, v INT"
WRITE_ONLY = {"write-only": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}

Row = dict[str, Any]

_NUMBERS = itertools.count()


def keyed(
    lake: lakebed.Lake,
    columns: str = COLUMNS,
    *,
    key: Sequence[str] = ("k",),
    partition_by: Sequence[str] = (),
    options: dict[str, str] | None = None,
) -> lakebed.Table:
    """A primary-key table with one bucket that is compacted only when asked."""
    given = {"bucket": "1", **WRITE_ONLY, **(options or {})}
    name = f"db.k{next(_NUMBERS)}"
    return lake.create_table(name, columns, primary_key=list(key), partition_by=list(partition_by), options=given)


def typed(table: lakebed.Table, rows: Sequence[Row], kinds: Sequence[str] | None = None) -> pa.Table:
    """Rows with the table's types, and their kinds as the column ``op``."""
    made = pa.Table.from_pylist([dict(row) for row in rows], schema=table.arrow_schema)
    return made if kinds is None else made.append_column("op", pa.array(list(kinds), pa.string()))


def pairs(values: dict[int, int | None]) -> list[Row]:
    """Rows of a table with the columns ``k`` and ``v``."""
    return [{"k": key, "v": value} for key, value in values.items()]


def put(table: lakebed.Table, values: dict[int, int | None], kind: str = "+I") -> Snapshot:
    """Write keys and values; every row has the same kind."""
    made = table.write(typed(table, pairs(values), [kind] * len(values)), row_kind="op")
    assert made is not None
    return made


def current(table: lakebed.Table, **more: Any) -> dict[int, int | None]:
    """What a table with the columns ``k`` and ``v`` shows; every key must be there once."""
    rows = table.scan(["k", "v"], **more).to_arrow()
    shown = dict(zip(rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True))
    assert len(shown) == len(rows), "a key has two rows"
    return dict(sorted(shown.items()))


def entries_of(table: lakebed.Table, snapshot: Snapshot | None = None) -> pa.Table:
    return live_entries(table._store, snapshot or table.latest_snapshot())


def files_of(table: lakebed.Table) -> list[Row]:
    """The live entries as dictionaries, each with the path of its file."""
    return with_paths(table, entries_of(table))


def with_paths(table: lakebed.Table, entries: pa.Table) -> list[Row]:
    paths = data_file_paths(table._store, table.schema, entries)
    return [{**entry, "path": path} for entry, path in zip(entries.to_pylist(), paths, strict=True)]


def levels_of(table: lakebed.Table) -> list[int]:
    return sorted(entry["level"] for entry in files_of(table))


def stored(entry: Row) -> pa.Table:
    """The content of a data file, as any Parquet reader sees it."""
    with pq.ParquetFile(entry["path"]) as file:
        return file.read()


def key_of(table: lakebed.Table, encoded: bytes) -> tuple[Any, ...]:
    """A key as an entry has it, decoded."""
    types = [column.type for column in table.schema.select(table.schema.trimmed_primary_key)]
    return tuple(column[0].as_py() for column in decode_rows(pa.array([encoded]), types))


def index_of(table: lakebed.Table) -> list[IndexEntry]:
    latest = table.latest_snapshot()
    return [] if latest is None else table._store.manifests.read_index(latest.index_manifest)


def marked(table: lakebed.Table) -> dict[str, list[int]]:
    """The rows that deletion vectors mark, by data file."""
    deleted = DeletedRows.of(table._store, index_of(table))
    found = {}
    for partition, name in deleted.by_file:
        positions = deleted.positions(table._store, partition, name)
        assert positions is not None
        found[name] = positions.tolist()
    return found


def reader_of(table: lakebed.Table, **more: Any) -> KeyedReader:
    """A reader of all columns of the latest snapshot."""
    deleted = DeletedRows.of(table._store, index_of(table))
    return KeyedReader(table._store, table.schema, table.schema.fields, deleted=deleted, **more)


def planned(table: lakebed.Table, pick: Pick) -> tuple[Compactor, Commit]:
    """A compaction of what ``pick`` picks, with its files written and its commit not yet made."""
    store, schema = table._store, table.schema
    latest = table.latest_snapshot()
    assert latest is not None
    options = TableOptions(schema.options)
    layout = FileLayout(store, schema, options)
    compactor = Compactor(layout, reader_of(table), compaction_options(options), index_of(table))
    change = compactor.compact(entries_of(table), pick).change
    return compactor, Commit(kind=CommitKind.COMPACT, plan=lambda _: change, planned_on=latest.id)


def compact_with(table: lakebed.Table, pick: Pick) -> Snapshot | None:
    return commit(table._store, planned(table, pick)[1])


def only(level: int, *levels: int) -> Pick:
    """Files of some levels go to another level, whatever their size."""

    def pick(files: Sequence[LevelFile], _: CompactionOptions) -> CompactUnit | None:
        chosen = tuple(file for file in files if file.level in levels)
        return CompactUnit(level, chosen) if chosen else None

    return pick


def check_sound(table: lakebed.Table) -> None:
    """Totals add up, entries tell what is in the files, and no level above 0 overlaps."""
    latest = table.latest_snapshot()
    files = files_of(table)
    assert latest is not None
    assert latest.total_record_count == sum(entry["row_count"] for entry in files)
    spans: dict[tuple[bytes, int, int], list[tuple[Any, Any]]] = {}
    for entry in files:
        rows = stored(entry)
        names = table.schema.trimmed_primary_key
        keys = list(zip(*(rows[f"_KEY_{name}"].to_pylist() for name in names), strict=True))
        assert keys == sorted(set(keys)), f"{entry['file_name']} is not sorted, or has a key twice"
        assert (key_of(table, entry["min_key"]), key_of(table, entry["max_key"])) == (keys[0], keys[-1])
        assert entry["row_count"] == len(rows)
        assert entry["file_size"] == stored_path(entry["path"]).stat().st_size
        if entry["level"]:
            place = (entry["partition"], entry["bucket"], entry["level"])
            spans.setdefault(place, []).append((keys[0], keys[-1]))
    for ranges in spans.values():
        ranges.sort()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(ranges)), "files of a level overlap"
    live = {entry["file_name"] for entry in files}
    for index in index_of(table):
        assert {vector.file_name for vector in index.vectors or ()} <= live, "a vector is for a file that is gone"
        assert stored_path(table.path, "index", index.file_name).is_file()


def check_no_orphans(table: lakebed.Table) -> None:
    """The data and index files that are there are exactly those of the snapshots."""
    files: set[str] = set()
    indexes: set[str] = set()
    for snapshot in table.snapshots():
        files |= set(entries_of(table, snapshot)["file_name"].to_pylist())
        indexes |= {entry.file_name for entry in table._store.manifests.read_index(snapshot.index_manifest)}
    assert {path.name for path in stored_path(table.path).rglob("*.parquet")} == files
    assert {path.name for path in stored_path(table.path, "index").glob("*")} == indexes
