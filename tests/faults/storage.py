"""A storage that breaks at its n-th step, whatever that is: a call of its own, or one on a file that Arrow writes or
reads.

Steps are counted from :meth:`Faulty.arm` on. What happens at the step that was chosen:

* ``BEFORE`` - it fails and nothing was done;
* ``AFTER`` - it is done, but fails: the acknowledgement is lost;
* ``HALF`` - a part of it is done: half of a file is written, half of a folder removed. ``create_exclusive`` and
  ``replace`` promise to be atomic, so all that is left of half a one is a hidden temporary;
* ``KILL`` - nothing was done, and the process is killed.
"""

from __future__ import annotations

import enum
import errno
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.fs as pafs
from tests.metadata.stores import Wrapped

from lakebed.errors import StorageError
from lakebed.storage import Sync
from lakebed.storage.arrow_files import DataFileHandler
from lakebed.storage.local import _temporary_of


class Fault(enum.Enum):
    BEFORE = "fails before"
    AFTER = "fails after"
    HALF = "half done"
    KILL = "is killed"


WRITES = frozenset({"write", "create_exclusive", "replace", "append", "arrow write", "delete_tree"})
"""Steps of which a half can be done."""
CHANGES = WRITES | {"delete", "make_folder", "rename_folder", "arrow create", "arrow close"}
"""Steps that change something: failing after any other is the same as failing before it."""


class Faulty(Wrapped):
    """The storage of the tests (``tests/places.py``) with one fault. ``steps`` are the names of those taken so far."""

    def __init__(self, at: int = 0, fault: Fault = Fault.BEFORE) -> None:
        super().__init__()
        self.steps: list[str] = []
        self.hit: str | None = None
        self._at, self._fault = at, fault
        self._armed = False
        self._lock = threading.Lock()

    def arm(self) -> None:
        self._armed = True

    def disarm(self) -> None:
        self._armed = False

    # ------------------------------------------------------------------------------------------------ the steps

    def step(
        self, name: str, path: str, run: Callable[[], Any], half: Callable[[], Any], fail: Callable[[], Any]
    ) -> Any:
        """Take one step, or break at it."""
        with self._lock:
            if self._armed:
                self.steps.append(name)
            breaks = self._armed and len(self.steps) == self._at
            if breaks:
                self.hit = f"{name} {Path(path).name}"
        if not breaks:
            return run()
        match self._fault:
            case Fault.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            case Fault.AFTER:
                self._armed = False  # what belongs to this step is done
                run()
                self._armed = True
            case Fault.HALF:
                half()
            case Fault.BEFORE:
                pass
        return fail()

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        return self.step(name, path, run, lambda: None, lambda: _refuse(name, path))

    def write(self, path: str, data: bytes) -> None:
        def half() -> None:
            self._inner.write(path, data[: len(data) // 2])

        self.step("write", path, lambda: self._inner.write(path, data), half, lambda: _refuse("write", path))

    def create_exclusive(
        self, path: str, data: bytes, still: Callable[[], bool] | None = None, *, sync: Sync | None = None
    ) -> Any:
        def run() -> bool:
            return self._inner.create_exclusive(path, data, still, sync=sync)

        return self._atomic("create_exclusive", path, data, run)

    def replace(self, path: str, data: bytes, *, gap: bool = False, sync: Sync | None = None) -> Any:
        def run() -> None:
            self._inner.replace(path, data, gap=gap, sync=sync)

        return self._atomic("replace", path, data, run, gap=gap)

    def append(self, path: str, data: bytes) -> None:
        def half() -> None:
            self._inner.append(path, data[: len(data) // 2])

        self.step("append", path, lambda: self._inner.append(path, data), half, lambda: _refuse("append", path))

    def _atomic(self, name: str, path: str, data: bytes, run: Callable[[], Any], *, gap: bool = False) -> Any:
        def half() -> None:
            if not self._inner.is_remote:  # there, nothing is left of half a put
                self._inner.write(_temporary_of(path), data[: len(data) // 2])
            if gap:
                self._inner.delete(path)

        return self.step(name, path, run, half, lambda: _refuse(name, path))

    def delete_tree(self, path: str) -> None:
        def half() -> None:
            files = sorted(found for found, _ in self._inner.list_tree(path))
            for file in files[: (len(files) + 1) // 2]:
                self._inner.delete(file)

        self.step(
            "delete_tree", path, lambda: self._inner.delete_tree(path), half, lambda: _refuse("delete_tree", path)
        )

    def arrow_filesystem(self) -> Any:
        return pafs.PyFileSystem(_Files(self, self._inner.arrow_filesystem()))


def _refuse(name: str, path: str) -> NoReturn:
    raise StorageError(f"cannot {name} {path}: made to fail")


def _refuse_arrow(path: str) -> NoReturn:
    raise OSError(errno.EIO, "made to fail", path)


class Delayed(Wrapped):
    """A storage that is slow at random before it changes something: what is rare between processes becomes common."""

    def __init__(self, seed: int, longest: float = 0.02) -> None:
        super().__init__()
        self._dice, self._longest = random.Random(seed), longest

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:  # noqa: ARG002 - as above
        if name in CHANGES:
            time.sleep(self._dice.uniform(0, self._longest))
        return run()


# ------------------------------------------------------------------------------------------------------ Arrow's files


class _Files(DataFileHandler):
    """The files of a storage for Arrow, through the steps of a faulty one."""

    def __init__(self, storage: Faulty, files: pafs.FileSystem) -> None:
        self._storage = storage
        self._files = files

    def _step(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        return self._storage.step(name, path, run, lambda: None, lambda: _refuse_arrow(path))

    def open_output_stream(self, path: str, _metadata: Any) -> Any:
        file = self._step("arrow create", path, lambda: self._files.open_output_stream(path))
        return pa.PythonFile(_Sink(self._storage, path, file), mode="w")

    def open_input_stream(self, path: str) -> Any:
        return self._step("arrow open", path, lambda: self._files.open_input_stream(path))

    def open_input_file(self, path: str) -> Any:
        return self._step("arrow open", path, lambda: self._files.open_input_file(path))

    def get_file_info(self, paths: list[str]) -> Any:
        return self._step("arrow look", paths[0], lambda: self._files.get_file_info(paths))

    def get_type_name(self) -> str:
        return "faulty"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Files) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)

    def create_dir(self, path: str, recursive: bool) -> None:
        raise NotImplementedError(path)

    def delete_file(self, path: str) -> None:
        raise NotImplementedError(path)


class _Sink:
    """A file that Arrow writes to."""

    def __init__(self, storage: Faulty, path: str, file: Any) -> None:
        self._storage, self._path, self._file = storage, path, file

    def write(self, data: Any) -> Any:
        def run() -> Any:
            return self._file.write(data)

        def half() -> None:
            self._file.write(memoryview(data)[: len(data) // 2])

        return self._storage.step("arrow write", self._path, run, half, lambda: _refuse_arrow(self._path))

    def close(self) -> None:
        if self._file.closed:
            return
        try:
            self._storage.step("arrow close", self._path, lambda: None, lambda: None, lambda: _refuse_arrow(self._path))
        finally:
            self._file.close()

    def flush(self) -> None:
        self._file.flush()

    def tell(self) -> int:
        return int(self._file.tell())

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)
