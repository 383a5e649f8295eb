"""Snapshots by time and by condition are those that opening every snapshot finds, and few snapshots are opened."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.long_histories import A, C, ReadOnly, commit_snapshot, snapshot, spread, with_storage, write_history
from tests.metadata.stores import Logged, new_store
from tests.places import IS_LOCAL, new_folder, stored_path

from lakebed.format.snapshot import NO_WATERMARK, Snapshot, snapshot_to_json
from lakebed.format.time_text import local_datetime
from lakebed.metadata.history.by_time import (
    snapshot_at,
    snapshot_at_watermark,
    snapshot_since,
    snapshot_since_watermark,
)
from lakebed.metadata.history.history_index import forget_indexes
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.metadata.store import TableStore
from lakebed.operations.rollback import rollback_to
from lakebed.system_tables import SystemTable

TIMES = st.integers(0, 9).map(lambda number: number * 1000)


@pytest.fixture(autouse=True)
def new_process() -> None:
    forget_indexes()


@settings(max_examples=examples(30), deadline=None)
@given(
    made=st.lists(st.tuples(TIMES, st.booleans()), max_size=40),
    marks=st.lists(st.sampled_from([None, NO_WATERMARK, *range(0, 10_000, 1000)]), min_size=40, max_size=40),
    older=st.booleans(),
    again=st.lists(TIMES, max_size=12),
    gone=st.integers(0, 40),
    can_write=st.booleans(),
)
def test_the_result_is_that_of_the_walk(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[int, bool]],
    marks: list[int | None],
    again: list[int],
    gone: int,
    *,
    older: bool,
    can_write: bool,
) -> None:
    """Times that descend and repeat, commits of others, a rollback with other commits after it, and expiry."""
    forget_indexes()
    root = new_folder(tmp_path_factory)
    store = new_store(root / "t")
    for (time, ours), mark in zip(made, marks, strict=False):
        commit_snapshot(store, time_millis=time, watermark=mark, noted=ours)
    snapshot_at(store, 4000)  # may add lines, which the rollback makes wrong
    if older:
        without_watermarks(store)
    for number, time in enumerate(again[: len(made)]):
        replaced = snapshot(len(made) - number, C, time_millis=time, watermark=marks[-1 - number])
        stored_path(store.paths.snapshot(replaced.id)).write_text(snapshot_to_json(replaced))
    for number in range(1, min(gone, len(made) - 1) + 1):
        stored_path(store.paths.snapshot(number)).unlink()
    read = store if can_write or not IS_LOCAL else with_storage(store, ReadOnly())
    for time in (-1, *range(0, 10_000, 1000), 9500):
        assert snapshot_at(read, time) == store.snapshots.at(time)
        assert snapshot_since(read, time) == store.snapshots.since(time)
        assert snapshot_at_watermark(read, time) == store.snapshots.at_watermark(time)
        assert snapshot_since_watermark(read, time) == store.snapshots.since_watermark(time)
    _compare_snapshots_table(read)


def without_watermarks(store: TableStore) -> None:
    """Makes the lines of the index what they were before they had watermarks."""
    for segment in stored_path(store.paths.history_index).glob("history-*"):
        segment.write_bytes(re.sub(rb"\t-?[0-9]*\.\n", b"\t.\n", segment.read_bytes()))
    forget_indexes()


CONDITIONS = (
    "snapshot_id = 3",
    "snapshot_id > 5 AND snapshot_id <= 8",
    "snapshot_id IN (1, 7) OR snapshot_id > 30",
    "commit_kind = 'COMPACT'",
    "commit_kind <> 'COMPACT' AND snapshot_id < 20",
    f"commit_time >= TIMESTAMP '{local_datetime(4000)}'",
    f"commit_time < TIMESTAMP '{local_datetime(3000)}' AND commit_user = 'user 1'",
    f"commit_kind = 'COMPACT' OR commit_time = TIMESTAMP '{local_datetime(2000)}'",
    "commit_user = 'user 2' OR snapshot_id = 1",
    "operation IS NULL",
    "1 = 0",
)


def _compare_snapshots_table(store: TableStore) -> None:
    table = SystemTable(store, "snapshots")
    every = table.scan().to_arrow()
    for condition in CONDITIONS:
        expected = set(every["snapshot_id"].to_pylist()) & _model(every.to_pylist(), condition)
        assert set(table.scan(where=condition).to_arrow()["snapshot_id"].to_pylist()) == expected, condition


def _model(rows: list[dict[str, object]], condition: str) -> set[object]:
    def at(millis: int) -> dt.datetime:
        return local_datetime(millis)

    tests: dict[str, Callable[[Any], bool]] = dict(
        zip(
            CONDITIONS,
            (
                lambda one: one["snapshot_id"] == 3,
                lambda one: 5 < one["snapshot_id"] <= 8,
                lambda one: one["snapshot_id"] in {1, 7} or one["snapshot_id"] > 30,
                lambda one: one["commit_kind"] == "COMPACT",
                lambda one: one["commit_kind"] != "COMPACT" and one["snapshot_id"] < 20,
                lambda one: one["commit_time"] >= at(4000),
                lambda one: one["commit_time"] < at(3000) and one["commit_user"] == "user 1",
                lambda one: one["commit_kind"] == "COMPACT" or one["commit_time"] == at(2000),
                lambda one: one["commit_user"] == "user 2" or one["snapshot_id"] == 1,
                lambda _: True,
                lambda _: False,
            ),
            strict=True,
        )
    )
    return {one["snapshot_id"] for one in rows if tests[condition](one)}


@pytest.mark.local_disk
def test_a_search_opens_few_snapshots(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", spread(300, 30), noted=True)

    def opened() -> int:
        forget_indexes()
        count = len(log.names("read", "snapshot-"))
        log.log.clear()
        return count

    logged = with_storage(store, log := Logged())
    assert snapshot_at(logged, 10_500) == made[9]
    assert opened() <= 8 + 2
    assert snapshot_at(logged, 298_000) == made[297]
    assert opened() <= 8, "the newest are opened without the index"
    assert snapshot_since(logged, 10_500) == made[10]
    assert opened() <= 2
    assert snapshot_at(logged, 999) is None
    assert opened() <= 8 + 1
    table = SystemTable(logged, "snapshots")
    for condition, count in (
        ("snapshot_id = 7", 1),
        ("snapshot_id BETWEEN 10 AND 19", 10),
        ("commit_kind = 'COMPACT' AND snapshot_id <= 100", 10),
        (f"commit_time < TIMESTAMP '{local_datetime(6000)}'", 5),
        ("commit_user = 'user 1' AND snapshot_id <= 30", 10),
        ("commit_user = 'nobody'", 0),
    ):
        assert len(table.scan(where=condition).to_arrow()) == count
        assert opened() <= count + 1, condition


@pytest.mark.local_disk
def test_a_search_adds_what_others_wrote(tmp_path: Path) -> None:
    store, made = write_history(tmp_path / "t", [A] * 300)
    assert snapshot_at(store, 10_500) == made[9]
    logged = with_storage(store, log := Logged())
    for most in (2 * 8 + 2, 8 + 2):  # the newest ones get a line when the next search reads the index
        forget_indexes()
        assert snapshot_at(logged, 20_500) == made[19]
        assert len(log.names("read", "snapshot-")) <= most
        log.log.clear()


@pytest.mark.local_disk
def test_a_search_for_a_watermark_opens_few_snapshots(tmp_path: Path) -> None:
    """Also one for a watermark that no snapshot has; and once its lines have watermarks, an index from before."""
    store = new_store(tmp_path / "t")
    made = [commit_snapshot(store, watermark=None if number % 50 == 0 else number * 1000) for number in range(300)]
    logged = with_storage(store, log := Logged())

    def opened() -> int:
        forget_indexes()
        count = len(log.names("read", "snapshot-"))
        log.log.clear()
        return count

    def check(most: int) -> None:
        searches: list[tuple[Callable[[], Snapshot | None], Snapshot | None]] = [
            (lambda: rollback_to(logged, watermark=10_500, dry_run=True).target, made[10]),
            (lambda: rollback_to(logged, watermark=50_500, dry_run=True).target, made[49]),
            (lambda: find_snapshot(logged, version="watermark-10500", timestamp=None, tag=None), made[11]),
            (lambda: snapshot_at_watermark(logged, 999), None),
            (lambda: snapshot_since_watermark(logged, 10**6), None),
        ]
        for search, expected in searches:
            assert search() == expected
            assert opened() <= most

    check(8 + 3)
    without_watermarks(store)
    assert snapshot_since_watermark(logged, 10_500) == made[11]
    assert opened() >= 300
    check(8 + 3)
