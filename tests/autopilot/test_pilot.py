"""The autopilot as a whole: what it does, what it leaves alone, and that it harms nobody."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tests.autopilot.workers import append, look_after, upsert
from tests.races.crew import start, together

import lakebed
from lakebed.autopilot import Autopilot, Budget, JobKind, JobRecord, JobState
from lakebed.autopilot import pilot as pilot_module
from lakebed.autopilot.journal import Journal
from lakebed.autopilot.lease import Lease
from lakebed.autopilot.needs import needs_of
from lakebed.lake_internals import storage_of
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.table.internals import store_of

MANY = 12


def fragmented(lake: lakebed.Lake, name: str = "db.t", **options: Any) -> lakebed.Table:
    """An append table of many small files."""
    table = lake.create_table(name, "id BIGINT, v STRING", options={"autopilot.skip": "orphans", **options})
    for number in range(MANY):
        table.write([{"id": number, "v": "x"}])
    return table


def files(table: lakebed.Table) -> int:
    store = store_of(table)
    latest = store.snapshots.latest()
    return 0 if latest is None else len(live_entries(store, latest))


def test_it_does_what_is_needed_and_records_it(lake: lakebed.Lake) -> None:
    table = fragmented(lake)
    pilot = Autopilot(lake)
    plan = pilot.plan()
    assert [(job.table, job.kind) for job in plan.jobs] == [("db.t", JobKind.COMPACT)]
    assert str(plan).startswith("1 job to do:\n")
    assert files(table) == MANY
    seen: list[JobRecord] = []
    (record,) = pilot.run_once(seen.append)
    assert [one.state for one in seen] == [JobState.RUNNING, JobState.SUCCEEDED]
    assert (record.table, record.kind, record.why) == ("db.t", JobKind.COMPACT, plan.jobs[0].why)
    assert files(table) == 1
    assert str(pilot.plan()) == "nothing to do"
    assert pilot.run_once() == []
    again = Autopilot(lakebed.connect(lake.warehouse)).status()
    assert again.records == (record,)
    assert again.owner is None


def test_a_conflict_is_tried_again_after_a_pause(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = fragmented(lake)

    def lose(*_: object, **__: object) -> None:
        raise lakebed.CommitConflictError("another writer was faster")

    pilot = Autopilot(lake)
    with monkeypatch.context() as patch:
        patch.setattr(lakebed.Table, "compact", lose)
        (record,) = pilot.run_once()
    assert (record.state, record.summary) == (JobState.CONFLICT, "another writer was faster")
    assert pilot.run_once() == []
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 61)
    (record,) = pilot.run_once()
    assert record.state is JobState.SUCCEEDED
    assert files(table) == 1


def test_one_table_that_cannot_be_read_does_not_stop_the_others(lake: lakebed.Lake) -> None:
    broken, whole = fragmented(lake, "db.broken"), fragmented(lake, "db.whole")
    storage_of(lake).replace(f"{broken.path}/snapshot/snapshot-{MANY}", b"{")
    pilot = Autopilot(lakebed.connect(lake.warehouse))
    (record,) = pilot.run_once()
    assert record.table == "db.whole"
    assert files(whole) == 1
    ((name, why),) = pilot.plan().left_alone
    assert name == "db.broken"
    assert f"snapshot-{MANY}" in why


def test_policies_of_table_database_and_warehouse(lake: lakebed.Lake) -> None:
    fragmented(lake, "db.a")
    fragmented(lake, "db.b", **{"autopilot.enabled": True})
    fragmented(lake, "db.c", **{"autopilot.enabled": False})

    def planned(**options: str) -> list[str]:
        given = {name.replace("_", "."): value for name, value in options.items()}
        return [job.table for job in Autopilot(lakebed.connect(lake.warehouse, options=given)).plan().jobs]

    assert planned() == ["db.a", "db.b"]
    assert planned(autopilot_enabled="false") == ["db.b"]
    lake.set_database_properties("db", {"autopilot.enabled": "true"})
    assert planned(autopilot_enabled="false") == ["db.a", "db.b"]
    lake.set_database_properties("db", {"autopilot.enabled": "perhaps"})
    assert planned() == ["db.b"]
    with pytest.raises(lakebed.OptionError, match=r"autopilot\.enabled"):
        planned(autopilot_enabled="perhaps")
    with pytest.raises(lakebed.OptionError, match="did you mean"):
        planned(autopilot_enable="true")


def test_a_budget_limits_what_is_done(lake: lakebed.Lake) -> None:
    for name in ("db.a", "db.b", "db.c"):
        fragmented(lake, name)
    cost = Autopilot(lake).plan().jobs[0].cost
    assert len(Autopilot(lake, budget=Budget(bytes_per_hour=2 * cost)).run_once()) == 2
    assert Autopilot(lake, budget=Budget(bytes_per_hour=2 * cost)).run_once() == []
    hour = time.localtime().tm_hour
    never = f"{(hour + 2) % 24}-{(hour + 3) % 24}"
    assert Autopilot(lake, budget=Budget(hours=never)).run_once() == []
    assert len(Autopilot(lake, budget=Budget(parallel=2)).run_once()) == 1
    for wrong in ({"hours": "late"}, {"hours": "25-3"}, {"parallel": 0}, {"bytes_per_hour": 0}):
        with pytest.raises(lakebed.OptionError):
            Budget(**wrong)


def test_a_pause_lets_nothing_begin(lake: lakebed.Lake) -> None:
    fragmented(lake)
    Autopilot(lake).pause()
    assert Autopilot(lake).run_once() == []
    assert Autopilot(lake).status().is_paused
    Autopilot(lake).resume()
    assert len(Autopilot(lake).run_once()) == 1


def test_a_job_of_a_process_that_died_was_interrupted(lake: lakebed.Lake) -> None:
    fragmented(lake)
    pilot = Autopilot(lake)
    record = pilot.run_once()[0]
    path = f"{lake.warehouse}/.lakebed/autopilot/jobs/{record.id}.json"
    storage = storage_of(lake)
    storage.replace(path, storage.read(path).replace(b'"succeeded"', b'"running"'))
    (shown,) = Autopilot(lake).status().records
    assert shown.state is JobState.INTERRUPTED


def test_the_jobs_of_a_lost_lease_stop(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    fragmented(lake)
    folder = f"{lake.warehouse}/.lakebed/autopilot"
    taken = []

    def compact(_: lakebed.Table, *, full: bool, report: Any) -> None:
        taken.append(Lease.take(storage_of(lake), folder, seconds=0.0))
        report(0, 1)
        raise AssertionError("the job went on")

    monkeypatch.setattr(lakebed.Table, "compact", compact)
    (record,) = Autopilot(lake, lease_seconds=3600).run_once()
    assert record.state is JobState.INTERRUPTED
    taken[0].release()


def test_an_unexpected_error_ends_neither_a_round_nor_the_autopilot(
    lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragmented(lake, "db.bad")
    good = fragmented(lake, "db.good")
    fails = [2]

    def sometimes(patient: Any) -> Any:
        if patient.table.name == "db.bad":
            raise ZeroDivisionError("broken")
        return needs_of(patient)

    def first_rounds_fail(*args: Any, **more: Any) -> Any:
        if fails[0]:
            fails[0] -= 1
            raise ZeroDivisionError("broken")
        return journal_begin(*args, **more)

    journal_begin = Journal.begin
    monkeypatch.setattr(pilot_module, "needs_of", sometimes)
    monkeypatch.setattr(Journal, "begin", first_rounds_fail)
    pilot = Autopilot(lake, interval=0.05)
    assert ("db.bad", "ZeroDivisionError: broken") in pilot.plan().left_alone
    stop = threading.Event()
    pilot.run(stop, lambda record: stop.set() if record.finished_millis else None)
    assert files(good) == 1


@pytest.mark.local_disk
def test_autopilots_and_writers_together(lake: lakebed.Lake) -> None:
    """Two autopilots, one of which is killed, beside writers: nothing is lost, and files stay few."""
    names = [f"db.t{number}" for number in range(2)]
    for name in names:
        lake.create_table(name, "id BIGINT, v STRING", options={"compaction.min.file-num": 5})
    keyed = lake.create_table("db.k", "id BIGINT, v STRING", primary_key=["id"], options={"bucket": 1})
    pilots = [start(look_after, (lake.warehouse, 1.0)) for _ in range(2)]
    try:
        tasks = [(append, (lake.warehouse, name, 40)) for name in names]
        *written, last = together([*tasks, (upsert, (lake.warehouse, "db.k", 20))])
        pilots[0].kill()
        assert [lake.table(name).count() for name in names] == written
        assert {row["v"] for row in keyed.scan().to_arrow().to_pylist()} == {str(last)}
        end = time.monotonic() + 60
        while any(files(lake.table(name)) > 5 for name in names):
            assert time.monotonic() < end, [files(lake.table(name)) for name in names]
            time.sleep(0.2)
    finally:
        for process in pilots:
            process.kill()
            process.join()
    for name in (*names, "db.k"):
        assert lake.table(name).verify(deep=True).ok
    assert [lake.table(name).count() for name in names] == written
