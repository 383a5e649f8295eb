"""What other processes do to a storage in these tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import StorageError
from lakebed.storage import LocalStorage, Storage


@dataclass
class Race:
    """Processes that begin together, once each has a connection, and meet again for each turn.

    Attributes:
        folder: A local folder; files in it say who is ready.
        workers: How many processes there are.
        seconds: The time between two turns; with 0 they run on without waiting for each other.
    """

    folder: str
    workers: int
    seconds: float
    begin: float = 0.0

    def wait_for_all(self, worker: int) -> None:
        Path(self.folder, str(worker)).touch()
        while len(ready := list(Path(self.folder).iterdir())) < self.workers:
            time.sleep(0.01)
        self.begin = max(path.stat().st_mtime for path in ready) + self.seconds

    def wait_for_turn(self, turn: int) -> None:
        time.sleep(max(0.0, self.begin + turn * self.seconds - time.time()) if self.seconds else 0.0)


def create_all(storage: Storage, folder: str, worker: int, names: int, size: int, race: Race) -> list[int]:
    """Try to create every name with content of our own; gives the names won."""
    content = bytes([worker]) * size
    storage.exists(f"{folder}/name-0")
    race.wait_for_all(worker)
    won = []
    for name in range(names):
        race.wait_for_turn(name)
        if storage.create_exclusive(f"{folder}/name-{name}", content):
            won.append(name)
    return won


def append_lines(storage: Storage, path: str, worker: int, count: int) -> None:
    """Add lines of our own to a file."""
    for _ in range(count):
        storage.append(path, bytes([65 + worker]) * 150 + b"\n")


def replace_until(storage: Storage, path: str, size: int, done: str) -> int:
    """Put new content under one name until a file appears; gives how often."""
    rounds = 0
    while not Path(done).exists() or rounds < 10:
        storage.replace(path, bytes([rounds % 256]) * size)
        rounds += 1
    return rounds


def watch(storage: Storage, path: str, size: int, wanted: int, done: str) -> list[str]:
    """Read a file until some contents were seen; gives what was wrong with them."""
    seen: set[int] = set()
    wrong = []
    while len(seen) < wanted:
        content = storage.read(path)
        if len(content) != size or len(set(content)) != 1:
            wrong.append(f"{len(content)} bytes, {len(set(content))} contents")
        seen.update(content[:1])
    Path(done).touch()
    return wrong


def as_nobody(folder: str) -> dict[str, str]:
    """What each way to write says to a user who may not write."""
    os.setgid(65534)
    os.setuid(65534)
    storage = LocalStorage()
    said = {}
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: storage.write(f"{folder}/w", b"x"),
        "create_exclusive": lambda: storage.create_exclusive(f"{folder}/c", b"x"),
        "replace": lambda: storage.replace(f"{folder}/there", b"x"),
        "append": lambda: storage.append(f"{folder}/there", b"x"),
        "delete": lambda: storage.delete(f"{folder}/there"),
        "make_folder": lambda: storage.make_folder(f"{folder}/new"),
    }
    for name, call in calls.items():
        try:
            call()
            said[name] = "no error"
        except StorageError as error:
            said[name] = str(error)
    return said
