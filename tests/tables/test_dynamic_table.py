"""Tables with dynamic buckets through the public interface: whatever happens to a table, its index names its keys."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from tests.effort import long_except
from tests.places import stored_path
from tests.rows.keyed.keyed_tables import index_of
from tests.tables.dynamic_tables import buckets_of, check_index, dynamic, forge_index, rows, shown

import lakebed
from lakebed import Lake, Table, connect
from lakebed.errors import CorruptError, NotFoundError, OptionError, UnsupportedError
from lakebed.format.manifest.index_manifest import HASH
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.hash_indexes import HASH_CACHE
from lakebed.metadata.plan.file_scan import live_entries


def numbers(table: Table, partition: int = 0) -> list[int]:
    """How many keys each bucket of a partition has."""
    counts: dict[int, int] = {}
    for (own, _), bucket in buckets_of(table).items():
        if own == partition:
            counts[bucket] = counts.get(bucket, 0) + 1
    assert sorted(counts) == list(range(len(counts)))
    return [counts[bucket] for bucket in sorted(counts)]


def test_buckets_come_as_keys_come(lake: Lake) -> None:
    table = dynamic(lake)
    made = table.write(rows(range(6), "a"))
    assert made is not None
    assert made.commit_kind is CommitKind.APPEND
    assert numbers(table) == [4, 2]
    table.write(rows(range(3, 13), "b"))
    assert numbers(table) == [4, 4, 4, 1]
    assert shown(table) == {(0, key): "a" if key < 3 else "b" for key in range(13)}
    assert set(live_entries(table._store, table.latest_snapshot())["total_buckets"].to_pylist()) == {-1}
    check_index(table)


def test_a_table_with_a_key_and_no_number_of_buckets_is_dynamic(lake: Lake) -> None:
    table = lake.create_table("db.plain", "k INT, v INT", primary_key=["k"])
    table.write(pa.table({"k": pa.array([1, 2], pa.int32()), "v": pa.array([1, 2], pa.int32())}))
    assert [entry.index_type for entry in index_of(table)] == [HASH]


def test_only_buckets_with_new_keys_get_a_new_index_file(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(10), "a"))
    before = {entry.bucket: entry.file_name for entry in index_of(table)}
    table.write(rows(range(10), "b"))
    assert {entry.bucket: entry.file_name for entry in index_of(table)} == before
    table.write(rows([0, 99], "c"))
    after = {entry.bucket: entry.file_name for entry in index_of(table)}
    assert [bucket for bucket in after if after[bucket] != before[bucket]] == [buckets_of(table)[0, 99]]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"dynamic-bucket.max-buckets": "2"}, [8, 8]),
        ({"dynamic-bucket.initial-buckets": "3", "dynamic-bucket.target-row-num": "100"}, None),
        ({"dynamic-bucket.assigner-parallelism": "2", "dynamic-bucket.target-row-num": "100"}, None),
        ({"dynamic-bucket.target-size": "1 b"}, [1] * 16),
    ],
)
def test_options_of_dynamic_buckets(lake: Lake, options: dict[str, str], wanted: list[int] | None) -> None:
    table = dynamic(lake, options)
    table.write(rows(range(16), "a"))
    assert numbers(table) == (wanted or numbers(table))
    assert wanted is not None or len(numbers(table)) == (3 if "dynamic-bucket.initial-buckets" in options else 2)
    check_index(table)


def test_the_most_buckets_are_those_of_a_partition(lake: Lake) -> None:
    """Not of the table: a partition that comes later has as many."""
    table = dynamic(lake, {"dynamic-bucket.max-buckets": "2"})
    table.write(rows(range(16), "a"))
    table.write(pa.concat_tables([rows(range(16), "b", 1), rows(range(14, 20), "b")]))
    assert numbers(table) == [10, 10]
    assert numbers(table, 1) == [8, 8]
    check_index(table)


def test_growth_by_size_goes_by_the_files_that_are_there(lake: Lake) -> None:
    table = dynamic(lake, target=1000)
    table.write(rows(range(40), "a"))
    files = live_entries(table._store, table.latest_snapshot())
    per_row = files["file_size"][0].as_py() / 40
    table.alter(lakebed.changes.SetOption("dynamic-bucket.target-size", f"{int(per_row * 41.5)} b"))
    table.write(rows(range(40, 60), "b"))
    assert numbers(table)[:2] == [41, 19]
    check_index(table)


@pytest.mark.parametrize("value", ["0", "-2", "many"])
def test_a_bad_number_of_buckets(lake: Lake, value: str) -> None:
    with pytest.raises(OptionError, match=r"dynamic-bucket\.max-buckets"):
        dynamic(lake, {"dynamic-bucket.max-buckets": value})


# ------------------------------------------------------------------------------------------------- the life of an index


def test_overwrite_begins_anew(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(pa.concat_tables([rows(range(10), "a"), rows(range(5), "a", 1)]))
    table.overwrite(rows([7, 8, 9, 20], "b"))
    assert numbers(table) == [4]
    assert numbers(table, 1) == [4, 1]
    check_index(table)
    table.overwrite(rows([1, 2], "c", 1), partition={"p": 1})
    assert numbers(table, 1) == [2]
    table.overwrite(rows([3], "d"), dynamic=False)
    assert shown(table) == {(0, 3): "d"}
    check_index(table)


def test_truncate_and_drop_partition(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(pa.concat_tables([rows(range(10), "a"), rows(range(5), "a", 1)]))
    table.drop_partition({"p": 0})
    assert len(index_of(table)) == 2
    check_index(table)
    table.truncate()
    assert index_of(table) == []
    table.write(rows([5, 6], "b"))
    assert shown(table) == {(0, 5): "b", (0, 6): "b"}
    check_index(table)


def test_deleted_keys_keep_their_place(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(10), "a"))
    before = buckets_of(table)
    table.delete("k < 8")
    table.compact(full=True)
    assert set(buckets_of(table)) == {(0, 8), (0, 9)}
    check_index(table, before)
    table.write(rows(range(10), "b"))
    assert buckets_of(table) == before
    check_index(table)


def test_rollback_tags_and_branches(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(6), "a"))
    table.create_tag("first")
    table.write(rows(range(4, 12), "b"))
    branch = table.create_branch("dev", tag="first")
    branch.write(rows([5, 30, 31, 32], "branch"))
    assert set(shown(branch)) == {(0, key) for key in (*range(6), 30, 31, 32)}
    check_index(branch)
    check_index(table)
    table.rollback_to(tag="first")
    table.write(rows([5, 40], "c"))
    assert shown(table)[0, 5] == "c"
    check_index(table)
    check_index(branch)
    table.fast_forward("dev")
    table.write(rows([30, 40], "d"))
    assert shown(table)[0, 30] == "d"
    check_index(table)
    assert table.verify(deep=True).ok


def test_expiry_and_orphans(lake: Lake) -> None:
    table = dynamic(lake)
    for number in range(5):
        table.write(rows(range(number * 3, number * 3 + 5), str(number)))
    index = stored_path(table.path, "index")
    stored_path(index, "index-nobodys-0").write_bytes(b"1234")
    table.expire_snapshots(retain_max=1, retain_min=1)
    table.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True)
    assert {path.name for path in index.iterdir()} == {entry.file_name for entry in index_of(table)}
    check_index(table)
    table.write(rows(range(30), "last"))
    assert set(shown(table).values()) == {"last"}
    check_index(table)


ENGINES: dict[str, dict[str, str]] = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "first row": {"merge-engine": "first-row"},
    "partial update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "changelog": {"changelog-producer": "input"},
    "compacting": {"num-sorted-run.compaction-trigger": "2"},
    "thin": {"data-file.thin-mode": "true"},
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine(lake: Lake, engine: str) -> None:
    table = dynamic(lake, ENGINES[engine])
    first = engine == "first row"
    table.write(rows(range(10), "a"))
    table.write(rows(range(5, 15), "b"))
    assert shown(table) == {(0, key): "a" if key < (10 if first else 5) else "b" for key in range(15)}
    if not first:
        table.delete("k IN (0, 14)")
        table.write(rows([14], "c"))
        assert shown(table)[0, 14] == "c"
        assert (0, 0) not in shown(table)
    table.compact(full=True)
    assert table.verify(deep=True).ok
    assert len(shown(table)) == (15 if first else 14)


# --------------------------------------------------------------------------------------------------------------- reads


def opened(table: Table, where: str) -> list[int]:
    return sorted(set(table.scan(where=where).plan().files["bucket"].to_pylist()))


def test_a_lookup_by_key_opens_one_bucket(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(pa.concat_tables([rows(range(40), "a"), rows(range(40), "b", 1)]))
    places = buckets_of(table)
    for key in (0, 17, 39):
        assert opened(table, f"p = 0 AND k = {key}") == [places[0, key]]
        assert shown(table, where=f"p = 0 AND k = {key}") == {(0, key): "a"}
        assert shown(table, where=f"k = {key}") == {(0, key): "a", (1, key): "b"}
    several = sorted({places[0, 3], places[0, 30]})
    assert opened(table, "p = 0 AND k IN (3, 30, 999)") == several
    assert opened(table, "p = 0 AND k = 999") == []
    assert len(opened(table, "p = 0 AND k > 5")) == 10
    assert "files by hash index: 2 of 20 kept" in table.scan(where="k = 3").explain()
    HASH_CACHE.clear()
    assert opened(table, "p = 0 AND k = 17") == [places[0, 17]]


def test_a_lookup_sees_the_index_of_its_version(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(12), "a"))
    table.overwrite(rows([11, 10, 3], "b"))
    for key in range(12):
        assert shown(table, where=f"k = {key}", version=1) == {(0, key): "a"}
        assert shown(table, where=f"k = {key}") == ({(0, key): "b"} if key in {3, 10, 11} else {})


def test_rows_are_found_without_an_index_too(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    table = dynamic(lake)
    table.write(rows(range(12), "a"))
    HASH_CACHE.clear()
    stored_path(table.path, "index", index_of(table)[0].file_name).unlink()
    assert shown(table, where="k = 5") == {(0, 5): "a"}
    assert "without its hash index" in caplog.text


# ----------------------------------------------------------------------------------------------------- rebuilding


def test_a_lost_index_is_rebuilt(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(10), "a"))
    lost = index_of(table)[1]
    HASH_CACHE.clear()
    stored_path(table.path, "index", lost.file_name).unlink()
    with pytest.raises(NotFoundError, match="rebuild_index"):
        table.write(rows([3], "b"))
    planned = table.rebuild_index(dry_run=True)
    assert planned.snapshot is None
    assert [(one.bucket, one.added, one.removed) for one in planned.buckets] == [(lost.bucket, lost.row_count, 0)]
    assert table.latest_snapshot().id == 1  # type: ignore[union-attr]
    done = table.rebuild_index(dry_run=False)
    assert done.buckets == planned.buckets
    assert done.snapshot is not None
    assert done.snapshot.commit_kind is CommitKind.COMPACT
    check_index(table)
    table.write(rows(range(5, 12), "b"))
    assert shown(table) == {(0, key): "a" if key < 5 else "b" for key in range(12)}
    assert (
        str(table.rebuild_index(dry_run=False)) == "rewrote the hash index of 0 buckets: 0 keys added, 0 keys removed"
    )


def test_rebuilding_forgets_keys_that_are_gone(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(10), "a"))
    table.delete("k >= 2")
    table.compact(full=True)
    done = table.rebuild_index(dry_run=False)
    assert sum(one.removed for one in done.buckets) == 8
    check_index(table)
    assert table.verify(deep=True).ok


def test_a_key_in_two_buckets_cannot_be_rebuilt(lake: Lake) -> None:
    """As a writer leaves it that does not look whether somebody else was there."""
    table = dynamic(lake)
    table.write(rows(range(4), "a"))
    forge_index(table, 0, [11, 12, 13, 14])
    table.write(rows(range(4, 8), "b"))
    table.write(rows([1], "twice"))
    with pytest.raises(CorruptError, match=r"two buckets .* overwrite the partition"):
        table.rebuild_index(dry_run=False)
    assert any(problem.code == "wrong-hash-index" for problem in table.verify(deep=True).problems)


def test_only_dynamic_buckets_have_an_index_to_rebuild(lake: Lake) -> None:
    table = lake.create_table("db.fixed", "k INT", primary_key=["k"], options={"bucket": "1"})
    with pytest.raises(UnsupportedError, match="no dynamic buckets"):
        table.rebuild_index(dry_run=True)


def test_system_tables(lake: Lake) -> None:
    table = dynamic(lake)
    table.write(rows(range(6), "a"))
    indexes = lake.system_table("db.t$table_indexes").scan(
        ["partition", "bucket", "index_type", "row_count", "file_size"]
    )
    assert indexes.to_arrow().to_pylist() == [
        {"partition": "{0}", "bucket": bucket, "index_type": "HASH", "row_count": count, "file_size": 4 * count}
        for bucket, count in enumerate([4, 2])
    ]
    found = lake.system_table("db.t$buckets").scan(["partition", "bucket", "record_count", "file_count"]).to_arrow()
    assert found.to_pylist() == [
        {"partition": "{0}", "bucket": bucket, "record_count": count, "file_count": 1}
        for bucket, count in enumerate([4, 2])
    ]


# ------------------------------------------------------------------------------------------------------------- a model


@pytest.mark.parametrize("seed", long_except([0], range(3)))
def test_a_random_life(lake: lakebed.Lake, seed: int) -> None:
    """Random writes, deletes, overwrites, compactions and restarts with other settings, against a plain dict."""
    dice = random.Random(seed)
    extra = ENGINES[dice.choice(["plain", "vectors", "compacting"])]
    table = dynamic(lake, extra, target=dice.choice([1, 3, 7]))
    model: dict[tuple[int, int], str] = {}
    places: dict[tuple[int, int], int] = {}
    for number in range(20):
        keys = dice.sample(range(40), dice.randint(1, 15))
        partition = dice.randint(0, 1)
        changed = {(partition, key): str(number) for key in keys}
        match dice.choice(["write"] * 5 + ["delete", "overwrite", "compact", "restart", "drop"]):
            case "write":
                table.write(rows(keys, str(number), partition))
                model |= changed
            case "delete":
                table.delete(f"p = {partition} AND k IN ({', '.join(map(str, keys))})")
                model = {key: value for key, value in model.items() if key not in changed}
            case "overwrite":
                table.overwrite(rows(keys, str(number), partition))
                model = {key: value for key, value in model.items() if key[0] != partition} | changed
                places = {key: bucket for key, bucket in places.items() if key[0] != partition}
            case "drop":
                table.drop_partition({"p": partition})
                model = {key: value for key, value in model.items() if key[0] != partition}
                places = {key: bucket for key, bucket in places.items() if key[0] != partition}
            case "compact":
                table.compact(full=dice.random() < 0.5)
            case "restart":
                HASH_CACHE.clear()
                table.alter(
                    lakebed.changes.SetOption("dynamic-bucket.target-row-num", str(dice.choice([2, 5, 9]))),
                    lakebed.changes.SetOption("dynamic-bucket.assigner-parallelism", str(dice.choice([1, 2, 3]))),
                )
                table = connect(lake.warehouse).table("db.t")
        found = buckets_of(table)
        assert all(places.get(key, bucket) == bucket for key, bucket in found.items()), "a key changed its bucket"
        places |= found
        assert shown(table) == model
    check_index(table, places)
    assert table.verify(deep=True).ok


def test_index_files_are_read_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index file that was written or read lately is not read again."""
    table = dynamic(lake)
    table.write(rows(range(10), "a"))
    names = {entry.file_name for entry in index_of(table)}
    read: list[str] = []
    original = type(table._store.storage).read

    def noted(self: Any, path: str) -> bytes:
        read.append(stored_path(path).name)
        return original(self, path)

    monkeypatch.setattr(type(table._store.storage), "read", noted)
    table.write(rows(range(10), "b"))
    assert not names & set(read)
    HASH_CACHE.clear()
    table.write(rows(range(10), "c"))
    assert names <= set(read)
