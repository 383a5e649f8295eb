"""Maintenance: compact files, keep a version with a tag, try a change on a branch, expire snapshots, check the table.

Run it with ``python examples/maintenance.py``. It works in a temporary folder and leaves nothing behind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import lakebed


def make_orders(lake: lakebed.Lake) -> lakebed.Table:
    """A table with many small commits, as a job that runs every few minutes leaves it."""
    lake.create_database("shop")
    orders = lake.create_table("shop.orders", "id BIGINT, state STRING")
    for number in range(12):
        orders.write([{"id": number, "state": "new"}])
    return orders


def show_compaction(orders: lakebed.Table) -> None:
    print(f"{orders.scan().plan().file_count} files before the compaction")
    orders.compact(full=True)
    print(f"{orders.scan().plan().file_count} file after it, the same {orders.scan().count()} rows")


def show_versions(orders: lakebed.Table) -> None:
    # A tag keeps its snapshot until the retention time is over, whatever else expires.
    orders.create_tag("audited", time_retained="90 d")
    # A branch shares all files with its origin. Nothing is copied.
    trial = orders.create_branch("trial", tag="audited")
    trial.delete("id < 6")
    print(f"the branch has {trial.scan().count()} rows, main still {orders.scan().count()}")
    orders.fast_forward("trial")
    print(f"main after the fast-forward: {orders.scan().count()} rows")
    orders.rollback_to(tag="audited")
    print(f"main after the rollback: {orders.scan().count()} rows")


def show_cleanup(orders: lakebed.Table) -> None:
    # A dry run returns what would be deleted, and deletes nothing.
    print(orders.expire_snapshots(retain_max=1, dry_run=True))
    orders.expire_snapshots(retain_max=1, dry_run=False)
    print("snapshots left:", [snapshot.id for snapshot in orders.snapshots()])

    # A writer that died may leave files that no snapshot refers to. Here we leave one on purpose.
    orphan = Path(orders.path, "bucket-0", "data-00000000-0000-0000-0000-000000000000-0.parquet")
    orphan.write_bytes(b"half a file")
    # Without older_than only files older than one day are orphans, because a running commit has such files too.
    # Less than one hour needs force=True: nobody else writes to this table.
    removed = orders.remove_orphan_files(older_than="0 s", dry_run=False, force=True)
    print(removed)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        orders = make_orders(lakebed.connect(folder))
        show_compaction(orders)
        show_versions(orders)
        show_cleanup(orders)
        # Every snapshot, tag, branch, manifest, file and row is read and checked.
        print(orders.verify(deep=True))


if __name__ == "__main__":
    main()
