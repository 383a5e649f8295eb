"""Texts from tables are never markup, nothing is loaded from elsewhere, and a token is asked for where needed."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect
from tests.dashboard.conftest import Opened, Served
from tests.dashboard.warehouse import MARKUP, SCRIPT

from lakebed.service import Settings

TOKEN = "0123456789abcdef-secret"
HOSTILE = f"t/demo/lab/{quote(MARKUP, safe='')}"
SAID = {
    "overview": MARKUP,
    "snapshots": MARKUP,
    "branches": MARKUP,
    "rows": SCRIPT,
    f"diff?before={quote(MARKUP, safe='')}&after=1": "Both snapshots have the same rows.",
    "rows?where=%3Cscript%3E": "<script>",
}
WEB = Path(__file__).parents[2] / "src/lakebed/service/web"


def test_markup_of_a_table_is_text(opened: Opened) -> None:
    page = opened(HOSTILE, may_fail="40")
    expect(page.get_by_role("heading", name=MARKUP)).to_be_visible()
    for tab, words in SAID.items():
        page.evaluate("route => { location.hash = route }", f"#/{HOSTILE}/{tab}")
        expect(page.get_by_role("tabpanel").get_by_text(words).filter(visible=True).first).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, main script").count() == 0


def test_markup_in_an_address_is_text(opened: Opened) -> None:
    page = opened(f"t/demo/shop/{quote(SCRIPT, safe='')}", may_fail="404")
    expect(page.get_by_role("heading", name=SCRIPT)).to_be_visible()
    assert page.evaluate("window.hacked") is None


def test_the_browser_would_run_no_script_that_gets_in(opened: Opened) -> None:
    page = opened(may_fail="Content Security Policy")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.hacked=1>')")
    page.evaluate(
        "{const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)}"
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None


def test_no_file_of_the_dashboard_can_make_markup_or_names_another_host() -> None:
    words = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "http://",
        "https://",
    )
    known = {"http://www.w3.org/2000/svg"}
    for file in (*WEB.rglob("*.js"), *WEB.rglob("*.html"), *WEB.rglob("*.css")):
        text = file.read_text()
        for address in known:
            text = text.replace(address, "")
        assert [word for word in words if word in text] == [], file


def test_a_token_is_asked_for_kept_for_the_tab_and_given_up(opened: Opened, served: Served, warehouse: Path) -> None:
    address = served(Settings(warehouses={"demo": str(warehouse)}, token=TOKEN))
    page = opened(at=address, may_fail="401")
    dialog = page.get_by_role("dialog", name="This service needs a token")
    dialog.get_by_label("Token").fill("not the right one, but long")
    dialog.get_by_role("button", name="Sign in").click()
    expect(dialog).to_contain_text("The service rejected this token.")
    dialog.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator(".long-body .long-row")).to_have_count(6)
    expect(dialog).to_have_count(0)
    page.reload()
    expect(page.locator(".long-body .long-row")).to_have_count(6)
    assert page.evaluate("localStorage.length") == 0
    assert TOKEN not in page.url
    page.get_by_role("button", name="Sign out").click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(dialog).to_be_visible()
