"""For every check: a sound table, one thing broken, and that one thing told, where it is, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.operations.verify.damage import (
    Row,
    Surgeon,
    appended,
    found,
    keyed,
    only_problem,
    partitioned,
    rows,
    with_vectors,
)
from tests.places import copy_file, copy_tree, delete_tree, stored_path

import lakebed
from lakebed.changes import AddColumn
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.index_manifest import encode_index_manifest
from lakebed.format.manifest.manifest import ManifestMeta, encode_manifest, entries_from_rows
from lakebed.format.types.data_types import Atomic
from lakebed.operations.verify import structure
from lakebed.operations.verify.table_listing import list_table
from lakebed.operations.verify.verify import verify

ERROR, WARNING, INFO = "error", "warning", "info"
BIGINT = [Atomic("BIGINT", nullable=False)]


def cut(path: Path, size: int = 10) -> None:
    path.write_bytes(path.read_bytes()[:-size])


def changed(**values: Any) -> Callable[[Row], Row]:
    return lambda entry: {**entry, **values}


# ------------------------------------------------------------------------------------------------ snapshots, tags


def test_a_snapshot_that_is_no_json(lake: lakebed.Lake) -> None:
    table = appended(lake)
    stored_path(table.path, "snapshot/snapshot-2").write_text("{broken")
    assert found(table) == [(ERROR, "unreadable-snapshot", "snapshot/snapshot-2")]


def test_a_snapshot_that_lacks_what_it_must_have(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).change_snapshot(4, deltaManifestList=None)
    assert found(table) == [(ERROR, "unreadable-snapshot", "snapshot/snapshot-4")]


def test_a_folder_in_the_place_of_the_next_snapshot(lake: lakebed.Lake) -> None:
    table = appended(lake)
    stored_path(table.path, "snapshot/snapshot-5").mkdir()
    assert (ERROR, "unreadable-snapshot", "snapshot/snapshot-5") in found(table)


def test_a_snapshot_under_another_number(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=1)
    Surgeon(table).change_snapshot(1, id=7)
    assert found(table) == [(ERROR, "wrong-snapshot-id", "snapshot/snapshot-1")]


@pytest.mark.parametrize(("gone", "what"), [([3], "snapshot 3"), ([2, 3], "snapshots 2 to 3")])
def test_a_hole_between_snapshots(lake: lakebed.Lake, gone: list[int], what: str) -> None:
    table = appended(lake, commits=5)
    for number in gone:
        stored_path(table.path, f"snapshot/snapshot-{number}").unlink()
    problem = only_problem(table)
    assert (problem.severity, problem.code) == (ERROR, "missing-snapshot")
    assert what in problem.what
    assert problem.where.endswith(f"snapshot/snapshot-{gone[0]}")


def test_a_branch_that_lost_all_its_snapshots(lake: lakebed.Lake) -> None:
    """A repair deletes none of its files."""
    table = appended(lake)
    table.create_branch("b")
    for number in range(1, 5):
        stored_path(table.path, f"snapshot/snapshot-{number}").unlink()
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (ERROR, "no-snapshot", f"{table.path}/snapshot")
    assert "the main branch has no snapshot, although the history index" in problem.what
    assert "fast_forward()" in problem.advice
    report = verify(table._store, repair=True)
    assert report.repairs == ()
    assert "orphan files were not searched for" in report.notes[0]


def test_branches_that_never_had_a_snapshot(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=0)
    table.create_branch("b")
    table.branch("b").write(rows(1))
    assert found(table) == []


def test_a_wrong_total_is_told_once_though_all_after_it_are_off(lake: lakebed.Lake) -> None:
    table = appended(lake)
    surgeon = Surgeon(table)
    for number in (2, 3, 4):
        surgeon.change_snapshot(number, totalRecordCount=2 * number + 5)
    assert found(table) == [(ERROR, "wrong-total", "snapshot/snapshot-2")]


def test_a_wrong_total_of_the_first_snapshot(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=1)
    Surgeon(table).change_snapshot(1, totalRecordCount=3)
    assert found(table) == [(ERROR, "wrong-total", "snapshot/snapshot-1")]


def test_a_total_that_is_off_for_one_snapshot_only(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).change_snapshot(3, totalRecordCount=0)
    assert found(table) == [
        (ERROR, "wrong-total", "snapshot/snapshot-3"),
        (ERROR, "wrong-total", "snapshot/snapshot-4"),
    ]


def test_a_wrong_number_of_new_records(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).change_snapshot(3, deltaRecordCount=1)
    assert found(table) == [(ERROR, "wrong-record-count", "snapshot/snapshot-3")]


def test_a_wrong_number_of_changelog_records(lake: lakebed.Lake) -> None:
    table = keyed(lake, changelog_producer="input")
    assert found(table) == []
    Surgeon(table).change_snapshot(2, changelogRecordCount=1)
    assert found(table) == [(ERROR, "wrong-record-count", "snapshot/snapshot-2")]


def test_a_broken_tag(lake: lakebed.Lake) -> None:
    table = appended(lake)
    stored_path(table.path, "tag").mkdir()
    copy_file(stored_path(table.path, "snapshot/snapshot-2"), stored_path(table.path, "tag/tag-good"))
    stored_path(table.path, "tag/tag-bad").write_text("[]")
    assert found(table) == [(ERROR, "unreadable-tag", "tag/tag-bad")]


def test_a_tag_whose_files_are_gone(lake: lakebed.Lake) -> None:
    """Its snapshot expired, and somebody deleted what only the tag kept."""
    table = appended(lake)
    stored_path(table.path, "tag").mkdir()
    copy_file(stored_path(table.path, "snapshot/snapshot-1"), stored_path(table.path, "tag/tag-v1"))
    table.truncate()
    lost = Surgeon(table).file_of(1)
    for number in range(1, 5):
        stored_path(table.path, f"snapshot/snapshot-{number}").unlink()
    assert {code for _, code, _ in found(table)} <= {
        "unreferenced-data",
        "unreferenced-manifest",
        "unreferenced-manifest-list",
        "stale-hint",
    }
    lost.unlink()
    (problem,) = verify(table._store).errors
    assert (problem.code, problem.where) == ("missing-data-file", str(lost))
    assert "needed by tag v1" in problem.what


def test_a_broken_branch_is_told_whatever_branch_the_handle_is_on(lake: lakebed.Lake) -> None:
    table = appended(lake)
    copy_tree(stored_path(table.path, "schema"), stored_path(table.path, "branch/branch-b/schema"))
    branch = table.branch("b")
    branch.write(rows(1))
    branch.write(rows(2))
    assert found(table) == found(branch) == []
    lost = Surgeon(table).root / "branch/branch-b/snapshot/snapshot-2"
    lost.write_text("")
    for handle in (table, branch):
        assert found(handle) == [(ERROR, "unreadable-snapshot", "branch/branch-b/snapshot/snapshot-2")]


# --------------------------------------------------------------------------------------------------------- schemas


def test_a_schema_that_snapshots_need_is_missing(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=2)
    table.alter(AddColumn("w", "INT"))
    table.write(rows(1).append_column("w", [[1]]))
    table.alter(AddColumn("x", "INT"))
    stored_path(table.path, "schema/schema-1").unlink()
    problem = only_problem(lake.table("db.a"))
    assert (problem.severity, problem.code, problem.where) == (ERROR, "missing-schema", f"{table.path}/schema/schema-1")
    assert "snapshot 3" in problem.what


def test_a_schema_under_another_number(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).change_json("schema/schema-0", id=3)
    assert found(lake.table("db.a")) == [(ERROR, "wrong-schema-id", "schema/schema-0")]


def test_a_schema_that_only_files_need_is_missing(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=2)
    Surgeon(table).change_entries(2, changed(schema_id=5))
    Surgeon(table).change_metas(lambda meta: replace(meta, schema_id=5))
    problem = only_problem(table)
    assert (problem.code, problem.where) == ("missing-schema", f"{table.path}/schema/schema-5")
    assert Surgeon(table).file_of(2).name in problem.what


def test_a_hole_between_schemas(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=0)
    for name in "wxy":
        table.alter(AddColumn(name, "INT"))
    stored_path(table.path, "schema/schema-2").unlink()
    assert found(table) == [(WARNING, "missing-schema", "schema/schema-2")]


def test_a_schema_that_cannot_be_read(lake: lakebed.Lake) -> None:
    table = appended(lake)
    table.alter(AddColumn("w", "INT"))
    cut(stored_path(table.path, "schema/schema-0"))
    assert found(lake.table("db.a")) == [(ERROR, "unreadable-schema", "schema/schema-0")]


@pytest.mark.parametrize(("highest", "schema"), [(0, 0), (7, 1)])
def test_highest_field_ids_that_would_be_used_twice(lake: lakebed.Lake, highest: int, schema: int) -> None:
    table = appended(lake)
    table.alter(AddColumn("w", "INT"))
    Surgeon(table).change_json("schema/schema-0", highestFieldId=highest)
    assert found(table) == [(ERROR, "wrong-highest-field-id", f"schema/schema-{schema}")]


# ----------------------------------------------------------------------------------------------- hints, consumers


@pytest.mark.parametrize(
    ("hint", "text", "expected"),
    [
        ("LATEST", "2", (INFO, "stale-hint")),
        ("LATEST", "9", (WARNING, "hint-ahead")),
        ("LATEST", "", (WARNING, "bad-hint")),
        ("LATEST", "soon", (WARNING, "bad-hint")),
        ("EARLIEST", "3", (INFO, "stale-hint")),
        ("EARLIEST", "0", (INFO, "stale-hint")),
        ("EARLIEST", "\x00", (WARNING, "bad-hint")),
    ],
)
def test_wrong_hints(lake: lakebed.Lake, hint: str, text: str, expected: tuple[str, str]) -> None:
    table = appended(lake)
    stored_path(table.path, "snapshot", hint).write_text(text)
    assert found(table) == [(*expected, f"snapshot/{hint}")]


@pytest.mark.parametrize("hint", ["LATEST", "EARLIEST"])
def test_a_hint_that_is_a_pipe(lake: lakebed.Lake, hint: str) -> None:
    table = appended(lake)
    path = stored_path(table.path, "snapshot", hint)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (WARNING, "unreadable-hint", str(path))
    assert "not a regular file" in problem.what


def test_missing_hints_are_fine(lake: lakebed.Lake) -> None:
    table = appended(lake)
    stored_path(table.path, "snapshot/LATEST").unlink()
    assert found(table) == []


def test_a_hint_to_snapshots_where_there_are_none(lake: lakebed.Lake) -> None:
    table = appended(lake, commits=0)
    stored_path(table.path, "snapshot").mkdir()
    stored_path(table.path, "snapshot/LATEST").write_text("1")
    assert found(table) == [(WARNING, "hint-ahead", "snapshot/LATEST")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"nextSnapshot" : 3}', []),
        ('{"nextSnapshot" : 5}', []),
        ('{"nextSnapshot" : 6}', [(WARNING, "lost-consumer", "consumer/consumer-c")]),
        ('{"nextSnapshot" : 0}', [(WARNING, "lost-consumer", "consumer/consumer-c")]),
        ('{"nextSnapshot" : "3"}', [(WARNING, "bad-consumer", "consumer/consumer-c")]),
        ("nothing", [(WARNING, "bad-consumer", "consumer/consumer-c")]),
    ],
)
def test_consumers(lake: lakebed.Lake, text: str, expected: list[tuple[str, str, str]]) -> None:
    table = appended(lake)
    stored_path(table.path, "consumer").mkdir()
    stored_path(table.path, "consumer/consumer-c").write_text(text)
    assert found(table) == expected


# ------------------------------------------------------------------------------------------------ lists, manifests


@pytest.mark.parametrize("which", ["base", "delta"])
@pytest.mark.parametrize(("damage", "code"), [(Path.unlink, "missing"), (cut, "unreadable")])
def test_a_list_that_cannot_be_read(lake: lakebed.Lake, which: str, damage: Callable[[Path], None], code: str) -> None:
    table = appended(lake)
    name = Surgeon(table).snapshot(2)[f"{which}ManifestList"]
    damage(stored_path(table.path, "manifest", name))
    problem = only_problem(table)
    assert (problem.severity, problem.code) == (ERROR, f"{code}-manifest-list")
    assert problem.where == f"{table.path}/manifest/{name}"
    assert "snapshot 2" in problem.what


@pytest.mark.parametrize(("damage", "code"), [(Path.unlink, "missing"), (cut, "unreadable")])
def test_a_manifest_that_many_snapshots_need_is_told_once(
    lake: lakebed.Lake, damage: Callable[[Path], None], code: str
) -> None:
    table = appended(lake, commits=9)
    path = Surgeon(table).manifest_of(3)
    damage(path)
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (ERROR, f"{code}-manifest", str(path))
    assert "snapshot 3 to snapshot 9 (7)" in problem.what


def test_files_of_a_lost_manifest_do_not_count_as_unreferenced(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).manifest_of(3).unlink()
    report = verify(table._store, repair=True)
    assert report.repairs == ()
    assert "orphan files were not searched for" in report.notes[0]


def test_a_list_of_another_size(lake: lakebed.Lake) -> None:
    table = appended(lake)
    name = Surgeon(table).snapshot(3)["baseManifestList"]
    Surgeon(table).change_snapshot(3, baseManifestListSize=1)
    assert found(table) == [(ERROR, "wrong-size", f"manifest/{name}")]


def test_a_manifest_of_another_size(lake: lakebed.Lake) -> None:
    table = appended(lake)
    name = Surgeon(table).metas(2)[0].file_name
    Surgeon(table).change_metas(lambda meta: replace(meta, file_size=meta.file_size + (meta.file_name == name)))
    assert found(table) == [(ERROR, "wrong-size", f"manifest/{name}")]


def wrong_metas() -> dict[str, tuple[str, Callable[[ManifestMeta], ManifestMeta]]]:
    text = encode_row(["z"], [Atomic("STRING")])
    return {
        "added": ("wrong-manifest-counts", lambda meta: replace(meta, num_added_files=3)),
        "deleted": ("wrong-manifest-counts", lambda meta: replace(meta, num_deleted_files=1)),
        "bucket": ("wrong-manifest-ranges", lambda meta: replace(meta, min_bucket=1, max_bucket=2)),
        "level": ("wrong-manifest-ranges", lambda meta: replace(meta, max_level=-1)),
        "schema": ("wrong-manifest-ranges", lambda meta: replace(meta, schema_id=-1)),
        "low partition": ("wrong-manifest-ranges", lambda meta: replace(meta, partition_min=meta.partition_max)),
        "high partition": ("wrong-manifest-ranges", lambda meta: replace(meta, partition_max=meta.partition_min)),
        "beyond": ("wrong-manifest-ranges", lambda meta: replace(meta, partition_min=text, partition_max=text)),
    }


@pytest.mark.parametrize("name", wrong_metas())
def test_lists_that_misdescribe_a_manifest(lake: lakebed.Lake, name: str) -> None:
    table = partitioned(lake)
    code, change = wrong_metas()[name]
    manifest = Surgeon(table).metas(2)[0].file_name
    Surgeon(table).change_metas(lambda meta: change(meta) if meta.file_name == manifest else meta)
    assert found(table) == [(ERROR, code, f"manifest/{manifest}")]


def test_lists_that_contradict_each_other(lake: lakebed.Lake) -> None:
    table = appended(lake)
    manifest = Surgeon(table).metas(1)[0]
    Surgeon(table).change_list(4, "base", lambda metas: [replace(metas[0], max_level=4), *metas[1:]])
    assert found(table) == [(ERROR, "wrong-manifest-meta", f"manifest/{manifest.file_name}")]


def test_unknown_ranges_are_fine(lake: lakebed.Lake) -> None:
    table = partitioned(lake)
    Surgeon(table).change_metas(
        lambda meta: replace(meta, min_bucket=None, max_bucket=None, min_level=None, max_level=None)
    )
    assert found(table) == []


def test_a_base_list_that_forgot_a_manifest(lake: lakebed.Lake) -> None:
    """Rows are lost; all later snapshots follow the one that lost them, and are not to blame."""
    table = appended(lake, commits=6)
    for number in (4, 5, 6):
        Surgeon(table).change_list(number, "base", lambda metas: [metas[0], *metas[2:]])
    problem = only_problem(table)
    assert (problem.severity, problem.code) == (ERROR, "wrong-base")
    assert problem.where.endswith("snapshot/snapshot-4")
    assert Surgeon(table).file_of(2).name in problem.what


def test_a_commit_that_was_made_on_the_wrong_snapshot(lake: lakebed.Lake) -> None:
    """Its totals fit its lists, so no list was damaged: a commit was lost."""
    table = appended(lake, commits=6)
    surgeon = Surgeon(table)
    for number in (4, 5, 6):
        surgeon.change_list(number, "base", lambda metas: [*metas[:2], *metas[3:]])
        surgeon.change_snapshot(number, totalRecordCount=surgeon.snapshot(number)["totalRecordCount"] - 2)
    problem = only_problem(table)
    assert (problem.severity, problem.code) == (WARNING, "broken-chain")
    assert problem.where.endswith("snapshot/snapshot-4")
    assert surgeon.file_of(3).name in problem.what


def test_a_base_list_with_other_manifests_and_the_same_files_is_fine(lake: lakebed.Lake) -> None:
    """Manifests may be merged at any time."""
    table = appended(lake, commits=6)
    surgeon = Surgeon(table)
    merged = surgeon.root / "manifest/manifest-merged-0"
    first, second = surgeon.entries(1), surgeon.entries(2)
    merged.write_bytes(encode_manifest(entries_from_rows([*first, *second])))
    meta = replace(surgeon.metas(1)[0], file_name=merged.name)
    for number in (4, 5, 6):
        surgeon.change_list(number, "base", lambda metas: [meta, *metas[2:]])
    surgeon.fit()
    assert found(table) == []
    merged.write_bytes(encode_manifest(entries_from_rows(first)))
    surgeon.fit()
    assert found(table) == [(ERROR, "wrong-base", "snapshot/snapshot-4")]


def test_a_delete_of_a_file_that_is_not_there(lake: lakebed.Lake) -> None:
    table = appended(lake)
    table.truncate()
    surgeon = Surgeon(table)
    victim = surgeon.entries(1)[0]
    surgeon.change_entries(
        5, lambda entry: {**entry, "level": 3} if entry["file_name"] == victim["file_name"] else entry
    )
    surgeon.change_metas(lambda meta: replace(meta, max_level=3))
    report = verify(table._store)
    (problem,) = [problem for problem in report.problems if problem.code == "delete-of-dead-file"]
    assert problem.where.endswith("snapshot/snapshot-5")
    assert victim["file_name"] in problem.what


def test_a_file_that_is_added_twice(lake: lakebed.Lake) -> None:
    table = appended(lake)
    surgeon = Surgeon(table)
    first = surgeon.entries(1)[0]
    surgeon.file_of(3).unlink()
    surgeon.change_entries(3, lambda _: first)
    assert found(table) == [(ERROR, "added-twice", "snapshot/snapshot-3")]


# ------------------------------------------------------------------------------------------------------- data files


def test_a_missing_data_file(lake: lakebed.Lake) -> None:
    table = appended(lake)
    lost = Surgeon(table).file_of(2)
    lost.unlink()
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (ERROR, "missing-data-file", str(lost))
    assert "needed by snapshot 2 to snapshot 4" in problem.what


def test_who_needs_a_missing_file_ends_where_it_was_deleted(lake: lakebed.Lake) -> None:
    table = appended(lake)
    table.truncate()
    table.write(rows(1))
    Surgeon(table).file_of(2).unlink()
    assert "needed by snapshot 2 to snapshot 4" in only_problem(table).what


def test_a_lost_folder_is_one_problem(lake: lakebed.Lake) -> None:
    table = partitioned(lake)
    delete_tree(stored_path(table.path, "dt=x"))
    problem = only_problem(table)
    assert (problem.code, problem.where) == ("missing-data-file", f"{table.path}/dt=x/bucket-0")
    assert "3 files in this folder" in problem.what


@pytest.mark.parametrize("more", [b"", b"more"])
def test_a_data_file_of_another_size(lake: lakebed.Lake, more: bytes) -> None:
    table = appended(lake)
    path = Surgeon(table).file_of(2)
    path.write_bytes(path.read_bytes() + more if more else path.read_bytes()[:-7])
    for deep in (False, True):
        problem = only_problem(table, deep=deep)
        assert (problem.severity, problem.code, problem.where) == (ERROR, "wrong-size", str(path))


def test_a_file_in_the_folder_of_another_partition(lake: lakebed.Lake) -> None:
    table = partitioned(lake)
    (path,) = [path for path in Surgeon(table).data_files() if path == Surgeon(table).file_of(2)]
    other = path.parent.parent.with_name("dt=y" if "dt=x" in str(path) else "dt=x") / "bucket-0" / path.name
    path.rename(other)
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (ERROR, "wrong-folder", str(path))
    assert str(other) in problem.what


def test_a_partition_that_cannot_be_decoded(lake: lakebed.Lake) -> None:
    table = partitioned(lake)
    surgeon = Surgeon(table)
    victim = surgeon.entries(2)[0]["file_name"]
    surgeon.change_entries(
        2, lambda entry: {**entry, "partition": b"\x00" * 12} if entry["file_name"] == victim else entry
    )
    assert found(table) == [(ERROR, "wrong-partition", victim)]


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("wrong-row-count", {"delete_row_count": 3}),
        ("wrong-sequence-numbers", {"min_sequence_number": 9, "max_sequence_number": 2}),
        ("wrong-bucket", {"total_buckets": 1, "bucket": 0}),
        ("wrong-level", {"file_source": 7}),
        ("wrong-statistics", {"value_stats_cols": ["id", "nobody"]}),
        ("wrong-statistics", {"value_stats_cols": ["id"]}),
        ("wrong-statistics", {"value_null_counts": [5, 0]}),
        ("wrong-statistics", {"value_min": b"\x00\x00\x00\x02short"}),
    ],
)
def test_entries_that_make_no_sense(lake: lakebed.Lake, code: str, values: Row) -> None:
    table = appended(lake)
    if code == "wrong-bucket":
        values = {"total_buckets": 1, "bucket": 1}
        path = Surgeon(table).file_of(2)
        path.parent.with_name("bucket-1").mkdir()
        path.rename(path.parent.with_name("bucket-1") / path.name)
        Surgeon(table).change_metas(lambda meta: replace(meta, max_bucket=1))
    Surgeon(table).change_entries(2, changed(**values))
    report = verify(table._store)
    codes = {problem.code for problem in report.problems}
    if code == "wrong-bucket":
        codes -= {"wrong-total-buckets"}  # the other files say -1
    assert codes == {code}, str(report)
    assert any(problem.where == str(Surgeon(table).file_of(2)) for problem in report.problems)


def test_statistics_that_contradict_themselves(lake: lakebed.Lake) -> None:
    table = appended(lake)
    entry = Surgeon(table).entries(2)[0]
    Surgeon(table).change_entries(2, changed(value_min=entry["value_max"], value_max=entry["value_min"]))
    problem = only_problem(table)
    assert (problem.code, problem.where) == ("wrong-statistics", str(Surgeon(table).file_of(2)))
    assert "column id" in problem.what


def test_extra_files_must_be_there(lake: lakebed.Lake) -> None:
    table = appended(lake)
    name = f"{Surgeon(table).file_of(2).name}.index"
    Surgeon(table).change_entries(2, changed(extra_files=[name]))
    assert found(table) == [(ERROR, "missing-extra-file", f"bucket-0/{name}")]
    stored_path(table.path, "bucket-0", name).write_bytes(b"x")
    assert found(table) == []


# ------------------------------------------------------------------------------------------------- keys and levels


def test_key_ranges_that_cannot_be(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    low, high = encode_row([5], BIGINT), encode_row([3], BIGINT)
    path = Surgeon(table).file_of(2)
    for keys in ({"min_key": low, "max_key": high}, {"min_key": b"\x00\x00\x00\x05" + bytes(60)}):
        Surgeon(table).change_entries(2, changed(**keys))
        problem = only_problem(table)
        assert (problem.severity, problem.code, problem.where) == (ERROR, "wrong-key-range", str(path))


def raised(surgeon: Surgeon, level: int, **more: Any) -> None:
    """Put the files of the first two snapshots at a level."""
    for number in (1, 2):
        surgeon.change_entries(number, changed(level=level))
    surgeon.change_entries(2, changed(level=level, **more))
    surgeon.change_metas(lambda meta: replace(meta, max_level=level))


def test_files_of_a_level_that_overlap(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    surgeon = Surgeon(table)
    raised(surgeon, 3)
    assert found(table) == []
    raised(surgeon, 3, min_key=encode_row([3], BIGINT))
    table.write(rows(50))
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (
        ERROR,
        "overlapping-levels",
        f"{table.path}/bucket-0",
    )
    assert all(surgeon.file_of(number).name in problem.what for number in (1, 2))
    assert "level 3" in problem.what
    assert "since snapshot 2" in problem.what


def test_level_0_may_overlap(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    table.write(rows(1, 30))
    assert found(table) == []


def test_a_partition_with_two_numbers_of_buckets(lake: lakebed.Lake) -> None:
    table = keyed(lake)
    surgeon = Surgeon(table)
    surgeon.change_entries(2, changed(total_buckets=4))
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (ERROR, "wrong-total-buckets", table.path)
    assert "1 and 4 buckets, since snapshot 2" in problem.what


def test_sequence_numbers_that_begin_anew_are_no_error(lake: lakebed.Lake) -> None:
    """Two writers may have begun on the same snapshot."""
    table = keyed(lake)
    Surgeon(table).change_entries(2, changed(min_sequence_number=0, max_sequence_number=1))
    assert found(table) == [(INFO, "overlapping-sequences", "bucket-0")]
    assert verify(table._store).ok


# --------------------------------------------------------------------------------------------------------- indexes


@pytest.mark.parametrize(("damage", "code"), [(Path.unlink, "missing"), (cut, "unreadable")])
def test_an_index_manifest_that_cannot_be_read(lake: lakebed.Lake, damage: Callable[[Path], None], code: str) -> None:
    table = with_vectors(lake)
    path = stored_path(table.path, "manifest", Surgeon(table).snapshot(Surgeon(table).latest())["indexManifest"])
    damage(path)
    problem = only_problem(table)
    assert (problem.severity, problem.code, problem.where) == (ERROR, f"{code}-index-manifest", str(path))


@pytest.mark.parametrize(("damage", "code"), [(Path.unlink, "missing-index-file"), (cut, "wrong-size")])
def test_index_files_must_be_there(lake: lakebed.Lake, damage: Callable[[Path], None], code: str) -> None:
    table = with_vectors(lake)
    (entry,) = Surgeon(table).index_entries()
    path = stored_path(table.path, "index", entry.file_name)
    if code == "wrong-size":
        cut(path, 2)
    else:
        damage(path)
    for deep in (False, True):
        problem = only_problem(table, deep=deep)
        assert (problem.severity, problem.code, problem.where) == (ERROR, code, str(path))


def test_a_vector_for_a_file_that_is_not_live(lake: lakebed.Lake) -> None:
    table = with_vectors(lake)
    Surgeon(table).change_index(
        lambda entry: replace(
            entry, vectors=tuple(replace(v, file_name="data-dead-0.parquet") for v in entry.vectors or ())
        )
    )
    problem = only_problem(table)
    assert (problem.severity, problem.code) == (ERROR, "vector-of-dead-file")
    assert problem.where.endswith(f"snapshot/snapshot-{Surgeon(table).latest()}")
    assert "data-dead-0.parquet" in problem.what


def test_a_vector_that_stayed_when_its_file_went(lake: lakebed.Lake) -> None:
    table = with_vectors(lake)
    surgeon = Surgeon(table)
    name = surgeon.snapshot(surgeon.latest())["indexManifest"]
    table.truncate()
    assert found(table) == []
    surgeon.change_snapshot(surgeon.latest(), indexManifest=name)
    assert found(table) == [(ERROR, "vector-of-dead-file", f"snapshot/snapshot-{surgeon.latest()}")]


@pytest.mark.parametrize("what", ["cardinality", "row_count", "offset"])
def test_vectors_that_do_not_fit(lake: lakebed.Lake, what: str) -> None:
    table = with_vectors(lake)
    (entry,) = Surgeon(table).index_entries()
    (vector,) = entry.vectors or ()
    wrong = {
        "cardinality": replace(entry, vectors=(replace(vector, cardinality=5000),)),
        "row_count": replace(entry, row_count=2),
        "offset": replace(entry, vectors=(replace(vector, offset=10_000),)),
    }[what]
    Surgeon(table).change_index(lambda _: wrong)
    assert found(table) == [(ERROR, "wrong-deletion-vector", f"index/{entry.file_name}")]


def test_two_index_files_for_one_bucket(lake: lakebed.Lake) -> None:
    table = with_vectors(lake)
    surgeon = Surgeon(table)
    (entry,) = surgeon.index_entries()
    copy = replace(entry, file_name="index-copy-0", vectors=(), row_count=0)
    copy_file(surgeon.root / "index" / entry.file_name, surgeon.root / "index/index-copy-0")
    name = surgeon.snapshot(surgeon.latest())["indexManifest"]
    stored_path(table.path, "manifest", name).write_bytes(encode_index_manifest([entry, copy]))
    assert found(table) == [(ERROR, "wrong-index-manifest", f"manifest/{name}")]
    stored_path(table.path, "manifest", name).write_bytes(encode_index_manifest([replace(entry, kind=1)]))
    assert (ERROR, "wrong-index-manifest", f"manifest/{name}") in found(table)


# -------------------------------------------------------------------------------------------------- small matters


def test_statistics_of_analyze(lake: lakebed.Lake) -> None:
    table = appended(lake)
    Surgeon(table).change_snapshot(4, statistics="stat-1-0")
    path = stored_path(table.path, "statistics/stat-1-0")
    assert found(table) == [(WARNING, "missing-statistics", "statistics/stat-1-0")]
    path.parent.mkdir()
    path.write_text("{")
    assert found(table) == [(WARNING, "unreadable-statistics", "statistics/stat-1-0")]
    path.write_text("{}")
    assert found(table) == []


def test_a_table_without_any_schema_is_told(lake: lakebed.Lake) -> None:
    table = appended(lake)
    delete_tree(stored_path(table.path, "schema"))
    assert (ERROR, "missing-schema", "schema") in found(table)


def test_a_snapshot_that_expires_during_the_walk_is_no_problem(lake: lakebed.Lake, monkeypatch: Any) -> None:
    """The walk is repeated where a snapshot that it saw is gone in the end."""
    table = appended(lake)
    table.truncate()
    lost = Surgeon(table).file_of(1)
    walked = list_table

    def expire_first(*arguments: Any) -> Any:
        if lost.exists():
            lost.unlink()
            for number in range(1, 5):
                stored_path(table.path, f"snapshot/snapshot-{number}").unlink()
        return walked(*arguments)

    monkeypatch.setattr(structure, "list_table", expire_first)
    assert verify(table._store).errors == ()
