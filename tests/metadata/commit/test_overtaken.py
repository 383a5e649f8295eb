"""The id that a commit wants is free, but not because nobody was faster: rollback, expiry, drop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.metadata.entries import adds, names_of
from tests.metadata.stores import Interrupted, check_tidy, commit_files, files_below, new_store, open_store
from tests.places import delete_tree, stored_path

from lakebed.errors import NotFoundError
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.expire.expire_snapshots import expire_snapshots
from lakebed.operations.rollback import rollback_to
from lakebed.storage import LocalStorage


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    made = new_store(tmp_path / "t")
    for name in ("a", "b", "c"):
        commit_files(made, adds(name))
    return made


def live(store: TableStore) -> list[str]:
    return sorted(names_of(live_entries(store, store.snapshots.latest())))


def test_a_commit_does_not_build_on_what_was_rolled_back(store: TableStore) -> None:
    racing = Interrupted(lambda: rollback_to(store, snapshot=1))
    made = commit_files(open_store(store.paths.root, racing), adds("new"))
    assert made.id == 2
    assert store.snapshots.ids() == [1, 2]
    assert live(store) == ["a", "new"]


@pytest.mark.parametrize("target", [1, None])
def test_a_hint_does_not_lead_to_what_was_rolled_back(store: TableStore, target: int | None) -> None:
    def take_away() -> None:
        for number in store.snapshots.ids():
            if target is None or number > target:
                store.storage.delete(store.paths.snapshot(number))

    racing = Interrupted(take_away, before="replace", ending="LATEST")
    commit_files(open_store(store.paths.root, racing), adds("new"))
    hint = stored_path(store.paths.latest_hint)
    assert (int(hint.read_text()) if hint.exists() else None) == target
    assert store.snapshots.latest_id() == target


def test_a_commit_does_not_build_on_a_history_that_was_written_anew(store: TableStore) -> None:
    def rewrite() -> None:
        rollback_to(store, snapshot=2)
        commit_files(store, adds("other"))

    made = commit_files(open_store(store.paths.root, Interrupted(rewrite)), adds("new"))
    assert made.id == 4
    assert live(store) == ["a", "b", "new", "other"]


@pytest.mark.parametrize("start", [0, 3])
def test_a_commit_does_not_land_below_the_earliest_snapshot(tmp_path: Path, store: TableStore, start: int) -> None:
    if start == 0:
        store = new_store(tmp_path / "empty")

    def overtake() -> None:
        for number in range(3):
            commit_files(store, adds(f"other-{number}"))
        assert expire_snapshots(store, retain_max=1, retain_min=1).snapshots
        assert store.snapshots.ids() == [start + 3]

    made = commit_files(open_store(store.paths.root, Interrupted(overtake)), adds("new"))
    assert made.id == start + 4
    assert "new" in live(store)
    assert len(live(store)) == start + 4


@pytest.mark.parametrize("snapshots", [0, 3])
@pytest.mark.parametrize("again", [False, True])
def test_a_commit_does_not_land_in_a_table_that_was_dropped(tmp_path: Path, snapshots: int, again: bool) -> None:
    root = tmp_path / "t"
    old = new_store(root)
    for number in range(snapshots):
        commit_files(old, adds(f"old-{number}"))
    other = replace(old.schema(), comment="another table")

    def drop() -> None:
        root.rename(tmp_path / ".gone")
        if again:
            store = open_store(root)
            assert store.schemas.create(other)
            for number in range(snapshots):
                commit_files(store, adds(f"new-{number}"))

    racing = open_store(root, Interrupted(drop))
    with pytest.raises(NotFoundError, match="another one created in its place" if again else "does not exist"):
        commit_files(racing, adds("late"))
    if again:
        check_tidy(root)
        assert live(open_store(root)) == [f"new-{number}" for number in range(snapshots)]
    else:
        assert files_below(root) == set()


def test_a_change_of_schema_does_not_land_in_another_table(tmp_path: Path) -> None:
    root = tmp_path / "t"
    old = new_store(root)
    other = replace(old.schema(), comment="another table")

    def drop() -> None:
        delete_tree(root)
        assert open_store(root).schemas.create(other)

    racing = open_store(root, Interrupted(drop))
    with pytest.raises(NotFoundError, match="another one created in its place"):
        racing.schemas.change(lambda schema: replace(schema, id=schema.id + 1))
    assert open_store(root).schemas.ids() == [0]


def test_a_handle_notices_that_a_schema_file_was_replaced(store: TableStore) -> None:
    """A fast-forward puts other schemas in place of those that only main had."""
    store.schemas.change(lambda schema: replace(schema, id=1, comment="first"))
    reader = open_store(store.paths.root)
    assert reader.schema().comment == "first"
    store.storage.replace(store.paths.schema(1), replace(store.schema(), comment="second").to_json().encode())
    assert reader.schema().comment == "second"
    store.storage.delete(store.paths.schema(1))
    assert reader.schema().id == 0


# -------------------------------------------------------------------------------------------------- in the storage


def test_nothing_is_created_where_the_answer_is_no(tmp_path: Path) -> None:
    assert not LocalStorage().create_exclusive(f"{tmp_path}/x", b"1", lambda: False)
    assert files_below(tmp_path) == set()


def test_nothing_is_created_in_a_folder_that_takes_the_place_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()

    def still() -> bool:
        folder.rename(tmp_path / "gone")
        folder.mkdir()
        return True

    assert not LocalStorage().create_exclusive(f"{folder}/x", b"1", still)
    assert files_below(folder) == set()
