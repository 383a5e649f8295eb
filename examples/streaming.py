"""Structured streaming: follow the changes of one table into another, exactly once.

Run it with ``python examples/streaming.py``; it needs ``pip install 'lakebed[spark]'``, PySpark 4.2 or newer, and Java
17. It works in a temporary folder and leaves nothing behind.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import lakebed


def make_tables(lake: lakebed.Lake) -> tuple[lakebed.Table, lakebed.Table]:
    lake.create_database("shop")
    # With the changelog producer "lookup" a stream gets each change with the row before and after it.
    orders = lake.create_table(
        "shop.orders",
        "id BIGINT, state STRING",
        primary_key=["id"],
        options={"bucket": 1, "changelog-producer": "lookup"},
    )
    copy = lake.create_table("shop.copy", "id BIGINT, state STRING", primary_key=["id"], options={"bucket": 1})
    return orders, copy


def follow(lake: lakebed.Lake, copy: lakebed.Table) -> Any:
    """Start a query that applies what is new in ``shop.orders`` to the copy, and stops when it has read all of it."""
    changes = (
        lake.spark.readStream.format("lakebed")
        .option("warehouse", lake.warehouse)
        .option("read.changelog", "true")  # adds the column rowkind: +I, -U, +U or -D
        .load("shop.orders")
    )
    return (
        changes.writeStream.foreachBatch(lakebed.stream_to(copy, row_kind="rowkind"))
        .option("checkpointLocation", "checkpoints/copy")
        .trigger(availableNow=True)  # without it, the query runs until it is stopped
        .start()
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # checkpoints, and what Spark itself keeps, go to the current folder
        lake = lakebed.connect("warehouse")
        orders, copy = make_tables(lake)

        orders.write([{"id": 1, "state": "new"}, {"id": 2, "state": "new"}])
        follow(lake, copy).awaitTermination()
        print("the copy after the first run:", copy.scan().to_arrow().sort_by("id").to_pylist())

        orders.write([{"id": 2, "state": "paid"}, {"id": 3, "state": "new"}])
        orders.delete("id = 1")
        # The checkpoint remembers how far the first run came, so this one reads only what is new.
        follow(lake, copy).awaitTermination()
        print("the copy after the second run:", copy.scan().to_arrow().sort_by("id").to_pylist())

        for snapshot in copy.snapshots():
            print(f"snapshot {snapshot.id} of the copy: {snapshot.commit_kind}, {snapshot.delta_record_count} records")
        lake.spark.stop()


if __name__ == "__main__":
    main()
