"""The main job: a primary-key table on Spark, loaded and upserted over several days, read at several versions, compacted.

Run it with ``make demo``; it leaves its warehouse in ./demo-warehouse for you to look at.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakebed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAREHOUSE = Path("demo-warehouse")
CUSTOMERS = 1_000_000
CHANGES_A_DAY = 200_000
DAYS = ("2025-01-02", "2025-01-03", "2025-01-04")


@contextmanager
def step(title: str) -> Iterator[Callable[[str], None]]:
    """Says what is done, how long it took, and what came of it."""
    print(f"\n== {title}", flush=True)
    started = time.perf_counter()
    told: list[str] = []
    yield told.append
    print(f"   {time.perf_counter() - started:.2f} s" + "".join(f"\n   {line}" for line in told), flush=True)


def customers_of(spark: SparkSession, day: str, count: int, *, changed: bool) -> DataFrame:
    """All customers, or those of one day: most of them known already, a tenth new; a few leave (-D)."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    seed = int(day.replace("-", ""))
    ids = F.floor(F.rand(seed) * CUSTOMERS * 1.1).cast("bigint") if changed else F.col("id")
    return (
        spark.range(count)
        .select(
            ids.alias("customer_id"),
            F.concat(F.lit("c"), ids.cast("string")).alias("name"),
            F.element_at(
                F.array(*map(F.lit, ("Oslo", "Paris", "Rome", "Lima"))), (F.rand(seed + 1) * 4 + 1).cast("int")
            ).alias("city"),
            F.round(F.rand(seed + 2) * 1000, 2).alias("balance"),
            F.lit(day).alias("seen"),
            F.when((F.rand(seed + 3) < 0.02) & F.lit(changed), F.lit("-D")).otherwise(F.lit("+U")).alias("op"),
        )
        .dropDuplicates(["customer_id"])
    )


def lines_of(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """A small table for people."""
    cells = [list(names), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]


def told(made: Any) -> str:
    return f"snapshot {made.id} ({made.commit_kind}): {made.delta_record_count:+,} rows in files, {made.total_record_count:,} in all"


def main() -> None:
    shutil.rmtree(WAREHOUSE, ignore_errors=True)
    lake = lakebed.connect(WAREHOUSE)
    with step("start a local Spark session") as say:
        spark = lake.spark
        say(f"Spark {spark.version}, {spark.sparkContext.defaultParallelism} cores")

    with step("create shop.customers: primary key customer_id, 2 buckets") as say:
        lake.create_database("shop")
        customers = lake.create_table(
            "shop.customers",
            "customer_id BIGINT, name STRING, city STRING, balance DOUBLE, seen STRING",
            primary_key=["customer_id"],
            options={"bucket": 2, "num-sorted-run.compaction-trigger": 10},
        )
        say(repr(customers))

    with step(f"load {CUSTOMERS:,} customers with Spark") as say:
        first = customers.write(customers_of(spark, "2025-01-01", CUSTOMERS, changed=False).drop("op"))
        say(told(first))
        customers.create_tag("day-1")

    for day in DAYS:
        with step(f"upsert about {CHANGES_A_DAY:,} changes of {day}: new rows, changed rows, deletes") as say:
            frame = customers_of(spark, day, CHANGES_A_DAY, changed=True)
            say(told(customers.write(frame, row_kind="op")))

    by_city = "city, count(*) AS customers, round(avg(balance), 2) AS balance, max(seen) AS last_seen"
    for title, scan in (
        ("the table now", customers.scan()),
        ("the table as of snapshot 2", customers.scan(version=2)),
        ("the table as of tag day-1", customers.scan(tag="day-1")),
    ):
        with step(f"read {title}: merged while it is read") as say:
            scan.to_spark(spark).createOrReplaceTempView("customers")
            found = spark.sql(f"SELECT {by_city} FROM customers GROUP BY city ORDER BY city")
            for line in lines_of(found.columns, found.collect()):
                say(line)

    with step("compact it on Spark") as say:
        before = customers.scan().plan().file_count
        say(told(customers.compact(full=True, spark=spark)))
        say(f"{before} files became {customers.scan().plan().file_count}")

    with step("read one customer, in this process: only the bucket and row groups that can hold it are opened") as say:
        scan = customers.scan(where="customer_id = 4242")
        say(str(scan.to_arrow().to_pylist()))
        for line in scan.explain().splitlines():
            say(line)

    with step("check every file and row") as say:
        for line in str(customers.verify(deep=True)).splitlines():
            say(line)

    columns = ["snapshot_id", "commit_kind", "commit_time", "delta_record_count", "total_record_count"]
    with step("the snapshots (shop.customers$snapshots)") as say:
        history = lake.table("shop.customers$snapshots").scan(columns).to_arrow()
        for line in lines_of(columns, (row.values() for row in history.to_pylist())):
            say(line)
    spark.stop()
    print(
        f"\nThe table is in {WAREHOUSE}/shop.db: any Paimon reader can open it, and `lakebed -w {WAREHOUSE} show shop.customers` too."
    )


if __name__ == "__main__":
    main()
