"""A real browser on a real service: Chromium without a window, and pages that must stay free of errors and of other
hosts.

The browser is the one that ``tools/browser.sh`` installs, or what ``LAKEBED_BROWSER`` names. Without one these tests
are skipped with a loud reason; in CI, where ``CI`` is ``true``, they fail instead.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright
from tests.dashboard.warehouse import make_warehouse
from tests.missing import missing
from tests.service.running import running

from lakebed.service import Settings

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

Opened = Callable[..., Page]
Served = Callable[[Settings], str]

expect.set_options(timeout=15_000)


def find_browser() -> str | None:
    found = os.environ.get("LAKEBED_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    return str(Path(found).resolve()) if found else None


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        missing("the dashboard in a browser: there is no Chromium. Run tools/browser.sh, or set LAKEBED_BROWSER.")
    with sync_playwright() as playwright:

        def launch() -> Browser:
            return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=40_000)

        try:
            started = launch()
        except Error:  # the very first start of a fresh installation may hang
            started = launch()
        yield started
        started.close()


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample warehouse; tests that share it change nothing in it."""
    return make_warehouse(tmp_path_factory.mktemp("dashboard") / "warehouse")


@pytest.fixture(scope="session")
def address(warehouse: Path) -> Iterator[str]:
    """A read-only service over the sample warehouse."""
    with running(Settings(warehouses={"demo": str(warehouse)})) as client:
        yield str(client.base_url)


@pytest.fixture
def served() -> Iterator[Served]:
    """Starts services of a test's own, gives their addresses, and stops them once the pages of the test are closed."""
    with contextlib.ExitStack() as services:
        yield lambda settings: str(services.enter_context(running(settings)).base_url)


@pytest.fixture
def opened(browser: Browser, address: str, served: Served) -> Iterator[Opened]:
    """Opens pages: ``opened("t/demo/shop/orders/files", width=360)``. After the test no page may have complained."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []
    allowed: list[str] = []

    def opens(
        route: str = "",
        *,
        at: str = address,
        width: int = 1280,
        height: int = 860,
        scheme: str = "light",
        prepare: Callable[[Page], None] | None = None,
        may_fail: str | None = None,
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        if may_fail is not None:
            allowed.append(may_fail)
        page = context.new_page()
        _listen(page, urlsplit(at).netloc, complaints)
        if prepare is not None:
            prepare(page)
        page.goto(f"{at}/#/{route}")
        return page

    yield opens
    for context in contexts:
        context.close()
    assert [one for one in complaints if not any(part in one for part in allowed)] == []


def _listen(page: Page, host: str, complaints: list[str]) -> None:
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on(
        "console",
        lambda message: (
            complaints.append(f"console: {message.text} {message.location}")
            if message.type in {"error", "warning"}
            else None
        ),
    )
    page.on(
        "request",
        lambda request: complaints.append(f"foreign: {request.url}") if urlsplit(request.url).netloc != host else None,
    )
