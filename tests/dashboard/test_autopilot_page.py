"""The page of the autopilot: what it would do, what it did, pause and resume."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import Opened, Served
from tests.dashboard.contrast import CONTRASTS, LEAST_CONTRAST

import lakebed
from lakebed.autopilot import Autopilot
from lakebed.service import Settings


@pytest.fixture
def stocked(tmp_path: Path) -> lakebed.Lake:
    """A warehouse with a table of small files, and one that is left alone."""
    lake = lakebed.connect(tmp_path / "warehouse")
    lake.create_database("db")
    table = lake.create_table("db.stock", "id INT")
    for number in range(12):
        table.write([{"id": number}])
    lake.create_table("db.alone", "id BIGINT", options={"autopilot.enabled": False})
    return lake


def test_plan_and_jobs(opened: Opened, served: Served, stocked: lakebed.Lake) -> None:
    place = served(Settings(warehouses={"demo": stocked.warehouse}))
    page = opened("autopilot", at=place)
    plan, jobs = page.get_by_role("region", name="Plan"), page.get_by_role("region", name="Jobs")
    expect(plan.get_by_role("row").nth(1)).to_contain_text("12 files")
    expect(page.get_by_text("does not run")).to_be_visible()
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.get_by_text("1 table left alone").click()
    expect(page.get_by_text("'autopilot.enabled' is false")).to_be_visible()
    Autopilot(stocked).run_once()
    expect(jobs.get_by_role("row")).to_have_count(3)  # without a click: the page refreshes by itself
    expect(jobs.get_by_role("row").nth(2)).to_contain_text("succeeded")
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_text("Nothing to do")).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert [one for one in page.evaluate(CONTRASTS) if one[0] < LEAST_CONTRAST] == []
    jobs.get_by_role("link", name="db.stock").first.click()
    expect(page.get_by_role("heading", name="stock")).to_be_visible()


def test_pause_and_resume(opened: Opened, served: Served, stocked: lakebed.Lake) -> None:
    place = served(Settings(warehouses={"demo": stocked.warehouse}, allow_actions=True))
    page = opened("", at=place)
    page.get_by_role("link", name="Autopilot").click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("paused", exact=True)).to_be_visible()
    assert Autopilot(stocked).status().is_paused
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("paused", exact=True)).to_have_count(0)
    assert not Autopilot(stocked).status().is_paused


def test_a_narrow_page_and_the_choice_of_a_warehouse(
    opened: Opened, served: Served, stocked: lakebed.Lake, tmp_path: Path
) -> None:
    lakebed.connect(tmp_path / "other").create_database("db")
    warehouses = {"demo": stocked.warehouse, "other": str(tmp_path / "other")}
    page = opened("autopilot?warehouse=other", at=served(Settings(warehouses=warehouses)), width=390)
    expect(page.get_by_text("Nothing to do")).to_be_visible()
    page.get_by_label("Warehouse").select_option("demo")
    expect(page.get_by_role("region", name="Plan")).to_be_visible()
    assert page.url.endswith("#/autopilot?warehouse=demo")
    page.reload()
    expect(page.get_by_role("region", name="Plan")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
