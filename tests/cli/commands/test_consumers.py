"""``consumers``: each command does what the method does, and nothing without consent."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.runner import Lakebed

from lakebed import Table


def test_consumers(cli: Lakebed, orders: Table) -> None:
    assert cli.json("consumers", "db.orders") == []
    assert cli.json("consumers", "reset", "db.orders", "job", "--next-snapshot", "2")["was"] is None
    assert cli.json("consumers", "db.orders") == [{"consumer": "job", "next_snapshot": 2}]
    again = cli.json("consumers", "reset", "db.orders", "job")
    assert (again["was"], again["next_snapshot"]) == (2, 4)
    assert cli("consumers", "db.orders").lines[2] == ["job", "4"]
    assert "would drop consumer job" in cli("consumers", "drop", "db.orders", "job").out
    assert orders.consumers() == {"job": 4}
    assert cli("consumers", "drop", "db.orders", "job", "-y").code == 0
    assert orders.consumers() == {}
    assert "unknown consumer 'job'" in cli.fails(4, "consumers", "drop", "db.orders", "job")


@pytest.mark.parametrize("command", ["reset", "drop"])
def test_a_damaged_consumer_can_be_mended(cli: Lakebed, orders: Table, command: str) -> None:
    orders.reset_consumer("job", 2)
    (note,) = Path(orders.path, "consumer").iterdir()
    note.write_text("{")
    assert str(note) in cli.fails(3, "consumers", "db.orders")
    assert cli("consumers", command, "db.orders", "job", *(["--yes"] if command == "drop" else [])).code == 0
    assert set(orders.consumers()) == ({"job"} if command == "reset" else set())
