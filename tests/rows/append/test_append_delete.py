"""Deleting rows: what is rewritten, what is dropped unread, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.lakes import reopened
from tests.places import stored_path

import lakebed
from lakebed import changes
from lakebed.errors import CommitConflictError, CorruptError, ExpressionError
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.plan.file_scan import live_entries

_COUNTER = iter(range(10**9))


def create(lake: lakebed.Lake, schema: Any, **more: Any) -> lakebed.Table:
    return lake.create_table(f"db.t{next(_COUNTER)}", schema, **more)


def all_files(table: lakebed.Table) -> set[Path]:
    return {path for path in stored_path(table.path).rglob("*") if path.is_file()}


def live_names(table: lakebed.Table) -> set[str]:
    return set(live_entries(table._store, table.latest_snapshot())["file_name"].to_pylist())


def ids(table: lakebed.Table, **more: Any) -> list[int]:
    found: list[int] = table.scan(["id"], **more).to_arrow()["id"].to_pylist()
    return sorted(found)


def numbers(*values: int) -> pa.Table:
    return pa.table({"id": pa.array(values, pa.int32())})


def test_only_files_with_matching_rows_are_touched(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT")
    for start in (0, 10, 20):
        table.write(numbers(*range(start, start + 10)))
    before = live_names(table)
    made = table.delete("id >= 5 AND id < 20")
    assert made is not None
    assert (made.commit_kind, made.operation) == (CommitKind.OVERWRITE, "DELETE")
    assert (made.delta_record_count, made.total_record_count) == (-15, 15)
    assert ids(table) == [*range(5), *range(20, 30)]
    kept, gone, new = before & live_names(table), before - live_names(table), live_names(table) - before
    assert (len(kept), len(gone), len(new)) == (1, 2, 1)
    assert ids(table, version=3) == list(range(30))


def test_files_of_matching_rows_only_are_dropped_unread(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, p STRING", partition_by=["p"])
    for p in "ab":
        table.write([{"id": i, "p": p} for i in range(3)])
    for path in stored_path(table.path).glob("p=a/bucket-0/*"):
        path.write_bytes(b"rubbish: nobody looks at it")
    made = table.delete("p = 'a'")
    assert made is not None
    assert made.delta_record_count == -3
    assert table.scan().to_arrow().to_pylist() == [{"id": i, "p": "b"} for i in range(3)]
    for path in stored_path(table.path).glob("p=b/bucket-0/*"):
        path.write_bytes(b"rubbish: this has to be read")
    table = reopened(table)
    with pytest.raises(CorruptError, match="data file"):
        table.delete("id + 0 = 1")


@pytest.mark.parametrize("where", ["id = 99", "id > 3 AND id < 4", "id IS NULL", "p = 'zz'", "id + 0 = 99", "FALSE"])
def test_no_match_is_no_commit(lake: lakebed.Lake, where: str) -> None:
    table = create(lake, "id INT, p STRING", partition_by=["p"])
    table.write([{"id": i, "p": "a"} for i in range(7)])
    before = all_files(table)
    assert table.delete(where) is None
    assert all_files(table) == before
    assert table.snapshots()[-1].id == 1


def test_delete_on_a_table_without_snapshots(lake: lakebed.Lake) -> None:
    assert create(lake, "id INT").delete("id = 1") is None


def test_deleting_everything(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT")
    table.write(numbers(1, 2))
    made = table.delete("TRUE")
    assert made is not None
    assert made.total_record_count == 0
    assert ids(table) == []


def test_rows_for_which_the_condition_is_unknown_stay(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, v INT")
    table.write([{"id": 1, "v": 1}, {"id": 2, "v": None}, {"id": 3, "v": 3}])
    table.delete("v > 0")
    assert ids(table) == [2]
    table.delete("v IS NULL")
    assert ids(table) == []


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["a", "b", None])), max_size=4), max_size=3),
    st.sampled_from(["id < 2", "p = 'a'", "p IS NULL", "id = 1 OR p = 'b'", "NOT (p = 'a')", "id + 1 > 3", "id >= 0"]),
)
def test_what_is_left_are_the_other_rows(
    module_lake: lakebed.Lake, writes: list[list[tuple[int, str | None]]], where: str
) -> None:
    table = create(module_lake, "id INT, p STRING", partition_by=["p"])
    for rows in writes:
        columns = {"id": pa.array([r[0] for r in rows], pa.int32()), "p": pa.array([r[1] for r in rows], pa.string())}
        table.write(pa.table(columns))
    every = table.scan().to_arrow().to_pylist()
    going = table.scan(where=where).to_arrow().to_pylist()
    made = table.delete(where)
    assert (made is None) == (not going)
    left = sorted(map(repr, table.scan().to_arrow().to_pylist()))
    assert sorted([*left, *map(repr, going)]) == sorted(map(repr, every))
    assert table.delete(where) is None


def test_rewritten_files_have_the_current_schema(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT, v INT, s ROW<a INT>")
    table.write([{"id": 1, "v": 10, "s": {"a": 1}}, {"id": 2, "v": 20, "s": None}])
    table.alter(
        changes.RenameColumn("v", "w"),
        changes.UpdateColumnType("w", "BIGINT"),
        changes.AddColumn("n", "STRING"),
        changes.RenameColumn(("s", "a"), "b"),
    )
    table.delete("w = 10")
    assert table.scan().to_arrow().to_pylist() == [{"id": 2, "w": 20, "s": None, "n": None}]
    (entry,) = live_entries(table._store, table.latest_snapshot()).to_pylist()
    assert entry["schema_id"] == 1
    (path,) = (path for path in all_files(table) if path.name == entry["file_name"])
    assert pq.read_schema(path).names == ["id", "w", "s", "n"]


def test_what_other_writers_let_in_is_rewritten_as_it_is(lake: lakebed.Lake) -> None:
    """Paimon's Java does not hold writers to the length of a VARCHAR."""
    table = create(lake, "id INT, s VARCHAR(3)")
    table.write([{"id": 1, "s": "abc"}, {"id": 2, "s": "abc"}])
    (path,) = stored_path(table.path).glob("bucket-0/*")
    schema = pq.read_schema(path)
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "s": ["abcdef", "ghijkl"]}).cast(schema), path)
    table.delete("id = 1")
    assert table.scan().to_arrow().to_pylist() == [{"id": 2, "s": "ghijkl"}]


def test_fixed_buckets_keep_their_rows_and_number_on(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT", options={"bucket": "3", "bucket-key": "id"})
    table.write(numbers(*range(30)))
    before = {e["file_name"]: e for e in live_entries(table._store, table.latest_snapshot()).to_pylist()}
    table.delete("id < 10")
    after = live_entries(table._store, table.latest_snapshot()).to_pylist()
    assert ids(table) == list(range(10, 30))
    assert sorted({e["bucket"] for e in after}) == sorted({e["bucket"] for e in before.values()})
    for entry in after:
        if entry["file_name"] not in before:
            old = max(e["max_sequence_number"] for e in before.values() if e["bucket"] == entry["bucket"])
            assert entry["min_sequence_number"] == old + 1
            assert entry["max_sequence_number"] == old + entry["row_count"]
    assert table.scan(where="id = 15").to_arrow()["id"].to_pylist() == [15]


def meanwhile(table: lakebed.Table, monkeypatch: pytest.MonkeyPatch, act: Callable[[lakebed.Table], Any]) -> None:
    """Somebody else commits right before the next commit of this table lands."""
    other = lakebed.connect(stored_path(table.path).parents[1]).table(table.name)
    create_snapshot = table._store.snapshots.create

    def lose_once(snapshot: lakebed.Snapshot, *more: Any) -> bool:
        monkeypatch.undo()
        act(other)
        return create_snapshot(snapshot, *more)

    monkeypatch.setattr(table._store.snapshots, "create", lose_once)


def test_another_commit_took_the_file(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The delete fails as a whole, and what it wrote is gone."""
    table = create(lake, "id INT")
    table.write(numbers(1, 2, 3))
    meanwhile(table, monkeypatch, lambda other: other.truncate())
    with pytest.raises(CommitConflictError, match="read the table again and retry"):
        table.delete("id = 2")
    assert len(list(stored_path(table.path).glob("bucket-0/*"))) == 1
    assert [snapshot.id for snapshot in table.snapshots()] == [1, 2]


def test_appends_meanwhile_do_not_disturb(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create(lake, "id INT")
    table.write(numbers(1, 2, 3))
    meanwhile(table, monkeypatch, lambda other: other.write(numbers(2, 4)))
    table.delete("id = 2")
    assert ids(table) == [1, 2, 3, 4]


def test_conditions_that_do_not_parse(lake: lakebed.Lake) -> None:
    table = create(lake, "id INT")
    table.write(numbers(1))
    for where in ("nope = 1", "id =", ""):
        with pytest.raises(ExpressionError):
            table.delete(where)
    assert table.snapshots()[-1].id == 1
