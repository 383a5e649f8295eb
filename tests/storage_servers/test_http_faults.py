"""Requests that are throttled, cut off, slow or refused: retried until a deadline, and nothing is lost or doubled."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.servers.minio import MinIO
from tests.servers.proxy import Answer, CutAnswer, Fault, LostAnswer, Proxy, Reset, Slow

import lakebed
from lakebed import CommitOutcomeUnknownError, Lake, StorageError, Table

Opener = Callable[..., Lake]
EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
PATIENT = {"storage.retry-deadline": "20 s", "storage.request-timeout": "5 s"}
HASTY = {"storage.retry-deadline": "2 s", "storage.request-timeout": "1 s", "storage.max-retries": "2"}


@pytest.fixture
def proxy(minio: MinIO) -> Iterator[Proxy]:
    with Proxy(minio) as started:
        yield started


@pytest.fixture
def opened(minio: MinIO, proxy: Proxy) -> Opener:
    """Opens the same warehouse, through the proxy."""
    warehouse = f"{minio.create_bucket(f'faults-{uuid.uuid4()}')}/w"

    def connect(options: dict[str, str]) -> Lake:
        lake = lakebed.connect(warehouse, options={**proxy.options, **options})
        lake.create_database("db", ignore_if_exists=True)
        return lake

    return connect


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def shown(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.mark.parametrize(
    "fault",
    [
        Answer(503),
        Answer(429),
        Answer(500),
        Reset(),
        LostAnswer(),
        Slow(before=0.3),
        Slow(after=0.3),
        CutAnswer(after=3),
    ],
    ids=repr,
)
def test_every_request_of_a_commit_may_fail_for_a_while(opened: Opener, proxy: Proxy, fault: Fault) -> None:
    table = opened(PATIENT).create_table("db.t", "id BIGINT")
    table.write(rows(0))
    with proxy.recording() as requests:
        table.write(rows(1))
        assert shown(table) == [0, 1]
    number = 1
    for step in range(0, len(requests), 2):
        number += 1
        proxy.inject(fault, skip=step)
        made = table.write(rows(number))
        assert made is not None
        proxy.heal()
        assert shown(table) == list(range(number + 1)), f"request {step + 1}"
    assert [snapshot.id for snapshot in table.snapshots()] == list(range(1, number + 2))
    assert table.verify().problems == ()


@pytest.mark.parametrize("fault", [LostAnswer(), Answer(503), Reset()], ids=repr)
def test_a_commit_whose_answer_is_lost_again_and_again_is_made_once(opened: Opener, proxy: Proxy, fault: Fault) -> None:
    table = opened(PATIENT).create_table("db.t", "id BIGINT")
    rule = proxy.inject(fault, method="PUT", target="snapshot/snapshot-1", times=3)
    made = table.write(rows(1))
    assert made is not None
    assert (made.id, rule.applied, shown(table)) == (1, 3, [1])
    table.write(rows(2))
    assert [snapshot.id for snapshot in table.snapshots()] == [1, 2]


@pytest.mark.parametrize("fault", [LostAnswer(), CutAnswer(after=3)], ids=repr)
def test_deletions_are_repeated(opened: Opener, proxy: Proxy, fault: Fault) -> None:
    lake = opened(PATIENT)
    lake.create_table("db.t", "id BIGINT").write(rows(1))
    rule = proxy.inject(fault, method="POST", target="?delete", times=4)
    lake.drop_table("db.t")
    assert rule.applied == 4
    assert lake.tables("db") == []
    assert lake.create_table("db.t", "id BIGINT").latest_snapshot() is None


def test_an_answer_that_never_comes_is_looked_for(opened: Opener, proxy: Proxy) -> None:
    """The store has the snapshot, so the commit is acknowledged, although no put was ever answered."""
    table = opened(HASTY).create_table("db.t", "id BIGINT")
    proxy.inject(LostAnswer(), method="PUT", target="snapshot/snapshot-1", times=None)
    assert table.write(rows(1)) is not None
    proxy.heal()
    assert shown(table) == [1]
    assert table.verify().problems == ()


def test_a_commit_that_may_still_arrive_keeps_its_files(opened: Opener, proxy: Proxy) -> None:
    table = opened(HASTY).create_table("db.t", "id BIGINT")
    proxy.inject(Slow(before=6), method="PUT", target="snapshot/snapshot-1", times=1)
    proxy.inject(Reset(), method="PUT", target="snapshot/snapshot-1", times=None)
    with pytest.raises(CommitOutcomeUnknownError, match=r"it is unknown whether snapshot 1 of db\.t"):
        table.write(rows(1))
    proxy.heal()
    assert table.latest_snapshot() is None
    until = time.monotonic() + 20
    while table.latest_snapshot() is None:  # the put that was slow arrives after all
        assert time.monotonic() < until
        time.sleep(0.1)
    assert shown(table) == [1]
    assert table.verify().problems == ()


def test_a_schema_whose_answer_is_lost_is_made_once(opened: Opener, proxy: Proxy) -> None:
    lake = opened(PATIENT)
    rule = proxy.inject(LostAnswer(), method="PUT", target="schema/schema-", times=2)
    table = lake.create_table("db.t", "id BIGINT")
    proxy.inject(LostAnswer(), method="PUT", target="schema/schema-1")
    table.alter(lakebed.changes.AddColumn("v", "STRING"))
    assert rule.applied == 2
    assert lake.table("db.t").schema.id == 1


@pytest.mark.parametrize("status", [503, 429])
def test_throttling_without_end_is_one_clear_error(opened: Opener, proxy: Proxy, status: int) -> None:
    lake = opened(HASTY)
    table = lake.create_table("db.t", "id BIGINT")
    rule = proxy.inject(Answer(status), target="/w/", times=None)
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"throttles requests,? and did not stop before the deadline") as raised:
        table.scan().to_arrow()
    assert time.monotonic() - began < 15
    assert rule.applied >= 2, "it was not retried"
    assert "SlowDown" not in str(raised.value)


def test_expired_credentials_are_not_retried(opened: Opener, proxy: Proxy) -> None:
    table = opened(PATIENT).create_table("db.t", "id BIGINT")
    table.write(rows(1))
    proxy.inject(Answer(403, body=EXPIRED), target="/w/", times=None)
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"the credentials are missing, wrong or expired|access denied"):
        table.write(rows(2))
    assert time.monotonic() - began < 5
    proxy.heal()
    assert shown(table) == [1]
    table.write(rows(3))
    assert shown(table) == [1, 3]


# ------------------------------------------------------------------------------------------------- large files


def test_a_failed_upload_leaves_no_parts(opened: Opener, proxy: Proxy, minio: MinIO) -> None:
    """A file of several parts that cannot be finished is aborted, so that nobody pays for its parts."""
    table = opened({"storage.retry-deadline": "1 s", "storage.max-retries": "1"}).create_table("db.t", "v BYTES")
    proxy.inject(Answer(503), method="PUT", target="partNumber=2", times=None)
    big = pa.table({"v": [os.urandom(1 << 20) for _ in range(24)]})
    with pytest.raises(StorageError):
        table.write(big)
    proxy.heal()
    assert table.latest_snapshot() is None
    assert list(parts_of(minio)) == []
    table.write(big)
    assert table.scan().to_arrow().num_rows == 24


def parts_of(minio: MinIO) -> Iterator[Any]:
    """Parts of uploads that were neither finished nor aborted."""
    folder = minio.folder / "data" / ".minio.sys" / "multipart"
    return (path for path in folder.rglob("part.*")) if folder.exists() else iter(())
