"""The requests that a store really gets are those that :mod:`lakebed.storage.round_trips` counts."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.servers.minio import MinIO
from tests.servers.proxy import Proxy, Request
from tests.storage.costs import COSTS, World, rows

import lakebed
from lakebed import Lake
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.storage.round_trips import counting

COUNTED = (
    "open a table",
    "open and plan a read, new process",
    "plan again",
    "page of history",
    "append",
    "overwrite",
    "create a tag",
    "drop a tag",
    "alter a table",
    "create a table",
    "create a branch",
    "fast-forward",
    "drop a branch",
    "roll back",
    "rename a table (38 files)",
    "drop a table (38 files)",
    "verify (6 snapshots)",
)


@dataclass
class OnServer(World):
    """A warehouse behind a proxy."""

    options: dict[str, str]

    def restarted(self) -> OnServer:
        forget_indexes()
        SHARED_CACHE.clear()
        return OnServer(self.folder, lakebed.connect(self.lake.warehouse, options=self.options), self.options)


@pytest.fixture
def proxy(minio: MinIO) -> Iterator[Proxy]:
    with Proxy(minio) as started:
        yield started


@pytest.fixture
def world(minio: MinIO, proxy: Proxy) -> World:
    path = f"{minio.create_bucket(f'requests-{uuid.uuid4()}')}/w"
    lake: Lake = lakebed.connect(path, options=proxy.options)
    lake.create_database("db")
    plain = lake.create_table("db.plain", "id BIGINT, v STRING")
    for number in range(6):
        plain.write(rows(number))
    return OnServer(path, lake, proxy.options).restarted()  # type: ignore[arg-type]


def is_metadata(request: Request) -> bool:
    return "/bucket-" not in request.target


@pytest.mark.parametrize("name", COUNTED)
def test_every_request_is_counted(name: str, world: World, proxy: Proxy) -> None:
    cost = COSTS[name]
    prepared = cost.prepare(world)
    with proxy.recording() as requests, counting() as trips:
        cost.act(prepared)
    seen = [request for request in requests if is_metadata(request)]
    shown = "\n".join(f"{request.method} {request.target}" for request in seen)
    counted = [path for kind, path, _ in trips.requests if "/bucket-" not in path or " more" in path]
    assert len(seen) == len(counted), f"{shown}\n{trips}"
    is_first_commit = any(path.endswith("/conditional-put") for path in counted)  # it asks what the store can do
    assert len(counted) <= cost.requests + 1 + is_first_commit, f"{name}\n{trips}"  # whose is a refused snapshot?
