"""Snapshot files that are gone without an expiry or a rollback, and gaps that are no loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.metadata.histories import add, history
from tests.places import copy_file, delete_tree, stored_path

from lakebed.errors import CorruptError
from lakebed.metadata.branches import create_branch, drop_branch
from lakebed.metadata.history.pages import find_page
from lakebed.metadata.references.lost_snapshots import check_complete, lost_snapshots
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.fast_forward import fast_forward
from lakebed.operations.rollback import rollback_to

FUTURE = 2**53


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return history(tmp_path, "a", "b", "c", "d", "e")


def lose(store: TableStore, *numbers: int) -> None:
    for number in numbers:
        stored_path(store.paths.snapshot(number)).unlink()


def without_index(store: TableStore) -> None:
    delete_tree(store.paths.history_index)


def test_a_complete_history_lost_nothing(store: TableStore) -> None:
    create_branch(store, "empty")
    add(create_branch(store, "b", snapshot=3), "f")
    check_complete(store)
    rollback_to(store, snapshot=4)
    add(store, "g")
    expire_snapshots(store, retain_min=1, retain_max=1, older_than=FUTURE)
    check_complete(store)
    without_index(store)
    check_complete(store)


def test_a_table_that_never_had_a_snapshot(tmp_path: Path) -> None:
    store = history(tmp_path)
    check_complete(store)
    stored_path(store.paths.snapshots).mkdir(exist_ok=True)
    stored_path(store.paths.latest_hint).write_text("1")
    check_complete(store)


@pytest.mark.parametrize("numbers", [(2,), (4,), (2, 3), (3, 4)])
def test_a_snapshot_that_is_missing_in_between(store: TableStore, numbers: tuple[int, ...]) -> None:
    lose(store, *numbers)
    with pytest.raises(CorruptError, match=rf"snapshot {numbers[-1]} .* is missing \(.*snapshot-{numbers[-1]}\)"):
        check_complete(store)


def test_a_snapshot_that_is_missing_on_a_branch(store: TableStore) -> None:
    branch = create_branch(store, "b", snapshot=3)
    for name in ("x", "y", "z"):
        add(branch, name)
    lose(branch, 5)
    assert lost_snapshots(store) is None
    with pytest.raises(CorruptError, match="snapshot 5 of branch 'b' was the one before snapshot 6 and is missing"):
        check_complete(store)


@pytest.mark.parametrize("paged", [False, True])
def test_a_gap_that_a_fast_forward_left_is_no_loss(store: TableStore, paged: bool) -> None:
    branch = create_branch(store, "b", snapshot=5)
    for number in range(4):
        add(branch, f"branch{number}")
    rollback_to(store, snapshot=3)
    expire_snapshots(branch, retain_min=2, retain_max=2, older_than=FUTURE)
    fast_forward(store, "b")
    drop_branch(store, "b")
    assert store.snapshots.ids() == [1, 2, 3, 8, 9]
    if paged:
        find_page(store)  # adds the lines of the copied snapshots to the index
    check_complete(store)
    add(store, "next")
    check_complete(store)


def test_a_gap_of_a_rollback_that_stopped_halfway_is_no_loss(store: TableStore) -> None:
    create_tag(store, "t", snapshot=2)
    expire_snapshots(store, retain_min=1, retain_max=1, older_than=FUTURE)
    copy_file(store.paths.tag("t"), store.paths.snapshot(2))
    assert store.snapshots.ids() == [2, 5]
    check_complete(store)


def keep_tags(store: TableStore) -> None:
    without_index(store)
    stored_path(store.paths.latest_hint).unlink()


def keep_hints(store: TableStore) -> None:
    without_index(store)
    stored_path(store.paths.tag("t")).unlink()


def keep_index(store: TableStore) -> None:
    stored_path(store.paths.latest_hint).unlink()
    stored_path(store.paths.tag("t")).unlink()


@pytest.mark.parametrize(
    ("left", "sign"),
    [
        (keep_tags, r"it has tags \(t\)"),
        (keep_hints, "LATEST says that there was one"),
        (keep_index, "the history index .* names snapshot 5"),
    ],
)
def test_a_branch_that_lost_all_snapshots(store: TableStore, left: Callable[[TableStore], None], sign: str) -> None:
    create_tag(store, "t")
    lose(store, *store.snapshots.ids())
    left(store)
    with pytest.raises(CorruptError, match=rf"the main branch has no snapshot, although .*{sign}.*nothing was deleted"):
        check_complete(store)
