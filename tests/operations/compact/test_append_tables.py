"""Compaction of append tables: many small files into few, with the same rows before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.places import stored_path

import lakebed
from lakebed import changes
from lakebed.errors import CommitConflictError
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit import commit as commit_module
from lakebed.metadata.plan.small_files import SmallFilePolicy, pick_small_files
from lakebed.operations.compact import compact_append


def rows(scan: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in scan.to_arrow().to_pylist()]


def files(table: lakebed.Table) -> pa.Table:
    return table.scan().plan().files


def test_small_files_become_one_and_the_rows_stay(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT, dt STRING", partition_by=["dt"])
    for number in range(6):
        table.write([{"id": number, "dt": "a"}, {"id": 100 + number, "dt": "b"}])
    table.write([{"id": 7, "dt": "c"}])
    before = sorted(rows(table.scan()))
    seen: list[tuple[int, int]] = []
    made = table.compact(report=lambda done, total: seen.append((done, total)))
    assert made is not None
    assert made.commit_kind is CommitKind.COMPACT
    assert made.delta_record_count == 0
    assert sorted(rows(table.scan())) == before
    assert len(files(table)) == 3
    assert seen == [(1, 2), (2, 2)]
    assert [row[0] for row in rows(table.scan(["id"], where="dt = 'a'"))] == list(range(6))  # in the order of writing
    assert sorted(rows(table.scan(version=3))) == sorted(before[:3] + before[7:10])
    assert table.compact() is None
    path = files(table).filter(pa.array([size == 6 for size in files(table)["record_count"].to_pylist()]))["file_path"]
    assert {pq.ParquetFile(name).metadata.num_row_groups for name in path.to_pylist()} == {1}


def test_few_files_wait_unless_compaction_is_full(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    for number in range(4):
        table.write([{"id": number}])
    assert table.compact() is None
    assert table.compact(full=True) is not None
    assert len(files(table)) == 1
    assert table.compact(full=True) is None
    assert sorted(rows(table.scan())) == [(0,), (1,), (2,), (3,)]


def test_only_the_partitions_asked_for(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT, dt STRING", partition_by=["dt"])
    for number in range(3):
        table.write([{"id": number, "dt": "a"}, {"id": number, "dt": "b"}])
    table.compact(full=True, where="dt = 'b'")
    assert [
        len(files_of)
        for files_of in (table.scan(where="dt = 'a'").plan().files, table.scan(where="dt = 'b'").plan().files)
    ] == [3, 1]


def test_fixed_buckets_keep_the_order_and_the_numbers_of_their_rows(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT, k INT", options={"bucket": 2, "bucket-key": "k"})
    for number in range(6):
        table.write([{"id": number, "k": 1}])
    last = table.compact()
    assert last is not None
    assert [row[0] for row in rows(table.scan(["id"]))] == list(range(6))
    listed = (
        lake.system_table("db.t$files").scan(["min_sequence_number", "max_sequence_number", "file_source"]).to_arrow()
    )
    assert listed.to_pylist() == [{"min_sequence_number": 0, "max_sequence_number": 5, "file_source": "COMPACT"}]
    table.write([{"id": 6, "k": 1}])
    assert [row[0] for row in rows(table.scan(["id"]))] == list(range(7))


def test_files_of_older_schemas_are_brought_up_to_date(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "id INT, v INT")
    table.write([{"id": 1, "v": 10}])
    table.alter(
        changes.RenameColumn("v", "w"), changes.UpdateColumnType("w", "BIGINT"), changes.AddColumn("x", "STRING")
    )
    table.write([{"id": 2, "w": 2**40, "x": "new"}])
    table.compact(full=True)
    assert rows(table.scan()) == [(1, 10, None), (2, 2**40, "new")]


def test_a_delete_that_landed_meanwhile_is_not_undone(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create_table("db.t", "id INT")
    for number in range(3):
        table.write([{"id": number}])
    real = commit_module.commit

    def late(*arguments: Any) -> Any:
        table.delete("id = 1")
        return real(*arguments)

    before = {path.name for path in stored_path(table.path).rglob("*.parquet")}
    monkeypatch.setattr(compact_append, "commit", late)
    with pytest.raises(CommitConflictError):
        table.compact(full=True)
    assert sorted(rows(table.scan())) == [(0,), (2,)]
    assert {path.name for path in stored_path(table.path).rglob("*.parquet")} == before
    monkeypatch.setattr(compact_append, "commit", real)
    table.compact(full=True)
    assert sorted(rows(table.scan())) == [(0,), (2,)]


# ------------------------------------------------------------------------------------------------------------ the plan


def entries_of(buckets: list[int], sizes: list[int]) -> pa.Table:
    return pa.table(
        {
            "partition": pa.array([b"p"] * len(sizes), pa.binary()),
            "bucket": pa.array(buckets, pa.int32()),
            "file_size": pa.array(sizes, pa.int64()),
            "row_count": pa.array([10] * len(sizes), pa.int64()),
            "min_sequence_number": pa.array(range(len(sizes)), pa.int64()),
        }
    )


@settings(deadline=None)
@given(st.data(), st.booleans(), st.booleans())
def test_every_pack_is_sensible(data: st.DataObject, full: bool, ordered: bool) -> None:
    count = data.draw(st.integers(0, 40))
    buckets = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    sizes = data.draw(st.lists(st.integers(1, 120), min_size=count, max_size=count))
    deleted = np.array(data.draw(st.lists(st.integers(0, 10), min_size=count, max_size=count)), np.int64)
    policy = SmallFilePolicy(target_size=100, small_size=70, min_files=2 if full else 4, deleted_share=0.5, full=full)
    packs = pick_small_files(entries_of(buckets, sizes), policy, deleted_rows=deleted, ordered=ordered)

    picked = [row for pack in packs for row in pack.tolist()]
    assert len(picked) == len(set(picked))
    wanted = [row for row in range(count) if sizes[row] < 70 or deleted[row] > 5]
    assert set(picked) <= set(wanted)
    assert {row for row in wanted if deleted[row] > 5} <= set(picked)
    for pack in packs:
        own = pack.tolist()
        assert len({buckets[row] for row in own}) == 1
        assert own == sorted(own)
        assert sum(sizes[row] for row in own[:-1]) < 200  # at most about one file more than the target
        assert (
            len(own) >= policy.min_files
            or sum(sizes[row] for row in own) >= 100
            or any(deleted[row] > 5 for row in own)
        )
        if ordered:
            between = [row for row in range(own[0], own[-1]) if buckets[row] == buckets[own[0]]]
            assert set(between) <= set(own)
    if full and not ordered:  # nothing is left that could be packed: per bucket at most what did not fill a pack
        for bucket in range(3):
            left = [row for row in wanted if buckets[row] == bucket and row not in picked]
            total = sum(sizes[row] for row in wanted if buckets[row] == bucket)
            assert len(left) <= total // 100 + 1
