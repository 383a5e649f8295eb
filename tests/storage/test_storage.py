"""The local disk: the suite of every storage, and what only a disk does."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pytest
from tests.missing import not_allowed
from tests.races.crew import together
from tests.storage import processes
from tests.storage.contract import StorageContract

from lakebed import connect
from lakebed.errors import StorageError
from lakebed.storage import LocalStorage, Storage


@pytest.fixture
def storage() -> Storage:
    return LocalStorage()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "f")


class TestLocalStorage(StorageContract):
    """What every storage promises."""


def everything_below(path: str | Path) -> list[str]:
    """Every name, hidden temporaries too."""
    return sorted(str(found.relative_to(path)) for found in Path(path).rglob("*"))


def test_links_are_recognised(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/a/b", b"1")
    Path(folder, "link").symlink_to(Path(folder, "a"))
    Path(folder, "file").symlink_to(Path(folder, "a", "b"))
    found = {info.name: (info.is_dir, info.is_link) for info in storage.list(folder)}
    assert found == {"a": (True, False), "link": (True, True), "file": (False, True)}
    assert storage.is_link(f"{folder}/link")
    assert storage.is_link(f"{folder}/file")
    assert not storage.is_link(f"{folder}/link/b")
    assert not storage.is_link(f"{folder}/nothing")


def test_deleting_a_tree_while_others_delete_in_it(
    storage: Storage, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in range(20):
        storage.write(f"{folder}/tree/x{name}", b"1")
    unlink = os.unlink
    calls = []

    def racing(path: Any, **more: Any) -> None:
        unlink(path, **more)
        calls.append(path)
        if len(calls) == 5:  # somebody else was there first
            raise FileNotFoundError(errno.ENOENT, "gone", path)

    monkeypatch.setattr(os, "unlink", racing)
    storage.delete_tree(f"{folder}/tree")
    assert not Path(folder, "tree").exists()


# ------------------------------------------------------------------------------------------- what storages refuse


@contextlib.contextmanager
def mounted(path: Path, *options: str) -> Iterator[Path]:
    """A file system of our own in memory; skips the test where we may not mount."""
    path.mkdir()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", path], capture_output=True, check=False)
    except FileNotFoundError:
        not_allowed("a file system of its own: there is no mount command")
    if done.returncode:
        not_allowed("a file system of its own: this process may not mount")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


def remount_read_only(path: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", path], check=True)


WRITES: dict[str, Callable[[Storage, str, bytes], Any]] = {
    "write": lambda storage, path, data: storage.write(path, data),
    "create_exclusive": lambda storage, path, data: storage.create_exclusive(path, data),
    "replace": lambda storage, path, data: storage.replace(path, data),
}


def test_a_full_disk(storage: Storage, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-o", "size=64k") as small:
        storage.write(f"{small}/before", b"x" * 1000)
        for call in WRITES.values():
            with pytest.raises(StorageError, match=r"/small/big: no space left on the device; free some"):
                call(storage, f"{small}/big", b"x" * 200_000)
        storage.replace(f"{small}/before", b"y" * 1000)  # a failed write gave back what it took
        assert everything_below(small) == ["before"]


def test_a_full_disk_leaves_a_table_as_it_was(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "-o", "size=400k") as small:
        lake = connect(small)
        lake.create_database("db")
        table = lake.create_table("db.t", "id BIGINT")
        table.write(pa.table({"id": [1, 2, 3]}))
        before = everything_below(table.path)
        noise = pa.table({"id": [hash((i, "x")) for i in range(200_000)]})
        with pytest.raises(StorageError, match=r"no space left|No space left"):
            table.write(noise)
        assert [path for path in everything_below(table.path) if path not in before] == []
        assert table.scan().to_arrow()["id"].to_pylist() == [1, 2, 3]
        table.write(pa.table({"id": [4]}))
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


@pytest.mark.parametrize("call", WRITES)
def test_a_disk_that_fills_up_in_the_middle(
    storage: Storage, folder: str, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    storage.make_folder(folder)
    real = open

    class Filling:
        """A file that takes half of what it is given."""

        def __init__(self, path: str, mode: str) -> None:
            self.file = real(path, mode)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> int:
            self.file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("builtins.open", Filling)
    with pytest.raises(StorageError, match=r"/f/x: no space left on the device"):
        WRITES[call](storage, f"{folder}/x", b"0123456789")
    monkeypatch.undo()
    assert everything_below(folder) == []


def test_a_read_only_file_system(storage: Storage, tmp_path: Path) -> None:
    with mounted(tmp_path / "ro") as place:
        lake = connect(place)
        lake.create_database("db")
        table = lake.create_table("db.t", "id BIGINT")
        table.write(pa.table({"id": [1, 2, 3]}))
        storage.write(f"{place}/there", b"1")
        before = everything_below(place)
        remount_read_only(place)
        for call in WRITES.values():
            with pytest.raises(StorageError, match=r"/ro/x: the file system is read-only; nothing was changed"):
                call(storage, f"{place}/x", b"1")
        for refused, path in ((storage.delete, "there"), (storage.delete_tree, "db.db"), (storage.make_folder, "new")):
            with pytest.raises(StorageError, match=f"/ro/{path}: the file system is read-only"):
                refused(f"{place}/{path}")
        with pytest.raises(StorageError, match=r"/ro/db.db/t/.*[rR]ead-only"):
            table.write(pa.table({"id": [4]}))
        with pytest.raises(StorageError, match=r"/ro/db.db/t/.*read-only"):
            table.truncate()
        assert table.scan().to_arrow()["id"].to_pylist() == [1, 2, 3]
        assert table.history(kind="APPEND").total == 1
        assert everything_below(place) == before


def test_a_folder_of_somebody_else(storage: Storage, tmp_path: Path) -> None:
    if os.getuid() != 0:
        not_allowed("a folder of another user: only root can become another user")
    folder = tmp_path / "private"
    storage.write(f"{folder}/there", b"1")
    for above in folder.parents:
        if above.is_relative_to("/tmp") and above != Path("/tmp"):
            above.chmod(0o755)
    (said,) = together([(processes.as_nobody, (str(folder),))])
    assert said.keys() == {"write", "create_exclusive", "replace", "append", "delete", "make_folder"}
    for text in said.values():
        assert "/private/" in text
        assert "permission denied; check the folder's owner and mode" in text
    assert everything_below(folder) == ["there"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK])
def test_a_file_system_without_hard_links(
    storage: Storage, folder: str, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(code, os.strerror(code), source)

    storage.make_folder(folder)
    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match=r"/f/x: this file system has no hard links.*local POSIX file system"):
        storage.create_exclusive(f"{folder}/x", b"1")
    assert everything_below(folder) == []


def test_a_folder_that_takes_no_files_is_not_mistaken_for_one_without_links(
    storage: Storage, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, mode: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", path)

    storage.make_folder(folder)
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(StorageError, match="/f/x: operation not permitted"):
        storage.create_exclusive(f"{folder}/x", b"1")


def test_a_dangling_folder_is_an_error_and_no_lost_race(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="link/x: File exists"):
        storage.create_exclusive(f"{tmp_path}/link/x", b"1")


@pytest.mark.parametrize("with_writer", [False, True])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(storage: Storage, tmp_path: Path, with_writer: bool) -> None:
    path = f"{tmp_path}/LATEST"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR) if with_writer else None
    with pytest.raises(StorageError, match="LATEST: it is not a regular file; delete it"):
        storage.read(path)
    with pytest.raises(StorageError, match="LATEST: it is not a regular file; delete it"):
        storage.read_range(path, 0, 4)
    if descriptor is not None:
        os.close(descriptor)
