from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.metadata.entries import adds, entries, entry, names_of, rows, same
from tests.metadata.stores import Failing, Logged, commit_files, files_below, new_store, open_store
from tests.places import stored_path

from lakebed.errors import CorruptError, NotFoundError, StorageError
from lakebed.format.binary_row import decode_rows, encode_row
from lakebed.format.manifest.manifest import DELETE, ManifestMeta, as_deletes
from lakebed.format.types.data_types import Atomic, DataType
from lakebed.metadata.manifest_cache import ManifestCache
from lakebed.metadata.manifests import Manifests, ManifestWriter
from lakebed.metadata.store import TableStore

STRING, INT = Atomic("STRING"), Atomic("INT")


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return new_store(tmp_path / "t")


def writer_of(store: TableStore, types: list[DataType] | None = None, **more: object) -> ManifestWriter:
    return ManifestWriter(store.storage, store.paths, types or [], **more)  # type: ignore[arg-type]


def reader_of(store: TableStore) -> Manifests:
    """Without what other tests left in the cache."""
    return Manifests(store.storage, store.paths, ManifestCache())


# ------------------------------------------------------------------------------------------------------- writing


def test_one_manifest_for_few_entries(store: TableStore) -> None:
    writer = writer_of(store)
    table = pa.concat_tables([adds("a", "b", "c"), as_deletes(adds("x"))])
    (meta,) = writer.write_entries(table)
    assert (meta.num_added_files, meta.num_deleted_files) == (3, 1)
    assert meta.file_size == stored_path(store.paths.manifest(meta.file_name)).stat().st_size
    assert same(reader_of(store).read_entries([meta]), table)


def test_no_manifest_for_no_entries(store: TableStore) -> None:
    assert writer_of(store).write_entries(entries()) == []
    assert len(reader_of(store).read_entries([])) == 0
    assert files_below(store.paths.root) == {"schema/schema-0"}


def test_names_count_by_kind(store: TableStore) -> None:
    writer = writer_of(store)
    first = writer.write_list(writer.write_entries(adds("a")))
    second = writer.write_list(writer.write_entries(adds("b")))
    unique = first[0].removeprefix("manifest-list-").rsplit("-", 1)[0]
    assert [first[0], second[0]] == [f"manifest-list-{unique}-0", f"manifest-list-{unique}-1"]
    assert first[1] == stored_path(store.paths.manifest(first[0])).stat().st_size
    assert writer.write_index([]) == f"index-manifest-{unique}-0"
    wanted = {f"manifest-{unique}-0", f"manifest-{unique}-1", first[0], second[0], f"index-manifest-{unique}-0"}
    assert files_below(store.paths.manifests) == wanted


def test_many_entries_roll_over_to_several_manifests(store: TableStore) -> None:
    random = np.random.default_rng(7)
    table = entries(*(entry(f"data-{random.bytes(16).hex()}", file_size=i) for i in range(7_500)))
    logged = Logged(store.storage)
    target = 60_000
    writer = writer_of(open_store(store.paths.root, logged), target_size=target)
    metas = writer.write_entries(table)
    assert len(metas) > 3
    assert sum(meta.num_added_files for meta in metas) == 7_500
    for meta in metas[:-1]:
        assert meta.num_added_files % 1000 == 0
        assert meta.file_size <= target or meta.num_added_files == 1000
        assert meta.file_size > target / 3
    assert same(reader_of(store).read_entries(metas), table)
    assert logged.names("write") == [meta.file_name for meta in metas]


def test_a_tiny_target_still_holds_a_thousand_entries_each(store: TableStore) -> None:
    table = entries(*(entry(f"data-{i}") for i in range(3_300)))
    metas = writer_of(store, target_size=1).write_entries(table)
    assert [meta.num_added_files for meta in metas] == [1000, 1000, 1000, 300]
    assert same(reader_of(store).read_entries(metas), table)


def test_commits_roll_their_manifests_too(tmp_path: Path) -> None:
    store = new_store(tmp_path / "t", options={"manifest.target-file-size": "4 kb"})
    table = entries(*(entry(f"data-{i}") for i in range(2_500)))
    snapshot = commit_files(store, table)
    assert len(store.manifests.read_list(snapshot.delta_manifest_list)) == 3
    assert names_of(store.manifests.read_entries(store.manifests.base_and_delta(snapshot))) == names_of(table)


def test_a_manifest_is_described(store: TableStore) -> None:
    types: list[DataType] = [STRING, INT]

    def at(dt: str | None, hour: int | None) -> bytes:
        return encode_row([dt, hour], types)

    table = entries(
        entry(
            "a", partition=at("b", 5), bucket=3, level=0, schema_id=2, total_buckets=4, first_row_id=100, row_count=10
        ),
        entry("b", partition=at(None, 7), bucket=1, level=5, schema_id=1, total_buckets=4, first_row_id=0, row_count=3),
        entry("c", partition=at("", None), bucket=2, schema_id=0, total_buckets=4, first_row_id=110, row_count=5),
    )
    (meta,) = writer_of(store, types).write_entries(table)
    low = decode_rows(pa.array([meta.partition_min]), types)
    high = decode_rows(pa.array([meta.partition_max]), types)
    assert [column[0].as_py() for column in low] == ["", 5]
    assert [column[0].as_py() for column in high] == ["b", 7]
    assert meta.partition_null_counts == (1, 1)
    assert meta.schema_id == 2
    assert (meta.min_bucket, meta.max_bucket) == (1, 3)
    assert (meta.min_level, meta.max_level) == (0, 5)
    assert (meta.min_row_id, meta.max_row_id) == (0, 114)
    assert meta.total_buckets == 4
    assert meta.extra_files is None


@pytest.mark.parametrize(
    ("kind", "values", "bounds", "nulls"),
    [
        ("INT", [3, 3], (3, 3), 0),
        ("INT", [None, None], (None, None), 2),
        ("STRING", ["b", None, "a longer text", None], ("a longer text", "b"), 2),
        ("DOUBLE", [float("nan"), float("nan")], (None, None), 0),
        ("DOUBLE", [0.0, 0.0], (-0.0, 0.0), 0),
    ],
)
def test_partitions_of_a_manifest_are_described(
    store: TableStore, kind: str, values: list[object], bounds: tuple[object, object], nulls: int
) -> None:
    types: list[DataType] = [Atomic(kind)]
    files = entries(*(entry(str(i), partition=encode_row([value], types)) for i, value in enumerate(values)))
    (meta,) = writer_of(store, types).write_entries(files)
    low, high = (
        decode_rows(pa.array([row]), types)[0].to_pylist()[0] for row in (meta.partition_min, meta.partition_max)
    )
    assert repr((low, high)) == repr(bounds)
    assert meta.partition_null_counts == (nulls,)


def test_what_is_not_common_to_all_entries_is_left_open(store: TableStore) -> None:
    writer = writer_of(store)
    (mixed,) = writer.write_entries(entries(entry("a", total_buckets=2), entry("b", total_buckets=4, first_row_id=5)))
    (none,) = writer.write_entries(adds("a", total_buckets=-1))
    assert (mixed.total_buckets, none.total_buckets) == (None, None)
    assert (mixed.min_row_id, mixed.max_row_id) == (None, None)


# ------------------------------------------------------------------------------------------------------- undoing


def test_undoing_removes_all_but_what_is_kept(store: TableStore) -> None:
    writer = writer_of(store)
    (kept,) = writer.write_entries(adds("a"))
    writer.write_list([kept])
    writer.undo(keep=[store.paths.manifest(kept.file_name)])
    assert files_below(store.paths.manifests) == {kept.file_name}
    writer.undo()
    assert files_below(store.paths.manifests) == set()
    writer.undo()


def test_a_file_of_a_write_without_acknowledgement_is_removed_too(store: TableStore) -> None:
    writer = writer_of(open_store(store.paths.root, Failing(2, after=True)))
    writer.write_list([])
    with pytest.raises(StorageError):
        writer.write_list([])
    assert len(files_below(store.paths.manifests)) == 2
    writer.undo()
    assert files_below(store.paths.manifests) == set()


def test_undoing_goes_on_after_a_failure_and_can_be_repeated(store: TableStore) -> None:
    writer = writer_of(open_store(store.paths.root, Failing(4, after=False)))
    for _ in range(3):
        writer.write_list([])
    writer.undo()
    assert len(files_below(store.paths.manifests)) == 1
    writer.undo()
    assert files_below(store.paths.manifests) == set()


# ------------------------------------------------------------------------------------------------------- reading


def test_manifests_are_read_in_order(store: TableStore) -> None:
    writer = writer_of(store)
    metas = [meta for i in range(20) for meta in writer.write_entries(adds(f"f{i:02}"))]
    assert names_of(reader_of(store).read_entries(metas)) == [f"f{i:02}" for i in range(20)]


def test_a_manifest_is_decoded_once(store: TableStore) -> None:
    logged = Logged(store.storage)
    metas = writer_of(store).write_entries(adds("a"))
    reader = Manifests(logged, store.paths, ManifestCache())
    for _ in range(3):
        reader.read_entries(metas)
    assert logged.names("read") == [metas[0].file_name]
    assert (reader.cache.hits, reader.cache.misses) == (2, 1)


def wrong_count(meta: ManifestMeta) -> ManifestMeta:
    return replace(meta, num_added_files=meta.num_added_files + 1)


def test_a_manifest_with_another_number_of_entries_is_damaged(store: TableStore) -> None:
    (meta,) = writer_of(store).write_entries(adds("a"))
    with pytest.raises(CorruptError, match=rf"/t/manifest/{meta.file_name} has 1 entries, but its list says 2"):
        reader_of(store).read_entries([wrong_count(meta)])


@pytest.mark.parametrize("size", [0, 3, 100, -20, -1])
def test_a_truncated_manifest_is_named(store: TableStore, size: int) -> None:
    (meta,) = writer_of(store).write_entries(adds(*map(str, range(500))))
    path = stored_path(store.paths.manifest(meta.file_name))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptError, match=f"/t/manifest/{meta.file_name} "):
        reader_of(store).read_entries([meta])


def test_what_is_gone_is_named(store: TableStore) -> None:
    snapshot = commit_files(store, adds("a"))
    (meta,) = store.manifests.read_list(snapshot.delta_manifest_list)
    stored_path(store.paths.manifest(meta.file_name)).unlink()
    with pytest.raises(NotFoundError, match=rf"manifest .*/{meta.file_name} does not exist; .* expired"):
        reader_of(store).read_entries([meta])
    stored_path(store.paths.manifest(snapshot.base_manifest_list)).unlink()
    with pytest.raises(NotFoundError, match=rf"manifest list .*/{snapshot.base_manifest_list} does not exist"):
        store.manifests.base_and_delta(snapshot)
    with pytest.raises(NotFoundError, match=r"index manifest .*/index-manifest-x does not exist"):
        store.manifests.read_index("index-manifest-x")
    assert store.manifests.read_index(None) == []


def test_deletes_are_counted(store: TableStore) -> None:
    (meta,) = writer_of(store).write_entries(as_deletes(adds("a", "b")))
    assert (meta.num_added_files, meta.num_deleted_files) == (0, 2)
    assert [row["kind"] for row in rows(reader_of(store).read_entries([meta]))] == [DELETE, DELETE]
