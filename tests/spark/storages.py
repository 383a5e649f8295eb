"""Storages whose workers die in the middle of a write; importable, because they travel to the workers by name."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs

from lakebed.errors import StorageError
from lakebed.storage import LocalStorage


@dataclass(frozen=True)
class Deadly(LocalStorage):
    """Kills the worker (or raises) when it begins its second file, so many times over all workers."""

    counters: str
    times: int
    raises: bool = False

    def arrow_filesystem(self) -> pafs.FileSystem:
        folder = Path(self.counters)
        own = folder / f"files-{os.getpid()}"
        begun = int(own.read_text()) if own.exists() else 0
        own.write_text(str(begun + 1))
        if begun == 1:
            for number in range(self.times):
                try:
                    (folder / f"death-{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                own.unlink()
                if self.raises:
                    raise StorageError("cannot write: no space left on the device")
                os.kill(os.getpid(), signal.SIGKILL)
        return super().arrow_filesystem()
