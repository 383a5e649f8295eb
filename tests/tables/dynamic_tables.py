"""Tables with dynamic buckets for tests, and what must hold of their indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from tests.places import stored_path

from lakebed import Lake, Table
from lakebed.buckets.partition_assigners import key_hashes
from lakebed.format.index_files import hash_index
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.hash_indexes import indexes_of, read_hashes
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.rows.files.file_reader import FileReader

COLUMNS = "p INT, k INT, v STRING"


def dynamic(lake: Lake, options: Mapping[str, str] | None = None, *, target: int = 4) -> Table:
    """A table with the columns ``p``, ``k`` and ``v``, partitioned by ``p``, with a few keys to a bucket."""
    chosen = {"bucket": "-1", "dynamic-bucket.target-row-num": str(target), **(options or {})}
    return lake.create_table("db.t", COLUMNS, partition_by=["p"], primary_key=["p", "k"], options=chosen)


def rows(keys: Iterable[int], value: str, partition: int = 0) -> pa.Table:
    chosen = list(keys)
    return pa.table(
        {
            "p": pa.array([partition] * len(chosen), pa.int32()),
            "k": pa.array(chosen, pa.int32()),
            "v": pa.array([value] * len(chosen), pa.string()),
        }
    )


def shown(table: Table, **how: Any) -> dict[tuple[int, int], str]:
    """The rows by partition and key; every key is there once."""
    found = table.scan(**how).to_arrow().to_pylist()
    values = {(row["p"], row["k"]): row["v"] for row in found}
    assert len(values) == len(found), "a key has two rows"
    return values


def buckets_of(table: Table) -> dict[tuple[int, int], int]:
    """The bucket that each key of the files lies in; a key lies in one."""
    found: dict[tuple[int, int], int] = {}
    entries = live_entries(table._store, table.latest_snapshot())
    for row, bucket in enumerate(entries["bucket"].to_pylist()):
        read = FileReader(table._store, table.schema, table.schema.select(("p", "k"))).read(entries.slice(row, 1))
        for key in zip(read["p"].to_pylist(), read["k"].to_pylist(), strict=True):
            assert found.setdefault(key, bucket) == bucket, f"key {key} lies in two buckets"
    return found


def check_index(table: Table, forgotten: Mapping[tuple[int, int], int] | None = None) -> None:
    """The index files name exactly the keys of the files, in the buckets where they are, but for some that are gone."""
    keys = {**(forgotten or {}), **buckets_of(table)}
    wanted: dict[tuple[int, int], set[int]] = {}
    for (partition, key), bucket in keys.items():
        (found,) = key_hashes(rows([key], "", partition), table.schema).tolist()
        wanted.setdefault((partition, bucket), set()).add(found)
    stored: dict[tuple[int, int], set[int]] = {}
    for partition_index in indexes_of(table._store, table.latest_snapshot()).values():
        for bucket, entry in partition_index.entries.items():
            hashes = read_hashes(table._store, entry)
            assert len(hashes) == entry.row_count == entry.file_size // 4
            stored[int(np.frombuffer(entry.partition[12:16], "<i4")[0]), bucket] = set(hashes.tolist())
    assert stored == wanted


def forge_index(table: Table, bucket: int, hashes: Iterable[int]) -> None:
    """Commit another index for a bucket of the only partition, as another writer would: without a checksum."""
    (index,) = indexes_of(table._store, table.latest_snapshot()).values()
    data = hash_index.encode(np.fromiter(hashes, np.int32))
    entry = replace(
        index.entries[bucket], file_name=f"index-foreign-{bucket}", file_size=len(data), row_count=len(data) // 4
    )
    stored_path(table._store.paths.index(entry.file_name)).write_bytes(data)
    assert commit(table._store, append(Change(index=(entry,)))) is not None
