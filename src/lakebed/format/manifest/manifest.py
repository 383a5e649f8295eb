"""Manifest lists and manifests: which files a snapshot adds and deletes.

A manifest list is a short list of :class:`ManifestMeta`. The entries of manifests are an Arrow table with the columns
of ``ENTRY_SCHEMA``, one row per added or deleted data file; there is no Python object per entry. The Avro writer
schemas are exactly Paimon's: an entry has six top-level fields and no more, unions put null first, versions are 2.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import ROLL_BACK, CorruptError, LakebedError, UnsupportedError
from lakebed.format.file_names import check_file_name, check_file_names
from lakebed.format.manifest import avro, avro_columns

MANIFEST_VERSION: Final = 2
ADD: Final = 0
DELETE: Final = 1
SOURCE_APPEND: Final = 0
SOURCE_COMPACT: Final = 1
_COLUMNAR_FROM_ROWS: Final = 16

# ------------------------------------------------------------------------------------------- the Avro schemas


def _stats_type(name: str) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [
            {"name": "_MIN_VALUES", "type": "bytes"},
            {"name": "_MAX_VALUES", "type": "bytes"},
            {"name": "_NULL_COUNTS", **avro.optional({"type": "array", "items": ["null", "long"]})},
        ],
    }


MANIFEST_LIST_AVRO: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": avro.RECORD,
        "fields": [
            {"name": "_VERSION", "type": "int"},
            {"name": "_FILE_NAME", "type": "string"},
            {"name": "_FILE_SIZE", "type": "long"},
            {"name": "_NUM_ADDED_FILES", "type": "long"},
            {"name": "_NUM_DELETED_FILES", "type": "long"},
            {"name": "_PARTITION_STATS", "type": _stats_type(f"{avro.RECORD}__PARTITION_STATS")},
            {"name": "_SCHEMA_ID", "type": "long"},
            {"name": "_MIN_BUCKET", **avro.optional("int")},
            {"name": "_MAX_BUCKET", **avro.optional("int")},
            {"name": "_MIN_LEVEL", **avro.optional("int")},
            {"name": "_MAX_LEVEL", **avro.optional("int")},
            {"name": "_MIN_ROW_ID", **avro.optional("long")},
            {"name": "_MAX_ROW_ID", **avro.optional("long")},
            {"name": "_TOTAL_BUCKETS", **avro.optional("int")},
            {"name": "_EXTRA_FILES", **avro.optional({"type": "array", "items": "string"})},
        ],
    }
)

_TIMESTAMP_MILLIS: Final = {"type": "long", "logicalType": "timestamp-millis"}
_STRINGS: Final = {"type": "array", "items": "string"}

MANIFEST_AVRO: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": avro.RECORD,
        "fields": [
            {"name": "_VERSION", "type": "int"},
            {"name": "_KIND", "type": "int"},
            {"name": "_PARTITION", "type": "bytes"},
            {"name": "_BUCKET", "type": "int"},
            {"name": "_TOTAL_BUCKETS", "type": "int"},
            {
                "name": "_FILE",
                "type": {
                    "type": "record",
                    "name": f"{avro.RECORD}__FILE",
                    "fields": [
                        {"name": "_FILE_NAME", "type": "string"},
                        {"name": "_FILE_SIZE", "type": "long"},
                        {"name": "_ROW_COUNT", "type": "long"},
                        {"name": "_MIN_KEY", "type": "bytes"},
                        {"name": "_MAX_KEY", "type": "bytes"},
                        {"name": "_KEY_STATS", "type": _stats_type(f"{avro.RECORD}__FILE__KEY_STATS")},
                        {"name": "_VALUE_STATS", "type": _stats_type(f"{avro.RECORD}__FILE__VALUE_STATS")},
                        {"name": "_MIN_SEQUENCE_NUMBER", "type": "long"},
                        {"name": "_MAX_SEQUENCE_NUMBER", "type": "long"},
                        {"name": "_SCHEMA_ID", "type": "long"},
                        {"name": "_LEVEL", "type": "int"},
                        {"name": "_EXTRA_FILES", "type": _STRINGS},
                        {"name": "_CREATION_TIME", **avro.optional(_TIMESTAMP_MILLIS)},
                        {"name": "_DELETE_ROW_COUNT", **avro.optional("long")},
                        {"name": "_EMBEDDED_FILE_INDEX", **avro.optional("bytes")},
                        {"name": "_FILE_SOURCE", **avro.optional("int")},
                        {"name": "_VALUE_STATS_COLS", **avro.optional(_STRINGS)},
                        {"name": "_EXTERNAL_PATH", **avro.optional("string")},
                        {"name": "_FIRST_ROW_ID", **avro.optional("long")},
                        {"name": "_WRITE_COLS", **avro.optional(_STRINGS)},
                        {"name": "_WRITE_COLS_SEQUENCES", **avro.optional({"type": "array", "items": "long"})},
                    ],
                },
            },
        ],
    }
)

# ------------------------------------------------------------------------------------------ manifest lists


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMeta:
    """One manifest file as a manifest list describes it. ``None`` means the writer did not say."""

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_min: bytes
    partition_max: bytes
    partition_null_counts: tuple[int | None, ...]
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None
    total_buckets: int | None = None
    extra_files: tuple[str, ...] | None = None


def encode_manifest_list(metas: Iterable[ManifestMeta], *, codec: str = "zstd", level: int = 1) -> bytes:
    """Returns the bytes of a manifest list; an empty one is a valid Avro file without records."""
    return avro.encode(MANIFEST_LIST_AVRO, [_meta_to_record(meta) for meta in metas], codec=codec, level=level)


def decode_manifest_list(data: bytes, *, where: str) -> list[ManifestMeta]:
    """Returns the manifests of a manifest list, in order."""
    records = avro.decode_records(data, where=where)
    try:
        for record in records:
            _check_version(record.get("_VERSION", MANIFEST_VERSION), where)
        metas = [_meta_from_record(record) for record in records]
    except (AttributeError, KeyError, TypeError) as error:
        raise CorruptError(f"{where} is not a manifest list: {error!r}; {ROLL_BACK}") from None
    for meta in metas:
        for name in (meta.file_name, *(meta.extra_files or ())):
            check_file_name(name, where)
    return metas


def _meta_to_record(meta: ManifestMeta) -> dict[str, Any]:
    return {
        "_VERSION": MANIFEST_VERSION,
        "_FILE_NAME": meta.file_name,
        "_FILE_SIZE": meta.file_size,
        "_NUM_ADDED_FILES": meta.num_added_files,
        "_NUM_DELETED_FILES": meta.num_deleted_files,
        "_PARTITION_STATS": {
            "_MIN_VALUES": meta.partition_min,
            "_MAX_VALUES": meta.partition_max,
            "_NULL_COUNTS": list(meta.partition_null_counts),
        },
        "_SCHEMA_ID": meta.schema_id,
        "_MIN_BUCKET": meta.min_bucket,
        "_MAX_BUCKET": meta.max_bucket,
        "_MIN_LEVEL": meta.min_level,
        "_MAX_LEVEL": meta.max_level,
        "_MIN_ROW_ID": meta.min_row_id,
        "_MAX_ROW_ID": meta.max_row_id,
        "_TOTAL_BUCKETS": meta.total_buckets,
        "_EXTRA_FILES": None if meta.extra_files is None else list(meta.extra_files),
    }


def _meta_from_record(record: Mapping[str, Any]) -> ManifestMeta:
    stats = record["_PARTITION_STATS"]
    extra = record.get("_EXTRA_FILES")
    return ManifestMeta(
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        num_added_files=record["_NUM_ADDED_FILES"],
        num_deleted_files=record["_NUM_DELETED_FILES"],
        partition_min=stats["_MIN_VALUES"],
        partition_max=stats["_MAX_VALUES"],
        partition_null_counts=tuple(stats["_NULL_COUNTS"] or ()),
        schema_id=record["_SCHEMA_ID"],
        min_bucket=record.get("_MIN_BUCKET"),
        max_bucket=record.get("_MAX_BUCKET"),
        min_level=record.get("_MIN_LEVEL"),
        max_level=record.get("_MAX_LEVEL"),
        min_row_id=record.get("_MIN_ROW_ID"),
        max_row_id=record.get("_MAX_ROW_ID"),
        total_buckets=record.get("_TOTAL_BUCKETS"),
        extra_files=None if extra is None else tuple(extra),
    )


def _check_version(version: object, where: str) -> None:
    if version != MANIFEST_VERSION:
        raise UnsupportedError(
            f"{where} has manifest version {version}, but this Lakebed knows version {MANIFEST_VERSION}; "
            "upgrade Lakebed, or rewrite the table with the Paimon that wrote it"
        )


# ------------------------------------------------------------------------------------------------ entries

_COUNTS: Final = pa.list_(pa.int64())
_NAMES: Final = pa.list_(pa.string())

ENTRY_SCHEMA: Final = pa.schema(
    [
        pa.field("kind", pa.int32(), nullable=False),
        pa.field("partition", pa.binary(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("total_buckets", pa.int32(), nullable=False),
        pa.field("file_name", pa.string(), nullable=False),
        pa.field("file_size", pa.int64(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
        pa.field("min_key", pa.binary(), nullable=False),
        pa.field("max_key", pa.binary(), nullable=False),
        pa.field("key_min", pa.binary(), nullable=False),
        pa.field("key_max", pa.binary(), nullable=False),
        pa.field("key_null_counts", _COUNTS),
        pa.field("value_min", pa.binary(), nullable=False),
        pa.field("value_max", pa.binary(), nullable=False),
        pa.field("value_null_counts", _COUNTS),
        pa.field("min_sequence_number", pa.int64(), nullable=False),
        pa.field("max_sequence_number", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("level", pa.int32(), nullable=False),
        pa.field("extra_files", _NAMES, nullable=False),
        pa.field("creation_time", pa.timestamp("ms")),
        pa.field("delete_row_count", pa.int64()),
        pa.field("embedded_index", pa.binary()),
        pa.field("file_source", pa.int32()),
        pa.field("value_stats_cols", _NAMES),
        pa.field("external_path", pa.string()),
        pa.field("first_row_id", pa.int64()),
        pa.field("write_cols", _NAMES),
        pa.field("write_cols_sequences", pa.list_(pa.int64())),
    ]
)
"""The columns of entries in memory: the fields of an entry without nesting."""

NO_ENTRIES: Final = ENTRY_SCHEMA.empty_table()

_TOP: Final = {"kind": "_KIND", "partition": "_PARTITION", "bucket": "_BUCKET", "total_buckets": "_TOTAL_BUCKETS"}
_IN_FILE: Final = {
    "file_name": "_FILE_NAME",
    "file_size": "_FILE_SIZE",
    "row_count": "_ROW_COUNT",
    "min_key": "_MIN_KEY",
    "max_key": "_MAX_KEY",
    "min_sequence_number": "_MIN_SEQUENCE_NUMBER",
    "max_sequence_number": "_MAX_SEQUENCE_NUMBER",
    "schema_id": "_SCHEMA_ID",
    "level": "_LEVEL",
    "extra_files": "_EXTRA_FILES",
    "creation_time": "_CREATION_TIME",
    "delete_row_count": "_DELETE_ROW_COUNT",
    "embedded_index": "_EMBEDDED_FILE_INDEX",
    "file_source": "_FILE_SOURCE",
    "value_stats_cols": "_VALUE_STATS_COLS",
    "external_path": "_EXTERNAL_PATH",
    "first_row_id": "_FIRST_ROW_ID",
    "write_cols": "_WRITE_COLS",
    "write_cols_sequences": "_WRITE_COLS_SEQUENCES",
}
_IN_STATS: Final = {
    "key_min": ("_KEY_STATS", "_MIN_VALUES"),
    "key_max": ("_KEY_STATS", "_MAX_VALUES"),
    "key_null_counts": ("_KEY_STATS", "_NULL_COUNTS"),
    "value_min": ("_VALUE_STATS", "_MIN_VALUES"),
    "value_max": ("_VALUE_STATS", "_MAX_VALUES"),
    "value_null_counts": ("_VALUE_STATS", "_NULL_COUNTS"),
}


def decode_manifest(data: bytes, *, where: str) -> pa.Table:
    """Returns the entries of a manifest, in order, with the columns of ``ENTRY_SCHEMA``."""
    return _entries(avro.decode(data, where=where), where)


def decode_manifests(files: Sequence[tuple[str, bytes]]) -> list[pa.Table | LakebedError]:
    """Returns the entries of many manifests, or the error of a manifest that cannot be decoded.

    The records of small manifests become one table together, which is ten times faster than one table each.
    """
    decoded: list[pa.Table | LakebedError] = [NO_ENTRIES] * len(files)
    groups: dict[str, list[tuple[int, list[dict[str, Any]]]]] = {}
    for number, (where, data) in enumerate(files):
        try:
            if len(data) >= avro.COLUMNAR_FROM_BYTES:
                decoded[number] = decode_manifest(data, where=where)
            else:
                records, schema = avro.records_and_schema(data, where=where)
                groups.setdefault(schema, []).append((number, records))
        except LakebedError as error:
            decoded[number] = error
    for schema, members in groups.items():
        try:
            together = _entries(avro.table_of([one for _, records in members for one in records], schema), "manifests")
            counts = np.cumsum([0, *(len(records) for _, records in members)]).tolist()
            for (number, records), start in zip(members, counts, strict=False):
                decoded[number] = together.slice(start, len(records))
        except (LakebedError, KeyError, TypeError, ValueError, pa.ArrowException):  # find out which manifest is damaged
            for number, _ in members:
                decoded[number] = _entries_or_error(*files[number])
    return decoded


def _entries_or_error(where: str, data: bytes) -> pa.Table | LakebedError:
    try:
        return decode_manifest(data, where=where)
    except LakebedError as error:
        return error


def _entries(raw: pa.Table, where: str) -> pa.Table:
    """Returns the columns of entries from the nested table that the Avro decoder returns."""
    if "_VERSION" in raw.column_names:
        for version in pc.unique(raw["_VERSION"]).to_pylist():
            _check_version(version, where)
    try:
        file = raw["_FILE"].combine_chunks()
        columns = [_entry_column(raw, file, name, len(raw)) for name in ENTRY_SCHEMA.names]
        entries = pa.Table.from_arrays(
            [column.cast(field.type) for column, field in zip(columns, ENTRY_SCHEMA, strict=True)],
            schema=ENTRY_SCHEMA,
        )
    except (AttributeError, KeyError, pa.ArrowException) as error:
        raise CorruptError(f"{where} is not a manifest: {error}; {ROLL_BACK}") from None
    check_file_names(entries["file_name"], where)
    check_file_names(pc.list_flatten(entries["extra_files"]), where)
    return entries


def _entry_column(raw: pa.Table, file: pa.StructArray, name: str, rows: int) -> pa.Array | pa.ChunkedArray:
    """Returns one column of the entries from the nested Avro table; fields that older writers do not have are null."""
    if name in _TOP:
        return raw[_TOP[name]]
    path = _IN_STATS[name] if name in _IN_STATS else (_IN_FILE[name],)
    if file.type.get_field_index(path[0]) < 0:
        if not ENTRY_SCHEMA.field(name).nullable:
            raise KeyError(f"entries lack {path[0]}")
        return pa.nulls(rows, ENTRY_SCHEMA.field(name).type)
    column = pc.struct_field(file, list(path))
    return column.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("ms")) if name == "creation_time" else column


def encode_manifest(entries: pa.Table, *, codec: str = "zstd", level: int = 1) -> bytes:
    """Returns the bytes of a manifest with these entries, in order."""
    if len(entries) >= _COLUMNAR_FROM_ROWS:
        return avro.encode_columns(MANIFEST_AVRO, _as_columns(entries), len(entries), codec=codec, level=level)
    return avro.encode(MANIFEST_AVRO, map(_entry_to_record, entries.to_pylist()), codec=codec, level=level)


def _as_columns(entries: pa.Table) -> avro_columns.Columns:
    file: dict[str, Any] = {theirs: entries[ours] for ours, theirs in _IN_FILE.items()}
    for ours, (stats, theirs) in _IN_STATS.items():
        file.setdefault(stats, {})[theirs] = entries[ours]
    top = {theirs: entries[ours] for ours, theirs in _TOP.items()}
    return {"_VERSION": pa.array(np.full(len(entries), MANIFEST_VERSION, np.int32)), **top, "_FILE": file}


def _entry_to_record(entry: Mapping[str, Any]) -> dict[str, Any]:
    file: dict[str, Any] = {theirs: entry[ours] for ours, theirs in _IN_FILE.items()}
    file["_KEY_STATS"] = _stats_record(entry, "key")
    file["_VALUE_STATS"] = _stats_record(entry, "value")
    created = entry["creation_time"]
    file["_CREATION_TIME"] = None if created is None else created.replace(tzinfo=dt.UTC)
    record: dict[str, Any] = {theirs: entry[ours] for ours, theirs in _TOP.items()}
    return {"_VERSION": MANIFEST_VERSION, **record, "_FILE": file}


def _stats_record(entry: Mapping[str, Any], which: str) -> dict[str, Any]:
    return {
        "_MIN_VALUES": entry[f"{which}_min"],
        "_MAX_VALUES": entry[f"{which}_max"],
        "_NULL_COUNTS": entry[f"{which}_null_counts"],
    }


def as_deletes(entries: pa.Table) -> pa.Table:
    """Returns DELETE entries that cancel these ADD entries: they differ only in their kind."""
    return entries.set_column(0, ENTRY_SCHEMA.field(0), pa.repeat(pa.scalar(DELETE, pa.int32()), len(entries)))


def entries_from_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Returns entries from dictionaries with the columns of ``ENTRY_SCHEMA``, for the few files of one commit."""
    return pa.Table.from_pylist(list(rows), schema=ENTRY_SCHEMA)


# -------------------------------------------------------------------------------------------------- folding

_IDENTITY: Final = ("partition", "bucket", "level", "file_name", "embedded_index", "external_path")


def fold(entries: pa.Table, *, partial: bool = False, where: str = "manifests") -> pa.Table:
    """Returns the entries that remain after every DELETE has cancelled its ADD, in order.

    The identity of a file is partition, bucket, level, name, extra files, embedded index and external path. With
    ``partial`` (only some manifests of a snapshot) an unmatched DELETE is kept, because its ADD is in another manifest;
    otherwise it raises CorruptError. A file that is added or deleted twice in a row always raises CorruptError.
    """
    is_add = pc.equal(entries["kind"], ADD)
    if len(entries) == 0 or (pc.all(is_add).as_py() and not _has_duplicates(entries["file_name"])):
        return entries
    keyed = pa.table(
        {
            **{name: entries[name] for name in _IDENTITY},
            "extra": pc.binary_join(entries["extra_files"], "\x00"),
            "row": pa.array(np.arange(len(entries))),
        }
    )
    groups = keyed.group_by([*_IDENTITY, "extra"], use_threads=False).aggregate([("row", "list")])
    history = groups["row_list"].combine_chunks()
    rows, ends = history.flatten().to_numpy(), history.offsets.to_numpy()[1:]
    adds = is_add.to_numpy()[rows]
    repeated = np.flatnonzero(adds[1:] == adds[:-1]) + 1
    repeated = repeated[~np.isin(repeated, ends)]  # the first entry of a file has none before it
    if len(repeated):
        what = "added" if adds[repeated[0]] else "deleted"
        raise CorruptError(f"{where}: file {entries['file_name'][rows[repeated[0]]]} is {what} twice")
    # Adds and deletes of a file alternate, so the last one remains if their number is odd.
    odd = np.diff(ends, prepend=0) % 2 == 1
    left, left_adds = rows[ends[odd] - 1], adds[ends[odd] - 1]
    if not partial and not left_adds.all():
        unmatched = left[~left_adds][0]
        raise CorruptError(f"{where}: file {entries['file_name'][unmatched]} is deleted but was never added")
    return entries.take(np.sort(left))


def _has_duplicates(names: pa.ChunkedArray) -> bool:
    return len(pc.unique(names)) != len(names)  # takes half the time of counting the distinct ones
