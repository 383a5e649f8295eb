"""What drivers are asked to do; importable, because it travels to them by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from tests.spark_cluster.storages import hang, noted

from lakebed import Lake, Table
from lakebed.storage import LocalStorage

# ------------------------------------------------------------------------------------------------------------- Lakebed


def application(spark: Any) -> str:
    return str(spark.sparkContext.applicationId)


def versions(spark: Any) -> set[str]:
    """What workers have of lakebed."""
    from lakebed.spark.session import worker_versions

    return worker_versions(spark)


def ship(spark: Any) -> None:
    from lakebed.spark.session import prepare_workers

    prepare_workers(spark)


def opened(warehouse: str, name: str, storage: LocalStorage | None = None) -> Table:
    found = Lake(warehouse, storage or LocalStorage(), {}).table(name)
    assert isinstance(found, Table)
    return found


def frame_of(spark: Any, rows: pa.Table, parts: int = 3) -> Any:
    """A frame of several partitions, in the order of the rows."""
    size = -(-len(rows) // parts)
    frames = [spark.createDataFrame(rows.slice(start, size)).coalesce(1) for start in range(0, len(rows), size)]
    whole = frames[0]
    for more in frames[1:]:
        whole = whole.union(more)
    return whole


def write(
    spark: Any,
    warehouse: str,
    name: str,
    rows: pa.Table,
    *,
    overwrite: bool = False,
    storage: LocalStorage | None = None,
    **who: Any,
) -> int | None:
    """Write or overwrite; gives the snapshot's number."""
    table = opened(warehouse, name, storage)
    frame = frame_of(spark, rows)
    made = table.overwrite(frame) if overwrite else table.write(frame, **who)
    return None if made is None else made.id


def compact(
    spark: Any, warehouse: str, name: str, storage: LocalStorage | None = None
) -> tuple[int | None, list[tuple[int, int]]]:
    """Compact all; gives the snapshot's number and the reports of progress."""
    reports: list[tuple[int, int]] = []
    made = opened(warehouse, name, storage).compact(
        full=True, spark=spark, report=lambda done, of: reports.append((done, of))
    )
    return None if made is None else made.id, reports


def read(spark: Any, warehouse: str, name: str, **scan: Any) -> pa.Table:
    return opened(warehouse, name).scan(**scan).to_spark(spark).toArrow()


def is_native(spark: Any, warehouse: str, name: str) -> bool:
    """Whether Spark reads a table all by itself."""
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        opened(warehouse, name).scan().to_spark(spark).explain()
    assert "FileScan parquet" in text.getvalue() or "MapInArrow" in text.getvalue()
    return "MapInArrow" not in text.getvalue()


# ------------------------------------------------------------------------------------------------------ the data source


def source_read(spark: Any, warehouse: str, name: str, **options: str) -> pa.Table:
    frame = spark.read.format("lakebed").option("warehouse", warehouse).options(**options).load(name)
    return frame.toArrow()


def source_write(spark: Any, warehouse: str, name: str, rows: pa.Table, mode: str = "append", **options: str) -> None:
    writer = frame_of(spark, rows).write.format("lakebed").option("warehouse", warehouse).options(**options)
    writer.mode(mode).save(name)


def source_write_that_hangs(spark: Any, warehouse: str, name: str, rows: int, notes: str) -> None:
    """Four tasks write ids, the first of which hangs in the middle of its rows."""

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 10)
            if batch.column(0)[0].as_py() == 0 and noted(notes, "hanging"):
                hang(notes)
            yield batch.slice(10)

    frame = spark.range(0, rows, 1, 4).mapInArrow(slowly, "id long")
    frame.write.format("lakebed").option("warehouse", warehouse).mode("append").save(name)


# ------------------------------------------------------------------------------------------------------------- streams


def stream(spark: Any, warehouse: str, source: str, sink: str, checkpoint: str, way: str) -> None:
    """Write the changes of a table to another one, a snapshot at a time: by ``format``, or each batch by a function."""
    import lakebed

    options = {"warehouse": warehouse, "scan.snapshot-id": "1", "read.stream.maxSnapshotsPerTrigger": "1"}
    changes = spark.readStream.format("lakebed").options(**options).option("read.changelog", "true").load(source)
    writer = changes.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    if way == "format":
        query = writer.format("lakebed").options(warehouse=warehouse, row_kind="rowkind").start(sink)
    else:
        table = lakebed.connect(warehouse, spark=spark).table(sink)
        query = writer.foreachBatch(
            lakebed.stream_to(table, row_kind="rowkind", commit_user="me", on_driver=way == "on the driver")
        ).start()
    query.awaitTermination()


# ------------------------------------------------------------------------------------------------------------ failures


def write_failing_twice(spark: Any, warehouse: str, name: str, rows: pa.Table) -> int | None:
    """Every task fails in its first two attempts, when it has read all of its rows."""

    def failing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() < 2:
            raise RuntimeError("as the test wants it")

    frame = frame_of(spark, rows)
    made = opened(warehouse, name).write(frame.mapInArrow(failing, frame.schema))
    return None if made is None else made.id


# -------------------------------------------------------------------------------------------------------------- memory


def write_large(spark: Any, warehouse: str, name: str, rows: int) -> None:
    """Keys in no order, and texts that do not compress well: about 80 bytes a row."""
    query = f"SELECT id * 7919 % {rows} id, concat(uuid(), uuid()) v FROM range(0, {rows}, 1, 4)"
    opened(warehouse, name).write(spark.sql(query))


def read_large(spark: Any, warehouse: str, name: str, budget: int) -> list[int]:
    """Number of rows, of keys, and the length of all texts, of a merged read."""
    from lakebed.spark.read.read_frame import to_spark

    frame = to_spark(spark, opened(warehouse, name).scan()._parts, merge_budget=budget)
    return list(map(int, frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(length(v))").collect()[0]))


def compact_large(spark: Any, warehouse: str, name: str, budget: int) -> int | None:
    from lakebed.spark.write import compact_on_spark as module

    before = module.MERGE_BUDGET
    module.MERGE_BUDGET = budget  # type: ignore[misc]
    try:
        return compact(spark, warehouse, name)[0]
    finally:
        module.MERGE_BUDGET = before  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------------------- Connect


def is_connect(spark: Any) -> bool:
    """Whether this is a client that started no JVM."""
    from pyspark import SparkContext

    return type(spark).__module__.startswith("pyspark.sql.connect") and SparkContext._gateway is None
