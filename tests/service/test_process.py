"""``lakebed serve`` as a process: where it listens, what it refuses, how it ends and begins again."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from tests.service.running import TABLES, get, sentence
from typer.testing import CliRunner

import lakebed
from lakebed.cli import app
from lakebed.service import Settings, create_app
from lakebed.service.connections import timed_connections
from lakebed.service.settings import Limits, is_loopback

TOKEN = "correct-horse-battery"
Start = Callable[..., tuple["subprocess.Popen[str]", httpx.Client]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lake = lakebed.connect(tmp_path / "shop")
    lake.create_database("db")
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    return tmp_path / "shop"


@pytest.fixture
def start() -> Iterator[Start]:
    processes: list[subprocess.Popen[str]] = []
    clients: list[httpx.Client] = []

    def begin(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], httpx.Client]:
        process = subprocess.Popen(
            [sys.executable, "-m", "lakebed", "serve", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        processes.append(process)
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"at (http://\S+)", line)
        assert found is not None, line + process.stderr.read()
        clients.append(httpx.Client(base_url=found[1], timeout=30, trust_env=False))
        return process, clients[-1]

    yield begin
    for client in clients:
        client.close()
    for process in processes:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def test_it_runs_is_killed_and_runs_again(start: Start, folder: Path) -> None:
    process, client = start(str(folder), "--port", "0")
    path = TABLES.replace("demo", "shop")
    assert get(client, f"{path}/t/rows")["rows"] == [[1]]
    sentence(client.post(f"{path}/t/actions/compact", json={}), 403)
    port = client.base_url.port
    process.kill()
    process.wait()
    lakebed.connect(folder).table("db.t").write([{"id": 2}])
    process, client = start(str(folder), "--port", str(port), "--allow-actions")
    assert get(client, f"{path}/t")["snapshot_count"] == 2
    assert client.post(f"{path}/t/actions/compact", json={}).status_code == 202
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) in {0, -signal.SIGTERM}
    assert lakebed.connect(folder).table("db.t").verify().ok


def test_a_token_from_a_file_and_several_warehouses(start: Start, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\nnot this\n")
    (tmp_path / "other").mkdir()
    given = ["--port", "0", "--token-file", str(tmp_path / "token"), "--host", "0.0.0.0"]
    _, client = start(f"a={folder}", f"b={tmp_path / 'other'}", *given)
    client.base_url = str(client.base_url).replace("0.0.0.0", "127.0.0.1")
    sentence(client.get("/api/v1/warehouses"), 401)
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    assert [one["name"] for one in get(client, "/api/v1/warehouses")["items"]] == ["a", "b"]


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(
        app, ["serve", *arguments], env={"NO_COLOR": "1", "LAKEBED_TOKEN": "", "COLUMNS": "200"}
    )
    return result.exit_code, result.output


@pytest.mark.parametrize("given", [["--host", "0.0.0.0"], ["--host", "::"], ["--allow-host", "lake.example"]])
def test_beyond_this_machine_a_token_is_needed(folder: Path, given: list[str]) -> None:
    code, text = invoke(str(folder), *given)
    assert code == 3
    assert "can be reached from other machines, so a token is needed" in text


def test_what_makes_no_sense(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for arguments, code, message in (
        ([f"{folder}/nope"], 4, "there is no warehouse at"),
        ([str(folder), "--token", "short"], 3, "at least 16 characters"),
        ([str(folder), "--token-file", f"{folder}/nope"], 4, "cannot be read"),
        ([str(folder), "--token-file", str(tmp_path / "empty")], 3, "it is empty"),
        ([str(folder), "--read-only", "--allow-actions"], 3, "allow_actions and read_only exclude each other"),
        ([str(folder), str(folder)], 3, "two warehouses have the name 'shop'"),
        ([str(folder), "--port", "70000"], 2, ""),
        ([str(folder), "--tls-cert", "x"], 2, "give --tls-cert and --tls-key together"),
        ([str(folder), "--host", "no.such.host.invalid", "--token", TOKEN], 3, "cannot listen on"),
    ):
        found, text = invoke(*arguments)
        assert (found, message in " ".join(text.split())) == (code, True), text


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, text = invoke(str(folder), "--port", str(taken.getsockname()[1]))
    assert code == 3
    assert "cannot listen on 127.0.0.1" in text


def test_without_the_extra_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("lakebed.service")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    code, text = invoke(str(folder))
    assert code == 3
    assert "pip install 'lakebed[service]'" in text


def test_loopback_addresses() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "fe80::1")))


def test_connections_that_send_no_request_end(folder: Path) -> None:
    """Half-open connections, and those that send a byte now and then, do not stay; the service answers meanwhile."""
    settings = Settings(warehouses={"shop": str(folder)}, limits=Limits(header_seconds=1.5))
    config = uvicorn.Config(create_app(settings), log_level="critical", http=timed_connections(1.5))
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        place = listener.getsockname()
        silent = [socket.create_connection(place, timeout=20) for _ in range(50)]
        dripping = socket.create_connection(place, timeout=20)
        with httpx.Client(base_url=f"http://127.0.0.1:{place[1]}", trust_env=False) as client:
            assert client.get("/healthz").status_code == 200
            ended = time.monotonic() + 10
            with contextlib.suppress(OSError):
                for byte in b"GET /healthz HTTP/1.1":
                    dripping.sendall(bytes([byte]))
                    time.sleep(0.2)
                    assert time.monotonic() < ended
                pytest.fail("a slow request was not cut off")
            for one in silent:
                with contextlib.suppress(ConnectionResetError):
                    assert one.recv(1) == b""
                one.close()
            time.sleep(2)
            assert client.get("/healthz").status_code == 200  # between requests a connection may rest
        dripping.close()
        server.should_exit = True
        thread.join()
