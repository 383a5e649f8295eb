"""Branches: what is in their folders, names, and that nobody ever sees half of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.crashes import at_every_step
from tests.metadata.histories import add, check_readable, history, live
from tests.metadata.stores import Interrupted, files_below, open_store
from tests.places import IS_LOCAL, stored_path

from lakebed.errors import AlreadyExistsError, NotFoundError, OptionError, StorageError
from lakebed.metadata.branches import create_branch, drop_branch, rename_branch
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.storage import LocalStorage

# What decides which call creates a branch, and what makes it visible: a rename, or without it a claim and a schema.
DECIDES: dict[str, Any] = {"before": "rename_folder"} if IS_LOCAL else {"ending": "created"}
SHOWS: dict[str, Any] = DECIDES if IS_LOCAL else {"ending": "schema-0"}


def alter(store: TableStore, **options: str) -> None:
    """A new schema with other options."""
    store.schemas.change(
        lambda s: replace(s, id=s.id + 1, options={**s.options, **{k.replace("_", "-"): v for k, v in options.items()}})
    )


def folder(root: Path, name: str) -> set[str]:
    return files_below(root / "branch" / f"branch-{name}") - {".lakebed/created"}


# ---------------------------------------------------------------------------------------------------- creating


def test_an_empty_branch_has_all_schemas(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    alter(store, commit_timeout="1 s")
    branch = create_branch(store, "e")
    # The files that Paimon 2.0 (Java) writes.
    assert folder(tmp_path, "e") == {"schema/schema-0", "schema/schema-1"}
    for name in folder(tmp_path, "e"):
        assert (tmp_path / "branch/branch-e" / name).read_bytes() == (tmp_path / name).read_bytes()
    assert branch.paths.branch == "e"
    assert branch.snapshots.latest() is None
    assert add(branch, "x").id == 1
    assert live(branch) == ["x"]
    assert live(store) == ["a"]


def test_a_branch_of_a_tag(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "t", time_retained="1 d")
    alter(store, commit_timeout="1 s")
    add(store, "c")
    branch = create_branch(store, "b", tag="t")
    # The files that Paimon 2.0 (Java) writes: no later schema, no hints.
    assert folder(tmp_path, "b") == {"schema/schema-0", "snapshot/snapshot-2", "tag/tag-t"}
    for name in folder(tmp_path, "b"):
        assert (tmp_path / "branch/branch-b" / name).read_bytes() == (tmp_path / name).read_bytes()
    assert live(branch) == ["a", "b"]
    assert add(branch, "x").id == 3
    assert live(branch) == ["a", "b", "x"]
    assert live(store) == ["a", "b", "c"]


def test_a_branch_of_a_tag_whose_snapshot_expired(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    tag = create_tag(store, "t", snapshot=1, time_retained="1 d")
    store.storage.delete(store.paths.snapshot(1))
    branch = create_branch(store, "b", tag="t")
    assert folder(tmp_path, "b") == {"schema/schema-0", "snapshot/snapshot-1", "tag/tag-t"}
    assert branch.snapshots.latest() == tag.snapshot
    assert "tagCreateTime" not in (tmp_path / "branch/branch-b/snapshot/snapshot-1").read_text()
    assert live(branch) == ["a"]


def test_a_tag_whose_number_another_snapshot_has_now(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    tag = create_tag(store, "t")
    store.storage.delete(store.paths.snapshot(2))
    add(store, "other")
    branch = create_branch(store, "b", tag="t")
    assert branch.snapshots.get(2) == tag.snapshot != store.snapshots.get(2)
    assert live(branch) == ["a", "b"]


def test_a_branch_of_a_snapshot(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    branch = create_branch(store, "b", snapshot=1)
    assert folder(tmp_path, "b") == {"schema/schema-0", "snapshot/snapshot-1"}
    assert live(branch) == ["a"]


def test_a_branch_of_a_branch(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    one = create_branch(store, "one", snapshot=1)
    alter(one, commit_timeout="1 s")
    add(one, "b")
    two = create_branch(one, "two", snapshot=2)
    assert folder(tmp_path, "two") == {"schema/schema-0", "schema/schema-1", "snapshot/snapshot-2"}
    assert live(two) == ["a", "b"]
    assert store.branch_names() == ["one", "two"]


def test_what_a_branch_starts_at_must_be_there(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    with pytest.raises(NotFoundError, match="unknown tag 't'"):
        create_branch(store, "b", tag="t")
    with pytest.raises(NotFoundError, match=r"snapshot 7 .* does not exist"):
        create_branch(store, "b", snapshot=7)
    with pytest.raises(OptionError, match="not at both"):
        create_branch(store, "b", tag="t", snapshot=1)
    assert store.branch_names() == []
    assert not (tmp_path / "branch").exists()


@pytest.mark.parametrize(
    "bad", ["main", "12", "", " ", "a/b", "..", ".x", "a\\b", "a\0", "a$b", "x\ny", "\ud800", None]
)
def test_bad_names(tmp_path: Path, bad: str) -> None:
    store = history(tmp_path, "a")
    create_branch(store, "good")
    for call in (lambda: create_branch(store, bad), lambda: rename_branch(store, "good", bad)):
        with pytest.raises(OptionError, match="cannot be the name of a branch"):
            call()
    assert store.branch_names() == ["good"]


@pytest.mark.parametrize("good", ["a b", "x=1", "ü", "v2", "feature-1.2"])
def test_good_names(tmp_path: Path, good: str) -> None:
    store = history(tmp_path, "a")
    assert live(create_branch(store, good, snapshot=1)) == ["a"]
    assert store.branch_names() == [good]


def test_an_existing_branch_stays_as_it_is(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    branch = create_branch(store, "b", snapshot=1)
    add(branch, "x")
    with pytest.raises(AlreadyExistsError, match=r"branch 'b' of table db.t already exists"):
        create_branch(store, "b")
    assert live(create_branch(store, "b", ignore_if_exists=True)) == ["a", "x"]


@pytest.mark.parametrize("ignore", [False, True])
def test_of_two_who_create_a_branch_one_wins(tmp_path: Path, ignore: bool) -> None:
    history(tmp_path, "a", "b")
    racing = Interrupted(lambda: create_branch(open_store(tmp_path), "x", snapshot=1), **DECIDES)
    store = open_store(tmp_path, racing)
    if ignore:
        assert live(create_branch(store, "x", snapshot=2, ignore_if_exists=True)) == ["a"]
    else:
        with pytest.raises(AlreadyExistsError):
            create_branch(store, "x", snapshot=2)
    assert folder(tmp_path, "x") == {"schema/schema-0", "snapshot/snapshot-1"}
    assert [found.name for found in (tmp_path / "branch").iterdir()] == ["branch-x"]


class _Late(LocalStorage):
    """A storage whose rename does not look first: as if the other came between its look and its rename."""

    def rename_folder(self, source: str, target: str) -> None:
        try:
            stored_path(source).rename(target)
        except OSError as error:
            raise StorageError(str(error)) from error


@pytest.mark.local_disk
def test_the_rename_itself_decides(tmp_path: Path) -> None:
    history(tmp_path, "a", "b")
    racing = Interrupted(
        lambda: create_branch(open_store(tmp_path), "x", snapshot=1), before="rename_folder", inner=_Late()
    )
    with pytest.raises(AlreadyExistsError):
        create_branch(open_store(tmp_path, racing), "x", snapshot=2)
    assert folder(tmp_path, "x") == {"schema/schema-0", "snapshot/snapshot-1"}


@pytest.mark.parametrize("of_tag", [False, True])
def test_a_branch_is_taken_back_if_its_snapshot_went_meanwhile(tmp_path: Path, of_tag: bool) -> None:
    plain = history(tmp_path, "a", "b")
    create_tag(plain, "t", snapshot=1)
    if of_tag:
        plain.storage.delete(plain.paths.snapshot(1))
    going = plain.paths.tag("t") if of_tag else plain.paths.snapshot(1)
    store = open_store(tmp_path, Interrupted(lambda: stored_path(going).unlink(), **SHOWS))
    with pytest.raises(NotFoundError, match="expired while branch 'b' was created from it"):
        create_branch(store, "b", **({"tag": "t"} if of_tag else {"snapshot": 1}))
    assert plain.branch_names() == []
    assert files_below(tmp_path / "branch") == set()


# --------------------------------------------------------------------------------------- renaming and dropping


def test_rename(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    add(create_branch(store, "old", snapshot=1), "x")
    create_branch(store, "other")
    rename_branch(store, "old", "new")
    assert store.branch_names() == ["new", "other"]
    assert live(store.on_branch("new")) == ["a", "x"]
    for target in ("other", "new"):
        with pytest.raises(AlreadyExistsError):
            rename_branch(store, "new", target)
    with pytest.raises(NotFoundError, match="unknown branch 'old'"):
        rename_branch(store, "old", "x")
    with pytest.raises(OptionError, match=r"'main' is table db.t itself"):
        rename_branch(store, "main", "x")


def test_drop(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    add(create_branch(store, "b", snapshot=1), "x")
    drop_branch(store, "b")
    assert store.branch_names() == []
    assert files_below(tmp_path / "branch") == set()
    assert files_below(tmp_path / "bucket-0") == {"a", "x"}  # for orphan removal
    assert live(store) == ["a"]
    with pytest.raises(NotFoundError, match="unknown branch 'b'"):
        drop_branch(store, "b")
    drop_branch(store, "b", ignore_if_missing=True)
    for more in ({}, {"force": True}, {"ignore_if_missing": True}):
        with pytest.raises(OptionError, match="cannot be renamed or dropped"):
            drop_branch(store, "main", **more)
    assert live(store) == ["a"]


@pytest.mark.parametrize(
    "option",
    ["scan.fallback-branch", "scan.primary-branch", "scan.fallback-snapshot-branch", "scan.fallback-delta-branch"],
)
def test_a_branch_that_options_name_is_not_taken_away(tmp_path: Path, option: str) -> None:
    store = history(tmp_path, "a")
    for name in ("used", "free"):
        create_branch(store, name)
    store.schemas.change(lambda s: replace(s, id=s.id + 1, options={**s.options, option: "used"}))
    refusal = f"option '{option}' of the table names it"
    with pytest.raises(OptionError, match=refusal):
        drop_branch(store, "used")
    with pytest.raises(OptionError, match=refusal):
        rename_branch(store.on_branch("free"), "used", "x")
    drop_branch(store, "free")
    rename_branch(store, "used", "x", force=True)
    rename_branch(store, "x", "used")
    drop_branch(store, "used", force=True)
    assert store.branch_names() == []


# ----------------------------------------------------------------------------------------------------- failures


def _rename(store: TableStore) -> None:
    if not store.has_branch("new"):
        rename_branch(store, "b", "new")


CHANGES: dict[str, tuple[Callable[[TableStore], object], list[set[str]], set[str]]] = {
    "create": (lambda s: create_branch(s, "new", tag="t", ignore_if_exists=True), [{"b"}, {"b", "new"}], {"b", "new"}),
    # Without rename, no branch is there for a moment. It is never there twice, and the next call finishes it.
    "rename": (_rename, [{"b"}, {"new"}, *([] if IS_LOCAL else [set[str]()])], {"new"}),
    "drop": (lambda s: drop_branch(s, "b", ignore_if_missing=True), [{"b"}, set()], set()),
}


@pytest.mark.scales
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_failure_at_every_step(tmp_path: Path, change: str) -> None:
    act, allowed, final = CHANGES[change]
    store = history(tmp_path / "t", "a")
    create_tag(store, "t")
    create_branch(store, "b", tag="t")

    def between(store: TableStore) -> None:
        check_readable(store)
        assert set(store.branch_names()) in allowed
        for name in store.branch_names():
            assert live(store.on_branch(name)) == ["a"]

    def after(store: TableStore) -> None:
        between(store)
        assert set(store.branch_names()) == final

    assert at_every_step(tmp_path / "t", act, between=between, after=after) >= 7
