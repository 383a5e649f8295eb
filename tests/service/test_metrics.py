"""Numbers for Prometheus, and the hook in the library that some come from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.conftest import Serve
from tests.service.running import TABLES, act, get

from lakebed.metadata.step_timings import observe, timed


def numbers(text: str) -> dict[tuple[str, ...], float]:
    """Every number under its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_happened_is_counted(serve: Serve, warehouse: Path, tmp_path: Path) -> None:
    shutil.copytree(warehouse, tmp_path / "wh", dirs_exist_ok=True)
    client = serve(allow_actions=True)
    get(client, f"{TABLES}/orders/snapshots", limit=4)
    get(client, f"{TABLES}/orders/snapshots", limit=4, offset=4)
    client.get(f"{TABLES}/nope/snapshots")
    get(client, f"{TABLES}/orders/rows")
    act(client, "events", "compact", dry_run=False)
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    found = numbers(response.text)
    route = "/api/v1/warehouses/{warehouse}/databases/{database}/tables/{table}/snapshots"
    assert found["lakebed_requests_total", "GET", route, "200"] == 2
    assert found["lakebed_requests_total", "GET", route, "404"] == 1
    assert found["lakebed_request_seconds_count", route] == 3
    assert found["lakebed_pages_total", "snapshots"] == 2
    assert found["lakebed_snapshots_scanned_total",] == 8
    assert found["lakebed_rows_previewed_total",] > 0
    assert found["lakebed_commit_seconds_count",] == 1
    assert found["lakebed_plan_seconds_count",] >= 1
    assert found["lakebed_read_seconds_count",] == 1
    assert found["lakebed_jobs_total", "compact", "succeeded"] == 1
    assert found["lakebed_jobs_active",] == 0
    assert found["lakebed_manifest_cache_requests_total", "memory"] > 0
    assert found["lakebed_manifest_cache_bytes",] > 0


def test_names_in_requests_make_no_new_numbers(serve: Serve) -> None:
    client = serve()
    for number in range(5):
        client.get(f"/api/v1/warehouses/w{number}/tables")
        client.get(f"/api/v1/x{number}")
        client.request(f"VERB{number}", "/api/v1/jobs")
    routes = {name[2] for name in numbers(client.get("/metrics").text) if name[0] == "lakebed_requests_total"}
    assert routes == {"/api/v1/warehouses/{warehouse}/tables", "/{path:path}", "other"}


def test_observers_are_told_until_they_stop() -> None:
    seen: list[tuple[str, float]] = []

    @timed("step")
    def step(value: int) -> int:
        if value < 0:
            raise ValueError("below zero")
        return value

    def broken(_: str, __: float) -> None:
        raise RuntimeError

    stop_broken, stop = observe(broken), observe(lambda name, seconds: seen.append((name, seconds)))
    try:
        assert step(3) == 3
        with pytest.raises(ValueError, match="below zero"):
            step(-1)
    finally:
        stop()
        stop_broken()
    step(4)
    assert [name for name, _ in seen] == ["step", "step"]
    assert all(seconds >= 0 for _, seconds in seen)


def test_a_service_that_ended_looks_no_more(serve: Serve, tmp_path: Path) -> None:
    from tests.service.running import running

    from lakebed.metadata import step_timings as module
    from lakebed.service import Settings

    del serve
    before = module._observers
    with running(Settings(warehouses={"demo": str(tmp_path)})):
        assert len(module._observers) == len(before) + 1
    assert module._observers == before
