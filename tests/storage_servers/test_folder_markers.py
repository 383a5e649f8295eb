"""Folder markers, the empty objects ``name/`` of other engines, on MinIO: created by Arrow's file system."""

from __future__ import annotations

import datetime as dt
import uuid

import obstore
import pyarrow.fs as pafs
import pytest
from tests.servers.minio import ACCESS_KEY, REGION, SECRET_KEY, MinIO

import lakebed
from lakebed.storage.location import parse_location
from lakebed.storage.open import open_storage
from lakebed.storage.open_bucket import open_address
from lakebed.storage.storage_options import ObjectSettings


@pytest.fixture
def warehouse(minio: MinIO) -> str:
    return f"{minio.create_bucket(f'markers-{uuid.uuid4().hex[:12]}')}/a folder ä%="


@pytest.fixture
def arrow(minio: MinIO) -> pafs.S3FileSystem:
    return pafs.S3FileSystem(endpoint_override=minio.url, access_key=ACCESS_KEY, secret_key=SECRET_KEY, region=REGION)


def names(arrow: pafs.S3FileSystem, warehouse: str) -> list[str]:
    root = warehouse.removeprefix("s3://")
    found = arrow.get_file_info(pafs.FileSelector(root, recursive=True, allow_not_found=True))
    return sorted(info.path.removeprefix(f"{root}/") for info in found if ".lakebed" not in info.path)


def test_a_tree_is_listed_without_markers_and_deleted_with_them(
    minio: MinIO, arrow: pafs.S3FileSystem, warehouse: str
) -> None:
    storage = open_storage(warehouse, minio.options)
    for folder in ("t/bucket-0", "t/empty", "t/p=a b"):
        arrow.create_dir(f"{warehouse.removeprefix('s3://')}/{folder}", recursive=True)
    storage.write(f"{warehouse}/t/bucket-0/data", b"rows")
    storage.write(f"{warehouse}/t/bucket-0/_SUCCESS", b"")
    storage.write(f"{warehouse}/t2/data", b"rows")
    found = sorted(path.removeprefix(f"{warehouse}/") for path, _ in storage.list_tree(f"{warehouse}/t"))
    assert found == ["t/bucket-0/_SUCCESS", "t/bucket-0/data"]
    assert [(info.name, info.is_dir) for info in storage.list(f"{warehouse}/t")] == [
        (name, True) for name in ("bucket-0", "empty", "p=a b")
    ]
    assert storage.list(f"{warehouse}/t/empty") == []
    storage.delete_tree(f"{warehouse}/t")
    assert names(arrow, warehouse) == ["t2", "t2/data"]
    storage.delete_tree(f"{warehouse}/t")


def test_a_database_with_markers_is_dropped(minio: MinIO, arrow: pafs.S3FileSystem, warehouse: str) -> None:
    arrow.create_dir(f"{warehouse.removeprefix('s3://')}/db.db/half a table", recursive=True)
    lake = lakebed.connect(warehouse, options=minio.options)
    table = lake.create_table("db.t", "id BIGINT")
    arrow.create_dir(f"{warehouse.removeprefix('s3://')}/db.db/t/bucket-0", recursive=True)
    table.write([{"id": 1}])
    assert (lake.databases(), lake.tables("db")) == (["db"], ["t"])
    assert table.verify(deep=True).ok
    lake.drop_table("db.t")
    assert names(arrow, warehouse) == ["db.db", "db.db/half a table"]
    lake.drop_database("db")
    assert (lake.databases(), names(arrow, warehouse)) == ([], [])


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({}, "https://s3.us-east-1.amazonaws.com/bucket/a%20b/c/?"),
        ({"s3.endpoint": "http://host:1", "s3.path.style.access": "true"}, "http://host:1/bucket/a%20b/c/?"),
        ({"s3.path.style.access": "false"}, "https://s3.us-east-1.amazonaws.com/bucket/a%20b/c/?"),
        (
            {"s3.endpoint": "https://bucket.host", "s3.path.style.access": "false"},
            "https://bucket.host/a%20b/c/?",
        ),
    ],
)
def test_the_address_of_a_marker(options: dict[str, str], url: str) -> None:
    keys = {"s3.access-key": "key", "s3.secret-key": "secret", "s3.region": "us-east-1"}
    folder = open_address(parse_location("s3://bucket/a b/c"), ObjectSettings({**keys, **options}), {})
    assert obstore.sign(folder, "DELETE", "", dt.timedelta(minutes=1)).startswith(url)
