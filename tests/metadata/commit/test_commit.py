from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.entries import adds, entries, entry, names_of
from tests.metadata.stores import (
    Failing,
    Interrupted,
    Logged,
    check_nothing_is_missing,
    check_tidy,
    commit_files,
    files_below,
    new_store,
    open_store,
    referenced,
    snapshots_on_disk,
)
from tests.places import copy_tree, stored_path

from lakebed import Table
from lakebed.errors import CommitConflictError, CommitOutcomeUnknownError, StorageError
from lakebed.format.binary_row import encode_row
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import DELETE, as_deletes
from lakebed.format.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, append, commit, find_committed
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.manifests import Manifests
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import replace_matching
from lakebed.version import VERSION


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path / "t")


def live(store: TableStore, snapshot: Snapshot | None = None) -> list[str]:
    """The live files, without what other tests left in the cache."""
    fresh = open_store(store.paths.root)
    object.__setattr__(fresh, "manifests", Manifests(fresh.storage, fresh.paths, ManifestCache()))
    return sorted(names_of(live_entries(fresh, snapshot or fresh.snapshots.latest())))


def rewrite(gone: pa.Table, new: pa.Table, **more: Any) -> Commit:
    """An append that also deletes files, as a delete of rows makes it."""
    change = Change(entries=pa.concat_tables([as_deletes(gone), new]))
    return Commit(kind=CommitKind.APPEND, plan=lambda _: change, **more)


def overwrite(store: TableStore, new: pa.Table) -> Commit:
    return Commit(kind=CommitKind.OVERWRITE, plan=replace_matching(store, None, new))


def vectors(name: str, *files: str, kind: int = 0) -> IndexEntry:
    ranges = tuple(VectorRange(file, 1, 10, 1) for file in files)
    return IndexEntry(
        kind=kind,
        partition=bytes(12),
        bucket=0,
        index_type=DELETION_VECTORS,
        file_name=name,
        file_size=20,
        row_count=len(files),
        vectors=ranges,
    )


# --------------------------------------------------------------------------------------------------- one commit


def test_the_first_snapshot(store: TableStore) -> None:
    before = time.time_ns() // 1_000_000
    made = commit_files(store, adds("a", "b"), user="me", properties={"lakebed.k": "v"}, operation="WRITE", watermark=7)
    assert made == store.snapshots.latest()
    assert (made.id, made.schema_id, made.commit_kind) == (1, 0, CommitKind.APPEND)
    assert (made.commit_user, made.commit_identifier) == ("me", BATCH_IDENTIFIER)
    assert (made.total_record_count, made.delta_record_count) == (20, 20)
    assert before <= made.time_millis <= time.time_ns() // 1_000_000
    assert (made.properties["lakebed.k"], made.operation, made.watermark) == ("v", "WRITE", 7)
    assert made.writer_version == f"lakebed-{VERSION}"
    assert made.uuid is not None
    assert made.index_manifest is None
    assert made.changelog_manifest_list is None
    assert store.manifests.read_list(made.base_manifest_list) == []
    manifests = stored_path(store.paths.manifests)
    assert (manifests / made.base_manifest_list).stat().st_size == made.base_manifest_list_size
    assert (manifests / made.delta_manifest_list).stat().st_size == made.delta_manifest_list_size
    check_tidy(store.paths.root)


def test_the_base_is_all_that_was_before(store: TableStore) -> None:
    """FORMAT 10.2: base list = previous base and delta metas, in order, in a list of its own."""
    before: list[str] = []
    lists = set()
    for number in range(1, 9):
        made = commit_files(store, adds(f"f{number}"))
        assert [meta.file_name for meta in store.manifests.read_list(made.base_manifest_list)] == before
        before += [meta.file_name for meta in store.manifests.read_list(made.delta_manifest_list)]
        assert len(before) == number
        lists |= {made.base_manifest_list, made.delta_manifest_list}
    assert len(lists) == 16
    check_tidy(store.paths.root)


def test_each_snapshot_stands_alone(table: Callable[..., Table], tmp_path: Path) -> None:
    made = table("p INT, id BIGINT", partition_by=["p"])
    wanted: dict[int, list[int]] = {}

    def note() -> None:
        snapshot = made.latest_snapshot()
        assert snapshot is not None
        wanted[snapshot.id] = sorted(made.scan().to_arrow()["id"].to_pylist())

    for number in range(3):
        made.write(pa.table({"p": [number % 2, 7], "id": [number, number + 100]}))
        note()
    made.delete("id = 101")
    note()
    made.overwrite(pa.table({"p": [7], "id": [9]}))
    note()
    made.truncate()
    note()
    made.write(pa.table({"p": [1], "id": [1]}))
    note()
    assert len(wanted) == 7
    for snapshot_id, ids in wanted.items():
        alone = tmp_path / f"alone-{snapshot_id}"
        copy_tree(made.path, alone)
        for other, snapshot in snapshots_on_disk(alone).items():
            if other == snapshot_id:
                continue
            (alone / "snapshot" / f"snapshot-{other}").unlink()
            for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
                (alone / "manifest" / name).unlink()
        needed = referenced(alone, snapshots_on_disk(alone)[snapshot_id])
        for name in files_below(alone / "manifest") - needed:
            (alone / "manifest" / name).unlink()
        rows = Table(open_store(alone)).scan(version=snapshot_id).to_arrow()
        assert sorted(rows["id"].to_pylist()) == ids


def test_record_counts_are_of_physical_rows(store: TableStore) -> None:
    commit_files(store, entries(entry("a", row_count=5), entry("b", row_count=7)))
    made = commit(store, rewrite(entries(entry("a", row_count=5)), entries(entry("c", row_count=2))))
    assert made is not None
    assert (made.total_record_count, made.delta_record_count) == (9, -3)
    gone = commit(store, overwrite(store, entries()))
    assert gone is not None
    assert (gone.total_record_count, gone.delta_record_count) == (0, -9)


def test_an_append_with_deletes_is_an_overwrite(store: TableStore) -> None:
    commit_files(store, adds("a"))
    made = commit(store, rewrite(adds("a"), adds("b")))
    assert made is not None
    assert made.commit_kind is CommitKind.OVERWRITE
    assert live(store) == ["b"]


def test_an_append_with_an_index_file_is_an_overwrite(store: TableStore) -> None:
    commit_files(store, adds("a"))
    made = commit(store, append(Change(index=(vectors("i-0", "a"),))))
    assert made is not None
    assert made.commit_kind is CommitKind.OVERWRITE
    assert made.delta_record_count == 0
    assert [found.file_name for found in store.manifests.read_index(made.index_manifest)] == ["i-0"]
    later = commit_files(store, adds("b"))
    assert later.index_manifest == made.index_manifest
    check_tidy(store.paths.root)


def test_the_last_index_file_takes_the_index_manifest_with_it(store: TableStore) -> None:
    commit_files(store, adds("a"))
    commit(store, append(Change(index=(vectors("i-0", "a"),))))
    gone = Change(entries=as_deletes(adds("a")), index=(vectors("i-0", "a", kind=DELETE),))
    made = commit(store, append(gone))
    assert made is not None
    assert made.index_manifest is None


def test_nothing_to_commit(store: TableStore) -> None:
    assert commit(store, append(Change())) is None
    assert files_below(store.paths.root) == {"schema/schema-0"}
    made = commit(store, append(Change(), allow_empty=True))
    assert made is not None
    assert (made.id, made.delta_record_count) == (1, 0)
    check_tidy(store.paths.root)


def test_what_is_carried_from_snapshot_to_snapshot(store: TableStore) -> None:
    commit_files(store, adds("a"), watermark=10)
    assert commit_files(store, adds("b"), watermark=5).watermark == 10
    assert commit_files(store, adds("c")).watermark == 10
    assert commit_files(store, adds("d"), watermark=-(2**63)).watermark == 10
    latest = store.snapshots.latest()
    assert latest is not None
    store.snapshots.create(replace(latest, id=latest.id + 1, statistics="stat-1", next_row_id=42))
    kept = commit_files(store, adds("e"))
    assert (kept.statistics, kept.next_row_id) == ("stat-1", 42)
    store.schemas.change(lambda schema: replace(schema, id=schema.id + 1))
    after = commit_files(store, adds("f"))
    assert (after.schema_id, after.statistics, after.next_row_id) == (1, None, 42)


def test_a_commit_on_a_branch(store: TableStore) -> None:
    commit_files(store, adds("a"))
    folder = stored_path(store.paths.branches, "branch-b1")
    copy_tree(stored_path(store.paths.schemas), folder / "schema")
    branch = store.on_branch("b1")
    made = commit_files(branch, adds("b"))
    assert made.id == 1
    assert sorted(names_of(live_entries(branch, made))) == ["b"]
    assert live(store) == ["a"]
    assert (folder / "snapshot" / "snapshot-1").exists()
    assert stored_path(store.paths.manifests, made.delta_manifest_list).exists()


# --------------------------------------------------------------------------------------------------- committed twice


def test_a_commit_is_made_once(store: TableStore) -> None:
    first = commit_files(store, adds("a"), user="u", identifier=1)
    assert commit(store, append(Change(entries=adds("b")), user="u", identifier=1)) == first
    assert live(store) == ["a"]
    commit_files(store, adds("c"), user="u", identifier=2)
    assert commit(store, append(Change(entries=adds("d")), user="u", identifier=1)) == first
    commit_files(store, adds("e"), user="v", identifier=1)
    assert commit_files(store, adds("f"), user="u", identifier=3).id == 4
    assert live(store) == ["a", "c", "e", "f"]
    check_tidy(store.paths.root)


def test_kinds_are_told_apart(store: TableStore) -> None:
    commit_files(store, adds("a"), user="u", identifier=1)
    compact = Commit(kind=CommitKind.COMPACT, plan=lambda _: Change(entries=adds("b", level=5)), user="u", identifier=1)
    made = commit(store, compact)
    assert made is not None
    assert made.id == 2
    assert commit(store, compact) == made
    assert find_committed(store, "u", 1, CommitKind.APPEND) == store.snapshots.get(1)


def test_an_append_that_became_an_overwrite_is_found_again(store: TableStore) -> None:
    commit_files(store, adds("a"))
    made = commit(store, rewrite(adds("a"), adds("b"), user="u", identifier=1))
    assert commit(store, rewrite(adds("a"), adds("c"), user="u", identifier=1)) == made
    assert live(store) == ["b"]


def test_batch_commits_are_never_taken_for_one_another(store: TableStore) -> None:
    for name in "abc":
        commit_files(store, adds(name), user="same")
    assert live(store) == ["a", "b", "c"]


def test_the_look_back_ends_early(store: TableStore) -> None:
    for number in range(20):
        commit_files(store, adds(f"f{number}"), user="u", identifier=number)
    logged = Logged()
    assert find_committed(open_store(store.paths.root, logged), "u", 50, CommitKind.APPEND) is None
    assert len(logged.names("read")) == 1
    assert find_committed(store, "u", 5, CommitKind.APPEND) == store.snapshots.get(6)
    assert find_committed(store, "u", 5, CommitKind.APPEND, after=6) is None


def test_two_processes_with_the_same_identifier_commit_once(store: TableStore) -> None:
    """The other one lands between our look for it and our own create."""
    racing = Interrupted(lambda: commit_files(store, adds("theirs"), user="u", identifier=1))
    made = commit(open_store(store.paths.root, racing), append(Change(entries=adds("ours")), user="u", identifier=1))
    assert made == store.snapshots.get(1)
    assert live(store) == ["theirs"]
    check_tidy(store.paths.root)


# ------------------------------------------------------------------------------------------------------- lost races


def test_a_lost_race_reuses_the_delta(store: TableStore) -> None:
    commit_files(store, adds("a"))
    others = [lambda name=name: commit_files(store, adds(name)) for name in "xyz"]
    logged = Logged(Interrupted(*others))
    made = commit(open_store(store.paths.root, logged), append(Change(entries=adds("mine"))))
    assert made is not None
    assert made.id == 5
    assert live(store) == ["a", "mine", "x", "y", "z"]
    deltas = [name for name in logged.names("write", "manifest-") if not name.startswith("manifest-list-")]
    assert len(deltas) == 1, "the delta was written again"
    assert len(logged.names("write", "manifest-list-")) == 1 + 4, "one delta list, and a base list for each attempt"
    assert [meta.file_name for meta in store.manifests.read_list(made.delta_manifest_list)] == deltas
    assert made.total_record_count == 50
    check_tidy(store.paths.root)


def test_an_overwrite_is_planned_anew_after_a_lost_race(store: TableStore) -> None:
    commit_files(store, adds("a"))
    racing = open_store(store.paths.root, Interrupted(lambda: commit_files(store, adds("x"))))
    made = commit(racing, overwrite(racing, adds("new")))
    assert made is not None
    assert live(store) == ["new"]
    assert made.total_record_count == 10
    check_tidy(store.paths.root)


def test_an_overwrite_with_nothing_left_to_do_leaves_nothing(store: TableStore) -> None:
    commit_files(store, adds("a"))
    racing = open_store(store.paths.root, Interrupted(lambda: commit(store, overwrite(store, entries()))))
    assert commit(racing, overwrite(racing, entries())) is None
    assert store.snapshots.latest_id() == 2
    check_tidy(store.paths.root)


def test_a_conflict_leaves_nothing(store: TableStore) -> None:
    commit_files(store, adds("a"))
    racing = open_store(store.paths.root, Interrupted(lambda: commit(store, rewrite(adds("a"), adds("theirs")))))
    with pytest.raises(
        CommitConflictError, match=r"another commit rewrote or deleted 1 file that this commit replaces, such as a"
    ):
        commit(racing, rewrite(adds("a"), adds("ours"), planned_on=1))
    assert live(store) == ["theirs"]
    check_tidy(store.paths.root)


def test_a_commit_survives_the_expiry_of_what_it_builds_on(store: TableStore) -> None:
    """Another process commits, and expires the snapshot that we were about to read."""
    first = commit_files(store, adds("a"))

    def commit_and_expire() -> None:
        commit_files(store, adds("b"))
        stored_path(store.paths.snapshot(1)).unlink()
        for name in (first.base_manifest_list, first.delta_manifest_list):
            stored_path(store.paths.manifest(name)).unlink()

    racing = Interrupted(commit_and_expire, before="read", ending=first.base_manifest_list)
    made = commit(open_store(store.paths.root, racing), append(Change(entries=adds("c"))))
    assert made is not None
    assert made.id == 3
    assert live(store) == ["a", "b", "c"]
    check_tidy(store.paths.root)


def test_max_retries(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"commit.max-retries": "2", "commit.min-retry-wait": "1 ms"})
    numbers = iter(range(100))
    others = [lambda: commit_files(store, adds(f"x{next(numbers)}"))] * 10
    racing = Interrupted(*others)
    with pytest.raises(CommitConflictError, match=r"gave up after 3 attempts .* commit.max-retries is set"):
        commit(open_store(store.paths.root, racing), append(Change(entries=adds("mine"))))
    assert len(racing.hooks) == 7
    assert live(store) == ["x0", "x1", "x2"]
    check_tidy(store.paths.root)
    two = Interrupted(*others[:2])
    assert commit(open_store(store.paths.root, two), append(Change(entries=adds("mine")))) is not None


def test_timeout(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"commit.timeout": "200 ms", "commit.max-retry-wait": "20 ms"})
    numbers = iter(range(10_000))
    racing = Interrupted(*[lambda: commit_files(store, adds(f"x{next(numbers)}"))] * 10_000)
    began = time.monotonic()
    with pytest.raises(CommitConflictError, match=r"after 0.2 s \(commit.timeout\)"):
        commit(open_store(store.paths.root, racing), append(Change(entries=adds("mine"))))
    assert 0.2 <= time.monotonic() - began < 10
    check_tidy(store.paths.root)


def test_appends_do_not_give_up(tmp_path: Path) -> None:
    """Paimon's default of ten retries does not make an append fail when nobody asked for a limit."""
    store = new_store(tmp_path / "t", options={"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "1 ms"})
    numbers = iter(range(100))
    racing = Interrupted(*[lambda: commit_files(store, adds(f"x{next(numbers)}"))] * 25)
    assert commit_files(open_store(store.paths.root, racing), adds("mine")).id == 26


# ------------------------------------------------------------------------------------------------- what is refused


def test_a_commit_that_contradicts_itself(store: TableStore) -> None:
    with pytest.raises(CommitConflictError, match="this commit adds and deletes the same file"):
        commit(store, rewrite(adds("a"), adds("a")))
    with pytest.raises(CommitConflictError, match="this commit: file a is added twice"):
        commit(store, append(Change(entries=adds("a", "a"))))
    assert store.snapshots.latest() is None


def test_a_delete_of_what_never_was(store: TableStore) -> None:
    commit_files(store, adds("a"))
    with pytest.raises(CommitConflictError, match=r"1 file that this commit replaces, such as b\."):
        commit(store, rewrite(adds("b"), entries()))
    with pytest.raises(CommitConflictError, match=r"1 file that this commit replaces, such as a\."):
        commit(store, rewrite(adds("a", level=3), entries()))
    check_tidy(store.paths.root)


def test_the_number_of_buckets_changes_only_by_overwriting(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", "p INT, id BIGINT", partition_by=["p"])
    types = [store.schema().field("p").type]
    one, two = (encode_row([value], types) for value in (1, 2))
    commit_files(store, entries(entry("a", partition=one, total_buckets=2)))
    more = entries(entry("b", partition=one, total_buckets=4))
    with pytest.raises(
        CommitConflictError, match=r"files with 2 and with 4 buckets; .* overwriting the whole partition"
    ):
        commit(store, append(Change(entries=more)))
    check_tidy(store.paths.root)
    commit_files(store, entries(entry("c", partition=two, total_buckets=4)))
    assert commit(store, overwrite(store, more)) is not None
    assert live(store) == ["b"]


def test_the_first_commit_has_one_number_of_buckets_too(store: TableStore) -> None:
    mixed = entries(entry("a", total_buckets=2), entry("b", total_buckets=4))
    with pytest.raises(CommitConflictError, match="files with 2 and with 4 buckets"):
        commit(store, append(Change(entries=mixed)))


def test_levels_must_not_overlap(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": "1"})
    types = [store.schema().field("id").type]

    def file(name: str, low: int, high: int, level: int) -> dict[str, Any]:
        keys = {"min_key": encode_row([low], types), "max_key": encode_row([high], types)}
        return entry(name, level=level, total_buckets=1, **keys)

    old = [file("a", 0, 9, 0), file("b", 5, 15, 0), file("c", 20, 30, 0)]
    commit_files(store, entries(*old))

    def compact(gone: list[dict[str, Any]], new: dict[str, Any]) -> Commit:
        change = Change(entries=pa.concat_tables([as_deletes(entries(*gone)), entries(new)]))
        return Commit(kind=CommitKind.COMPACT, plan=lambda _: change)

    assert commit(store, compact(old[:2], file("ab", 0, 15, 5))) is not None
    with pytest.raises(CommitConflictError, match="files ab and cc of one level would have overlapping keys"):
        commit(store, compact(old[2:], file("cc", 15, 30, 5)))
    assert commit(store, compact(old[2:], file("cc", 16, 30, 5))) is not None
    assert live(store) == ["ab", "cc"]
    check_tidy(store.paths.root)


# --------------------------------------------------------------------------------------------- deletion vectors


def test_a_rewrite_sees_rows_that_were_deleted_meanwhile(store: TableStore) -> None:
    """Else the deleted rows would come back in the file that takes the old one's place."""
    commit_files(store, adds("a", "b"))
    commit(store, append(Change(index=(vectors("i-0", "a"),))))
    with pytest.raises(CommitConflictError, match="another commit deleted rows of a, which this commit replaces"):
        commit(store, rewrite(adds("a"), adds("new"), planned_on=1))
    check_tidy(store.paths.root)
    assert commit(store, rewrite(adds("b"), adds("new"), planned_on=1)) is not None


def test_a_rewrite_that_knows_the_deleted_rows_lands(store: TableStore) -> None:
    commit_files(store, adds("a", "b"))
    commit(store, append(Change(index=(vectors("i-0", "a"),))))
    commit_files(store, adds("c"))
    change = Change(
        entries=pa.concat_tables([as_deletes(adds("a")), adds("new")]), index=(vectors("i-0", "a", kind=DELETE),)
    )
    made = commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _: change, planned_on=2))
    assert made is not None
    assert live(store) == ["b", "c", "new"]


def test_a_level_upgrade_keeps_its_deletion_vector(store: TableStore) -> None:
    commit_files(store, adds("a"))
    commit(store, append(Change(index=(vectors("i-0", "a"),))))
    change = Change(entries=pa.concat_tables([as_deletes(adds("a")), adds("a", level=5)]))
    made = commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change))
    assert made is not None
    assert made.index_manifest is not None


# --------------------------------------------------------------------------------------------------- unclear outcomes


def test_a_lost_acknowledgement_is_looked_up(store: TableStore) -> None:
    commit_files(store, adds("a"))
    count = Logged()
    commit_files(open_store(store.paths.root, count), adds("b"))
    create = [name for name, _ in count.log].index("create_exclusive") + 1
    failing = Failing(create, after=True)
    made = commit(open_store(store.paths.root, failing), append(Change(entries=adds("c"))))
    assert failing.failed == ["create_exclusive"]
    assert made is not None
    assert live(store) == ["a", "b", "c"]
    check_tidy(store.paths.root)


@pytest.mark.parametrize("after", [False, True])
def test_an_outcome_that_cannot_be_told_keeps_everything(store: TableStore, after: bool) -> None:
    commit_files(store, adds("a"))
    count = Logged()
    commit_files(open_store(store.paths.root, count), adds("b"))
    create = [name for name, _ in count.log].index("create_exclusive") + 1
    failing = Failing(create, after=after, forever=True)
    with pytest.raises(CommitOutcomeUnknownError, match=r"it is unknown whether snapshot 3 of db\.t was committed"):
        commit(open_store(store.paths.root, failing), append(Change(entries=adds("c"))))
    check_nothing_is_missing(store.paths.root)
    assert live(store) == (["a", "b", "c"] if after else ["a", "b"])


def test_an_interruption_after_the_commit_says_so(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    create = type(store.snapshots).create

    def interrupted(self: Any, snapshot: Snapshot, still: Callable[[], bool], *more: Any) -> bool:
        create(self, snapshot, still, *more)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(store.snapshots), "create", interrupted)
    with pytest.raises(CommitOutcomeUnknownError, match=r"interrupted, but snapshot 1 of .* was committed"):
        commit(store, append(Change(entries=adds("a"))))
    assert live(store) == ["a"]
    check_tidy(store.paths.root)


def test_an_interruption_before_the_commit_leaves_nothing(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Any, snapshot: Snapshot, still: Callable[[], bool], *more: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(store.snapshots), "create", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commit(store, append(Change(entries=adds("a"))))
    assert store.snapshots.latest() is None
    check_tidy(store.paths.root)


def test_a_clean_up_that_fails_does_not_hide_the_reason(store: TableStore) -> None:
    commit_files(store, adds("a"))
    racing = Interrupted(lambda: commit(store, rewrite(adds("a"), adds("theirs"))))

    class NoDeletes(Logged):
        def call(self, name: str, path: str, run: Callable[[], Any]) -> Any:
            if name == "delete":
                raise StorageError(f"cannot delete {path}")
            return super().call(name, path, run)

    with pytest.raises(CommitConflictError, match=r"1 file that this commit replaces, such as a\."):
        commit(open_store(store.paths.root, NoDeletes(racing)), rewrite(adds("a"), adds("ours"), planned_on=1))
    check_nothing_is_missing(store.paths.root)
