"""The dashboard's files: which are sent, and how long browsers may keep them."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import sentence


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    web = tmp_path / "web"
    (web / "assets" / "parts").mkdir(parents=True)
    (web / "index.html").write_text('<script type="module" src="/assets/app.js"></script>')
    (web / "assets" / "app.js").write_text('import "./parts/a.js";')
    (web / "assets" / "parts" / "a.js").write_text("export {};")
    (web / "assets" / "page.css").write_text("body {}")
    (web / "assets" / "notes.py").write_text("secret")
    (web / ".hidden.js").write_text("secret")
    (web / "assets" / "link.js").symlink_to(__file__)
    return web


@pytest.fixture
def client(serve: Serve, folder: Path) -> httpx.Client:
    return serve(web=folder)


def script(client: httpx.Client) -> str:
    found = re.search(r'src="(/assets/[0-9a-f]{16}/app\.js)"', client.get("/").text)
    assert found is not None
    return found[1]


def test_every_page_is_the_index(client: httpx.Client) -> None:
    first = client.get("/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert first.headers["cache-control"] == "no-cache"
    for path in ("/demo/db/orders", "/demo/db/orders/snapshots", "/x", "/apiary"):
        assert client.get(path).text == first.text


def test_assets_may_be_kept_for_ever_under_their_digest(client: httpx.Client) -> None:
    path = script(client)
    response = client.get(path)
    assert response.text == 'import "./parts/a.js";'
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in response.headers["cache-control"]
    assert client.get(path.replace("app.js", "parts/a.js")).text == "export {};"
    plain = client.get("/assets/page.css")
    assert (plain.headers["cache-control"], plain.headers["content-type"]) == ("no-cache", "text/css; charset=utf-8")
    sentence(client.get("/assets/0123456789abcdef/app.js"), 404)


def test_what_did_not_change_is_not_sent_again(client: httpx.Client) -> None:
    for path in ("/", "/assets/app.js"):
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    head = client.head("/")
    assert (head.status_code, head.content) == (200, b"")


def test_a_change_on_disk_is_seen(client: httpx.Client, folder: Path) -> None:
    before = script(client)
    (folder / "assets" / "app.js").write_text("changed and longer than it was")
    after = script(client)
    assert after != before
    assert client.get(after).text.startswith("changed")
    sentence(client.get(before), 404)


@pytest.mark.parametrize(
    "path", ["/assets/notes.py", "/.hidden.js", "/assets/link.js", "/assets/", "/assets", "/assets/parts", "/nope.js"]
)
def test_other_files_are_not_there(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    if path == "/assets":
        assert response.headers["content-type"].startswith("text/html")  # an address like any other
    else:
        sentence(response, 404)
    assert "secret" not in response.text


def test_what_is_not_an_address_of_a_page(client: httpx.Client) -> None:
    for path in ("/api", "/api/v2/x", "/api/v1/", "/metrics/x"):
        sentence(client.get(path), 404)


def test_a_service_without_a_dashboard(serve: Serve, tmp_path: Path) -> None:
    client = serve(web=tmp_path / "none")
    sentence(client.get("/"), 404)
    assert client.get("/healthz").status_code == 200
