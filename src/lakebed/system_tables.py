"""System tables: ``db.t$snapshots`` and the like, with Paimon's columns.

Each is a function from a table's store to an Arrow table, made when it is read. ``SYSTEM_TABLES`` lists them.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import NotFoundError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.binary_row import decode_rows
from lakebed.format.paths import BRANCH_PREFIX, partition_text
from lakebed.format.snapshot import Snapshot, load_json_object
from lakebed.format.types import Field, field_from_arrow, field_to_json, nullable
from lakebed.metadata.scan import live_entries, partition_table, stats_views
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.rows.read import DeletedRows, data_file_paths
from lakebed.rows.where import parse_where

_MILLIS: Final = pa.timestamp("ms")


class SystemTable:
    """A read-only table about a table."""

    def __init__(self, store: TableStore, kind: str) -> None:
        if kind not in SYSTEM_TABLES:
            raise NotFoundError(unknown_name("system table", kind, SYSTEM_TABLES, where=f"table {store.name}"))
        self._store = store
        self._kind = kind
        store.schema()

    @property
    def name(self) -> str:
        return f"{self._store.name}${self._kind}"

    def scan(self, columns: Sequence[str] | None = None, where: str | None = None) -> SystemScan:
        """Describe a read; nothing is read until the scan is asked for rows."""
        return SystemScan(self._store, self._kind, columns, where)

    def __repr__(self) -> str:
        return f"<SystemTable {self.name}>"


class SystemScan:
    """One read of a system table."""

    def __init__(self, store: TableStore, kind: str, columns: Sequence[str] | None, where: str | None) -> None:
        self._store, self._kind, self._columns, self._where = store, kind, columns, where

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        table = SYSTEM_TABLES[self._kind](self._store)
        if self._where is not None:
            fields = [field_from_arrow(column) for column in table.schema]
            table = table.filter(pa.array(pred.matches_rows(parse_where(self._where, fields), table)))
        if self._columns is not None:
            for name in self._columns:
                if name not in table.column_names:
                    where = f"table {self._store.name}${self._kind}"
                    raise NotFoundError(unknown_name("column", name, table.column_names, where=where))
            table = table.select(list(self._columns))
        return table

    def to_pandas(self) -> Any:
        """All rows as a pandas frame (needs pandas)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows as a Polars frame (needs polars)."""
        import polars as pl  # noqa: PLC0415 - optional

        return pl.from_arrow(self.to_arrow())


def _table(fields: Mapping[str, pa.DataType], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(fields.items())))


def _local(millis: int) -> dt.datetime:
    """A moment as local wall clock time, as Paimon shows it."""
    return dt.datetime.fromtimestamp(millis / 1000)  # noqa: DTZ006 - the table's columns have no zone


# ------------------------------------------------------------------------------------------- snapshots and schemas


def _snapshots(store: TableStore) -> pa.Table:
    fields = {
        "snapshot_id": pa.int64(),
        "schema_id": pa.int64(),
        "commit_user": pa.string(),
        "commit_identifier": pa.int64(),
        "commit_kind": pa.string(),
        "commit_time": _MILLIS,
        "base_manifest_list": pa.string(),
        "delta_manifest_list": pa.string(),
        "changelog_manifest_list": pa.string(),
        "total_record_count": pa.int64(),
        "delta_record_count": pa.int64(),
        "changelog_record_count": pa.int64(),
        "watermark": pa.int64(),
        "next_row_id": pa.int64(),
        "operation": pa.string(),
        "writer_version": pa.string(),
    }
    renamed = {"snapshot_id": "id"}
    rows = []
    for snapshot in store.snapshots.read_many(store.snapshots.ids()):
        row = {name: getattr(snapshot, renamed.get(name, name), None) for name in fields}
        row["commit_time"] = _local(snapshot.time_millis)
        row["commit_kind"] = str(snapshot.commit_kind)
        rows.append(row)
    return _table(fields, rows)


def _schemas(store: TableStore) -> pa.Table:
    fields = {
        "schema_id": pa.int64(),
        "fields": pa.string(),
        "partition_keys": pa.string(),
        "primary_keys": pa.string(),
        "options": pa.string(),
        "comment": pa.string(),
        "update_time": _MILLIS,
    }
    rows = [
        {
            "schema_id": schema.id,
            "fields": _json([field_to_json(column) for column in schema.fields]),
            "partition_keys": _json(list(schema.partition_keys)),
            "primary_keys": _json(list(schema.primary_keys)),
            "options": _json(dict(schema.options)),
            "comment": schema.comment,
            "update_time": _local(schema.time_millis),
        }
        for schema in map(store.schemas.get, store.schemas.ids())
    ]
    return _table(fields, rows)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _options(store: TableStore) -> pa.Table:
    options = store.schema().options
    return _table({"key": pa.string(), "value": pa.string()}, [{"key": k, "value": v} for k, v in options.items()])


def _tags(store: TableStore) -> pa.Table:
    fields = {
        "tag_name": pa.string(),
        "snapshot_id": pa.int64(),
        "schema_id": pa.int64(),
        "commit_time": _MILLIS,
        "record_count": pa.int64(),
        "create_time": _MILLIS,
        "time_retained": pa.string(),
    }
    rows = []
    for name, snapshot in store.snapshots.tags().items():
        path = store.paths.tag(name)
        raw = load_json_object(store.storage.read(path), where=path)
        rows.append(
            {
                "tag_name": name,
                "snapshot_id": snapshot.id,
                "schema_id": snapshot.schema_id,
                "commit_time": _local(snapshot.time_millis),
                "record_count": snapshot.total_record_count,
                "create_time": _tag_time(raw.get("tagCreateTime")),
                "time_retained": _iso_duration(raw.get("tagTimeRetained")),
            }
        )
    return _table(fields, rows)


def _tag_time(parts: Sequence[int] | None) -> dt.datetime | None:
    """Java's array of year, month, day, hour, minute, second, nanosecond; trailing zeros may be left out."""
    if not parts:
        return None
    year, month, day, hour, minute, second, nanos = [*parts, 0, 0, 0, 0, 0][:7]
    return dt.datetime(year, month, day, hour, minute, second, nanos // 1000)  # noqa: DTZ001 - local wall clock time


def _iso_duration(seconds: float | None) -> str | None:
    """Seconds as Java prints a duration: ``PT24H``, ``PT1M0.5S``."""
    if seconds is None:
        return None
    whole, left = divmod(Decimal(str(seconds)), 60)
    hours, minutes = divmod(int(whole), 60)
    text = (
        (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + (f"{left.normalize():f}S" if left else "")
    )
    return f"PT{text or '0S'}"


def _branches(store: TableStore) -> pa.Table:
    found = [info for info in store.storage.list(store.paths.branches) if info.name.startswith(BRANCH_PREFIX)]
    rows = [
        {"branch_name": info.name.removeprefix(BRANCH_PREFIX), "create_time": _local(info.modified_millis)}
        for info in sorted(found, key=lambda info: info.name)
    ]
    return _table({"branch_name": pa.string(), "create_time": _MILLIS}, rows)


# -------------------------------------------------------------------------------------------------------- manifests


def _manifests(store: TableStore) -> pa.Table:
    fields = {
        "file_name": pa.string(),
        "file_size": pa.int64(),
        "num_added_files": pa.int64(),
        "num_deleted_files": pa.int64(),
        "schema_id": pa.int64(),
        "min_partition_stats": pa.string(),
        "max_partition_stats": pa.string(),
        "min_row_id": pa.int64(),
        "max_row_id": pa.int64(),
    }
    latest = store.snapshots.latest()
    metas = [] if latest is None else store.manifests.base_and_delta(latest)
    columns = store.schema().partition_fields
    lows = _row_texts(pa.array([meta.partition_min for meta in metas], pa.binary()), columns)
    highs = _row_texts(pa.array([meta.partition_max for meta in metas], pa.binary()), columns)
    rows = [
        {
            "file_name": meta.file_name,
            "file_size": meta.file_size,
            "num_added_files": meta.num_added_files,
            "num_deleted_files": meta.num_deleted_files,
            "schema_id": meta.schema_id,
            "min_partition_stats": low,
            "max_partition_stats": high,
            "min_row_id": meta.min_row_id,
            "max_row_id": meta.max_row_id,
        }
        for meta, low, high in zip(metas, lows, highs, strict=True)
    ]
    return _table(fields, rows)


def _row_texts(encoded: pa.Array, fields: Sequence[Field], brackets: str = "{}") -> list[str]:
    """Encoded rows as Paimon shows them: ``{2024-01-01, 1}``."""
    if not fields:
        return [brackets] * len(encoded)
    columns = [
        [_text(value, field) for value in column.to_pylist()]
        for column, field in zip(decode_rows(encoded, [nullable(field.type) for field in fields]), fields, strict=True)
    ]
    return [brackets[0] + ", ".join(values) + brackets[1] for values in zip(*columns, strict=True)]


def _text(value: object, field: Field, *, internal: bool = False) -> str:
    """A value as text, or (``internal``) as Java prints what it holds: a date as days, a time as milliseconds."""
    return "null" if value is None else partition_text(value, field.type, legacy_names=internal)


# ------------------------------------------------------------------------------------------------------------ files


def _live(store: TableStore) -> tuple[Snapshot | None, pa.Table]:
    latest = store.snapshots.latest()
    return latest, live_entries(store, latest)


def _partition_texts(store: TableStore, entries: pa.Table) -> pa.Array:
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    texts = pa.array(_row_texts(encoded.dictionary, store.schema().partition_fields), pa.string())
    return texts.take(encoded.indices)


def _files(store: TableStore) -> pa.Table:
    schema = store.schema()
    _, entries = _live(store)
    keys = [schema.field(name) for name in schema.trimmed_primary_key]
    null_counts, lows, highs = _value_stats_texts(store, entries)
    paths = data_file_paths(store, schema, entries)
    sources = {0: "APPEND", 1: "COMPACT"}
    return pa.table(
        {
            "partition": _partition_texts(store, entries),
            "bucket": entries["bucket"],
            "file_path": pa.array(paths, pa.string()),
            "file_format": pa.array([path.rsplit(".", 1)[-1] for path in paths], pa.string()),
            "schema_id": entries["schema_id"],
            "level": entries["level"],
            "record_count": entries["row_count"],
            "file_size_in_bytes": entries["file_size"],
            "min_key": _key_texts(entries["min_key"], keys),
            "max_key": _key_texts(entries["max_key"], keys),
            "null_value_counts": null_counts,
            "min_value_stats": lows,
            "max_value_stats": highs,
            "min_sequence_number": entries["min_sequence_number"],
            "max_sequence_number": entries["max_sequence_number"],
            "creation_time": entries["creation_time"],
            "deleteRowCount": entries["delete_row_count"],
            "file_source": pa.array([sources.get(s) for s in entries["file_source"].to_pylist()], pa.string()),
            "first_row_id": entries["first_row_id"],
            "write_cols": entries["write_cols"],
        }
    )


def _key_texts(encoded: pa.ChunkedArray, keys: Sequence[Field]) -> pa.Array:
    if not keys:
        return pa.nulls(len(encoded), pa.string())
    return pa.array(_row_texts(encoded.combine_chunks(), keys, "[]"), pa.string())


def _value_stats_texts(store: TableStore, entries: pa.Table) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Per file ``{column=value, ...}`` of null counts, minima and maxima over the current columns, by name."""
    schema = store.schema()
    texts: list[list[str]] = [[""] * len(entries) for _ in range(3)]
    for rows, view in stats_views(store, entries, schema, frozenset(schema.field_names)):
        for which, attribute in enumerate(("null_count", "minimum", "maximum")):
            columns = {}
            for column in sorted(schema.fields, key=lambda column: column.name):
                bounds = view.columns.get(column.name)
                values = [None] * len(rows) if bounds is None else getattr(bounds, attribute).to_pylist()
                columns[column.name] = [
                    str(v) if which == 0 and v is not None else _text(v, column, internal=True) for v in values
                ]
            for i, row in enumerate(rows.tolist()):
                inner = ", ".join(f"{name}={values[i]}" for name, values in columns.items())
                texts[which][row] = "{" + inner + "}"
    return pa.array(texts[0], pa.string()), pa.array(texts[1], pa.string()), pa.array(texts[2], pa.string())


_SUMS: Final = [
    ("row_count", "sum"),
    ("file_size", "sum"),
    ("file_name", "count"),
    ("creation_time", "max"),
    ("total_buckets", "max"),
]


def _partitions(store: TableStore) -> pa.Table:
    latest, entries = _live(store)
    groups = entries.group_by("partition", use_threads=False).aggregate(_SUMS)
    nothing = pa.nulls(len(groups), pa.string())
    return pa.table(
        {
            "partition": _partition_names(store, groups["partition"]),
            "record_count": groups["row_count_sum"],
            "file_size_in_bytes": groups["file_size_sum"],
            "file_count": groups["file_name_count"],
            "last_update_time": groups["creation_time_max"],
            "created_at": pa.nulls(len(groups), _MILLIS),
            "created_by": nothing,
            "updated_by": nothing,
            "options": nothing,
            "total_buckets": groups["total_buckets_max"],
            "done": pa.array([False] * len(groups), pa.bool_()),
            "deleted_record_count": _deleted_counts(store, latest, groups["partition"]),
        }
    ).sort_by("partition")


def _partition_names(store: TableStore, encoded: pa.ChunkedArray) -> pa.Array:
    """Partitions as Paimon names them: ``dt=2024-01-01/h=1``, with the default name for nulls and blanks."""
    schema = store.schema()
    fields = schema.partition_fields
    default = TableOptions(schema.options).partition_default_name
    rows = partition_table(encoded.combine_chunks(), fields).to_pylist() if fields else [{}] * len(encoded)
    names = []
    for row in rows:
        texts = ((field.name, "" if row[field.name] is None else _text(row[field.name], field)) for field in fields)
        names.append("/".join(f"{name}={text if text.strip() else default}" for name, text in texts))
    return pa.array(names, pa.string())


def _deleted_counts(store: TableStore, latest: Snapshot | None, partitions: pa.ChunkedArray) -> pa.Array:
    deleted = DeletedRows.of(store, store.manifests.read_index(None if latest is None else latest.index_manifest))
    counts: dict[bytes, int] = {}
    for (partition, _), (_, vector) in deleted.by_file.items():
        counts[partition] = counts.get(partition, 0) + (vector.cardinality or 0)
    return pa.array([counts.get(partition, 0) for partition in partitions.to_pylist()], pa.int64())


def _buckets(store: TableStore) -> pa.Table:
    _, entries = _live(store)
    groups = entries.group_by(["partition", "bucket"], use_threads=False).aggregate(_SUMS)
    table = pa.table(
        {
            "partition": _partition_texts(store, groups),
            "bucket": groups["bucket"],
            "record_count": groups["row_count_sum"],
            "file_size_in_bytes": groups["file_size_sum"],
            "file_count": groups["file_name_count"],
            "last_update_time": groups["creation_time_max"],
        }
    )
    return table.sort_by([("partition", "ascending"), ("bucket", "ascending")])


SYSTEM_TABLES: Final[Mapping[str, Callable[[TableStore], pa.Table]]] = {
    "snapshots": _snapshots,
    "schemas": _schemas,
    "options": _options,
    "files": _files,
    "manifests": _manifests,
    "partitions": _partitions,
    "buckets": _buckets,
    "tags": _tags,
    "branches": _branches,
}
"""Every system table by its name after the ``$``."""
