"""The records of jobs: what is kept, and how often files are read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lakebed.autopilot import JobKind, JobRecord, JobState
from lakebed.autopilot import journal as module
from lakebed.autopilot.journal import Journal
from lakebed.autopilot.needs import Need
from lakebed.storage import LocalStorage


class Counted(LocalStorage):
    """Counts how often each file is read."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()

    def read(self, path: str) -> bytes:
        self.reads[path] += 1
        return super().read(path)


def need(kind: JobKind = JobKind.COMPACT, table: str = "db.t") -> Need:
    return Need(kind, table, "why", 10, 20, lambda _: "")


def do(journal: Journal, *args: Any, state: JobState = JobState.SUCCEEDED) -> JobRecord:
    return journal.end(journal.begin(need(*args), 1), state, "done")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "jobs").mkdir()
    return str(tmp_path / "jobs")


def test_old_records_go_but_the_last_success_of_each_kind_stays(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 5)
    monkeypatch.setattr(module, "_PRUNED_AT_ONCE", 3)
    millis = iter(range(1, 1000))
    journal = Journal(LocalStorage(), folder, now=lambda: next(millis))
    orphans = do(journal, JobKind.ORPHANS)
    failed = do(journal, JobKind.ORPHANS, "db.other", state=JobState.FAILED)
    for _ in range(40):
        do(journal)
    again = Journal(LocalStorage(), folder)
    again.load()
    assert again.records() == journal.records()
    assert len(again.records()) <= 5 + 3 + 1
    assert again.last("db.t")[JobKind.ORPHANS] == orphans.started_millis
    assert failed not in again.records()


def test_a_record_that_is_final_is_read_once(folder: str) -> None:
    writer = Journal(LocalStorage(), folder)
    for _ in range(3):
        do(writer)
    running = writer.begin(need(), 1)
    storage = Counted()
    reader = Journal(storage, folder)
    for _ in range(4):
        reader.load()
    assert sorted(storage.reads.values()) == [1, 1, 1, 4]
    writer.end(running, JobState.SUCCEEDED, "done")
    reader.load()
    assert reader.records() == writer.records()
    Path(folder, f"{running.id}.json").unlink()
    reader.load()
    assert len(reader.records()) == 3
