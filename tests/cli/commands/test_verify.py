"""``verify``: exit codes, reports, repairs."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.runner import Lakebed

from lakebed import Table


def test_a_sound_table(cli: Lakebed, orders: Table, people: Table) -> None:
    ran = cli("verify", "db.orders")
    assert ran.code == 0
    assert ran.out.startswith("db.orders: sound")
    assert ran.err == ""
    record = cli.json("verify", "--all", "--deep")
    assert record["ok"] is True
    assert [(report["table"], report["ok"], report["deep"]) for report in record["tables"]] == [
        ("db.orders", True, True),
        ("db.people", True, True),
    ]
    assert record["tables"][0]["looked_at"]["snapshots"] == 3
    assert record["tables"][0]["looked_at"]["data_files"] == 3


def test_a_damaged_table(cli: Lakebed, orders: Table, people: Table) -> None:
    lost = orders.scan().plan().files["file_path"].to_pylist()[0]
    Path(lost).unlink()
    ran = cli("verify", "db.orders", "db.people", "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    damaged, sound = ran.json["tables"]
    expected = orders.verify()
    assert [problem["code"] for problem in damaged["problems"]] == [problem.code for problem in expected.problems]
    assert damaged["problems"][0]["severity"] == "error"
    assert sound["ok"] is True
    shown = cli("verify", "db.orders")
    assert shown.code == 1
    assert Path(lost).name in shown.out
    assert "error: " in shown.out


def test_warnings_are_no_errors(cli: Lakebed, orders: Table) -> None:
    Path(orders.path, "snapshot", "LATEST").write_text("99")
    record = cli.json("verify", "db.orders")
    assert record["ok"] is True
    assert record["tables"][0]["problems"]
    assert cli("verify", "db.orders").code == 0


def test_repair(cli: Lakebed, orders: Table) -> None:
    hint = Path(orders.path, "snapshot", "LATEST")
    hint.write_text("99")
    os.utime(hint, (1_000_000, 1_000_000))
    plan = cli("verify", "db.orders", "--repair")
    assert plan.code == 0
    assert "planned" in plan.out
    assert "add --yes" in plan.err
    assert hint.read_text() == "99"
    done = cli.json("verify", "db.orders", "--repair", "--yes")
    assert done["dry_run"] is False
    assert [(step["path"], step["done"]) for step in done["tables"][0]["repairs"]] == [(str(hint), True)]
    assert hint.read_text() == "3"
    assert cli.json("verify", "db.orders")["tables"][0]["problems"] == []


def test_typos(cli: Lakebed, orders: Table) -> None:
    assert "did you mean 'orders'?" in cli.fails(4, "verify", "db.orders", "db.order")
