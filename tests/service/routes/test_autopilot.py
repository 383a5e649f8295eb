"""The autopilot over REST: state, plan, pause, resume, and a service that looks after its tables itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import httpx
import pytest

import lakebed
from lakebed.autopilot import Autopilot, JobKind, JobState
from lakebed.service.models.autopilot import Kind, State

PATH = "/api/v1/warehouses/demo/autopilot"
Serve = Callable[..., httpx.Client]


@pytest.fixture
def orders(tmp_path: Path, serve: Serve) -> lakebed.Table:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.orders", "id BIGINT", options={"autopilot.skip": "orphans"})
    for number in range(12):
        table.write([{"id": number}])
    lake.create_table("db.alone", "id BIGINT", options={"autopilot.enabled": False})
    return table


def test_a_read_only_service_shows_it(serve: Serve, orders: lakebed.Table, tmp_path: Path) -> None:
    client = serve(read_only=True)
    assert client.get(PATH).json() == {
        "owner": None,
        "is_paused": False,
        "jobs": {"items": [], "total": 0, "offset": 0, "limit": 100, "next_offset": None},
    }
    plan = client.get(f"{PATH}/plan").json()
    assert [(job["table"], job["kind"]) for job in plan["jobs"]] == [("db.orders", "compact")]
    assert plan["left_alone"] == [{"table": "db.alone", "reason": "'autopilot.enabled' is false"}]
    assert client.post(f"{PATH}/pause", json={}).status_code == 403
    Autopilot(lakebed.connect(tmp_path / "wh")).run_once()
    (job,) = client.get(PATH, params={"kind": "compact", "table": "db.orders"}).json()["jobs"]["items"]
    assert (job["state"], job["cost"] > 0, job["gain"] > 0) == ("succeeded", True, True)
    assert client.get(PATH, params={"state": "failed"}).json()["jobs"]["total"] == 0
    assert client.get(PATH, params={"kind": "nap"}).status_code == 422
    assert client.get(PATH.replace("demo", "nope")).status_code == 404


def test_pause_and_resume(serve: Serve, orders: lakebed.Table) -> None:
    client = serve(allow_actions=True)
    assert client.post(f"{PATH}/pause", json={}).json()["is_paused"] is True
    assert client.get(PATH).json()["is_paused"] is True
    assert client.post(f"{PATH}/resume", json={}).json()["is_paused"] is False
    assert client.post(f"{PATH}/resume", json={"now": True}).status_code == 422


def test_a_service_with_autopilot_looks_after_its_tables(serve: Serve, orders: lakebed.Table) -> None:
    client = serve(autopilot=True)
    end = time.monotonic() + 60
    while not (items := client.get(PATH, params={"state": "succeeded"}).json()["jobs"]["items"]):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert items[0]["table"] == "db.orders"
    assert client.get(PATH).json()["owner"].startswith("process ")
    metrics = client.get("/metrics").text
    assert 'lakebed_autopilot_jobs_total{kind="compact",state="succeeded",warehouse="demo"} 1.0' in metrics
    assert 'lakebed_autopilot_bytes_total{warehouse="demo"}' in metrics


def test_settings_that_exclude_each_other(serve: Serve) -> None:
    with pytest.raises(lakebed.OptionError, match="autopilot and read_only"):
        serve(autopilot=True, read_only=True)


def test_the_interface_knows_every_kind_and_state() -> None:
    assert set(get_args(Kind)) == {str(kind) for kind in JobKind}
    assert set(get_args(State)) == {str(state) for state in JobState}
