"""What processes do in the tests of the autopilot."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import lakebed
from lakebed.autopilot import Autopilot
from lakebed.autopilot.lease import HeldError, Lease
from lakebed.storage import open_storage


def try_to_take(folder: str) -> bool:
    """Returns whether the lease was free; it is held for a moment."""
    try:
        with Lease.take(open_storage(folder, {}), folder):
            time.sleep(2)
            return True
    except HeldError:
        return False


def hold(folder: str, seconds: float, ready: str) -> None:
    """Holds the lease until the process is killed."""
    with Lease.take(open_storage(folder, {}), folder, seconds=seconds):
        Path(ready).touch()
        time.sleep(60)


def look_after(warehouse: str, lease_seconds: float) -> None:
    """Runs an autopilot until the process is killed."""
    Autopilot(lakebed.connect(warehouse), interval=0.1, lease_seconds=lease_seconds).run(threading.Event())


def append(warehouse: str, name: str, commits: int) -> int:
    """Appends to a table; returns the number of rows."""
    table = lakebed.connect(warehouse).table(name)
    for number in range(commits):
        table.write([{"id": number, "v": "x" * 100}])
    return commits


def upsert(warehouse: str, name: str, commits: int) -> int:
    """Upserts the same keys again and again; returns the last value."""
    table = lakebed.connect(warehouse).table(name)
    for number in range(commits):
        table.write([{"id": key, "v": str(number)} for key in range(20)])
    return commits - 1
