"""The list of tables: what it shows, how it is searched, what it says when there is nothing or something went wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.dashboard.conftest import Opened, Served

import lakebed
from lakebed.service import Settings

TABLES = "**/api/v1/warehouses/demo/tables*"


def test_every_table_is_listed_with_its_health(opened: Opened) -> None:
    page = opened()
    rows = page.locator(".long-body .long-row")
    expect(rows).to_have_count(6)
    expect(rows.filter(has_text="shop.orders")).to_contain_text("primary key")
    expect(rows.filter(has_text="shop.events")).to_contain_text("Warning")
    expect(rows.filter(has_text="lab.daily")).to_contain_text("chain")
    expect(page).to_have_title("Tables · Lakebed")


def test_search_and_database_narrow_the_list_and_stay_in_the_address(opened: Opened) -> None:
    page = opened()
    rows = page.locator(".long-body .long-row")
    expect(rows).to_have_count(6)
    page.get_by_label("Search").fill("ORD")
    expect(rows).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Search")).to_have_value("ORD")
    expect(rows).to_have_count(1)
    page.get_by_label("Search").fill("no such table")
    expect(page.get_by_text("No matching tables")).to_be_visible()
    page.get_by_label("Search").fill("")
    page.get_by_label("Database").select_option("lab")
    expect(rows).to_have_count(3)
    expect(page).to_have_url(re.compile("database=lab"))


def test_a_table_opens_by_click_and_back_returns(opened: Opened) -> None:
    page = opened()
    page.get_by_role("link", name="shop.orders").click()
    expect(page.get_by_role("heading", name="orders", exact=True)).to_be_visible()
    expect(page.get_by_role("tab", name="Overview")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()
    expect(page.locator(".long-body .long-row")).to_have_count(6)


def test_rows_are_reached_by_arrow_keys(opened: Opened) -> None:
    page = opened()
    links = page.locator(".long-body a.cover")
    expect(links).to_have_count(6)
    page.get_by_label("Search").focus()
    page.keyboard.press("Tab")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("End")
    expect(links.nth(5)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="orders", exact=True)).to_be_visible()


def test_a_failure_is_told_and_tried_again(opened: Opened) -> None:
    failures = 1

    def fail_once(route: Route) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            route.fulfill(status=503, json={"error": "unavailable", "message": "The disk is away for a moment."})
        else:
            route.continue_()

    page = opened(prepare=lambda page: page.route(TABLES, fail_once), may_fail="503")
    expect(page.get_by_role("alert")).to_contain_text("The disk is away for a moment.")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".long-body .long-row")).to_have_count(6)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_service_that_is_gone_is_told(opened: Opened) -> None:
    page = opened(prepare=lambda page: page.route(TABLES, lambda route: route.abort()), may_fail="ERR_FAILED")
    expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached")


def test_skeletons_stand_where_rows_will_be(opened: Opened) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page = opened(prepare=lambda page: page.route(TABLES, hold))
    expect(page.get_by_role("status", name="Loading")).to_be_visible()
    head = page.locator(".long-head").bounding_box()
    held[0].continue_()
    expect(page.locator(".long-body .long-row")).to_have_count(6)
    assert page.locator(".long-head").bounding_box() == head


def test_an_empty_warehouse_says_so(opened: Opened, served: Served, tmp_path: Path) -> None:
    lakebed.connect(tmp_path / "nothing").create_database("db")
    address = served(Settings(warehouses={"demo": str(tmp_path / "nothing")}))
    page = opened(at=address)
    expect(page.get_by_text("No tables", exact=True)).to_be_visible()


def test_several_warehouses_are_chosen_among(opened: Opened, served: Served, warehouse: Path, tmp_path: Path) -> None:
    other = lakebed.connect(tmp_path / "other")
    other.create_database("db")
    other.create_table("db.single", "id INT")
    address = served(Settings(warehouses={"demo": str(warehouse), "other": str(tmp_path / "other")}))
    page = opened(at=address)
    expect(page.locator(".long-body .long-row")).to_have_count(6)
    page.get_by_label("Warehouse").select_option("other")
    expect(page.locator(".long-body .long-row")).to_have_count(1)
    page.get_by_role("link", name="db.single").click()
    expect(page.get_by_role("navigation", name="Breadcrumb")).to_contain_text("other")


@pytest.mark.parametrize("route", ["t/demo/shop/nothing", "t/demo/nowhere/orders", "t/elsewhere/shop/orders"])
def test_what_is_not_there_is_not_found(opened: Opened, route: str) -> None:
    page = opened(route, may_fail="404")
    expect(page.get_by_role("alert")).to_contain_text("Not found")


@pytest.mark.parametrize("name", ["..", "."])
def test_a_name_of_dots_asks_for_nothing_else(opened: Opened, name: str) -> None:
    asked: list[str] = []

    def watch(page: Page) -> None:
        page.on("request", lambda request: asked.append(request.url) if "/api/" in request.url else None)

    page = opened(f"t/demo/{name}/{name}", prepare=watch)
    expect(page.get_by_role("alert")).to_contain_text("Not found")
    assert [url for url in asked if not url.endswith("/api/v1/service")] == []


def test_an_unknown_address_leads_back(opened: Opened) -> None:
    page = opened("what/is/this")
    expect(page.get_by_text("Page not found")).to_be_visible()
    page.get_by_role("link", name="All tables").click()
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()
