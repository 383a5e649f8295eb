"""Actions: shown first as a dry run, then run as jobs; errors told; only where the service allows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.dashboard.conftest import Opened, Served

import lakebed
from lakebed.service import Settings

MAINTENANCE = "t/demo/db/stock/maintenance"


@pytest.fixture
def stock(tmp_path: Path) -> lakebed.Table:
    """A table of this test's own with four upserts and a tag."""
    lake = lakebed.connect(tmp_path / "warehouse")
    lake.create_database("db")
    table = lake.create_table("db.stock", "id INT, n INT", primary_key=["id"], options={"bucket": "1"})
    for number in range(4):
        table.write([{"id": number % 2, "n": number}])
    table.create_tag("v1", snapshot=2)
    return table


@pytest.fixture
def place(stock: lakebed.Table, tmp_path: Path, served: Served) -> str:
    """A service that may change it."""
    return served(Settings(warehouses={"demo": str(tmp_path / "warehouse")}, allow_actions=True))


def dry_run(page: Page) -> None:
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator(".outcome .job")).to_contain_text("dry run")
    expect(page.locator(".outcome .job")).to_contain_text("succeeded")


def test_a_compaction_is_shown_first_and_then_run(opened: Opened, place: str, stock: lakebed.Table) -> None:
    page = opened(MAINTENANCE, at=place)
    expect(page.get_by_text("No jobs", exact=True)).to_be_visible()
    page.get_by_label("Full").check()
    dry_run(page)
    assert stock.latest_snapshot().id == 4  # type: ignore[union-attr]
    page.get_by_role("button", name="Compact now").click()
    expect(page.locator(".outcome .job")).not_to_contain_text("dry run")
    expect(page.locator(".outcome .job")).to_contain_text("succeeded")
    assert stock.latest_snapshot().id == 5  # type: ignore[union-attr]
    expect(page.locator(".jobs .job")).to_have_count(2)
    page.get_by_role("tab", name="Overview").click()
    expect(page.locator(".tile").filter(has_text="Snapshots")).to_contain_text("5")
    page.get_by_role("link", name="Jobs").click()
    expect(page.locator(".jobs .job")).to_have_count(2)
    page.locator(".jobs .job").first.get_by_role("link", name="db.stock").click()
    expect(page.get_by_role("tab", name="Maintenance")).to_have_attribute("aria-selected", "true")


def test_an_overview_opened_before_the_answer_is_drawn_again(opened: Opened, place: str, stock: lakebed.Table) -> None:
    """After an action the page asks for the table again; the reader may open the overview before the answer comes."""
    page = opened(MAINTENANCE, at=place)
    page.get_by_label("Full").check()
    dry_run(page)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/tables/stock", hold)
    page.get_by_role("button", name="Compact now").click()
    expect(page.locator(".outcome .job")).not_to_contain_text("dry run")
    expect(page.locator(".outcome .job")).to_contain_text("succeeded")
    page.get_by_role("tab", name="Overview").click()
    expect(page.locator(".tile").filter(has_text="Snapshots")).to_contain_text("4")
    for route in held:
        route.continue_()
    page.unroute("**/tables/stock")
    expect(page.locator(".tile").filter(has_text="Snapshots")).to_contain_text("5")
    expect(page.get_by_role("tab", name="Overview")).to_have_attribute("aria-selected", "true")


def test_what_was_shown_is_what_is_run(opened: Opened, place: str, stock: lakebed.Table) -> None:
    page = opened(f"{MAINTENANCE}?action=expire-snapshots", at=place)
    page.get_by_label("Keep at most").fill("2")
    page.get_by_label("Keep at least").fill("1")
    dry_run(page)
    expect(page.get_by_role("button", name="Expire now")).to_be_visible()
    page.get_by_label("Keep at most").fill("3")
    expect(page.get_by_role("button", name="Expire now")).to_have_count(0)
    dry_run(page)
    page.get_by_role("button", name="Expire now").click()
    expect(page.locator(".jobs .job")).to_have_count(3)
    expect(page.locator(".outcome .job")).to_contain_text("succeeded")
    assert [one.id for one in stock.snapshots()] == [2, 3, 4]


@pytest.mark.parametrize("action", ["create-tag", "create-branch"])
def test_names_are_made_and_taken_away(opened: Opened, place: str, stock: lakebed.Table, action: str) -> None:
    noun = action.removeprefix("create-")
    page = opened(f"{MAINTENANCE}?action={action}", at=place)
    page.get_by_label("Name").fill("fresh")
    dry_run(page)
    page.get_by_role("button", name="Create now").click()
    expect(page.locator(".jobs .job")).to_have_count(2)
    assert "fresh" in (stock.tags() if noun == "tag" else stock.branches())
    page.get_by_label("Action", exact=True).select_option(f"drop-{noun}")
    page.get_by_label("Name").fill("fresh")
    dry_run(page)
    page.get_by_role("button", name="Delete now").click()
    expect(page.locator(".jobs .job")).to_have_count(4)
    expect(page.locator(".outcome .job")).to_contain_text("succeeded")
    assert "fresh" not in (stock.tags() if noun == "tag" else stock.branches())


def test_rolling_back_and_compacting_manifests(opened: Opened, place: str, stock: lakebed.Table) -> None:
    page = opened(f"{MAINTENANCE}?action=compact-manifests", at=place)
    dry_run(page)
    page.get_by_label("Action", exact=True).select_option("rollback")
    page.get_by_label("To snapshot").fill("3")
    dry_run(page)
    page.get_by_role("button", name="Roll back now").click()
    expect(page.locator(".jobs .job")).to_have_count(3)
    expect(page.locator(".outcome .job")).to_contain_text("succeeded")
    assert stock.latest_snapshot().id == 3  # type: ignore[union-attr]


def test_a_chain_is_compacted_from_its_tab_and_its_changes_are_dropped(
    opened: Opened, tmp_path: Path, served: Served
) -> None:
    lake = lakebed.connect(tmp_path / "warehouse")
    lake.create_database("db")
    keys = {"partition_by": ["dt"], "primary_key": ["dt", "id"]}
    daily = lake.create_table("db.daily", "id INT, dt STRING", **keys, options={"bucket": "1"})  # type: ignore[arg-type]
    lake.create_table("db.plain", "id INT")
    daily.enable_chain(timestamp_pattern="$dt", timestamp_formatter="yyyyMMdd")
    full, delta = (daily.branch(name) for name in daily.data_branches())
    full.write([{"id": 1, "dt": "20250101"}])
    for day in (2, 3):
        delta.write([{"id": day, "dt": f"2025010{day}"}])
    place = served(Settings(warehouses={"demo": str(tmp_path / "warehouse")}, allow_actions=True))
    page = opened("t/demo/db/daily/chain", at=place)
    page.locator("button.day").nth(2).click()
    page.locator(".chain-details").get_by_role("link", name="Build a full partition").click()
    expect(page.get_by_label("Only where")).to_have_value("dt = '20250103'")
    dry_run(page)
    expect(page.locator(".outcome .job")).to_contain_text("would build 1 full partition (dt=20250103)")
    assert full.count() == 1
    page.get_by_role("button", name="Build now").click()
    expect(page.locator(".outcome .job")).to_contain_text("built 1 full partition (dt=20250103)")
    assert full.count() == 4
    page.get_by_label("Action", exact=True).select_option("expire-changes")
    page.get_by_label("Days before").fill("2025-01-04")
    dry_run(page)
    expect(page.locator(".outcome .job")).to_contain_text("without a view from then on: dt=20250102")
    page.get_by_role("button", name="Drop now").click()
    expect(page.locator(".outcome .job")).to_contain_text("dropped the changes of 2 partitions")
    assert delta.count() == 0
    page.get_by_role("tab", name="Chain").click()
    expect(page.locator("button.day")).to_have_count(2)
    page = opened("t/demo/db/plain/maintenance?action=compact-chain", at=place)
    expect(page.get_by_label("Action", exact=True)).to_have_value("compact")
    expect(page.get_by_label("Action", exact=True).locator("option[value=compact-chain]")).to_have_count(0)


def test_what_cannot_be_done_is_told(opened: Opened, place: str) -> None:
    page = opened(f"{MAINTENANCE}?action=drop-tag", at=place, may_fail="40")
    page.get_by_label("Name").fill("nobody")
    page.get_by_role("button", name="Show the plan").click()
    expect(page.locator(".outcome").get_by_role("alert")).to_contain_text("nobody")
    expect(page.get_by_role("button", name="Delete now")).to_have_count(0)


def test_progress_is_shown_and_a_job_can_be_stopped(opened: Opened, place: str) -> None:
    cancelled: list[str] = []
    job: dict[str, Any] = {
        "id": "j1",
        "action": "compact",
        "warehouse": "demo",
        "database": "db",
        "table": "stock",
        "branch": "main",
    }
    job |= {"dry_run": False, "arguments": {}, "state": "running", "created_millis": 1, "started_millis": 1}
    job |= {"finished_millis": None, "progress": {"done": 3, "total": 8}, "can_cancel": True}
    job |= {"summary": None, "result": None, "error": None}

    def listed(route: Route) -> None:
        state = {"state": "cancelled", "finished_millis": 5} if cancelled else {}
        route.fulfill(json={"items": [{**job, **state}], "total": 1, "offset": 0, "limit": 50, "next_offset": None})

    def stop(route: Route) -> None:
        cancelled.append(route.request.url)
        route.fulfill(json={**job, "state": "cancelled"})

    def prepare(page: Page) -> None:
        page.route("**/api/v1/jobs?*", listed)
        page.route("**/api/v1/jobs/j1/cancel", stop)

    page = opened(MAINTENANCE, at=place, prepare=prepare)
    expect(page.locator(".jobs progress")).to_have_attribute("max", "8")
    expect(page.locator(".jobs .job")).to_contain_text("3 of 8")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".jobs .job")).to_contain_text("cancelled")
    expect(page.locator(".jobs progress")).to_have_count(0)
    assert len(cancelled) == 1


def test_health_leads_to_the_action_that_helps(opened: Opened, place: str, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "warehouse")
    small = lake.create_table("db.small", "id INT")
    for number in range(6):
        small.write([{"id": number}])
    page = opened("t/demo/db/small", at=place)
    page.get_by_role("link", name="compact", exact=True).click()
    expect(page.get_by_label("Action", exact=True)).to_have_value("compact")
