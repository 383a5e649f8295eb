"""Merging of manifests: every snapshot stands for the files it had, however its manifests were merged meanwhile."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import adds, entries, entry, names_of
from tests.metadata.stores import Interrupted, check_tidy, commit_files, new_store, open_store, snapshots_on_disk
from tests.places import stored_path

from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.manifest import ADD, DELETE, as_deletes
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.types.data_types import Atomic
from lakebed.metadata.commit.commit import Change, Commit, append, commit
from lakebed.metadata.commit.manifest_merge import MergePolicy, by_place, tail_to_merge
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_manifests import compact_manifests

POLICY = MergePolicy(target_size=10**6, count=5, least_count=2, interval=20, work=10**6)
OFTEN = {"manifest.merge-min-count": "3"}


def live(store: TableStore, snapshot: Snapshot | None) -> list[str]:
    return sorted(names_of(live_entries(open_store(store.paths.root), snapshot)))


def metas(store: TableStore, snapshot: Snapshot | None = None) -> list[Any]:
    return store.manifests.base_and_delta(snapshot or store.snapshots.latest())  # type: ignore[arg-type]


def remove(store: TableStore, files: pa.Table) -> Snapshot:
    change = Change(entries=as_deletes(files))
    made = commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _: change))
    assert made is not None
    return made


# ------------------------------------------------------------------------------------------------------------- policy


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.integers(500, 4000), min_size=400, max_size=400), st.integers(2, 30))
def test_the_list_stays_short_and_the_work_is_bounded(sizes: list[int], count: int) -> None:
    policy = MergePolicy(target_size=10**6, count=count, least_count=2, interval=10**9, work=10**6)
    held: list[int] = []
    written = 0
    for size in sizes:
        merge = tail_to_merge(held, policy)
        if merge:
            total = sum(held[-merge:])
            assert total <= policy.work
            written += total
            held[-merge:] = [total]
        held.append(size)
    total = sum(sizes)
    tiers = np.log(total / 500) / np.log(count) + 2
    assert len(held) <= (count + 1) * (tiers + 1)
    assert written <= total * 2 * (tiers + 1)


def test_what_is_merged_and_what_waits() -> None:
    assert tail_to_merge([], POLICY) == 0
    assert tail_to_merge([1000] * 4, POLICY) == 0
    assert tail_to_merge([1000] * 5, POLICY) == 5
    assert tail_to_merge([900_000] + [1000] * 5, POLICY) == 5  # what is large stays
    assert tail_to_merge([10**6] * 3 + [1000] * 5, POLICY) == 5
    assert tail_to_merge([100_000] * 4 + [30_000] * 5, POLICY) == 9  # and so the next tier is full too
    assert tail_to_merge([400_000] * 5, POLICY) == 0  # too much work for one commit
    assert tail_to_merge([1000] * 3, POLICY, commits_since_merge=20) == 3
    assert tail_to_merge([1000], POLICY, commits_since_merge=20) == 0


def test_entries_are_sorted_by_partition_and_bucket_and_else_as_they_were() -> None:
    listed = [entry(str(i), partition=bytes([3 - i % 3]), bucket=i % 2) for i in range(12)]
    found = by_place(entries(*listed)).to_pylist()
    assert found == sorted(listed, key=lambda row: (row["partition"], row["bucket"]))


# ------------------------------------------------------------------------------------------------------------- commits


def test_twenty_commits_read_as_twenty(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options=OFTEN)
    for number in range(20):
        commit_files(store, adds(f"f{number:02}"))
        assert len(metas(store)) <= 8
    for snapshot_id, snapshot in snapshots_on_disk(store.paths.root).items():
        assert live(store, snapshot) == [f"f{number:02}" for number in range(snapshot_id)]
        assert sum(meta.num_added_files for meta in metas(store, snapshot)) == snapshot_id
    assert len({s.base_manifest_list for s in snapshots_on_disk(store.paths.root).values()}) == 20
    check_tidy(store.paths.root)


def test_modes(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={**OFTEN, "manifest.compaction.mode": "MANUAL"})
    for number in range(7):
        commit_files(store, adds(f"f{number}"))
    assert len(metas(store)) == 7
    made = compact_manifests(store)
    assert made.snapshot is not None
    assert (made.before.manifests, made.after.manifests, made.cancelled) == (7, 1, 0)
    assert len(metas(store)) == 1


def test_the_interval_merges_few(tmp_path: Path) -> None:
    options = {"manifest.compaction.interval-commits": "4", "manifest.compaction.min-delta-count": "2"}
    store = new_store(tmp_path / "t", options=options)
    most = 0
    for number in range(20):
        commit_files(store, adds(f"f{number}"))
        most = max(most, len(metas(store)))
    assert 3 < most <= 6
    assert live(store, store.snapshots.latest()) == sorted(f"f{number}" for number in range(20))


@settings(deadline=None, max_examples=examples(25))
@given(st.data())
def test_every_snapshot_of_a_random_history_folds_to_its_files(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = {"manifest.merge-min-count": str(data.draw(st.integers(2, 6))), "manifest.target-file-size": "64 kb"}
        store = new_store(stored_path(folder, "t"), "id INT, p INT", partition_by=["p"], options=options)
        model: dict[int, list[str]] = {}
        files: dict[str, dict[str, Any]] = {}
        for step in range(data.draw(st.integers(5, 30))):
            action = data.draw(st.sampled_from(["add", "add", "add", "delete", "fold"]))
            if action == "fold":
                report = compact_manifests(store)
                if report.snapshot is None:
                    continue
                made = report.snapshot
                assert all(meta.num_deleted_files == 0 for meta in metas(store, made))
            elif action == "delete" and files:
                gone = data.draw(st.lists(st.sampled_from(sorted(files)), min_size=1, max_size=4, unique=True))
                made = remove(store, entries(*(files.pop(name) for name in gone)))
            else:
                partition = encode_row([data.draw(st.integers(0, 3))], [Atomic("INT")])
                new = [entry(f"{step}-{i}", partition=partition) for i in range(data.draw(st.integers(1, 3)))]
                files.update({row["file_name"]: row for row in new})
                made = commit_files(store, entries(*new))
            model[made.id] = sorted(files)
            assert made.properties["lakebed.live-files"] == str(len(files))
            assert made.properties["lakebed.live-bytes"] == str(1000 * len(files))
        for snapshot_id, snapshot in snapshots_on_disk(store.paths.root).items():
            assert live(store, snapshot) == model[snapshot_id]
            assert snapshot.total_record_count == 10 * len(model[snapshot_id])
        check_tidy(store.paths.root)


def test_a_merge_that_loses_the_race_is_made_once(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options=OFTEN)
    for number in range(3):
        commit_files(store, adds(f"f{number}"))
    other = open_store(store.paths.root)
    storage = Interrupted(lambda: commit_files(other.with_options({"manifest.compaction.mode": "MANUAL"}), adds("x")))
    made = commit_files(open_store(store.paths.root, storage), adds("y"))
    assert made.id == 5
    assert live(store, made) == ["f0", "f1", "f2", "x", "y"]
    assert [meta.num_added_files for meta in metas(store, made)] == [3, 1, 1]
    check_tidy(store.paths.root)


def test_a_race_in_which_both_merge(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options=OFTEN)
    for number in range(3):
        commit_files(store, adds(f"f{number}"))
    other = open_store(store.paths.root)
    storage = Interrupted(lambda: commit_files(other, adds("x")))
    made = commit_files(open_store(store.paths.root, storage), adds("y"))
    assert live(store, made) == ["f0", "f1", "f2", "x", "y"]
    check_tidy(store.paths.root)


def test_a_damaged_old_manifest_does_not_stop_appends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = new_store(tmp_path / "t", options=OFTEN)
    for number in range(3):
        commit_files(store, adds(f"f{number}"))
    damaged = stored_path(store.paths.manifest(metas(store)[0].file_name))
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    fresh = open_store(tmp_path / "t")
    fresh.manifests.cache._tables.clear()
    made = commit(fresh, append(Change(entries=adds("f3"))))
    assert made is not None
    assert "not merged" in caplog.text
    damaged.write_bytes(whole)
    assert live(store, made) == ["f0", "f1", "f2", "f3"]


# -------------------------------------------------------------------------------------------------- compact_manifests


def test_a_full_merge_drops_pairs_and_leaves_alone_what_no_delete_can_touch(tmp_path: Path) -> None:
    options = {"manifest.compaction.mode": "MANUAL", "manifest.target-file-size": "1 kb"}
    store = new_store(tmp_path / "t", "id INT, p INT", partition_by=["p"], options=options)
    rows = {
        number: [entry(f"{number}-{i}", partition=encode_row([number], [Atomic("INT")])) for i in range(40)]
        for number in range(4)
    }
    for listed in rows.values():
        commit_files(store, entries(*listed))
    before = metas(store)
    remove(store, entries(*rows[2][:10]))
    planned = compact_manifests(store, dry_run=True)
    assert planned.snapshot is None
    assert len(metas(store)) == 5
    done = compact_manifests(store)
    assert (done.before, done.after, done.cancelled) == (planned.before, planned.after, 10)
    after = metas(store)
    assert [meta.file_name for meta in after[:3]] == [before[i].file_name for i in (0, 1, 3)]
    assert sum(meta.num_added_files for meta in after) == 150
    assert done.snapshot is not None
    assert done.snapshot.commit_kind is CommitKind.COMPACT
    assert done.snapshot.delta_record_count == 0
    assert done.snapshot.total_record_count == 1500
    assert compact_manifests(store).snapshot is None
    assert "nothing to rewrite" in str(compact_manifests(store, dry_run=True))
    assert live(store, done.snapshot) == sorted(
        r["file_name"] for n, listed in rows.items() for r in listed if n != 2 or r not in rows[2][:10]
    )
    check_tidy(store.paths.root)


def test_compaction_of_manifests_rebases_over_commits(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"manifest.compaction.mode": "MANUAL"})
    files = [entry(f"f{number}") for number in range(4)]
    for row in files:
        commit_files(store, entries(row))
    other = open_store(store.paths.root)
    storage = Interrupted(lambda: remove(other, entries(files[1])), lambda: commit_files(other, adds("x")))
    report = compact_manifests(open_store(store.paths.root, storage))
    assert report.snapshot is not None
    assert report.snapshot.id == 7
    assert live(store, report.snapshot) == ["f0", "f2", "f3", "x"]
    found = [(meta.num_added_files, meta.num_deleted_files) for meta in metas(store, report.snapshot)]
    assert found == [(4, 0), (0, 1), (1, 0)]  # the merge of the first attempt, and what landed since
    check_tidy(store.paths.root)


def test_of_two_compactions_at_once_one_finds_nothing_left_to_do(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"manifest.compaction.mode": "MANUAL"})
    for number in range(4):
        commit_files(store, adds(f"f{number}"))
    other = open_store(store.paths.root)
    made = []
    storage = Interrupted(lambda: made.append(compact_manifests(other)))
    report = compact_manifests(open_store(store.paths.root, storage))
    assert made[0].snapshot is not None
    assert (report.snapshot, report.rewritten) == (None, 0)
    assert store.snapshots.ids() == [1, 2, 3, 4, 5]
    assert live(store, store.snapshots.latest()) == ["f0", "f1", "f2", "f3"]
    check_tidy(store.paths.root)


def test_nothing_to_compact(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t")
    assert compact_manifests(store).snapshot is None
    commit_files(store, adds("a"))
    assert compact_manifests(store).snapshot is None
    assert store.snapshots.ids() == [1]
    assert (ADD, DELETE) == (0, 1)


# -------------------------------------------------------------------------------------------------- in the background


def test_what_is_due_is_merged_and_no_more(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={**OFTEN, "manifest.compaction.mode": "ASYNC"})
    for number in range(2):
        commit_files(store, adds(f"f{number}"))
    assert compact_manifests(store, only_due=True).snapshot is None
    for number in range(2, 5):
        commit_files(store, adds(f"f{number}"))
    assert len(metas(store)) == 5
    report = compact_manifests(store, only_due=True)
    assert report.snapshot is not None
    assert len(metas(store)) == 1
    remove(store, adds("f1"))
    assert compact_manifests(store, only_due=True).snapshot is None  # two manifests are not enough
    much = store.with_options({"manifest.full-compaction-threshold-size": "1 kb"})
    assert compact_manifests(much, only_due=True).cancelled == 1
    assert live(store, store.snapshots.latest()) == ["f0", "f2", "f3", "f4"]
    check_tidy(store.paths.root)
