"""Light and dark, narrow and wide: nothing sticks out, everything can be read, focus can be seen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.dashboard.conftest import Opened
from tests.dashboard.contrast import CONTRASTS, LEAST_CONTRAST

TABS = ["overview", "snapshots", "compactions", "files", "partitions", "branches", "diff", "rows", "options"]
WIDTHS = [360, 640, 821, 1101, 1920]


def settled(page: Page) -> None:
    expect(page.get_by_role("tab").first).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)


def to_tab(page: Page, name: str) -> None:
    page.evaluate("name => { location.hash = `#/t/demo/shop/orders/${name}` }", name)
    expect(page.locator(f"#tab-{name}")).to_have_attribute("aria-selected", "true")
    settled(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_every_tab(opened: Opened, scheme: str) -> None:
    page = opened("t/demo/shop/orders", scheme=scheme)
    settled(page)
    weak: dict[str, Any] = {}
    for name in TABS:
        to_tab(page, name)
        weak[name] = [one for one in page.evaluate(CONTRASTS) if one[0] < LEAST_CONTRAST]
    assert {name: found for name, found in weak.items() if found} == {}


def test_nothing_sticks_out_at_any_width(opened: Opened) -> None:
    page = opened("t/demo/shop/orders")
    settled(page)
    wide: list[tuple[str, int]] = []
    for name in (*TABS, ""):
        if name:
            to_tab(page, name)
        else:
            page.get_by_role("link", name="Lakebed").click()
            expect(page.locator(".long-body .long-row")).to_have_count(6)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append((name, width))
    assert wide == []


def test_a_phone_shows_the_chosen_tab_and_a_sheet_of_its_width(opened: Opened) -> None:
    page = opened("t/demo/shop/orders/options", width=360, height=740)
    expect(page.get_by_role("tab", name="Options")).to_be_in_viewport(ratio=0.95)
    page.goto(page.url.replace("options", "snapshots?snapshot=2"))
    box = page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert box["x"] == 0
    assert box["width"] == 360


def test_the_switch_overrules_the_system_and_is_remembered(opened: Opened) -> None:
    page = opened(scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    switch = page.get_by_role("button", name="Colours")
    expect(switch).to_have_accessible_name("Colours: auto")
    switch.click()
    expect(switch).to_have_accessible_name("Colours: light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    page.reload()
    expect(switch).to_have_accessible_name("Colours: light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light
    switch.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    switch.click()
    expect(switch).to_have_accessible_name("Colours: auto")


def test_focus_is_seen_and_the_content_is_one_key_away(opened: Opened) -> None:
    page = opened("t/demo/shop/orders")
    settled(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    seen: list[str] = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
    assert set(seen) <= {"solid", "auto"}


def test_numbers_and_times_tell_exactly_on_hover(opened: Opened) -> None:
    page = opened("t/demo/shop/orders/snapshots")
    first = page.locator(".long-body .long-row").first
    expect(first.locator("time").first).to_have_attribute("title", re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"))
    page.goto(page.url.replace("snapshots", "overview"))
    size = page.locator(".tile").filter(has_text="Size").locator("[title]")
    expect(size).to_have_attribute("title", re.compile(r"[\d,]+ bytes"))


def test_switching_tabs_moves_nothing_above_them(opened: Opened) -> None:
    page = opened("t/demo/shop/orders")
    settled(page)
    before = page.get_by_role("tab").evaluate_all("tabs => tabs.map(tab => tab.getBoundingClientRect().x)")
    for name in ("snapshots", "options"):
        to_tab(page, name)
        assert page.get_by_role("tab").evaluate_all("tabs => tabs.map(tab => tab.getBoundingClientRect().x)") == before
