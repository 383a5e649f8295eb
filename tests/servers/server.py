"""A storage server as a process of a test: it listens on a loopback port and keeps its data in a folder.

A server that was stopped or killed starts again with the same port and the same data. The kernel kills it when the
process that started it ends, so start servers in the main thread. Each pytest worker starts its own servers, once per
session and only if a test asks for them (``tests/storage_servers/conftest.py``): that takes between half a second and
four seconds, and a test may kill a server without hurting the tests of other workers. Tests keep apart with a bucket
for each test.
"""

from __future__ import annotations

import abc
import atexit
import contextlib
import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

HOST: Final = "127.0.0.1"
_PORTS: Final = range(
    20_000, 32_000
)  # below those that the kernel gives to clients, so it stays free between two starts
_LAUNCHER: Final = Path(__file__).with_name("until_parent_ends.py")
_START_SECONDS: Final = 120.0  # a busy machine starts a JVM slowly
_STOP_SECONDS: Final = 10.0


class Server(abc.ABC):
    """A storage server; a context manager that starts and stops it.

    Attributes:
        folder: Holds the data and the log of the server.
        port: The loopback port; the same after a restart.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{HOST}:{self.port}"

    @property
    @abc.abstractmethod
    def options(self) -> dict[str, str]:
        """What a user gives to ``lakebed.connect(..., options=...)`` to reach this server."""

    @abc.abstractmethod
    def create_bucket(self, name: str) -> str:
        """Creates a bucket, container or folder; returns its URL, below which a warehouse can be."""

    @abc.abstractmethod
    def command(self) -> Sequence[str]:
        """The command that runs the server; it must not start other processes."""

    def environment(self) -> Mapping[str, str]:
        """Variables for the command, besides those of this process."""
        return {}

    @abc.abstractmethod
    def answers(self) -> bool:
        """Whether the server can be used."""

    @property
    def pid(self) -> int | None:
        """The id of the running process."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        if self._process is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_LAUNCHER), str(os.getpid()), *self.command()],
                env={**os.environ, **self.environment()},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        atexit.register(self.kill)
        until = time.monotonic() + _START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                tail = (self.folder / "server.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{type(self).__name__} did not start on port {self.port}:\n{tail}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Asks the server to end, and waits."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kills the server with SIGKILL, and waits."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Starts the server again with the same port and data; kills it first if it still runs."""
        self.kill()
        self.start()

    def _end(self, sent: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.kill)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def free_port() -> int:
    """A loopback port on which nothing listens."""
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((HOST, port))
            return port


def http_status(port: int, path: str) -> int | None:
    """The status of a GET; ``None`` if nothing answers."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        return connection.getresponse().status
    return None
