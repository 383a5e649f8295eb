"""The shuffle of a write: every row arrives once, in its order, and every bucket in one task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from lakebed import Lake
from lakebed.buckets.choose_fixed import bucket_of_rows
from lakebed.errors import DataError
from lakebed.metadata.store import TableStore
from lakebed.spark.file_jobs import run_job
from lakebed.spark.session import map_in_arrow, unmeasured_batches
from lakebed.spark.write import exchange
from lakebed.spark.write import write_frame as write
from lakebed.table import Table

COLUMNS = "d BIGINT, s STRING, p INT"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def test_numbers_go_where_spark_hashes_them(spark: Any) -> None:
    numbers = exchange._numbers_of(37)
    found = spark.createDataFrame(pa.table({"n": pa.array(numbers, pa.int32())})).select(F.pmod(F.hash("n"), F.lit(37)))
    assert [row[0] for row in found.collect()] == list(range(37))


def rows_with_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for table in exchange.joined(exchange.received(batches), 1000):
        yield from table.append_column("task", pa.repeat(context.partitionId(), len(table))).to_batches()


@pytest.mark.parametrize("keys", ["d", "s"])
@pytest.mark.parametrize("partition_by", [[], ["p"]], ids=["one partition", "partitions"])
def test_every_bucket_has_one_task(
    keys: str, partition_by: list[str], store: Callable[..., TableStore], spark: Any
) -> None:
    schema = store(COLUMNS, options={"bucket": "6", "bucket-key": keys}, partition_by=partition_by).schema()
    frame = spark.sql("SELECT id d, concat('text ', id) s, CAST(id % 3 AS INT) p FROM range(0, 2000, 1, 4)")
    sent = exchange.to_owners(frame, exchange.ByBucket(schema), 4)
    found = map_in_arrow(sent, rows_with_task, "d long, s string, p int, n long, task long").toArrow()
    fields = schema.select(schema.bucket_keys)
    bucket = bucket_of_rows([found[field.name] for field in fields], [field.type for field in fields], 6)
    places = list(zip(*(found[name].to_pylist() for name in partition_by), bucket.tolist(), strict=True))
    assert sorted(found["d"].to_pylist()) == list(range(2000))
    owners = set(zip(places, found["task"].to_pylist(), strict=True))
    assert len(owners) == len(set(places)) == 6 * (3 if partition_by else 1)
    by_order = np.argsort(found["n"].to_numpy(), kind="stable")
    for place in set(places):
        of_place = [found["d"][int(row)].as_py() for row in by_order if places[row] == place]
        assert of_place == sorted(of_place)  # the frame ascends


@pytest.fixture(scope="module")
def bucketed(module_lake: Lake) -> Any:
    options = {"bucket": "3", "bucket-key": "d"}
    return module_lake.create_table("db.t", COLUMNS, partition_by=["p"], options=options)._store.schema()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("blocks"))


def test_places_are_packed_into_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    def left(file: str, places: list[int], sizes: list[int]) -> exchange.LeftBlocks:
        starts = np.cumsum([0, *sizes])[:-1]
        numbers = np.arange(len(places))
        return exchange.LeftBlocks(file, b"", np.array(places, np.int32), numbers, starts, np.array(sizes))

    monkeypatch.setattr(exchange, "_TASK_BYTES", 100)
    monkeypatch.setattr(exchange, "_LEAST_BYTES", 10)

    def shown(lefts: list[exchange.LeftBlocks], tasks: int) -> list[list[tuple[str, list[int]]]]:
        return [[(part.file, part.places.tolist()) for part in pack] for pack in exchange.packed(lefts, tasks)]

    assert shown([], 2) == []
    assert shown([left("a", [0, 3, 0], [1, 1, 1]), left("b", [7], [1])], 2) == [[("a", [0, 3, 0]), ("b", [7])]]
    lefts = [left("a", [0, 1, 2], [30, 30, 30]), left("b", [1, 2], [30, 30])]
    assert shown(lefts, 2) == [[("a", [0])], [("a", [1]), ("b", [1])], [("a", [2]), ("b", [2])]]
    assert shown(lefts, 1) == [
        [("a", [0, 1]), ("b", [1])],
        [("a", [2]), ("b", [2])],
    ]  # no task gets more than its share
    assert shown([left("a", [4], [900])], 2) == [[("a", [4])]]  # a place is never divided


@given(
    sizes=st.lists(st.integers(0, 40), max_size=8),
    window=st.integers(1, 2000),
    block=st.integers(1, 500),
    limit=st.integers(1, 5000),
    tasks=st.integers(1, 4),
    local=st.booleans(),
    budget=st.none() | st.integers(1, 3000),
)
def test_what_is_sent_is_received(
    sizes: list[int],
    window: int,
    block: int,
    limit: int,
    tasks: int,
    local: bool,
    budget: int | None,
    bucketed: Any,
    folder: str,
) -> None:
    pick = np.random.default_rng(sum(sizes))
    batches = []
    for size in sizes:
        numbers = pick.integers(0, 5, size)
        texts = [None if n == 4 else "x" * int(n) for n in numbers]
        batches.append(
            pa.record_batch({"d": numbers, "s": pa.array(texts, pa.string()), "p": numbers.astype(np.int32) % 2})
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "WINDOW_BYTES", window)
        patch.setattr(exchange, "BLOCK_BYTES", block)
        if local:
            left = exchange.Leaver(exchange.ByBucket(bucketed), 5, folder)(iter(batches))
            packs: Any = exchange.packed([left] if left else [], tasks)
        else:
            sender = exchange._Sender(exchange.ByBucket(bucketed), tuple(exchange._numbers_of(5)), None, budget)
            sent = list(sender(iter(batches)))
            packs = [[exchange.received(sent)]]
    tables = [table for pack in packs for table in exchange.joined(itertools.chain(*pack), limit)]
    got = [row for table in tables for row in table.to_pylist()]
    given_rows = [row for batch in batches for row in batch.to_pylist()]
    for key, rows in itertools.groupby(sorted(given_rows, key=lambda row: row["d"]), key=lambda row: row["d"]):
        mine = sorted((row for row in got if row["d"] == key), key=lambda row: row[exchange.ORDER])
        assert [{name: row[name] for name in ("d", "s", "p")} for row in mine] == list(rows)
    assert len(got) == len(given_rows)
    for table in tables:  # what belongs together lies together
        runs = [place for place, _ in itertools.groupby(exchange.ByBucket(bucketed)(table, 5).tolist())]
        assert len(runs) == len(set(runs))


def test_values_that_do_not_fit_go_to_some_place(bucketed: Any) -> None:
    rows = pa.table({"d": ["no number", "1"], "s": ["a", "b"], "p": [1, 2]})
    assert exchange.ByBucket(bucketed)(rows, 4).tolist() == [0, 0]


def test_batches_are_not_weighed_while_a_job_runs(spark: Any) -> None:
    before = {name: spark.conf.get(name) for name in (BYTES, RECORDS)}
    plain = spark.range(3)
    with unmeasured_batches(plain, 77), unmeasured_batches(plain, 77):
        assert spark.conf.get(BYTES) == str(2**31 - 1)
        assert spark.conf.get(RECORDS) == "77"
    assert {name: spark.conf.get(name) for name in (BYTES, RECORDS)} == before
    with pytest.raises(DataError), unmeasured_batches(plain, 77):
        raise DataError("x")
    assert {name: spark.conf.get(name) for name in (BYTES, RECORDS)} == before
    for other in (spark.sql("SELECT CAST('x' AS BINARY) b"), spark.sql("SELECT array(1) a")):
        with unmeasured_batches(other, 77):
            assert spark.conf.get(BYTES) == before[BYTES]
    spark.conf.set(BYTES, "1000000b")
    try:
        with unmeasured_batches(plain, 77):
            assert spark.conf.get(BYTES) == "1000000b"
            assert spark.conf.get(RECORDS) == before[RECORDS]
        assert spark.conf.get(BYTES) == "1000000b"
    finally:
        spark.conf.unset(BYTES)


def test_texts_too_large_for_a_batch_are_written_all_the_same(
    spark: Any, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = table("id BIGINT, doc STRING", primary_key=["id"], options={"bucket": "2"})
    jobs: list[str] = []

    def watched(frame: Any, *rest: Any) -> Any:
        jobs.append(spark.conf.get(BYTES))
        if len(jobs) == 1:
            run_job(frame, *rest)
            java = spark.sparkContext._jvm
            cause = java.org.apache.arrow.vector.util.OversizedAllocationException("Memory required")
            raise Py4JJavaError("", java.org.apache.spark.SparkException("Job aborted", cause))
        return run_job(frame, *rest)

    monkeypatch.setattr(write, "run_job", watched)
    kept.write(spark.sql("SELECT id, repeat('x', 1000) doc FROM range(50)"))
    assert jobs == [str(2**31 - 1), spark.conf.get(BYTES)]
    assert kept.scan().to_arrow().num_rows == 50
    assert len(list(Path(kept.path).glob("bucket-*/*"))) == 2  # nothing is left of the first try
