"""Compactions as processes: the same whether the snapshot tells or its manifests, and never shorter than nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.entries import adds
from tests.metadata.stores import Logged, open_store
from tests.places import IS_LOCAL, stored_path

from lakebed import Table
from lakebed.errors import NotFoundError, OptionError
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.metadata.history import compactions, wanted
from lakebed.metadata.history.compactions import Compaction, CompactionKind, find_compactions
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.manifests import SHARED_CACHE
from lakebed.metadata.store import TableStore

COUNTS = ("input_files", "input_bytes", "input_rows", "output_files", "output_bytes", "output_rows")


@pytest.fixture(autouse=True)
def new_process() -> None:
    forget_indexes()


def counts(one: Compaction) -> dict[str, int]:
    return {name: getattr(one, name) for name in (*COUNTS, "partitions", "buckets")}


def without_facts(table: Table) -> None:
    """As if somebody else had written all of it."""
    for path in stored_path(table.path, "snapshot").glob("snapshot-*"):
        raw = json.loads(path.read_text())
        raw.pop("properties", None)
        path.write_text(json.dumps(raw))


def pairs(*numbers: int) -> pa.Table:
    return pa.table({"k": pa.array(numbers, pa.int32()), "v": [f"v{number}" for number in numbers]})


def test_a_full_and_a_minor_one(table: Callable[..., Table]) -> None:
    options = {"bucket": "2", "write-only": "true", "num-sorted-run.compaction-trigger": "2"}
    one = table("k INT, v STRING", primary_key=["k"], options=options)
    one.write(pairs(*range(2000)))
    one.compact(full=True)
    one.write(pairs(1))
    one.write(pairs(1))
    one.compact()
    minor, full = one.compactions()
    assert (full.kind, minor.kind) == (CompactionKind.FULL, CompactionKind.MINOR)
    assert (full.buckets, minor.buckets) == (2, 1)
    assert (full.input_files, full.output_files, full.input_rows, full.output_rows) == (2, 2, 2000, 2000)
    assert (minor.input_files, minor.output_files, minor.input_rows, minor.output_rows) == (2, 1, 2, 1)
    assert minor.snapshot == one.latest_snapshot()
    live = one.scan().plan().files
    assert minor.output_bytes + full.output_bytes == sum(live["file_size_in_bytes"].to_pylist())


@pytest.mark.parametrize("primary_key", [["k"], []])
def test_manifests_tell_the_same(table: Callable[..., Table], primary_key: list[str]) -> None:
    options = {"bucket": "1", "write-only": "true", **({} if primary_key else {"bucket-key": "k"})}
    one = table(
        "k INT, v STRING, p INT NOT NULL",
        primary_key=[*primary_key, "p"] if primary_key else [],
        partition_by=["p"],
        options=options,
    )
    for _ in range(3):
        one.write(pairs(1, 2, 3).append_column("p", pa.array([1, 1, 2], pa.int32())))
    one.compact(full=True)
    one.write(pairs(7).append_column("p", pa.array([1], pa.int32())))
    one.compact(full=True)
    one.compact_manifests()
    by_facts = one.compactions().compactions
    without_facts(one)
    log = Logged()
    page = find_compactions(TableStore(log, one._store.paths, one.name))
    assert all(found.from_facts for found in by_facts)
    assert not any(found.from_facts for found in page)
    assert [counts(found) for found in page] == [counts(found) for found in by_facts]
    assert [found.kind for found in page] == [found.kind for found in by_facts]
    assert by_facts[0].kind is CompactionKind.MANIFESTS
    assert by_facts[-1].kind is CompactionKind.FULL
    for found, known in zip(page, by_facts, strict=True):
        assert 0 <= found.duration_millis <= known.duration_millis + 1000
        assert found.finished_millis == known.finished_millis


@pytest.mark.local_disk
def test_only_the_page_opens_manifests(table: Callable[..., Table]) -> None:
    one = table("k INT, v STRING", primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for number in range(4):
        one.write(pairs(number))
        one.compact(full=True)
    log = Logged()
    store = TableStore(log, one._store.paths, one.name)
    assert find_compactions(store, limit=2).total == 4
    assert log.names("read", "manifest") == [], "our commits told it all"
    without_facts(one)
    log.log.clear()
    page = find_compactions(store, limit=2)
    assert (len(page), page.total) == (2, 4)
    assert len(log.names("read", "manifest-list")) == 2


def test_an_append_table_is_fully_compacted_if_only_the_output_is_left(table: Callable[..., Table]) -> None:
    one = table("p INT, k INT", partition_by=["p"], options={"write-only": "true"})
    for _ in range(3):
        one.write(pa.table({"p": pa.array([1, 2], pa.int32()), "k": pa.array([1, 2], pa.int32())}))
    one.compact(full=True, where="p = 1")
    one.compact(full=True, where="p = 2")
    one.write(pa.table({"p": pa.array([1, 2], pa.int32()), "k": pa.array([1, 2], pa.int32())}))
    one.compact(full=True)
    kinds = [found.kind for found in one.compactions()]
    assert kinds == [CompactionKind.FULL, CompactionKind.MINOR, CompactionKind.MINOR]
    without_facts(one)
    assert [found.kind for found in one.compactions()] == kinds


# ------------------------------------------------------------------------------------------------------------- time


def rowless(table: Table) -> TableStore:
    """The store of a table, for commits of files that are not written."""
    return open_store(table.path)


def compacted(store: TableStore, properties: dict[str, str], **changes: Any) -> Compaction:
    change = Change(entries=pa.concat_tables([as_deletes(adds("old")), adds("new", **changes)]))
    commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _: Change(entries=adds("old"))))
    commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change, properties=properties))
    (found,) = find_compactions(store)
    return found


def test_a_start_after_the_end_counts_as_the_end(table: Callable[..., Table]) -> None:
    one = compacted(rowless(table()), {"lakebed.started-millis": str(10**15)})
    assert one.from_facts
    assert (one.duration_millis, one.started_millis) == (0, one.finished_millis)


def test_the_start_is_what_the_compaction_noted(table: Callable[..., Table]) -> None:
    one = compacted(rowless(table()), {"lakebed.started-millis": "1000"})
    assert (one.started_millis, one.duration_millis) == (1000, one.finished_millis - 1000)


@pytest.mark.parametrize("zone_hours", [0, -8, 5.75, 14])
@pytest.mark.parametrize("took", [0, 90_000, 5 * 3_600_000])
def test_others_tell_the_time_in_a_zone_of_their_own(table: Callable[..., Table], zone_hours: float, took: int) -> None:
    """Of the first file; the last one was written 20 seconds before the commit."""
    import time

    now = time.time_ns() // 1_000_000
    wall = [now - 20_000 - took + int(zone_hours * 3_600_000), now - 20_000 + int(zone_hours * 3_600_000)]
    new = pa.concat_tables(
        [
            adds(f"new-{number}", creation_time=pa.scalar(at, pa.timestamp("ms")).as_py())
            for number, at in enumerate(wall)
        ]
    )
    store = rowless(table())
    commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _: Change(entries=adds("old"))))
    change = Change(entries=pa.concat_tables([as_deletes(adds("old")), new]))
    made = commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change))
    assert made is not None
    (one,) = find_compactions(store)
    assert not one.from_facts, "without a start the facts are not complete"
    assert abs(one.duration_millis - took - 20_000) < 10_000


def test_a_file_that_only_moved_does_not_tell_when_it_began(table: Callable[..., Table]) -> None:
    store = rowless(table("id BIGINT NOT NULL, v STRING", primary_key=["id"], options={"bucket": "1"}))
    commit(store, Commit(kind=CommitKind.APPEND, plan=lambda _: Change(entries=adds("old", total_buckets=1))))
    moved = adds("old", total_buckets=1, level=5)
    change = Change(entries=pa.concat_tables([as_deletes(adds("old", total_buckets=1)), moved]))
    commit(store, Commit(kind=CommitKind.COMPACT, plan=lambda _: change))
    (one,) = find_compactions(store)
    assert (one.duration_millis, one.kind, one.input_files) == (0, CompactionKind.FULL, 1)


# ------------------------------------------------------------------------------------------------- what goes meanwhile


@pytest.mark.local_disk
def test_a_compaction_that_expires_while_it_is_described(table: Callable[..., Table]) -> None:
    one = table("k INT, v STRING", primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for number in range(2):
        one.write(pairs(number))
        one.compact(full=True)
    without_facts(one)
    gone = one.snapshot(2)

    class Late(Logged):
        def call(self, name: str, path: str, run: Any) -> Any:
            if path.endswith(gone.delta_manifest_list):
                for file in (stored_path(path), stored_path(one.path, "snapshot", "snapshot-2")):
                    file.unlink(missing_ok=True)
            return super().call(name, path, run)

    page = find_compactions(TableStore(Late(), one._store.paths, one.name))
    assert ([found.snapshot.id for found in page], page.total) == ([4], 1)


def test_a_lost_manifest_is_told(table: Callable[..., Table]) -> None:
    one = table("k INT, v STRING", primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    one.write(pairs(1))
    made = one.compact(full=True)
    assert made is not None
    without_facts(one)
    stored_path(one.path, "manifest", made.delta_manifest_list).unlink()
    SHARED_CACHE.clear()
    with pytest.raises(NotFoundError, match="manifest list"):
        one.compactions()


def test_compactions_of_one_kind(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactions, "_FIRST_WINDOW", 2)
    options = {"bucket": "2", "write-only": "true", "num-sorted-run.compaction-trigger": "2"}
    made = table("k INT, v STRING", primary_key=["k"], options=options)
    for _ in range(2):
        made.write(pairs(*range(2000)))
        made.compact(full=True)
        made.write(pairs(1))
        made.write(pairs(1))
        made.compact()
    made.compact_manifests()
    every = list(made.compactions(limit=100))
    kinds = [str(one.kind) for one in every]
    assert {"FULL", "MINOR", "MANIFESTS"} == set(kinds), kinds
    assert {str(one.status) for one in every} == {"succeeded"}
    for kind in CompactionKind:
        model = [one.snapshot.id for one in every if one.kind is kind]
        seen: list[int] = []
        page = made.compactions(kind=kind.lower(), limit=1)
        while True:
            seen += [one.snapshot.id for one in page]
            assert [one.snapshot.id for one in made.compactions(kind=kind, limit=1, offset=len(seen) - 1)] == seen[-1:]
            if page.next_cursor is None:
                break
            page = made.compactions(kind=kind, limit=1, cursor=page.next_cursor)
        assert seen == model
        assert made.compactions(kind=kind, limit=100).total == len(model)
    cursor = made.compactions(kind="FULL", limit=1).next_cursor
    with pytest.raises(OptionError, match="other filters"):
        made.compactions(kind="MINOR", cursor=cursor)
    with pytest.raises(OptionError, match="did you mean 'MINOR'"):
        made.compactions(kind="MINER")


def test_a_page_of_a_rare_kind_ends_early(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the snapshot knows the kind, so a page opens some compactions, and its cursor goes on below them."""
    monkeypatch.setattr(wanted, "READ_BY_A_PAGE", 3)
    monkeypatch.setattr(compactions, "_FIRST_WINDOW", 1)
    options = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "2"}
    made = table("k INT, v STRING", primary_key=["k"], options=options)
    made.write(pairs(*range(2000)))
    made.compact(full=True)
    for _ in range(8):
        made.write(pairs(1))
        made.write(pairs(1))
        made.compact()
    kinds = [str(one.kind) for one in made.compactions(limit=100)]
    assert kinds == ["MINOR"] * 8 + ["FULL"]
    seen, page = [], made.compactions(kind="FULL", limit=1)
    assert (len(page), page.total) == (0, None)
    while page.next_cursor is not None:
        assert not IS_LOCAL or page.scanned <= 3 + 4  # elsewhere the newest are opened together, in one round trip
        seen += [one.snapshot.id for one in page]
        page = made.compactions(kind="FULL", limit=1, cursor=page.next_cursor)
    assert [*seen, *(one.snapshot.id for one in page)] == [2]
    assert [one.snapshot.id for one in made.compactions(kind="FULL", offset=0, limit=9, cursor=4)] == [2]
