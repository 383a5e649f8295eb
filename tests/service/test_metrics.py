"""Numbers for Prometheus, and the hook in the library that some come from."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.conftest import Serve
from tests.service.running import TABLES, act, get

import lakebed
from lakebed.metadata.hash_indexes import HASH_CACHE
from lakebed.metadata.step_timings import observe, report, timed
from lakebed.service import metrics


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


def test_merges_of_chain_reads_are_counted(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    schema, keys = "id INT, n INT, dt STRING", {"partition_by": ["dt"], "primary_key": ["dt", "id"]}
    table = lake.create_table("db.daily", schema, **keys, options={"bucket": "1"})  # type: ignore[arg-type]
    table.enable_chain(timestamp_pattern="$dt", timestamp_formatter="yyyyMMdd")
    full, delta = (lake.table(f"db.daily$branch_{name}") for name in table.data_branches())
    full.write([{"id": number, "n": 1, "dt": "20250101"} for number in range(3)])
    delta.write([{"id": 1, "n": 2, "dt": "20250102"}])
    client = serve()
    get(client, f"{TABLES}/daily/rows", where="dt = '20250101'")
    assert numbers(client.get("/metrics").text)["lakebed_chain_merge_seconds_count",] == 0
    assert len(get(client, f"{TABLES}/daily/rows", where="dt = '20250102'")["rows"]) == 3
    found = numbers(client.get("/metrics").text)
    assert found["lakebed_chain_merge_seconds_count",] == 1
    assert found["lakebed_chain_merge_seconds_sum",] > 0
    assert found["lakebed_chain_merge_rows_total",] == 3
    assert (
        found["lakebed_chain_merge_bytes_total",]
        == lake.table("db.daily").scan(where="dt = '20250102'").plan().byte_count
    )


def test_merges_of_manifests_are_counted(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT", options={"manifest.merge-min-count": "4"})
    client = serve(allow_actions=True)
    for number in range(4):
        table.write([{"id": number}])
    before = manifest_sizes(lake)
    table.write([{"id": 4}])
    merged = {name: size for name, size in manifest_sizes(lake).items() if name not in before}
    found = numbers(client.get("/metrics").text)
    assert found["lakebed_manifest_merge_seconds_count",] == 1
    assert found["lakebed_manifest_merge_seconds_sum",] > 0
    assert found["lakebed_manifest_merge_manifests_total", "read"] == len(before) == 4
    assert found["lakebed_manifest_merge_manifests_total", "written"] == 1
    assert found["lakebed_manifest_merge_bytes_total", "read"] == sum(before.values())
    assert found["lakebed_manifest_merge_bytes_total", "written"] in merged.values()
    act(client, "t", "compact-manifests")
    assert numbers(client.get("/metrics").text)["lakebed_manifest_merge_seconds_count",] == 1, "a dry run merges none"
    act(client, "t", "compact-manifests", dry_run=False)
    found = numbers(client.get("/metrics").text)
    assert found["lakebed_manifest_merge_seconds_count",] == 2
    assert found["lakebed_manifest_merge_manifests_total", "read"] == 6


def manifest_sizes(lake: lakebed.Lake) -> dict[str, int]:
    listed = lake.system_table("db.t$manifests").scan().to_arrow()
    return dict(zip(listed["file_name"].to_pylist(), listed["file_size"].to_pylist(), strict=True))


def test_the_index_cache_is_counted_beside_the_manifest_cache(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    client = serve()
    before = numbers(client.get("/metrics").text)
    table = lake.create_table("db.d", "id INT, n INT", primary_key=["id"], options={"bucket": "-1"})
    table.write([{"id": 1, "n": 1}])
    table.write([{"id": 1, "n": 2}])
    HASH_CACHE.clear()
    table.write([{"id": 1, "n": 3}])
    found = numbers(client.get("/metrics").text)
    assert (
        found["lakebed_index_cache_requests_total", "memory"] > before["lakebed_index_cache_requests_total", "memory"]
    )
    assert found["lakebed_index_cache_requests_total", "file"] > before["lakebed_index_cache_requests_total", "file"]
    assert found["lakebed_index_cache_bytes",] > 0
    assert found["lakebed_index_cache_indexes",] == 1


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count reads and writes")
def test_the_process_is_measured(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve()
    before = numbers(client.get("/metrics").text)
    assert before["process_resident_memory_bytes",] > 1024**2
    assert 0 < before["process_open_fds",] <= before["process_max_fds",]
    assert 0 < before["process_start_time_seconds",] <= time.time()
    assert before["process_cpu_seconds_total",] > 0
    (tmp_path / "file").write_bytes(bytes(5_000_000))
    (tmp_path / "file").read_bytes()
    after = numbers(client.get("/metrics").text)
    for of in ("read", "written"):
        assert after["process_io_bytes_total", "calls", of] - before["process_io_bytes_total", "calls", of] >= 5_000_000
        assert after["process_io_bytes_total", "disk", of] >= 0
    monkeypatch.setattr(metrics, "PROCESS_IO", tmp_path / "nothing")
    found = numbers(client.get("/metrics").text)
    assert not [name for name in found if name[0] == "process_io_bytes_total"]
    assert found["lakebed_jobs_active",] == 0


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
        report("rows", 5)
    finally:
        stop()
        stop_broken()
    step(4)
    report("rows", 7)
    assert [name for name, _ in seen] == ["step", "step", "rows"]
    assert seen[-1] == ("rows", 5)
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
