"""Who may ask: hosts, tokens, origins, bodies; and what every answer says to browsers."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.conftest import Serve
from tests.service.running import TABLES, sentence

import lakebed
from lakebed.errors import LakebedError, OptionError
from lakebed.service import Settings, create_app
from lakebed.service.settings import Limits

TOKEN = "correct-horse-battery"
OPEN = ["/", "/healthz", "/api/v1/service"]
CLOSED = ["/api/v1/openapi.json", "/metrics", "/api/v1/warehouses", "/api/v1/jobs", f"{TABLES}/t", "/api/v1/nope"]


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html>")
    return folder


def test_what_a_token_opens(serve: Serve, web: Path) -> None:
    client = serve(token=TOKEN, web=web)
    for path in CLOSED:
        right = client.get(path)
        assert right.status_code in {200, 404}, path
    client.headers.pop("Authorization")
    for path in OPEN:
        assert client.get(path).status_code == 200, path
    for path in CLOSED:
        missing = client.get(path)
        assert "needs a token" in sentence(missing, 401)
        assert missing.headers["www-authenticate"] == "Bearer"
    assert client.get("/api/v1/service").json()["token_required"] is True


def test_wrong_tokens(serve: Serve) -> None:
    client = serve(token=TOKEN)
    for given in (
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer",
        f"Bearer {TOKEN.upper()}",
        f"Bearer {TOKEN} x",
        b"Bearer \xff\xfe",
    ):
        for path in ("/api/v1/warehouses", "/metrics"):
            sentence(client.get(path, headers={"Authorization": given}), 401)  # type: ignore[arg-type]


def test_a_token_is_needed_to_act(serve: Serve) -> None:
    client = serve(token=TOKEN, allow_actions=True)
    path = f"{TABLES}/t/actions/compact"
    sentence(client.post(path, json={}), 404)  # there is no table, but who asks may know
    client.headers.pop("Authorization")
    sentence(client.post(path, json={}), 401)


def test_the_scheme_is_written_in_any_case(serve: Serve) -> None:
    client = serve(token=TOKEN)
    assert client.get("/api/v1/warehouses", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("token", ["", "short", "x" * 15, "with a space in between", "ümläut-ümläut-ümläut"])
def test_poor_tokens_are_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(OptionError, match="a token needs at least 16"):
        Settings(warehouses={"demo": str(tmp_path)}, token=token)


def test_a_token_is_not_shown(tmp_path: Path) -> None:
    assert TOKEN not in repr(Settings(warehouses={"demo": str(tmp_path)}, token=TOKEN))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1234", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:80", 403),
        ("localhost:80:80", 403),
        ("[::1", 403),
        ("[fe80::1]", 403),
        ("user@localhost", 403),
    ],
)
def test_hosts(client: httpx.Client, host: str, status: int) -> None:
    for path in ("/api/v1/warehouses", "/", "/metrics", "/healthz"):
        response = client.get(path, headers={"Host": host})
        assert (response.status_code == 403) == (status == 403), (path, response.text)


def test_other_hosts_if_they_are_allowed(serve: Serve) -> None:
    named = serve(allowed_hosts=("lake.example",))
    assert named.get("/healthz", headers={"Host": "lake.example:8451"}).status_code == 200
    sentence(named.get("/healthz", headers={"Host": "localhost"}), 403)
    assert serve(allowed_hosts=()).get("/healthz", headers={"Host": "any.example"}).status_code == 200


def test_posts_of_other_sites_are_refused(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    client = serve(allow_actions=True)
    path = f"{TABLES}/t/actions/create-tag"
    body = b'{"name": "x", "dry_run": false}'
    own = str(client.base_url)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp", ""):
        sentence(client.post(path, content=body, headers={"Content-Type": kind}), 415)
    json = {"Content-Type": "application/json"}
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "file://", own.replace("http", "ftp")):
        sentence(client.post(path, content=body, headers={**json, "Origin": origin}), 403)
    for site in ("cross-site", "same-site"):
        sentence(client.post(path, content=body, headers={**json, "Sec-Fetch-Site": site}), 403)
    assert not lake.table("db.t").tags()
    good = {
        **json,
        "Origin": own.rstrip("/"),
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json; charset=utf-8",
    }
    assert client.post(path, content=body, headers=good).status_code == 202


def test_no_answer_lets_other_sites_read_it(client: httpx.Client) -> None:
    preflight = client.options(
        "/api/v1/warehouses",
        headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"},
    )
    for response in (preflight, client.get("/api/v1/warehouses", headers={"Origin": "http://evil.example"})):
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_large_and_senseless_bodies(serve: Serve, tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path / "wh")
    lake.create_database("db")
    lake.create_table("db.t", "id INT")
    client = serve(allow_actions=True)
    path = f"{TABLES}/t/actions/compact"
    large = b'{"where": "' + b"x" * 70_000 + b'"}'
    json = {"Content-Type": "application/json"}
    assert "too large" in sentence(client.post(path, content=large, headers=json), 413)

    def pieces() -> object:
        yield from (large[start : start + 1000] for start in range(0, len(large), 1000))

    sentence(client.post(path, content=pieces(), headers=json), 413)  # type: ignore[arg-type]
    for bad in (b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"dry_run": "maybe"}', b'{"nope": 1}', b"[" * 50_000):
        response = client.post(path, content=bad, headers=json)
        sentence(response, 422 if response.status_code == 422 else 400)


def test_headers_of_every_answer(client: httpx.Client) -> None:
    for path in ("/api/v1/warehouses", "/api/v1/nope", "/healthz", "/metrics", "/nothing.js"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
    refused = client.get("/healthz", headers={"Host": "evil.example"})
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_methods(client: httpx.Client) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        response = client.request(method, "/api/v1/warehouses", json={})
        sentence(response, 405)
        assert response.headers["allow"] == "GET"


def test_a_fault_shows_no_trace(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("lakebed.service.warehouses.Warehouses.get", broken)
    message = sentence(client.get("/api/v1/warehouses/demo/databases"), 500)
    assert message == "the service failed; see its log"


def test_settings_that_contradict_each_other(tmp_path: Path) -> None:
    here = str(tmp_path)
    settings: list[dict[str, Any]] = [
        {"warehouses": {}},
        {"warehouses": {"a/b": here}},
        {"warehouses": {"": here}},
        {"warehouses": {"demo": f"{here}/nope"}},
        {"warehouses": {"demo": here}, "allow_actions": True, "read_only": True},
    ]
    for bad in settings:
        with pytest.raises(LakebedError):
            Settings(**bad)


def test_the_document_tells_of_the_token(tmp_path: Path) -> None:
    open_to_all = create_app(Settings(warehouses={"demo": str(tmp_path)})).openapi()
    assert "securitySchemes" not in open_to_all["components"]
    guarded = create_app(Settings(warehouses={"demo": str(tmp_path)}, token=TOKEN)).openapi()
    assert guarded["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert guarded["security"] == [{"token": []}]


def test_a_client_that_sends_too_many_requests_waits(serve: Serve) -> None:
    client = serve(limits=Limits(requests_per_second=1))
    answers = [client.get("/api/v1/service") for _ in range(6)]
    assert [one.status_code for one in answers[:4]] == [200] * 4
    assert "too many requests" in sentence(answers[-1], 429)
    assert answers[-1].headers["retry-after"] == "1"
    assert client.get("/healthz").status_code == 200
    other = client.get("/api/v1/service", headers={"Authorization": "Bearer another"})
    assert other.status_code == 200


def test_a_body_has_to_arrive_in_time(serve: Serve) -> None:
    client = serve(allow_actions=True, limits=Limits(body_seconds=0.5))
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=20) as slow:
        slow.sendall(
            b"POST /api/v1/jobs/x/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 9\r\n\r\n{"
        )
        answer = slow.recv(4096)
    assert answer.startswith(b"HTTP/1.1 408 ")
