"""Every snapshot stands alone, however manifests were merged since: its base list and its delta list are the whole
table.

Told through the public interface, on append and on primary-key tables, in fixed and in random histories.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.lakes import open_lake
from tests.metadata.entries import names_of
from tests.metadata.stores import check_tidy, files_below, open_store, referenced, snapshots_on_disk

import lakebed
from lakebed.format.manifest.manifest import ADD, fold
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.plan.file_scan import live_entries

KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {}),
    "keyed": (["p", "id"], {"bucket": "2", "num-sorted-run.compaction-trigger": "4"}),
}
OFTEN = {"manifest.merge-min-count": "4"}
Row = tuple[int, int, int]


def new_table(folder: str | Path, kind: str, options: dict[str, str] | None = None) -> lakebed.Table:
    lake = open_lake(folder)
    keys, own = KINDS[kind]
    columns = "p INT, id INT, v INT"
    made = lake.create_table("db.t", columns, partition_by=["p"], primary_key=keys, options={**own, **(options or {})})
    assert isinstance(made, lakebed.Table)
    return made


def arrow(rows: list[Row]) -> pa.Table:
    columns = [pa.array([row[i] for row in rows], pa.int32()) for i in range(3)]
    return pa.table(columns, ["p", "id", "v"])


def read(table: lakebed.Table, **at: Any) -> list[Row]:
    found = table.scan(**at).to_arrow()
    return sorted(zip(*(found[name].to_pylist() for name in ("p", "id", "v")), strict=True))


def batch(number: int, size: int = 10) -> list[Row]:
    return [(i % 3, number * size + i, number) for i in range(size)]


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_commits_of_ten_rows_read_two_hundred(tmp_path: Path, kind: str) -> None:
    table = new_table(tmp_path, kind)
    for number in range(20):
        table.write(arrow(batch(number)))
    assert len(read(table)) == 200
    assert table.scan().count() == 200
    assert read(table) == sorted(row for number in range(20) for row in batch(number))
    check_lists(table)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options", [pytest.param({}, id="defaults", marks=pytest.mark.long), pytest.param(OFTEN, id="often")]
)
def test_sixty_commits_cross_compactions_with_all_rows_there(
    tmp_path: Path, kind: str, options: dict[str, str]
) -> None:
    table = new_table(tmp_path, kind, options)
    written: dict[int, list[Row]] = {}
    for number in range(60):
        table.write(arrow(batch(number, 4)))
        latest = table.latest_snapshot()
        assert latest is not None
        written[latest.id] = sorted(row for before in range(number + 1) for row in batch(before, 4))
    assert any(
        snapshot.properties["lakebed.manifests-merged-at"] == str(snapshot.id) for snapshot in table.snapshots()[1:]
    )
    for snapshot_id in list(written)[::7] + list(written)[-1:]:
        assert read(table, version=snapshot_id) == written[snapshot_id]
    check_lists(table)
    check_tidy(table.path)
    assert table.verify().problems == ()


def check_lists(table: lakebed.Table) -> None:
    """Base and delta are lists of their own for every snapshot: the base is what was there before, the delta what is
    new.
    """
    store = open_store(table.path)
    snapshots = list(snapshots_on_disk(table.path).values())
    lists = Counter(name for one in snapshots for name in (one.base_manifest_list, one.delta_manifest_list))
    assert set(lists.values()) == {1}
    before: list[str] = []
    for snapshot in snapshots:
        base = store.manifests.read_list(snapshot.base_manifest_list)
        delta = store.manifests.read_list(snapshot.delta_manifest_list)
        assert not {meta.file_name for meta in base} & {meta.file_name for meta in delta}
        assert sorted(names_of(fold(store.manifests.read_entries(base)))) == before
        changes = store.manifests.read_entries(delta)
        added = sum(kind == ADD for kind in changes["kind"].to_pylist())
        facts = snapshot.properties
        assert (facts["lakebed.files-added"], facts["lakebed.files-deleted"]) == (str(added), str(len(changes) - added))
        live = live_entries(store, snapshot)
        before = sorted(names_of(live))
        assert facts["lakebed.live-files"] == str(len(live))
        assert facts["lakebed.live-bytes"] == str(sum(live["file_size"].to_pylist()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_needs_no_other(tmp_path: Path, kind: str) -> None:
    """With everything taken away that a snapshot does not refer to, it reads as before."""
    table = new_table(tmp_path / "w", kind, OFTEN)
    for number in range(25):
        table.write(arrow(batch(number)))
        if number == 12:
            table.delete("id < 30")
            table.compact_manifests()
    for snapshot in table.snapshots()[4::9]:
        copy = tmp_path / f"w{snapshot.id}"
        shutil.copytree(tmp_path / "w", copy)
        root = copy / "db.db" / "t"
        needed = {f"manifest/{name}" for name in referenced(root, snapshot)} | {f"snapshot/snapshot-{snapshot.id}"}
        live = set(names_of(live_entries(open_store(table.path), snapshot)))
        for name in files_below(root):
            is_data = name.endswith(".parquet")
            if (is_data and Path(name).name not in live) or (
                name.startswith(("manifest", "snapshot")) and name not in needed
            ):
                (root / name).unlink()
        alone = lakebed.connect(copy).table("db.t")
        assert read(alone) == read(table, version=snapshot.id)


# ---------------------------------------------------------------------------------------------------- random histories

ACTIONS = ["write", "write", "write", "overwrite", "delete", "compact", "fold"]
partitions, ids = st.integers(0, 2), st.integers(0, 15)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_snapshot_of_a_random_history_shows_the_model(kind: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        often = {"manifest.merge-min-count": str(data.draw(st.integers(2, 5))), "manifest.target-file-size": "32 kb"}
        table = new_table(folder, kind, often)
        rows: list[Row] = []
        model: dict[int, list[Row]] = {}
        for step in range(data.draw(st.integers(4, 16))):
            rows = act(table, data.draw(st.sampled_from(ACTIONS)), rows, data, step)
            for snapshot in table.snapshots()[len(model) :]:
                model[snapshot.id] = sorted(rows)
        for snapshot in table.snapshots():
            assert read(table, version=snapshot.id) == model[snapshot.id], snapshot
            if kind == "append":
                assert snapshot.total_record_count == len(model[snapshot.id])
        check_lists(table)
        check_tidy(table.path)


def act(table: lakebed.Table, action: str, rows: list[Row], data: st.DataObject, step: int) -> list[Row]:
    """Do something to the table; gives the rows that it has to hold then."""
    keyed = bool(table.schema.primary_keys)
    if action in {"write", "overwrite"}:
        new = data.draw(st.lists(st.builds(lambda p, i: (p, i, step), partitions, ids), min_size=1, max_size=4))
        new = list({row[:2]: row for row in new}.values()) if keyed else new
        if action == "overwrite":
            table.overwrite(arrow(new))
            return [row for row in rows if row[0] not in {p for p, _, _ in new}] + new
        table.write(arrow(new))
        return [row for row in rows if not keyed or row[:2] not in {one[:2] for one in new}] + new
    if action == "delete":
        limit = data.draw(ids)
        table.delete(f"id < {limit}")
        return [row for row in rows if row[1] >= limit]
    if action == "compact":
        table.compact(full=data.draw(st.booleans()))
        return rows
    report = table.compact_manifests()
    if report.snapshot is not None:
        assert report.snapshot.commit_kind is CommitKind.COMPACT
        metas = open_store(table.path).manifests.base_and_delta(report.snapshot)
        assert all(meta.num_deleted_files == 0 for meta in metas)
    return rows
