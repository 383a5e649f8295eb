from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import adds
from tests.metadata.stores import Interrupted, Logged, commit_files, new_store, open_store, write_snapshot
from tests.places import copy_file, stored_path

from lakebed.errors import CorruptError, NotFoundError, StorageError, UnsupportedError
from lakebed.metadata.snapshots import Snapshots
from lakebed.metadata.store import TableStore


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path / "t")


def fill(store: TableStore, *ids: int) -> Snapshots:
    for snapshot_id in ids:
        write_snapshot(store, snapshot_id, time_millis=snapshot_id)
    return store.snapshots


def set_hint(path: str, content: bytes | None) -> None:
    if content is None:
        stored_path(path).unlink(missing_ok=True)
    else:
        stored_path(path).write_bytes(content)


def forget(store: TableStore, snapshot_id: int) -> None:
    stored_path(store.paths.snapshot(snapshot_id)).unlink()


def test_a_table_without_snapshots(store: TableStore) -> None:
    snapshots = store.snapshots
    assert (snapshots.ids(), snapshots.latest_id(), snapshots.earliest_id()) == ([], None, None)
    assert snapshots.latest() is None
    assert snapshots.earliest() is None
    assert snapshots.at(10**15) is None
    with pytest.raises(NotFoundError, match="snapshot 1 of table t does not exist; it has no snapshots"):
        snapshots.get(1)


def test_by_id(store: TableStore) -> None:
    snapshots = fill(store, 2, 3, 7)
    assert snapshots.get(3).id == 3
    assert snapshots.find(4) is None
    assert snapshots.ids() == [2, 3, 7]
    with pytest.raises(NotFoundError, match="snapshot 4 of table t does not exist; snapshots 2 to 7 exist"):
        snapshots.get(4)


def test_creating(store: TableStore) -> None:
    first = write_snapshot(store, 1)
    assert stored_path(store.paths.latest_hint).read_bytes() == b"1"
    assert not stored_path(store.paths.earliest_hint).exists()
    assert not store.snapshots.create(first)
    write_snapshot(store, 2)
    assert stored_path(store.paths.latest_hint).read_bytes() == b"2"


def test_a_hint_that_cannot_be_written_changes_nothing(store: TableStore) -> None:
    write_snapshot(store, 1)
    stored_path(store.paths.latest_hint).unlink()
    stored_path(store.paths.latest_hint).mkdir()
    write_snapshot(store, 2)
    assert store.snapshots.latest_id() == 2


RUBBISH = [None, b"", b"x", b"-1", b"-5", b"1.0", b"\xff\xfe\x00", b"9" * 30, b"0", b"1\n2", "٣".encode(), bytes(1000)]


@pytest.mark.parametrize("hint", [*RUBBISH, b"1", b"3", b"7", b"8", b"99", b" 7\n"])
def test_the_latest_whatever_its_hint_says(store: TableStore, hint: bytes | None) -> None:
    snapshots = fill(store, 1, 2, 3, 4, 5, 6, 7)
    set_hint(store.paths.latest_hint, hint)
    assert snapshots.latest_id() == 7
    latest = snapshots.latest()
    assert latest is not None
    assert latest.id == 7


@pytest.mark.parametrize("hint", [*RUBBISH, b"1", b"3", b"4", b"7", b"99"])
def test_the_earliest_whatever_its_hint_says(store: TableStore, hint: bytes | None) -> None:
    snapshots = fill(store, 3, 4, 5, 6, 7)
    set_hint(store.paths.earliest_hint, hint)
    assert snapshots.earliest_id() == 3


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sets(st.integers(1, 12), max_size=8), st.integers(0, 14).map(lambda n: str(n).encode()) | st.binary(max_size=4)
)
def test_hints_and_holes(ids: set[int], hint: bytes) -> None:
    # Paimon's rule: a hint is good if its snapshot is there and the one next to it is not. A wrong hint whose neighbour
    # is a hole passes for a good one; only a listing of all snapshots for every commit could tell.
    number = int(hint) if hint.isdigit() else None
    assume(number not in ids or number == max(ids) or number + 1 in ids)
    assume(number not in ids or number == min(ids) or number - 1 in ids)
    with tempfile.TemporaryDirectory() as root:
        store = new_store(root)
        snapshots = fill(store, *ids)
        stored_path(store.paths.snapshots).mkdir(exist_ok=True)
        set_hint(store.paths.latest_hint, hint)
        set_hint(store.paths.earliest_hint, hint)
        assert snapshots.latest_id() == max(ids, default=None)
        assert snapshots.earliest_id() == min(ids, default=None)


def test_a_good_hint_saves_the_listing(store: TableStore) -> None:
    fill(store, *range(1, 30))
    logged = Logged()
    latest = open_store(store.paths.root, logged).snapshots.latest()
    assert latest is not None
    assert latest.id == 29
    assert logged.names("list") == []
    assert len(logged.log) == 3


def test_other_files_in_the_folder_are_not_snapshots(store: TableStore) -> None:
    snapshots = fill(store, 1, 2)
    for name in ("snapshot-", "snapshot-x", "snapshot-3.tmp", "snapshot-03", ".snapshot-9.uuid.tmp", "readme", "tag-7"):
        stored_path(store.paths.snapshots, name).write_text("{}")
    set_hint(store.paths.latest_hint, None)
    assert snapshots.ids() == [1, 2]
    assert snapshots.latest_id() == 2


# ------------------------------------------------------------------------------------------------------ by time


@settings(max_examples=examples(80), deadline=None)
@given(st.dictionaries(st.integers(1, 60), st.integers(0, 8), max_size=40), st.lists(st.integers(-1, 9), max_size=4))
def test_by_time_is_what_brute_force_finds(times: dict[int, int], asked: list[int]) -> None:
    """Times repeat and step back, ids have holes."""
    with tempfile.TemporaryDirectory() as root:
        store = new_store(root)
        for snapshot_id, moment in times.items():
            write_snapshot(store, snapshot_id, moment)
        for moment in asked:
            wanted = max((number for number, at in times.items() if at <= moment), default=None)
            found = store.snapshots.at(moment)
            assert (None if found is None else found.id) == wanted


def test_by_time_reads_no_more_than_a_window_for_a_recent_moment(store: TableStore) -> None:
    fill(store, *range(1, 101))
    logged = Logged()
    found = open_store(store.paths.root, logged).snapshots.at(99)
    assert found is not None
    assert found.id == 99
    assert len(logged.names("read")) <= 8


# ------------------------------------------------------------------------------------------------ while others expire


def test_the_latest_while_it_is_rolled_back(store: TableStore) -> None:
    fill(store, 1, 2, 3)

    def roll_back() -> None:
        forget(store, 3)
        set_hint(store.paths.latest_hint, b"2")

    racing = Interrupted(roll_back, before="read", ending="snapshot-3")
    latest = open_store(store.paths.root, racing).snapshots.latest()
    assert latest is not None
    assert latest.id == 2


def test_the_earliest_while_it_expires(store: TableStore) -> None:
    fill(store, 1, 2, 3, 4)
    set_hint(store.paths.earliest_hint, b"1")
    expiries = [lambda: forget(store, 1), lambda: forget(store, 2)]
    racing = Interrupted(*expiries, before="read", ending="-1")
    earliest = open_store(store.paths.root, racing).snapshots.earliest()
    assert earliest is not None
    assert earliest.id == 2


def test_a_listing_while_snapshots_expire(store: TableStore) -> None:
    fill(store, *range(1, 13))
    ids = store.snapshots.ids()
    for gone in (1, 2, 3):
        forget(store, gone)
    assert [snapshot.id for snapshot in store.snapshots.read_many(ids)] == list(range(4, 13))
    assert [snapshot.id for snapshot in store.snapshots.read_many([12, 3, 5])] == [12, 5]


def test_by_time_while_snapshots_expire(store: TableStore) -> None:
    fill(store, *range(1, 8))

    def expire() -> None:
        for gone in range(1, 5):
            forget(store, gone)

    racing = Interrupted(expire, before="read")
    snapshots = open_store(store.paths.root, racing).snapshots
    assert snapshots.at(4) is None
    found = snapshots.at(5)
    assert found is not None
    assert found.id == 5


# -------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("content", [b"", b"{", b"rubbish", b"[]", b"\xff" * 10, b'{"version": 3}'])
def test_a_damaged_snapshot_is_named(store: TableStore, content: bytes) -> None:
    fill(store, 1)
    stored_path(store.paths.snapshot(1)).write_bytes(content)
    for look in (store.snapshots.latest, store.snapshots.earliest, lambda: store.snapshots.at(5)):
        with pytest.raises(CorruptError, match="t/snapshot/snapshot-1 "):
            look()


def test_a_snapshot_of_a_newer_format_is_refused(store: TableStore) -> None:
    fill(store, 1)
    path = stored_path(store.paths.snapshot(1))
    path.write_text(path.read_text().replace('"version": 3', '"version": 4'))
    with pytest.raises(UnsupportedError, match="snapshot-1 has format version 4"):
        store.snapshots.latest()


def test_a_folder_in_the_place_of_a_snapshot_is_an_error(store: TableStore) -> None:
    fill(store, 1)
    stored_path(store.paths.snapshot(2)).mkdir()
    began = time.monotonic()
    with pytest.raises(StorageError, match="snapshot-2"):
        store.snapshots.latest()
    assert time.monotonic() - began < 5


# ---------------------------------------------------------------------------------------------------------- tags


def tag(store: TableStore, name: str, snapshot_id: int) -> None:
    stored_path(store.paths.tags).mkdir(exist_ok=True)
    stored_path(store.paths.tag(name)).write_bytes(stored_path(store.paths.snapshot(snapshot_id)).read_bytes())


def test_tags(store: TableStore) -> None:
    assert store.snapshots.tags() == {}
    fill(store, 1, 2)
    tag(store, "b", 1)
    tag(store, "a", 2)
    stored_path(store.paths.tags, "other").write_text("x")
    assert {name: snapshot.id for name, snapshot in store.snapshots.tags().items()} == {"a": 2, "b": 1}
    assert store.snapshots.tag("b").id == 1
    assert store.snapshots.find_tag("c") is None
    with pytest.raises(NotFoundError, match=r"^table t has no tag 'c'; its tags: a, b$"):
        store.snapshots.tag("c")


def test_a_tag_outlives_its_snapshot(store: TableStore) -> None:
    fill(store, 1, 2)
    tag(store, "v1", 1)
    forget(store, 1)
    assert store.snapshots.tag("v1").id == 1


def test_tags_while_one_is_deleted(store: TableStore) -> None:
    fill(store, 1)
    tag(store, "a", 1)
    tag(store, "b", 1)
    racing = Interrupted(stored_path(store.paths.tag("a")).unlink, before="read")
    assert list(open_store(store.paths.root, racing).snapshots.tags()) == ["b"]


def test_a_damaged_tag_is_named(store: TableStore) -> None:
    fill(store, 1)
    tag(store, "a", 1)
    stored_path(store.paths.tag("a")).write_bytes(b"{")
    with pytest.raises(CorruptError, match="t/tag/tag-a is not valid JSON"):
        store.snapshots.tags()


# ------------------------------------------------------------------------------------------------------ branches


def test_a_branch_has_snapshots_of_its_own(store: TableStore) -> None:
    fill(store, 1, 2)
    stored_path(store.paths.branches, "branch-b1", "schema").mkdir(parents=True)
    branch = store.on_branch("b1")
    assert branch.snapshots.latest() is None
    write_snapshot(branch, 3)
    assert branch.snapshots.ids() == [3]
    assert store.snapshots.ids() == [1, 2]
    assert store.branch_names() == ["b1"]
    with pytest.raises(NotFoundError, match="snapshot 9 of branch b1 of table t does not exist"):
        branch.snapshots.get(9)
    with pytest.raises(NotFoundError, match=r"table db\.t has no branch 'b2'; its branches: main, b1"):
        store.on_branch("b2")
    assert branch.on_branch("main").snapshots.ids() == [1, 2]


def test_a_snapshot_under_the_name_of_another(store: TableStore) -> None:
    """Believed, its id would make a writer try an id that is taken, for ever."""
    snapshots = fill(store, 1, 2)
    copy_file(store.paths.snapshot(1), store.paths.snapshot(2))
    path = store.paths.snapshot(2)
    for look in (snapshots.latest, lambda: snapshots.get(2), lambda: snapshots.read_many([1, 2])):
        with pytest.raises(CorruptError, match=f"{path} says that its id is 1, so it is not snapshot 2; restore"):
            look()
    with pytest.raises(CorruptError, match="is not snapshot 2"):
        commit_files(store, adds("a"))
    assert snapshots.get(1).id == 1


def test_a_hint_that_is_a_pipe_is_not_waited_for(store: TableStore) -> None:
    snapshots = fill(store, 1, 2)
    for path in (store.paths.latest_hint, store.paths.earliest_hint):
        stored_path(path).unlink(missing_ok=True)
        os.mkfifo(path)
    assert (snapshots.latest_id(), snapshots.earliest_id()) == (2, 1)
    write_snapshot(store, 3)
    assert stored_path(store.paths.latest_hint).read_bytes() == b"3"
