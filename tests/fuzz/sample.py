"""A small warehouse with every kind of file that the format has, and what reads each kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

import lakebed
from lakebed.format.history_sidecar import decode_rows
from lakebed.format.index_files import hash_index
from lakebed.format.index_files.deletion_vector import read_deletion_vector
from lakebed.format.manifest import avro
from lakebed.format.manifest.index_manifest import decode_index_manifest
from lakebed.format.manifest.manifest import decode_manifest, decode_manifest_list, decode_manifests
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import snapshot_from_json
from lakebed.format.statistics.table_statistics import statistics_from_json
from lakebed.format.tag import tag_from_json


def _by_columns(data: bytes, where: str) -> Any:
    with mock.patch.object(avro, "COLUMNAR_FROM_BYTES", 0):
        return decode_manifest(data, where=where)


def _together(data: bytes, where: str) -> Any:
    (found,) = decode_manifests([(where, data)])
    if isinstance(found, Exception):
        raise found
    return found


NAMES = ("db.append", "db.vectors", "db.dynamic")

DECODERS: dict[str, Callable[[bytes, str], Any]] = {
    "snapshot": lambda data, where: snapshot_from_json(data, where=where),
    "schema": lambda data, where: TableSchema.from_json(data, where=where),
    "tag": lambda data, where: tag_from_json("t", data, where=where),
    "statistics": lambda data, where: statistics_from_json(data, where=where),
    "manifest list": lambda data, where: decode_manifest_list(data, where=where),
    "manifest": lambda data, where: decode_manifest(data, where=where),
    "manifest by columns": _by_columns,
    "manifest with others": _together,
    "index manifest": lambda data, where: decode_index_manifest(data, where=where),
    "hash index": lambda data, where: hash_index.decode(data, where=where),
    "deletion vectors": lambda data, where: read_deletion_vector(data[1:], where=where),
    "history index": lambda data, where: decode_rows(data, where=where),
}

KINDS = {
    "snapshot": r"snapshot/snapshot-\d+",
    "hint": r"snapshot/(LATEST|EARLIEST)",
    "schema": r"schema/schema-\d+",
    "tag": r"tag/tag-.*",
    "statistics": r"statistics/stat-.*",
    "manifest list": r"manifest/manifest-list-.*",
    "manifest": r"manifest/manifest-[0-9a-f]{8}-.*",
    "index manifest": r"manifest/index-manifest-.*",
    "hash index": r"index/index-.*",
    "deletion vectors": r"index/index-.*",
    "history index": r"\.lakebed/history-\d+",
    "consumer": r"consumer/consumer-.*",
    "data file": r".*bucket-\d+/data-.*\.parquet",
}
"""Where files of each kind are, below the folder of a table."""
_TABLES = {"hash index": "dynamic", "deletion vectors": "vectors"}


def make(folder: Path) -> lakebed.Lake:
    lake = lakebed.connect(folder, options={"commit.durable": False})
    lake.create_database("db")
    plain = lake.create_table("db.append", "id BIGINT, v STRING, day STRING", partition_by=["day"])
    for number in range(3):
        plain.write(rows(number * 100, 100).append_column("day", pa.array([str(number % 2)] * 100)))
    plain.create_tag("t", snapshot=2)
    plain.create_branch("dev", tag="t")
    plain.analyze("all")
    plain.reset_consumer("reader", 2)
    open_text = {"manifest.compression": "null"}  # damage gets to the records, not only to what they are packed in
    for name, options in {
        "vectors": {"bucket": "1", "deletion-vectors.enabled": "true", "changelog-producer": "lookup", **open_text},
        "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "50", **open_text},
    }.items():
        table = lake.create_table(f"db.{name}", "id BIGINT, v STRING", primary_key=["id"], options=options)
        table.write(rows(0, 100))
        table.write(rows(50, 100))
        table.compact(full=True)
        table.write(rows(40, 20))
    return lake


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "v": [f"v{i}" for i in range(count)]})


def files_of(warehouse: Path, kind: str) -> list[Path]:
    """Returns the files of a kind in all tables."""
    kind = "manifest" if kind.startswith("manifest ") and kind not in KINDS else kind
    found = []
    for name in NAMES if kind not in _TABLES else [f"db.{_TABLES[kind]}"]:
        root = warehouse / "db.db" / name.removeprefix("db.")
        found += [
            path
            for path in sorted(root.rglob("*"))
            if path.is_file() and re.fullmatch(KINDS[kind], str(path.relative_to(root)))
        ]
    assert found, f"the sample has no {kind}"
    return found
