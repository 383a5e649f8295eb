"""Storages that misbehave in tasks or at a commit; importable, because they travel to drivers and workers by name.

They note in a folder what they did, so that it happens once over all processes and tests can wait for it.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs

from lakebed.errors import StorageError
from lakebed.storage import LocalStorage, Sync

_PATIENCE = 600.0
_begun: Counter[int] = Counter()


def noted(notes: str, name: str) -> bool:
    """Note the id of this process under a name; gives whether we were the first to do so."""
    temporary = Path(notes) / f"{name}-{os.getpid()}"
    temporary.write_text(str(os.getpid()))
    try:
        os.link(temporary, Path(notes) / name)
    except FileExistsError:
        return False
    return True


def hang(notes: str) -> None:
    """Wait for somebody to kill us, or to let us go on."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and not (Path(notes) / "go").exists():
        time.sleep(0.02)


def _files_begun() -> int:
    """How many files this attempt of a task has begun, this one included; 0 outside of tasks."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return 0
    _begun[context.taskAttemptId()] += 1
    return _begun[context.taskAttemptId()]


@dataclass(frozen=True)
class Hanging(LocalStorage):
    """The first task that begins a second file hangs there: one file is whole, and nobody knows of it."""

    notes: str

    def arrow_filesystem(self) -> pafs.FileSystem:
        if _files_begun() == 2 and noted(self.notes, "hanging"):
            hang(self.notes)
        return super().arrow_filesystem()


@dataclass(frozen=True)
class Refusing(LocalStorage):
    """Refuses to begin the second file of a task, so many times over all of them."""

    notes: str
    times: int

    def arrow_filesystem(self) -> pafs.FileSystem:
        if _files_begun() == 2 and any(noted(self.notes, f"refused-{number}") for number in range(self.times)):
            raise StorageError("cannot write: no space left on the device")
        return super().arrow_filesystem()


@dataclass(frozen=True)
class Deadly(LocalStorage):
    """Kills the process that creates a file of some name, before it is there or after."""

    name: str
    after: bool

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> bool:
        if Path(path).name != self.name:
            return super().create_exclusive(path, data, still, sync=sync)
        if self.after:
            assert super().create_exclusive(path, data, still, sync=sync)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")
