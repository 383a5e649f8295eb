"""Writers and compactions of one primary-key table at the same time: every acknowledged row is there, none twice."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.effort import long_except
from tests.metadata.stores import check_tidy
from tests.places import stored_path
from tests.races import keyed_workers
from tests.races.crew import together
from tests.races.keyed_workers import Write
from tests.rows.keyed.keyed_tables import check_no_orphans, check_sound, entries_of

from lakebed import Lake, Table
from lakebed.format.snapshot import CommitKind

WRITERS, WRITES = 3, int(os.environ.get("LAKEBED_RACE_WRITES", "8"))
KINDS: dict[str, dict[str, str]] = {
    "plain": {"num-sorted-run.compaction-trigger": "3"},
    "vectors": {"deletion-vectors.enabled": "true", "num-sorted-run.compaction-trigger": "3"},
}


@pytest.fixture(params=long_except(["plain"], KINDS))
def table(request: pytest.FixtureRequest, lake: Lake) -> Table:
    options = {"bucket": "2", **KINDS[request.param]}
    return lake.create_table("db.t", "k INT, writer INT, n INT", primary_key=["k"], options=options)


def race(table: Table, keys: list[list[int]]) -> list[list[Write]]:
    """Three writers with their keys beside a full and a minor compaction; returns what each writer got acknowledged."""
    warehouse = str(stored_path(table.path).parent.parent)
    writers = [(keyed_workers.upsert, (warehouse, i, own, WRITES)) for i, own in enumerate(keys)]
    compactions = [(keyed_workers.compact, (warehouse, full, len(keys))) for full in (True, False)]
    results = together([*writers, *compactions])
    assert [error for _, failed in results[: len(keys)] for error in failed] == []
    assert [error for _, _, failed in results[len(keys) :] for error in failed] == []
    assert any(snapshot.commit_kind is CommitKind.COMPACT for snapshot in table.snapshots()[:-1])
    done: list[list[Write]] = [acknowledged for acknowledged, _ in results[: len(keys)]]
    assert [len(writes) for writes in done] == [WRITES] * len(keys)
    return done


def shown(table: Table) -> dict[int, tuple[int, int]]:
    """The current rows, each key once."""
    table.compact()  # where level 0 is skipped, the last write's own compaction may have given up
    rows = table.scan().to_arrow().to_pylist()
    found = {row["k"]: (row["writer"], row["n"]) for row in rows}
    assert len(found) == len(rows), "a key has two rows"
    return found


def check_files(table: Table) -> None:
    """Everything that any snapshot refers to is there, and nothing else."""
    check_sound(table)
    check_tidy(table.path)
    check_no_orphans(table)
    for snapshot in table.snapshots():
        assert snapshot.total_record_count == sum(entries_of(table, snapshot)["row_count"].to_pylist())


def test_every_writer_finds_its_own_rows(table: Table) -> None:
    """Each writer has keys of its own, spread over both buckets: the last of its rows is the one that is there."""
    done = race(table, [list(range(100 * writer, 100 * writer + 12)) for writer in range(WRITERS)])
    wanted: dict[int, tuple[int, int]] = {}
    for writer, writes in enumerate(done):
        for write in writes:
            for key in write.keys:
                wanted.pop(key, None)
                if not write.deletes:
                    wanted[key] = (writer, write.number)
    assert shown(table) == wanted
    check_files(table)
    assert any(write.made > write.began + 1 for writes in done for write in writes), "the writers did not race"


def test_one_row_is_left_of_keys_that_all_write(table: Table) -> None:
    """Of writes at the same time any may win; but none that was over before a later one began."""
    done = race(table, [list(range(10))] * WRITERS)
    found = shown(table)
    for key in range(10):
        writes = [(writer, write) for writer, own in enumerate(done) for write in own if key in write.keys]
        last = [(writer, write) for writer, write in writes if not is_over(write, writes)]
        candidates: set[Any] = {None if write.deletes else (writer, write.number) for writer, write in last}
        assert found.get(key) in candidates, key
    assert set(found) <= set(range(10))
    check_files(table)
    check_versions(table)


def is_over(write: Write, writes: list[tuple[int, Write]]) -> bool:
    """Whether another write of the same key began when this one was visible."""
    return any(other.began >= write.made for _, other in writes)


def check_versions(table: Table) -> None:
    """Every snapshot shows each key at most once, and a compaction shows what was there before it."""
    for snapshot in table.snapshots()[1::3]:
        keys = table.scan(["k"], version=snapshot.id).to_arrow()["k"].to_pylist()
        assert len(set(keys)) == len(keys)
        if snapshot.commit_kind is CommitKind.COMPACT and "deletion-vectors.enabled" not in table.options:
            before = table.scan(version=snapshot.id - 1).to_arrow().sort_by("k")
            assert table.scan(version=snapshot.id).to_arrow().sort_by("k").equals(before), "a compaction changed rows"
