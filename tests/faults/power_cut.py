"""A model of what a file system may leave of an operation after a power cut.

:func:`recorded` notes every change that the local storage makes to the disk, and every flush. :class:`Disk` replays
such changes up to any point. What was not flushed is uncertain then:

* a change of a folder (a new name, a rename, a deletion) is there or not, each independently of the others, until the
  folder is flushed;
* the content of a file is there, half of it, or nothing, until the file is flushed.

:meth:`Disk.leave` writes one of the possible outcomes to a folder. A model is stricter than real file systems, which
keep most changes in order.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PosixPath
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.fs as pafs
from tests.faults.storage import _Files

from lakebed.storage import LocalStorage, flush, local

Event = tuple[Any, ...]


# ------------------------------------------------------------------------------------------------------- recording


@contextmanager
def recorded() -> Iterator[list[Event]]:
    """Note what the local storage of this process does to the disk."""
    log = _Log()
    with (
        mock.patch.object(local, "_write_new", log.write_new),
        mock.patch.object(local, "os", _Os(log)),
        mock.patch.object(local, "Path", _path_class(log)),
        mock.patch.object(local, "flush_one", log.flush_one),
        mock.patch.object(flush, "flush_one", log.flush_one),
        mock.patch.object(LocalStorage, "append", log.append()),
        mock.patch.object(LocalStorage, "delete_tree", log.delete_tree()),
        mock.patch.object(LocalStorage, "arrow_filesystem", return_value=pafs.PyFileSystem(_ArrowFiles(log))),
    ):
        yield log.events


class _Log:
    """Does what it is asked to and notes it. Changes are made one at a time, so that the notes are in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._lock = threading.RLock()
        self._write_new, self._flush_one = local._write_new, flush.flush_one
        self._append, self._delete_tree = LocalStorage.append, LocalStorage.delete_tree

    def change(self, run: Callable[[], Any], *event: Any) -> Any:
        with self._lock:
            done = run()
            self.events.append(event)
            return done

    def write_new(self, path: str, data: bytes) -> None:
        with self._lock:
            self.make_folders(os.path.dirname(path))
            self.change(lambda: self._write_new(path, data), "create", path, data)

    def make_folders(self, folder: str) -> None:
        if not os.path.isdir(folder):
            self.make_folders(os.path.dirname(folder))
            self.change(lambda: os.mkdir(folder), "mkdir", folder)

    def flush_one(self, path: str) -> None:
        with self._lock:
            there = os.path.exists(path)
            self._flush_one(path)
            if there:
                self.events.append(("flush", path))

    def append(self) -> Callable[..., None]:
        def run(storage: LocalStorage, path: str, data: bytes) -> None:
            with self._lock:
                self.make_folders(os.path.dirname(path))
                self.change(lambda: self._append(storage, path, data), "append", path, data)

        return run

    def delete_tree(self) -> Callable[..., None]:
        def run(storage: LocalStorage, path: str) -> None:
            with self._lock:
                for folder, folders, files in os.walk(path, topdown=False):
                    self.events += [("unlink", f"{folder}/{name}") for name in (*files, *folders)]
                if os.path.exists(path):
                    self.events.append(("unlink", path))
                self._delete_tree(storage, path)

        return run

    def step(self, _name: str, _path: str, run: Callable[[], Any], _half: Any, _fail: Any) -> Any:
        """A file that Arrow reads."""
        return run()


class _ArrowFiles(_Files):
    """The local disk for Arrow, which notes what it writes."""

    def __init__(self, log: _Log) -> None:
        super().__init__(log, pafs.LocalFileSystem())  # type: ignore[arg-type]
        self._log = log

    def open_output_stream(self, path: str, _metadata: Any) -> Any:
        file = self._log.change(lambda: self._files.open_output_stream(path), "create", path, b"")
        return pa.PythonFile(_ArrowSink(self._log, path, file), mode="w")


class _ArrowSink:
    """A file that Arrow writes to."""

    def __init__(self, log: _Log, path: str, file: Any) -> None:
        self._log, self._path, self._file = log, path, file

    def write(self, data: Any) -> Any:
        return self._log.change(lambda: self._file.write(data), "append", self._path, bytes(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Os:
    """The module ``os`` for the storage, which notes changes."""

    def __init__(self, log: _Log) -> None:
        self._log = log

    def link(self, source: str, target: str) -> None:
        self._log.change(lambda: os.link(source, target), "link", source, target)

    def unlink(self, path: str) -> None:
        self._log.change(lambda: os.unlink(path), "unlink", path)

    def replace(self, source: str, target: str) -> None:
        self._log.change(lambda: os.replace(source, target), "rename", source, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def _path_class(log: _Log) -> type[PosixPath]:
    class Noted(PosixPath):
        def unlink(self, missing_ok: bool = False) -> None:  # noqa: ARG002 - as in pathlib
            log.change(lambda: os.unlink(self), "unlink", str(self))

        def rmdir(self) -> None:
            log.change(lambda: os.rmdir(self), "unlink", str(self))

        def mkdir(self, *_mode: Any, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: ARG002
            log.make_folders(str(self))

        def rename(self, target: Any) -> Any:
            return log.change(lambda: os.rename(self, target), "rename", str(self), str(target))

    return Noted


# -------------------------------------------------------------------------------------------------------- the model


@dataclass(eq=False)
class _File:
    content: bytes = b""
    safe: bytes | None = None


@dataclass(eq=False)
class _Change:
    """A change of a folder that is there as a whole or not at all: names with what they refer to from then on."""

    names: dict[str, Any]


@dataclass(eq=False)
class _Folder:
    entries: dict[str, Any] = field(default_factory=dict)
    safe: dict[str, Any] = field(default_factory=dict)
    pending: list[_Change] = field(default_factory=list)

    def change(self, **names: Any) -> None:
        self._apply(self.entries, names)
        self.pending.append(_Change(names))

    def flush(self) -> None:
        self.safe, self.pending = dict(self.entries), []

    def left(self, keeps: Callable[[_Change], bool]) -> dict[str, Any]:
        left = dict(self.safe)
        for change in self.pending:
            if keeps(change):
                self._apply(left, change.names)
        return left

    @staticmethod
    def _apply(entries: dict[str, Any], names: dict[str, Any]) -> None:
        for name, node in names.items():
            entries.pop(name, None) if node is None else entries.update({name: node})


@dataclass(frozen=True)
class Outcome:
    """How uncertain things turn out: which changes of folders are there, and how much of unflushed files."""

    name: str
    keeps: Callable[[], bool]
    part: Callable[[], float]


def outcomes(seeds: int) -> Iterator[Outcome]:
    """The extremes, and some at random, the same ones in every run."""
    yield Outcome("nothing is there", lambda: False, lambda: 0.0)
    for part in (0.0, 0.5, 1.0):
        yield Outcome(f"all names and {part:.0%} of contents are there", lambda: True, lambda part=part: part)  # type: ignore[misc]
    for seed in range(seeds):
        dice = random.Random(seed)
        yield Outcome(f"random {seed}", lambda d=dice: d.random() < 0.5, lambda d=dice: d.choice([0.0, 0.5, 1.0]))  # type: ignore[misc]


class Disk:
    """The folder ``root``, which began as a copy of ``start``; :meth:`apply` makes one change after the other."""

    def __init__(self, root: Path, start: Path) -> None:
        self._root = str(root)
        self._top = self._loaded(start)

    def _loaded(self, folder: Path) -> _Folder:
        made = _Folder()
        for path in folder.iterdir():
            data = None if path.is_dir() else path.read_bytes()
            made.entries[path.name] = self._loaded(path) if data is None else _File(data, data)
        made.flush()
        return made

    def apply(self, event: Event) -> None:
        kind, path = event[:2]
        match kind:
            case "create":
                self._named(path, _File(event[2]))
            case "mkdir":
                self._named(path, _Folder())
            case "append":
                folder, name = self._place(path)
                if name not in folder.entries:
                    self._named(path, _File())
                folder.entries[name].content += event[2]
            case "link":
                self._named(event[2], self._node(path))
            case "unlink":
                self._named(path, None)
            case "rename":
                self._rename(path, event[2])
            case "flush":
                node = self._node(path)
                if isinstance(node, _Folder):
                    node.flush()
                else:
                    node.safe = node.content

    def _rename(self, source: str, target: str) -> None:
        node = self._node(source)
        (folder, name), (to_folder, to_name) = self._place(source), self._place(target)
        assert folder is to_folder, "a rename between folders is not modelled"
        folder.change(**{name: None, to_name: node})

    def _named(self, path: str, node: Any) -> None:
        folder, name = self._place(path)
        folder.change(**{name: node})

    def _place(self, path: str) -> tuple[_Folder, str]:
        folder, _, name = path.rpartition("/")
        return self._node(folder), name

    def _node(self, path: str) -> Any:
        node: Any = self._top
        for part in path.removeprefix(self._root).split("/"):
            node = node.entries[part] if part else node
        return node

    def now(self) -> dict[str, bytes]:
        """All files with their content, and all folders, as a process sees them."""
        return dict(_files(self._top, lambda folder: folder.entries, lambda file: file.content))

    def left(self, outcome: Outcome) -> dict[str, bytes]:
        """The files that are there after a power cut at this moment."""

        def content(file: _File) -> bytes:
            if file.safe == file.content:
                return file.content
            if file.safe is not None:  # something was added since the flush
                return file.safe if outcome.part() < 1 else file.content
            return file.content[: int(len(file.content) * outcome.part())]

        return dict(_files(self._top, lambda folder: folder.left(lambda _: outcome.keeps()), content))


def _files(
    folder: _Folder, entries: Callable[[_Folder], dict[str, Any]], content: Callable[[_File], bytes], at: str = ""
) -> Iterator[tuple[str, bytes]]:
    for name, node in sorted(entries(folder).items()):
        if isinstance(node, _Folder):
            yield f"{at}{name}/", b""
            yield from _files(node, entries, content, f"{at}{name}/")
        else:
            yield f"{at}{name}", content(node)


def leave(files: dict[str, bytes], target: Path) -> None:
    """Write files and folders to a new folder."""
    target.mkdir(parents=True)
    for name, data in files.items():
        if name.endswith("/"):
            (target / name).mkdir(parents=True)
        else:
            (target / name).write_bytes(data)


def replayed(root: Path, start: Path, events: list[Event]) -> Iterator[tuple[Event, Disk]]:
    """The disk after each event of a recording below ``root``, which began as a copy of ``start``."""
    disk = Disk(root, start)
    for event in events:
        disk.apply(event)
        yield event, disk
    there = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    now = {name: data for name, data in disk.now().items() if not name.endswith("/")}
    assert now == there, "the recording is not complete"
