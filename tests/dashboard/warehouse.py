"""A warehouse for the dashboard to show: tables of every kind, one with thousands of snapshots, one full of markup."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import time
from pathlib import Path

import pyarrow as pa

import lakebed
from lakebed import Lake, Table, changes
from lakebed.format.snapshot import CommitKind, snapshot_to_json
from lakebed.metadata.history.history_index import note
from lakebed.metadata.store import TableStore

MANY = 2000
EVERY_NTH_COMPACTS = 5
MARKUP = "<img src=x onerror=window.hacked=1>"
SCRIPT = "<script>window.hacked=1</script>"
FULL_DAYS = (0, 14, 28)
CHAIN_DAYS = 40
GAP_DAY = 20


def make_warehouse(folder: Path) -> Path:
    lake = lakebed.connect(folder)
    for name in ("shop", "lab"):
        lake.create_database(name)
    _orders(lake)
    _events(lake)
    _busy(lake)
    _hostile(lake)
    _daily(lake)
    lake.create_table("shop.empty", "id BIGINT, name STRING")
    return folder


def _orders(lake: Lake) -> None:
    """Upserts into three days of two buckets, compactions, a schema change, two tags, a branch with its own commits."""
    orders = lake.create_table(
        "shop.orders",
        "id BIGINT, amount DECIMAL(10, 2), note STRING, dt STRING",
        partition_by=["dt"],
        primary_key=["dt", "id"],
        options={"bucket": "2", "num-sorted-run.compaction-trigger": "4"},
        comment="What customers ordered",
    )
    rng = random.Random(7)
    for number in range(8):
        orders.write(_order_rows(rng, number, 400 // (number + 1)))
    orders.create_tag("before-compaction")
    orders.compact(full=True)
    orders.alter(changes.AddColumn("channel", "STRING"))
    for number in range(3):
        orders.write(_order_rows(rng, number, 40, channel="web"))
    orders.create_tag("v1")
    dev = orders.create_branch("dev", tag="v1")
    dev.write(_order_rows(rng, 1, 10, channel="app"))
    dev.write(_order_rows(rng, 2, 10, channel="app"))


def _order_rows(rng: random.Random, number: int, count: int, **more: str) -> pa.Table:
    ids = [rng.randrange(1000) for _ in range(count)]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "amount": pa.array([f"{one % 90}.{number}5" for one in ids]).cast(pa.decimal128(10, 2)),
            "note": [None if one % 7 else f"gift {one}" for one in ids],
            "dt": [f"2026-11-{1 + one % 3:02d}" for one in ids],
            **{name: [value] * count for name, value in more.items()},
        }
    )


def _events(lake: Lake) -> None:
    events = lake.create_table("shop.events", "id BIGINT, name STRING")
    for number in range(6):
        events.write([{"id": number, "name": f"event {number}"}])


def _busy(lake: Lake) -> None:
    """Three real commits, and thousands of snapshots that hold the same files, made as fast as files can be written."""
    busy = lake.create_table("lab.busy", "id BIGINT, v INT", primary_key=["id"], options={"bucket": "1"})
    for number in range(3):
        busy.write([{"id": number, "v": number}])
    _repeat_latest(busy)


def _repeat_latest(table: Table) -> None:
    store: TableStore = table._store
    previous = store.snapshots.latest()
    assert previous is not None
    first, now = previous.id, time.time_ns() // 1_000_000
    for number in range(first + 1, MANY + 1):
        is_compaction = number % EVERY_NTH_COMPACTS == 0
        made = dataclasses.replace(
            previous,
            id=number,
            commit_kind=CommitKind.COMPACT if is_compaction else CommitKind.APPEND,
            commit_user=f"writer-{number % 3}",
            time_millis=now - (MANY - number) * 60_000,
            properties=_facts(number, now) if is_compaction else {},
        )
        Path(store.paths.snapshot(number)).write_text(snapshot_to_json(made))
        note(store, made, previous)
        previous = made
    Path(store.paths.latest_hint).write_text(str(MANY))


def _facts(number: int, now: int) -> dict[str, str]:
    read = number * 1000
    counts = {"files-deleted": 5, "bytes-deleted": read, "rows-deleted": number, "files-added": 1}
    counts |= {"bytes-added": read // 2, "rows-added": number // 2, "partitions": 1, "buckets": 1}
    counts["started-millis"] = now - (MANY - number) * 60_000 - number
    kind = "FULL" if number % (2 * EVERY_NTH_COMPACTS) == 0 else "MINOR"
    return {**{f"lakebed.{name}": str(value) for name, value in counts.items()}, "lakebed.compaction": kind}


def _hostile(lake: Lake) -> None:
    """Markup wherever a table can say something."""
    hostile = lake.create_table(
        f"lab.{MARKUP}",
        pa.schema([pa.field("id", pa.int64()), pa.field(MARKUP, pa.string(), metadata={"comment": SCRIPT})]),
        comment=SCRIPT,
    )
    hostile.write(pa.table({"id": [1, 2], MARKUP: [SCRIPT, MARKUP]}))
    hostile.create_tag(MARKUP)


def _daily(lake: Lake) -> None:
    """A chain table of two regions: full partitions every fortnight, deltas between them, one day that nobody wrote."""
    lake.create_table(
        "lab.daily",
        "k BIGINT, v STRING, region STRING, date STRING",
        partition_by=["region", "date"],
        primary_key=["region", "date", "k"],
        options={
            "bucket": 1,
            "partition.timestamp-pattern": "$date",
            "partition.timestamp-formatter": "yyyyMMdd",
            "chain-table.enabled": True,
            "chain-table.chain-partition-keys": "date",
        },
    )
    daily: Table = lake.table("lab.daily")
    daily.branch("snapshot").write(_chain_rows(FULL_DAYS))
    daily.branch("delta").write(_chain_rows([day for day in range(CHAIN_DAYS) if day != GAP_DAY]))


def _chain_rows(days: list[int] | tuple[int, ...]) -> pa.Table:
    start = dt.date(2026, 10, 1)
    dates = [(start + dt.timedelta(day)).strftime("%Y%m%d") for day in days]
    return pa.table(
        {
            "k": pa.array(list(range(len(dates))) * 2, pa.int64()),
            "v": ["x"] * (2 * len(dates)),
            "region": ["eu"] * len(dates) + ["us"] * len(dates),
            "date": dates * 2,
        }
    )
