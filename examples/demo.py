"""The main job in a few seconds: create a table, append, read back, travel in time, look inside.

Run it with ``make demo``; it leaves its warehouse in ./demo-warehouse for you to look at.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lakebed
from lakebed import changes

WAREHOUSE = Path("demo-warehouse")
ROWS_A_DAY = 200_000


def orders_of(day: str, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    amount = rng.gamma(2.0, 30.0, ROWS_A_DAY).round(2)
    return pa.table(
        {
            "order_id": np.arange(ROWS_A_DAY) + seed * ROWS_A_DAY,
            "customer": pc.binary_join_element_wise(
                "c", pa.array(rng.integers(0, 50_000, ROWS_A_DAY)).cast("string"), ""
            ),
            "amount": amount,
            "day": pa.repeat(day, ROWS_A_DAY),
        }
    )


def upserted(lake: lakebed.Lake) -> lakebed.Table:
    """A primary-key table after ten commits of new and changed customers; the last one deletes a few."""
    customers = lake.create_table(
        "shop.customers",
        "id BIGINT, visits INT, city STRING",
        primary_key=["id"],
        options={"bucket": 2, "write-only": True},
    )
    rng = np.random.default_rng(1)
    cities = pa.array(["Oslo", "Paris", "Rome"])
    for visit in range(10):
        ids = rng.integers(0, 200_000, 100_000)
        city = cities.take(pa.array(rng.integers(0, 3, len(ids))))
        customers.write(pa.table({"id": ids, "visits": np.full(len(ids), visit, np.int32), "city": city}))
    customers.delete("city = 'Rome' AND visits < 3")
    return customers


def files_of(lake: lakebed.Lake) -> int:
    return int(lake.table("shop.customers$files").scan(["level"]).to_arrow().num_rows)


def step(title: str, action: Callable[[], Any]) -> Any:
    started = time.perf_counter()
    result = action()
    print(f"\n== {title}  ({time.perf_counter() - started:.2f} s)")
    return result


def show(table: pa.Table) -> None:
    """A small table for people."""
    cells = [table.column_names, *([str(value) for value in row.values()] for row in table.to_pylist())]
    widths = [max(len(row[i]) for row in cells) for i in range(table.num_columns)]
    for row in cells:
        print("   " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def main() -> None:
    shutil.rmtree(WAREHOUSE, ignore_errors=True)
    lake = lakebed.connect(WAREHOUSE)
    lake.create_database("shop")
    orders = step(
        "create table shop.orders, partitioned by day",
        lambda: lake.create_table(
            "shop.orders",
            "order_id BIGINT NOT NULL, customer STRING, amount DOUBLE, day STRING",
            partition_by=["day"],
        ),
    )
    print(f"   {orders}")

    days = ["2025-01-01", "2025-01-02", "2025-01-03"]
    for seed, day in enumerate(days):
        made = step(f"append {ROWS_A_DAY:,} orders of {day}", partial(orders.write, orders_of(day, seed)))
        print(f"   snapshot {made.id}: {made.delta_record_count:,} rows added, {made.total_record_count:,} in all")

    scan = orders.scan(columns=["order_id", "amount"], where="day = '2025-01-02' AND amount > 300")
    rows = step("read the large orders of one day", scan.to_arrow)
    print(f"   {rows.num_rows:,} rows, {pc.sum(rows['amount']).as_py():,.2f} in sales")
    print("   " + scan.explain().replace("\n", "\n   "))

    step("delete the orders of one customer", lambda: orders.delete("customer = 'c42'"))
    now, before = orders.scan().to_arrow(), orders.scan(version=3).to_arrow()
    print(f"   now {now.num_rows:,} rows; at snapshot 3 still {before.num_rows:,}")

    step("add a column; old files are read as they are", lambda: orders.alter(changes.AddColumn("note", "STRING")))
    print(f"   columns now: {', '.join(orders.schema.field_names)}")

    columns = ["snapshot_id", "commit_kind", "commit_time", "delta_record_count", "total_record_count", "operation"]
    show(step("the snapshots (shop.orders$snapshots)", lake.table("shop.orders$snapshots").scan(columns).to_arrow))
    columns = ["partition", "record_count", "file_count", "file_size_in_bytes"]
    show(step("the partitions (shop.orders$partitions)", lake.table("shop.orders$partitions").scan(columns).to_arrow))
    customers = step(
        "create table shop.customers with a primary key, and upsert ten rounds of changes",
        lambda: upserted(lake),
    )
    print(f"   {customers.scan().to_arrow().num_rows:,} customers in {files_of(lake)} files, merged as they are read")
    step("compact it", lambda: customers.compact(full=True))
    print(f"   {customers.scan().to_arrow().num_rows:,} customers in {files_of(lake)} files")
    print(f"\nThe tables are in {WAREHOUSE}/shop.db: any Paimon reader can open them.")


if __name__ == "__main__":
    main()
