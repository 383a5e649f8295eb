"""A store that never answered is an error after a few seconds; one that has answered is waited for."""

from __future__ import annotations

import threading
import time
import uuid
from pathlib import Path

import pytest
from tests.servers.minio import MinIO
from tests.servers.proxy import Answer, Proxy
from tests.servers.server import free_port

import lakebed
from lakebed import Lake, StorageError
from lakebed.storage import storage_options


def new_lake(server: MinIO, options: dict[str, str]) -> Lake:
    bucket = server.create_bucket(f"waiting-{uuid.uuid4()}")
    return lakebed.connect(f"{bucket}/w", options=options)


def test_first_contact_with_a_store_that_does_not_exist(minio: MinIO) -> None:
    lake = new_lake(minio, {**minio.options, "s3.endpoint": f"http://127.0.0.1:{free_port()}"})
    began = time.monotonic()
    with pytest.raises(StorageError, match="nothing listens at"):
        lake.databases()
    assert time.monotonic() - began < 20


def test_a_store_that_has_answered_may_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_options, "_FIRST_CONTACT", "0")
    with MinIO(tmp_path / "minio") as server:
        lake = new_lake(server, server.options)
        lake.create_database("db")
        table = lake.create_table("db.t", "id INT")
        table.write([{"id": 1}])
        server.kill()
        failed: list[Exception] = []

        def write() -> None:
            try:
                table.write([{"id": 2}])
            except Exception as error:
                failed.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(2)
        assert writer.is_alive(), failed
        server.start()
        writer.join(60)
        assert failed == []
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2]
        assert table.verify(deep=True).problems == ()


def test_the_deadline_ends_the_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_options, "_FIRST_CONTACT", "0")
    with MinIO(tmp_path / "minio") as server:
        lake = new_lake(server, {**server.options, "storage.retry-deadline": "3 s"})
        lake.create_database("db")
        server.kill()
        began = time.monotonic()
        with pytest.raises(StorageError, match="nothing listens at"):
            lake.databases()
        assert 0.5 < time.monotonic() - began < 15


def test_a_store_whose_first_answer_is_that_it_is_busy(minio: MinIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_options, "_FIRST_CONTACT", "0")
    with Proxy(minio) as proxy:
        lake = new_lake(minio, proxy.options)
        rule = proxy.inject(Answer(503), times=4)
        assert lake.databases() == []
        assert rule.applied == 4
