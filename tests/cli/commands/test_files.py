"""``files`` and ``partitions``."""

from __future__ import annotations

from tests.cli.runner import Lakebed

from lakebed import Table


def test_files(cli: Lakebed, orders: Table) -> None:
    records = cli.json("files", "db.orders")
    assert {record["file_path"] for record in records} == set(orders.scan().plan().files["file_path"].to_pylist())
    assert [record["record_count"] for record in records] == [1, 1, 1]
    ran = cli("files", "db.orders")
    assert ran.lines[2][0].startswith("day=2025-01-01/bucket-0/data-")
    assert ran.err.startswith("3 files, 3 records, ")


def test_files_of_a_read(cli: Lakebed, orders: Table) -> None:
    (one,) = cli.json("files", "db.orders", "--where", "day = '2025-01-02'")
    assert "day=2025-01-02" in one["file_path"]
    assert len(cli.json("files", "db.orders", "--version", "2")) == 2


def test_partitions(cli: Lakebed, orders: Table, people: Table) -> None:
    records = cli.json("partitions", "db.orders")
    assert [(r["partition"], r["record_count"], r["file_count"]) for r in records] == [
        (f"day=2025-01-0{number}", 1, 1) for number in (1, 2, 3)
    ]
    sizes = {record["partition"]: record["file_size_in_bytes"] for record in records}
    for record in cli.json("files", "db.orders"):
        (partition,) = [name for name in sizes if f"/{name}/" in record["file_path"]]
        assert sizes[partition] == record["file_size_in_bytes"]
    assert cli("partitions", "db.people").lines[2][:2] == ["(not", "partitioned)"]
