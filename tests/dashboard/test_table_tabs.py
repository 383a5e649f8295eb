"""The other tabs of a table on real data: what they show, their links, keys, what they say when there is nothing."""

from __future__ import annotations

import datetime as dt
import re

from playwright.sync_api import Page, Route, expect
from tests.dashboard.conftest import Opened
from tests.dashboard.warehouse import CHAIN_DAYS, FULL_DAYS

ORDERS = "t/demo/shop/orders"
ROWS = ".long-body .long-row"
TABS = ["Overview", "Snapshots", "Compactions", "Files & levels", "Partitions", "Branches & tags", "Diff", "Rows", "Options"]  # fmt: skip
NOTHING = {
    "snapshots": "No snapshots",
    "compactions": "No compactions",
    "files": "No files",
    "branches": "No tags",
    "diff": "Nothing to compare",
    "rows": "No rows",
    "options": "No options are set",
    "chain": "This is not a chain table",
    "maintenance": "This service is read-only",
    "nonsense": "Tab not found",
}
CHAIN = "**/tables/daily/chain?*"


def tab(page: Page, name: str) -> None:
    """Wait until a tab is the one that is shown, and has what it shows."""
    expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)


def test_tabs_are_walked_with_arrow_keys_and_back_with_the_back_button(opened: Opened) -> None:
    page = opened(ORDERS)
    expect(page.get_by_role("tab")).to_have_text(
        TABS
    )  # no maintenance: the service is read-only; no chain: it is not a chain table
    page.get_by_role("tab", name="Overview").focus()
    for name in TABS[1:]:
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=name)).to_be_focused()
        tab(page, name)
    page.keyboard.press("ArrowRight")
    tab(page, "Overview")
    page.keyboard.press("End")
    tab(page, "Options")
    assert page.locator("[role=tab][tabindex='0']").count() == 1
    page.go_back()
    tab(page, "Overview")
    page.reload()
    tab(page, "Overview")


def test_overview_says_what_the_table_is_and_how_it_does(opened: Opened) -> None:
    page = opened(ORDERS)
    panel = page.get_by_role("tabpanel")
    expect(page.get_by_text("What customers ordered")).to_be_visible()
    expect(panel.locator(".tile").filter(has_text="Snapshots")).to_contain_text("16")
    expect(panel.locator(".health-item")).to_have_count(7)
    expect(panel.locator(".facts")).to_contain_text("dt, id")
    expect(panel.get_by_role("region", name="Columns").locator("tbody tr")).to_have_count(5)
    expect(panel.locator(".history")).to_contain_text("column channel STRING")
    panel.locator(".tile").filter(has_text="Rows").click()
    tab(page, "Rows")


def test_a_branch_is_chosen_and_stays_chosen(opened: Opened) -> None:
    page = opened(ORDERS)
    page.get_by_label("Branch").select_option("dev")
    expect(page.locator(".tile").filter(has_text="Snapshots")).to_contain_text("4")
    page.get_by_role("tab", name="Snapshots").click()
    expect(page.locator(ROWS)).to_have_count(4)
    expect(page).to_have_url(re.compile("branch=dev"))
    page.get_by_label("Branch").select_option("main")
    expect(page.locator(ROWS)).to_have_count(16)
    page.go_back()
    expect(page.locator(ROWS)).to_have_count(4)


def test_levels_are_drawn_by_bucket_to_scale_and_lead_to_files(opened: Opened) -> None:
    page = opened(f"{ORDERS}/files")
    cards = page.locator(".bucket-card")
    expect(cards).to_have_count(6)
    expect(cards.first.locator(".lane")).to_have_count(5)
    assert _bars_are_to_scale(page)
    cards.first.click()
    expect(page.get_by_role("heading", name="Bucket 0 of dt=2026-11-01")).to_be_visible()
    blocks = page.locator(".file-block").count()
    expect(page.locator(ROWS)).to_have_count(blocks)
    page.get_by_label("Sorted by").select_option("-size")
    expect(page).to_have_url(re.compile("sort=-size"))
    expect(page.locator(f"{ROWS} .level").first).to_have_text("L4")
    page.get_by_role("link", name="All buckets").click()
    expect(cards).to_have_count(6)


def _bars_are_to_scale(page: Page) -> bool:
    """Whether bytes per pixel are the same in every bar that is wide enough to tell."""
    bars = page.locator(".lane:has(.lane-bar)").evaluate_all(
        "lanes => lanes.map(lane => [lane.title, lane.querySelector('.lane-bar').getBoundingClientRect().width])"
    )
    scales = [float(re.search(r"([\d,]+) bytes", title)[1].replace(",", "")) / width for title, width in bars if width > 30]  # type: ignore[index]  # fmt: skip
    return len(scales) > 5 and max(scales) / min(scales) < 1.05


def test_files_of_an_older_snapshot(opened: Opened) -> None:
    page = opened(f"{ORDERS}/files?version=1")
    expect(page.locator(".notice")).to_contain_text("As of snapshot 1")
    expect(page.locator(ROWS)).to_have_count(6)
    page.get_by_role("link", name="Show the latest snapshot").click()
    expect(page.locator(ROWS)).not_to_have_count(6)


def test_partitions_are_searched_and_lead_to_their_files(opened: Opened) -> None:
    page = opened(f"{ORDERS}/partitions")
    expect(page.locator(ROWS)).to_have_count(3)
    page.get_by_label("Search").fill("11-02")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page).to_have_url(re.compile("search=11-02"))
    page.get_by_role("link", name="dt=2026-11-02").click()
    tab(page, "Files & levels")
    expect(page.locator(".bucket-card")).to_have_count(2)


def test_partitions_of_a_chain_lead_to_files_of_the_branch_that_has_them(opened: Opened) -> None:
    page = opened("t/demo/lab/daily/partitions?search=eu/date=2026100")
    expect(page.locator(".summary")).to_contain_text("9 partitions")
    page.get_by_role("link", name="region=eu/date=20261002").click()
    tab(page, "Files & levels")
    expect(page).to_have_url(re.compile("branch=delta"))
    expect(page.locator(".bucket-card")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="region=eu/date=20261001").click()
    page.wait_for_url("**branch=snapshot**")


def test_a_table_without_partitions_says_so(opened: Opened) -> None:
    page = opened("t/demo/shop/events/partitions")
    expect(page.get_by_text("This table has no partitions")).to_be_visible()
    expect(page.get_by_role("tab", name="Partitions")).to_have_count(0)


def test_branches_and_tags_are_a_graph_and_lists(opened: Opened) -> None:
    page = opened(f"{ORDERS}/branches")
    graph = page.locator("svg.graph")
    expect(graph).to_have_attribute("aria-label", "2 branches and 2 tags from snapshot 1 to 19")
    expect(graph.locator(".fork")).to_have_count(1)
    expect(graph.locator(".flag text")).to_have_text(["before-compaction", "v1"])
    expect(page.get_by_role("region", name="Branches").locator("tbody tr")).to_have_count(2)
    page.get_by_role("region", name="Tags").get_by_role("row", name="before-compaction").get_by_role(
        "link", name="Compare with latest"
    ).click()
    tab(page, "Diff")
    expect(page.get_by_label("From")).to_have_value("before-compaction")
    expect(page.locator(".changes")).to_contain_text("column channel STRING")


def test_diff_shows_schema_files_and_rows_both_ways(opened: Opened) -> None:
    page = opened("t/demo/shop/events/diff?before=2&after=3")
    expect(page.get_by_text("The schemas are equal.")).to_be_visible()
    expect(page.get_by_text("Added: 1 file")).to_be_visible()
    expect(page.get_by_role("region", name="Added rows")).to_contain_text("event 2")
    page.get_by_role("button", name="Swap").click()
    expect(page.get_by_role("region", name="Removed rows")).to_contain_text("event 2")
    expect(page.get_by_label("From")).to_have_value("3")
    page.get_by_label("From").fill("1")
    page.get_by_label("From").press("Enter")
    expect(page.get_by_role("region", name="Added rows").locator("tbody tr")).to_have_count(1)
    page.go_back()
    expect(page.get_by_role("region", name="Removed rows")).to_be_visible()


def test_a_diff_with_what_is_not_there_is_told(opened: Opened) -> None:
    page = opened("t/demo/shop/events/diff?before=2&after=77", may_fail="404")
    expect(page.get_by_role("alert")).to_contain_text("77")


def test_rows_as_of_a_snapshot_by_columns_and_condition(opened: Opened) -> None:
    page = opened("t/demo/shop/events/rows")
    rows = page.get_by_role("region", name="Rows").locator("tbody tr")
    expect(rows).to_have_count(6)
    page.get_by_label("Where", exact=True).fill("id >= 2 AND name <> 'event 4'")
    page.get_by_label("Columns").fill("name")
    page.get_by_label("Where", exact=True).press("Enter")
    expect(rows).to_have_text(["event 2", "event 3", "event 5"])
    page.get_by_label("As of").fill("4")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_text(["event 2", "event 3"])
    page.reload()
    expect(rows).to_have_text(["event 2", "event 3"])


def test_a_condition_that_is_wrong_is_told(opened: Opened) -> None:
    page = opened("t/demo/shop/events/rows?where=nobody%20%3D%201", may_fail="40")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    expect(page.get_by_label("Where", exact=True)).to_have_value("nobody = 1")


def test_options_with_their_meaning(opened: Opened) -> None:
    page = opened(f"{ORDERS}/options")
    rows = page.get_by_role("region", name="Options").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Number of buckets")
    page.get_by_label("Show options that are not set").check()
    expect(rows.nth(50)).to_be_attached()
    page.get_by_label("Search").fill("snapshot.num-retained.max")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("not set")


def test_an_empty_table_says_so_in_every_tab(opened: Opened) -> None:
    page = opened("t/demo/shop/empty")
    expect(page.get_by_role("tab")).not_to_have_count(0)
    for where, words in NOTHING.items():
        page.evaluate("where => { location.hash = `#/t/demo/shop/empty/${where}` }", where)
        expect(page.get_by_text(words, exact=True)).to_be_visible()


def test_a_chain_is_a_calendar_of_each_group(opened: Opened) -> None:
    page = opened("t/demo/lab/daily/chain", prepare=lambda page: page.route(CHAIN, _chain))
    strips = page.locator(".strip")
    expect(strips).to_have_count(2)
    eu = strips.first
    expect(eu.get_by_role("heading")).to_have_text("region=eu")
    expect(page.locator(".chain-summary")).to_contain_text(
        "Newest full partitionregion=eu/date=20261026, 23 days ago (of 2 groups the one furthest behind)"
    )
    expect(page.locator(".chain-summary")).to_contain_text("Stale2 full partitions")
    expect(page.locator(".chain-summary")).to_contain_text("Deepest read39 deltas")
    expect(page.locator(".chain-summary")).to_contain_text("about 2.0 KiB")
    expect(eu.locator(".section-head")).to_contain_text(re.compile(r"newest full partition .+"))
    expect(eu.locator(".month-name")).to_have_text(["2026-10", "2026-11"])
    expect(eu.locator("button.day")).to_have_count(39)
    expect(eu.locator(".day-gap")).to_have_count(1)
    expect(eu.locator(".day-gap")).to_have_attribute("title", re.compile("2026-10-21"))
    expect(eu.locator("button.day-stale")).to_have_count(1)
    expect(eu.locator("button.day-full")).to_have_count(2)
    days = eu.locator("button.day")
    expect(days.nth(3)).to_have_text("3")
    days.nth(3).click()
    expect(page.locator(".chain-details")).to_contain_text("3 deltas on top of the full partition")
    page.keyboard.press("ArrowRight")
    expect(days.nth(4)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".chain-details")).to_contain_text("region=eu/date=20261005")


def test_a_chain_as_the_service_tells_it(opened: Opened) -> None:
    page = opened("t/demo/lab/daily")
    page.get_by_role("tab", name="Chain").click()
    us = page.locator(".strip").nth(1)
    expect(us.get_by_role("heading")).to_have_text("region=us")
    expect(us.locator("button.day")).to_have_count(CHAIN_DAYS - 1)
    expect(us.locator(".day-gap")).to_have_count(1)
    expect(us.locator("button.day-full-delta")).to_have_count(len(FULL_DAYS))
    us.locator("button.day").first.click()
    expect(page.locator(".chain-details")).to_contain_text("itself")
    us.locator("button.day").nth(2).click()
    expect(page.locator(".chain-details")).to_contain_text("2 deltas on top of the full partition")
    page.locator(".chain-details").get_by_role("link", name="Rows").click()
    expect(page.get_by_role("region", name="Rows").locator("tbody tr")).to_have_count(3)


def _chain(route: Route) -> None:
    """Forty days of two regions from the first of October: full every 20 days, one stale, one that nobody wrote."""
    items = [
        {
            "partition": f"region={region}/date={f'202610{day + 1:02d}' if day < 31 else f'202611{day - 30:02d}'}",
            "group": f"region={region}",
            "kind": "stale" if day == 30 else "full" if day in {0, 25} else "delta",
            "anchor": f"region={region}/date=20261001",
            "depth": 0 if day in {0, 25, 30} else day,
            "file_count": 1,
            "byte_count": 1000,
            "is_stale": day == 30,
            "time_millis": round(dt.datetime(2026, 10, 1).timestamp() * 1000) + day * 86_400_000,
            "bytes_saved": 500 if day in {1, 2} else 0,
        }
        for region in ("eu", "us")
        for day in range(40)
        if day != 20
    ]
    facts = {"is_chain": True, "full_branch": "snapshot", "delta_branch": "delta"}
    keys = {"group_keys": ["region"], "chain_keys": ["date"]}
    summary = {
        "newest_full": "region=eu/date=20261026",
        "newest_full_age_millis": 23 * 86_400_000 + 1,
        "group_count": 2,
        "groups_without_full": 0,
        "stale_count": 2,
        "deepest": 39,
        "bytes_saved": 2048,
    }
    facts["summary"] = summary
    route.fulfill(json={**facts, **keys, "items": items, "total": 78, "offset": 0, "limit": 1000, "next_offset": None})
