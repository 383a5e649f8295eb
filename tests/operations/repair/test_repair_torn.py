"""Repair of torn commits: whatever a power cut damaged of the last commits, the newest whole snapshot comes back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.effort import STRIDE
from tests.lakes import open_lake
from tests.places import copy_tree, stored_path

import lakebed
from lakebed import Lake, Table
from lakebed.changes import AddColumn
from lakebed.errors import CorruptError, LakebedError, NotFoundError

COMMITS = 5
KINDS = ("snapshot", "manifest-list", "manifest", "index-manifest", "index", "data", "LATEST")


def written(lake: Lake) -> Table:
    """A table with dynamic buckets, so that each commit has files of every kind."""
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "2", "write-only": "true"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    for number in range(COMMITS):
        table.write([{"k": number, "v": number}, {"k": number + 1, "v": number}])
    return table


def rows_at(table: Table, snapshot: int) -> list[Any]:
    return sorted(table.scan(version=snapshot).to_arrow().to_pylist(), key=repr)


def rows_of_all(table: Table) -> dict[int, list[Any]]:
    return {number: rows_at(table, number) for number in range(1, COMMITS + 1)}


def files_of(table: Table, kind: str, number: int) -> list[Path]:
    """The files of a kind that a commit brought."""
    root, snapshot = stored_path(table.path), table.snapshot(number)
    before = [] if number == 1 else [table.snapshot(number - 1)]
    store = table._store
    match kind:
        case "snapshot":
            return [root / f"snapshot/snapshot-{number}"]
        case "LATEST":
            return [root / "snapshot/LATEST"]
        case "manifest-list":
            return [root / "manifest" / name for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list)]
        case "manifest":
            metas = store.manifests.read_list(snapshot.delta_manifest_list)
            return [root / "manifest" / meta.file_name for meta in metas]
        case "index-manifest":
            return [root / "manifest" / str(snapshot.index_manifest)]
        case "index":
            old = {entry.file_name for one in before for entry in store.manifests.read_index(one.index_manifest)}
            new = store.manifests.read_index(snapshot.index_manifest)
            return [root / "index" / entry.file_name for entry in new if entry.file_name not in old]
        case _:
            entries = store.manifests.read_entries(store.manifests.read_list(snapshot.delta_manifest_list))
            names = set(entries["file_name"].to_pylist())
            return [path for path in root.glob("bucket-*/*") if path.name in names]


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def halved(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def deleted(path: Path) -> None:
    path.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (emptied, halved, deleted, zeroed)


def states() -> Iterator[tuple[int, tuple[str, ...], Callable[[Path], None]]]:
    """How many of the last commits are torn, in which files, and how."""
    sets = [*((kind,) for kind in KINDS), KINDS]
    return (
        (torn, kinds, damage)
        for torn, kinds, damage in itertools.product((1, 2, 3), sets, DAMAGES)
        if not (damage is zeroed and kinds == ("index",))  # of index files only the size is known
    )


@pytest.mark.scales
def test_every_torn_state_is_repaired(tmp_path: Path) -> None:
    wanted = rows_of_all(written(open_lake(tmp_path / "start")))
    every = list(states())
    assert len(every) == 93
    for count, (torn, kinds, damage) in enumerate(every[::STRIDE]):
        warehouse = copy_tree(tmp_path / "start", tmp_path / str(count))
        table = open_lake(warehouse).table("db.t")
        numbers = range(COMMITS - torn + 1, COMMITS + 1)
        for path in {path for number in numbers for kind in kinds for path in files_of(table, kind, number)}:
            damage(path)
        options = {"manifest.cache.max-size": "1 mb", "commit.durable": False}
        again = lakebed.connect(warehouse, options=options).table("db.t")
        plan = again.repair(dry_run=True)
        left = COMMITS if kinds == ("LATEST",) else COMMITS - torn
        assert (plan.target, plan.dry_run) == (left, True), (torn, kinds, damage)
        gone = damage is deleted and "snapshot" in kinds
        assert plan.snapshots == (() if gone else tuple(range(left + 1, COMMITS + 1)))
        done = again.repair()
        assert (done.target, done.snapshots, done.dry_run) == (plan.target, plan.snapshots, False)
        assert rows_at(again, left) == sorted(again.scan().to_arrow().to_pylist(), key=repr) == wanted[left]
        assert not again.repair(dry_run=True).is_needed
        assert again.verify().ok
        again.write([{"k": 100, "v": 100}])
        assert again.count() == len(wanted[left]) + 1


@pytest.mark.parametrize("kind", ["snapshot", "manifest-list", "manifest", "index-manifest"])
@pytest.mark.parametrize("damage", [emptied, halved])
def test_a_torn_table_refuses_reads_and_writes_and_names_the_repair(
    tmp_path: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    table = written(open_lake(tmp_path))
    for path in files_of(table, kind, COMMITS):
        damage(path)
    again = lakebed.connect(tmp_path, options={"manifest.cache.max-size": "1 mb"}).table("db.t")
    with pytest.raises(CorruptError, match=r"table\.repair\(\) or 'lakebed repair'"):
        again.write([{"k": 1, "v": 1}])
    if kind != "index-manifest":
        with pytest.raises(CorruptError, match=r"table\.repair\(\) or 'lakebed repair'"):
            again.scan().to_arrow()
    assert len(again._store.snapshots.ids()) == COMMITS


def test_an_append_to_a_torn_table_is_refused_although_it_would_not_read_the_manifest(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    for number in range(3):
        table.write([{"id": number}])
    for damage in (emptied, deleted):
        (path,) = files_of(table, "manifest", 3)
        kept = path.read_bytes()
        damage(path)
        again = lakebed.connect(lake.warehouse, options={"manifest.cache.max-size": "1 mb"}).table("db.t")
        with pytest.raises((CorruptError, NotFoundError), match="lakebed repair"):
            again.write([{"id": 9}])
        path.write_bytes(kept)
    again.write([{"id": 9}])


def test_an_empty_hash_index_is_damage_not_an_index_without_keys(tmp_path: Path) -> None:
    table = written(open_lake(tmp_path))
    for path in files_of(table, "index", COMMITS):
        emptied(path)
        path.rename(path.with_name(f"{path.name}-x"))  # the process has it in its cache
        path.with_name(f"{path.name}-x").rename(path)
    from lakebed.metadata.hash_indexes import HASH_CACHE

    HASH_CACHE.clear()
    with pytest.raises(CorruptError, match="hash index"):
        table.write([{"k": 3, "v": 9}])


def test_what_a_repair_shows(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    for number in range(4):
        table.write([{"id": number}])
    table.create_tag("last")
    emptied(stored_path(table.path, "snapshot/snapshot-4"))
    halved(files_of(table, "manifest-list", 3)[1])
    emptied(stored_path(table.path, "tag/tag-last"))
    plan = table.repair(dry_run=True)
    head, fourth, why, third, missing, second, rest = str(plan).splitlines()
    assert head == "db.t: would roll back to snapshot 2, delete 2 snapshots (3, 4), tag last, correct LATEST"
    assert (fourth, why) == ("torn: snapshot 4, its file cannot be read", "  snapshot/snapshot-4 is empty")
    assert third.startswith("torn: snapshot 3, APPEND at ")
    assert third.endswith(", 3 rows in its files (+1)")
    assert missing.startswith("  manifest/manifest-list-")
    assert " bytes instead of " in missing
    assert second.startswith("whole: snapshot 2, APPEND at ")
    assert rest == "1 older snapshot was not checked"
    assert str(table.repair()).startswith("db.t: rolled back to snapshot 2, deleted 2 snapshots (3, 4), tag last")
    assert str(table.repair()).startswith("db.t: nothing to repair\nwhole: snapshot 2, ")
    assert table.tags() == {}


def test_a_damaged_snapshot_file_is_restored_from_a_tag(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    for number in range(3):
        table.write([{"id": number}])
    table.create_tag("kept")
    emptied(stored_path(table.path, "snapshot/snapshot-3"))
    plan = table.repair(dry_run=True)
    assert (plan.target, plan.snapshots, plan.states[0].tag, plan.is_needed) == (3, (), "kept", True)
    assert "damaged, can be restored from tag kept: snapshot 3" in str(plan)
    table.repair()
    assert table.count() == 3
    assert table.verify().ok


def test_a_torn_schema_is_removed(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    table.alter(AddColumn("c", "INT"))
    emptied(stored_path(table.path, "schema/schema-1"))
    again = lakebed.connect(lake.warehouse).table("db.t")
    with pytest.raises(CorruptError, match="lakebed repair"):
        again.count()
    assert again.repair(dry_run=True).schemas == (1,)
    assert again.repair().schemas == (1,)
    assert again.to_arrow().to_pylist() == [{"id": 1}]


def test_no_whole_snapshot_changes_nothing(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    table.write([{"id": 2}])
    (data,) = files_of(table, "data", 1)
    data.unlink()
    plan = table.repair(dry_run=True)
    assert (plan.target, plan.is_needed, [state.is_whole for state in plan.states]) == (None, False, [False, False])
    assert str(plan).startswith("db.t: no snapshot is whole; nothing can be rolled back\n")
    with pytest.raises(CorruptError, match=r"no snapshot of table .* is whole"):
        table.repair()
    assert table._store.snapshots.ids() == [1, 2]


def test_a_table_without_snapshots(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    assert str(table.repair()) == "db.t: nothing to repair"
    stored_path(table.path, "snapshot").mkdir()
    stored_path(table.path, "snapshot/LATEST").write_text("1")
    assert table.repair().hints == ("LATEST",)
    assert not stored_path(table.path, "snapshot/LATEST").exists()


def test_a_newer_format_is_not_damage(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    path = stored_path(table.path, "snapshot/snapshot-2")
    path.write_text('{"version": 99}')
    with pytest.raises(LakebedError, match="upgrade"):
        table.repair()
    assert path.exists()


def test_a_branch_is_repaired_by_itself(lake: Lake) -> None:
    table = lake.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    dev = table.create_branch("dev", snapshot=1)
    dev.write([{"id": 2}])
    emptied(stored_path(table.path, "branch/branch-dev/snapshot/snapshot-2"))
    assert not table.repair().is_needed
    assert dev.repair().snapshots == (2,)
    assert dev.count() == 1
