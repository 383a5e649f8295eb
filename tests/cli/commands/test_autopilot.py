"""``autopilot``: plan, run, status, pause, resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.runner import Lakebed

from lakebed import Lake, Table


@pytest.fixture
def orders(lake: Lake) -> Table:
    table = lake.create_table("db.orders", "id BIGINT", options={"autopilot.skip": "orphans"})
    for number in range(12):
        table.write([{"id": number}])
    lake.create_table("db.alone", "id BIGINT", options={"autopilot.enabled": False})
    return table


def test_plan_run_and_status(cli: Lakebed, orders: Table) -> None:
    plan = cli.json("autopilot", "plan")
    assert [(job["table"], job["kind"]) for job in plan["jobs"]] == [("db.orders", "compact")]
    assert plan["left_alone"] == [{"table": "db.alone", "reason": "'autopilot.enabled' is false"}]
    shown = cli("autopilot", "plan").out
    assert "db.orders" in shown
    assert "db.alone" in shown
    assert "no jobs yet" in cli("autopilot", "status").out
    (done,) = cli.json("autopilot", "run", "--once", "--bytes-per-hour", "1 gb", "--parallel", "2")
    assert (done["kind"], done["state"]) == ("compact", "succeeded")
    assert "nothing to do" in cli("autopilot", "run", "--once").out
    status = cli.json("autopilot", "status")
    assert (status["owner"], status["is_paused"], status["jobs"]) == (None, False, [done])
    assert "no autopilot works in this warehouse" in cli("autopilot", "status").out


def test_pause_and_resume(cli: Lakebed, orders: Table) -> None:
    cli("autopilot", "pause")
    assert "it is paused" in cli("autopilot", "status").out
    assert cli.json("autopilot", "run", "--once") == []
    cli("autopilot", "resume")
    assert len(cli.json("autopilot", "run", "--once", "db.orders")) == 1


def test_wrong_arguments(cli: Lakebed, orders: Table) -> None:
    assert "'much' is not" in cli.fails(2, "autopilot", "run", "--once", "--bytes-per-hour", "much")
    assert "'soon' is not" in cli.fails(2, "autopilot", "run", "--interval", "soon")
    assert "such as '22-6'" in cli.fails(3, "autopilot", "run", "--once", "--hours", "late")


@pytest.mark.local_disk
def test_it_runs_until_it_is_told_to_end(lake: Lake, orders: Table) -> None:
    command = [sys.executable, "-m", "lakebed", "-w", lake.warehouse, "autopilot", "run", "--interval", "200 ms"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"})
    try:
        end = time.monotonic() + 60
        while (latest := orders.latest_snapshot()) is None or latest.commit_kind != "COMPACT":
            assert time.monotonic() < end
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "db.orders: compact, because 12 files" in told
    assert "db.orders: compact succeeded: merged" in told
