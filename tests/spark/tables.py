"""Helpers of the tests on Spark: the same rows written in process and on Spark, and looked at the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.data_file_paths import data_file_paths
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import overwrite
from lakebed.operations.write import write
from lakebed.spark.choose_engine import engine_for
from lakebed.table import Table


def put(store: TableStore, data: Any, row_kind: str | None = None) -> Snapshot | None:
    return write(store, data, row_kind=row_kind, who=Identity("test"), engine=engine_for(data))


def replace_rows(store: TableStore, data: Any, partition: dict[str, Any] | None = None) -> Snapshot | None:
    return overwrite(store, data, partition, Identity("test"), engine=engine_for(data))


def rows(store: TableStore) -> list[str]:
    """All rows of a table, in an order of their own; as texts, so that NaN and null can be compared."""
    return sorted(map(repr, Table(store).scan().to_arrow().to_pylist()))


def entries(store: TableStore) -> pa.Table:
    return live_entries(store, store.snapshots.latest())


def data_files(store: TableStore) -> set[str]:
    return {str(path) for path in Path(store.paths.root).rglob("*.parquet")}


def live_files(store: TableStore) -> set[str]:
    return set(data_file_paths(store, store.schema(), entries(store)))


def frame(spark: Any, table: pa.Table, parts: int = 3) -> Any:
    """A frame of several partitions, in the order of the table."""
    size = -(-len(table) // parts) or 1
    frames = [spark.createDataFrame(table.slice(start, size)).coalesce(1) for start in range(0, len(table), size)]
    whole = frames[0] if frames else spark.createDataFrame(table)
    for more in frames[1:]:
        whole = whole.union(more)
    return whole
