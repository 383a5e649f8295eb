"""Index files of dynamic buckets: what is read, what is written anew, and where keys are looked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metadata.entries import entries, entry
from tests.metadata.stores import new_store
from tests.places import stored_path

from lakebed.errors import CorruptError, NotFoundError
from lakebed.format.binary_row import EMPTY_ROW
from lakebed.format.index_files import hash_index
from lakebed.format.manifest.index_manifest import HASH, IndexEntry
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit.commit import Change, append, commit
from lakebed.metadata.hash_indexes import (
    HASH_CACHE,
    BucketIndexUpdate,
    PartitionIndex,
    buckets_with,
    indexes_of,
    load_latest,
    read_hashes,
    read_partition,
    read_stored_hashes,
    united,
    write_index,
)
from lakebed.metadata.store import TableStore

INT32 = st.integers(-(2**31), 2**31 - 1)


def hashes(*values: int) -> Any:
    return np.array(values, np.int32)


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path, "k INT NOT NULL, v INT", primary_key=["k"])


def put(store: TableStore, bucket: int, *values: int) -> IndexEntry:
    """An index file that the latest snapshot lists."""
    entry = write_index(store, f"index-{bucket}-{len(values)}", EMPTY_ROW, bucket, hashes(*values), [])
    made = commit(store, append(Change(index=(entry,))))
    assert made is not None
    assert made.commit_kind is CommitKind.APPEND
    return entry


def index(store: TableStore) -> PartitionIndex:
    return indexes_of(store, store.snapshots.latest())[EMPTY_ROW]


def test_a_bucket_without_new_keys_keeps_its_file(store: TableStore) -> None:
    before = put(store, 0, 1, 5, 9)
    for known in (hashes(), hashes(5), hashes(9, 1, 9)):
        written: list[str] = []
        assert BucketIndexUpdate(EMPTY_ROW, 0, before, known).write(store, "index-new-0", written) is None
        assert written == []
    assert [path.name for path in stored_path(store.paths.indexes).iterdir()] == [before.file_name]


def test_a_bucket_with_new_keys_gets_a_new_file(store: TableStore) -> None:
    before = put(store, 3, 1, 5, 9)
    written: list[str] = []
    made = BucketIndexUpdate(EMPTY_ROW, 3, before, hashes(7, 5, -2, 7)).write(store, "index-new-0", written)
    assert made is not None
    assert (made.bucket, made.index_type, made.row_count, made.file_size) == (3, HASH, 5, 20)
    assert written == [store.paths.index(made.file_name)]
    stored = stored_path(written[0]).read_bytes()
    assert hash_index.decode(stored).tolist() == [-2, 1, 5, 7, 9]
    assert made.file_name == hash_index.checked_name("index-new-0", stored)
    assert read_hashes(store, before).tolist() == [1, 5, 9]


def test_a_new_bucket_gets_a_file(store: TableStore) -> None:
    made = BucketIndexUpdate(EMPTY_ROW, 1, None, hashes(4, 4, 2)).write(store, "index-new-0", [])
    assert made is not None
    HASH_CACHE.clear()
    assert read_hashes(store, made).tolist() == [2, 4]


@given(st.sets(INT32), st.lists(INT32))
def test_united(old: set[int], more: list[int]) -> None:
    found = united(np.sort(hashes(*old)), hashes(*more))
    assert found.tolist() == sorted(old | set(more))
    assert found.dtype == np.int32


def test_a_commit_replaces_the_file_of_a_bucket_only(store: TableStore) -> None:
    put(store, 0, 1)
    second = put(store, 1, 2)
    third = put(store, 0, 1, 3)
    assert {bucket: entry.file_name for bucket, entry in index(store).entries.items()} == {
        0: third.file_name,
        1: second.file_name,
    }
    assert {bucket: found.tolist() for bucket, found in read_partition(store, index(store)).items()} == {
        0: [1, 3],
        1: [2],
    }
    assert index(store).files == {third.file_name, second.file_name}


@pytest.mark.parametrize("cached", [True, False])
def test_buckets_that_have_a_hash(store: TableStore, cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for bucket in range(6):
        put(store, bucket, *range(bucket * 30, bucket * 30 + 30))
    if not cached:
        HASH_CACHE.clear()
    assert buckets_with(store, index(store), hashes(65)) == [2]
    assert buckets_with(store, index(store), hashes(65, 179, 5, 5)) == [0, 2, 5]
    assert buckets_with(store, index(store), hashes(-1, 999)) == []
    assert buckets_with(store, index(store), hashes(*range(90))) == [0, 1, 2]
    if not cached:
        read: list[str] = []
        original = type(store.storage).read

        def noted(self: Any, path: str) -> bytes:
            read.append(path)
            return original(self, path)

        monkeypatch.setattr(type(store.storage), "read", noted)
        wanted = index(store)
        read.clear()
        buckets_with(store, wanted, hashes(5))
        assert len(read) == 4, "the first files were looked at together, and then no more"


def test_hashes_of_a_partition_that_is_not_there(store: TableStore) -> None:
    found, known = load_latest(store, EMPTY_ROW)
    assert (found.snapshot_id, known) == (0, {})
    commit(store, append(Change(entries=entries(entry(file_name="a")))))
    assert load_latest(store, EMPTY_ROW)[0] == PartitionIndex(1)


def test_an_index_that_expires_while_it_is_read(store: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer snapshot is taken then."""
    old = put(store, 0, 1)
    HASH_CACHE.clear()
    original = type(store.storage).read

    def expired(self: Any, path: str) -> bytes:
        if path == store.paths.index(old.file_name):
            monkeypatch.undo()
            put(store, 0, 1, 2)
            raise NotFoundError(path)
        return original(self, path)

    monkeypatch.setattr(type(store.storage), "read", expired)
    found, known = load_latest(store, EMPTY_ROW)
    assert found.snapshot_id == 2
    assert known[0].tolist() == [1, 2]


def test_an_index_that_is_lost(store: TableStore) -> None:
    entry = put(store, 0, 1)
    HASH_CACHE.clear()
    stored_path(store.paths.index(entry.file_name)).unlink()
    with pytest.raises(NotFoundError, match="rebuild_index"):
        load_latest(store, EMPTY_ROW)


@pytest.mark.parametrize("content", [b"123", b"", b"\0\0\0\2", b"\0\0\0\1\0\0\0\1"])
def test_an_index_that_is_damaged(store: TableStore, content: bytes) -> None:
    entry = put(store, 0, 1)
    HASH_CACHE.clear()
    stored_path(store.paths.index(entry.file_name)).write_bytes(content)
    for look in (
        lambda: read_hashes(store, entry),
        lambda: read_stored_hashes(store, entry),
        lambda: load_latest(store, EMPTY_ROW),
        lambda: buckets_with(store, index(store), hashes(1)),
        lambda: BucketIndexUpdate(EMPTY_ROW, 0, entry, hashes(5)).write(store, "index-new-0", []),
    ):
        with pytest.raises(CorruptError, match=f"{entry.file_name} is damaged.*rebuild_index"):
            look()


def test_the_file_on_disk_is_read_even_if_its_content_is_cached(store: TableStore) -> None:
    entry = put(store, 0, 1)
    stored_path(store.paths.index(entry.file_name)).write_bytes(b"")
    assert read_hashes(store, entry).tolist() == [1]
    with pytest.raises(CorruptError, match="is damaged"):
        read_stored_hashes(store, entry)
