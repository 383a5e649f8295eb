"""System tables of files: manifests, data files, partitions, buckets and index files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from lakebed.format.partition_names import partition_names
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import live_entries, stats_views
from lakebed.metadata.store import TableStore
from lakebed.rows.files.file_reader import DeletedRows, data_file_paths
from lakebed.system_tables.texts import MILLIS, make_table, nullable_text, row_texts

_RANGES: Final = ("min_bucket", "max_bucket", "min_level", "max_level")


def manifests(store: TableStore) -> pa.Table:
    """``$manifests``: the manifest files of the latest snapshot.

    The ranges of buckets and levels are Lakebed's own columns; they are null if the writer did not record them.
    """
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
        **dict.fromkeys(_RANGES, pa.int32()),
    }
    latest = store.snapshots.latest()
    metas = [] if latest is None else store.manifests.base_and_delta(latest)
    columns = store.schema().partition_fields
    lows = row_texts(pa.array([meta.partition_min for meta in metas], pa.binary()), columns)
    highs = row_texts(pa.array([meta.partition_max for meta in metas], pa.binary()), columns)
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
            **{name: getattr(meta, name) for name in _RANGES},
        }
        for meta, low, high in zip(metas, lows, highs, strict=True)
    ]
    return make_table(fields, rows)


def live_files(store: TableStore) -> tuple[Snapshot | None, pa.Table]:
    """Returns the latest snapshot and its data files."""
    latest = store.snapshots.latest()
    return latest, live_entries(store, latest)


def partition_texts(store: TableStore, entries: pa.Table) -> pa.Array:
    """Returns the partition of each entry as Paimon prints it."""
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    texts = pa.array(row_texts(encoded.dictionary, store.schema().partition_fields), pa.string())
    return texts.take(encoded.indices)


def files(store: TableStore) -> pa.Table:
    """``$files``: the data files of the latest snapshot."""
    schema = store.schema()
    _, entries = live_files(store)
    keys = [schema.field(name) for name in schema.trimmed_primary_key]
    null_counts, lows, highs = _value_stats_texts(store, entries)
    paths = data_file_paths(store, schema, entries)
    sources = {0: "APPEND", 1: "COMPACT"}
    return pa.table(
        {
            "partition": partition_texts(store, entries),
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
    return pa.array(row_texts(encoded.combine_chunks(), keys, "[]"), pa.string())


def _value_stats_texts(store: TableStore, entries: pa.Table) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Returns null counts, minima and maxima of each file as ``{column=value, ...}``, with columns in order of name."""
    schema = store.schema()
    texts: list[list[str]] = [[""] * len(entries) for _ in range(3)]
    for rows, view in stats_views(store, entries, schema, frozenset(schema.field_names)):
        for which, attribute in enumerate(("null_count", "minimum", "maximum")):
            columns = {}
            for column in sorted(schema.fields, key=lambda column: column.name):
                bounds = view.columns.get(column.name)
                values = [None] * len(rows) if bounds is None else getattr(bounds, attribute).to_pylist()
                columns[column.name] = [
                    str(v) if which == 0 and v is not None else nullable_text(v, column, internal=True) for v in values
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


def partitions(store: TableStore) -> pa.Table:
    """``$partitions``: rows, bytes and files by partition."""
    latest, entries = live_files(store)
    groups = entries.group_by("partition", use_threads=False).aggregate(_SUMS)
    nothing = pa.nulls(len(groups), pa.string())
    return pa.table(
        {
            "partition": partition_names(store.schema(), groups["partition"].combine_chunks()),
            "record_count": groups["row_count_sum"],
            "file_size_in_bytes": groups["file_size_sum"],
            "file_count": groups["file_name_count"],
            "last_update_time": groups["creation_time_max"],
            "created_at": pa.nulls(len(groups), MILLIS),
            "created_by": nothing,
            "updated_by": nothing,
            "options": nothing,
            "total_buckets": groups["total_buckets_max"],
            "done": pa.array([False] * len(groups), pa.bool_()),
            "deleted_record_count": _deleted_counts(store, latest, groups["partition"]),
        }
    ).sort_by("partition")


def _deleted_counts(store: TableStore, latest: Snapshot | None, partitions: pa.ChunkedArray) -> pa.Array:
    deleted = DeletedRows.of(store, store.manifests.read_index(None if latest is None else latest.index_manifest))
    counts: dict[bytes, int] = {}
    for (partition, _), (_, vector) in deleted.by_file.items():
        counts[partition] = counts.get(partition, 0) + (vector.cardinality or 0)
    return pa.array([counts.get(partition, 0) for partition in partitions.to_pylist()], pa.int64())


def buckets(store: TableStore) -> pa.Table:
    """``$buckets``: rows, bytes and files by bucket."""
    _, entries = live_files(store)
    groups = entries.group_by(["partition", "bucket"], use_threads=False).aggregate(_SUMS)
    table = pa.table(
        {
            "partition": partition_texts(store, groups),
            "bucket": groups["bucket"],
            "record_count": groups["row_count_sum"],
            "file_size_in_bytes": groups["file_size_sum"],
            "file_count": groups["file_name_count"],
            "last_update_time": groups["creation_time_max"],
        }
    )
    return table.sort_by([("partition", "ascending"), ("bucket", "ascending")])


_KEY_RANGE_COLUMNS: Final = [
    "partition",
    "bucket",
    "file_path",
    "file_format",
    "schema_id",
    "level",
    "record_count",
    "file_size_in_bytes",
    "min_key",
    "max_key",
    "first_row_id",
]


def file_key_ranges(store: TableStore) -> pa.Table:
    """``$file_key_ranges``: the columns of ``$files`` about key ranges."""
    return files(store).select(_KEY_RANGE_COLUMNS)


_RANGE: Final = pa.struct(
    [
        pa.field("f0", pa.string(), nullable=False),
        pa.field("f1", pa.int32(), nullable=False),
        pa.field("f2", pa.int32(), nullable=False),
        pa.field("_CARDINALITY", pa.int64()),
    ]
)


def table_indexes(store: TableStore) -> pa.Table:
    """``$table_indexes``: hash indexes, deletion vectors and global indexes of the latest snapshot."""
    latest = store.snapshots.latest()
    index = store.manifests.read_index(None if latest is None else latest.index_manifest)
    schema = store.schema()
    partitions = row_texts(pa.array([e.partition for e in index], pa.binary()), schema.partition_fields)
    rows = []
    for entry, partition in zip(index, partitions, strict=True):
        ranges = None
        if entry.vectors is not None:
            ranges = [
                {"f0": v.file_name, "f1": v.offset, "f2": v.length, "_CARDINALITY": v.cardinality}
                for v in entry.vectors
            ]
        more = entry.global_index or {}
        field_id = more.get("_INDEX_FIELD_ID")
        field = None if field_id is None else schema.fields_by_id.get(field_id)
        rows.append(
            {
                "partition": partition,
                "bucket": entry.bucket,
                "index_type": entry.index_type,
                "file_name": entry.file_name,
                "file_size": entry.file_size,
                "row_count": entry.row_count,
                "dv_ranges": ranges,
                "row_range_start": more.get("_ROW_RANGE_START"),
                "row_range_end": more.get("_ROW_RANGE_END"),
                "index_field_id": field_id,
                "index_field_name": None if field is None else field.name,
            }
        )
    fields = {
        "partition": pa.string(),
        "bucket": pa.int32(),
        "index_type": pa.string(),
        "file_name": pa.string(),
        "file_size": pa.int64(),
        "row_count": pa.int64(),
        "dv_ranges": pa.list_(_RANGE),
        "row_range_start": pa.int64(),
        "row_range_end": pa.int64(),
        "index_field_id": pa.int32(),
        "index_field_name": pa.string(),
    }
    return make_table(fields, rows)
