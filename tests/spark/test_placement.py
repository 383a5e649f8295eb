"""Which task gets a row: the same buckets as the writers', and one task for each."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from lakebed.buckets.fixed import bucket_of_rows
from lakebed.metadata.store import TableStore
from lakebed.spark import placement

COLUMNS = "a TINYINT, b SMALLINT, c INT, d BIGINT, e DATE, f BOOLEAN, s STRING, p INT"
KEYS = ["a", "b", "c", "d", "e", "f", "s", "d,e", "a,b,c,d,e,f", "c,s"]


@pytest.fixture(scope="module")
def rows() -> list[tuple[Any, ...]]:
    pick = random.Random(7)
    limits = [(-(2**7), 2**7 - 1), (-(2**15), 2**15 - 1), (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)]

    def row() -> tuple[Any, ...]:
        numbers = [pick.choice([None, -1, 0, 1, low, high, pick.randint(low, high)]) for low, high in limits]
        day = None if pick.random() < 0.1 else dt.date(1950, 1, 1) + dt.timedelta(pick.randint(0, 40_000))
        return (*numbers, day, pick.choice([None, True, False]), pick.choice([None, "", "abc", "a longer text"]), 1)

    return [row() for _ in range(500)]


@pytest.mark.parametrize("keys", KEYS)
def test_buckets_are_those_of_the_writers(
    keys: str, rows: list[tuple[Any, ...]], store: Callable[..., TableStore], spark: Any
) -> None:
    schema = store(COLUMNS, options={"bucket": "7", "bucket-key": keys}).schema()
    frame = spark.createDataFrame(rows, COLUMNS)
    found = placement._with_bucket(frame, schema).toArrow()
    fields = schema.select(schema.bucket_keys)
    expected = bucket_of_rows([found[field.name] for field in fields], [field.type for field in fields], 7)
    assert found[placement._BUCKET].to_pylist() == expected.tolist()
    assert len(set(expected.tolist())) > 1


def test_the_bucket_function_mod(store: Callable[..., TableStore], spark: Any) -> None:
    options = {"bucket": "5", "bucket-key": "d", "bucket-function.type": "mod"}
    schema = store(COLUMNS, options=options).schema()
    found = placement._with_bucket(spark.sql("SELECT id - 9 d FROM range(20)"), schema).toArrow()
    assert found[placement._BUCKET].to_pylist() == [(n - 9) % 5 for n in range(20)]


def test_numbers_go_where_spark_hashes_them(spark: Any) -> None:
    numbers = placement._numbers_of(37)
    found = spark.createDataFrame(pa.table({"n": pa.array(numbers, pa.int32())})).select(F.pmod(F.hash("n"), F.lit(37)))
    assert [row[0] for row in found.collect()] == list(range(37))


@pytest.mark.parametrize("keys", ["d", "s"], ids=["in Spark", "in Python"])
@pytest.mark.parametrize("partition_by", [[], ["p"]], ids=["one partition", "partitions"])
def test_every_bucket_has_one_task(
    keys: str, partition_by: list[str], store: Callable[..., TableStore], spark: Any
) -> None:
    schema = store(COLUMNS, options={"bucket": "6", "bucket-key": keys}, partition_by=partition_by).schema()
    frame = spark.sql("SELECT id d, concat('text ', id) s, CAST(id % 3 AS INT) p FROM range(0, 2000, 1, 4)")
    placed = placement.to_owners(frame, schema, 4).select("*", F.spark_partition_id().alias("task"))
    assert placed.columns == ["d", "s", "p", "task"]
    found = placed.toArrow()
    fields = schema.select(schema.bucket_keys)
    bucket = bucket_of_rows([found[field.name] for field in fields], [field.type for field in fields], 6)
    places = list(zip(*(found[name].to_pylist() for name in partition_by), bucket.tolist(), strict=True))
    assert len(found) == 2000
    owners = set(zip(places, found["task"].to_pylist(), strict=True))
    assert len(owners) == len(set(places)) == 6 * (3 if partition_by else 1)
