"""What differs between two snapshots: schema, files, rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed import Lake, Table, connect
from lakebed.changes import (
    AddColumn,
    DropColumn,
    First,
    RenameColumn,
    SetOption,
    UpdateColumnComment,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from lakebed.errors import NotFoundError, OptionError


def rows(table: pa.Table | None) -> list[tuple[Any, ...]]:
    assert table is not None
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_rows_of_an_append_table(table: Callable[..., Table]) -> None:
    one = table("id BIGINT, v STRING")
    one.write([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    one.write([{"id": 3, "v": "c"}])
    one.delete("id = 1")
    found = one.diff(1, 3)
    assert rows(found.rows_added) == [(3, "c")]
    assert rows(found.rows_removed) == [(1, "a")]
    assert (len(found.files_added), len(found.files_removed)) == (2, 1)
    assert (found.before.id, found.after.id, found.schema, found.has_more_rows) == (1, 3, (), False)
    back = one.diff(3, 1)
    assert (rows(back.rows_added), rows(back.rows_removed)) == ([(1, "a")], [(3, "c")])
    assert back.files_added.equals(found.files_removed)


def test_a_compaction_changes_files_and_no_rows(table: Callable[..., Table]) -> None:
    one = table("id INT, v STRING", primary_key=["id"], options={"bucket": "1", "write-only": "true"})
    one.write([{"id": 1, "v": "a"}])
    one.write([{"id": 1, "v": "b"}])
    one.compact(full=True)
    found = one.diff(2)
    assert found.after.id == 3
    assert (rows(found.rows_added), rows(found.rows_removed)) == ([], [])
    assert (len(found.files_added), len(found.files_removed)) == (1, 2)
    assert found.files_removed["file_path"].to_pylist() == sorted(
        found.files_removed["file_path"].to_pylist(),
        key=one.scan(version=2).plan().files["file_path"].to_pylist().index,
    )


def test_a_file_that_moved_is_the_same(table: Callable[..., Table]) -> None:
    one = table("id INT, v STRING", primary_key=["id"], options={"bucket": "1", "write-only": "true"})
    one.write([{"id": 1, "v": "a"}])
    assert one.compact(full=True) is not None
    levels = [one.scan(version=number).plan().files["level"].to_pylist() for number in (1, 2)]
    assert levels == [[0], [5]]
    found = one.diff(1, 2)
    assert (len(found.files_added), len(found.files_removed)) == (0, 0)
    assert rows(found.rows_added) == []


def test_the_schema(table: Callable[..., Table]) -> None:
    one = table("id INT, v STRING, gone DATE")
    one.write(pa.table({"id": pa.array([1], pa.int32()), "v": ["a"], "gone": pa.nulls(1, pa.date32())}))
    one.alter(
        AddColumn("n", "INT", description="new"),
        DropColumn("gone"),
        RenameColumn("v", "w"),
        UpdateColumnType("id", "BIGINT"),
        UpdateColumnComment("id", "the id"),
        UpdateColumnPosition("w", First()),
        SetOption("write-only", "true"),
        UpdateComment("text"),
    )
    one.write([{"w": "b", "id": 2, "n": 5}])
    told = {str(part) for part in one.diff(1, 2).schema}
    assert told == {
        "column n: new, INT",
        "column gone: gone, was DATE",
        "name of column v: v -> w",
        "type of column id: INT -> BIGINT",
        "comment of column id: new, the id",
        "order columns: id, v, gone -> w, id, n",
        "option write-only: new, true",
        "comment table: new, text",
    }
    found = one.diff(1, 2)
    assert rows(found.rows_added) == [("b", 2, 5)]
    assert rows(one.diff(2, 1).rows_removed) == [("b", 2, 5)], "the newer columns, whatever the order"


def test_a_sample(table: Callable[..., Table]) -> None:
    one = table("id BIGINT, v STRING")
    one.write([{"id": 0, "v": "x"}])
    one.write(pa.table({"id": range(50), "v": ["y"] * 50}))
    found = one.diff(1, 2, sample=7)
    assert found.rows_added is not None
    assert (len(found.rows_added), found.has_more_rows) == (7, True)
    assert set(found.rows_added["v"].to_pylist()) == {"y"}
    exact = one.diff(1, 2, sample=50)
    assert exact.rows_added is not None
    assert (len(exact.rows_added), exact.has_more_rows) == (50, False)
    for none in (one.diff(1, 2, sample=0), one.diff(1, 2, max_bytes=10)):
        assert (none.rows_added, none.rows_removed, none.has_more_rows) == (None, None, False)
        assert none.bytes_to_compare == sum(none.files_added["file_size_in_bytes"].to_pylist())


def test_tags_and_branches(table: Callable[..., Table]) -> None:
    one = table("id BIGINT, v STRING")
    one.write([{"id": 1, "v": "a"}])
    one.create_tag("then")
    one.write([{"id": 2, "v": "b"}])
    one.expire_snapshots(retain_max=1, retain_min=1)
    assert rows(one.diff("then").rows_added) == [(2, "b")]
    branch = one.create_branch("b", tag="then")
    branch.write([{"id": 3, "v": "c"}])
    assert rows(branch.diff(1).rows_added) == [(3, "c")]


def test_what_is_refused(table: Callable[..., Table]) -> None:
    one = table("id BIGINT, v STRING")
    with pytest.raises(NotFoundError, match="no snapshot"):
        one.diff(1)
    one.write([{"id": 1, "v": "a"}])
    with pytest.raises(NotFoundError, match="does not exist"):
        one.diff(1, 2)
    for bad in ({"sample": -1}, {"sample": True}, {"max_bytes": -1}, {"sample": 1.5}):
        with pytest.raises(OptionError, match="whole number"):
            one.diff(1, **bad)


keys = st.integers(0, 5)
writes = st.lists(st.dictionaries(keys, st.integers(0, 2), min_size=1, max_size=4), min_size=2, max_size=5)


@given(writes, st.booleans(), st.data())
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_two_states(lake: Lake, made: list[dict[int, int]], keyed: bool, data: st.DataObject) -> None:
    """What came and what went, taken from the rows of both states."""
    name = f"db.t{len(lake.tables('db'))}"
    more: dict[str, Any] = {"primary_key": ["k"], "options": {"bucket": "1"}} if keyed else {}
    one = lake.create_table(name, "k INT, v INT", **more)
    for values in made:
        one.write(pa.table({"k": pa.array(values.keys(), pa.int32()), "v": pa.array(values.values(), pa.int32())}))
    ids = st.sampled_from([snapshot.id for snapshot in one.snapshots()])
    first, second = data.draw(ids), data.draw(ids)
    before, after = (rows(one.scan(version=number).to_arrow()) for number in (first, second))
    found = one.diff(first, second, sample=1000)
    assert rows(found.rows_added) == _without(after, before)
    assert rows(found.rows_removed) == _without(before, after)


def _without(some: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    left = list(others)
    kept = []
    for one in some:
        if one in left:
            left.remove(one)
        else:
            kept.append(one)
    return kept


def test_a_table_of_another_process(lake: Lake, table: Callable[..., Table]) -> None:
    one = table("id BIGINT, v STRING")
    one.write([{"id": 1, "v": "a"}])
    one.write([{"id": 2, "v": "b"}])
    again = connect(lake.warehouse).table(one.name)
    assert isinstance(again, Table)
    assert rows(again.diff(1, 2).rows_added) == [(2, "b")]
