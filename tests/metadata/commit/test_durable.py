"""Durable commits: what is flushed, in which order, and who decides whether it is."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.power_cut import Event, recorded
from tests.metadata.stores import Wrapped
from tests.places import stored_path

import lakebed
from lakebed import Lake, Table
from lakebed.changes import SetOption
from lakebed.errors import CommitOutcomeUnknownError, OptionError, StorageError
from lakebed.metadata.commit import durable
from lakebed.storage import LocalStorage, flush


@pytest.fixture
def safe(tmp_path: Path) -> Lake:
    """A warehouse with the default of the option."""
    lake = lakebed.connect(tmp_path / "w")
    lake.create_database("db")
    return lake


def flushes(events: list[Event]) -> list[str]:
    return [event[1] for event in events if event[0] == "flush"]


def test_everything_is_flushed_before_the_snapshot_has_its_name_and_the_folder_after_it(safe: Lake) -> None:
    table = safe.create_table("db.t", "p INT, id INT", partition_by=["p"])
    table.write([{"p": 1, "id": 1}])
    with recorded() as events:
        table.write([{"p": 1, "id": 2}, {"p": 2, "id": 3}])
    kinds = [event[0] for event in events]
    link = kinds.index("link")
    before, after = flushes(events[:link]), flushes(events[link:])
    new = {event[1] for event in events[:link] if event[0] == "create"}
    assert len(new) == 6  # two data files, a manifest, two lists, the temporary of the snapshot
    folders = {f"{table.path}{name}" for name in ("", "/manifest", "/snapshot", "/p=1", "/p=2")}
    folders |= {f"{table.path}/p={number}/bucket-0" for number in (1, 2)}
    assert sorted(before) == sorted({*new, *folders})  # each once
    assert after == [f"{table.path}/snapshot"]


@pytest.mark.parametrize("options", [{"commit.durable": "false"}, {"commit.durable": False}])
def test_the_warehouse_can_switch_it_off(tmp_path: Path, options: dict[str, object]) -> None:
    lake = lakebed.connect(tmp_path, options=options)
    lake.create_database("db")
    with recorded() as events:
        table = lake.create_table("db.t", "id INT")
        table.write([{"id": 1}])
        table.create_tag("a")
        table.create_branch("b", tag="a")
        table.rollback_to(snapshot=1)
    assert flushes(events) == []
    assert "lakebed.durable" not in table.snapshot(1).properties


@pytest.mark.parametrize("of_warehouse", [True, False])
def test_the_option_of_the_table_wins(tmp_path: Path, of_warehouse: bool) -> None:
    lake = lakebed.connect(tmp_path, options={"commit.durable": of_warehouse})
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT", options={"commit.durable": not of_warehouse})
    with recorded() as events:
        table.write([{"id": 1}])
    assert bool(flushes(events)) is not of_warehouse
    assert table.snapshot(1).properties.get("lakebed.durable") == (None if of_warehouse else "true")
    table.alter(SetOption("commit.durable", str(of_warehouse).lower()))
    with recorded() as events:
        table.write([{"id": 1}])  # the same handle
    assert bool(flushes(events)) is of_warehouse


def test_a_handle_can_choose(safe: Lake) -> None:
    safe.create_table("db.t", "id INT")
    with recorded() as events:
        safe.table("db.t", options={"commit.durable": False}).write([{"id": 1}])
    assert flushes(events) == []


def test_a_bad_value_of_the_warehouse(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"commit\.durable"):
        lakebed.connect(tmp_path, options={"commit.durable": "maybe"})


def test_executors_know_it(tmp_path: Path) -> None:
    lake = lakebed.connect(tmp_path, options={"commit.durable": False})
    lake.create_database("db")
    store = lake.create_table("db.t", "id INT")._store
    assert pickle.loads(pickle.dumps(store)).is_durable is False


def test_a_task_flushes_what_it_wrote(safe: Lake) -> None:
    table = safe.create_table("db.t", "id INT")
    table.write([{"id": 1}])
    store = table._store
    entries = store.manifests.read_entries(store.manifests.read_list(table.snapshot(1).delta_manifest_list))
    (data,) = stored_path(table.path).glob("bucket-0/*")
    with recorded() as events:
        durable.sync_written(store, store.schema(), [entries])
    assert set(flushes(events)) == {str(data), f"{table.path}/bucket-0", table.path}


def test_a_lost_race_does_not_flush_data_again(safe: Lake) -> None:
    table = safe.create_table("db.t", "id INT")
    again = safe.table("db.t")
    store = table._store

    class Overtaken(Wrapped):
        done = False

        def call(self, name: str, path: Any, run: Any) -> Any:  # noqa: ARG002 - as in the base class
            if name == "create_exclusive" and not self.done:
                self.done = True
                again.write([{"id": 2}])
            return run()

    racing = Table(type(store)(Overtaken(), store.paths, store.name))
    with recorded() as events:
        racing.write([{"id": 1}])
    assert table.count() == 2
    data = [path for path in flushes(events) if path.endswith(".parquet")]
    assert len(data) == len(set(data)) == 2


class Broken(LocalStorage):
    """A disk that fails to flush a folder after the snapshot has its name."""

    fails = True

    def sync(self, paths: Any, *, below: str) -> None:
        if self.fails:
            raise StorageError("cannot flush: input/output error")
        super().sync(paths, below=below)


@pytest.mark.parametrize("fails", [True, False])
def test_a_flush_that_fails_after_the_snapshot_is_there(
    safe: Lake, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """The flush is tried once more; if it fails again, the commit is there, but nobody may rely on it."""
    table = safe.create_table("db.t", "id INT")
    store = table._store
    broken = Broken()
    broken.fails = fails

    def flush_one(path: str) -> None:
        if path.endswith("/snapshot") and stored_path(path, "snapshot-1").exists():
            raise OSError(5, "input/output error")

    monkeypatch.setattr("lakebed.storage.local.flush_one", flush_one)
    own = Table(type(store)(broken, store.paths, store.name))
    if fails:
        with pytest.raises(CommitOutcomeUnknownError, match="may not survive a power cut"):
            own.write([{"id": 1}])
    else:
        own.write([{"id": 1}])
    assert table.count() == 1


def test_a_disk_that_cannot_flush_data_commits_nothing(safe: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = safe.create_table("db.t", "id INT")

    def flush_one(path: str) -> None:
        if path.endswith(".parquet"):
            raise OSError(28, "no space left on device")

    monkeypatch.setattr(flush, "flush_one", flush_one)
    with pytest.raises(StorageError, match="no space left"):
        table.write([{"id": 1}])
    assert list(files(table, "snapshot-*")) == list(files(table, "*.parquet")) == list(files(table, "manifest-*")) == []


def files(table: Table, pattern: str) -> Iterator[Path]:
    return stored_path(table.path).rglob(pattern)


# --------------------------------------------------------------------------------------------------------- expiry


@pytest.mark.parametrize("is_durable", [True, False])
def test_expiry_flushes_what_remains_before_it_deletes(tmp_path: Path, is_durable: bool) -> None:
    lake = lakebed.connect(tmp_path, options={"commit.durable": is_durable})
    lake.create_database("db")
    table = lake.create_table("db.t", "id INT", options={"write-only": True})
    for number in range(3):
        table.write([{"id": number}])
    table.compact(full=True)
    with recorded() as events:
        table.expire_snapshots(retain_max=1, retain_min=1)
    first = next(number for number, event in enumerate(events) if event[0] == "unlink")
    before = set(flushes(events[:first]))
    if is_durable:
        assert before == set()  # its commits did
        assert f"{table.path}/snapshot" in flushes(events[first:])
        return
    kept = table.snapshot(4)
    (compacted,) = {event[1] for event in events if event[0] == "flush" and event[1].endswith(".parquet")} - {
        event[1] for event in events if event[0] == "unlink"
    }
    assert stored_path(compacted).exists()
    wanted = {f"{table.path}/snapshot/snapshot-4", f"{table.path}/manifest/{kept.base_manifest_list}", compacted}
    assert wanted <= before
