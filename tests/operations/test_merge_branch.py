"""Merging branches of append-only tables: every file once, and no guesses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.metadata.crashes import at_every_step
from tests.metadata.entries import adds
from tests.metadata.histories import add, check_readable, history, live, swap
from tests.metadata.stores import Interrupted, commit_files, open_store

from lakebed.errors import NotFoundError, OptionError, SchemaError, UnsupportedError
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind
from lakebed.format.types.data_types import Field, parse_type
from lakebed.metadata.branches import create_branch
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations.merge_branch import merge_branch


def alter(store: TableStore, **options: str) -> None:
    store.schemas.change(
        lambda s: replace(s, id=s.id + 1, options={**s.options, **{k.replace("_", "-"): v for k, v in options.items()}})
    )


def add_column(store: TableStore, name: str) -> None:
    def derive(schema: TableSchema) -> TableSchema:
        column = Field(schema.highest_field_id + 1, name, parse_type("INT"))
        return replace(
            schema, id=schema.id + 1, fields=(*schema.fields, column), highest_field_id=schema.highest_field_id + 1
        )

    store.schemas.change(derive)


def parted(root: Path) -> tuple[TableStore, TableStore]:
    store = history(root, "a", "b")
    branch = create_branch(store, "b", snapshot=2)
    add(store, "main")
    add(branch, "x")
    add(branch, "y")
    return store, branch


def test_main_gets_the_branch_s_files_in_one_commit(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    made = merge_branch(store, "b")
    assert made is not None
    assert (made.id, made.commit_kind, made.delta_record_count) == (4, CommitKind.APPEND, 20)
    assert made.total_record_count == 50
    assert made.properties["lakebed.merged-branch"] == "b"
    assert live(store) == ["a", "b", "main", "x", "y"]
    assert live(branch) == ["a", "b", "x", "y"]


def test_merging_again_adds_only_what_is_new(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    merge_branch(store, "b")
    assert merge_branch(store, "b") is None
    assert store.snapshots.latest_id() == 4
    add(branch, "z")
    add(store, "later")
    made = merge_branch(store, "b")
    assert made is not None
    assert made.delta_record_count == 10
    assert live(store) == ["a", "b", "later", "main", "x", "y", "z"]


def test_a_branch_that_began_empty(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    branch = create_branch(store, "b")
    add(branch, "x")
    merge_branch(store, "b")
    assert merge_branch(store, "b") is None
    assert live(store) == ["a", "x"]


def test_into_an_empty_table(tmp_path: Path) -> None:
    store = history(tmp_path)
    add(create_branch(store, "b"), "x")
    merge_branch(store, "b")
    assert live(store) == ["x"]
    assert merge_branch(store, "b") is None


def test_a_branch_into_a_branch(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    other = create_branch(store, "c", snapshot=2)
    merge_branch(other, "b")
    merge_branch(other, "main")
    assert live(other) == ["a", "b", "main", "x", "y"]
    assert live(branch) == ["a", "b", "x", "y"]


@pytest.mark.parametrize("who", ["main", "branch"])
@pytest.mark.parametrize("how", ["compact", "delete"])
def test_a_history_that_rewrote_files_is_refused(tmp_path: Path, who: str, how: str) -> None:
    store, branch = parted(tmp_path)
    changed = store if who == "main" else branch
    if how == "compact":
        swap(changed, "a", "c")
    else:
        deletes = as_deletes(live_entries(changed, changed.snapshots.latest()))
        commit(changed, Commit(kind=CommitKind.APPEND, plan=lambda _: Change(entries=deletes)))
    with pytest.raises(UnsupportedError, match=r"its snapshot \d \((COMPACT|OVERWRITE)\) did more than add files"):
        merge_branch(store, "b")


def test_compaction_before_they_parted_does_not_matter(tmp_path: Path) -> None:
    store = history(tmp_path, "a")
    swap(store, "a", "c")
    branch = create_branch(store, "b", snapshot=2)
    add(branch, "x")
    merge_branch(store, "b")
    assert live(store) == ["c", "x"]


def test_a_snapshot_that_adds_nothing_does_not_matter(tmp_path: Path) -> None:
    store, _ = parted(tmp_path)
    commit(store, Commit(kind=CommitKind.ANALYZE, plan=lambda _: Change(), allow_empty=True))
    merge_branch(store, "b")
    assert live(store) == ["a", "b", "main", "x", "y"]


def test_histories_that_are_not_all_there_are_refused(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    store.storage.delete(store.paths.snapshot(1))
    create_tag(store, "t", snapshot=2)
    store.storage.delete(store.paths.snapshot(2))
    assert merge_branch(open_store(tmp_path), "b") is not None  # the tag tells what both had
    store.storage.delete(store.paths.snapshot(3))
    with pytest.raises(UnsupportedError, match="its snapshot 3 has expired"):
        merge_branch(store, "b")
    store.storage.delete(store.paths.tag("t"))
    with pytest.raises(UnsupportedError, match=r"the last common snapshot of branch .* has expired"):
        merge_branch(store, "b")
    assert branch.snapshots.ids() == [2, 3, 4]


def test_schemas_that_differ_in_options_only(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    alter(branch, commit_timeout="1 s")
    add(branch, "z")
    made = merge_branch(store, "b")
    assert made is not None
    entries = live_entries(store, made)
    assert set(entries["schema_id"].to_pylist()) == {0}
    assert live(store) == ["a", "b", "main", "x", "y", "z"]


def test_main_may_have_columns_that_the_branch_lacks(tmp_path: Path) -> None:
    store, _ = parted(tmp_path)
    add_column(store, "more")
    add(store, "wide")
    made = merge_branch(store, "b")
    assert made is not None
    assert made.schema_id == 1
    by_name = dict(zip(*(live_entries(store, made)[c].to_pylist() for c in ("file_name", "schema_id")), strict=True))
    assert (by_name["x"], by_name["wide"]) == (0, 1)


def test_columns_that_main_lacks_are_refused(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    add_column(branch, "more")
    merge_branch(store, "b")  # no file has it yet
    add(branch, "wide")
    with pytest.raises(SchemaError, match=r"columns id, v, more .* never had"):
        merge_branch(store, "b")
    add_column(store, "other")  # the same number, but another column
    with pytest.raises(SchemaError, match="never had"):
        merge_branch(store, "b")
    assert "wide" not in live(store)


def test_the_same_column_on_both_sides(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    alter(store, commit_timeout="1 s")
    for one in (store, branch):
        add_column(one, "more")
    add(branch, "wide")
    made = merge_branch(store, "b")
    assert made is not None
    by_name = dict(zip(*(live_entries(store, made)[c].to_pylist() for c in ("file_name", "schema_id")), strict=True))
    assert by_name["wide"] == 2  # main's number of those columns


def test_other_buckets_are_refused(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    alter(branch, bucket="2")
    with pytest.raises(SchemaError, match="other partitions or buckets"):
        merge_branch(store, "b")


def test_tables_with_a_primary_key_are_refused(tmp_path: Path) -> None:
    store = history(tmp_path, primary_key=["id"])
    create_branch(store, "b")
    with pytest.raises(UnsupportedError, match="has a primary key"):
        merge_branch(store, "b")


def test_rows_with_ids_are_refused(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    commit_files(branch, adds("ids", first_row_id=7))
    with pytest.raises(UnsupportedError, match="row ids"):
        merge_branch(store, "b")


def test_what_cannot_be_merged(tmp_path: Path) -> None:
    store, branch = parted(tmp_path)
    create_branch(store, "empty")
    with pytest.raises(NotFoundError, match="no snapshot to merge"):
        merge_branch(store, "empty")
    with pytest.raises(NotFoundError, match="no branch 'nope'"):
        merge_branch(store, "nope")
    for one, name in ((store, "main"), (branch, "b")):
        with pytest.raises(OptionError, match="into itself"):
            merge_branch(one, name)


def test_two_who_merge_at_once(tmp_path: Path) -> None:
    parted(tmp_path)
    racing = Interrupted(lambda: merge_branch(open_store(tmp_path), "b"), ending="snapshot-4")
    assert merge_branch(open_store(tmp_path, racing), "b") is None
    assert live(open_store(tmp_path)) == ["a", "b", "main", "x", "y"]


@pytest.mark.scales
def test_a_failure_at_every_step(tmp_path: Path) -> None:
    parted(tmp_path / "t")
    before, after_merge = ["a", "b", "main"], ["a", "b", "main", "x", "y"]

    def between(store: TableStore) -> None:
        check_readable(store)
        assert live(store) in (before, after_merge)

    def after(store: TableStore) -> None:
        check_readable(store)
        assert live(store) == after_merge

    assert at_every_step(tmp_path / "t", lambda s: merge_branch(s, "b"), between=between, after=after) >= 20
