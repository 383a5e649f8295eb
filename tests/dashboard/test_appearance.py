"""Light and dark, narrow and wide: nothing sticks out, everything can be read, focus can be seen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.dashboard.conftest import Opened

TABS = ["overview", "snapshots", "compactions", "files", "partitions", "branches", "diff", "rows", "options"]
LEAST_CONTRAST = 4.5
WIDTHS = [360, 640, 821, 1101, 1920]

CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data] };
  const over = (top, below) => { const a = top[3] / 255; return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a)) };
  const backOf = (element) => { const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(rgba(getComputedStyle(one).backgroundColor));
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255]) };
  const light = (color) => { const [r, g, b] = color.map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({visibilityProperty: true}) || element.closest('svg, [disabled], .day, .skip')) continue;
    const back = backOf(element);
    const front = over(rgba(getComputedStyle(element).color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.textContent.slice(0, 40), element.className]);
  }
  return found.sort((x, y) => x[0] - y[0]).slice(0, 5) }"""


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
