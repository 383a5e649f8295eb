"""Spark drivers in processes of their own, on clusters of real processes, whose workers cannot import lakebed by themselves.

A test gives a driver a function of an importable module and gets its result, as if it had been called here. Everything
listens on the loopback interface only, and everything that was started is ended, whatever happens.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")

_CONTEXT = multiprocessing.get_context("spawn")
_REPOSITORY = Path(__file__).parents[2]
PATIENCE = 300.0
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

    def stop(self) -> None:
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

    It is the interpreter beneath the virtual environment: a folder on PYTHONPATH gives the packages in it, but not those
    that a ``.pth`` file in it names, and such a file is how an editable installation is found.
    """
    path = folder / "python"
    packages = sysconfig.get_paths()["purelib"]
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}:{_REPOSITORY}" exec "{Path(sys.executable).resolve()}" "$@"\n'
    )
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
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "PYSPARK_PYTHON": python_without_lakebed(folder),
    }


@contextmanager
def a_driver(folder: Path, master: str, **more: str) -> Iterator[Driver]:
    """A driver with its session on a master; ``more`` are settings with underlines for dots."""
    folder.mkdir(parents=True, exist_ok=True)
    extra = {name.replace("__", "."): value for name, value in more.items()}
    driver = Driver(settings_for(folder, master) | extra, environment_for(folder))
    try:
        yield driver
    finally:
        driver.stop()


@contextmanager
def standalone_master(folder: Path, workers: int = 2) -> Iterator[str]:
    """A standalone master with workers of two cores each; gives its address."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(_daemon(folder, "master.Master", "--port", "0"))
        address = _address(master)
        for number in range(workers):
            options = ["--cores", "2", "--memory", "2g", "--work-dir", str(folder / f"work-{number}"), address]
            stack.enter_context(_daemon(folder / f"worker-{number}", "worker.Worker", *options))
        yield address


@contextmanager
def _daemon(folder: Path, name: str, *options: str) -> Iterator[Path]:
    """A master or worker; gives its log. The script that starts it becomes the JVM, so its process is the one to end."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [f"{spark_home()}/bin/spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
            + ["--webui-port", "0", *options],
            env={**os.environ, **environment_for(folder), "SPARK_DAEMON_MEMORY": "256m"},
            stdout=output,
            stderr=output,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(log: Path) -> str:
    """Where a master listens: at the port that it found free."""
    for _ in waiting("the master's address"):
        found = re.search(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)", log.read_text())
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


def children_of(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    parents: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            _, _, rest = (process / "stat").read_text().rpartition(")")  # the name before it may hold anything
            parents.setdefault(int(rest.split()[1]), []).append(int(process.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found[1:]


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
