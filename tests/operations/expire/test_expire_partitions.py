from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.metadata.stores import Interrupted

from lakebed import Table
from lakebed.errors import OptionError, UnsupportedError
from lakebed.metadata.store import TableStore
from lakebed.operations.expire.expire_partitions import expire_partitions

NOW = dt.datetime(2025, 1, 10, 12)


def days(table: Table) -> list[str]:
    return sorted(table.scan().to_arrow()["dt"].to_pylist())


@pytest.fixture
def daily(table: Callable[..., Table]) -> Callable[..., Table]:
    def make(values: list[str | None] | None = None, **options: str) -> Table:
        named = {f"partition.{name.replace('_', '-')}": value for name, value in options.items()}
        made = table("dt STRING, k INT", partition_by=["dt"], options={"write-only": "true", **named})
        given = values if values is not None else [f"2025-01-0{day}" for day in range(1, 8)]
        made.write(pa.table({"dt": pa.array(given, pa.string()), "k": pa.array([1] * len(given), pa.int32())}))
        return made

    return make


def expire(table: Table, **more: Any) -> list[str | None]:
    return [part["dt"] for part in expire_partitions(table._store, now=NOW, **more)]


def test_partitions_older_than_the_time_go_oldest_first(daily: Callable[..., Table]) -> None:
    table = daily(expiration_time="7 d")
    # A day that began before 3 January, noon.
    assert expire(table, dry_run=True) == ["2025-01-01", "2025-01-02", "2025-01-03"]
    assert len(days(table)) == 7
    assert expire(table) == ["2025-01-01", "2025-01-02", "2025-01-03"]
    assert days(table) == [f"2025-01-0{day}" for day in range(4, 8)]
    assert expire(table) == []
    latest = table.latest_snapshot()
    assert latest is not None
    assert (latest.id, str(latest.commit_kind)) == (2, "OVERWRITE")


def test_the_moment_itself_is_not_older(daily: Callable[..., Table]) -> None:
    table = daily(["2025-01-03 12:00:00", "2025-01-03 11:59:59"], expiration_time="7 d")
    assert expire(table) == ["2025-01-03 11:59:59"]


def test_arguments_win_over_options(daily: Callable[..., Table]) -> None:
    table = daily(["03.01.25", "06.01.25"], expiration_time="1 d")
    assert expire(table, expiration_time=dt.timedelta(days=7), timestamp_formatter="dd.MM.yy") == ["03.01.25"]
    assert expire(table, expiration_time="1 d", timestamp_formatter="MM.dd.yy", timestamp_pattern="$dt") == []


def test_so_many_at_once_in_so_many_commits(daily: Callable[..., Table]) -> None:
    table = daily(expiration_time="1 d", expiration_max_num="5", expiration_batch_size="2")
    assert len(expire(table)) == 5
    latest = table.latest_snapshot()
    assert latest is not None
    assert latest.id == 1 + 3
    assert expire(table, max_expires=1) == ["2025-01-06"]


def test_values_that_are_no_time_stay_with_a_warning(
    daily: Callable[..., Table], caplog: pytest.LogCaptureFixture
) -> None:
    table = daily([None, "soon", "2025-01-01"], expiration_time="1 d")
    with caplog.at_level(logging.WARNING, "lakebed"):
        assert expire(table) == ["2025-01-01"]
    assert len(caplog.records) == 2
    assert "soon" in caplog.text
    assert table.scan().to_arrow().num_rows == 2


def test_by_the_time_of_the_newest_file(daily: Callable[..., Table]) -> None:
    table = daily(["a", "b"], expiration_time="1 h", expiration_strategy="update-time")
    now = dt.datetime.now()
    assert expire_partitions(table._store, now=now + dt.timedelta(minutes=59)) == []
    assert len(expire_partitions(table._store, now=now + dt.timedelta(minutes=61), dry_run=True)) == 2


def test_a_partition_that_is_written_meanwhile_stays(daily: Callable[..., Table]) -> None:
    table = daily(["a"], expiration_time="1 ms", expiration_strategy="update-time")
    store = table._store
    entries = store.manifests.read_entries(store.manifests.read_list(store.snapshots.get(1).delta_manifest_list))
    cutoff = entries["creation_time"][0].as_py() + dt.timedelta(milliseconds=1)
    while dt.datetime.now() < cutoff:
        time.sleep(0.001)
    storage = Interrupted(lambda: table.write([{"dt": "a", "k": 2}]), before="create_exclusive", ending="snapshot-2")
    store = TableStore(storage, store.paths, "db.t")
    expire_partitions(store, expiration_time=dt.timedelta(0), now=cutoff)
    assert not storage.hooks
    assert sorted(table.scan().to_arrow()["k"].to_pylist()) == [1, 2]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({}, "partition.expiration-time"),
        ({"expiration_time": "soon"}, "7 d"),
        ({"expiration_time": "1 d", "max_expires": 0}, "max_expires"),
        ({"expiration_time": "1 d", "timestamp_formatter": "yyyy"}, "whole date"),
    ],
)
def test_what_cannot_be_is_refused(daily: Callable[..., Table], more: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        expire(daily(), **more)


def test_other_strategies_are_refused(daily: Callable[..., Table]) -> None:
    with pytest.raises(UnsupportedError, match=r"'custom'.*values-time"):
        expire(daily(), expiration_time="1 d", strategy="custom")


def test_a_table_without_partitions_is_refused(table: Callable[..., Table]) -> None:
    with pytest.raises(OptionError, match="no partitions"):
        expire_partitions(table()._store, expiration_time="1 d")


def test_an_empty_table_has_none(daily: Callable[..., Table]) -> None:
    table = daily([], expiration_time="1 d")
    assert expire(table) == []
    assert table.latest_snapshot() is None
