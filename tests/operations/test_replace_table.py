"""A table with other columns, keys and options keeps its history."""

from __future__ import annotations

from typing import Any

import pytest

from lakebed import Lake, Table
from lakebed.operations.replace_table import can_replace, replaced_schema
from lakebed.table.internals import replace_table, store_of


@pytest.fixture
def old(lake: Lake) -> Table:
    made = lake.create_table("db.t", "id BIGINT, data STRING", primary_key=["id"], options={"bucket": "2"})
    made.write([{"id": 1, "data": "a"}, {"id": 2, "data": "b"}])
    made.create_tag("kept")
    made.create_branch("side", tag="kept")
    return made


@pytest.fixture
def new(lake: Lake) -> Table:
    return lake.create_table("db.new", "id STRING, amount INT", options={"bucket": "-1"}, comment="told")


def rows(table: Table, **version: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan(**version).to_arrow().to_pylist())


def test_old_versions_are_read_with_their_own_schema(lake: Lake, old: Table, new: Table) -> None:
    new.write([{"id": "x", "amount": 5}])
    replace_table(old, new)
    table = lake.table("db.t")
    assert rows(table) == [("x", 5)]
    assert (table.schema.primary_keys, dict(table.options), table.schema.comment) == ((), {"bucket": "-1"}, "told")
    assert rows(table, version=1) == rows(table, tag="kept") == [(1, "a"), (2, "b")]
    assert rows(lake.table("db.t$branch_side")) == [(1, "a"), (2, "b")]
    table.write([{"id": "y", "amount": 6}])
    assert rows(table) == [("x", 5), ("y", 6)]
    assert table.verify(deep=True).ok
    assert table.remove_orphan_files(dry_run=True, older_than="0 s", force=True).count == 0


def test_the_history_expires(lake: Lake, old: Table, new: Table) -> None:
    new.write([{"id": "x", "amount": 5}])
    replace_table(old, new)
    table = lake.table("db.t")
    table.drop_branch("side")
    table.drop_tag("kept")
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="0 s")
    assert rows(table) == [("x", 5)]
    assert table.verify(deep=True).ok
    assert table.remove_orphan_files(dry_run=True, older_than="0 s", force=True).count == 0


def test_without_rows(lake: Lake, new: Table) -> None:
    empty = lake.create_table("db.t", "id BIGINT")
    replace_table(empty, new)
    assert lake.table("db.t").schema.field_names == ("id", "amount")
    assert rows(lake.table("db.t")) == []


def test_what_fails_takes_everything_back(lake: Lake, old: Table, new: Table) -> None:
    with pytest.raises(ZeroDivisionError), replaced_schema(store_of(old), new.schema):
        raise ZeroDivisionError
    table = lake.table("db.t")
    assert rows(table) == [(1, "a"), (2, "b")]
    assert table.schema.primary_keys == ("id",)
    assert [snapshot.id for snapshot in table.history()] == [1]
    table.write([{"id": 2, "data": "c"}])
    assert rows(table) == [(1, "a"), (2, "c")]
    assert table.verify(deep=True).ok


def test_partition_columns_stay(lake: Lake, old: Table) -> None:
    by_day = lake.create_table("db.days", "id BIGINT, day STRING", partition_by=["day"])
    by_date = lake.create_table("db.dates", "id BIGINT, day DATE", partition_by=["day"])
    assert not can_replace(old.schema, by_day.schema)
    assert not can_replace(by_date.schema, by_day.schema)
    by_day.write([{"id": 1, "day": "x"}])
    other = lake.create_table("db.other", "day STRING, more INT", partition_by=["day"])
    other.write([{"day": "y", "more": 1}])
    replace_table(by_day, other)
    assert rows(lake.table("db.days")) == [("y", 1)]
    assert rows(lake.table("db.days"), version=1) == [(1, "x")]
    assert lake.table("db.days").verify(deep=True).ok
