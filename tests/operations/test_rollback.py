"""Rollback: to a snapshot, a tag, a moment; with commits landing meanwhile, and with failures at every step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.metadata.crashes import at_every_step
from tests.metadata.histories import add, check_readable, files_of, history, live
from tests.metadata.long_histories import spread, with_storage, write_history
from tests.metadata.stores import Interrupted, Logged, files_below, open_store
from tests.places import delete_tree, stored_path

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.snapshot import snapshot_to_json
from lakebed.metadata.branches import create_branch
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag, list_tags
from lakebed.operations.rollback import RollbackPlan, rollback_to


def hint(store: TableStore, name: str) -> str:
    return stored_path(store.paths.snapshots, name).read_text()


def keep_changelog(store: TableStore, *ids: int) -> None:
    """Long-lived changelogs as Paimon keeps them."""
    folder = stored_path(store.paths.changelogs)
    folder.mkdir(exist_ok=True)
    for number in ids:
        (folder / f"changelog-{number}").write_text(snapshot_to_json(store.snapshots.get(number)))
    (folder / "LATEST").write_text(str(max(ids)))


def test_back_to_a_snapshot(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c", "d")
    for number in (1, 2, 3):
        create_tag(store, f"t{number}", snapshot=number)
    keep_changelog(store, 1, 2, 3, 4)
    target = store.snapshots.get(2)
    plan = rollback_to(store, snapshot=2)
    assert plan == RollbackPlan(target, (3, 4), ("t3",), (3, 4), recreates_snapshot=False, dry_run=False)
    assert str(plan) == "rolled back to snapshot 2: deleted 2 snapshots (3, 4), tag t3, 2 changelogs (3, 4)"
    assert live(store) == ["a", "b"]
    assert store.snapshots.ids() == [1, 2]
    assert [tag.name for tag in list_tags(store)] == ["t1", "t2"]
    assert files_below(tmp_path / "changelog") == {"changelog-1", "changelog-2"}
    assert hint(store, "LATEST") == "2"
    assert files_below(tmp_path / "bucket-0") == {"a", "b", "c", "d"}  # for orphan removal
    assert add(store, "e").id == 3
    assert live(store) == ["a", "b", "e"]


def test_schemas_stay(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    store.schemas.change(lambda s: type(s)(**{**vars(s), "id": 1}))
    add(store, "b")
    rollback_to(store, snapshot=1)
    assert store.schemas.ids() == [0, 1]


def test_a_dry_run_touches_nothing(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    create_tag(store, "t")
    before = files_below(tmp_path)
    plan = rollback_to(store, snapshot=1, dry_run=True)
    assert (plan.snapshots, plan.tags, plan.dry_run) == ((2,), ("t",), True)
    assert str(plan) == "would roll back to snapshot 1: would delete snapshot 2, tag t"
    assert files_below(tmp_path) == before
    assert live(store) == ["a", "b"]


def test_to_where_it_is_already(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    plan = rollback_to(store, snapshot=2)
    assert (plan.snapshots, plan.tags) == ((), ())
    assert str(plan) == "rolled back to snapshot 2: deleted nothing"
    assert live(store) == ["a", "b"]


def test_newest_snapshots_go_first(tmp_path: Path) -> None:
    history(tmp_path, "a", "b", "c", "d")
    log = Logged()
    rollback_to(open_store(tmp_path, log), snapshot=1)
    assert log.names("delete", "snapshot-") == ["snapshot-4", "snapshot-3", "snapshot-2"]
    changes = [step for step in log.log if step[0] in {"delete", "replace"}]
    assert changes[0] == changes[-1] == ("replace", "LATEST")


def test_back_to_a_tag(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c")
    create_tag(store, "t", snapshot=2)
    assert rollback_to(store, tag="t").snapshots == (3,)
    assert live(store) == ["a", "b"]
    assert [tag.name for tag in list_tags(store)] == ["t"]
    with pytest.raises(NotFoundError, match="unknown tag 'u'"):
        rollback_to(store, tag="u")


def test_back_to_a_tag_whose_snapshot_expired(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c", "d")
    create_tag(store, "t", snapshot=2)
    text = (tmp_path / "snapshot/snapshot-2").read_bytes()
    for number in (1, 2):
        store.storage.delete(store.paths.snapshot(number))
    (tmp_path / "snapshot/EARLIEST").write_text("3")
    plan = rollback_to(store, tag="t")
    assert plan.recreates_snapshot
    assert plan.snapshots == (3, 4)
    assert (hint(store, "EARLIEST"), hint(store, "LATEST")) == ("2", "2")
    assert store.snapshots.ids() == [2]
    assert (tmp_path / "snapshot/snapshot-2").read_bytes() == text
    assert live(store) == ["a", "b"]


def test_a_tag_that_goes_meanwhile(tmp_path: Path) -> None:
    plain = history(tmp_path, "a", "b", "c")
    create_tag(plain, "t", snapshot=1)
    plain.storage.delete(plain.paths.snapshot(1))
    going = Interrupted(lambda: stored_path(plain.paths.tag("t")).unlink(), ending="snapshot-1")
    with pytest.raises(NotFoundError, match="nothing was rolled back"):
        rollback_to(open_store(tmp_path, going), tag="t")
    assert plain.snapshots.ids() == [2, 3]


def test_a_tag_whose_number_was_used_again(tmp_path: Path) -> None:
    """As after a rollback that died before it came to the tags."""
    store = history(tmp_path, "a", "b")
    tagged = create_tag(store, "t").snapshot
    store.storage.delete(store.paths.snapshot(2))
    add(store, "x")
    add(store, "y")
    assert rollback_to(store, tag="t").snapshots == (3,)
    assert store.snapshots.latest() == tagged
    assert live(store) == ["a", "b"]


def test_back_to_a_moment(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c")
    times = [snapshot.time_millis for snapshot in store.snapshots.read_many([1, 2, 3])]
    with pytest.raises(NotFoundError, match="no snapshot at or before"):
        rollback_to(store, timestamp_millis=times[0] - 1)
    expected = max(i for i, moment in enumerate(times, 1) if moment <= times[1])
    assert rollback_to(store, timestamp_millis=times[1]).target.id == expected
    assert store.snapshots.ids()[-1] == expected


@pytest.mark.local_disk
def test_a_moment_is_found_with_few_snapshots_opened(tmp_path: Path) -> None:
    forget_indexes()
    store, made = write_history(tmp_path / "t", spread(300, 30), noted=True)
    logged = with_storage(store, log := Logged())
    plan = rollback_to(logged, timestamp_millis=10_500, dry_run=True)
    assert (plan.target, plan.snapshots) == (made[9], tuple(range(11, 301)))
    opened = log.names("read", "snapshot-")
    assert len(opened) <= 8 + 2 + 1, "the newest ones, two by the index, and the target again"
    log.log.clear()
    forget_indexes()
    assert rollback_to(logged, timestamp_millis=20_500).target == made[19]
    assert len(log.names("read", "snapshot-")) <= 8 + 2 + 2
    assert store.snapshots.ids()[-1] == 20
    forget_indexes()
    assert rollback_to(logged, timestamp_millis=10_500).target == made[9], "the index is still of the longer history"
    with pytest.raises(NotFoundError, match="no snapshot at or before 999 "):
        rollback_to(logged, timestamp_millis=999)


@pytest.mark.parametrize("given", [{}, {"snapshot": 1, "tag": "t"}, {"tag": "t", "timestamp_millis": 5}])
def test_exactly_one_target(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="exactly one of"):
        rollback_to(history(tmp_path, "a"), **given)


def test_a_snapshot_that_is_not_there(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    for number in (0, 9):
        with pytest.raises(NotFoundError, match=f"snapshot {number} .* does not exist"):
            rollback_to(store, snapshot=number)
    assert live(store) == ["a", "b"]


def test_a_target_that_expires_meanwhile(tmp_path: Path) -> None:
    plain = history(tmp_path, "a", "b")
    going = Interrupted(lambda: stored_path(plain.paths.snapshot(1)).unlink(), before="replace", ending="LATEST")
    with pytest.raises(NotFoundError, match="was deleted before the rollback started"):
        rollback_to(open_store(tmp_path, going), snapshot=1)
    assert plain.snapshots.ids() == [2]
    assert live(plain) == ["a", "b"]


def test_a_commit_that_lands_meanwhile_goes_too(tmp_path: Path) -> None:
    plain = history(tmp_path, "a", "b", "c")
    racing = Interrupted(
        lambda: add(open_store(tmp_path), "x"),
        lambda: add(open_store(tmp_path), "y"),
        before="delete",
        ending="snapshot-3",
    )
    plan = rollback_to(open_store(tmp_path, racing), snapshot=1)
    assert plan.snapshots == (2, 3, 4)
    assert plain.snapshots.ids() == [1]
    check_readable(plain)


def test_a_branch_is_rolled_back_alone(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b")
    branch = create_branch(store, "x", snapshot=2)
    add(branch, "c")
    add(branch, "d")
    rollback_to(branch, snapshot=3)
    assert live(branch) == ["a", "b", "c"]
    assert store.snapshots.ids() == [1, 2]
    assert live(store) == ["a", "b"]


@pytest.mark.scales
@pytest.mark.parametrize("expired", [False, True])
def test_a_failure_at_every_step(tmp_path: Path, expired: bool) -> None:
    store = history(tmp_path / "t", "a", "b", "c", "d")
    create_tag(store, "t", snapshot=2)
    create_tag(store, "late", snapshot=4)
    keep_changelog(store, 3)
    if expired:
        for number in (1, 2):
            store.storage.delete(store.paths.snapshot(number))
    states = [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]

    def between(store: TableStore) -> None:
        for snapshot in [*store.snapshots.read_many(store.snapshots.ids()), *store.snapshots.tags().values()]:
            files_of(store, snapshot)
        assert live(store) in states
        assert "t" in store.snapshots.tags()

    def after(store: TableStore) -> None:
        check_readable(store)
        assert live(store) == ["a", "b"]
        assert list(store.snapshots.tags()) == ["t"]
        assert files_below(store.paths.changelogs) <= {"LATEST"}

    tried = at_every_step(tmp_path / "t", lambda s: rollback_to(s, tag="t"), between=between, after=after)
    assert tried >= 29


def test_back_to_a_watermark(tmp_path: Path) -> None:
    store = history(tmp_path, "a", "b", "c", "d", "e")
    for number, watermark in ((1, None), (2, 100), (3, 200), (4, -(2**63)), (5, 300)):
        snapshot = replace(store.snapshots.get(number), watermark=watermark)
        stored_path(store.paths.snapshot(number)).write_text(snapshot_to_json(snapshot))
    delete_tree(stored_path(store.paths.history_index))  # its lines are of the snapshots as they were
    with pytest.raises(NotFoundError, match="watermark of at most 99"):
        rollback_to(store, watermark=99)
    with pytest.raises(OptionError, match="exactly one"):
        rollback_to(store, watermark=99, snapshot=1)
    assert rollback_to(store, watermark=299, dry_run=True).target.id == 3
    assert rollback_to(store, watermark=199).target.id == 2
    assert live(store) == ["a", "b"]
