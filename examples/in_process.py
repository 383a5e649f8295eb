"""Tables without Spark and without a server: create, write, read, change, and look back in time.

Run it with ``python examples/in_process.py``. It works in a temporary folder and leaves nothing behind.
"""

from __future__ import annotations

import datetime as dt
import tempfile

import pyarrow as pa

import lakebed


def append_table(lake: lakebed.Lake) -> None:
    """A partitioned table of events: rows are added, never merged."""
    events = lake.create_table(
        "shop.events",
        "id BIGINT NOT NULL, customer STRING, amount DECIMAL(10, 2), day DATE",
        partition_by=["day"],
    )
    # Any Arrow data works: tables, batches, readers; also pandas, Polars and lists of dictionaries.
    days = [dt.date(2025, 1, 1), dt.date(2025, 1, 1), dt.date(2025, 1, 2)]
    amounts = pa.array([12, 7, 30], pa.decimal128(10, 2))
    events.write(pa.table({"id": [1, 2, 3], "customer": ["ada", "bob", "ada"], "amount": amounts, "day": days}))
    events.write([{"id": 4, "customer": "eve", "amount": None, "day": dt.date(2025, 1, 2)}])

    # A condition on the partition column skips whole files; explain() says which files a read opens.
    second = events.scan(columns=["id", "customer"], where="day = DATE '2025-01-02'")
    print("events of January 2:", second.to_arrow().to_pylist())
    print(second.explain())

    # Every write is a snapshot, and every snapshot can be read again.
    events.delete("customer = 'ada'")
    print(f"{events.scan().count()} events now, {events.scan(version=2).count()} before the delete")

    # A new column costs nothing: old files are read with nulls.
    events.alter(lakebed.changes.AddColumn("note", "STRING"))
    print("columns:", ", ".join(events.arrow_schema.names))


def keyed_table(lake: lakebed.Lake) -> None:
    """A table with a primary key: a write with a known key replaces the row."""
    customers = lake.create_table(
        "shop.customers", "id BIGINT, name STRING, city STRING", primary_key=["id"], options={"bucket": 1}
    )
    customers.write([{"id": 1, "name": "ada", "city": "Paris"}, {"id": 2, "name": "bob", "city": "Rome"}])
    customers.write([{"id": 2, "name": "bob", "city": "Oslo"}])
    # A change stream says what each row is: +I and +U insert or update the row, -D and -U delete it.
    customers.write([{"id": 1, "name": "ada", "city": "Paris", "op": "-D"}], row_kind="op")
    print("customers:", customers.scan().to_arrow().to_pylist())
    print("what changed since snapshot 1:", customers.scan(since=1, until=3).to_arrow().to_pylist())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = lakebed.connect(folder)
        lake.create_database("shop")
        append_table(lake)
        keyed_table(lake)


if __name__ == "__main__":
    main()
