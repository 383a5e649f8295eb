"""Many processes, one table: what was acknowledged is there, once, and nobody fails because others commit."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from tests.effort import long_except
from tests.metadata.stores import check_tidy, files_below
from tests.places import stored_path
from tests.races import workers
from tests.races.crew import together

from lakebed import Lake, Table
from lakebed.format.snapshot import CommitKind

ROUNDS = int(os.environ.get("LAKEBED_RACE_ROUNDS", "2"))
WRITERS, APPENDS = 8, 25


@pytest.fixture
def table(lake: Lake) -> Table:
    return lake.create_table("db.t", "p INT, id BIGINT", partition_by=["p"])


def warehouse(table: Table) -> str:
    return str(stored_path(table.path).parent.parent)


def ids(table: Table, version: int | None = None) -> Counter[int]:
    return Counter(table.scan(["id"], version=version).to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("round_number", long_except([0], range(ROUNDS)))
def test_every_append_lands_once(table: Table, round_number: int) -> None:
    tasks = [(workers.append, (warehouse(table), 1000 * writer, APPENDS)) for writer in range(WRITERS)]
    results = together(tasks)
    assert [error for _, failed in results for error in failed] == []
    acknowledged = [snapshot_id for part, _ in results for snapshot_id in part]
    total = WRITERS * APPENDS
    assert sorted(acknowledged) == list(range(1, total + 1))
    assert ids(table) == Counter(1000 * writer + i for writer in range(WRITERS) for i in range(APPENDS))
    latest = table.latest_snapshot()
    assert latest is not None
    assert (latest.id, latest.total_record_count) == (total, total)
    assert overtakings(acknowledged) > WRITERS, "the writers did not race"
    check_tidy(table.path)
    assert len([name for name in files_below(table.path) if name.endswith(".parquet")]) == total


def overtakings(acknowledged: list[int]) -> int:
    """How often a writer's next snapshot was not the one after its last: somebody else came between."""
    return sum(after != before + 1 for before, after in pairwise(acknowledged))


def test_appends_and_overwrites(table: Table) -> None:
    table.write(pa.table({"p": [2], "id": [-1]}))
    appenders = [(workers.append, (warehouse(table), 1000 * writer, 10)) for writer in (1, 2, 3)]
    overwriters = [(workers.overwrite, (warehouse(table), 1000 * writer, 5)) for writer in (8, 9)]
    results = together([*appenders, *overwriters])
    assert [error for _, failed in results[:3] for error in failed] == []
    landed = [number for part, _ in results[:3] for number in part] + [
        number for part in results[3:] for number in part
    ]
    assert sorted(landed) == list(range(2, 42))
    before = ids(table, 1)
    brought: Counter[int] = Counter()
    for snapshot in table.snapshots()[1:]:
        after = ids(table, snapshot.id)
        if snapshot.commit_kind is CommitKind.OVERWRITE:
            assert len(after) == 2, "an overwrite left rows of others"
            assert after[-1] == 1
            brought += after - Counter([-1])
        else:
            assert len(before - after) == 0, "an append lost rows"
            assert (after - before).total() == 1
            brought += after - before
        before = after
    numbers = [1000 * writer + i for writer in (1, 2, 3) for i in range(10)]
    numbers += [1000 * writer + i for writer in (8, 9) for i in range(5)]
    assert brought == Counter(numbers)
    check_tidy(table.path)


def test_appends_and_deletes(table: Table) -> None:
    table.write(pa.table({"p": [1] * 30, "id": list(range(30))}))
    appenders = [(workers.append, (warehouse(table), 1000 * writer, 10)) for writer in (1, 2)]
    deleters = [(workers.delete, (warehouse(table), 10 * number, 8)) for number in (0, 1)]
    results = together([*appenders, *deleters])
    assert [error for _, failed in results[:2] for error in failed] == []
    wanted = [number for number in range(30) if number % 10 >= 8 or number >= 20]
    wanted += [1000 * writer + i for writer in (1, 2) for i in range(10)]
    assert ids(table) == Counter(wanted)
    check_tidy(table.path)


def test_appends_and_changes_of_schema(table: Table) -> None:
    appenders = [(workers.append_to_any_schema, (warehouse(table), 1000 * writer, 10)) for writer in (1, 2, 3)]
    alterers = [(workers.add_columns, (warehouse(table), 100 * number, 4)) for number in (1, 2)]
    results = together([*appenders, *alterers])
    assert sorted(results[3] + results[4]) == list(range(1, 9))
    assert set(table.schema.field_names) == {"p", "id", *(f"c{100 * n + i}" for n in (1, 2) for i in range(4))}
    assert ids(table) == Counter(1000 * writer + i for writer in (1, 2, 3) for i in range(10))
    schemas = [snapshot.schema_id for snapshot in table.snapshots()]
    assert schemas == sorted(schemas)
    rows = table.scan().to_arrow()
    for name in rows.column_names[2:]:
        assert all(
            value in (None, number)
            for value, number in zip(rows[name].to_pylist(), rows["id"].to_pylist(), strict=True)
        )
    check_tidy(table.path)


def test_one_of_many_creates_a_table(lake: Lake) -> None:
    results = together([(workers.create, (lake.warehouse, number)) for number in range(WRITERS)])
    assert sorted(results) == ["AlreadyExistsError"] * (WRITERS - 1) + ["created"]
    assert lake.table("db.t").schema.comment == str(results.index("created"))
