"""A driver of two streams into one table, to be killed: ``python stream_worker.py WAREHOUSE CHECKPOINTS [ROW_KIND]``.

One writes with ``format("lakebed")``, the other with ``foreachBatch``; with a name for the column of row kinds, both
read and write changes. It ends when both have read everything that is there. A query that fails, because a worker was
killed, is started again from its checkpoint, as an operator would do.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import lakebed
from lakebed.spark.session import get_session

_TRIES: Final = 20


def source(spark: Any, warehouse: str, name: str, row_kind: str) -> Any:
    options = {"warehouse": warehouse, "scan.snapshot-id": "1", "read.stream.maxSnapshotsPerTrigger": "1"}
    if row_kind:
        options["read.changelog"] = "true"
    return spark.readStream.format("lakebed").options(**options).load(name)


def start(spark: Any, warehouse: str, checkpoints: str, name: str, row_kind: str) -> Any:
    """Start a query; Spark notices only with a failure that its workers were killed."""
    for _ in range(_TRIES):
        try:
            return try_to_start(spark, warehouse, checkpoints, name, row_kind)
        except Exception as problem:
            print("not started", name, str(problem)[:200], flush=True)
            time.sleep(0.5)
    return try_to_start(spark, warehouse, checkpoints, name, row_kind)


def try_to_start(spark: Any, warehouse: str, checkpoints: str, name: str, row_kind: str) -> Any:
    frame = source(spark, warehouse, f"db.{name}", row_kind)
    stream = frame.writeStream.option("checkpointLocation", f"{checkpoints}/{name}")
    if name == "plain":
        stream = stream.format("lakebed").option("warehouse", warehouse).option("path", "db.sink")
        stream = stream.option("row_kind", row_kind) if row_kind else stream
    else:
        sink = lakebed.connect(warehouse, spark=spark).table("db.sink")
        stream = stream.foreachBatch(lakebed.stream_to(sink, row_kind=row_kind or None))
    return stream.trigger(availableNow=True).start()


def main(warehouse: str, checkpoints: str, row_kind: str = "") -> None:
    spark = get_session(
        options={
            "spark.master": "local[2, 4]",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",
        }
    )
    queries = {name: start(spark, warehouse, checkpoints, name, row_kind) for name in ("plain", "batches")}
    print("started", flush=True)
    while queries:
        for name, query in list(queries.items()):
            try:
                if query.awaitTermination(1):
                    del queries[name]
            except Exception as problem:
                print("again", name, str(problem)[:200], flush=True)
                queries[name] = start(spark, warehouse, checkpoints, name, row_kind)
    print("finished", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
