"""Spark drivers in processes of their own, on clusters of real processes, whose workers cannot import lakebed by
themselves.

A test gives a driver a function of an importable module and gets its result, as if it had been called here. Everything
listens on the loopback interface only, and everything that was started is ended, whatever happens.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")

_CONTEXT = multiprocessing.get_context("spawn")
_HOST = "127.0.0.1"
_REPOSITORY = Path(__file__).parents[2]
PATIENCE = 600.0
"""Seconds after which something that does not end is taken for hanging; far more than anything takes."""


class DriverDiedError(Exception):
    """The process of a driver ended before it answered."""


class Driver:
    """A process with a Spark session."""

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, dict(settings), dict(environment)), daemon=True)
        self._process.start()
        theirs.close()

    def run(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Call a function with the driver's session and these arguments; raises what it raises."""
        self.begin(function, *args, **kwargs)
        result: R = self.end()
        return result

    def begin(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Let the driver call a function and do not wait for it."""
        self._connection.send((function, args, kwargs))

    def end(self) -> Any:
        """What the function gave that was begun."""
        try:
            if not self._connection.poll(PATIENCE):
                raise TimeoutError(f"the driver gave no answer within {PATIENCE} s")
            good, value, trace = self._connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join(PATIENCE)
            raise DriverDiedError(f"the driver ended with {self._process.exitcode}") from None
        if good:
            return value
        value.add_note(trace)
        raise value

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def close(self) -> None:
        """End the driver and what it started."""
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._process.join(60)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()


def _serve(connection: Connection, settings: dict[str, str], environment: dict[str, str]) -> None:
    """Runs in the driver's process: answers calls until there are no more."""
    import warnings

    os.environ.update(environment)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from lakebed.spark.session import get_session

    spark = get_session(options=settings)
    with contextlib.suppress(EOFError):
        while (call := connection.recv()) is not None:
            function, args, kwargs = call
            try:
                answer = True, function(spark, *args, **kwargs), ""
            except Exception as error:
                answer = False, _travelling(error), traceback.format_exc()
            connection.send(answer)
    spark.stop()


def _travelling(error: Exception) -> Exception:
    """The error itself where it is ours; others may not survive the journey."""
    return error if type(error).__module__ == "lakebed.errors" else RuntimeError(f"{type(error).__name__}: {error}")


# ------------------------------------------------------------------------------------------------------------ clusters


def python_without_lakebed(folder: Path) -> str:
    """A Python that has what lakebed depends on, and these tests, but not lakebed.

    It is the interpreter beneath the virtual environment: a folder on PYTHONPATH gives the packages in it, but not
    those that a ``.pth`` file in it names, and such a file is how an editable installation is found.
    """
    path = folder / "python"
    packages = sysconfig.get_paths()["purelib"]
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:{_REPOSITORY}" exec "{Path(sys.executable).resolve()}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def spark_home() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent)


def settings_for(folder: Path, master: str) -> dict[str, str]:
    """Small executors, and a task that fails is tried again."""
    return {
        "spark.master": master,
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": os.environ.get("SPARK_LOG_LEVEL", "OFF"),
        "spark.executor.heartbeatInterval": "2s",
    }


def environment_for(folder: Path) -> dict[str, str]:
    return {
        "SPARK_HOME": spark_home(),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "PYSPARK_PYTHON": python_without_lakebed(folder),
    }


@contextmanager
def a_driver(folder: Path, master: str, settings: Mapping[str, str] | None = None) -> Iterator[Driver]:
    """A driver with its session on a master."""
    folder.mkdir(parents=True, exist_ok=True)
    driver = Driver({**settings_for(folder, master), **(settings or {})}, environment_for(folder))
    try:
        yield driver
    finally:
        driver.close()


@dataclass(frozen=True)
class Master:
    """Where a standalone master listens, and the processes of its workers."""

    address: str
    workers: tuple[int, ...]


@dataclass(frozen=True)
class Cluster:
    """A driver, what its workers had of lakebed before it started, and the master of a standalone cluster."""

    driver: Driver
    versions: set[str]
    application: str
    master: Master | None = None


@contextmanager
def standalone_master(folder: Path, workers: int = 2) -> Iterator[Master]:
    """A standalone master with workers that have room for executors of several drivers."""
    with contextlib.ExitStack() as stack:
        _, log = stack.enter_context(_daemon(folder / "master", _HOST, "master.Master", "--port", "0"))
        address = _told(log, r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        made = []
        for number in range(1, workers + 1):
            own = folder / f"worker-{number}"
            room = ["--cores", "4", "--memory", "4g", "--work-dir", str(own / "work")]
            # Each has a host of its own, because Spark starts the twin of a slow task on another one only.
            made.append(stack.enter_context(_daemon(own, f"127.0.0.{number}", "worker.Worker", *room, address)))
        for _, log in made:
            _told(log, f"(Successfully registered) with master {re.escape(address)}")
        yield Master(address, tuple(pid for pid, _ in made))


@contextmanager
def _daemon(folder: Path, host: str, name: str, *options: str) -> Iterator[tuple[int, Path]]:
    """A master or worker."""
    words = [f"org.apache.spark.deploy.{name}", "--host", host, "--webui-port", "0", *options]
    with _jvm(folder, words, {"SPARK_LOCAL_IP": host, "SPARK_DAEMON_MEMORY": "256m"}) as started:
        yield started


@contextmanager
def connect_server(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """A Spark Connect server with two cores; gives what clients connect to."""
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port = free.getsockname()[1]
    settings = settings_for(folder, "local[2, 4]") | {
        "spark.connect.grpc.binding.address": _HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": _HOST,
        "spark.driver.host": _HOST,
        "spark.ui.enabled": "false",
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with _jvm(folder, ["org.apache.spark.deploy.SparkSubmit", *options, *server], environment) as (pid, log):
        for _ in waiting(f"Connect server, which said {log.read_text()[-2000:]}"):
            with contextlib.suppress(OSError), socket.create_connection((_HOST, port), 1):
                break
            assert Path(f"/proc/{pid}/exe").exists(), log.read_text()
        yield f"sc://{_HOST}:{port}"


@contextmanager
def _jvm(
    folder: Path, words: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, Path]]:
    """A JVM of Spark's; gives its process and its log.

    The script that starts it becomes the JVM, so it is the one to end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [f"{spark_home()}/bin/spark-class", *words],
            env={**os.environ, **environment_for(folder), **(environment or {})},
            stdout=output,
            stderr=output,
        )
    try:
        yield process.pid, log
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _told(log: Path, pattern: str) -> str:
    """What a log says in the end."""
    for _ in waiting(f"{pattern} in {log}"):
        found = re.search(pattern, log.read_text())
        if found:
            return found[1]
    raise AssertionError(log.read_text())


def waiting(what: str) -> Iterator[None]:
    """A short sleep a turn, until patience ends."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        yield
        time.sleep(0.05)
    raise TimeoutError(f"no {what} within {PATIENCE} s")


# ----------------------------------------------------------------------------------------------------------- processes


def executors_of(application: str) -> list[int]:
    """The processes of an application's executors, told by its id on their command lines."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if application.encode() in words and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
                found.append(int(process.name))
    return found


def parents() -> dict[int, int]:
    """Every process and the one that started it."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            _, _, rest = (process / "stat").read_text().rpartition(")")  # the name before it may hold anything
            found[int(process.name)] = int(rest.split()[1])
    return found


def above(pid: int, known: Mapping[int, int] | None = None) -> Iterator[int]:
    """The processes above one, from near to far."""
    known = known or parents()
    while pid := known.get(pid, 0):
        yield pid


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits for its parent to notice does not."""
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return False
    return rest.split()[0] not in {"Z", "X"}


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
