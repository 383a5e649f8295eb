"""Sorted compaction in tasks: by one task, or in ranges through an exchange."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.tables import data_files, live_files, put, rows

from lakebed.errors import StorageError
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_append import compact_append_table
from lakebed.rows.files.file_reader import FileReader
from lakebed.rows.sort_order import SortOrder
from lakebed.spark.spark_engine import OnSpark
from lakebed.spark.write import sort_on_spark as sort

Make = Callable[..., TableStore]
SMALL_FILES = {"target-file-size": "20 kb", "file.block-size": "4 kb"}


def filled(make: Make, **options: str) -> TableStore:
    """A partition that becomes several files, and one that becomes one."""
    table = make("p STRING, x INT, y STRING, at TIMESTAMP(9)", partition_by=["p"], options=options)
    for part in range(4):
        numbers = (np.arange(part * 2500, (part + 1) * 2500) * 7919) % 10_000
        put(
            table,
            pa.table(
                {
                    "p": pa.array(np.where(numbers % 100 == 0, "small", "large")),
                    "x": pa.array(numbers, pa.int32()),
                    "y": pa.array([f"{(n * 6364136223846793005) % 2**64:020}" for n in numbers.tolist()]),
                    "at": pa.array(numbers.astype(np.int64) + 1, pa.timestamp("ns")),
                }
            ),
        )
    return table


def bounds(table: TableStore, name: str) -> list[tuple[Any, Any]]:
    """The least and the greatest value of each file of the large partition."""
    latest = table.snapshots.latest()
    assert latest is not None
    reader = FileReader(table, table.schema(), table.schema().fields)
    found = []
    for entry in live_entries(table, latest).to_batches(max_chunksize=1):
        read = reader.read(pa.Table.from_batches([entry]))
        if read["p"][0].as_py() == "large":
            values = read[name].to_pylist()
            assert values == sorted(values)
            found.append((values[0], values[-1]))
    return sorted(found)


@pytest.fixture(params=["local files", "shuffle"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks wait in files of this machine, or are shuffled as on a cluster."""
    if request.param == "shuffle":
        monkeypatch.setattr(sort, "local_folder", lambda _: nullcontext())


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("strategy", ["order", "zorder"])
def test_large_and_small_partitions(strategy: str, store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sort, "_SENDER_BYTES", 50_000)
    table = filled(store, **SMALL_FILES)
    before = rows(table)
    reports: list[tuple[int, int]] = []
    order = SortOrder(strategy, ("x",) if strategy == "order" else ("x", "y"))
    made = compact_append_table(
        table, full=True, order=order, report=lambda *done: reports.append(done), engine=OnSpark(spark)
    )
    assert made is not None
    assert made.commit_kind is CommitKind.COMPACT
    assert rows(table) == before, "no row is lost, and none lost its nanoseconds"
    assert reports[-1] == (2, 2)
    assert data_files(table) >= live_files(table)
    if strategy == "order":
        files = bounds(table, "x")
        assert len(files) > 5
        assert all(one[1] < other[0] for one, other in itertools.pairwise(files)), "files do not overlap"


def test_a_sort_that_fails_leaves_nothing(store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(store, **SMALL_FILES)
    before = data_files(table)

    def fail(*_: Any) -> Any:
        raise StorageError("the disk is full")

    monkeypatch.setattr(sort, "run_over", fail)
    with pytest.raises(StorageError, match="the disk is full"):
        compact_append_table(table, full=True, order=SortOrder("order", ("x",)), engine=OnSpark(spark))
    assert data_files(table) == before
