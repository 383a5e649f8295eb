"""One suite for every storage: what base.py promises, from one process and from many.

A test module subclasses :class:`StorageContract` for each storage, and has the fixtures ``storage`` and ``folder``: a
storage, and a path on it that does not exist yet.
"""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from tests.races.crew import together
from tests.storage import processes

from lakebed.errors import AlreadyExistsError, NotFoundError, StorageError
from lakebed.storage import Storage, Sync


def everything_below(storage: Storage, path: str) -> list[str]:
    """Every file and folder, hidden temporaries too, relative to a folder."""
    found = []
    for info in storage.list(path, hidden=True):
        found.append(info.name)
        if info.is_dir and not info.is_link:
            found += [f"{info.name}/{inner}" for inner in everything_below(storage, f"{path}/{info.name}")]
    return sorted(found)


def needs_folders(storage: Storage) -> None:
    """Ends a test of what only storages with real folders do."""
    if not storage.can_rename:
        pytest.skip("folders are prefixes of names here")


class StorageContract:
    """The tests; a subclass may make races smaller, where a file takes longer, and let the processes meet each turn."""

    workers: ClassVar = 8
    raced_names: ClassVar = 400
    turn_seconds: ClassVar = 0.0
    watched_names: ClassVar = 40

    # --------------------------------------------------------------------------------------------- one process

    def test_what_was_written_is_read(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/a/b", b"0123456789")
        assert storage.read(f"{folder}/a/b") == b"0123456789"
        assert storage.size(f"{folder}/a/b") == 10
        assert storage.exists(f"{folder}/a/b")
        assert storage.exists(f"{folder}/a") == storage.can_rename
        assert not storage.exists(f"{folder}/a/c")
        assert not storage.is_link(f"{folder}/a")
        assert not storage.is_link(f"{folder}/a/b")

    def test_names_may_have_any_characters(self, storage: Storage, folder: str) -> None:
        names = ["a b", "day=2024-01-01", "50%", "%20", "ü", "a+b", "#1", "q?x=1", "it's"]
        for name in names:
            storage.write(f"{folder}/{name}/f{name}", name.encode())
        assert sorted(info.name for info in storage.list(folder)) == sorted(names)
        for name in names:
            assert [info.name for info in storage.list(f"{folder}/{name}")] == [f"f{name}"]
            assert storage.read(f"{folder}/{name}/f{name}") == name.encode()

    def test_an_empty_file_is_a_file(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/empty", b"")
        assert storage.create_exclusive(f"{folder}/empty2", b"")
        assert storage.read(f"{folder}/empty") == storage.read(f"{folder}/empty2") == b""
        assert storage.size(f"{folder}/empty") == 0

    def test_ranges(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/x", b"0123456789")
        assert storage.read_range(f"{folder}/x", 2, 3) == b"234"
        assert storage.read_range(f"{folder}/x", 8, 5) == b"89"
        assert storage.read_range(f"{folder}/x", 20, 5) == b""
        assert storage.read_range(f"{folder}/x", 0, 0) == b""

    def test_a_listing_has_files_and_folders_but_no_temporaries(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/file", b"123")
        storage.write(f"{folder}/sub/inner", b"1")
        storage.write(f"{folder}/.hidden.tmp", b"1")
        found = {info.name: info for info in storage.list(folder)}
        assert set(found) == {"file", "sub"}
        assert (found["file"].is_dir, found["file"].size) == (False, 3)
        assert found["sub"].is_dir
        assert found["file"].modified_millis > 1_600_000_000_000
        assert storage.list(f"{folder}/absent") == []
        assert {info.name for info in storage.list(folder, hidden=True)} == {"file", "sub", ".hidden.tmp"}

    def test_a_tree_has_all_files(self, storage: Storage, folder: str) -> None:
        for name in ("file", "sub/inner", "sub/deep/.hidden", "other/x"):
            storage.write(f"{folder}/{name}", name.encode())
        found = {path: info.size for path, info in storage.list_tree(f"{folder}/sub")}
        assert found == {f"{folder}/sub/inner": 9, f"{folder}/sub/deep/.hidden": 16}
        assert list(storage.list_tree(f"{folder}/absent")) == []

    @pytest.mark.parametrize("call", ["read", "size", "read_range"])
    def test_a_missing_file_is_named(self, storage: Storage, folder: str, call: str) -> None:
        arguments = (0, 1) if call == "read_range" else ()
        with pytest.raises(NotFoundError, match="absent: there is no such file"):
            getattr(storage, call)(f"{folder}/absent", *arguments)

    def test_exclusive_creation_happens_once(self, storage: Storage, folder: str) -> None:
        assert storage.create_exclusive(f"{folder}/deep/x", b"first")
        assert not storage.create_exclusive(f"{folder}/deep/x", b"second")
        assert storage.read(f"{folder}/deep/x") == b"first"
        assert everything_below(storage, folder) == ["deep", "deep/x"]

    def test_a_creation_that_should_not_happen_any_more(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/there", b"1")
        assert not storage.create_exclusive(f"{folder}/x", b"1", lambda: False)
        assert everything_below(storage, folder) == ["there"]

        def fails() -> bool:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            storage.create_exclusive(f"{folder}/x", b"1", fails)
        assert everything_below(storage, folder) == ["there"]
        assert storage.create_exclusive(f"{folder}/x", b"1", lambda: True)

    def test_a_folder_that_is_renamed_before_a_creation(self, storage: Storage, folder: str) -> None:
        needs_folders(storage)
        storage.make_folder(f"{folder}/t")

        def renamed() -> bool:
            storage.rename_folder(f"{folder}/t", f"{folder}/dropped")
            storage.make_folder(f"{folder}/t")
            return True

        assert not storage.create_exclusive(f"{folder}/t/x", b"1", renamed)
        assert storage.list(f"{folder}/t", hidden=True) == []

    def test_files_that_survive_a_power_cut_are_like_others(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/a/b/data", b"1")
        sync = Sync(folder, (f"{folder}/a/b/data", f"{folder}/gone"))
        assert storage.create_exclusive(f"{folder}/s/one", b"2", sync=sync)
        assert not storage.create_exclusive(f"{folder}/s/one", b"3", sync=sync)
        assert not storage.create_exclusive(f"{folder}/s/two", b"3", lambda: False, sync=sync)
        storage.replace(f"{folder}/s/one", b"4", sync=sync)
        assert storage.read(f"{folder}/s/one") == b"4"
        storage.sync([f"{folder}/a/b/data", f"{folder}/s", f"{folder}/nothing/here"], below=folder)
        assert {path for path, _ in storage.list_tree(folder)} == {f"{folder}/a/b/data", f"{folder}/s/one"}

    def test_replace_makes_and_changes(self, storage: Storage, folder: str) -> None:
        storage.replace(f"{folder}/hint", b"1")
        storage.replace(f"{folder}/hint", b"22", gap=True)
        assert storage.read(f"{folder}/hint") == b"22"
        storage.replace(f"{folder}/other", b"1", gap=True)
        assert storage.read(f"{folder}/other") == b"1"
        storage.delete(f"{folder}/other")
        storage.replace(f"{folder}/hint", b"22")
        assert storage.read(f"{folder}/hint") == b"22"
        assert everything_below(storage, folder) == ["hint"]

    def test_a_stamp_changes_with_the_file(self, storage: Storage, folder: str) -> None:
        assert storage.stamp(f"{folder}/x") is None
        storage.write(f"{folder}/x", b"1")
        first = storage.stamp(f"{folder}/x")
        assert first is not None
        assert storage.stamp(f"{folder}/x") == first
        storage.replace(f"{folder}/x", b"22")
        second = storage.stamp(f"{folder}/x")
        assert second not in {first, None}
        assert storage.read_stamped(f"{folder}/x") == (b"22", second)
        with pytest.raises(NotFoundError, match="absent: there is no such file"):
            storage.read_stamped(f"{folder}/absent")

    def test_appending_makes_a_file_and_its_folder_and_no_more(self, storage: Storage, folder: str) -> None:
        if not storage.can_append:
            with pytest.raises(StorageError, match=r"cannot append to .*/x: "):
                storage.append(f"{folder}/x", b"x")
            return
        with pytest.raises(NotFoundError):
            storage.append(f"{folder}/a/b", b"x")
        assert not storage.exists(folder)
        storage.make_folder(folder)
        for part in (b"one", b"", b" two"):
            storage.append(f"{folder}/a/b", part)
        assert storage.read(f"{folder}/a/b") == b"one two"
        assert everything_below(storage, folder) == ["a", "a/b"]
        with pytest.raises(StorageError, match="cannot write"):
            storage.append(f"{folder}/a", b"x")

    def test_deleting(self, storage: Storage, folder: str) -> None:
        for name in ("a/x", "b/c/y", "m/1", "m/2", "m/3"):
            storage.write(f"{folder}/{name}", b"1")
        storage.delete(f"{folder}/a/x")
        storage.delete(f"{folder}/a/x")
        storage.delete_tree(f"{folder}/b")
        storage.delete_tree(f"{folder}/b")
        storage.delete_many([f"{folder}/m/1", f"{folder}/m/absent", f"{folder}/m/3"])
        storage.delete_many([])
        assert everything_below(storage, folder) == (["a"] if storage.can_rename else []) + ["m", "m/2"]

    def test_only_empty_folders_are_deleted(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/full/file", b"")
        storage.make_folder(f"{folder}/empty")
        assert storage.delete_empty_folder(f"{folder}/empty") == storage.can_rename
        assert not storage.delete_empty_folder(f"{folder}/empty")
        assert not storage.delete_empty_folder(f"{folder}/full")
        assert not storage.delete_empty_folder(f"{folder}/full/file")
        assert everything_below(storage, folder) == ["full", "full/file"]

    def test_renaming_a_folder(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/a/x", b"1")
        if not storage.can_rename:
            with pytest.raises(StorageError, match="cannot rename"):
                storage.rename_folder(f"{folder}/a", f"{folder}/b")
            return
        storage.make_folder(f"{folder}/taken/deep")
        storage.write(f"{folder}/file", b"1")
        for target in ("taken", "file"):
            with pytest.raises(AlreadyExistsError, match=f"{target} already exists"):
                storage.rename_folder(f"{folder}/a", f"{folder}/{target}")
        storage.rename_folder(f"{folder}/a", f"{folder}/b")
        assert everything_below(storage, folder) == ["b", "b/x", "file", "taken", "taken/deep"]
        with pytest.raises(NotFoundError):
            storage.rename_folder(f"{folder}/a", f"{folder}/c")

    def test_make_folder_twice(self, storage: Storage, folder: str) -> None:
        storage.make_folder(f"{folder}/a/b")
        storage.make_folder(f"{folder}/a/b")
        assert everything_below(storage, folder) == (["a", "a/b"] if storage.can_rename else [])

    def test_copying(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/a/x", bytes(range(256)) * 2000)
        storage.copy(f"{folder}/a/x", f"{folder}/b/c/y")
        assert storage.read(f"{folder}/b/c/y") == storage.read(f"{folder}/a/x") == bytes(range(256)) * 2000
        with pytest.raises(NotFoundError, match="absent: there is no such file"):
            storage.copy(f"{folder}/absent", f"{folder}/z")

    def test_writing_does_not_overwrite(self, storage: Storage, folder: str) -> None:
        needs_folders(storage)  # an object store overwrites; names of files are unique
        storage.write(f"{folder}/x", b"first")
        with pytest.raises(StorageError, match=r"cannot write .*/x: File exists"):
            storage.write(f"{folder}/x", b"second")
        assert storage.read(f"{folder}/x") == b"first"

    def test_a_file_in_the_place_of_a_folder_is_an_error(self, storage: Storage, folder: str) -> None:
        needs_folders(storage)
        storage.write(f"{folder}/x", b"1")
        for call in (storage.write, storage.create_exclusive, storage.replace):
            with pytest.raises(StorageError, match=r"x/y: Not a directory"):
                call(f"{folder}/x/y", b"2")
        with pytest.raises(StorageError, match="cannot list"):
            storage.list(f"{folder}/x")
        assert everything_below(storage, folder) == ["x"]

    def test_a_folder_in_the_place_of_a_file_is_an_error(self, storage: Storage, folder: str) -> None:
        needs_folders(storage)
        storage.make_folder(f"{folder}/x")
        for call in (storage.read, storage.delete):
            with pytest.raises(StorageError, match="/x: "):
                call(f"{folder}/x")
        with pytest.raises(StorageError, match="/x: "):
            storage.replace(f"{folder}/x", b"1")
        assert everything_below(storage, folder) == ["x"]

    def test_a_storage_is_pickled_without_its_connections(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/x", b"123")
        again = pickle.loads(pickle.dumps(storage))
        assert type(again) is type(storage)
        assert again.read(f"{folder}/x") == b"123"

    # ---------------------------------------------------------------------------------------------------- Arrow

    def test_arrow_reads_the_same_paths(self, storage: Storage, folder: str) -> None:
        storage.write(f"{folder}/x", b"123")
        found = storage.arrow_filesystem().get_file_info([f"{folder}/x", f"{folder}/absent"])
        assert [info.type for info in found] == [pafs.FileType.File, pafs.FileType.NotFound]
        assert found[0].size == 3
        with storage.arrow_filesystem().open_input_stream(f"{folder}/x") as file:
            assert file.read() == b"123"

    def test_arrow_writes_and_reads_parquet(self, storage: Storage, folder: str) -> None:
        storage.make_folder(folder)
        path = f"{folder}/data.parquet"
        columns = {name: np.random.default_rng(seed).random(400_000) for seed, name in enumerate("abc")}
        written: Any = pa.table(columns)
        files = storage.arrow_filesystem()
        pq.write_table(written, path, filesystem=files, row_group_size=100_000)
        assert storage.size(path) > 9_000_000
        assert pq.read_table(path, filesystem=files).equals(written)
        assert pq.read_table(path, filesystem=files, columns=["b"]).equals(written.select(["b"]))
        if storage.has_ranges:
            file: Any = storage.open_ranges(path)
            content = storage.read(path)
            parts = [(4, 1000), (5000, 5001), (4_000_000, 7_000_000), (len(content) - 10, len(content)), (3, 3)]
            file.prefetch(parts)
            for start, end in parts:
                file.seek(start)
                assert bytes(file.read(end - start)) == content[start:end]
            fork = file.fork()
            fork.seek(-4, 2)
            assert bytes(fork.read()) == b"PAR1"

    # ------------------------------------------------------------------------------------------- many processes

    def test_exactly_one_of_many_processes_creates_a_name(self, storage: Storage, folder: str, tmp_path: Path) -> None:
        names, size, winners = self.raced_names, 20_000, 0
        for attempt in range(5):  # on a busy machine one process may win all names of an attempt
            ready, inner = tmp_path / f"ready-{attempt}", f"{folder}/{attempt}"
            ready.mkdir()
            rest = (names, size, processes.Race(str(ready), self.workers, self.turn_seconds))
            won = together([(processes.create_all, (storage, inner, worker, *rest)) for worker in range(self.workers)])
            assert sorted(name for part in won for name in part) == list(range(names))
            for worker, part in enumerate(won):
                for name in part:
                    assert storage.read(f"{inner}/name-{name}") == bytes([worker]) * size
            assert everything_below(storage, inner) == sorted(f"name-{name}" for name in range(names))
            winners = sum(bool(part) for part in won)
            if winners > 1:
                break
        assert winners > 1, "there was no race"

    def test_what_many_processes_append_does_not_mix(self, storage: Storage, folder: str) -> None:
        if not storage.can_append:
            pytest.skip("there is no append here")
        storage.make_folder(folder)
        path = f"{folder}/s/lines"
        together([(processes.append_lines, (storage, path, worker, 200)) for worker in range(self.workers)])
        lines = storage.read(path).splitlines()
        assert sorted(lines) == sorted(bytes([65 + worker]) * 150 for worker in range(self.workers) for _ in range(200))

    def test_readers_see_the_old_or_the_new_content(self, storage: Storage, folder: str, tmp_path: Path) -> None:
        path, size, done = f"{folder}/hint", 50_000, str(tmp_path / "done")
        storage.replace(path, bytes(size))
        writers = [(processes.replace_until, (storage, path, size, done))] * 2
        wrong, *rounds = together([(processes.watch, (storage, path, size, 10, done)), *writers])
        assert wrong == []
        assert min(rounds) >= 10
        assert everything_below(storage, folder) == ["hint"]

    def test_a_created_file_is_never_seen_in_part(self, storage: Storage, folder: str) -> None:
        size = 2_000_000
        partial: list[int] = []
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                found = [info for info in storage.list(folder) if not info.is_dir]  # MinIO shows a folder first
                partial.extend(info.size for info in found if info.size != size)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for name in range(self.watched_names):
            assert storage.create_exclusive(f"{folder}/name-{name}", b"x" * size)
        done.set()
        watcher.join()
        assert partial == []
