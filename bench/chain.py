"""A month of a chain table beside daily full copies: ``python -m bench.chain``, ``--rows 100000`` for a quick look.

Day 1 is a full load. Each later day changes 1 % of the rows: most changes are updates, some are new rows, a few are
deletes. The benchmark measures:

* the time to write a day, as changes and as a full copy (the day before merged with the changes);
* the storage, in copies of the full table: without compactions, with a full partition of every week, and with the
  newest full partition only;
* reads of a day at several depths of its chain, of all columns, in this process or with ``--spark`` on a local Spark;
* the compaction of one day a week.

Times are the best of several runs. The end of the output lists each goal and whether it was reached.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from bench.report import markdown

import lakebed

FIRST: Final = dt.date(2025, 8, 1)
WEEK: Final = 7
DEPTHS: Final = (0, 1, 7, 29)
RUNS: Final = 3
STORAGE_GOAL: Final = 1.4
LANDING_GOAL: Final = 10.0
READ_GOAL: Final = 1.2
COLUMNS: Final = (
    "order_id BIGINT, customer BIGINT, amount DECIMAL(12, 2), state STRING, note STRING, updated TIMESTAMP, date STRING"
)
STATES: Final = np.array(["new", "paid", "packed", "sent", "returned"])


@dataclass
class Results:
    """What was measured: seconds and bytes."""

    rows: int
    days: int
    share: float
    load_seconds: float = 0.0
    full_bytes: int = 0
    land_seconds: list[float] = field(default_factory=list)
    delta_bytes: int = 0
    copy_seconds: list[float] = field(default_factory=list)
    copy_bytes: int = 0
    reads: dict[int, float] = field(default_factory=dict)
    compact_seconds: list[float] = field(default_factory=list)
    compacted_bytes: list[int] = field(default_factory=list)

    @property
    def copies_without_compaction(self) -> float:
        return (self.full_bytes + self.delta_bytes) / self.full_bytes

    @property
    def copies_with_all(self) -> float:
        return (self.full_bytes + self.delta_bytes + sum(self.compacted_bytes)) / self.full_bytes

    @property
    def copies_with_newest(self) -> float:
        newest = self.compacted_bytes[-1] if self.compacted_bytes else 0
        return (self.full_bytes + self.delta_bytes + newest) / self.full_bytes

    @property
    def landing_ratio(self) -> float:
        return statistics.median(self.copy_seconds) / statistics.median(self.land_seconds)

    def read_ratio(self, depth: int) -> float:
        return self.reads[depth] / self.reads[0]


# --------------------------------------------------------------------------------------------------------------- rows


def date_of(day: int) -> str:
    """The date of a day, counted from 0."""
    return f"{FIRST + dt.timedelta(days=day):%Y%m%d}"


def orders(ids: np.ndarray, day: int) -> pa.Table:
    """Orders as they are on a day."""
    random = np.random.default_rng(day)
    count = len(ids)
    cents = random.integers(100, 1_000_000, count)
    words = np.char.add("note ", random.integers(0, 50_000, count).astype(str))
    moments = np.datetime64("2025-08-01", "us") + np.timedelta64(day, "D") + random.integers(0, 86_400, count) * 10**6
    return pa.table(
        {
            "order_id": pa.array(ids, pa.int64()),
            "customer": pa.array((ids * 2_654_435_761) % 1_000_003, pa.int64()),
            "amount": pa.array(cents, pa.int64()).cast(pa.decimal128(20, 0)).cast(pa.decimal128(12, 2)),
            "state": pa.array(STATES[random.integers(0, len(STATES), count)]),
            "note": pa.array(words),
            "updated": pa.array(moments),
            "date": pa.array(np.full(count, date_of(day))),
        }
    )


def changes(rows: int, share: float, day: int) -> pa.Table:
    """The changes of a day: seven of ten are updates, two are new orders, one is deleted; column ``op`` says which."""
    random = np.random.default_rng(10_000 + day)
    count = max(10, round(rows * share))
    new, gone = count // 5, count // 10
    known = random.choice(rows, count - new, replace=False)
    fresh = np.arange(rows + (day - 1) * new, rows + day * new)
    kinds = np.repeat(["-D", "+U", "+I"], [gone, count - new - gone, new])
    return orders(np.concatenate([known, fresh]), day).append_column("op", pa.array(kinds))


# ----------------------------------------------------------------------------------------------------------- measuring


def timed(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def live_bytes(table: lakebed.Table) -> int:
    return table.scan().plan().byte_count


def measure(folder: Path, rows: int, days: int, share: float, *, buckets: int, spark: Any = None) -> Results:
    """Live through the days."""
    found = Results(rows, days, share)
    lake = lakebed.connect(folder, spark=spark)
    lake.create_database("bench")
    options = {
        "bucket": buckets,
        "bucket-key": "order_id",
        "partition.timestamp-pattern": "$date",
        "partition.timestamp-formatter": "yyyyMMdd",
        "file.format": "parquet",
    }
    keys: dict[str, Any] = {"partition_by": ["date"], "primary_key": ["date", "order_id"]}
    table = lake.create_table("bench.orders", COLUMNS, options={**options, "chain-table.enabled": True}, **keys)
    copies = lake.create_table("bench.copies", COLUMNS, options=options, **keys)
    full, delta = table.branch("snapshot"), table.branch("delta")

    first = orders(np.arange(rows), 0)
    found.load_seconds = timed(lambda: full.overwrite(first))
    copies.overwrite(first)
    found.full_bytes = live_bytes(full)
    for day in range(1, days):
        batch = changes(rows, share, day)
        found.land_seconds.append(timed(lambda batch=batch: delta.write(batch, row_kind="op")))  # type: ignore[misc]
        if day <= RUNS:
            found.copy_seconds.append(timed(lambda day=day: copy_day(table, copies, day)))  # type: ignore[misc]
    found.delta_bytes = live_bytes(delta)
    found.copy_bytes = live_bytes(copies) // (1 + min(RUNS, days - 1))
    found.reads = {depth: read_time(table, depth, spark) for depth in DEPTHS if depth < days}
    for day in range(WEEK, days, WEEK):
        done = table.compact_chain({"date": date_of(day)})
        found.compact_seconds.append(done.seconds)
        found.compacted_bytes.append(sum(one.bytes_written or 0 for one in done.built))
    return found


def copy_day(table: lakebed.Table, copies: lakebed.Table, day: int) -> None:
    """Land a day the old way: yesterday's copy merged with the changes, as a new copy.

    Here the chain's read is the merge.
    """
    copies.overwrite(table.scan(where=f"date = '{date_of(day)}'").to_batches())


def read_time(table: lakebed.Table, day: int, spark: Any) -> float:
    """The read of a day; day 0 is full, and each later one a partition of changes deeper."""
    where = f"date = '{date_of(day)}'"

    def run() -> None:
        if spark is None:
            table.scan(where=where).to_arrow()
        else:
            table.scan(where=where).to_spark(spark).write.format("noop").mode("overwrite").save()

    return min(timed(run) for _ in range(RUNS))


# ------------------------------------------------------------------------------------------------------------- telling


def report(found: Results) -> str:
    """Everything that was measured, and the goals."""
    full = found.full_bytes
    storage = [
        ["one full copy", f"{full / 1e6:,.1f}", "1.00", f"{1 / found.days:.1%}"],
        _stored("a full load and the changes of all days", found.copies_without_compaction, found),
        _stored(f"... and {len(found.compacted_bytes)} weekly full partitions", found.copies_with_all, found),
        _stored("... of which the newest is kept", found.copies_with_newest, found),
        _stored(f"{found.days} daily full copies", float(found.days), found),
    ]
    times = [
        ["full load", f"{found.load_seconds:.2f}"],
        ["land a day as changes (median)", f"{statistics.median(found.land_seconds):.3f}"],
        ["land a day as a full copy (median)", f"{statistics.median(found.copy_seconds):.2f}"],
        *([f"read of a day at depth {depth}", f"{seconds:.2f}"] for depth, seconds in found.reads.items()),
        *([f"compaction of week {week}", f"{seconds:.2f}"] for week, seconds in enumerate(found.compact_seconds, 1)),
    ]
    parts = [
        f"{found.rows:,} rows, {found.days} days, {found.share:.1%} changes a day",
        markdown(["what", "MB", "full copies", "of daily copies"], storage),
        markdown(["what", "seconds"], times),
        "\n".join(goals(found)),
    ]
    return "\n\n".join(parts)


def _stored(what: str, copies: float, found: Results) -> list[str]:
    return [what, f"{copies * found.full_bytes / 1e6:,.1f}", f"{copies:.2f}", f"{copies / found.days:.1%}"]


def goals(found: Results) -> list[str]:
    """Each goal, what was measured, and whether it was met."""
    kept = found.copies_without_compaction
    compacted = f"with every weekly full partition kept {found.copies_with_all:.2f}, with the newest only "
    lines = [
        _goal("storage of all days, full copies", kept, STORAGE_GOAL, at_most=True),
        f"      {compacted}{found.copies_with_newest:.2f}, against {found.days} of daily copies",
        _goal("landing a day, times faster than a full copy", found.landing_ratio, LANDING_GOAL, at_most=False),
    ]
    if WEEK in found.reads:
        lines.append(_goal("read at depth 7 against a full partition", found.read_ratio(WEEK), READ_GOAL, at_most=True))
    return lines


def _goal(what: str, value: float, goal: float, *, at_most: bool) -> str:
    met = value <= goal if at_most else value >= goal
    return f"{'met ' if met else 'MISS'}  {what}: {value:.2f} (goal: {'at most' if at_most else 'at least'} {goal:g})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--share", type=float, default=0.01, help="of the rows that change in a day")
    parser.add_argument("--buckets", type=int, default=4)
    parser.add_argument("--spark", action="store_true", help="read and compact on a local Spark")
    parser.add_argument("--json", type=Path, help="where to write what was measured")
    given = parser.parse_args(arguments)
    spark = None
    if given.spark:
        from lakebed.spark.session import get_session

        spark = get_session()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), given.rows, given.days, given.share, buckets=given.buckets, spark=spark)
    print(report(found))
    if given.json is not None:
        given.json.write_text(json.dumps(asdict(found), indent=2))


if __name__ == "__main__":
    main()
