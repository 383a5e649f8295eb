"""A chain table: one full load, small daily changes, and the full view of every day.

Run it with ``python examples/chain_table.py``. It works in a temporary folder and leaves nothing behind. ``make demo``
shows the same on Spark, with half a million rows and a month of changes.
"""

from __future__ import annotations

import tempfile

import lakebed


def make_orders(lake: lakebed.Lake) -> lakebed.Table:
    """One call creates the table and its two branches, ``snapshot`` for full days and ``delta`` for changes."""
    lake.create_database("shop")
    return lake.create_table(
        "shop.orders",
        "id BIGINT, state STRING, day STRING",
        partition_by=["day"],
        primary_key=["day", "id"],
        options={
            "bucket": 1,
            "chain-table.enabled": True,
            "partition.timestamp-pattern": "$day",
            "partition.timestamp-formatter": "yyyyMMdd",
        },
    )


def load(orders: lakebed.Table) -> None:
    full, delta = orders.branch("snapshot"), orders.branch("delta")
    full.overwrite([{"id": number, "state": "new", "day": "20250101"} for number in range(5)])
    # January 2: one order is paid, one is new. January 3: no changes. January 4: one order is deleted.
    delta.write([{"id": 1, "state": "paid", "day": "20250102"}, {"id": 7, "state": "new", "day": "20250102"}])
    delta.write([{"id": 0, "state": "new", "day": "20250104", "op": "-D"}], row_kind="op")


def show_days(orders: lakebed.Table) -> None:
    for day in ("20250101", "20250102", "20250103", "20250104"):
        rows = orders.scan(where=f"day = '{day}'").to_arrow().sort_by("id")
        states = ", ".join(f"{row['id']} {row['state']}" for row in rows.to_pylist())
        print(f"{day}: {states}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        orders = make_orders(lakebed.connect(folder))
        load(orders)
        show_days(orders)
        # How the last day is read: which full day it starts from, and which changes are merged into it.
        print(orders.scan(where="day = '20250104'").explain())

        # Build a full partition for the last day. Reads of it, and of later days, then start there.
        print(orders.compact_chain({"day": "20250104"}))
        print(orders.scan(where="day = '20250104'").explain())

        # Correct the changes of an earlier day: the full partition that was built of them is stale, and reads skip it.
        orders.branch("delta").overwrite([{"id": 1, "state": "returned", "day": "20250102"}])
        print(orders.verify())
        show_days(orders)


if __name__ == "__main__":
    main()
