"""Fast-forward: main becomes the branch, whatever main did meanwhile; it never shows anything else on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.crashes import at_every_step
from tests.metadata.histories import add, alter, check_readable, files_of, history, live
from tests.metadata.stores import Accompanied, Interrupted, Logged, files_below, open_store
from tests.places import stored_path

from lakebed.errors import NotFoundError, OptionError, UnsupportedError
from lakebed.metadata.branches import create_branch
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.fast_forward import FastForward, fast_forward


def parted(root: Path, ours: int, theirs: int) -> tuple[TableStore, TableStore]:
    """A table and its branch "b", which part after snapshot 2 and go on for some commits each."""
    store = history(root, "a", "b")
    branch = create_branch(store, "b", snapshot=2)
    for number in range(ours):
        add(store, f"main{number}")
    for number in range(theirs):
        add(branch, f"branch{number}")
    return store, branch


def check_equal(store: TableStore, branch: TableStore) -> None:
    """Main continues as the branch, from the branch's first snapshot on."""
    first = branch.snapshots.ids()[0]
    for folder, start in (("snapshot", first), ("schema", 0)):
        theirs = {
            name: stored_path(branch.paths.branch_root, folder, name)
            for name in files_below(stored_path(branch.paths.branch_root, folder))
        }
        for name, path in theirs.items():
            if "-" in name:
                assert stored_path(store.paths.branch_root, folder, name).read_bytes() == path.read_bytes()
        ids = {int(name.split("-")[1]) for name in theirs if "-" in name}
        ours = {int(n.split("-")[1]) for n in files_below(stored_path(store.paths.branch_root, folder)) if "-" in n}
        assert {number for number in ours if number >= start} == ids
    assert live(store) == live(branch)
    hints = stored_path(store.paths.snapshots)
    assert (hints / "LATEST").read_text() == str(store.snapshots.ids()[-1])
    assert (hints / "EARLIEST").read_text() == str(store.snapshots.ids()[0])
    check_readable(open_store(store.paths.root))


@pytest.mark.parametrize("ours", [0, 1, 3])
@pytest.mark.parametrize("theirs", [0, 1, 3])
def test_main_becomes_the_branch(tmp_path: Path, ours: int, theirs: int) -> None:
    store, branch = parted(tmp_path, ours, theirs)
    first = (tmp_path / "snapshot/snapshot-1").read_bytes()
    plan = fast_forward(store, "b", dry_run=True)
    assert plan == FastForward(
        branch="b",
        removed_snapshots=tuple(range(3, 3 + ours)),
        removed_tags=(),
        removed_schemas=(),
        copied_snapshots=tuple(range(3, 3 + theirs)),
        copied_tags=(),
        copied_schemas=(),
        dry_run=True,
    )
    assert len(live(store)) == 2 + ours
    assert fast_forward(store, "b") == replace(plan, dry_run=False)
    check_equal(store, branch)
    assert (tmp_path / "snapshot/snapshot-1").read_bytes() == first
    assert add(store, "next").id == 3 + theirs
    assert live(store) == sorted([*live(branch), "next"])


def test_a_second_call_does_nothing(tmp_path: Path) -> None:
    store, _ = parted(tmp_path, 2, 2)
    fast_forward(store, "b")
    log = Logged()
    again = fast_forward(open_store(tmp_path, log), "b")
    assert (again.removed_snapshots, again.copied_snapshots) == ((), ())
    assert {name for kind, name in log.log if kind in {"replace", "delete", "create_exclusive"}} <= {
        "LATEST",
        "EARLIEST",
    }


def test_tags_and_schemas(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "shared", snapshot=2)
    create_tag(store, "old", snapshot=1)
    branch = create_branch(store, "b", tag="shared")
    create_tag(store, "later", snapshot=2)
    alter(store, "1 s")
    add(store, "c")
    create_tag(store, "c")
    add(branch, "x")
    create_tag(branch, "x")
    done = fast_forward(store, "b")
    # As Paimon 2.0 (Java) does: tags from the branch's first snapshot on are the branch's, schemas too.
    assert list(store.snapshots.tags()) == ["old", "shared", "x"]
    assert store.schemas.ids() == [0]
    assert (done.removed_tags, done.copied_tags, done.removed_schemas) == (("c", "later"), ("x",), (1,))
    check_equal(store, branch)


def test_schemas_of_the_branch_come_along(tmp_path: Path) -> None:
    store, branch = parted(tmp_path, 1, 0)
    alter(branch, "1 s")
    add(branch, "x")
    alter(branch, "2 s")
    assert fast_forward(store, "b").copied_schemas == (1, 2)
    assert store.schemas.ids() == [0, 1, 2]
    assert store.schema().options == {"commit.timeout": "2 s"}
    check_equal(store, branch)


def test_schemas_that_went_two_ways(tmp_path: Path) -> None:
    store, branch = parted(tmp_path, 1, 1)
    for value in ("1 s", "2 s"):
        alter(store, value)
        add(store, f"main {value}")
    create_tag(store, "t")
    alter(branch, "9 s")
    add(branch, "branch 9 s")
    done = fast_forward(store, "b")
    assert (done.removed_schemas, done.copied_schemas, done.removed_tags) == ((2,), (1,), ("t",))
    assert done.removed_snapshots == (3, 4, 5)
    assert store.schema().options == {"commit.timeout": "9 s"}
    check_equal(store, branch)


def test_a_branch_that_began_empty_replaces_everything(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c")
    branch = create_branch(store, "b")
    add(branch, "x")
    assert fast_forward(store, "b").removed_snapshots == (1, 2, 3)
    assert live(store) == ["x"]
    check_equal(store, branch)


def test_a_branch_of_a_snapshot_that_main_has_no_more(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c", "d")
    branch = create_branch(store, "b", snapshot=2)
    add(branch, "x")
    for number in (1, 2):
        store.storage.delete(store.paths.snapshot(number))
    (tmp_path / "snapshot/EARLIEST").write_text("3")
    fast_forward(store, "b")
    assert store.snapshots.ids() == [2, 3]
    check_equal(store, branch)


def test_what_stays_keeps_its_schema(tmp_path: Path) -> None:
    """The branch lost its first snapshots, so main's stay; they need a schema that only main has."""
    store, branch = parted(tmp_path, 1, 3)
    alter(store, "1 s")
    add(store, "c")
    for number in (2, 3, 4):
        branch.storage.delete(branch.paths.snapshot(number))
    before = files_below(tmp_path)
    with pytest.raises(UnsupportedError, match="snapshot 4 stays, but it needs schema 1"):
        fast_forward(store, "b")
    assert files_below(tmp_path) == before
    assert "c" in live(store)
    create_tag(store, "t", snapshot=4)
    for number in (3, 4):
        store.storage.delete(store.paths.snapshot(number))
    with pytest.raises(UnsupportedError, match="tag 't' stays"):
        fast_forward(store, "b")


def test_what_cannot_be_gone_forward_to(tmp_path: Path) -> None:
    store, branch = parted(tmp_path, 1, 1)
    create_branch(store, "empty")
    with pytest.raises(NotFoundError, match=r"branch 'empty' of table db.t has no snapshot"):
        fast_forward(store, "empty")
    with pytest.raises(NotFoundError, match="has no branch 'nope'"):
        fast_forward(store, "nope")
    for target, name in ((store, "main"), (branch, "b"), (branch, "main")):
        with pytest.raises(OptionError, match="cannot be fast-forwarded"):
            fast_forward(target, name)


def test_a_branch_goes_forward_to_another(tmp_path: Path) -> None:
    store, branch = parted(tmp_path, 0, 1)
    other = create_branch(branch, "c", snapshot=3)
    add(other, "x")
    fast_forward(branch, "c")
    check_equal(branch, other)
    assert live(store) == ["a", "b"]


@pytest.mark.parametrize(("ours", "theirs"), [(0, 2), (2, 2), (3, 1)])
def test_a_commit_on_main_meanwhile_is_in_the_result(tmp_path: Path, ours: int, theirs: int) -> None:
    store, branch = parted(tmp_path, ours, theirs)
    racing = Interrupted(lambda: add(open_store(tmp_path), "race"), ending="snapshot-3")
    done = fast_forward(open_store(tmp_path, racing), "b")
    assert not racing.hooks
    assert 3 + ours in done.removed_snapshots
    check_equal(store, branch)


def test_a_commit_with_a_schema_that_goes(tmp_path: Path) -> None:
    store, branch = parted(tmp_path, 0, 1)
    alter(store, "1 s")
    racing = Interrupted(lambda: add(open_store(tmp_path), "race"), before="delete", ending="schema-1")
    assert fast_forward(open_store(tmp_path, racing), "b").removed_snapshots == (4,)
    check_equal(store, branch)


def test_snapshots_that_expire_on_the_branch_meanwhile_are_not_brought_back(tmp_path: Path) -> None:
    store, branch = parted(tmp_path, 0, 3)
    for number in (1, 2):
        store.storage.delete(store.paths.snapshot(number))

    def expire() -> None:
        for number in (2, 3):
            branch.storage.delete(branch.paths.snapshot(number))

    racing = Interrupted(expire, ending="snapshot-5")
    fast_forward(open_store(tmp_path, racing), "b")
    assert store.snapshots.ids() == [4, 5]


def test_main_keeps_a_snapshot_while_schemas_are_replaced(tmp_path: Path) -> None:
    """All snapshots of main have a schema that is replaced; the branch has an older one."""
    store, branch = parted(tmp_path, 0, 1)
    for one, value in ((store, "1 s"), (branch, "9 s")):
        alter(one, value)
        add(one, f"schema 1 of {one.paths.branch}")
    for number in (1, 2):
        store.storage.delete(store.paths.snapshot(number))
    seen: list[list[int]] = []
    watched = Accompanied(lambda _: seen.append(store.snapshots.ids()))
    fast_forward(open_store(tmp_path, watched), "b")
    assert all(seen)
    check_equal(store, branch)


# Main's and the branch's steps after they parted: a commit, or a new schema and a commit.
STEPS = st.lists(st.sampled_from(["commit", "alter"]), max_size=3)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ours=STEPS, theirs=STEPS)
@pytest.mark.local_disk
def test_any_two_histories(tmp_path_factory: pytest.TempPathFactory, ours: list[str], theirs: list[str]) -> None:
    root = tmp_path_factory.mktemp("t")
    store = history(root / "t", "a")
    branch = create_branch(store, "b", snapshot=1)
    for one, steps in ((store, ours), (branch, theirs)):
        for number, step in enumerate(steps):
            if step == "alter":
                alter(one, f"{number + 1} {'s' if one is store else 'min'}")
            add(one, f"{one.paths.branch}{number}")
    fast_forward(store, "b")
    check_equal(store, branch)


@pytest.mark.scales
@pytest.mark.parametrize("case", ["longer", "shorter", "schemas"])
def test_a_failure_at_every_step(tmp_path: Path, case: str) -> None:
    ours, theirs = (3, 1) if case == "shorter" else (1, 2)
    store, branch = parted(tmp_path / "t", ours, theirs)
    create_tag(store, "t")
    create_tag(branch, "u")
    if case == "schemas":
        for one, value in ((store, "1 s"), (branch, "1 min")):
            alter(one, value)
            add(one, f"new schema on {one.paths.branch}")
    states = [
        files_of(one, snapshot) for one in (store, branch) for snapshot in one.snapshots.read_many(one.snapshots.ids())
    ]
    final = live(branch)

    def between(store: TableStore) -> None:
        check_readable(store)
        assert live(store) in states
        for snapshot in [*store.snapshots.read_many(store.snapshots.ids()), *store.snapshots.tags().values()]:
            timeout = store.schemas.get(snapshot.schema_id).options.get("commit.timeout")
            files = files_of(store, snapshot)
            assert (timeout == "1 s") == ("new schema on main" in files)
            assert (timeout == "1 min") == ("new schema on b" in files)
        assert live(store.on_branch("b")) == final

    def after(store: TableStore) -> None:
        check_equal(store, store.on_branch("b"))
        assert list(store.snapshots.tags()) == ["u"]

    assert at_every_step(tmp_path / "t", lambda s: fast_forward(s, "b"), between=between, after=after) >= 30
