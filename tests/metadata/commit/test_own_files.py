"""A commit whose files were deleted before it became visible fails, and says what to do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.metadata.entries import adds, entries, entry
from tests.metadata.stores import Interrupted, check_tidy, commit_files, new_store, open_store
from tests.places import stored_path

from lakebed import Table
from lakebed.errors import CommitConflictError, NotFoundError
from lakebed.format.manifest.index_manifest import IndexEntry
from lakebed.metadata.commit import own_files
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.store import TableStore
from lakebed.operations.orphans import remove_orphan_files
from lakebed.storage import LocalStorage

INDEX = IndexEntry(kind=0, partition=b"", bucket=0, index_type="HASH", file_name="index-1", file_size=4, row_count=1)


def interrupted(table: Table, hook: Callable[[], object], before: str = "create_exclusive") -> Table:
    """The same table; something else happens right before its next snapshot is created."""
    storage = Interrupted(hook, before=before, inner=LocalStorage())
    return Table(TableStore(storage, table._store.paths, table.name))


def clean(table: Table) -> None:
    """A removal of orphan files that takes every file for an old one, as a clock far ahead would."""
    remove_orphan_files(table._store, older_than="0 s", dry_run=False, force=True)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_write_whose_files_were_removed_fails(table: Callable[..., Table], keyed: bool) -> None:
    more = {"primary_key": ["id"], "options": {"bucket": "1"}} if keyed else {}
    made = table(**more)
    made.write([{"id": 1, "v": "a"}])
    with pytest.raises(CommitConflictError, match=r"that this write to db.t0 created no longer exist.*write the data"):
        interrupted(made, lambda: clean(made)).write([{"id": 2, "v": "b"}])
    assert made.scan().to_arrow().to_pylist() == [{"id": 1, "v": "a"}]
    latest = made.latest_snapshot()
    assert latest is not None
    assert latest.id == 1
    made.write([{"id": 3, "v": "c"}])
    assert made.verify(deep=True).ok
    assert made.remove_orphan_files(older_than="0 s", dry_run=True).files == ()


def test_a_write_that_is_paused_before_it_becomes_visible(table: Callable[..., Table]) -> None:
    """Two threads: one writes and waits, the other removes orphan files meanwhile."""
    made = table()
    made.write([{"id": 1, "v": "a"}])
    waits, goes_on = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def pause() -> None:
        waits.set()
        assert goes_on.wait(20)

    def write() -> None:
        try:
            interrupted(made, pause).write([{"id": 2, "v": "b"}])
        except CommitConflictError as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    assert waits.wait(20)
    clean(made)
    goes_on.set()
    writer.join()
    assert len(failures) == 1
    assert "Nothing was committed" in str(failures[0])
    assert made.scan().to_arrow().to_pylist() == [{"id": 1, "v": "a"}]
    assert made.verify(deep=True).ok


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("kind", ["data", "manifest", "list"])
def test_every_file_of_a_commit_is_checked(table: Callable[..., Table], kind: str, durable: bool) -> None:
    made = table(options={"commit.durable": str(durable).lower()})
    made.write([{"id": 1, "v": "a"}])
    patterns = {"data": "bucket-0/data-*", "manifest": "manifest/manifest-[!l]*", "list": "manifest/manifest-list-*"}
    before = set(stored_path(made.path).glob(patterns[kind]))

    def remove() -> None:
        (new, *_) = sorted(set(stored_path(made.path).glob(patterns[kind])) - before)
        new.unlink()

    with pytest.raises(CommitConflictError, match="such as"):
        interrupted(made, remove).write([{"id": 2, "v": "b"}])
    assert made.verify(deep=True).ok


def test_compactions_and_deletes_are_checked(table: Callable[..., Table]) -> None:
    made = table(options={"write-only": "true"})
    for number in range(3):
        made.write([{"id": number, "v": "a"}, {"id": number + 10, "v": "b"}])
    calls: list[Callable[[Table], object]] = [
        lambda t: t.compact(full=True),
        lambda t: t.delete("id = 1"),
        lambda t: t.overwrite([{"id": 9, "v": "c"}]),
    ]
    for call in calls:
        with pytest.raises(CommitConflictError, match="no longer exist"):
            call(interrupted(made, lambda: clean(made)))
        assert made.verify(deep=True).ok
    assert made.count() == 6


def test_paths_of_added_files(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    files = entries(entry("a", extra_files=["a.index"]), entry("b", kind=1), entry("c", bucket=2))
    found = own_files.added_files(store, store.schema(), (files, adds("log")), (INDEX, replace(INDEX, kind=1)))
    root = store.paths.root
    assert sorted(found) == [
        f"{root}/bucket-0/a",
        f"{root}/bucket-0/a.index",
        f"{root}/bucket-0/log",
        f"{root}/bucket-2/c",
        f"{root}/index/index-1",
    ]


def test_many_files_are_checked_in_parallel(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    folder = tmp_path / "t" / "bucket-0"
    folder.mkdir()
    names = [f"data-{number}" for number in range(100)]
    for name in names:
        (folder / name).touch()
    real = open_store(tmp_path / "t", LocalStorage())
    assert commit_files(real, adds(*names)).id == 1
    (folder / "data-51").unlink()
    with pytest.raises(CommitConflictError, match=r"^1 of the 10\d files .*bucket-0/data-51"):
        commit(real, append(Change(entries=adds(*names, level=1))))
    assert len(list(folder.iterdir())) == 99
    check_tidy(store.paths.root)


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_is_dropped_during_the_check_is_reported_as_dropped(
    table: Callable[..., Table], again: bool
) -> None:
    """The drop comes after the commit has looked at the latest snapshot, and before it looks for its files."""
    made = table()
    made.write([{"id": 1, "v": "a"}])
    root = stored_path(made.path)

    def drop() -> None:
        root.rename(root.parent / ".gone")
        if again:
            new_store(root, "id BIGINT, w STRING")

    class Dropping(LocalStorage):
        asked = False

        def exists(self, path: str) -> bool:
            if "/data-" in path and not Dropping.asked:
                Dropping.asked = True
                drop()
            return super().exists(path)

    racing = Table(TableStore(Dropping(), made._store.paths, made.name, durable=False))
    with pytest.raises(NotFoundError, match="another one created in its place" if again else "does not exist"):
        racing.write([{"id": 2, "v": "b"}])
    assert Dropping.asked
