"""A driver of two streams into one table, to be killed: ``python stream_worker.py WAREHOUSE CHECKPOINTS``.

One writes with ``format("lakebed")``, the other with ``foreachBatch``. It ends when both have read everything that is there. A
query that fails, because a worker was killed, is started again from its checkpoint, as an operator would do.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import lakebed
from lakebed.spark.session import get_session

_TRIES: Final = 20


def source(spark: Any, warehouse: str, name: str) -> Any:
    options = {"warehouse": warehouse, "scan.snapshot-id": "1", "read.stream.maxSnapshotsPerTrigger": "1"}
    return spark.readStream.format("lakebed").options(**options).load(name)


def start(spark: Any, warehouse: str, checkpoints: str, name: str) -> Any:
    """Start a query; Spark notices only with a failure that its workers were killed."""
    for _ in range(_TRIES):
        try:
            return try_to_start(spark, warehouse, checkpoints, name)
        except Exception as problem:
            print("not started", name, str(problem)[:200], flush=True)
            time.sleep(0.5)
    return try_to_start(spark, warehouse, checkpoints, name)


def try_to_start(spark: Any, warehouse: str, checkpoints: str, name: str) -> Any:
    stream = source(spark, warehouse, f"db.{name}").writeStream.option("checkpointLocation", f"{checkpoints}/{name}")
    if name == "plain":
        stream = stream.format("lakebed").option("warehouse", warehouse).option("path", "db.sink")
    else:
        stream = stream.foreachBatch(lakebed.stream_to(lakebed.connect(warehouse, spark=spark).table("db.sink")))
    return stream.trigger(availableNow=True).start()


def main(warehouse: str, checkpoints: str) -> None:
    spark = get_session(
        options={
            "spark.master": "local[2, 4]",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.log.level": "OFF",
        }
    )
    queries = {name: start(spark, warehouse, checkpoints, name) for name in ("plain", "batches")}
    print("started", flush=True)
    while queries:
        for name, query in list(queries.items()):
            try:
                if query.awaitTermination(1):
                    del queries[name]
            except Exception as problem:
                print("again", name, str(problem)[:200], flush=True)
                queries[name] = start(spark, warehouse, checkpoints, name)
    print("finished", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
