"""A service on a real port of this machine, in a thread, and a client that talks to it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import uvicorn

from lakebed.service import Settings, create_app

TABLES = "/api/v1/warehouses/demo/databases/db/tables"
FINISHED = {"succeeded", "failed", "cancelled"}


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[httpx.Client]:
    """A client of a service that runs until the end of the block; the client shows the service's token."""
    config = uvicorn.Config(create_app(settings), log_level="critical", ws="none", access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}
            place = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=place, headers=headers, timeout=30, trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def get(client: httpx.Client, path: str, **params: Any) -> Any:
    """The JSON of an answer that must be fine."""
    response = client.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def refused(client: httpx.Client, path: str, status: int, **params: Any) -> str:
    """The sentence of an answer that must be an error with this status."""
    return sentence(client.get(path, params=params), status)


def sentence(response: httpx.Response, status: int) -> str:
    """The sentence of an error: JSON, one line, no trace."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    found = response.json()
    assert set(found) == {"error", "message"}
    assert found["message"]
    assert "\n" not in found["message"]
    assert "Traceback" not in found["message"]
    return str(found["message"])


def act(client: httpx.Client, table: str, action: str, **body: Any) -> Any:
    """Start an action and wait for the end of its job."""
    response = client.post(f"{TABLES}/{table}/actions/{action}", json=body)
    assert response.status_code == 202, response.text
    assert response.headers["location"] == f"/api/v1/jobs/{response.json()['id']}"
    return wait(client, response.json()["id"])


def wait(client: httpx.Client, job_id: str, seconds: float = 20) -> Any:
    """A job after its end."""
    end = time.monotonic() + seconds
    while (job := get(client, f"/api/v1/jobs/{job_id}"))["state"] not in FINISHED:
        assert time.monotonic() < end, job
        time.sleep(0.01)
    return job
