"""The index manifest: every live index file of a snapshot. It is rewritten as a whole when one file changes.

There are few entries (one per bucket or per file of deletion vectors), so they are plain objects. :func:`combine` has
the rules for the index changes of a commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import fastavro

from lakebed.errors import ROLL_BACK, CommitConflictError, CorruptError, UnsupportedError
from lakebed.format.file_names import check_file_name
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest import avro
from lakebed.format.manifest.manifest import ADD, DELETE

INDEX_MANIFEST_VERSION: Final = 1
HASH: Final = "HASH"
DELETION_VECTORS: Final = "DELETION_VECTORS"

INDEX_MANIFEST_AVRO: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": avro.RECORD,
        "fields": [
            {"name": "_VERSION", "type": "int"},
            {"name": "_KIND", "type": "int"},
            {"name": "_PARTITION", "type": "bytes"},
            {"name": "_BUCKET", "type": "int"},
            {"name": "_INDEX_TYPE", "type": "string"},
            {"name": "_FILE_NAME", "type": "string"},
            {"name": "_FILE_SIZE", "type": "long"},
            {"name": "_ROW_COUNT", "type": "long"},
            {
                "name": "_DELETIONS_VECTORS_RANGES",
                **avro.optional(
                    {
                        "type": "array",
                        "items": [
                            "null",
                            {
                                "type": "record",
                                "name": f"{avro.RECORD}__DELETIONS_VECTORS_RANGES",
                                "fields": [
                                    {"name": "f0", "type": "string"},
                                    {"name": "f1", "type": "int"},
                                    {"name": "f2", "type": "int"},
                                    {"name": "_CARDINALITY", **avro.optional("long")},
                                ],
                            },
                        ],
                    }
                ),
            },
            {"name": "_EXTERNAL_PATH", **avro.optional("string")},
            {
                "name": "_GLOBAL_INDEX",
                **avro.optional(
                    {
                        "type": "record",
                        "name": f"{avro.RECORD}__GLOBAL_INDEX",
                        "fields": [
                            {"name": "_ROW_RANGE_START", "type": "long"},
                            {"name": "_ROW_RANGE_END", "type": "long"},
                            {"name": "_INDEX_FIELD_ID", "type": "int"},
                            {"name": "_EXTRA_FIELD_IDS", **avro.optional({"type": "array", "items": "int"})},
                            {"name": "_INDEX_META", **avro.optional("bytes")},
                            {"name": "_SOURCE_META", **avro.optional("bytes")},
                        ],
                    }
                ),
            },
        ],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One index file; ``global_index`` is kept unchanged."""

    kind: int
    partition: bytes
    bucket: int
    index_type: str
    file_name: str
    file_size: int
    row_count: int
    vectors: tuple[VectorRange, ...] | None = None
    external_path: str | None = None
    global_index: Mapping[str, Any] | None = None


def encode_index_manifest(entries: Iterable[IndexEntry], *, codec: str = "zstd", level: int = 1) -> bytes:
    """Returns the bytes of an index manifest with all live index files."""
    return avro.encode(INDEX_MANIFEST_AVRO, [_to_record(entry) for entry in entries], codec=codec, level=level)


def decode_index_manifest(data: bytes, *, where: str) -> list[IndexEntry]:
    """Returns the index files that an index manifest lists."""
    try:
        entries = [_from_record(record, where) for record in avro.decode_records(data, where=where)]
    except (AttributeError, KeyError, TypeError) as error:
        raise CorruptError(f"{where} is not an index manifest: {error!r}; {ROLL_BACK}") from None
    for entry in entries:
        check_file_name(entry.file_name, where)
    return entries


def _to_record(entry: IndexEntry) -> dict[str, Any]:
    vectors = entry.vectors
    return {
        "_VERSION": INDEX_MANIFEST_VERSION,
        "_KIND": entry.kind,
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_INDEX_TYPE": entry.index_type,
        "_FILE_NAME": entry.file_name,
        "_FILE_SIZE": entry.file_size,
        "_ROW_COUNT": entry.row_count,
        "_DELETIONS_VECTORS_RANGES": None
        if vectors is None
        else [
            {"f0": part.file_name, "f1": part.offset, "f2": part.length, "_CARDINALITY": part.cardinality}
            for part in vectors
        ],
        "_EXTERNAL_PATH": entry.external_path,
        "_GLOBAL_INDEX": entry.global_index,
    }


def _from_record(record: Mapping[str, Any], where: str) -> IndexEntry:
    version = record.get("_VERSION", INDEX_MANIFEST_VERSION)
    if version != INDEX_MANIFEST_VERSION:
        raise UnsupportedError(
            f"{where} has index manifest version {version}, but this Lakebed knows version "
            f"{INDEX_MANIFEST_VERSION}; upgrade Lakebed to read this table"
        )
    ranges = record.get("_DELETIONS_VECTORS_RANGES")
    return IndexEntry(
        kind=record["_KIND"],
        partition=record["_PARTITION"],
        bucket=record["_BUCKET"],
        index_type=record["_INDEX_TYPE"],
        file_name=record["_FILE_NAME"],
        file_size=record["_FILE_SIZE"],
        row_count=record["_ROW_COUNT"],
        vectors=None
        if ranges is None
        else tuple(VectorRange(part["f0"], part["f1"], part["f2"], part.get("_CARDINALITY")) for part in ranges),
        external_path=record.get("_EXTERNAL_PATH"),
        global_index=record.get("_GLOBAL_INDEX"),
    )


def combine(live: Sequence[IndexEntry], changes: Sequence[IndexEntry], *, bucketed: bool) -> list[IndexEntry]:
    """Returns the live index files after a commit's changes, all as ADD entries.

    On bucketed tables there is one HASH and one DELETION_VECTORS file per partition and bucket, and an ADD replaces it.
    All other files are identified by name: an ADD must have a new name, and a DELETE must name a live file.
    """
    kept = {_key(entry, bucketed=bucketed): entry for entry in live}
    for change in changes:
        if change.kind != DELETE:
            continue
        gone = kept.pop(_key(change, bucketed=bucketed), None)
        if gone is None or gone.file_name != change.file_name:
            raise CommitConflictError(
                f"index file {change.file_name}, which the commit deletes, is no longer part of the table; "
                "another commit replaced it. Read the table again and retry"
            )
    for change in changes:
        if change.kind == ADD:
            key = _key(change, bucketed=bucketed)
            if key in kept and len(key) == 1:
                raise CommitConflictError(f"index file {change.file_name} is already part of the table")
            kept[key] = change
    if not bucketed:
        _check_one_vector_per_file(kept.values())
    return list(kept.values())


def _key(entry: IndexEntry, *, bucketed: bool) -> tuple[object, ...]:
    if bucketed and entry.index_type in {HASH, DELETION_VECTORS}:
        return entry.partition, entry.bucket, entry.index_type
    return (entry.file_name,)


def _check_one_vector_per_file(entries: Iterable[IndexEntry]) -> None:
    seen: set[tuple[bytes, str]] = set()
    for entry in entries:
        for part in entry.vectors or ():
            if (entry.partition, part.file_name) in seen:
                raise CommitConflictError(
                    f"data file {part.file_name} would have two deletion vectors; another commit deleted rows of it. "
                    "Read the table again and retry"
                )
            seen.add((entry.partition, part.file_name))
