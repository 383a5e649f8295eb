"""Rows of an append table instead of others."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from lakebed import CommitConflictError, Lake, Table, UnsupportedError
from lakebed.table.internals import replace_rows


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "v": [f"v{i}" for i in ids]})


def ids(table: Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow()["id"].to_pylist())


def orphans(table: Table) -> int:
    return table.remove_orphan_files(older_than="0 s", dry_run=True).count


def test_the_files_that_were_read_are_replaced_and_no_others(table: Callable[..., Table]) -> None:
    made = table()
    made.write(rows(1, 2))
    made.write(rows(3))
    scan = made.scan()
    made.write(rows(4))
    snapshot = replace_rows(made, scan, rows(10, 20), operation="UPDATE")
    assert snapshot is not None
    assert snapshot.operation == "UPDATE"
    assert ids(made) == [4, 10, 20]
    assert made.verify(deep=True).ok


def test_nothing_may_take_their_place(table: Callable[..., Table]) -> None:
    made = table()
    made.write(rows(1, 2))
    replace_rows(made, made.scan(), rows(), operation="DELETE")
    assert ids(made) == []


def test_a_file_that_is_gone_makes_it_fail(table: Callable[..., Table]) -> None:
    made = table()
    made.write(rows(1, 2))
    made.write(rows(3))
    scan = made.scan()
    made.delete("id = 3")
    with pytest.raises(CommitConflictError):
        replace_rows(made, scan, rows(10), operation="UPDATE")
    assert ids(made) == [1, 2]
    assert orphans(made) == 0


def test_deletion_vectors_go_with_their_files(table: Callable[..., Table]) -> None:
    made = table(options={"deletion-vectors.enabled": "true"})
    made.write(rows(1, 2, 3))
    made.delete("id = 2")
    assert ids(made) == [1, 3]
    replace_rows(made, made.scan(), rows(1, 2, 3), operation="UPDATE")
    assert ids(made) == [1, 2, 3]
    assert made.verify(deep=True).ok


def test_tables_with_a_key_are_written_not_rewritten(table: Callable[..., Table]) -> None:
    made = table("id BIGINT, v STRING", primary_key=["id"], options={"bucket": "1"})
    made.write(rows(1))
    with pytest.raises(UnsupportedError, match=r"write\(\) the rows instead"):
        replace_rows(made, made.scan(), rows(1), operation="UPDATE")
    empty = table()
    with pytest.raises(UnsupportedError, match="no files to rewrite"):
        replace_rows(empty, empty.scan(), rows(1), operation="UPDATE")


def test_rows_of_two_branches_are_not_rewritten_together(table: Callable[..., Table], lake: Lake) -> None:
    made = table("id BIGINT, v STRING, dt STRING", partition_by=["dt"])
    made.write(rows(1).append_column("dt", pa.array(["a"])))
    made.create_branch("dev")
    both = lake.table(made.name, options={"scan.fallback-branch": "dev"})
    with pytest.raises(UnsupportedError, match="another branch"):
        replace_rows(both, both.scan(), rows(1), operation="UPDATE")
