"""Actions on chain tables over HTTP: building full partitions, and dropping changes that they hold."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import TABLES, act, get, sentence

import lakebed
from lakebed import changes

DAILY = f"{TABLES}/daily"
DAYS = [f"dt=2025010{day}" for day in range(1, 6)]


@pytest.fixture
def daily(tmp_path: Path) -> lakebed.Table:
    """A full partition, and four days of changes after it."""
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    schema, keys = "id INT, n INT, dt STRING", {"partition_by": ["dt"], "primary_key": ["dt", "id"]}
    table = lake.create_table("db.daily", schema, **keys, options={"bucket": "1"})  # type: ignore[arg-type]
    lake.create_table("db.plain", "id INT").write([{"id": 1}])
    table.enable_chain(timestamp_pattern="$dt", timestamp_formatter="yyyyMMdd")
    full, delta = (table.branch(name) for name in table.data_branches())
    full.write([{"id": 1, "n": 1, "dt": "20250101"}])
    for day in range(2, 6):
        delta.write([{"id": day, "n": day, "dt": f"2025010{day}"}])
    found: lakebed.Table = lake.table("db.daily")
    return found


@pytest.fixture
def acting(serve: Serve, daily: lakebed.Table) -> httpx.Client:
    del daily
    return serve(allow_actions=True)


def ids(table: lakebed.Table) -> dict[str, list[int]]:
    """The rows of the view of each day."""
    found: dict[str, list[int]] = {}
    for row in table.scan(["id", "dt"]).to_arrow().sort_by("id").to_pylist():
        found.setdefault(f"dt={row['dt']}", []).append(row["id"])
    return found


def kinds(client: httpx.Client) -> dict[str, str]:
    return {one["partition"]: one["kind"] for one in get(client, f"{DAILY}/chain")["items"]}


@pytest.mark.parametrize(
    "asked",
    [
        {"partition": {"dt": "20250103"}},
        {"where": "dt = '20250103'"},
        {"where": "dt <= '20250104'", "depth": 2},
        {"where": "dt <= '20250103'", "age": "2 d"},
        {"where": "dt = '20250103'", "bytes": "1 b"},
    ],
)
def test_full_partitions_are_built(acting: httpx.Client, daily: lakebed.Table, asked: dict[str, Any]) -> None:
    before, views = kinds(acting), ids(daily)
    planned = act(acting, "daily", "compact-chain", **asked)
    assert (planned["state"], planned["dry_run"], kinds(acting)) == ("succeeded", True, before)
    (one,) = planned["result"]["built"]
    assert (one["partition"], one["anchor"], one["depth"]) == ("dt=20250103", "dt=20250101", 2)
    assert (one["record_count"], one["snapshot_id"]) == (None, None)
    assert planned["summary"].startswith("would build 1 full partition (dt=20250103) from ")
    done = act(acting, "daily", "compact-chain", **asked, dry_run=False)
    (built,) = done["result"]["built"]
    assert (built["record_count"], built["snapshot_id"]) == (3, 2)
    assert built["bytes_written"] > 0
    assert {**built, "record_count": None, "bytes_written": None, "snapshot_id": None} == one
    assert done["summary"].startswith("built 1 full partition (dt=20250103) from ")
    assert kinds(acting) == {**before, "dt=20250103": "full+delta"}
    assert ids(daily) == views
    assert get(acting, "/api/v1/jobs", action="compact-chain")["total"] == 2


def test_nothing_to_build_is_told_with_the_reason(acting: httpx.Client) -> None:
    found = act(acting, "daily", "compact-chain", partition={"dt": "20250101"}, dry_run=False)
    assert found["result"]["built"] == []
    assert found["summary"] == (
        "nothing to build; dt=20250101: it is full, and has no changes of its own to build from"
    )
    assert found["result"]["skipped"][0]["partition"] == "dt=20250101"
    assert act(acting, "daily", "compact-chain", depth=9)["summary"] == "nothing to build"


def test_what_exists_is_rebuilt_only_if_asked(acting: httpx.Client, daily: lakebed.Table) -> None:
    daily.compact_chain({"dt": "20250103"})
    assert "it is full already" in act(acting, "daily", "compact-chain", partition={"dt": "20250103"})["summary"]
    done = act(acting, "daily", "compact-chain", partition={"dt": "20250103"}, overwrite=True, dry_run=False)
    assert [one["partition"] for one in done["result"]["built"]] == ["dt=20250103"]
    daily.branch(daily.data_branches()[1]).overwrite([{"id": 7, "n": 7, "dt": "20250102"}])
    (item,) = [one for one in get(acting, f"{DAILY}/health")["items"] if one["name"] == "chain"]
    assert (item["verdict"], item["action"]) == ("warning", "compact-chain")
    assert act(acting, "daily", item["action"], where="dt = '20250103'", dry_run=False)["state"] == "succeeded"
    assert ids(daily)["dt=20250103"] == [1, 3, 7]
    (item,) = [one for one in get(acting, f"{DAILY}/health")["items"] if one["name"] == "chain"]
    assert item["verdict"] == "ok"


def test_changes_that_full_partitions_hold_are_dropped(acting: httpx.Client, daily: lakebed.Table) -> None:
    daily.compact_chain({"dt": "20250104"})
    views, delta = ids(daily), daily.branch(daily.data_branches()[1])
    size = delta.scan(where="dt < '20250105'").plan().byte_count
    planned = act(acting, "daily", "expire-changes", before="2025-01-05")
    assert (planned["dry_run"], ids(daily), delta.count()) == (True, views, 4)
    assert planned["result"] == {
        "snapshot_id": None,
        "partitions": DAYS[1:4],
        "without_view": DAYS[1:3],
        "kept": [],
        "file_count": 3,
        "byte_count": size,
    }
    assert planned["summary"].startswith("would drop the changes of 3 partitions (3 files, ")
    assert planned["summary"].endswith("without a view from then on: dt=20250102, dt=20250103")
    done = act(acting, "daily", "expire-changes", before="2025-01-05", dry_run=False)
    assert done["result"] == {**planned["result"], "snapshot_id": 5}
    assert done["summary"].startswith("dropped the changes of 3 partitions")
    assert ids(daily) == {day: rows for day, rows in views.items() if day not in DAYS[1:3]}
    again = act(acting, "daily", "expire-changes", before="1 d")
    assert again["summary"] == "no changes to drop; kept those of dt=20250105"
    assert again["result"]["kept"] == [{"partition": "dt=20250105", "reason": "later days are merged from it"}]


def test_the_option_says_how_long_changes_are_kept(acting: httpx.Client, daily: lakebed.Table) -> None:
    daily.compact_chain({"dt": "20250104"})
    daily.alter(changes.SetOption("chain-table.changes.time-retained", "30 d"))
    done = act(acting, "daily", "expire-changes", dry_run=False)
    assert done["result"]["partitions"] == DAYS[1:4]
    assert done["result"]["kept"] == [{"partition": DAYS[4], "reason": "later days are merged from it"}]


def test_both_work_on_any_branch_of_the_table(acting: httpx.Client, daily: lakebed.Table) -> None:
    for branch in daily.data_branches():
        asked = {"partition": {"dt": "20250103"}, "dry_run": False, "overwrite": True}
        response = acting.post(f"{DAILY}/actions/compact-chain", params={"branch": branch}, json=asked)
        job = response.json()
        while job["state"] in {"queued", "running"}:
            time.sleep(0.01)
            job = get(acting, f"/api/v1/jobs/{job['id']}")
        assert (job["state"], job["branch"]) == ("succeeded", branch), job
    assert kinds(acting)["dt=20250103"] == "full+delta"


@pytest.mark.parametrize(
    ("action", "body", "status", "words"),
    [
        ("compact-chain", {}, 400, "at least one of partition, where, depth, bytes and age"),
        ("compact-chain", {"overwrite": True}, 400, "at least one of"),
        ("compact-chain", {"depth": 0}, 422, "depth"),
        ("compact-chain", {"partition": "dt=20250103"}, 422, "partition"),
        ("expire-changes", {"before": ""}, 422, "before"),
    ],
)
def test_incomplete_requests_are_refused(
    acting: httpx.Client, action: str, body: dict[str, Any], status: int, words: str
) -> None:
    assert words in sentence(acting.post(f"{DAILY}/actions/{action}", json=body), status)
    assert get(acting, "/api/v1/jobs")["total"] == 0


@pytest.mark.parametrize(
    ("table", "action", "body", "words"),
    [
        ("plain", "compact-chain", {"depth": 3}, "chain table"),
        ("plain", "expire-changes", {"before": "3 d"}, "chain table"),
        ("daily", "compact-chain", {"age": "soon"}, "age"),
        ("daily", "compact-chain", {"bytes": "much"}, "a size"),
        ("daily", "compact-chain", {"partition": {"day": "20250103"}}, "day"),
        ("daily", "compact-chain", {"where": "n > 3"}, "n"),
        ("daily", "expire-changes", {"before": "soon"}, "before"),
        ("daily", "expire-changes", {}, "chain-table.changes.time-retained"),
    ],
)
def test_requests_that_do_not_fit_the_table_fail(
    acting: httpx.Client, table: str, action: str, body: dict[str, Any], words: str
) -> None:
    for dry_run in (True, False):
        job = act(acting, table, action, **body, dry_run=dry_run)
        assert (job["state"], job["result"]) == ("failed", None)
        assert words in job["error"]


def test_they_are_refused_unless_actions_are_allowed(serve: Serve, daily: lakebed.Table) -> None:
    del daily
    client = serve()
    for action, body in (("compact-chain", {"depth": 1}), ("expire-changes", {"before": "1 d"})):
        assert "--allow-actions" in sentence(client.post(f"{DAILY}/actions/{action}", json=body), 403)
