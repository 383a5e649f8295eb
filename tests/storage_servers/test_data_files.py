"""Data files on an object store: ranges that are requested together, the cache on disk, uploads that fail."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.servers.minio import MinIO

from lakebed import Lake, Table, connect
from lakebed.errors import CorruptError, NotFoundError
from lakebed.storage.round_trips import counting

ROWS = 400_000


@pytest.fixture(scope="module")
def bucket(minio: MinIO) -> str:
    return minio.create_bucket(f"data-files-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def opened(minio: MinIO, bucket: str) -> Callable[..., Lake]:
    folder = uuid.uuid4().hex

    def connected(**more: str) -> Lake:
        lake = connect(f"{bucket}/{folder}", options={**minio.options, **more})
        lake.create_database("db", ignore_if_exists=True)
        return lake

    return connected


def filled(lake: Lake) -> tuple[Table, pa.Table]:
    """A table whose file has many row groups and is larger than what opening it reads."""
    rows = pa.table(
        {
            "id": np.arange(ROWS),
            "x": np.random.default_rng(1).random(ROWS),
            "s": pa.array([f"text {number % 1000}" for number in range(ROWS)]),
            "l": pa.array([[number, number + 1] for number in range(ROWS)], pa.list_(pa.int64())),
        }
    )
    table = lake.create_table(
        "db.t", "id BIGINT, x DOUBLE, s STRING, l ARRAY<BIGINT>", options={"file.block-size": "256 kb"}
    )
    table.write(rows)
    return table, rows


def test_columns_rows_and_nested_values_come_back(opened: Callable[..., Lake]) -> None:
    table, rows = filled(opened())
    assert table.to_arrow().sort_by("id").cast(rows.schema).equals(rows)
    some = table.scan(["l", "id"], where="id >= 1000 AND id < 1010").to_arrow().sort_by("id")
    assert some["id"].to_pylist() == list(range(1000, 1010))
    assert some["l"].to_pylist() == [[number, number + 1] for number in range(1000, 1010)]
    assert table.scan(where="id < 0").to_arrow().num_rows == 0


def test_a_read_has_two_requests_in_its_chain(opened: Callable[..., Lake]) -> None:
    table, _ = filled(opened())
    table.scan(["id"]).to_arrow()  # metadata is known from here on
    storage = table._store.storage
    paths = [path for path, _ in storage.list_tree(table.path) if path.endswith(".parquet")]
    fresh = opened().table("db.t")._store.storage
    with counting() as trips:
        file = fresh.open_ranges(paths[0])
        file.prefetch([(4, 100), (50_000, 60_000)])
        file.prefetch([(4, 50)])  # held
    assert (trips.total, trips.longest_chain) == (2, 2), str(trips)


def test_a_missing_data_file_is_named(opened: Callable[..., Lake]) -> None:
    table, _ = filled(opened())
    storage = table._store.storage
    path = next(path for path, _ in storage.list_tree(table.path) if path.endswith(".parquet"))
    content = storage.read(path)
    storage.delete(path)
    with pytest.raises(NotFoundError, match=r"data file .*\.parquet is gone"):
        opened().table("db.t").to_arrow()
    storage.write(path, content[:-1000] + bytes(1000))
    with pytest.raises(CorruptError, match=r"data file .*\.parquet cannot be read"):
        opened().table("db.t").to_arrow()
    storage.write(path, content)
    assert opened().table("db.t").count() == ROWS


def test_cached_files_need_no_requests(opened: Callable[..., Lake], tmp_path: Path) -> None:
    filled(opened())
    folder = tmp_path / "cache"
    first = opened(**{"file.cache.directory": str(folder)}).table("db.t")
    expected = first.to_arrow()
    cached = list(folder.iterdir())
    assert len(cached) == 1
    again = opened(**{"file.cache.directory": str(folder)}).table("db.t")
    with counting() as trips:
        assert again.to_arrow().equals(expected)
    assert not [path for _, path, _ in trips.requests if path.endswith(".parquet")], str(trips)
    cached[0].write_bytes(cached[0].read_bytes()[:1000])
    assert opened(**{"file.cache.directory": str(folder)}).table("db.t").to_arrow().equals(expected)


def test_a_failed_write_leaves_no_file_and_no_upload(opened: Callable[..., Lake], minio: MinIO) -> None:
    lake = opened()
    table = lake.create_table("db.t", "id BIGINT NOT NULL, s STRING")

    def batches() -> Any:
        random = np.random.default_rng(2)
        for number in range(40):
            ids = random.integers(0, 2**62, 100_000)
            yield pa.record_batch({"id": ids, "s": pa.array(ids).cast(pa.string())})
            if number == 30:
                raise RuntimeError("no more rows")

    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    with pytest.raises(RuntimeError, match="no more rows"):
        table.write(pa.RecordBatchReader.from_batches(schema, batches()))
    left = [path for path, _ in table._store.storage.list_tree(table.path) if path.endswith(".parquet")]
    assert left == []
    assert minio.unfinished_uploads() == 0
    assert table.count() == 0
