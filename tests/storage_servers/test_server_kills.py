"""Writers and the server itself are killed during writes: no acknowledged row is lost, and none is there twice."""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from tests.races.crew import start, together
from tests.servers.minio import MinIO
from tests.storage_servers import server_workers as workers

import lakebed
from lakebed import Lake, Table
from lakebed.storage import UnfinishedUpload

RESTARTS = int(os.environ.get("LAKEBED_SERVER_RESTARTS", "3"))
KILLS = int(os.environ.get("LAKEBED_KILLS", "8"))
WRITERS, APPENDS = 4, 40
UPSERTERS, UPSERTS = 2, 15


def new_lake(server: MinIO) -> Lake:
    bucket = server.create_bucket(f"kills-{uuid.uuid4()}")
    lake = lakebed.connect(f"{bucket}/w", options=server.options)
    lake.create_database("db")
    return lake


def ids(table: Table) -> Counter[int]:
    return Counter(table.scan().to_arrow()["id"].to_pylist())


def harmful(table: Table) -> list[str]:
    """What verify finds, but files that nobody refers to, and hints."""
    found = [problem.code for problem in table.verify().problems]
    return [code for code in found if not code.startswith("unreferenced-") and not code.endswith("hint")]


def wrong_after_cleanup(table: Table) -> set[str]:
    """What verify finds once files that nobody refers to are gone, but hints: a writer died before it wrote its own."""
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)  # the store says how old they are
    return {problem.code for problem in table.verify(deep=True).problems if not problem.code.endswith("hint")}


def test_the_server_is_killed_and_restarted_during_writes(tmp_path: Path) -> None:
    """Its writers wait for it, and no commit is made twice, whatever the server did before it died."""
    with MinIO(tmp_path / "minio") as server:
        lake = new_lake(server)
        table = lake.create_table(workers.TABLE, "id BIGINT")
        options = {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}
        columns = "k BIGINT, writer BIGINT, n BIGINT"
        keyed = lake.create_table(workers.KEYED, columns, primary_key=["k"], options=options)
        results: list[Any] = []
        tasks = [
            *((workers.append, (lake.warehouse, server.options, 1000 * n, APPENDS)) for n in range(WRITERS)),
            *((workers.upsert, (lake.warehouse, server.options, n, UPSERTS)) for n in range(UPSERTERS)),
        ]
        race = threading.Thread(target=lambda: results.extend(together(tasks, timeout=240)))
        race.start()
        dice, restarts = random.Random(3), 0
        while race.is_alive() and restarts < RESTARTS:  # in this thread: the server ends with the one that starts it
            latest, began = table.latest_snapshot(), time.monotonic()
            while race.is_alive() and table.latest_snapshot() == latest and time.monotonic() < began + 60:
                time.sleep(0.01)
            time.sleep(dice.uniform(0, 0.5))
            server.kill()
            time.sleep(dice.uniform(0.1, 1.0))
            server.start()
            restarts += 1
        race.join()
        assert restarts == RESTARTS
        appended, upserted = results[:WRITERS], results[WRITERS:]
        assert [error for _, failed in appended for error in failed] == []
        assert ids(table) == Counter(number for done, _ in appended for number in done)
        assert ids(table).total() == WRITERS * APPENDS
        rows = keyed.scan().to_arrow().to_pylist()
        assert sorted(row["k"] for row in rows) == sorted({key for last in upserted for key in last})
        for row in rows:
            assert upserted[row["writer"]][row["k"]] == row["n"], "an older row of the writer is shown"
        for each in (table, keyed):
            assert set(harmful(each)) <= {"overlapping-sequences"}
            assert wrong_after_cleanup(each) <= {"overlapping-sequences"}


def test_the_upload_of_a_killed_writer_is_an_orphan(minio: MinIO) -> None:
    lake = new_lake(minio)
    table = lake.create_table(workers.TABLE, "id BIGINT, v BYTES")
    other = lake.create_table("db.t2", "id BIGINT")
    table.write([{"id": 1, "v": b"x"}])
    process = start(workers.upload_forever, (lake.warehouse, minio.options))
    while not uploads(table):
        assert process.is_alive()
        time.sleep(0.05)
    process.kill()
    process.join()
    left = uploads(table)
    assert left
    assert all(upload.path.startswith(f"{table.path}/bucket-0/data-") for upload in left)
    assert uploads(other) == []
    assert table.remove_orphan_files(dry_run=True).by_kind().get("unfinished upload") is None  # it is young
    shown = table.remove_orphan_files(older_than="2999-01-01", dry_run=True)
    assert shown.by_kind()["unfinished upload"] == (len(left), 0)
    assert uploads(table) == left
    assert other.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True).count == 0
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
    assert uploads(table) == []
    assert minio.unfinished_uploads() == 0
    assert ids(table) == Counter([1])


def uploads(table: Table) -> list[UnfinishedUpload]:
    return list(table._store.storage.unfinished_uploads(table.path))


def test_writers_are_killed_at_random(minio: MinIO, tmp_path: Path) -> None:
    lake = new_lake(minio)
    table = lake.create_table(workers.TABLE, "id BIGINT")
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "3"}
    keyed = lake.create_table(workers.KEYED, "k BIGINT, v BIGINT", primary_key=["k"], options=options)
    dice, first = random.Random(5), 0
    acknowledged: set[int] = set()
    begun: set[int] = set()
    values: dict[int, set[int]] = {}
    for kill in range(KILLS):
        notes = tmp_path / f"notes-{kill}"
        notes.touch()
        process = start(workers.append_until_killed, (lake.warehouse, minio.options, str(notes), first))
        while notes.read_bytes().count(b"\n") < 4:
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.4))
        process.kill()
        process.join()
        lines = [line.split() for line in notes.read_text().splitlines()]
        for what, text in lines:
            number = int(text)
            first = max(first, number + 1)
            begun.add(number)
            match what:
                case "append":
                    acknowledged.add(number)
                    values.setdefault(number % 10, set()).add(number)  # its upsert may have been made
                case "upsert":
                    values[number % 10] = {number}
        found = ids(table)
        assert set(found.values()) <= {1}, "a row is there twice"
        assert acknowledged <= set(found) <= begun
        rows = keyed.scan().to_arrow().to_pylist()
        assert len(rows) == len({row["k"] for row in rows}), "a key is there twice"
        for row in rows:
            assert row["v"] in values[row["k"]], row
            values[row["k"]] = {row["v"]}
        assert harmful(table) == harmful(keyed) == []
    assert len(acknowledged) >= KILLS
    for each in (table, keyed):
        assert wrong_after_cleanup(each) == set()
    assert set(ids(table)) >= acknowledged
