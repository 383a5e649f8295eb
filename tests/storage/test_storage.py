"""One suite for every storage: what base.py promises, from one process and from many."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.fs as pafs
import pytest
from tests.missing import not_allowed
from tests.races.crew import together
from tests.storage import processes

from lakebed import connect
from lakebed.errors import AlreadyExistsError, NotFoundError, StorageError
from lakebed.storage import LocalStorage, Storage, Sync

WORKERS = 8


@pytest.fixture(params=[LocalStorage])
def storage(request: pytest.FixtureRequest) -> Storage:
    made: Storage = request.param()
    return made


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "f")


def everything_below(path: str | Path) -> list[str]:
    """Every name, hidden temporaries too."""
    return sorted(str(found.relative_to(path)) for found in Path(path).rglob("*"))


# ------------------------------------------------------------------------------------------------- one process


def test_what_was_written_is_read(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/a/b", b"0123456789")
    assert storage.read(f"{folder}/a/b") == b"0123456789"
    assert storage.size(f"{folder}/a/b") == 10
    assert storage.exists(f"{folder}/a/b")
    assert storage.exists(f"{folder}/a")
    assert not storage.exists(f"{folder}/a/c")


def test_links_are_recognised(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/a/b", b"1")
    if not isinstance(storage, LocalStorage):
        assert not storage.is_link(f"{folder}/a")
        return
    Path(folder, "link").symlink_to(Path(folder, "a"))
    Path(folder, "file").symlink_to(Path(folder, "a", "b"))
    found = {info.name: (info.is_dir, info.is_link) for info in storage.list(folder)}
    assert found == {"a": (True, False), "link": (True, True), "file": (False, True)}
    assert storage.is_link(f"{folder}/link")
    assert storage.is_link(f"{folder}/file")
    assert not storage.is_link(f"{folder}/link/b")
    assert not storage.is_link(f"{folder}/nothing")


def test_an_empty_file_is_a_file(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/empty", b"")
    assert storage.create_exclusive(f"{folder}/empty2", b"")
    assert storage.read(f"{folder}/empty") == storage.read(f"{folder}/empty2") == b""


def test_ranges(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/x", b"0123456789")
    assert storage.read_range(f"{folder}/x", 2, 3) == b"234"
    assert storage.read_range(f"{folder}/x", 8, 5) == b"89"
    assert storage.read_range(f"{folder}/x", 20, 5) == b""
    assert storage.read_range(f"{folder}/x", 0, 0) == b""


def test_a_listing_has_files_and_folders_but_no_temporaries(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/file", b"123")
    storage.write(f"{folder}/sub/inner", b"1")
    storage.write(f"{folder}/.hidden.tmp", b"1")
    found = {info.name: info for info in storage.list(folder)}
    assert set(found) == {"file", "sub"}
    assert (found["file"].is_dir, found["file"].size) == (False, 3)
    assert found["sub"].is_dir
    assert found["file"].modified_millis > 1_600_000_000_000
    assert storage.list(f"{folder}/absent") == []


@pytest.mark.parametrize("call", ["read", "size", "read_range"])
def test_a_missing_file_is_named(storage: Storage, folder: str, call: str) -> None:
    arguments = (0, 1) if call == "read_range" else ()
    with pytest.raises(NotFoundError, match="absent: there is no such file"):
        getattr(storage, call)(f"{folder}/absent", *arguments)


def test_exclusive_creation_happens_once(storage: Storage, folder: str) -> None:
    assert storage.create_exclusive(f"{folder}/deep/x", b"first")
    assert not storage.create_exclusive(f"{folder}/deep/x", b"second")
    assert storage.read(f"{folder}/deep/x") == b"first"
    assert everything_below(folder) == ["deep", "deep/x"]


def test_replace_makes_and_changes(storage: Storage, folder: str) -> None:
    storage.replace(f"{folder}/hint", b"1")
    storage.replace(f"{folder}/hint", b"22", gap=True)
    assert storage.read(f"{folder}/hint") == b"22"
    storage.replace(f"{folder}/other", b"1", gap=True)
    assert storage.read(f"{folder}/other") == b"1"
    storage.delete(f"{folder}/other")
    storage.replace(f"{folder}/hint", b"22")
    assert storage.read(f"{folder}/hint") == b"22"
    assert everything_below(folder) == ["hint"]


def test_appending_makes_a_file_and_its_folder_and_no_more(storage: Storage, folder: str) -> None:
    with pytest.raises(NotFoundError):
        storage.append(f"{folder}/a/b", b"x")
    assert not storage.exists(folder)
    storage.make_folder(folder)
    for part in (b"one", b"", b" two"):
        storage.append(f"{folder}/a/b", part)
    assert storage.read(f"{folder}/a/b") == b"one two"
    assert everything_below(folder) == ["a", "a/b"]
    with pytest.raises(StorageError, match="cannot write"):
        storage.append(f"{folder}/a", b"x")


def test_deleting(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/a/x", b"1")
    storage.write(f"{folder}/b/c/y", b"1")
    storage.delete(f"{folder}/a/x")
    storage.delete(f"{folder}/a/x")
    storage.delete_tree(f"{folder}/b")
    storage.delete_tree(f"{folder}/b")
    assert everything_below(folder) == ["a"]


def test_renaming_a_folder(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/a/x", b"1")
    storage.make_folder(f"{folder}/taken/deep")
    with pytest.raises(AlreadyExistsError, match="taken already exists"):
        storage.rename_folder(f"{folder}/a", f"{folder}/taken")
    storage.rename_folder(f"{folder}/a", f"{folder}/b")
    assert everything_below(folder) == ["b", "b/x", "taken", "taken/deep"]
    with pytest.raises(NotFoundError):
        storage.rename_folder(f"{folder}/a", f"{folder}/c")


def test_make_folder_twice(storage: Storage, folder: str) -> None:
    storage.make_folder(f"{folder}/a/b")
    storage.make_folder(f"{folder}/a/b")
    assert everything_below(folder) == ["a", "a/b"]


def test_writing_does_not_overwrite(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/x", b"first")
    with pytest.raises(StorageError, match=r"cannot write .*/x: File exists"):
        storage.write(f"{folder}/x", b"second")
    assert storage.read(f"{folder}/x") == b"first"


def test_a_file_in_the_place_of_a_folder_is_an_error(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/x", b"1")
    for call in (storage.write, storage.create_exclusive, storage.replace):
        with pytest.raises(StorageError, match=r"x/y: Not a directory"):
            call(f"{folder}/x/y", b"2")
    with pytest.raises(StorageError, match="cannot list"):
        storage.list(f"{folder}/x")
    assert everything_below(folder) == ["x"]


def test_a_folder_in_the_place_of_a_file_is_an_error(storage: Storage, folder: str) -> None:
    storage.make_folder(f"{folder}/x")
    for call in (storage.read, storage.delete):
        with pytest.raises(StorageError, match="/x: "):
            call(f"{folder}/x")
    with pytest.raises(StorageError, match="/x: "):
        storage.replace(f"{folder}/x", b"1")
    assert everything_below(folder) == ["x"]


def test_arrow_reads_the_same_paths(storage: Storage, folder: str) -> None:
    storage.write(f"{folder}/x", b"123")
    info = storage.arrow_filesystem().get_file_info(f"{folder}/x")
    assert (info.type, info.size) == (pafs.FileType.File, 3)


# ---------------------------------------------------------------------------------------------- many processes


def test_exactly_one_of_many_processes_creates_a_name(folder: str) -> None:
    names, size = 400, 20_000
    won = together([(processes.create_all, (folder, worker, names, size)) for worker in range(WORKERS)])
    assert sorted(name for part in won for name in part) == list(range(names))
    assert sum(bool(part) for part in won) > 1, "there was no race"
    for worker, part in enumerate(won):
        for name in part:
            assert Path(f"{folder}/name-{name}").read_bytes() == bytes([worker]) * size
    assert everything_below(folder) == sorted(f"name-{name}" for name in range(names))


def test_what_many_processes_append_does_not_mix(storage: Storage, folder: str) -> None:
    storage.make_folder(folder)
    together([(processes.append_lines, (f"{folder}/s/lines", worker, 200)) for worker in range(WORKERS)])
    lines = storage.read(f"{folder}/s/lines").splitlines()
    assert sorted(lines) == sorted(bytes([65 + worker]) * 150 for worker in range(WORKERS) for _ in range(200))


def test_readers_see_the_old_or_the_new_content(storage: Storage, folder: str, tmp_path: Path) -> None:
    path, size, done = f"{folder}/hint", 50_000, str(tmp_path / "done")
    storage.replace(path, bytes(size))
    writers = [(processes.replace_until, (path, size, done))] * 2
    wrong, *rounds = together([(processes.watch, (path, size, 10, done)), *writers])
    assert wrong == []
    assert min(rounds) >= 10
    assert everything_below(folder) == ["hint"]


def test_a_created_file_is_never_seen_in_part(storage: Storage, folder: str) -> None:
    size, names = 2_000_000, 40
    partial: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            partial.extend(info.size for info in storage.list(folder) if info.size != size)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for name in range(names):
        assert storage.create_exclusive(f"{folder}/name-{name}", b"x" * size)
    done.set()
    watcher.join()
    assert partial == []


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


# ------------------------------------------------------------------------------------------------ for cleaning up


def test_hidden_files_are_listed_only_if_asked_for(tmp_path: Path) -> None:
    storage = LocalStorage()
    (tmp_path / ".a.tmp").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"22")
    assert [info.name for info in storage.list(str(tmp_path))] == ["b"]
    found = {info.name: info.size for info in storage.list(str(tmp_path), hidden=True)}
    assert found == {".a.tmp": 1, "b": 2}


def test_only_empty_folders_are_deleted(tmp_path: Path) -> None:
    storage = LocalStorage()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    assert storage.delete_empty_folder(str(tmp_path / "empty"))
    assert not (tmp_path / "empty").exists()
    assert not storage.delete_empty_folder(str(tmp_path / "empty"))
    assert not storage.delete_empty_folder(str(tmp_path / "full"))
    assert not storage.delete_empty_folder(str(tmp_path / "full" / "file"))
    assert (tmp_path / "full" / "file").exists()


# ------------------------------------------------------------------------------------------------- after a power cut


def test_files_that_survive_a_power_cut_are_like_others(storage: Storage, tmp_path: Path) -> None:
    root = str(tmp_path)
    storage.write(f"{root}/a/b/data", b"1")
    sync = Sync(root, (f"{root}/a/b/data", f"{root}/gone"))
    assert storage.create_exclusive(f"{root}/s/one", b"2", sync=sync)
    assert not storage.create_exclusive(f"{root}/s/one", b"3", sync=sync)
    assert not storage.create_exclusive(f"{root}/s/two", b"3", lambda: False, sync=sync)
    storage.replace(f"{root}/s/one", b"4", sync=sync)
    assert storage.read(f"{root}/s/one") == b"4"
    storage.sync([f"{root}/a/b/data", f"{root}/s", f"{root}/nothing/here"], below=root)
    assert files_in(root) == {"a/b/data", "s/one"}


def files_in(root: str) -> set[str]:
    return {str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_file()}
