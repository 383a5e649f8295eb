from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.metadata.entries import adds, entries, entry
from tests.metadata.needed_files import needed_files
from tests.metadata.stores import Logged, commit_files, new_store, open_store
from tests.places import stored_path

from lakebed.format.manifest.avro import unpacked
from lakebed.format.manifest.manifest import ManifestMeta, as_deletes, decode_manifest_list, encode_manifest_list
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.data_file_paths import data_file_paths
from lakebed.metadata.references import continuity as chains
from lakebed.metadata.references.continuity import links
from lakebed.metadata.references.holders import Hold, all_holders, needed, only_needed_by, run_holders
from lakebed.metadata.references.removal import DoomedFile, Removal
from lakebed.metadata.store import TableStore
from lakebed.operations.compact.compact_manifests import compact_manifests


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path / "t")


def replace(store: TableStore, new: pa.Table, old: pa.Table) -> Snapshot:
    change = Change(entries=pa.concat_tables([as_deletes(old), new]))
    made = commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change))
    assert made is not None
    return made


def tagged(store: TableStore, name: str, snapshot: int) -> None:
    store.storage.write(store.paths.tag(name), store.storage.read(store.paths.snapshot(snapshot)))


def all_needed(store: TableStore) -> set[str]:
    found = needed(store, all_holders(store))
    return set(found.metadata) | set(found.data.to_pylist())


def names(paths: set[str]) -> set[str]:
    return {stored_path(path).name for path in paths}


# ------------------------------------------------------------------------------------------------------------ chains


def test_appends_follow_each_other_by_their_bytes_alone(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        commit_files(store, adds(f"data-{number}"))
    monkeypatch.setattr(chains, "fold", None)
    chain = links(store, store.snapshots.read_many([1, 2, 3, 4]))
    assert [link.is_plain for link in chain] == [True] * 3


def test_a_merge_of_manifests_continues_with_new_ones(store: TableStore) -> None:
    for number in range(3):
        commit_files(store, adds(f"data-{number}"))
    replace(store, adds("data-9"), adds("data-1"))
    compact_manifests(store)
    commit_files(store, adds("data-10"))
    *before, merged, after = links(store, store.snapshots.read_many(store.snapshots.ids()))
    assert all(link.is_plain for link in [*before, after])
    assert merged.continues
    assert len(merged.appeared) == 1
    assert not merged.is_plain


def test_another_past_is_a_break_even_with_the_same_counts(store: TableStore, tmp_path: Path) -> None:
    commit_files(store, adds("data-1"))
    branch = TableStore(store.storage, store.paths.on_branch("b"), "db.t")
    branch.storage.write(branch.paths.schema(0), store.storage.read(store.paths.schema(0)))
    commit_files(branch, adds("data-b1"))
    second = commit_files(branch, adds("data-b2"))
    assert [link.continues for link in links(store, [store.snapshots.get(1), second])] == [False]
    assert [link.continues for link in links(store, [branch.snapshots.get(1), second])] == [True]
    third = commit_files(branch, adds("data-b3"))
    assert [link.continues for link in links(store, [branch.snapshots.get(1), third])] == [False]  # a hole


def test_lists_in_other_bytes_are_compared_by_what_they_say(store: TableStore) -> None:
    commit_files(store, adds("data-1"))
    second = commit_files(store, adds("data-2"))
    path = store.paths.manifest(second.base_manifest_list)
    metas = decode_manifest_list(store.storage.read(path), where=path)
    told = [ManifestMeta(**{**{f: getattr(m, f) for f in m.__slots__}, "total_buckets": 7}) for m in metas]
    stored_path(path).write_bytes(encode_manifest_list(told, codec="deflate"))
    assert [link.is_plain for link in links(store, store.snapshots.read_many([1, 2]))] == [True]


def test_what_was_compared_once_is_remembered(store: TableStore) -> None:
    for number in range(3):
        commit_files(store, adds(f"data-{number}"))
    snapshots = store.snapshots.read_many([1, 2, 3])
    links(store, snapshots)
    log = Logged()
    links(open_store(store.paths.root, log), snapshots)
    assert log.log == []


def test_records_come_unpacked_whatever_the_blocks(store: TableStore) -> None:
    commit_files(store, adds("data-1"))
    name = commit_files(store, adds("data-2")).base_manifest_list
    path = store.paths.manifest(name)
    metas = decode_manifest_list(store.storage.read(path), where=path)
    schema, one = unpacked(encode_manifest_list(metas), where=path)
    assert unpacked(encode_manifest_list(metas * 3, codec="null"), where=path) == (schema, one * 3)


# -------------------------------------------------------------------------------------------------------- references


def test_snapshots_tags_and_branches_need_their_files(store: TableStore) -> None:
    commit_files(store, adds("data-1", extra_files=["data-1.index"]))
    tagged(store, "t", 1)
    replace(store, adds("data-2"), adds("data-1", extra_files=["data-1.index"]))
    replace(store, adds("data-3", "data-2", level=5), adds("data-2"))
    for snapshot in (1, 2):
        store.storage.delete(store.paths.snapshot(snapshot))
    assert all_needed(store) == names(needed_files(store))
    assert {"data-1", "data-1.index", "data-2", "data-3"} <= all_needed(store)
    store.storage.delete(store.paths.tag("t"))
    assert all_needed(store) == names(needed_files(store))
    assert not {"data-1", "data-1.index"} & all_needed(store)


def test_only_the_first_of_a_chain_is_folded_and_each_file_is_read_once(store: TableStore) -> None:
    for number in range(6):
        commit_files(store, adds(f"data-{number}"))
    tagged(store, "t", 4)
    holders = all_holders(store)
    assert sorted(holder.hold.value for holder in holders) == ["adds"] * 5 + ["live", "names"]
    log = Logged()
    fresh = TableStore(log, store.paths, "db.t")
    object.__setattr__(fresh.manifests, "cache", type(fresh.manifests.cache)())
    needed(fresh, run_holders(fresh, fresh.snapshots.read_many(fresh.snapshots.ids())))
    manifests = [name for name in log.names("read", "manifest-") if not name.startswith("manifest-list-")]
    assert len(manifests) == len(set(manifests)) == 6


def test_names_can_be_asked_for_alone(store: TableStore) -> None:
    commit_files(store, adds("data-1", "data-2", extra_files=["data-x.index"]))
    holders = all_holders(store)
    assert needed(store, holders, among=pa.array(["data-2", "data-9"])).data.to_pylist() == ["data-2", "data-x.index"]
    assert set(needed(store, holders, among=pa.array(["data-x.index"])).data.to_pylist()) >= {"data-x.index"}
    assert needed(store, holders, among=pa.array([], pa.string())).data.to_pylist() == []


def test_what_only_a_tag_needs(store: TableStore) -> None:
    commit_files(store, adds("data-1"))
    old = replace(store, adds("data-2"), adds("data-1"))
    replace(store, adds("data-3"), adds("data-2"))
    tagged(store, "t", 2)
    assert only_needed_by(store, old, without_tags=["t"]) == []  # the snapshot is there
    for snapshot in (1, 2):
        store.storage.delete(store.paths.snapshot(snapshot))
    assert only_needed_by(store, old) == []  # the tag is
    found = only_needed_by(store, old, without_tags=["t"])
    assert [(stored_path(file.path).name, file.size, file.kind) for file in found] == [
        ("data-2", 1000, "data"),
        *(
            (name, stored_path(store.paths.manifest(name)).stat().st_size, "manifest list")
            for name in sorted([old.base_manifest_list, old.delta_manifest_list])
        ),
    ]
    store.storage.delete(store.paths.tag("t"))
    assert only_needed_by(store, old) == found
    assert only_needed_by(store, []) == []


def test_what_only_the_newest_snapshots_need(store: TableStore) -> None:
    for number in range(4):
        commit_files(store, adds(f"data-{number}"))
    newest = store.snapshots.read_many([3, 4])
    found = only_needed_by(store, newest, without_snapshots=[3, 4], changelogs=True)
    assert [stored_path(file.path).name for file in found if file.kind == "data"] == ["data-2", "data-3"]
    assert sum(file.kind == "manifest" for file in found) == 2


def test_holders_pass_over_what_is_about_to_go_on_their_own_branch(store: TableStore) -> None:
    for number in range(3):
        commit_files(store, adds(f"data-{number}"))
    holders = all_holders(store, without_snapshots=[1])
    assert [(holder.snapshot.id, holder.hold) for holder in sorted(holders, key=lambda one: one.snapshot.id)] == [
        (2, Hold.LIVE),
        (3, Hold.ADDS),
    ]


# ---------------------------------------------------------------------------------------------------- paths, removals


def test_paths_of_data_files(tmp_path: Path) -> None:
    options = {"data-file.path-directory": "deep", "data-file.external-paths": "file:///far, oss://far/"}
    store = new_store(tmp_path / "t", options=options)
    files = entries(
        entry("a", bucket=3),
        entry("b", bucket=-2),
        entry("c", external_path="file:///far/c"),
        entry("d", external_path="oss://far/d"),
    )
    root = f"{tmp_path}/t/deep"
    found = data_file_paths(store, store.schema(), files)
    assert found == [f"{root}/bucket-3/a", f"{root}/bucket-postpone/b", "/far/c", "oss://far/d"]
    assert data_file_paths(store, store.schema(), files.slice(0, 0)) == []


def test_a_removal_adds_up() -> None:
    files = (DoomedFile("a", 3, "data"), DoomedFile("b", 4, "data"), DoomedFile("c", 5, "manifest"))
    removal = Removal(files, dry_run=True)
    assert (removal.count, removal.bytes) == (3, 12)
    assert removal.by_kind() == {"data": (2, 7), "manifest": (1, 5)}
    lines = str(removal).splitlines()
    assert lines[0] == "would delete 3 files, 12 B:"
    assert lines[1:3] == ["  data      2 files  7 B", "  manifest   1 file  5 B"]
    assert lines[3:] == ["first files:", "  a (3 B)", "  b (4 B)", "  c (5 B)"]
    assert str(Removal(files, dry_run=False)).startswith("deleted 3 files, 12 B:")
    assert repr(removal) == "<Removal: would delete 3 files, 12 B>"


def test_a_removal_of_many_files_prints_the_first_few() -> None:
    removal = Removal(tuple(DoomedFile(f"f{number}", -1, "data") for number in range(42)), dry_run=True)
    lines = str(removal).splitlines()
    assert lines[0] == "would delete 42 files, 0 B:"
    assert lines[-6:] == ["  f0", "  f1", "  f2", "  f3", "  f4", "  ... and 37 more files"]
    assert str(Removal((), dry_run=False)) == "deleted no files"
