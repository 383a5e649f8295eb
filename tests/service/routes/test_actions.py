"""Actions as jobs: dry runs change nothing, real ones do what the library does, one at a time for a table."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import TABLES, act, get, refused, sentence, wait

import lakebed
from lakebed.rows.keyed.keyed_compact import Compactor
from lakebed.service import Limits
from lakebed.service.jobs import Jobs, Outcome, Task
from lakebed.service.metrics import Metrics

ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("compact", {"full": True}),
    ("compact-manifests", {}),
    ("expire-snapshots", {"retain_max": 2}),
    ("create-tag", {"name": "new"}),
    ("drop-tag", {"name": "v1"}),
    ("delete-tag", {"name": "v1"}),
    ("create-branch", {"name": "fresh", "snapshot": 2}),
    ("drop-branch", {"name": "dev"}),
    ("delete-branch", {"name": "dev"}),
    ("rollback", {"snapshot": 4}),
]


@pytest.fixture
def acting(serve: Serve, warehouse: Path, tmp_path: Path) -> httpx.Client:
    shutil.copytree(warehouse, tmp_path / "wh", dirs_exist_ok=True)
    return serve(allow_actions=True)


@pytest.fixture
def table(tmp_path: Path, acting: httpx.Client) -> lakebed.Table:
    del acting
    found: lakebed.Table = lakebed.connect(tmp_path / "wh").table("db.orders")
    return found


def state_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".lakebed" not in path.parts
    }


@pytest.mark.parametrize(("action", "body"), ACTIONS)
def test_actions_are_refused_unless_they_are_allowed(client: httpx.Client, action: str, body: dict[str, Any]) -> None:
    message = sentence(client.post(f"{TABLES}/orders/actions/{action}", json=body), 403)
    assert "--allow-actions" in message
    sentence(client.post("/api/v1/jobs/x/cancel", json={}), 403)
    assert get(client, "/api/v1/jobs")["total"] == 0


@pytest.mark.parametrize("body", [{}, {"dry_run": True}])
def test_dry_runs_change_nothing(acting: httpx.Client, tmp_path: Path, body: dict[str, Any]) -> None:
    before = state_of(tmp_path / "wh")
    for action, more in ACTIONS:
        job = act(acting, "orders", action, **more, **body)
        assert (job["state"], job["dry_run"]) == ("succeeded", True), job
        assert job["summary"].startswith("would "), job
        assert job["arguments"].items() >= more.items()
    assert state_of(tmp_path / "wh") == before


def test_compact(acting: httpx.Client, table: lakebed.Table) -> None:
    planned = act(acting, "orders", "compact", full=True)
    assert (
        planned["result"].items() >= {"snapshot_id": None, "input_files": 2, "input_records": 2, "buckets": 1}.items()
    )
    done = act(acting, "orders", "compact", full=True, dry_run=False)
    (made, _) = table.compactions().compactions
    assert done["result"] == {**planned["result"], "snapshot_id": made.snapshot.id}
    assert made.input_files == 2
    assert made.input_bytes == planned["result"]["input_bytes"]
    assert done["progress"] == {"done": 1, "total": 1}
    assert act(acting, "orders", "compact", full=True)["summary"] == "nothing to compact"
    assert act(acting, "orders", "compact", full=True, dry_run=False)["result"]["snapshot_id"] is None


def test_compact_of_small_files(acting: httpx.Client, tmp_path: Path) -> None:
    events = lakebed.connect(tmp_path / "wh").table("db.events")
    rows = events.scan().to_arrow().sort_by("id")
    planned = act(acting, "events", "compact")
    assert (planned["result"]["input_files"], planned["result"]["buckets"]) == (7, 1)
    assert get(acting, f"{TABLES}/events/health")["verdict"] == "warning"
    done = act(acting, "events", "compact", dry_run=False)
    assert done["summary"].endswith("as snapshot 8")
    assert events.scan().plan().file_count == 1
    assert events.scan().to_arrow().sort_by("id") == rows
    assert get(acting, f"{TABLES}/events/health")["verdict"] == "ok"


def test_compact_of_some_partitions(acting: httpx.Client) -> None:
    assert act(acting, "orders", "compact", full=True, where="dt = '2025-01-02'")["summary"] == "nothing to compact"
    assert act(acting, "orders", "compact", full=True, where="dt = '2025-01-01'")["result"]["input_files"] == 2
    bad = act(acting, "orders", "compact", where="amount > 1")
    assert (bad["state"], bad["result"], bad["summary"]) == ("failed", None, None)
    assert "amount" in bad["error"]


def test_compact_manifests(acting: httpx.Client, table: lakebed.Table) -> None:
    planned = act(acting, "orders", "compact-manifests")["result"]
    done = act(acting, "orders", "compact-manifests", dry_run=False)["result"]
    assert done["snapshot_id"] == table.latest_snapshot().id == 11  # type: ignore[union-attr]
    assert done["before"] == planned["before"]
    assert done["after"]["manifests"] == planned["after"]["manifests"] == 1


def test_expire_snapshots(acting: httpx.Client, table: lakebed.Table) -> None:
    planned = act(acting, "orders", "expire-snapshots", retain_max=3, retain_min=1)["result"]
    done = act(acting, "orders", "expire-snapshots", retain_max=3, retain_min=1, dry_run=False)["result"]
    assert done == planned
    assert done["snapshots"] == [1, 2, 3, 4, 5, 6, 7]
    assert done["by_kind"]["snapshot"]["file_count"] == 7
    assert done["file_count"] == sum(kind["file_count"] for kind in done["by_kind"].values())
    assert [one.id for one in table.snapshots()] == [8, 9, 10]
    assert act(acting, "orders", "expire-snapshots", older_than="100 d")["summary"] == "no snapshots to expire"
    assert act(acting, "orders", "expire-snapshots", older_than="soon")["state"] == "failed"


def test_tags(acting: httpx.Client, table: lakebed.Table) -> None:
    made = act(acting, "orders", "create-tag", name="new", snapshot=5, time_retained="7 d", dry_run=False)
    assert made["result"] == {"name": "new", "snapshot_id": 5}
    assert table.tags()["new"].id == 5
    for dry_run in (True, False):
        again = act(acting, "orders", "create-tag", name="new", dry_run=dry_run)
        assert again["state"] == "failed"
        assert "already exists" in again["error"]
        for name in ("a/b", ".x", "..", "a\0b"):
            assert act(acting, "orders", "create-tag", name=name, dry_run=dry_run)["state"] == "failed"
        assert "99" in act(acting, "orders", "create-tag", name="x", snapshot=99, dry_run=dry_run)["error"]
        assert "nope" in act(acting, "orders", "drop-tag", name="nope", dry_run=dry_run)["error"]
    assert act(acting, "orders", "drop-tag", name="new", dry_run=False)["state"] == "succeeded"
    assert sorted(table.tags()) == ["v1"]


def test_branches(acting: httpx.Client, table: lakebed.Table) -> None:
    made = act(acting, "orders", "create-branch", name="b2", snapshot=5, dry_run=False)
    assert made["result"] == {"name": "b2", "snapshot_id": 5}
    assert table.branch("b2").latest_snapshot().id == 5  # type: ignore[union-attr]
    assert act(acting, "orders", "create-branch", name="b3", tag="v1", dry_run=False)["result"]["snapshot_id"] == 3
    for dry_run in (True, False):
        assert "already exists" in act(acting, "orders", "create-branch", name="b2", dry_run=dry_run)["error"]
        for name in ("main", "123", "a$b", "../x"):
            assert act(acting, "orders", "create-branch", name=name, dry_run=dry_run)["state"] == "failed"
        assert (
            act(acting, "orders", "create-branch", name="b4", tag="v1", snapshot=3, dry_run=dry_run)["state"]
            == "failed"
        )
        for name in ("main", "nope"):
            assert act(acting, "orders", "drop-branch", name=name, dry_run=dry_run)["state"] == "failed"
    assert act(acting, "orders", "drop-branch", name="b2", dry_run=False)["state"] == "succeeded"
    assert table.branches() == ["b3", "dev"]


def test_a_branch_that_the_table_reads_stays(acting: httpx.Client, table: lakebed.Table) -> None:
    table.alter(lakebed.changes.SetOption("scan.fallback-branch", "dev"))
    for dry_run in (True, False):
        assert "scan.fallback-branch" in act(acting, "orders", "drop-branch", name="dev", dry_run=dry_run)["error"]
    assert get(acting, f"{TABLES}/orders/branches")["items"][1]["role"] == "fallback"


def test_rollback(acting: httpx.Client, table: lakebed.Table) -> None:
    planned = act(acting, "orders", "rollback", snapshot=6)["result"]
    assert planned["removed_snapshots"] == [7, 8, 9, 10]
    assert act(acting, "orders", "rollback", snapshot=6, dry_run=False)["result"] == planned
    assert table.latest_snapshot().id == 6  # type: ignore[union-attr]
    assert act(acting, "orders", "rollback", tag="v1", dry_run=False)["result"]["snapshot_id"] == 3
    path = f"{TABLES}/orders/actions/rollback"
    sentence(acting.post(path, json={}), 400)
    sentence(acting.post(path, json={"snapshot": 1, "tag": "v1"}), 400)
    assert act(acting, "orders", "rollback", snapshot=99)["state"] == "failed"


def test_actions_on_a_branch(acting: httpx.Client, table: lakebed.Table) -> None:
    response = acting.post(
        f"{TABLES}/orders/actions/create-tag", params={"branch": "dev"}, json={"name": "d", "dry_run": False}
    )
    assert wait(acting, response.json()["id"])["branch"] == "dev"
    assert table.branch("dev").tags()["d"].id == 4
    assert "d" not in table.tags()


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("compact", {"dry_run": "maybe"}),
        ("compact", {"nope": 1}),
        ("compact", {"where": 3}),
        ("create-tag", {}),
        ("create-tag", {"name": ""}),
        ("create-tag", {"name": "x" * 256}),
        ("create-tag", {"name": "x", "snapshot": 0}),
        ("create-tag", {"name": "x", "snapshot": 2**70}),
        ("create-tag", {"name": "x", "snapshot": 1.5}),
        ("expire-snapshots", {"retain_max": 0}),
        ("expire-snapshots", {"retain_max": -1}),
        ("rollback", {"snapshot": "x"}),
    ],
)
def test_bad_arguments(acting: httpx.Client, action: str, body: dict[str, Any]) -> None:
    sentence(acting.post(f"{TABLES}/orders/actions/{action}", json=body), 422)
    assert get(acting, "/api/v1/jobs")["total"] == 0


def test_unknown_tables_and_actions(acting: httpx.Client) -> None:
    sentence(acting.post(f"{TABLES}/nope/actions/compact", json={}), 404)
    sentence(acting.post(f"{TABLES}/orders/actions/compact", params={"branch": "nope"}, json={}), 404)
    assert acting.post(f"{TABLES}/orders/actions/drop", json={}).status_code in {404, 405}


def test_the_list_of_jobs(acting: httpx.Client) -> None:
    first = act(acting, "orders", "create-tag", name="one")
    second = act(acting, "events", "compact")
    third = act(acting, "orders", "drop-tag", name="nope")
    page = get(acting, "/api/v1/jobs")
    assert page["items"] == [third, second, first]
    assert get(acting, "/api/v1/jobs", table="orders", state="failed")["items"] == [third]
    assert get(acting, "/api/v1/jobs", action="compact")["items"] == [second]
    assert get(acting, "/api/v1/jobs", limit=1, offset=1)["items"] == [second]
    assert get(acting, "/api/v1/jobs", warehouse="nope")["total"] == 0
    refused(acting, "/api/v1/jobs", 422, state="lost")
    refused(acting, "/api/v1/jobs/nope", 404)
    sentence(acting.post(f"/api/v1/jobs/{first['id']}/cancel", json={}), 409)
    assert first["created_millis"] <= first["started_millis"] <= first["finished_millis"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Compactions of buckets wait until the event is set."""
    go, run = threading.Event(), Compactor.run

    def waiting(self: Compactor, work: Any) -> Any:
        done = run(self, work)
        assert go.wait(20)
        return done

    monkeypatch.setattr(Compactor, "run", waiting)
    yield go
    go.set()


def start_slowly(client: httpx.Client) -> Any:
    response = client.post(f"{TABLES}/orders/actions/compact", json={"full": True, "dry_run": False})
    job = response.json()
    while job["state"] == "queued":
        job = get(client, f"/api/v1/jobs/{job['id']}")
    assert job["state"] == "running"
    return job


def test_one_job_at_a_time_for_a_table(acting: httpx.Client, slow: threading.Event) -> None:
    job = start_slowly(acting)
    message = sentence(acting.post(f"{TABLES}/orders/actions/create-tag", json={"name": "x"}), 409)
    assert job["id"] in message
    assert act(acting, "events", "create-tag", name="x")["state"] == "succeeded"  # another table need not wait
    assert get(acting, f"{TABLES}/orders")["snapshot_count"] == 10  # nor do reads
    slow.set()
    assert wait(acting, job["id"])["state"] == "succeeded"
    assert act(acting, "orders", "create-tag", name="x")["state"] == "succeeded"


def test_a_compaction_can_be_cancelled_and_leaves_nothing(
    acting: httpx.Client, slow: threading.Event, tmp_path: Path, table: lakebed.Table
) -> None:
    before = state_of(tmp_path / "wh")
    job = start_slowly(acting)
    assert job["can_cancel"]
    asked = acting.post(f"/api/v1/jobs/{job['id']}/cancel", json={})
    assert asked.status_code == 200
    assert not asked.json()["can_cancel"]
    sentence(acting.post(f"/api/v1/jobs/{job['id']}/cancel", json={}), 409)
    slow.set()
    ended = wait(acting, job["id"])
    assert (ended["state"], ended["result"], ended["error"]) == ("cancelled", None, None)
    assert state_of(tmp_path / "wh") == before
    assert table.latest_snapshot().id == 10  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------------- jobs alone


def task(work: Any, table: str = "t", *, can_stop: bool = False) -> Task:
    return Task("compact", "w", "d", table, "main", dry_run=False, arguments={}, work=work, can_stop=can_stop)


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs(Limits(jobs=3, workers=1), Metrics(list))
    yield made
    made.close()


def ended(jobs: Jobs, job_id: str) -> Any:
    end = time.monotonic() + 10
    while (job := jobs.get(job_id)).finished_millis is None:
        assert time.monotonic() < end
        time.sleep(0.002)
    return job


def test_only_the_last_jobs_are_kept(jobs: Jobs) -> None:
    made = [ended(jobs, jobs.start(task(lambda _: Outcome({}, "done"))).id) for _ in range(5)]
    assert [job.id for job in jobs.list(lambda _: True)] == [job.id for job in reversed(made[-3:])]
    with pytest.raises(lakebed.NotFoundError, match="only the last 3"):
        jobs.get(made[0].id)


def test_a_job_that_waits_can_be_cancelled(jobs: Jobs) -> None:
    go, ran = threading.Event(), []

    def first(_: Any) -> Outcome:
        go.wait(10)
        return Outcome({}, "done")

    running = jobs.start(task(first))
    waiting = jobs.start(task(lambda _: ran.append(1), "other"))
    assert jobs.get(waiting.id).state == "queued"
    assert jobs.cancel(waiting.id).state == "cancelled"
    go.set()
    assert ended(jobs, running.id).state == "succeeded"
    assert ran == []


def test_a_job_that_reports_nothing_runs_to_its_end(jobs: Jobs) -> None:
    go = threading.Event()

    def work(_: Any) -> Outcome:
        go.wait(10)
        return Outcome({"n": 1}, "done")

    job = jobs.start(task(work))
    while jobs.get(job.id).state == "queued":
        time.sleep(0.002)
    with pytest.raises(Exception, match="cannot be stopped"):
        jobs.cancel(job.id)
    go.set()
    assert ended(jobs, job.id).result == {"n": 1}


def test_a_fault_in_a_job_is_told_without_its_trace(jobs: Jobs) -> None:
    def work(_: Any) -> Outcome:
        raise ZeroDivisionError("secret")

    job = ended(jobs, jobs.start(task(work)).id)
    assert (job.state, job.error) == ("failed", "the job failed; see the log of the service")


def test_closing_stops_what_can_be_stopped(jobs: Jobs) -> None:
    begun = threading.Event()

    def work(report: Any) -> Outcome:
        begun.set()
        for number in range(10_000):
            report(number, 10_000)
            time.sleep(0.002)
        return Outcome({}, "done")

    running = jobs.start(task(work, can_stop=True))
    waiting = jobs.start(task(work, "other", can_stop=True))
    assert begun.wait(10)
    jobs.close()
    assert [jobs.get(job.id).state for job in (running, waiting)] == ["cancelled", "cancelled"]
    with pytest.raises(Exception, match="about to end"):
        jobs.start(task(work))
