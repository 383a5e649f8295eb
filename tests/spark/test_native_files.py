"""Splits hold what belongs together, schemas share scans where they can, and Arrow data has Spark's form.

No JVM here.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema
from tests.metadata.entries import entry

from lakebed import Table
from lakebed.changes import AddColumn, DropColumn, RenameColumn, UpdateColumnType
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest.manifest import NO_ENTRIES, entries_from_rows
from lakebed.format.types.column_ddl import to_columns
from lakebed.format.types.data_types import field_to_arrow
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.spark.columns import spark_arrow_schema, spark_batches, spark_schema
from lakebed.spark.read.native_files import OPEN_COST, SPLIT_BYTES, Division, divide, enough, pack, split_size
from lakebed.spark.read.native_parquet import layouts

MB = 1024 * 1024


def test_split_sizes() -> None:
    assert split_size(100 * 1024 * MB, 1000, 8) == SPLIT_BYTES
    assert split_size(0, 1, 8) == OPEN_COST
    assert split_size(400 * MB, 0, 8) == 50 * MB


@given(
    sizes=st.lists(st.lists(st.integers(1, 200 * MB), min_size=1, max_size=4), max_size=20),
    limit=st.integers(OPEN_COST, SPLIT_BYTES),
)
def test_packing_keeps_groups_whole_and_splits_small(sizes: list[list[int]], limit: int) -> None:
    flat = [size for group in sizes for size in group]
    rows = [entry(f"f{i}", file_size=size) for i, size in enumerate(flat)]
    entries = entries_from_rows(rows) if rows else NO_ENTRIES
    starts = np.cumsum([0, *(len(group) for group in sizes)])
    groups = [np.arange(start, stop) for start, stop in itertools.pairwise(starts)]
    splits = pack(entries, groups, DeletedRows(), limit)
    names = [split.table()["file_name"].to_pylist() for split in splits]
    assert [name for split in names for name in split] == [f"f{i}" for i in range(len(flat))]
    weights = [sum(max(size, OPEN_COST) for size in group) for group in sizes]
    at = 0
    for split in names:
        held: list[int] = []
        while sum(len(sizes[group]) for group in held) < len(split):
            held.append(at)
            at += 1
        assert sum(len(sizes[group]) for group in held) == len(split), "a group is torn"
        assert len(held) == 1 or sum(weights[group] for group in held) <= limit


def test_splits_carry_the_vectors_of_their_files_only() -> None:
    entries = entries_from_rows([entry(name, file_size=1) for name in "ab"])
    partition = entries["partition"][0].as_py()
    marked = DeletedRows({(partition, "a"): ("index", VectorRange("a", 1, 2))})
    first, second = pack(entries, [np.array([0]), np.array([1])], marked, OPEN_COST)
    assert list(first.deleted.by_file) == [(partition, "a")]
    assert not second.deleted.by_file


def test_files_of_a_merge_stay_together(table: Callable[..., Table]) -> None:
    made = table("p INT, k INT", partition_by=["p"], primary_key=["p", "k"], options={"bucket": "1"})
    for parts in ([1, 2], [2], [2]):
        made.write([{"p": part, "k": key} for part in parts for key in range(3)])
    (part,) = made.scan()._parts
    entries = part.result.entries
    found = divide(part.reader, entries, native=True, split_bytes=SPLIT_BYTES)
    assert len(found.plain) == 1
    assert [len(group) for group in found.grouped] == [3]
    everything = divide(part.reader, entries, native=False, split_bytes=SPLIT_BYTES)
    assert not len(everything.plain)
    assert sorted(len(group) for group in everything.grouped) == [1, 3]


def layout_count(made: Table, *columns: str) -> int:
    (part,) = made.scan(list(columns) or None)._parts
    return len(layouts(part.reader, part.columns, part.store.schemas.ids()))


def test_schemas_share_a_scan_where_they_name_and_type_columns_alike(table: Callable[..., Table]) -> None:
    made = table("id INT, v STRING, w INT")
    made.alter(AddColumn("n", "INT"))
    made.alter(DropColumn("w"))
    assert layout_count(made) == 1, "a column that a file lacks is null without more ado"
    made.alter(RenameColumn("v", "name"))
    assert layout_count(made) == 2
    assert layout_count(made, "id", "n") == 1
    made.alter(UpdateColumnType("id", "BIGINT"))
    assert layout_count(made, "id") == 2
    made.alter(AddColumn("w", "INT"))
    assert layout_count(made, "w") == 2, "files have another column of that name"
    made.alter(AddColumn("V", "STRING"))
    assert layout_count(made, "V") == 2, "whatever its case"


# -------------------------------------------------------------------------------------------------------------- columns

EVERYTHING = (
    "a INT NOT NULL, t TIMESTAMP(3), l TIMESTAMP_LTZ(9), ti TIME(3), ar ARRAY<TIMESTAMP(9) NOT NULL>, "
    "m MAP<STRING, ARRAY<TIMESTAMP_LTZ(3)>>, s ROW<x INT NOT NULL, y ROW<z TIME(0)>>, c CHAR(3), b BYTES NOT NULL"
)


def test_arrow_schemas_are_those_that_spark_expects() -> None:
    fields = to_columns(EVERYTHING)
    ours = spark_arrow_schema(pa.schema([field_to_arrow(field) for field in fields]))
    assert ours.equals(to_arrow_schema(spark_schema(fields), timezone="UTC"))


def test_comments_are_kept_and_lengths_are_not() -> None:
    (column,) = spark_schema(to_columns("c CHAR(3) COMMENT 'three letters'"))
    assert column.metadata == {"comment": "three letters"}


def test_values_in_the_form_of_spark() -> None:
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    schema = pa.schema([field_to_arrow(field) for field in to_columns(EVERYTHING.replace(" NOT NULL", ""))])
    nested: dict[str, Any] = {"ar": [-1, 1], "m": [("k", [moment]), ("n", None)], "s": {"x": 1, "y": None}}
    row = {"a": 1, "t": moment.replace(tzinfo=None), "l": -1, "ti": dt.time(1, 2, 3), **nested, "c": "abc", "b": b"b"}
    empty = dict.fromkeys(schema.names)
    batch = pa.Table.from_pylist([empty, row, empty, row], schema=schema).to_batches()[0].slice(1, 3)
    (made,) = spark_batches(batch, spark_arrow_schema(schema))
    first, second, third = made.to_pylist()
    assert first == third
    assert set(second.values()) == {None}
    assert first["l"] == dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)
    assert first["ar"] == [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1)]
    assert first["m"] == [("k", [moment]), ("n", None)]
    assert first["s"] == {"x": 1, "y": None}
    assert first["ti"] == dt.time(1, 2, 3)


@pytest.mark.parametrize(("rows", "batches"), [(0, 0), (1, 1), (65_536, 1), (65_537, 2), (200_000, 4)])
def test_batches_are_of_bearable_size(rows: int, batches: int) -> None:
    schema = pa.schema([("a", pa.int64())])
    made = spark_batches(pa.record_batch([pa.array(range(rows), pa.int64())], schema=schema), schema)
    assert len(made) == batches
    assert sum(len(batch) for batch in made) == rows


def test_a_limit_needs_only_the_first_files_that_stand_alone() -> None:
    entries = pa.table({"row_count": pa.array([2, 9, 2, 2], pa.int64())})
    merged = (np.array([1]),)
    alone = np.array([0, 2, 3])
    for limit, left in ((1, [0]), (2, [0]), (3, [0, 2]), (6, [0, 2, 3])):
        found = enough(Division(alone, merged), entries, limit)
        assert (found.plain.tolist(), found.grouped) == (left, ())
    whole = enough(Division(alone, merged), entries, 7)
    assert (whole.plain.tolist(), whole.grouped) == (alone.tolist(), merged)
    nothing = Division(np.zeros(0, np.int64), merged)
    assert enough(nothing, entries, 1) is nothing
