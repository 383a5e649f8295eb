"""A store that does not refuse a put of a name that exists is no place for tables with several writers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from tests.servers.minio import MinIO
from tests.servers.proxy import Answer, Proxy

import lakebed
from lakebed import UnsupportedError

IGNORES = Answer(200, headers=(("ETag", '"0"'),), body=b"")  # as if it had overwritten the file
REFUSES = Answer(501, body=b"<Error><Code>NotImplemented</Code><Message>A header is not implemented</Message></Error>")


@pytest.fixture
def proxy(minio: MinIO) -> Iterator[Proxy]:
    with Proxy(minio) as started:
        yield started


@pytest.mark.parametrize("answer", [IGNORES, REFUSES], ids=["ignores the condition", "refuses the condition"])
def test_a_store_without_conditional_put_is_refused(minio: MinIO, proxy: Proxy, answer: Answer) -> None:
    warehouse = f"{minio.create_bucket(f'put-{uuid.uuid4()}')}/w"
    proxy.inject(answer, method="PUT", target=".lakebed/conditional-put", times=None)
    lake = lakebed.connect(warehouse, options=proxy.options)
    with pytest.raises(UnsupportedError, match=r"has no conditional put.*'commit.single-writer' = 'true'"):
        lake.create_database("db")
    assert lake.databases() == []
    alone = lakebed.connect(warehouse, options={**proxy.options, "commit.single-writer": "true"})
    alone.create_database("db")
    table = alone.create_table("db.t", "id INT")
    for number in range(3):
        table.write([{"id": number}])
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]
    assert table.verify().problems == ()


def test_the_question_is_asked_once_and_leaves_one_file(minio: MinIO, proxy: Proxy) -> None:
    warehouse = f"{minio.create_bucket(f'put-{uuid.uuid4()}')}/w"
    lake = lakebed.connect(warehouse, options=proxy.options)
    with proxy.recording() as requests:
        lake.create_database("db")
        lake.create_table("db.t", "id INT").write([{"id": 1}])
    assert len([one for one in requests if "conditional-put" in one.target]) == 2
