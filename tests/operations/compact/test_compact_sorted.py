"""Append tables sorted while they are compacted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from lakebed import CommitConflictError, LakebedError, NotFoundError, OptionError, Table, UnsupportedError
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.rows.append.append_compact import AppendCompactor

COLUMNS = "p STRING, x INT, y STRING, at TIMESTAMP(9)"


def rows(start: int, stop: int, partition: str = "a") -> pa.Table:
    numbers = (np.arange(start, stop) * 7919) % 1000
    return pa.table(
        {
            "p": pa.array([partition] * len(numbers)),
            "x": pa.array(numbers, pa.int32(), mask=numbers == 5),
            "y": pa.array([f"y{(n * 31) % 1000:04}" for n in numbers.tolist()]),
            "at": pa.array(numbers.astype(np.int64) + 1, pa.timestamp("ns")),
        }
    )


def filled(table: Callable[..., Table], **options: str) -> Table:
    made = table(COLUMNS, partition_by=["p"], options=options)
    for start in range(0, 1000, 200):
        made.write(pa.concat_tables([rows(start, start + 200), rows(start, start + 100, "b")]))
    return made


def orphans(table: Table) -> int:
    return table.remove_orphan_files(older_than="0 s", dry_run=True).count


def as_set(table: Table) -> list[str]:
    return sorted(map(str, table.scan().to_arrow().to_pylist()))


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
def test_the_same_rows_in_another_order(strategy: str, table: Callable[..., Table]) -> None:
    made = filled(table)
    before = as_set(made)
    reports: list[tuple[int, int]] = []
    snapshot = made.compact(order_by=["x", "y"], strategy=strategy, report=lambda *done: reports.append(done))
    assert snapshot is not None
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert as_set(made) == before
    assert reports == [(1, 2), (2, 2)]
    assert made.verify(deep=True).ok
    entries = live_entries(made._store, snapshot)
    assert entries["file_source"].to_pylist() == [1, 1], "files of a compaction"
    assert entries["row_count"].to_pylist() == [1000, 500]
    if strategy == "order":
        x = made.scan(["x"], where="p = 'a'").to_arrow()["x"].to_pylist()
        assert x == [None, *(n for n in range(1000) if n != 5)]


def test_files_of_a_sorted_table_are_skipped(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    """More files than one, and more rows than memory is to hold."""
    made = filled(
        table, **{"target-file-size": "3 kb", "file.block-size": "1 kb", "parquet.enable.dictionary": "false"}
    )
    monkeypatch.setattr(AppendCompactor, "budget", 2000)
    made.compact(order_by=["y"])
    plan = made.scan(where="p = 'a'").plan()
    assert plan.file_count > 3
    one = made.scan(where="p = 'a' AND y = 'y0500'")
    assert one.plan().file_count == 1
    assert len(one.to_arrow()) == 1
    assert made.scan().count() == 1500


def test_only_some_partitions(table: Callable[..., Table]) -> None:
    made = filled(table)
    made.compact(order_by=["x"], where="p = 'b'")
    assert made.scan(where="p = 'a'").plan().file_count == 5
    assert made.scan(where="p = 'b'").plan().file_count == 1


def test_deleted_rows_stay_away_and_their_vectors_go(table: Callable[..., Table]) -> None:
    made = filled(table, **{"deletion-vectors.enabled": "true"})
    made.delete("x < 500")
    left = as_set(made)
    snapshot = made.compact(order_by=["x"])
    assert snapshot is not None
    assert as_set(made) == left
    assert not made._store.manifests.read_index(snapshot.index_manifest)
    assert made.verify(deep=True).ok


def test_a_table_without_rows(table: Callable[..., Table]) -> None:
    made = table(COLUMNS)
    assert made.compact(order_by=["x"]) is None
    made.write(rows(0, 3))
    made.truncate()
    assert made.compact(order_by=["x"], strategy="zorder") is None


def test_rows_that_are_gone_meanwhile(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    made = filled(table)
    plain = AppendCompactor.rewrite

    def slowly(compactor: AppendCompactor, pack: pa.Table) -> pa.Table:
        made.truncate()
        return plain(compactor, pack)

    monkeypatch.setattr(AppendCompactor, "rewrite", slowly)
    with pytest.raises(CommitConflictError):
        made.compact(order_by=["x"])
    assert orphans(made) == 0


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ({"order_by": ["z"]}, NotFoundError, "unknown column 'z'"),
        ({"order_by": ["p"]}, OptionError, "partition column"),
        ({"order_by": ["n"]}, UnsupportedError, "nested"),
        ({"order_by": ["x", "x"]}, OptionError, "more than once"),
        ({"order_by": ["x"], "strategy": "zodrer"}, OptionError, "zodrer"),
    ],
)
def test_what_cannot_be_sorted(
    given: dict[str, object], kind: type[LakebedError], text: str, table: Callable[..., Table]
) -> None:
    made = table("p STRING, x INT, n ARRAY<INT>", partition_by=["p"])
    with pytest.raises(kind, match=text):
        made.compact(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"primary_key": ["x"], "options": {"bucket": "1"}},
        {"primary_key": ["x"]},
        {"options": {"bucket": "2", "bucket-key": "x"}},
    ],
    ids=["primary key", "dynamic buckets", "buckets"],
)
def test_tables_with_an_order_of_their_own(given: dict[str, object], table: Callable[..., Table]) -> None:
    made = table("x INT NOT NULL, y INT", **given)
    with pytest.raises(UnsupportedError, match="only append tables without buckets"):
        made.compact(order_by=["y"])
