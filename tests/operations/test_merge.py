"""Merges in process: what happens to each row, against a model, on append and primary-key tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

import lakebed
from lakebed.operations import merge as merging
from lakebed.operations.replace_rows import replace_rows

Row = dict[str, Any]


def source_column(name: str) -> pc.Expression:
    return pc.field(f"source.{name}")


def target_column(name: str) -> pc.Expression:
    return pc.field(f"target.{name}")


def rows_of(table: lakebed.Table) -> list[Row]:
    return sorted(table.scan().to_arrow().to_pylist(), key=repr)


@pytest.fixture(params=["append", "keyed", "dynamic"])
def people(request: pytest.FixtureRequest, lake: lakebed.Lake) -> lakebed.Table:
    key = {"append": (), "keyed": "id", "dynamic": "id"}[request.param]
    options = {"bucket": 2} if request.param == "keyed" else {}
    table = lake.create_table("db.people", "id INT, name STRING, n INT", primary_key=key, options=options)
    table.write([{"id": 1, "name": "ada", "n": 1}, {"id": 2, "name": "bob", "n": 2}])
    table.write([{"id": 3, "name": "cy", "n": 3}])
    return table


def test_upsert(people: lakebed.Table) -> None:
    source = pa.table({"id": pa.array([2, 4], pa.int64()), "name": ["BOB", "dan"], "n": [20, 40]})
    done = people.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert str(done) == "updated 1 row, deleted 0, inserted 1, as snapshot 3"
    assert done.snapshot is not None
    assert done.snapshot.operation == "MERGE"
    assert [(row["id"], row["name"], row["n"]) for row in rows_of(people)] == [
        (1, "ada", 1),
        (2, "BOB", 20),
        (3, "cy", 3),
        (4, "dan", 40),
    ]
    assert people.verify(deep=True).ok


def test_clauses_are_tried_in_order(people: lakebed.Table) -> None:
    source = [{"id": 1, "n": 5}, {"id": 2, "n": -1}, {"id": 3, "n": 0}, {"id": 8, "n": 8}, {"id": 9, "n": -9}]
    done = (
        people.merge(source, on=["id"])
        .when_matched_delete(source_column("n") < 0)
        .when_matched_update({"n": pc.add(target_column("n"), source_column("n")), "name": "x"}, source_column("n") > 0)
        .when_not_matched_insert({"id": source_column("id"), "name": "new"}, source_column("n") > 0)
        .execute()
    )
    assert (done.updated, done.deleted, done.inserted) == (1, 1, 1)
    assert rows_of(people) == [
        {"id": 1, "name": "x", "n": 6},
        {"id": 3, "name": "cy", "n": 3},
        {"id": 8, "name": "new", "n": None},
    ]


def test_rows_that_the_source_lacks(people: lakebed.Table) -> None:
    merge = people.merge([{"id": 1}], on="id")
    done = (
        merge.when_not_matched_by_source_update({"n": 0}, target_column("n") == 2)
        .when_not_matched_by_source_delete()
        .execute()
    )
    assert (done.updated, done.deleted, done.inserted) == (1, 1, 0)
    assert [(row["id"], row["n"]) for row in rows_of(people)] == [(1, 1), (2, 0)]


def test_nothing_to_do_makes_no_snapshot(people: lakebed.Table) -> None:
    assert str(people.merge([{"id": 7}], on="id").when_matched_delete().execute()) == "nothing to merge"
    assert str(people.merge([], on="id").when_matched_delete().execute()) == "nothing to merge"
    latest = people.latest_snapshot()
    assert latest is not None
    assert latest.id == 2


def test_keys_of_other_names_and_null_keys(lake: lakebed.Lake) -> None:
    table = lake.create_table("db.t", "a INT, b STRING, v INT")
    table.write([{"a": 1, "b": "x", "v": 1}, {"a": None, "b": "x", "v": 2}, {"a": 1, "b": None, "v": 3}])
    source = pa.table({"k": [1, None, 1], "l": ["x", "x", None], "v": [10, 20, 30]})
    merge = table.merge(source, on={"a": "k", "b": "l"})
    done = merge.when_matched_update_all().when_not_matched_insert({"v": source_column("v")}).execute()
    assert (done.updated, done.inserted) == (1, 2)
    assert sorted(row["v"] for row in rows_of(table)) == [2, 3, 10, 20, 30]


def test_what_is_refused(people: lakebed.Table, lake: lakebed.Lake) -> None:
    twice = [{"id": 1, "n": 1}, {"id": 1, "n": 2}]
    with pytest.raises(lakebed.DataError, match=r"several rows of the source match the row with \{'id': 1\}"):
        people.merge(twice, on="id").when_matched_update_all().execute()
    with pytest.raises(lakebed.NotFoundError, match="unknown column 'nam'"):
        people.merge([{"id": 1}], on="id").when_matched_update({"nam": "x"}).execute()
    with pytest.raises(lakebed.NotFoundError, match="unknown column 'key' in the source"):
        people.merge([{"id": 1}], on={"id": "key"}).when_matched_delete().execute()
    with pytest.raises(lakebed.OptionError, match="needs clauses"):
        people.merge([{"id": 1}], on="id").execute()
    with pytest.raises(lakebed.OptionError, match="needs columns to match rows by"):
        people.merge([{"id": 1}], on=[]).when_matched_delete().execute()
    with pytest.raises(lakebed.OptionError, match="no other column"):
        people.merge([{"id": 1}], on="id").when_matched_update_all()
    with pytest.raises(lakebed.DataError, match=r"'much' .* does not fit column 'n'"):
        people.merge([{"id": 1}], on="id").when_matched_update({"n": "much"}).execute()
    with pytest.raises(lakebed.OptionError, match="not true or false"):
        people.merge([{"id": 1}], on="id").when_matched_delete(target_column("n")).execute()
    latest = people.latest_snapshot()
    assert latest is not None
    assert latest.id == 2
    keyed = lake.create_table("db.k", "id INT, v INT", primary_key="id", options={"merge-engine": "first-row"})
    keyed.write([{"id": 1, "v": 1}])
    with pytest.raises(lakebed.UnsupportedError, match="first-row"):
        keyed.merge([{"id": 1, "v": 2}], on="id").when_matched_update_all().execute()
    with pytest.raises(lakebed.UnsupportedError, match="part of the primary key"):
        keyed.merge([{"id": 1, "v": 2}], on="v").when_matched_update({"id": 3}).execute()


def test_a_conflict_changes_nothing(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create_table("db.t", "id INT, v INT")
    table.write([{"id": 1, "v": 1}])

    def beaten(*args: Any, **more: Any) -> Any:
        lake.table("db.t").delete("id = 1")
        return replace_rows(*args, **more)

    monkeypatch.setattr(merging, "replace_rows", beaten)
    with pytest.raises(lakebed.CommitConflictError):
        table.merge([{"id": 1, "v": 2}], on="id").when_matched_update_all().execute()
    assert rows_of(table) == []


keys = st.one_of(st.none(), st.integers(0, 6))
sources = st.lists(st.tuples(st.integers(0, 8), st.integers(-3, 3)), max_size=8, unique_by=lambda row: row[0])


@given(
    batches=st.lists(st.lists(st.tuples(keys, st.integers(0, 9)), max_size=5), min_size=1, max_size=4),
    source=sources,
    by_source=st.sampled_from(["none", "update", "delete"]),
    is_keyed=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_merge_does_what_the_model_does(
    module_lake: lakebed.Lake, batches: list[list[Any]], source: list[Any], by_source: str, is_keyed: bool
) -> None:
    if "db.m" in module_lake:
        module_lake.drop_table("db.m")
    options = {"bucket": 1} if is_keyed else {}
    table = module_lake.create_table("db.m", "id INT, v INT", primary_key="id" if is_keyed else (), options=options)
    expected: list[tuple[int | None, int]] = []
    for batch in batches:
        rows = [row for row in batch if not is_keyed or row[0] is not None]
        rows = list(dict(rows).items()) if is_keyed else rows
        table.write([{"id": key, "v": value} for key, value in rows])
        expected = list((dict(expected) | dict(rows)).items()) if is_keyed else expected + rows
    merge = table.merge(pa.table({"id": [row[0] for row in source], "w": [row[1] for row in source]}), on="id")
    merge = merge.when_matched_delete(source_column("w") < 0).when_matched_update(
        {"v": source_column("w")}, source_column("w") != 0
    )
    merge = merge.when_not_matched_insert({"id": source_column("id"), "v": source_column("w")}, source_column("w") > 0)
    if by_source == "update":
        merge = merge.when_not_matched_by_source_update({"v": 100})
    elif by_source == "delete":
        merge = merge.when_not_matched_by_source_delete(target_column("v") > 4)
    merge.execute()
    given_values = dict(source)
    after: list[tuple[int | None, int]] = []
    for key, value in expected:
        if key in given_values:
            new = given_values[key]
            after += [] if new < 0 else [(key, new or value)]
        elif by_source == "update":
            after.append((key, 100))
        elif by_source == "none" or value <= 4:
            after.append((key, value))
    there = {key for key, _ in expected}
    after += [(key, value) for key, value in source if key not in there and value > 0]
    found = [(row["id"], row["v"]) for row in table.scan().to_arrow().to_pylist()]
    assert sorted(found, key=repr) == sorted(after, key=repr)
