"""Writers, readers, compactions, expiry, tags, rollback and orphan removal at once, each in its own process."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pytest
from tests.places import stored_path
from tests.races import maintenance_workers as workers
from tests.races.crew import together
from tests.races.maintenance_workers import rows_of

from lakebed import Lake, Table

WRITES = 20 * int(os.environ.get("LAKEBED_RACE_ROUNDS", "1"))


@pytest.fixture
def table(lake: Lake) -> Table:
    made = lake.create_table("db.t", "p INT, id BIGINT", partition_by=["p"])
    for number in range(6):
        made.write(pa.table({"p": pa.array([0], pa.int32()), "id": pa.array([-1 - number], pa.int64())}))
    return made


START = [-1 - number for number in range(6)]


def race(table: Table, *others: Any, writers: int = 2) -> list[Any]:
    """Some writers against tasks that run until those are done; every write must land. Gives what the tasks gave."""
    warehouse = str(stored_path(table.path).parent.parent)
    tasks = [(workers.write, (warehouse, 10_000 * n, WRITES)) for n in range(1, writers + 1)]
    results = together([*tasks, *((task, (warehouse, writers, *more)) for task, *more in others)])
    assert [error for _, failed in results[:writers] for error in failed] == []
    assert [len(done) for done, _ in results[:writers]] == [WRITES] * writers
    for result in results[writers:]:
        assert result[-1] == [], "a process failed"
    return results[writers:]


def written(writers: int = 2) -> list[int]:
    return sorted([*START, *(10_000 * n + i for n in range(1, writers + 1) for i in range(WRITES))])


def check(table: Table) -> None:
    """Nothing is wrong but files that nobody refers to; those can go, and then every snapshot still reads."""
    bad = [problem for problem in table.verify().problems if not is_harmless(problem.code)]
    assert bad == [], "\n".join(map(str, bad))
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
    table.verify(repair=True, dry_run=False)
    assert table.verify(deep=True).problems == ()


def is_harmless(code: str) -> bool:
    return code.startswith("unreferenced-") or code == "stale-hint"


def test_appends_and_compactions(table: Table) -> None:
    packed = race(table, (workers.pack,), (workers.pack,))
    assert rows_of(table) == written()
    assert sum(done for done, _, _ in packed) > 0
    check(table)


def test_expiries_and_writes_and_reads(table: Table) -> None:
    """Two expiries at once, beside writers and a reader: what it gets is right, or not found."""
    *expired, (read, lost, _) = race(table, (workers.expire, 3), (workers.expire, 2), (workers.read,))
    assert sum(done for done, _, _ in expired) > 0
    assert read + lost > 0
    assert rows_of(table) == written()
    assert len(table.snapshots()) < 2 * WRITES
    check(table)


@pytest.mark.long
def test_expiries_and_compactions(table: Table) -> None:
    race(table, (workers.expire, 2), (workers.pack,))
    assert rows_of(table) == written()
    check(table)


@pytest.mark.long
def test_expiries_and_tags_and_branches(table: Table) -> None:
    """A tag or branch that was made shows its snapshot; one whose snapshot went first was not made."""
    _, (tags, _), (branches, _) = race(table, (workers.expire, 1), (workers.tag,), (workers.branch,))
    assert set(table.tags()) == set(tags)
    assert set(table.branches()) == set(branches)
    for name, count in tags.items():
        assert len(rows_of(table, tag=name)) == count
    for name, count in branches.items():
        assert len(rows_of(table.branch(name))) == count
    assert rows_of(table) == written()
    check(table)


@pytest.mark.long
def test_rollbacks_and_writes(table: Table) -> None:
    """Every row that is there was written and is there once; nothing builds on what was rolled back."""
    ((done, _),) = race(table, (workers.roll_back,))
    assert done > 0
    rows = rows_of(table)
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(written())
    ids = [snapshot.id for snapshot in table.snapshots()]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    for snapshot in table.snapshots():
        assert len(rows_of(table, version=snapshot.id)) == snapshot.total_record_count
    check(table)


@pytest.mark.long
def test_orphan_removal_and_writes(table: Table) -> None:
    """Files of commits under way are younger than a day."""
    race(table, (workers.remove_orphans,), (workers.pack,))
    assert rows_of(table) == written()
    check(table)
