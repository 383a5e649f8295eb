from __future__ import annotations

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.metadata.stores import Failing, Logged

from lakebed import Table
from lakebed.metadata.consumers import list_consumers, reset_consumer
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import create_tag
from lakebed.operations import after_commit as maintain
from lakebed.operations.after_commit import after_commit, wait_for_background

SOON = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}


@pytest.fixture(autouse=True)
def no_checks_before() -> Iterator[None]:
    maintain._last_checks.clear()
    yield
    maintain._last_checks.clear()


def filled(table: Callable[..., Table], options: dict[str, str], commits: int = 3, **more: Any) -> TableStore:
    """A table with commits that were not cleaned up after."""
    made = table("dt STRING, k INT", options={**options, "write-only": "true"}, **more)
    for number in range(commits):
        made.write([{"dt": "2025-01-01", "k": number}])
    kept = {key: value for key, value in made.schema.options.items() if key != "write-only"}
    kept["write-only"] = options.get("write-only", "false")
    store = made._store
    store.schemas.change(lambda schema: _with(schema, kept))
    return store


def _with(schema: Any, options: dict[str, str]) -> Any:
    return replace(schema, id=schema.id + 1, options=options)


def test_snapshots_go_by_the_options(table: Callable[..., Table]) -> None:
    store = filled(table, SOON)
    after_commit(store)
    assert store.snapshots.ids() == [3]


def test_by_default_young_ones_stay(table: Callable[..., Table]) -> None:
    store = filled(table, {}, commits=12)
    after_commit(store)
    assert len(store.snapshots.ids()) == 12


def test_nothing_is_done_for_write_only_tables(table: Callable[..., Table]) -> None:
    store = filled(table, {**SOON, "write-only": "true"})
    after_commit(store)
    assert len(store.snapshots.ids()) == 3


def test_in_the_background_if_asked(table: Callable[..., Table]) -> None:
    store = filled(table, {**SOON, "snapshot.expire.execution-mode": "async"})
    after_commit(store)
    wait_for_background()
    assert store.snapshots.ids() == [3]


def test_waiting_is_for_all_work_of_a_table(table: Callable[..., Table]) -> None:
    store = filled(table, {})
    background = maintain._Background("test")
    begun, go, done = threading.Event(), threading.Event(), []

    def slow(_: TableStore) -> None:
        begun.set()
        go.wait(10)
        time.sleep(0.05)
        done.append("slow")

    background.submit(store, slow, threads=2)
    assert begun.wait(10)
    background.submit(store, lambda _: go.set(), threads=2)
    background.wait()
    assert done == ["slow"]


def test_tags_and_consumers_go_first(table: Callable[..., Table]) -> None:
    store = filled(table, {**SOON, "consumer.expiration-time": "1 ms"})
    long_ago = dt.datetime.now() - dt.timedelta(days=2)
    create_tag(store, "old", snapshot=1, time_retained="1 d", now=long_ago)
    create_tag(store, "new", snapshot=2, time_retained="1 d")
    reset_consumer(store, "c", 1)
    time.sleep(0.01)
    after_commit(store)
    assert sorted(store.snapshots.tags()) == ["new"]
    assert list_consumers(store) == {}
    assert store.snapshots.ids() == [3]


def test_partitions_are_looked_at_once_per_interval(
    table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(
        table,
        {"partition.expiration-time": "1 d", "partition.expiration-check-interval": "10 s"},
        partition_by=["dt"],
    )
    clock = [1000.0]
    monkeypatch.setattr("lakebed.operations.after_commit.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("lakebed.operations.after_commit.random.uniform", lambda _, high: high * 0.5)
    after_commit(store)
    assert len(store.snapshots.ids()) == 3  # the first look of a process comes at random
    clock[0] += 5
    after_commit(store)
    assert len(store.snapshots.ids()) == 4
    Table(store).write([{"dt": "2025-01-01", "k": 1}])
    before = store.snapshots.latest_id()
    clock[0] += 9
    after_commit(store)
    assert store.snapshots.latest_id() == before
    clock[0] += 1
    after_commit(store)
    assert store.snapshots.latest_id() == (before or 0) + 1


def test_partitions_are_looked_at_after_every_batch_if_asked(table: Callable[..., Table]) -> None:
    options = {"partition.expiration-time": "1 d", "end-input.check-partition-expire": "true"}
    store = filled(table, options, partition_by=["dt"])
    after_commit(store)
    assert len(store.snapshots.ids()) == 4


def test_failures_are_logged_and_never_raised(table: Callable[..., Table], caplog: pytest.LogCaptureFixture) -> None:
    made = filled(table, {**SOON, "snapshot.num-retained.min": "2"})
    after_commit(made)
    assert "old snapshots were not expired: retain_min (2) must not exceed retain_max (1)" in caplog.text
    store = filled(table, SOON)
    for fail_at in range(1, 100):
        caplog.clear()
        storage = Failing(fail_at, after=False, forever=True)
        with caplog.at_level(logging.WARNING, "lakebed"):
            after_commit(TableStore(storage, store.paths, "db.t"))
        if not storage.failed:
            break
        assert store.snapshots.ids()[-1] == 3
    else:
        pytest.fail("never without a failure")


def test_it_costs_little_when_there_is_nothing_to_do(table: Callable[..., Table]) -> None:
    def calls(commits: int) -> list[tuple[str, str]]:
        made = filled(table, {}, commits=commits)
        log = Logged()
        store = TableStore(log, made.paths, "db.t")
        after_commit(store)
        log.log.clear()
        after_commit(store)
        return log.log

    few, many = calls(2), calls(15)
    assert len(many) <= 20
    assert len(many) - len(few) <= 1  # one snapshot is looked at for its age
    assert "snapshot" not in [name for done, name in many if done == "list"]
