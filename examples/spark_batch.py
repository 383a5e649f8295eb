"""Spark: write a DataFrame, read it back, use SQL, compact. No connector jar and no configuration.

Run it with ``python examples/spark_batch.py``; it needs ``pip install 'lakebed[spark]'`` and Java 17. It works in a
temporary folder and leaves nothing behind.
"""

from __future__ import annotations

import os
import tempfile

import lakebed


def write_and_read(lake: lakebed.Lake) -> lakebed.Table:
    spark = lake.spark  # the active session if there is one, else a new local session
    orders = lake.create_table(
        "shop.orders", "id BIGINT, customer STRING, amount DOUBLE", primary_key=["id"], options={"bucket": 2}
    )
    frame = spark.sql("SELECT id, concat('c', id % 10) AS customer, id / 2 AS amount FROM range(10000)")
    orders.write(frame)  # an upsert, because the table has a primary key
    orders.write(frame.where("id < 100").withColumn("amount", frame.amount + 1000))

    print("the three largest customers:")
    orders.scan().to_spark().groupBy("customer").sum("amount").orderBy("sum(amount)", ascending=False).show(3)
    return orders


def use_sql(lake: lakebed.Lake) -> None:
    lake.sql("UPDATE shop.orders SET amount = 0 WHERE customer = 'c3'")
    lake.sql("DELETE FROM shop.orders WHERE id >= 5000")
    lake.sql("SELECT count(*) AS orders, sum(amount) AS amount FROM shop.orders").show()
    print("the same table before the UPDATE and the DELETE:")
    lake.sql("SELECT count(*) AS orders, sum(amount) AS amount FROM shop.orders VERSION AS OF 2").show()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # Spark keeps its own files in the current folder
        lake = lakebed.connect("warehouse")
        lake.create_database("shop")
        orders = write_and_read(lake)
        use_sql(lake)
        # Tasks merge the files of each bucket; only names of files travel.
        before = orders.scan().plan().file_count
        orders.compact(full=True, spark=lake.spark)
        print(f"{before} files before the compaction, {orders.scan().plan().file_count} after it")
        lake.spark.stop()


if __name__ == "__main__":
    main()
