"""``orphans``."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Table


def test_orphans(cli: Lakebed, orders: Table) -> None:
    stray = Path(orders.path, "day=2025-01-01", "bucket-0", "data-00000000-0000-0000-0000-000000000000-0.parquet")
    stray.write_bytes(b"x" * 100)
    assert cli("orphans", "db.orders").out == "no orphan files older than one day\n"  # too young
    os.utime(stray, (1_000_000, 1_000_000))
    plan = cli.json("orphans", "db.orders")
    assert [(file["path"], file["file_size_in_bytes"]) for file in plan["files"]] == [(str(stray), 100)]
    assert (plan["dry_run"], plan["file_count"], plan["file_size_in_bytes"]) == (True, 1, 100)
    ran = cli("orphans", "db.orders", "--files")
    assert ran.out.startswith("would delete 1 file, 100 B\n")
    assert str(stray) in ran.out
    assert stray.exists()
    old = cli("orphans", "db.orders", "--older-than", "1970-01-01")
    assert old.out == "no orphan files older than 1970-01-01\n"
    assert cli.json("orphans", "db.orders", "--yes")["dry_run"] is False
    assert not stray.exists()
    assert orders.scan().to_arrow().num_rows == 3


def test_young_files_need_force(cli: Lakebed, orders: Table) -> None:
    stray = Path(orders.path, "day=2025-01-01", "bucket-0", "data-00000000-0000-0000-0000-000000000000-0.parquet")
    stray.write_bytes(b"x" * 100)
    assert "younger than one hour" in cli.fails(3, "orphans", "db.orders", "--older-than", "0 s", "--yes")
    assert stray.exists()
    assert cli.json("orphans", "db.orders", "--older-than", "0 s", "--yes", "--force")["file_count"] == 1
    assert not stray.exists()
