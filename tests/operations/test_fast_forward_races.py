"""Another process drops the branch, or creates it again, at each step of a fast-forward: main is never left empty."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.effort import STRIDE
from tests.metadata.histories import add, alter, check_readable, history
from tests.metadata.stores import Accompanied, Wrapped, open_store
from tests.places import copy_tree, delete_tree, stored_path

from lakebed.errors import CommitConflictError, LakebedError, NotFoundError
from lakebed.metadata.branches import create_branch, drop_branch
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.fast_forward import fast_forward
from lakebed.operations.verify.verify import verify

Files = dict[str, bytes]


def forked(root: Path, *, schemas: bool) -> TableStore:
    """Main has snapshots 3 to 7, its branch "b" 2 to 4: what they have in common is gone from main."""
    store = history(root, "a", "b")
    create_tag(store, "base", snapshot=2)
    branch = create_branch(store, "b", tag="base")
    for one, commits in ((store, 5), (branch, 2)):
        if schemas:
            alter(one, "1 s" if one is store else "1 min")
        for number in range(commits):
            add(one, f"{one.paths.branch}{number}")
    create_tag(store, "newer")
    for number in (1, 2):
        store.storage.delete(store.paths.snapshot(number))
    stored_path(store.paths.earliest_hint).write_text("3")
    return store


def replaced(*, by: str | None = None, again: bool = True) -> Callable[[TableStore], object]:
    """Drop the branch, and create it again from a tag or empty."""

    def act(store: TableStore) -> None:
        drop_branch(store, "b")
        if again:
            create_branch(store, "b", tag=by)

    return act


def continued(store: TableStore) -> None:
    """The branch goes on, and all its snapshots that a fast-forward may have seen expire."""
    branch = store.on_branch("b")
    add(branch, "later")
    for number in branch.snapshots.ids()[:-1]:
        branch.storage.delete(branch.paths.snapshot(number))


RIVALS: dict[str, Callable[[TableStore], object]] = {
    "created again from a newer tag": replaced(by="newer"),
    "created again from its first tag": replaced(by="base"),
    "created again empty": replaced(),
    "dropped": replaced(again=False),
    "expired": continued,
}


def interfered(plain: TableStore, step: int, rival: Callable[[TableStore], object]) -> Accompanied:
    """A storage for which a rival acts once, right before the n-th call."""

    def hook(number: int) -> None:
        if number == step:
            with contextlib.suppress(LakebedError):  # its tag may be gone
                rival(plain)

    return Accompanied(hook)


def state(store: TableStore) -> tuple[Files, Files]:
    """The snapshot files and schema files of a branch."""

    def read(folder: str) -> Files:
        return {path.name: path.read_bytes() for path in stored_path(folder).glob("s*-*")}

    return read(store.paths.snapshots), read(store.paths.schemas)


def forwarded(main: tuple[Files, Files], branch: tuple[Files, Files]) -> tuple[Files, Files]:
    """What main is after a fast-forward: its own snapshots before the branch, then those of the branch."""
    first = min((int(name.split("-")[1]) for name in branch[0]), default=0)
    older = {name: text for name, text in main[0].items() if int(name.split("-")[1]) < first}
    return {**older, **branch[0]}, branch[1]


@pytest.mark.scales
@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("rival", RIVALS)
def test_the_branch_is_replaced_at_every_step(tmp_path: Path, rival: str, schemas: bool) -> None:
    store = forked(tmp_path / "t", schemas=schemas)
    main, branch = state(store), state(store.on_branch("b"))
    errors: list[str] = []
    step = 1
    while True:
        copy = tmp_path / f"t-{step}"
        copy_tree(tmp_path / "t", copy)
        plain = open_store(copy)
        storage = interfered(plain, step, RIVALS[rival])
        try:
            fast_forward(open_store(copy, storage), "b")
        except LakebedError as error:
            errors.append(str(error))
        if storage.calls < step:
            break
        now = state(plain)
        allowed = [main, forwarded(main, branch)]
        if "b" in plain.branch_names() and plain.on_branch("b").snapshots.ids():
            allowed.append(forwarded(main, state(plain.on_branch("b"))))
        assert now in allowed, f"step {step}: {sorted(now[0])}"
        assert plain.snapshots.ids(), f"step {step}"
        check_readable(plain)
        assert not [problem for problem in verify(plain).problems if problem.code == "no-snapshot"]
        delete_tree(copy)
        step += STRIDE
    assert step > 30
    assert errors
    assert all("branch 'b'" in error for error in errors)


def test_the_error_says_what_main_is_now(tmp_path: Path) -> None:
    store = forked(tmp_path, schemas=False)
    storage = Late(lambda: RIVALS["created again from a newer tag"](open_store(tmp_path)))
    create_tag(store.on_branch("b"), "newer", snapshot=4)  # so that the tag of main with this name stays until the end
    with pytest.raises(NotFoundError) as raised:
        fast_forward(open_store(tmp_path, storage), "b")
    assert str(raised.value) == (
        "snapshot 4 of branch 'b' of table db.t does not exist any more: the branch was dropped, created again or "
        "expired while 'main' was fast-forwarded to it. 'main' now has 3 snapshots (2 to 4) as the branch had them "
        "before; call verify() to check that their files exist, and rollback_to() or fast_forward() if you want "
        "another state"
    )
    assert store.snapshots.ids() == [2, 3, 4]


class Late(Wrapped):
    """Lets a rival act when main has all snapshots of the branch, before tags are copied."""

    def __init__(self, rival: Callable[[], object]) -> None:
        super().__init__()
        self._rival: Callable[[], object] | None = rival

    def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
        if name == "delete" and path.endswith("snapshot-5") and self._rival is not None:
            rival, self._rival = self._rival, None
            rival()
        return run()


def test_a_branch_that_never_stands_still(tmp_path: Path) -> None:
    """It is created again whenever it was read: main is unchanged, and the error says so."""
    store = forked(tmp_path, schemas=False)
    before = state(store)
    tags = ["base", "newer"]

    class Restless(Wrapped):
        def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
            found = run()
            if name == "read" and "/branch-b/snapshot/" in path:
                replaced(by=tags[0])(open_store(tmp_path))
                tags.reverse()
            return found

    with pytest.raises(CommitConflictError, match=r"branch 'b' of table db.t changed every time.* is unchanged"):
        fast_forward(open_store(tmp_path, Restless()), "b")
    assert state(store) == before
