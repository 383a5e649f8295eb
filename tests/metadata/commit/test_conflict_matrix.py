"""Reads the conflict matrix in the docstring of metadata/commit/conflicts.py and does what each of its cells says, for
real.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.metadata.entries import entries, entry
from tests.metadata.stores import Interrupted, check_tidy, files_below, open_store
from tests.places import stored_path

from lakebed import Lake, Table
from lakebed.errors import CommitConflictError
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.schema.table_schema import parquet_schema
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit import conflicts
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.plan.file_scan import live_entries

Rows = Counter[tuple[int, int]]
START = Counter([(p, 10 * p + i) for p in (1, 2) for i in range(4)])


def read_matrix() -> dict[tuple[str, str], str]:
    """(this commit, the one that landed) -> what happens."""
    lines = [line for line in (conflicts.__doc__ or "").splitlines() if line.startswith("|")]
    header, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {(row[0], kind): word for row in body for kind, word in zip(header[1:], row[1:], strict=True)}


MATRIX = read_matrix()


# ----------------------------------------------------------------------------------------------- what commits do


def ids(table: Table) -> Rows:
    rows = table.scan().to_arrow()
    return Counter(zip(rows["p"].to_pylist(), rows["id"].to_pylist(), strict=True))


def data(p: int, *numbers: int) -> pa.Table:
    return pa.table({"p": [p] * len(numbers), "id": list(numbers)})


def do_append(table: Table, p: int, tag: int) -> None:
    table.write(data(p, tag))


def do_rewrite(table: Table, p: int, tag: int) -> None:
    """Deletes one row of each of the partition's two files, so both are rewritten."""
    assert table.delete(f"p = {p} AND id IN ({10 * p}, {10 * p + 2})") is not None


def do_overwrite(table: Table, p: int, tag: int) -> None:
    table.overwrite(data(p, tag), partition={"p": p})


def do_compact(table: Table, p: int, tag: int) -> None:
    """Replaces the two files that a partition began with by one, as a compaction would."""
    store = table._store
    latest = store.snapshots.latest()
    schema = store.schema()
    partition = encode_row([p], [schema.field("p").type])
    old = live_entries(store, latest, pa.array([partition], pa.binary()))
    assert len(old) == 2
    rows = table.scan(where=f"p = {p}", version=latest.id if latest else None).to_arrow()
    name = f"data-{uuid.uuid4()}-0.parquet"
    path = stored_path(store.paths.bucket(f"p={p}", 0), name)
    pq.write_table(pa.Table.from_arrays(rows.columns, schema=parquet_schema(schema.fields)), path)
    new = entry(name, partition=partition, row_count=len(rows), file_size=path.stat().st_size, file_source=1)
    change = Change(entries=pa.concat_tables([as_deletes(old), entries(new)]))
    assert commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change)) is not None


def do_analyze(table: Table, p: int, tag: int) -> None:
    request = Commit(kind=CommitKind.ANALYZE, plan=lambda _: Change(), allow_empty=True)
    assert commit(table._store, request) is not None


ACTIONS: dict[str, Callable[[Table, int, int], None]] = {
    "APPEND": do_append,
    "REWRITE": do_rewrite,
    "OVERWRITE": do_overwrite,
    "COMPACT": do_compact,
    "ANALYZE": do_analyze,
}
ON_DISK = {"REWRITE": "OVERWRITE"}  # a rewrite lands as an overwrite


def effect(action: str, rows: Rows, p: int, tag: int) -> Rows:
    """What an action makes of the rows of a table."""
    if action == "APPEND":
        return rows + Counter([(p, tag)])
    if action == "REWRITE":
        return Counter({row: n for row, n in rows.items() if row not in {(p, 10 * p), (p, 10 * p + 2)}})
    if action == "OVERWRITE":
        return Counter({row: n for row, n in rows.items() if row[0] != p}) + Counter([(p, tag)])
    return rows


# --------------------------------------------------------------------------------------------------------- the test


@pytest.fixture
def table(lake: Lake) -> Table:
    """Partitions 1 and 2 with two files of two rows each."""
    made = lake.create_table("db.t", "p INT, id BIGINT", partition_by=["p"])
    for half in (0, 2):
        rows = [(p, 10 * p + half + i) for p in (1, 2) for i in (0, 1)]
        made.write(pa.table({"p": [p for p, _ in rows], "id": [number for _, number in rows]}))
    assert ids(made) == START
    return made


def interrupted(table: Table, other: Callable[[], Any]) -> Table:
    """The table for a process that another one gets ahead of, just before it creates its snapshot."""
    warehouse = str(stored_path(table.path).parent.parent)
    found: Table = Lake(warehouse, Interrupted(other), {}).table("db.t")
    return found


def others_of(kind: str) -> list[str]:
    return [action for action in ACTIONS if ON_DISK.get(action, action) == kind]


def outcomes() -> list[Any]:
    """Every cell, with each action that lands as its column's kind, in the same partition and in another."""
    return [
        pytest.param(
            mine, other, place, id=f"{mine}-after-{other}-in-{'the-same' if place == 1 else 'another'}-partition"
        )
        for (mine, kind) in MATRIX
        for other in others_of(kind)
        for place in (1, 2)
    ]


def test_the_matrix_is_complete() -> None:
    assert set(MATRIX) == {(mine, kind) for mine in ACTIONS for kind in CommitKind}
    assert set(MATRIX.values()) == {"rebase", "check", "replan"}


@pytest.mark.parametrize(("mine", "other", "place"), outcomes())
def test_what_the_matrix_says(table: Table, mine: str, other: str, place: int) -> None:
    word = MATRIX[mine, ON_DISK.get(other, other)]
    racing = interrupted(table, lambda: ACTIONS[other](table, place, 900))
    act = ACTIONS[mine]
    after_other = effect(other, START, place, 900)
    files_are_gone = place == 1 and other in {"REWRITE", "OVERWRITE", "COMPACT"}
    if word == "check" and files_are_gone:
        with pytest.raises(
            CommitConflictError, match=r"another commit rewrote or deleted \d+ files? that this commit replaces"
        ):
            act(racing, 1, 500)
        assert ids(table) == after_other
        assert snapshot_kinds(table) == ["APPEND", "APPEND", ON_DISK.get(other, other)]
    else:
        act(racing, 1, 500)
        assert ids(table) == effect(mine, after_other, 1, 500)
        assert snapshot_kinds(table) == ["APPEND", "APPEND", ON_DISK.get(other, other), ON_DISK.get(mine, mine)]
        if word == "replan" and place == 1:
            assert all(row == (1, 500) for row in ids(table) if row[0] == 1), "what the other brought was not replaced"
    check_tidy(table.path)
    if mine != "COMPACT":  # the hand-made one does not clean up after itself
        check_data_files(table)


def snapshot_kinds(table: Table) -> list[str]:
    return [str(snapshot.commit_kind) for snapshot in table.snapshots()]


def check_data_files(table: Table) -> None:
    """No data file is left that no snapshot ever referred to."""
    store = open_store(table.path)
    known: set[str] = set()
    for snapshot in table.snapshots():
        known |= set(live_entries(store, snapshot)["file_name"].to_pylist())
    assert {stored_path(name).name for name in files_below(table.path) if name.endswith(".parquet")} <= known
