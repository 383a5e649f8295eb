from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.metadata.entries import entries, entry, rows
from tests.metadata.stores import commit_files, new_store

from lakebed.format import predicate as pred
from lakebed.format.binary_row import encode_row
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import DELETE, entries_from_rows
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.store import TableStore
from lakebed.operations.overwrite import replace_matching, replace_partitions


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    """Files a and b in partition 1 and c in partition 2, each partition with an index file."""
    made = new_store(tmp_path / "t", "p INT, id BIGINT", partition_by=["p"])
    commit_files(made, files(made, a=1, b=1, c=2))
    index = tuple(
        IndexEntry(
            kind=0,
            partition=partition(made, p),
            bucket=0,
            index_type=DELETION_VECTORS,
            file_name=f"index-{p}",
            file_size=1,
            row_count=1,
            vectors=(VectorRange(name, 1, 1, 1),),
        )
        for p, name in ((1, "a"), (2, "c"))
    )
    assert commit(made, append(Change(index=index))) is not None
    return made


def partition(store: TableStore, value: int | None) -> bytes:
    return encode_row([value], [store.schema().field("p").type])


def files(store: TableStore, **names: int | None) -> pa.Table:
    return entries_from_rows([entry(name, partition=partition(store, p)) for name, p in names.items()])


def latest(store: TableStore) -> Snapshot:
    found = store.snapshots.latest()
    assert found is not None
    return found


def summary(change: Change) -> tuple[list[str], list[str], list[str]]:
    """Files deleted, files added, index files removed."""
    listed = rows(change.entries)
    deleted = sorted(row["file_name"] for row in listed if row["kind"] == DELETE)
    added = sorted(row["file_name"] for row in listed if row["kind"] != DELETE)
    assert all(index.kind == DELETE for index in change.index)
    return deleted, added, sorted(index.file_name for index in change.index)


def is_one(value: int) -> pred.Node:
    return pred.Compare("p", "=", pa.scalar(value, pa.int32()))


def test_the_partitions_of_the_new_files_are_replaced(store: TableStore) -> None:
    plan = replace_partitions(store, files(store, x=1, y=3))
    assert summary(plan(latest(store))) == (["a", "b"], ["x", "y"], ["index-1"])
    assert summary(plan(None)) == ([], ["x", "y"], [])


def test_no_new_files_replace_nothing(store: TableStore) -> None:
    assert replace_partitions(store, entries())(latest(store)).is_empty


@pytest.mark.parametrize(
    ("where", "outcome"),
    [
        (None, (["a", "b", "c"], ["x"], ["index-1", "index-2"])),
        (is_one(1), (["a", "b"], ["x"], ["index-1"])),
        (is_one(2), (["c"], ["x"], ["index-2"])),
        (is_one(7), ([], ["x"], [])),
        (pred.IsNull("p"), ([], ["x"], [])),
    ],
)
def test_matching_partitions_are_replaced(
    store: TableStore, where: pred.Node | None, outcome: tuple[list[str], list[str], list[str]]
) -> None:
    assert summary(replace_matching(store, where, files(store, x=1))(latest(store))) == outcome


def test_the_plan_is_made_for_the_snapshot_it_lands_on(store: TableStore) -> None:
    plan = replace_matching(store, is_one(1), files(store, x=1))
    before = plan(latest(store))
    commit_files(store, files(store, late=1))
    assert summary(plan(latest(store))) == (["a", "b", "late"], ["x"], ["index-1"])
    assert summary(before) == (["a", "b"], ["x"], ["index-1"])
    assert summary(plan(None)) == ([], ["x"], [])
