from __future__ import annotations

import contextlib
import datetime as dt
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.effort import STRIDE
from tests.metadata.entries import adds
from tests.metadata.needed_files import files_on_disk, needed_files
from tests.metadata.stores import Failing, Interrupted, Logged, commit_files, files_below, new_store, open_store
from tests.places import copy_tree, delete_tree, stored_path

from lakebed import Table
from lakebed.errors import CorruptError, LakebedError, NotFoundError, OptionError
from lakebed.metadata.branches import create_branch
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.orphans import remove_orphan_files

FUTURE = 2**50
UUID = "0f2f7c0e-1111-4222-8333-444455556666"


@pytest.fixture
def made(table: Callable[..., Table]) -> Table:
    """A partitioned table with two snapshots, a tag on the first and a branch with a snapshot of its own."""
    found = table(
        "p STRING, q STRING, k INT",
        partition_by=["p", "q"],
        options={"write-only": "true", "data-file.path-directory": "deep/data"},
    )
    found.write([{"p": "a", "q": "x", "k": 1}, {"p": "b", "q": None, "k": 2}])
    create_tag(found._store, "t")
    found.overwrite([{"p": "a", "q": "x", "k": 3}])
    create_branch(found._store, "b")
    found.branch("b").write([{"p": "c", "q": "x", "k": 4}])
    return found


def plant(store: TableStore, *names: str) -> list[str]:
    """Files below the table; gives their paths."""
    paths = [stored_path(store.paths.root, name) for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    return sorted(map(str, paths))


ORPHANS = {
    f"manifest/manifest-{UUID}-0": "manifest",
    f"manifest/manifest-list-{UUID}-0": "manifest list",
    f"manifest/index-manifest-{UUID}-0": "index manifest",
    f"manifest/.manifest-{UUID}-0.{UUID}.tmp": "temporary",
    f"index/index-{UUID}-0": "index",
    f"statistics/stat-{UUID}-0": "statistics",
    f"statistics/stats-{UUID}-0": "statistics",
    f"snapshot/.snapshot-3.{UUID}.tmp": "temporary",
    f"snapshot/.LATEST.{UUID}.tmp": "temporary",
    f"tag/.tag-t.{UUID}.tmp": "temporary",
    f"schema/.schema-1.{UUID}.tmp": "temporary",
    f"consumer/.consumer-c.{UUID}.tmp": "temporary",
    f"changelog/.changelog-1.{UUID}.tmp": "temporary",
    f"branch/branch-b/snapshot/.snapshot-2.{UUID}.tmp": "temporary",
    f"deep/data/p=a/q=x/bucket-0/data-{UUID}-0.parquet": "data",
    f"deep/data/p=a/q=x/bucket-0/data-{UUID}-0.parquet.index": "data",
    f"deep/data/p=z/q=__DEFAULT_PARTITION__/bucket-postpone/changelog-{UUID}-0.parquet": "changelog",
}
STRANGERS = [
    "notes.txt",
    "manifest/notes.txt",
    "index/.keep",
    f"statistics/stat-sidecar-{UUID}-1",
    "snapshot/snapshot-003",
    "snapshot/notes",
    f".lakebed/cache-{UUID}",
    f"deep/data/p=a/q=x/data-{UUID}-0.parquet",
    f"deep/data/p=a/q=x/bucket-0/deeper/data-{UUID}-0.parquet",
    f"deep/data/p=a/bucket-0/data-{UUID}-0.parquet",
    "deep/data/p=a/q=x/bucket-0/_SUCCESS",
    f"p=a/q=x/bucket-0/data-{UUID}-0.parquet",
    f"branch/notes/data-{UUID}-0.parquet",
]


def test_it_takes_what_writers_make_and_nobody_needs_and_nothing_else(made: Table) -> None:
    store = made._store
    before = files_below(store.paths.root)
    orphans = plant(store, *ORPHANS)
    plant(store, *STRANGERS)
    found = remove_orphan_files(store, older_than=FUTURE)
    kinds = {str(stored_path(file.path).relative_to(store.paths.root)): file.kind for file in found.files}
    assert kinds == ORPHANS
    assert found.dry_run
    assert found.bytes == 5 * len(ORPHANS)
    assert all(stored_path(path).exists() for path in orphans)
    done = remove_orphan_files(store.on_branch("b"), older_than=FUTURE, dry_run=False, force=True)
    assert done.files == found.files
    assert files_below(store.paths.root) == before | set(STRANGERS)
    assert remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True).count == 0
    assert made.scan(tag="t").to_arrow().num_rows == 2
    assert made.branch("b").scan().to_arrow().num_rows == 1


@pytest.mark.local_disk
def test_young_files_stay(made: Table) -> None:
    store = made._store
    (path,) = plant(store, f"manifest/manifest-{UUID}-0")
    assert remove_orphan_files(store).count == 0
    hours_ago = time.time() - 25 * 3600
    os.utime(path, (hours_ago, hours_ago))
    assert remove_orphan_files(store).count == 1
    assert remove_orphan_files(store, older_than="26 h").count == 0
    assert remove_orphan_files(store, older_than="24 h").count == 1


@pytest.mark.local_disk
def test_the_clock_of_the_storage_counts(made: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose clock is two hours ahead does not take files of a running commit for old ones."""
    young, old = plant(made._store, f"manifest/manifest-{UUID}-0", f"manifest/manifest-{UUID}-1")
    ago = time.time() - 2 * 3600
    os.utime(old, (ago, ago))
    ahead = time.time_ns() + 2 * 3600 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: ahead)
    assert remove_orphan_files(made._store, older_than="90 min").count == 2  # a plan by the host's own clock
    removed = remove_orphan_files(made._store, older_than="90 min", dry_run=False)
    assert [file.path for file in removed.files] == [old]
    assert stored_path(young).exists()
    with pytest.raises(OptionError, match="younger than one hour"):
        remove_orphan_files(made._store, older_than=ahead // 10**6 - 90 * 60_000, dry_run=False)


def test_young_files_need_force(made: Table) -> None:
    store = made._store
    (path,) = plant(store, f"manifest/manifest-{UUID}-0")
    for younger in ("0 s", "59 min", dt.timedelta(minutes=10), dt.datetime.now(), FUTURE):
        with pytest.raises(OptionError, match=r"younger than one hour.*force=True"):
            remove_orphan_files(store, older_than=younger, dry_run=False)
        assert remove_orphan_files(store, older_than=younger, dry_run=True).count in {0, 1}
    assert stored_path(path).exists()
    hour_ago = dt.datetime.now() - dt.timedelta(hours=1)
    for fine in ("1 h", "61 min", hour_ago, "2 d", "2000-01-01"):
        assert remove_orphan_files(store, older_than=fine, dry_run=False).count == 0
    assert remove_orphan_files(store, older_than="0 s", dry_run=False, force=True).count == 1


@pytest.mark.parametrize(
    "bad", [{"older_than": "yesterday"}, {"older_than": 1.5}, {"dry_run": "no"}, {"force": 1, "dry_run": False}]
)
def test_arguments_that_cannot_be_are_refused(made: Table, bad: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        remove_orphan_files(made._store, **bad)


def test_a_commit_that_lands_meanwhile_keeps_its_files(made: Table) -> None:
    """Files are listed before references are read, so a commit in between is seen."""
    root = made._store.paths.root
    storage = Interrupted(lambda: made.write([{"p": "a", "q": "x", "k": 9}]), before="list", ending="p=a/q=x/bucket-0")
    remove_orphan_files(open_store(root, storage), older_than=FUTURE, dry_run=False, force=True)
    assert not storage.hooks
    assert made.scan().to_arrow()["k"].to_pylist().count(9) == 1
    storage = Interrupted(lambda: made.write([{"p": "a", "q": "x", "k": 9}]), before="list", ending="/snapshot")
    remove_orphan_files(open_store(root, storage), older_than=FUTURE, dry_run=False, force=True)
    assert made.scan().to_arrow()["k"].to_pylist().count(9) == 2


@pytest.mark.parametrize("what", ["snapshot/snapshot-2", "tag/tag-t", "branch/branch-b/snapshot/snapshot-1"])
def test_nothing_goes_while_something_that_refers_to_files_cannot_be_read(made: Table, what: str) -> None:
    plant(made._store, *ORPHANS)
    before = files_below(made.path)
    stored_path(made.path, what).write_text("{")
    with pytest.raises(CorruptError):
        remove_orphan_files(made._store, older_than=FUTURE, dry_run=False, force=True)
    assert files_below(made.path) == before


def test_nothing_goes_while_a_manifest_is_missing(made: Table) -> None:
    plant(made._store, *ORPHANS)
    snapshot = made.latest_snapshot()
    assert snapshot is not None
    stored_path(made._store.paths.manifest(snapshot.base_manifest_list)).unlink()
    before = files_below(made.path)
    with pytest.raises(NotFoundError):
        remove_orphan_files(made._store, older_than=FUTURE, dry_run=False, force=True)
    assert files_below(made.path) == before


@pytest.mark.scales
def test_failing_at_any_call_loses_nothing(made: Table, tmp_path: Path) -> None:
    plant(made._store, *ORPHANS)
    for fail_at in range(1, 300, STRIDE):
        root = tmp_path / "copy"
        delete_tree(root)
        copy_tree(made.path, root)
        storage = Failing(fail_at, after=fail_at % 2 == 0)
        with contextlib.suppress(LakebedError):
            remove_orphan_files(open_store(root, storage), older_than=FUTURE, dry_run=False, force=True)
        if not storage.failed:
            assert fail_at > 30
            break
        store = open_store(root)
        assert needed_files(store) <= files_on_disk(store)
        remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True)
        assert files_on_disk(store) == needed_files(store)


def test_long_lived_changelogs_keep_what_they_added(made: Table) -> None:
    """Written by Paimon when snapshots expire and changelogs stay; their base lists may be gone."""
    store = made._store
    made.write([{"p": "a", "q": "x", "k": 5}])
    latest = made.latest_snapshot()
    assert latest is not None
    text = store.storage.read(store.paths.snapshot(latest.id))
    store.storage.write(store.paths.changelog(latest.id), text)
    store.storage.delete(store.paths.snapshot(latest.id))
    store.storage.delete(store.paths.manifest(latest.base_manifest_list))
    assert remove_orphan_files(store, older_than=FUTURE).count == 0
    store.storage.delete(store.paths.changelog(latest.id))
    assert remove_orphan_files(store, older_than=FUTURE).by_kind().keys() == {"data", "manifest", "manifest list"}


def test_storage_is_asked_once_per_folder(made: Table) -> None:
    plant(made._store, *(f"manifest/manifest-{UUID}-{number}" for number in range(50)))
    log = Logged()
    remove_orphan_files(open_store(made.path, log), older_than=FUTURE)
    assert not log.names("size")
    assert len(log.names("list", "bucket-")) == 3
    assert len(log.log) < 80


@pytest.mark.local_disk
def test_branches_that_were_never_finished_go(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    commit_files(store, adds("a"))
    left = stored_path(store.paths.branches, f".branch-dev.{uuid.uuid4()}.tmp", "schema")
    left.mkdir(parents=True)
    (left / "schema-0").write_text("{}")
    strange = stored_path(store.paths.branches, ".mine")
    strange.mkdir()
    assert remove_orphan_files(store).count == 0  # too young
    found = remove_orphan_files(store, older_than=dt.datetime.now() + dt.timedelta(days=1), dry_run=False, force=True)
    assert [file.kind for file in found.files if file.kind == "unfinished branch"] == ["unfinished branch"]
    assert not left.parent.exists()
    assert strange.exists()


# Without append the history index has no line for each commit, so nothing shows that one between others is lost.
@pytest.mark.parametrize("lost", [pytest.param([2], marks=pytest.mark.local_disk), [1, 2, 3]])
def test_files_of_a_lost_snapshot_are_not_deleted(tmp_path: Path, lost: list[int]) -> None:
    """Its file may be restored: nothing is deleted until it is there again, or the gap has expired."""
    store = new_store(tmp_path)
    for name in ("a", "b", "c"):
        commit_files(store, adds(name))
    saved = {number: stored_path(store.paths.snapshot(number)).read_bytes() for number in lost}
    for number in lost:
        stored_path(store.paths.snapshot(number)).unlink()
    before = files_below(tmp_path)
    for dry_run in (True, False):
        with pytest.raises(CorruptError, match=r"table db.t: .*snapshot.* nothing was deleted; restore"):
            remove_orphan_files(store, older_than=FUTURE, dry_run=dry_run, force=True)
    assert files_below(tmp_path) == before
    for number, text in saved.items():
        stored_path(store.paths.snapshot(number)).write_bytes(text)
    assert remove_orphan_files(store, older_than=FUTURE, dry_run=False, force=True).files == ()
