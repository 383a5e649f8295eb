"""A warehouse with a primary-key table, an append table, an empty one, odd values, branches, tags and schemas."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import lakebed
from lakebed import Lake, changes


def make_warehouse(folder: Path) -> Path:
    lake = lakebed.connect(folder)
    lake.create_database("db", properties={"comment": "samples"})
    lake.create_database("other")
    _orders(lake)
    _events(lake)
    _odd(lake)
    lake.create_table("db.empty", "id BIGINT", comment="nothing <b>yet</b>")
    lake.create_table("other.notes", "id INT").write([{"id": 1}])
    return folder


def _orders(lake: Lake) -> None:
    """Eight upserts into two partitions of two buckets, a full compaction, one more; a tag, a branch with a commit."""
    orders = lake.create_table(
        "db.orders",
        "id BIGINT, amount INT, dt STRING",
        partition_by=["dt"],
        primary_key=["dt", "id"],
        options={"bucket": "2"},
    )
    for number in range(8):
        orders.write([{"id": number % 4, "amount": number, "dt": f"2025-01-0{1 + number % 2}"}])
    orders.compact(full=True)
    orders.write([{"id": 9, "amount": 9, "dt": "2025-01-01"}])
    orders.create_tag("v1", snapshot=3)
    dev = orders.create_branch("dev", tag="v1")
    dev.write([{"id": 77, "amount": 77, "dt": "2025-01-01"}])


def _events(lake: Lake) -> None:
    """Six small files, then a column more and another file."""
    events = lake.create_table("db.events", "id BIGINT, name STRING")
    for number in range(6):
        events.write([{"id": number, "name": f"n{number}"}])
    events.alter(changes.AddColumn("note", "STRING"))
    events.write([{"id": 6, "name": "n6", "note": "x"}])


def _odd(lake: Lake) -> None:
    """Values that JSON has no words for."""
    odd = lake.create_table(
        "db.odd",
        "big BIGINT, price DECIMAL(10, 2), day DATE, ratio DOUBLE, raw BYTES, at TIMESTAMP(6), tags MAP<STRING, BIGINT>",
    )
    row = {
        "big": 2**60,
        "price": Decimal("1.50"),
        "day": dt.date(2025, 1, 31),
        "ratio": float("nan"),
        "raw": b"\x01\xff",
        "at": dt.datetime(2025, 1, 31, 12, 30),
        "tags": [("a", 1)],
    }
    odd.write(pa.Table.from_pylist([row], schema=odd.arrow_schema))
