"""The main job: a chain table on Spark.

A full load of orders, a month of daily changes, any day's full view, compaction.

Run it with ``make demo``; it leaves its warehouse in ./demo-warehouse for you to look at.
"""

from __future__ import annotations

import argparse
import datetime as dt
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

import lakebed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIRST = dt.date(2025, 8, 1)
CONSOLE = Console(highlight=False)


@contextmanager
def step(title: str) -> Iterator[Callable[[Any], None]]:
    """Says what is done, how long it took, and what came of it."""
    CONSOLE.print(f"\n== {title}", style="bold", markup=False, soft_wrap=True)
    started = time.perf_counter()
    told: list[Any] = []
    yield told.append
    CONSOLE.print(f"   [dim]{time.perf_counter() - started:.2f} s[/dim]")
    for line in told:
        CONSOLE.print(f"   {line}" if isinstance(line, str) else line, markup=False, soft_wrap=isinstance(line, str))


def date_of(day: int) -> str:
    """The date of a day, counted from 1, as partitions have it."""
    return f"{FIRST + dt.timedelta(days=day - 1):%Y%m%d}"


def orders_of(spark: SparkSession, day: int, count: int, known: int) -> DataFrame:
    """All orders on day 1; later the changes of a day: most of orders that are known, some new ones, a few deleted
    (-D).
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - as everybody calls it; Spark comes with the session

    new = F.col("id") >= count - count // 5
    changed = F.when(new, F.col("id") + known + day * count).otherwise(F.floor(F.rand(day) * known).cast("bigint"))
    ids = F.col("id") if day == 1 else changed
    states = F.array(*map(F.lit, ("new", "paid", "packed", "sent", "returned")))
    is_gone = (F.rand(day + 100) < 0.1) & ~new & F.lit(day > 1)
    return (
        spark.range(count)
        .select(
            ids.alias("order_id"),
            F.element_at(states, (F.rand(day + 1) * 5 + 1).cast("int")).alias("state"),
            F.round(F.rand(day + 2) * 1000, 2).alias("amount"),
            F.lit(date_of(day)).alias("date"),
            F.when(is_gone, F.lit("-D")).otherwise(F.lit("+U")).alias("op"),
        )
        .dropDuplicates(["order_id"])
    )


def bytes_of(table: lakebed.Table) -> int:
    return table.scan().plan().byte_count


def chart(rows: Sequence[tuple[str, float, str]]) -> Table:
    """Bars of numbers, each with its text."""
    most = max(value for _, value, _ in rows)
    shown = Table.grid(padding=(0, 2))
    for name, value, text in rows:
        shown.add_row("  " + name, Bar(most, 0, value, width=40), text)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=500_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--warehouse", type=Path, default=Path("demo-warehouse"))
    given = parser.parse_args(arguments)
    shutil.rmtree(given.warehouse, ignore_errors=True)
    lake = lakebed.connect(given.warehouse)
    with step("start a local Spark session") as say:
        spark = lake.spark
        say(f"Spark {spark.version}, {spark.sparkContext.defaultParallelism} cores")
    set_up(lake)
    live(lake, spark, given.orders, given.days)
    days = sorted({day for day in (1, 2, given.days // 2, given.days) if day >= 1})
    look(lake, days)
    compact(lake, spark, given.days)
    compare(lake, given.days)
    spark.stop()
    CONSOLE.print(
        f"\nThe table is in {given.warehouse}/shop.db: any Paimon reader can open it, and "
        f"`lakebed -w {given.warehouse} show shop.orders` too."
    )


def set_up(lake: lakebed.Lake) -> None:
    with step("create shop.orders: one statement makes the table and its branches") as say:
        lake.create_database("shop")
        lake.sql(
            """CREATE TABLE shop.orders (order_id BIGINT, state STRING, amount DOUBLE, date STRING)
            PARTITIONED BY (date) TBLPROPERTIES ('primary-key' = 'date,order_id', 'bucket' = '2',
            'bucket-key' = 'order_id', 'chain-table.enabled' = 'true',
            'partition.timestamp-pattern' = '$date', 'partition.timestamp-formatter' = 'yyyyMMdd')"""
        )
        say(f"branches: {', '.join(lake.table('shop.orders').branches())}")


def live(lake: lakebed.Lake, spark: SparkSession, count: int, days: int) -> None:
    """A full load, then the changes of each day."""
    full, delta = lake.table("shop.orders$branch_snapshot"), lake.table("shop.orders$branch_delta")
    with step(f"load all {count:,} orders of {date_of(1)} into the branch 'snapshot'") as say:
        full.overwrite(orders_of(spark, 1, count, count).drop("op"))
        say(f"{bytes_of(full) / 1e6:.1f} MB")
    changed = max(10, count // 100)
    with step(f"land {days - 1} days of {changed:,} changes each in the branch 'delta'") as say:
        seconds = []
        for day in range(2, days + 1):
            started = time.perf_counter()
            delta.write(orders_of(spark, day, changed, count), row_kind="op")
            seconds.append(time.perf_counter() - started)
        say(f"{statistics.median(seconds):.2f} s a day, {bytes_of(delta) / 1e6:.1f} MB for all of them")


def look(lake: lakebed.Lake, days: Sequence[int]) -> None:
    """Any day, whole."""
    for day in days:
        with step(f"SELECT ... FROM shop.orders WHERE date = '{date_of(day)}'") as say:
            found = lake.sql(
                f"""SELECT count(*) AS orders, round(sum(amount)) AS amount,
                count_if(state = 'returned') AS returned FROM shop.orders WHERE date = '{date_of(day)}'"""
            ).collect()[0]
            say(f"{found.orders:,} orders, {found.amount:,.0f} in all, {found.returned:,} returned")
    with step("the changes alone are a table too, with a history: time travel to its first snapshot") as say:
        changes = lake.table("shop.orders$branch_delta")
        say(f"{changes.scan(version=1).count():,} changes then, {changes.scan().count():,} now")
    with step("one order: only the bucket and row groups that can hold it are opened") as say:
        say(
            str(
                lake.table("shop.orders")
                .scan(where=f"date = '{date_of(days[-1])}' AND order_id = 42")
                .to_arrow()
                .to_pylist()
            )
        )
    with step("how the last day is put together") as say:
        for line in lake.table("shop.orders").scan(where=f"date = '{date_of(days[-1])}'").explain().splitlines():
            say(line)


def compact(lake: lakebed.Lake, spark: SparkSession, days: int) -> None:
    """A full partition for the last day, on Spark."""
    orders = lake.table("shop.orders")
    where = f"date = '{date_of(days)}'"
    with step(f"read {date_of(days)} before") as say:
        say(f"{orders.scan(where=where).to_spark(spark).count():,} orders")
    with step(f"CALL sys.compact_chain_table(table => 'shop.orders', partition => 'date={date_of(days)}')") as say:
        for line in str(orders.compact_chain({"date": date_of(days)}, dry_run=True)).splitlines():
            say(line)
        lake.sql(f"CALL sys.compact_chain_table(table => 'shop.orders', partition => 'date={date_of(days)}')").collect()
    with step(f"read {date_of(days)} after") as say:
        say(f"{orders.scan(where=where).to_spark(spark).count():,} orders")
    with step("check everything") as say:
        say(str(orders.verify()).splitlines()[0])


def compare(lake: lakebed.Lake, days: int) -> None:
    """Storage beside daily full copies."""
    full, delta = lake.table("shop.orders$branch_snapshot"), lake.table("shop.orders$branch_delta")
    first = full.scan(where=f"date = '{date_of(1)}'").plan().byte_count
    newest, changed = bytes_of(full) - first, bytes_of(delta)
    with step(f"what {days} days of full views take") as say:
        rows = [
            ("full load and changes", (first + changed) / 1e6, f"{(first + changed) / 1e6:.1f} MB"),
            ("and one more full day", (first + changed + newest) / 1e6, f"{(first + changed + newest) / 1e6:.1f} MB"),
            (f"{days} full copies", first * days / 1e6, f"{first * days / 1e6:.1f} MB"),
        ]
        say(chart(rows))
        say(f"{first * days / (first + changed):.0f} times less than a copy a day")


if __name__ == "__main__":
    main()
