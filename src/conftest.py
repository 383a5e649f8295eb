"""The examples in docstrings run with a ``lake`` that has a table ``orders`` of three rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def example_lake(request: pytest.FixtureRequest, tmp_path: Path, doctest_namespace: dict[str, Any]) -> None:
    """Creates the warehouse for examples that mention it."""
    test = getattr(request.node, "dtest", None)
    if test is None or not any(name in (test.docstring or "") for name in ("lake", "orders")):
        return
    import lakebed  # noqa: PLC0415 - other examples need not wait for it

    lake = lakebed.connect(tmp_path)
    lake.create_database("shop")
    columns = "id BIGINT, customer STRING, amount DOUBLE, day STRING"
    orders = lake.create_table("shop.orders", columns, partition_by=["day"])
    days = ("2025-01-30", "2025-01-30", "2025-01-31")
    names = ("ann", "bob", "ann")
    orders.write([{"id": i, "customer": names[i - 1], "amount": 10.0 * i, "day": days[i - 1]} for i in (1, 2, 3)])
    doctest_namespace.update(lake=lake, orders=orders)
