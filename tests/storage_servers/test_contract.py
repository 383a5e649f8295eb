"""The suite of every storage on real servers."""

from __future__ import annotations

import itertools
from typing import ClassVar

import pytest
from tests.servers.azurite import Azurite
from tests.servers.fake_gcs import FakeGcs
from tests.servers.hdfs import Hdfs
from tests.servers.minio import MinIO
from tests.servers.server import Server
from tests.storage.contract import StorageContract

from lakebed.storage import Storage, open_storage

_numbers = itertools.count()


@pytest.fixture
def bucket(server: Server) -> str:
    """The URL of a bucket of its own for each test."""
    return server.create_bucket(f"contract-{next(_numbers)}")


@pytest.fixture
def storage(server: Server, bucket: str) -> Storage:
    return open_storage(bucket, server.options)


@pytest.fixture
def folder(bucket: str) -> str:
    return f"{bucket}/f"


class OnServer(StorageContract):
    workers: ClassVar = 16
    raced_names: ClassVar = 20
    turn_seconds: ClassVar = 0.1
    watched_names: ClassVar = 10


class TestS3(OnServer):
    @pytest.fixture
    def server(self, minio: MinIO) -> Server:
        return minio


class TestGoogleCloudStorage(OnServer):
    @pytest.fixture
    def server(self, gcs: FakeGcs) -> Server:
        return gcs


class TestAzure(OnServer):
    @pytest.fixture
    def server(self, azurite: Azurite) -> Server:
        return azurite


class TestHdfs(OnServer):
    @pytest.fixture
    def server(self, hdfs: Hdfs) -> Server:
        return hdfs
