"""Compaction in tasks: the same table as in process, progress, and nothing left of what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.stores import files_below
from tests.spark.filled_tables import Make, filled
from tests.spark.storages import Deadly
from tests.spark.tables import data_files, entries, live_files, put, rows

from lakebed.errors import CommitConflictError, StorageError
from lakebed.format import predicate as pred
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.store import TableStore
from lakebed.operations.compact import compact_keyed as compact_operation
from lakebed.operations.compact.compact_keyed import compact_keyed_table
from lakebed.spark.spark_engine import OnSpark
from lakebed.spark.write import compact_on_spark as spark_compact


@pytest.mark.parametrize("full", [True, False], ids=["full", "where needed"])
@pytest.mark.parametrize(
    "options",
    [{}, {"deletion-vectors.enabled": "true"}, {"merge-engine": "first-row"}],
    ids=lambda o: " ".join(o) or "plain",
)
def test_the_same_files_as_in_process(full: bool, options: dict[str, str], store: Make, spark: Any) -> None:
    trigger = {"num-sorted-run.compaction-trigger": "2"}
    here, there = filled(store, **options, **trigger), filled(store, **options, **trigger)
    reports: list[tuple[int, int]] = []
    compact_keyed_table(here, full=full)
    made = compact_keyed_table(there, full=full, report=lambda *done: reports.append(done), engine=OnSpark(spark))
    assert made is not None
    assert made.commit_kind is CommitKind.COMPACT
    assert rows(there) == rows(here)
    columns = ["partition", "bucket", "level", "row_count", "delete_row_count", "min_sequence_number"]
    assert sorted(map(str, entries(there).select(columns).to_pylist())) == sorted(
        map(str, entries(here).select(columns).to_pylist())
    )
    assert reports[-1] == (6, 6)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert compact_keyed_table(there, full=True, engine=OnSpark(spark)) is None or not full


def test_only_some_partitions(store: Make, spark: Any) -> None:
    table = filled(store)
    before = live_files(table)
    compact_keyed_table(table, full=True, where=pred.Compare("p", "=", pa.scalar("a")), engine=OnSpark(spark))
    kept = {path for path in before if "/p=b/" in path}
    assert {path for path in live_files(table) if "/p=b/" in path} == kept
    assert len(live_files(table)) == len(kept) + 3


def test_nothing_to_do(store: Make, spark: Any) -> None:
    table = store("k INT", primary_key=["k"], options={"bucket": "1"})
    assert compact_keyed_table(table, full=True, engine=OnSpark(spark)) is None
    put(table, pa.table({"k": pa.array([1], pa.int32())}))
    assert compact_keyed_table(table, full=False, engine=OnSpark(spark)) is None


def test_writes_on_spark_are_followed_by_a_compaction(store: Make, spark: Any) -> None:
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "2"}
    table = store("id BIGINT, v STRING", primary_key=["id"], options=options)
    for number in range(2):
        put(table, spark.sql(f"SELECT id, 'v{number}' v FROM range(10)"))
    latest = table.snapshots.latest()
    assert latest is not None
    assert latest.commit_kind is CommitKind.COMPACT
    assert len(entries(table)) == 2
    assert all("v1" in row for row in rows(table))


def test_a_task_that_fails_once(store: Make, spark: Any, tmp_path: Path) -> None:
    table = filled(store)
    before = rows(table)
    deadly = TableStore(Deadly(str(tmp_path), 1), table.paths, table.name)
    old = live_files(table)
    compact_keyed_table(deadly, full=True, engine=OnSpark(spark))
    assert len(list(tmp_path.glob("death-*"))) == 1
    assert rows(table) == before
    assert data_files(table) == old | live_files(table)


def test_a_compaction_that_fails_leaves_nothing(store: Make, spark: Any, tmp_path: Path) -> None:
    table = filled(store, **{"deletion-vectors.enabled": "true"})
    before = files_below(table.paths.root)
    deadly = TableStore(Deadly(str(tmp_path), 100, raises=True), table.paths, table.name)
    with pytest.raises(StorageError, match=r"^cannot write: no space left on the device$"):
        compact_keyed_table(deadly, full=True, engine=OnSpark(spark))
    assert files_below(table.paths.root) == before


def test_a_commit_that_loses_leaves_nothing(store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(store)
    before = files_below(table.paths.root)

    def lose(*_: Any) -> Any:
        raise CommitConflictError("another compaction was faster")

    monkeypatch.setattr(compact_operation, "commit", lose)
    with pytest.raises(CommitConflictError):
        compact_keyed_table(table, full=True, engine=OnSpark(spark))
    assert files_below(table.paths.root) == before


def test_small_buckets_share_a_task(store: Make, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    original = spark_compact.packed

    def spied(works: Any, size: int) -> Any:
        packs = original(works, size)
        seen.append([len(pack) for pack in packs])
        return packs

    monkeypatch.setattr(spark_compact, "packed", spied)
    compact_keyed_table(filled(store), full=True, engine=OnSpark(spark))
    monkeypatch.setattr(spark_compact, "TASK_BYTES", 1)
    compact_keyed_table(filled(store), full=True, engine=OnSpark(spark))
    assert seen == [[6], [1] * 6]
