"""Processes race for tables on MinIO: what was acknowledged is there, once, and of several creates one wins."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from itertools import pairwise

import pytest
from tests.effort import FULL
from tests.races.crew import together
from tests.servers.minio import MinIO
from tests.storage_servers import server_workers as workers

import lakebed
from lakebed import Lake

ROUNDS = int(os.environ.get("LAKEBED_RACE_ROUNDS", "1"))
WRITERS, APPENDS = 8, 25
UPSERTERS, UPSERTS = 4, 12 if FULL else 4
NAMES = 10 if FULL else 4


@pytest.fixture
def shared(minio: MinIO) -> Lake:
    made = lakebed.connect(f"{minio.create_bucket(f'races-{uuid.uuid4()}')}/w", options=minio.options)
    made.create_database("db")
    return made


@pytest.mark.parametrize("_", range(ROUNDS))
def test_every_append_lands_once(shared: Lake, minio: MinIO, _: int) -> None:
    table = shared.create_table(workers.TABLE, "id BIGINT")
    tasks = [(workers.append, (shared.warehouse, minio.options, 1000 * n, APPENDS)) for n in range(WRITERS)]
    results = together(tasks, timeout=240)
    assert [error for _, failed in results for error in failed] == []
    found = Counter(table.scan().to_arrow()["id"].to_pylist())
    assert found == Counter(1000 * writer + i for writer in range(WRITERS) for i in range(APPENDS))
    assert len(table.snapshots()) == WRITERS * APPENDS
    assert table.verify(deep=True).problems == ()
    writer_of = {snapshot: writer for writer, (done, _) in enumerate(results) for snapshot in done.values()}
    assert sorted(writer_of) == list(range(1, WRITERS * APPENDS + 1)), "each was told the snapshot it made"
    turns = sum(writer_of[first] != writer_of[second] for first, second in pairwise(sorted(writer_of)))
    assert turns > APPENDS, "the writers did not race"


def test_overlapping_keys_go_to_one_dynamic_bucket_each(shared: Lake, minio: MinIO) -> None:
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}
    columns = "k BIGINT, writer BIGINT, n BIGINT"
    table = shared.create_table(workers.KEYED, columns, primary_key=["k"], options=options)
    tasks = [(workers.upsert, (shared.warehouse, minio.options, n, UPSERTS)) for n in range(UPSERTERS)]
    last_writes = together(tasks, timeout=240)
    rows = table.scan().to_arrow().to_pylist()
    assert sorted(row["k"] for row in rows) == sorted({key for part in last_writes for key in part})
    for row in rows:
        assert last_writes[row["writer"]][row["k"]] == row["n"], "an older row of the writer is shown"
    assert {problem.code for problem in table.verify(deep=True).problems} <= {"overlapping-sequences"}


@pytest.mark.parametrize("operation", ["create", "rename", "drop"])
def test_one_of_many_wins_a_name(shared: Lake, minio: MinIO, operation: str) -> None:
    for number in range(NAMES):
        name = f"db.{operation}_{number}"
        if operation != "create":
            shared.create_table(name, "id BIGINT").write([{"id": 1}])
        outcomes = together(
            [(workers.TABLE_CALLS[operation], (shared.warehouse, minio.options, name, n)) for n in range(4)]
        )
        if operation == "drop":
            assert set(outcomes) <= {"done", "NotFoundError"}
            assert "done" in outcomes
            assert shared.tables("db") == []
            assert shared.create_table(name, "id BIGINT").latest_snapshot() is None
            shared.drop_table(name)
            continue
        assert Counter(outcomes)["done"] == 1, outcomes
        winner = outcomes.index("done")
        (left,) = shared.tables("db")
        table = shared.table(f"db.{left}")
        if operation == "create":
            assert table.schema.comment == str(winner)
        else:
            assert left == f"{operation}_{number}_{winner}"
            assert table.scan().to_arrow()["id"].to_pylist() == [1]
        assert table.verify(deep=True).problems == ()
        shared.drop_table(f"db.{left}")
