"""Which buckets a condition leaves: never one too few, and few where the key is fixed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from lakebed.buckets.bucket_pruning import buckets_of
from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema, create_schema
from lakebed.format.types.column_ddl import parse_columns
from lakebed.rows.where import parse_where


def schema_of(ddl: str, key: str) -> TableSchema:
    return create_schema(parse_columns(ddl), options={"bucket": "8", "bucket-key": key}, time_millis=0)


SCHEMA = schema_of("id INT, name STRING, f DOUBLE, v INT", "id,name")


def buckets(where: str | None, schema: TableSchema = SCHEMA, total: int = 8) -> list[int] | None:
    node = None if where is None else parse_where(where, schema.fields)
    found = buckets_of(node, schema, "default")
    if found is None:
        return None
    some = found(total)
    return None if some is None else list(some)


def of(rows: list[tuple[Any, ...]], total: int = 8) -> list[int]:
    columns = [pa.array([row[0] for row in rows], pa.int32()), pa.array([row[1] for row in rows])]
    types = [SCHEMA.field("id").type, SCHEMA.field("name").type]
    return sorted(set(bucket_of_rows(columns, types, total).tolist()))


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("id = 1 AND name = 'a'", [(1, "a")]),
        ("id = 1 AND name = 'a' AND v > 5", [(1, "a")]),
        ("id IN (1, 2) AND name IN ('a', 'b')", [(1, "a"), (1, "b"), (2, "a"), (2, "b")]),
        ("(id = 1 OR id = 2) AND name <=> 'a'", [(1, "a"), (2, "a")]),
        ("id = 1 AND id IN (1, 2, 3) AND name = 'a'", [(1, "a")]),
    ],
)
def test_fixed_keys_leave_their_buckets(where: str, rows: list[tuple[Any, ...]]) -> None:
    assert buckets(where) == of(rows)


@pytest.mark.parametrize(
    "where",
    [
        None,
        "id = 1",
        "id = 1 OR name = 'a'",
        "id > 1 AND name = 'a'",
        "id IS NULL AND name = 'a'",
        "v = 1",
        "id = 1 AND name LIKE 'a%'",
        "NOT (id = 1) AND name = 'a'",
        f"id IN ({', '.join(map(str, range(60)))}) AND name IN ({', '.join(f'{n!r}' for n in map(str, range(20)))})",
    ],
)
def test_what_does_not_fix_the_key_leaves_all(where: str | None) -> None:
    assert buckets(where) is None


def test_no_bucket_key_and_no_fixed_buckets() -> None:
    plain = create_schema(parse_columns("id INT"), time_millis=0)
    assert buckets("id = 1", plain) is None
    assert buckets("id = 1 AND name = 'a'", total=-1) is None


def test_both_zeros_are_looked_for() -> None:
    schema = schema_of("f DOUBLE", "f")
    types = [schema.field("f").type]
    expected = sorted(set(bucket_of_rows([pa.array([0.0, -0.0])], types, 8).tolist()))
    assert buckets("f = 0", schema) == expected
    assert buckets("f = double('NaN')", schema) is None


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=1, max_size=8),
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    st.integers(1, 9),
)
def test_rows_that_match_are_in_a_bucket_left(
    rows: list[tuple[int, str]], ids: list[int], names: list[str], total: int
) -> None:
    where = f"id IN ({', '.join(map(str, ids))}) AND name IN ({', '.join(map(repr, names))})"
    left = buckets(where, total=total)
    assert left is not None
    table = pa.table({"id": pa.array([r[0] for r in rows], pa.int32()), "name": [r[1] for r in rows]})
    matching = table.filter(pa.array(pred.matches_rows(parse_where(where, SCHEMA.fields), table))).to_pylist()
    if matching:
        assert set(of([(row["id"], row["name"]) for row in matching], total)) <= set(left)
