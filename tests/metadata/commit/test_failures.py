"""Storages fail at any moment: after each failure the table is whole, with the commit or without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.effort import STRIDE
from tests.metadata.entries import adds, entries, names_of
from tests.metadata.stores import (
    Failing,
    Interrupted,
    check_nothing_is_missing,
    check_tidy,
    commit_files,
    files_below,
    new_store,
    open_store,
    snapshots_on_disk,
)
from tests.places import copy_tree, stored_path

from lakebed import Lake, connect
from lakebed.errors import CommitOutcomeUnknownError, LakebedError, StorageError
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, append, commit
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.manifests import Manifests
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import replace_matching
from lakebed.storage import Storage

MOST_CALLS = 80  # far more than any commit here makes


def live(root: str | Path) -> set[str]:
    store = open_store(root)
    object.__setattr__(store, "manifests", Manifests(store.storage, store.paths, ManifestCache()))
    return set(names_of(live_entries(store, store.snapshots.latest())))


def an_append(store: TableStore) -> Snapshot | None:
    return commit(store, append(Change(entries=adds("new"))))


def a_rewrite(store: TableStore) -> Snapshot | None:
    change = Change(entries=pa.concat_tables([as_deletes(adds("a")), adds("new")]))
    return commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _: change, planned_on=1))


def an_overwrite(store: TableStore) -> Snapshot | None:
    return commit(store, Commit(kind=CommitKind.OVERWRITE, plan=replace_matching(store, None, adds("new"))))


def a_truncate(store: TableStore) -> Snapshot | None:
    return commit(store, Commit(kind=CommitKind.OVERWRITE, plan=replace_matching(store, None, entries())))


def with_index_and_changelog(store: TableStore) -> Snapshot | None:
    index = IndexEntry(
        kind=0,
        partition=bytes(12),
        bucket=0,
        index_type=DELETION_VECTORS,
        file_name="index-0",
        file_size=1,
        row_count=1,
        vectors=(VectorRange("a", 1, 1, 1),),
    )
    change = Change(entries=adds("new"), changelog=adds("log"), index=(index,))
    return commit(store, append(change, user="u", identifier=5))


# What each commit makes of the files {a, b}, and of {a, b, x} when another commit adds x first.
CASES: dict[str, tuple[Callable[[TableStore], Snapshot | None], set[str]]] = {
    "append": (an_append, {"a", "b"}),
    "rewrite": (a_rewrite, {"b"}),
    "overwrite": (an_overwrite, set()),
    "truncate": (a_truncate, set()),
    "index": (with_index_and_changelog, {"a", "b"}),
}


@pytest.mark.scales
@pytest.mark.parametrize("race", [False, True])
@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_failure_at_every_call(tmp_path: Path, case: str, after: bool, forever: bool, race: bool) -> None:
    make, kept = CASES[case]
    start = new_store(tmp_path / "start")
    commit_files(start, adds("a"))
    commit_files(start, adds("b"))
    for fail_at in range(1, MOST_CALLS, STRIDE):
        root = tmp_path / str(fail_at)
        copy_tree(start.paths.root, root)
        good = open_store(root)
        acknowledged = {"a", "b"}
        inner: Storage | None = None
        if race:
            inner = Interrupted(lambda store=good: commit_files(store, adds("x")))  # type: ignore[misc]
        failing = Failing(fail_at, after=after, forever=forever, inner=inner)
        outcome: object
        try:
            outcome = make(open_store(root, failing))
        except LakebedError as error:
            outcome = error
        if len(snapshots_on_disk(root)) > 2 and "x" in live_at(root, 3):
            acknowledged.add("x")

        new = set() if case == "truncate" else {"new"}
        with_it = kept | new | {"x"} if case not in {"overwrite", "truncate"} and "x" in acknowledged else kept | new
        if isinstance(outcome, Snapshot):
            assert live(root) == with_it
        elif isinstance(outcome, CommitOutcomeUnknownError):
            assert live(root) in (acknowledged, with_it)
        else:
            assert isinstance(outcome, StorageError), outcome
            assert "made to fail" in str(outcome)
            assert live(root) == acknowledged
        check_nothing_is_missing(root)
        if not forever and "delete" not in failing.failed:
            check_tidy(root)
        if not failing.failed:
            assert isinstance(outcome, Snapshot)
            assert fail_at > 8
            return
    pytest.fail("the commit never got through")


def live_at(root: Path, snapshot_id: int) -> set[str]:
    store = open_store(root)
    return set(names_of(live_entries(store, store.snapshots.get(snapshot_id))))


# ----------------------------------------------------------------------------------------------------- whole tables


def rows(lake: Lake) -> list[int]:
    return sorted(lake.table("db.t").scan().to_arrow()["id"].to_pylist())


def data_files(root: Path) -> set[str]:
    return {name for name in files_below(root) if name.endswith(".parquet")}


def referenced_data(root: Path) -> set[str]:
    store = open_store(root)
    found: set[str] = set()
    for snapshot in snapshots_on_disk(root).values():
        found |= set(names_of(live_entries(store, snapshot)))
    return found


ACTIONS: dict[str, tuple[Callable[[Lake], object], list[int]]] = {
    "write": (lambda lake: lake.table("db.t").write(pa.table({"p": [1, 2], "id": [5, 6]})), [1, 2, 3, 4, 5, 6]),
    "overwrite": (lambda lake: lake.table("db.t").overwrite(pa.table({"p": [1], "id": [9]})), [3, 4, 9]),
    "delete": (lambda lake: lake.table("db.t").delete("id IN (1, 3)"), [2, 4]),
    "truncate": (lambda lake: lake.table("db.t").truncate(), []),
}


@pytest.mark.scales
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_table_is_whole_after_every_failure(tmp_path: Path, action: str, after: bool) -> None:
    act, wanted = ACTIONS[action]
    start = connect(tmp_path / "start")
    start.create_database("db")
    start.create_table("db.t", "p INT, id BIGINT", partition_by=["p"])
    start.table("db.t").write(pa.table({"p": [1, 1, 2, 2], "id": [1, 2, 3, 4]}))
    for fail_at in range(1, MOST_CALLS, STRIDE):
        warehouse = tmp_path / str(fail_at)
        copy_tree(start.warehouse, warehouse)
        good = connect(warehouse)
        root = warehouse / "db.db" / "t"
        failing = Failing(fail_at, after=after)
        try:
            act(Lake(str(warehouse), failing, {}))
            assert rows(good) == wanted
        except StorageError:
            assert rows(good) == [1, 2, 3, 4]
        if "delete" not in failing.failed:
            check_tidy(root)
            assert {stored_path(name).name for name in data_files(root)} == referenced_data(root), (
                "data files were left over"
            )
        if not failing.failed:
            assert fail_at > 8
            return
    pytest.fail("the action never got through")


@pytest.mark.scales
def test_creating_a_table_fails_whole(tmp_path: Path) -> None:
    for after in (False, True):
        for fail_at in range(1, MOST_CALLS, STRIDE):
            warehouse = tmp_path / f"{after}-{fail_at}"
            good = connect(warehouse)
            good.create_database("db")
            failing = Failing(fail_at, after=after)
            try:
                Lake(str(warehouse), failing, {}).create_table("db.t", "id BIGINT")
            except StorageError:
                pass
            else:
                if failing.failed:
                    continue
                break
            there = good.tables("db")
            assert there in ([], ["t"])
            if there:
                good.table("db.t").write(pa.table({"id": [1]}))
        else:
            pytest.fail("the table was never created")
