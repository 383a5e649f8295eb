from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import long_except
from tests.metadata.entries import adds
from tests.metadata.needed_files import files_on_disk, needed_files
from tests.metadata.stores import Failing, Interrupted, Logged, commit_files, new_store, open_store, write_snapshot
from tests.operations.expire.small_histories import add, change, names_on_disk
from tests.places import copy_tree, delete_tree, stored_path

from lakebed.errors import LakebedError, OptionError, StorageError
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import ADD, DELETE, NO_ENTRIES
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.consumers import reset_consumer
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.compact.compact_manifests import compact_manifests
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.expire.retention import Retention, first_kept, range_to_expire, retention
from lakebed.operations.orphans import remove_orphan_files
from lakebed.options import TableOptions

FUTURE = 2**50


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path / "t", options={"snapshot.num-retained.min": "1", "write-only": "true"})


def expire(store: TableStore, keep: int, **more: Any) -> Any:
    return expire_snapshots(store, retain_max=keep, retain_min=keep, older_than=FUTURE, **more)


# ------------------------------------------------------------------------------------------------- which snapshots go


def literally(earliest: int, latest: int, wanted: Retention, next_read: int | None, times: dict[int, int]) -> list[int]:
    """The rule as the fact sheet has it, one snapshot at a time."""
    low = max(latest - wanted.retain_max + 1, earliest)
    end = latest - wanted.retain_min + 1
    if next_read is not None:
        end = min(end, next_read)
    end = min(end, earliest + wanted.max_deletes)
    number = low
    while number < end:
        if number + 1 in times and times[number + 1] >= wanted.cutoff_millis:
            end = number
            break
        number += 1
    return list(range(earliest, end))


@given(
    earliest=st.integers(1, 5),
    times=st.lists(st.integers(0, 10), min_size=1, max_size=12),
    retain=st.tuples(st.integers(1, 14), st.integers(1, 14)),
    cutoff=st.integers(0, 11),
    limit=st.integers(1, 14),
    next_read=st.none() | st.integers(0, 20),
)
def test_the_snapshots_that_go(
    earliest: int, times: list[int], retain: tuple[int, int], cutoff: int, limit: int, next_read: int | None
) -> None:
    latest = earliest + len(times) - 1
    by_id = dict(enumerate(times, earliest))
    wanted = Retention(retain_min=min(retain), retain_max=max(retain), cutoff_millis=cutoff, max_deletes=limit)
    end = first_kept(earliest, latest, wanted, next_read, by_id.get)
    assert list(range(earliest, end)) == literally(earliest, latest, wanted, next_read, by_id)


def test_a_snapshot_is_as_old_as_the_one_after_it(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"snapshot.num-retained.min": "1", "snapshot.time-retained": "10 ms"})
    for number, time in enumerate([0, 100, 200], 1):
        write_snapshot(store, number, time)
    found = expire_snapshots_ids(store, now_millis=111)
    assert found == [1]  # 2 is a hundred old, but was current until 200
    assert expire_snapshots_ids(store, now_millis=110) == []
    assert expire_snapshots_ids(store, now_millis=10**9) == [1, 2]


def expire_snapshots_ids(store: TableStore, **more: Any) -> list[int]:
    options = TableOptions(store.schema().options)
    return list(range(*range_to_expire(store, options, retention(options, **more))))


def test_arguments_win_over_options() -> None:
    options = TableOptions(
        {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "8", "snapshot.expire.limit": "3"}
    )
    assert retention(options, now_millis=4_000_000) == Retention(
        retain_min=5, retain_max=8, cutoff_millis=400_000, max_deletes=3
    )
    given = retention(options, now_millis=0, retain_min=1, retain_max=2, older_than=7, max_deletes=9)
    assert given == Retention(retain_min=1, retain_max=2, cutoff_millis=7, max_deletes=9)
    assert retention(options, now_millis=0, retain_max=2).retain_min == 2
    moment = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
    assert retention(options, now_millis=0, older_than=moment).cutoff_millis == 1_735_689_600_000
    assert retention(options, now_millis=90_000_000, older_than="1 d").cutoff_millis == 3_600_000


@pytest.mark.parametrize(
    "bad",
    [
        {"retain_max": 0},
        {"retain_min": -1},
        {"max_deletes": True},
        {"retain_min": 3, "retain_max": 2},
        {"older_than": "x"},
    ],
)
def test_arguments_that_cannot_be_are_refused(store: TableStore, bad: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        expire_snapshots(store, **bad)


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"snapshot.num-retained.max": "3"})
    with pytest.raises(OptionError, match=r"retain_min \(10\) must not exceed retain_max \(3\)"):
        expire_snapshots(store)


def test_a_consumer_keeps_what_it_has_to_read(store: TableStore) -> None:
    for number in range(5):
        add(store, f"data-{number}")
    reset_consumer(store, "c", 3)
    assert expire(store, 1).snapshots == (1, 2)
    assert expire(store, 1).snapshots == ()
    store.schemas.change(lambda schema: schema_with(schema, {"consumer.changelog-only": "true"}))
    assert expire(store, 1).snapshots == (3, 4)


def schema_with(schema: Any, options: dict[str, str]) -> Any:
    return replace(schema, id=schema.id + 1, options={**schema.options, **options})


def test_an_empty_table_has_nothing_to_expire(store: TableStore) -> None:
    assert expire(store, 1).snapshots == ()
    assert not store.storage.exists(store.paths.earliest_hint)


def test_the_hint_is_written_even_when_nothing_goes(store: TableStore) -> None:
    add(store, "data-1")
    expire_snapshots(store, dry_run=True)
    assert not store.storage.exists(store.paths.earliest_hint)
    expire_snapshots(store)
    assert store.storage.read(store.paths.earliest_hint) == b"1"
    add(store, "data-2")
    expire(store, 1)
    assert store.storage.read(store.paths.earliest_hint) == b"2"


# --------------------------------------------------------------------------------------------------- which files go


def test_files_of_appends_stay_and_their_lists_go(store: TableStore) -> None:
    for number in range(4):
        add(store, f"data-{number}")
    done = expire(store, 1)
    assert done.snapshots == (1, 2, 3)
    assert done.removal.by_kind().keys() == {"snapshot", "manifest list"}
    assert names_on_disk(store) == {f"data-{number}" for number in range(4)}
    assert files_on_disk(store) == needed_files(store)
    assert store.snapshots.ids() == [4]


def test_deleted_files_go_with_the_last_snapshot_that_had_them(store: TableStore) -> None:
    add(store, "data-1", "data-2")
    change(store, CommitKind.COMPACT, adds("data-3"), adds("data-1"))
    add(store, "data-4")
    done = expire(store, 2)
    assert done.snapshots == (1,)
    assert [stored_path(file.path).name for file in done.removal.files if file.kind == "data"] == ["data-1"]
    assert names_on_disk(store) == {"data-2", "data-3", "data-4"}


def test_a_file_that_changes_its_level_stays_and_its_old_extra_file_goes(store: TableStore) -> None:
    old, new = adds("data-1", extra_files=["data-1.a"]), adds("data-1", extra_files=["data-1.b"], level=5)
    change(store, CommitKind.APPEND, old)
    change(store, CommitKind.COMPACT, new, old)
    done = expire(store, 1)
    assert [(stored_path(f.path).name, f.size) for f in done.removal.files if f.kind == "data"] == [("data-1.a", 7)]
    assert names_on_disk(store) == {"data-1", "data-1.b"}


def test_a_file_that_an_overwrite_brings_back_stays(store: TableStore) -> None:
    """As Paimon's rollback to an old state by a new snapshot does."""
    add(store, "data-1")
    change(store, CommitKind.OVERWRITE, adds("data-2"), adds("data-1"))
    add(store, "data-3")
    change(store, CommitKind.OVERWRITE, adds("data-1"), adds("data-2"))
    add(store, "data-4")
    assert expire(store, 3).removal.by_kind().get("data") is None
    assert names_on_disk(store) == {f"data-{number}" for number in range(1, 5)}
    expire(store, 1)
    assert names_on_disk(store) == {"data-1", "data-3", "data-4"}


def test_snapshots_with_another_past_keep_their_files(store: TableStore) -> None:
    """A fast-forward puts snapshots of a branch behind those of main; what main deleted may be alive in them."""
    add(store, "data-1")
    create_tag(store, "t")
    store.storage.write(
        store.on_branch("main").paths.on_branch("b").schema(0), store.storage.read(store.paths.schema(0))
    )
    branch = store.on_branch("b")
    branch.snapshots.create(store.snapshots.get(1))
    add(branch, "data-b2")
    third = add(branch, "data-b3")
    change(store, CommitKind.OVERWRITE, adds("data-2"), adds("data-1"))
    store.snapshots.create(third)
    store.storage.delete_tree(store.paths.branches)
    store.storage.delete(store.paths.tag("t"))
    done = expire(store, 1)
    assert done.snapshots == (1, 2)
    assert [stored_path(file.path).name for file in done.removal.files if file.kind == "data"] == ["data-2"]
    assert names_on_disk(store) == {"data-1", "data-b2", "data-b3"}
    manifests = {path for path in files_on_disk(store) - needed_files(store) if "/manifest/" in path}
    assert len(manifests) == 2  # the lists of the branch's second snapshot, which went with the branch


@pytest.mark.parametrize(("limit", "left"), [(1, [7, 8]), (5, [7, 8]), (6, [8])])
def test_a_hole_that_a_fast_forward_left_is_no_obstacle(store: TableStore, limit: int, left: list[int]) -> None:
    for number in range(1, 9):
        add(store, f"data-{number}")
    for number in (1, *range(3, 7)):
        store.storage.delete(store.paths.snapshot(number))
    gone = expire(store, 1, max_deletes=limit).snapshots
    assert gone == tuple(number for number in (2, 7) if number not in left)
    assert store.snapshots.ids() == left
    assert store.storage.read(store.paths.earliest_hint) == str(left[0]).encode()


def test_manifests_that_cancel_out_go_too(store: TableStore) -> None:
    add(store, "data-1")
    change(store, CommitKind.OVERWRITE, NO_ENTRIES, adds("data-1"))
    assert compact_manifests(store).after.manifests == 0
    assert expire(store, 1).snapshots == (1, 2)
    assert files_on_disk(store) == needed_files(store)


def test_a_tag_keeps_its_files_and_its_lists(store: TableStore) -> None:
    add(store, "data-1")
    tagged = change(store, CommitKind.COMPACT, adds("data-2"), adds("data-1"))
    change(store, CommitKind.COMPACT, adds("data-3"), adds("data-2"))
    create_tag(store, "t", snapshot=2)
    done = expire(store, 1)
    assert names_on_disk(store) == {"data-2", "data-3"}
    assert store.storage.exists(store.paths.manifest(tagged.base_manifest_list))
    assert done.snapshots == (1, 2)
    assert files_on_disk(store) == needed_files(store)


def test_index_files_and_statistics_go_when_nobody_names_them(store: TableStore) -> None:
    def index(number: int, kind: int = ADD) -> IndexEntry:
        path = stored_path(store.paths.index(f"index-{number}"))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * number)
        return IndexEntry(
            kind=kind,
            partition=adds("x")["partition"][0].as_py(),
            bucket=0,
            index_type="OTHER" if number else DELETION_VECTORS,
            file_name=f"index-{number}",
            file_size=number,
            row_count=1,
        )

    change(store, CommitKind.APPEND, adds("data-1"), index=(index(1), index(2)))
    change(store, CommitKind.OVERWRITE, adds("data-2"), index=(index(3), index(1, DELETE)))
    add(store, "data-3")
    done = expire(store, 2)
    assert [(stored_path(f.path).name, f.size) for f in done.removal.files if f.kind == "index"] == [("index-1", 1)]
    assert done.removal.by_kind()["index manifest"][0] == 1
    assert files_on_disk(store) == needed_files(store)
    assert "index manifest" not in expire(store, 1).removal.by_kind()
    assert files_on_disk(store) == needed_files(store)


def test_changelogs_go_with_their_snapshots_even_under_a_tag(store: TableStore) -> None:
    def with_changelog(number: int) -> None:
        name = f"changelog-{number}"
        stored_path(store.paths.bucket("", 0)).mkdir(exist_ok=True)
        stored_path(store.paths.bucket("", 0), name).write_bytes(b"x" * 1000)
        change(store, CommitKind.APPEND, adds(f"data-{number}"), changelog=adds(name))

    for number in range(3):
        with_changelog(number)
    create_tag(store, "t", snapshot=1)
    done = expire(store, 1)
    assert done.removal.by_kind()["changelog"] == (2, 2000)
    assert names_on_disk(store) == {"data-0", "data-1", "data-2", "changelog-2"}
    assert files_on_disk(store) == needed_files(store)


@pytest.mark.local_disk
def test_empty_folders_go_if_the_table_says_so(tmp_path: Path) -> None:
    for option, left in (("true", False), ("false", True)):
        root = tmp_path / option
        store = new_store(root, options={"snapshot.num-retained.min": "1", "snapshot.clean-empty-directories": option})
        change(store, CommitKind.APPEND, adds("data-1", bucket=1))
        change(store, CommitKind.COMPACT, adds("data-2", bucket=2), adds("data-1", bucket=1))
        expire(store, 1)
        assert stored_path(store.paths.bucket("", 1)).exists() == left
        assert stored_path(store.paths.bucket("", 2)).exists()


def test_sizes_are_those_on_disk(store: TableStore) -> None:
    for number in range(3):
        change(store, CommitKind.COMPACT, adds(f"data-{number + 1}"), adds(f"data-{number}") if number else None)
    planned = expire(store, 1, dry_run=True)
    assert {file.path: file.size for file in planned.removal.files} == {
        file.path: stored_path(file.path).stat().st_size for file in planned.removal.files
    }
    done = expire(store, 1)
    assert done.removal.files == planned.removal.files
    assert (planned.dry_run, planned.removal.dry_run, done.dry_run, done.removal.dry_run) == (True, True, False, False)


# ----------------------------------------------------------------------------------------------------------- costs


def test_it_costs_what_goes_and_not_what_the_table_holds(tmp_path: Path) -> None:
    """Neither the number of files nor of older manifests matters to the number of calls."""

    def calls(files: int) -> int:
        root = tmp_path / str(files)
        store = new_store(root, options={"snapshot.num-retained.min": "1"})
        for number in range(files):
            commit_files(store, adds(f"data-{number}"))
        change(store, CommitKind.COMPACT, adds("data-new"), adds("data-0"))
        add(store, "data-last")
        expire(store, 2, max_deletes=1000)
        change(store, CommitKind.COMPACT, adds("data-newer"), adds("data-new"))
        log = Logged()
        assert expire(open_store(root, log), 1, max_deletes=1000).removal.by_kind()["data"] == (1, 1000)
        return len(log.log)

    assert calls(5) == calls(25)


# ------------------------------------------------------------------------------------------------- crashes and races


def history(root: Path) -> TableStore:
    store = new_store(root, options={"snapshot.num-retained.min": "1", "snapshot.clean-empty-directories": "true"})
    add(store, "data-1")
    change(store, CommitKind.COMPACT, adds("data-2"), adds("data-1"))
    create_tag(store, "t", snapshot=2)
    change(store, CommitKind.OVERWRITE, adds("data-3", bucket=1), adds("data-2"))
    add(store, "data-4")
    return store


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("forever", long_except([False], [False, True]))
def test_failing_at_any_call_leaves_a_sound_table(tmp_path: Path, *, after: bool, forever: bool) -> None:
    tried = 0
    history(tmp_path / "made")
    root = tmp_path / "t"
    for fail_at in range(1, 500):
        delete_tree(root)
        copy_tree(tmp_path / "made", root)
        store = open_store(root)
        storage = Failing(fail_at, after=after, forever=forever)
        failing = open_store(root, storage)
        try:
            expire(failing, 1)
        except LakebedError:
            tried += 1
        if not storage.failed:
            break
        ids = store.snapshots.ids()
        assert ids == list(range(ids[0], 5))
        assert needed_files(store) <= files_on_disk(store)
        expire(store, 1)
        remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True)
        assert files_on_disk(store) == needed_files(store)
        assert store.snapshots.ids() == [4]
    assert tried > 15


def test_a_tag_made_while_snapshots_expire_keeps_its_files(tmp_path: Path) -> None:
    """Its maker saw the snapshot after writing the tag, so expiry has to see the tag after deleting the snapshot."""
    store = history(tmp_path / "t")
    storage = Interrupted(lambda: create_tag(store, "late", snapshot=1), before="delete", ending="snapshot-1")
    expire(open_store(tmp_path / "t", storage), 1)
    assert store.snapshots.ids() == [4]
    assert sorted(store.snapshots.tags()) == ["late", "t"]
    assert needed_files(store) <= files_on_disk(store)
    assert "data-1" in names_on_disk(store)


def test_two_that_expire_at_once_agree(tmp_path: Path) -> None:
    for before, ending in (
        ("delete", "snapshot-1"),
        ("delete", "data-1"),
        ("read", "snapshot-3"),
        ("replace", "EARLIEST"),
    ):
        root = tmp_path / f"{before}-{ending}"
        store = history(root)
        storage = Interrupted(lambda store=store: expire(store, 1), before=before, ending=ending)  # type: ignore[misc]
        expire(open_store(root, storage), 1)
        assert not storage.hooks
        assert files_on_disk(store) == needed_files(store)
        assert store.snapshots.ids() == [4]


def test_files_that_cannot_be_deleted_are_reported_and_the_rest_goes(tmp_path: Path) -> None:
    store = history(tmp_path / "t")

    class Stubborn(Logged):
        def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
            if name == "delete" and path.endswith("data-1"):
                raise StorageError("no")
            return super().call(name, path, run)

    with pytest.raises(StorageError, match=r"1 of \d+ files .* could not be deleted.*remove_orphan_files"):
        expire(open_store(tmp_path / "t", Stubborn()), 1)
    assert files_on_disk(store) - needed_files(store) == {f"{store.paths.bucket('', 0)}/data-1"}


def test_snapshots_go_before_files_and_oldest_first(tmp_path: Path) -> None:
    history(tmp_path / "t")
    log = Logged()
    expire(open_store(tmp_path / "t", log), 1)
    changes = [name for done, name in log.log if done in {"delete", "replace"}]
    assert changes[:4] == ["EARLIEST", "snapshot-1", "snapshot-2", "snapshot-3"]
