"""Snapshots and compactions: the picture, filters, pages that come before they are needed, a million of them, one of
them.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, expect
from tests.dashboard.conftest import Opened
from tests.dashboard.warehouse import MANY

BUSY = "t/demo/lab/busy"
SNAPSHOTS = "**/tables/busy/snapshots?*"
ROWS = ".long-body .long-row"
MILLION = 1_000_000
PAGE = 100


def note_cursors(page: Page, cursors: list[str]) -> None:
    """Put down the cursor of each page of snapshots that is asked for; "" for the first."""

    def note(url: str) -> None:
        parts = urlsplit(url)
        if parts.path.endswith("/snapshots"):
            cursors.append(parse_qs(parts.query).get("cursor", [""])[0])

    page.on("request", lambda request: note(request.url))


def to_the_end(page: Page) -> None:
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")


def test_pages_come_one_ahead_and_only_rows_in_sight_are_elements(opened: Opened) -> None:
    cursors: list[str] = []
    page = opened(f"{BUSY}/snapshots", prepare=lambda page: note_cursors(page, cursors))
    expect(page.locator(".summary")).to_contain_text(f"100 of {MANY:,} loaded")
    expect(page.locator(ROWS).first).to_contain_text(f"{MANY}")
    page.wait_for_timeout(300)
    assert len(cursors) == 2  # the one shown, and the next
    for loaded in (200, 300, 400):
        to_the_end(page)
        expect(page.locator(".summary")).to_contain_text(f"{loaded} of {MANY:,} loaded")
    assert page.locator(ROWS).count() < 60
    assert len(set(cursors)) == len(cursors) <= 6
    assert page.locator("[role=table]").get_attribute("aria-rowcount") == str(MANY + 1)
    to_the_end(page)
    ids = [int(text) for text in page.locator(f"{ROWS} .id").all_inner_texts() if text]
    assert ids == list(range(ids[0], ids[0] - len(ids), -1))


def test_filters_are_in_the_address_and_back_takes_them_off(opened: Opened) -> None:
    page = opened(f"{BUSY}/snapshots")
    expect(page.locator(".summary")).to_contain_text(f"of {MANY:,} loaded")
    page.get_by_role("button", name="Compact").click()
    expect(page.locator(".summary")).to_contain_text("of 400 loaded")
    expect(page.get_by_role("button", name="Compact")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="Compact")).to_be_focused()
    expect(page).to_have_url(re.compile("kind=COMPACT"))
    assert set(page.locator(f"{ROWS} .kind").all_inner_texts()) == {"COMPACT"}
    page.get_by_label("User").fill("writer-0")
    page.get_by_label("User").press("Enter")
    expect(page.locator(".summary")).to_contain_text("of 133 loaded")
    page.go_back()
    expect(page.locator(".summary")).to_contain_text("of 400 loaded")
    page.get_by_role("button", name="Overwrite").click()
    expect(page.get_by_text("No matching snapshots")).to_be_visible()
    page.get_by_role("link", name="Clear filters").click()
    expect(page.locator(".summary")).to_contain_text(f"of {MANY:,} loaded")


def test_a_time_narrows_the_list(opened: Opened) -> None:
    page = opened(f"{BUSY}/snapshots")
    tenth = page.locator(f"{ROWS} time").nth(20).get_attribute("datetime")
    assert tenth is not None
    local = page.evaluate(
        "text => new Date(new Date(text) - new Date(text).getTimezoneOffset() * 60000).toISOString().slice(0, 19)",
        tenth,
    )
    page.get_by_label("Until").fill(local)
    page.get_by_label("Until").dispatch_event("change")
    expect(page).to_have_url(re.compile("to_time="))
    expect(page.locator(ROWS).first).not_to_contain_text(f"{MANY}")
    expect(page.get_by_label("Until")).not_to_have_value("")


def test_the_picture_counts_what_is_loaded_and_leads_to_it(opened: Opened) -> None:
    page = opened(f"{BUSY}/snapshots")
    picture = page.locator(".timeline svg")
    expect(picture).to_have_attribute("aria-label", re.compile("^100 snapshots from "))
    assert page.locator(".fill-COMPACT").count() == 20
    to_the_end(page)
    expect(picture).to_have_attribute("aria-label", re.compile("^200 snapshots from "))
    page.evaluate("scrollTo(0, 0)")
    page.locator(".slice").first.click()
    expect(page.locator(f"{ROWS} .id").get_by_text("1801", exact=True)).to_be_in_viewport()


def test_rows_are_reached_by_keys_beyond_what_is_drawn(opened: Opened) -> None:
    page = opened(f"{BUSY}/snapshots")
    expect(page.locator(ROWS).first).to_be_visible()
    page.locator(f"{ROWS} a.cover").first.focus()
    for _ in range(6):
        page.keyboard.press("PageDown")
    expect(page.locator("a.cover:focus")).to_have_text(str(MANY - 60))
    expect(page.locator("a.cover:focus")).to_be_in_viewport()
    page.keyboard.press("Home")
    expect(page.locator("a.cover:focus")).to_have_text(str(MANY))
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name=f"Snapshot {MANY}")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("a.cover:focus")).to_have_text(str(MANY))


def test_one_snapshot_has_an_address_of_its_own(opened: Opened) -> None:
    page = opened("t/demo/shop/orders/snapshots?snapshot=2")
    sheet = page.get_by_role("dialog", name="Snapshot 2")
    expect(sheet).to_contain_text("6 files added")
    expect(sheet.get_by_role("region", name="Changed files").locator("tbody tr")).to_have_count(6)
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_have_count(0)
    expect(page).not_to_have_url(re.compile("snapshot="))
    page.get_by_label("Go to id").fill("3")
    page.get_by_label("Go to id").press("Enter")
    sheet = page.get_by_role("dialog", name="Snapshot 3")
    sheet.get_by_role("link", name="Compare with 2").click()
    expect(page.get_by_role("tab", name="Diff")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("dialog", name="Snapshot 3")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_snapshot_that_expired_is_told_in_the_sheet(opened: Opened) -> None:
    page = opened("t/demo/shop/orders/snapshots?snapshot=999", may_fail="404")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("999")


def test_a_page_that_fails_is_tried_again_without_losing_the_rest(opened: Opened) -> None:
    fails = True

    def second_page_fails(route: Route) -> None:
        if fails and "cursor=" in route.request.url:
            route.fulfill(status=503, json={"error": "unavailable", "message": "Not now."})
        else:
            route.continue_()

    page = opened(f"{BUSY}/snapshots", prepare=lambda page: page.route(SNAPSHOTS, second_page_fails), may_fail="503")
    expect(page.locator(".summary")).to_contain_text(f"100 of {MANY:,} loaded")
    to_the_end(page)
    expect(page.get_by_role("alert")).to_contain_text("Not now.")
    fails = False
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".summary")).to_contain_text(f"200 of {MANY:,} loaded")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_million_snapshots_do_not_hurt(opened: Opened) -> None:
    asked: list[int] = []

    def answer(route: Route) -> None:
        start = int(parse_qs(urlsplit(route.request.url).query).get("cursor", ["0"])[0])
        asked.append(start)
        items = [_snapshot(MILLION - number) for number in range(start, start + PAGE)]
        page = {"items": items, "next_cursor": str(start + PAGE), "total": MILLION, "scanned": PAGE, "source": "index"}
        route.fulfill(json=page)

    page = opened(f"{BUSY}/snapshots", prepare=lambda page: page.route(SNAPSHOTS, answer))
    expect(page.locator(".summary")).to_contain_text(f"100 of {MILLION:,} loaded")
    for number in range(2, 26):
        to_the_end(page)
        expect(page.locator(".summary")).to_contain_text(f"{number * PAGE:,} of {MILLION:,} loaded")
    assert asked == [number * PAGE for number in range(26)]
    assert page.locator(ROWS).count() < 60
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(f"{ROWS} .id").first).to_have_text(str(MILLION))
    assert asked[26:] == [0]  # its rows had been given up, and came again
    page.wait_for_timeout(100)
    assert page.locator(ROWS).count() < 60


def _snapshot(number: int) -> dict[str, object]:
    return {
        "id": number,
        "schema_id": 0,
        "commit_kind": "APPEND" if number % 5 else "COMPACT",
        "commit_user": "someone",
        "commit_identifier": "1",
        "time_millis": 1_700_000_000_000 + number * 60_000,
        "total_record_count": number,
        "delta_record_count": 1,
        "files_added": 1,
        "files_deleted": 0,
        "bytes_added": 100,
        "tags": [],
        "properties": {},
    }


def test_compactions_tell_what_they_read_and_wrote(opened: Opened) -> None:
    page = opened(f"{BUSY}/compactions")
    expect(page.locator(".summary")).to_contain_text("50 of 400 loaded")
    first = page.locator(ROWS).first
    expect(first).to_contain_text("FULL")
    expect(first).to_contain_text("5 → 1")
    expect(first.locator(".flow")).to_have_attribute("title", "2,000,000 bytes read, 1,000,000 written")
    expect(first).to_contain_text("2.0 s")
    expect(page.locator(ROWS).nth(1)).to_contain_text("MINOR")
    to_the_end(page)
    expect(page.locator(".summary")).to_contain_text("100 of 400 loaded")
    page.evaluate("scrollTo(0, 0)")
    page.locator(f"{ROWS} a.cover").first.click()
    expect(page.get_by_role("dialog", name=f"Snapshot {MANY}")).to_be_visible()
