"""The journal of an autopilot: one small file for every job, in ``.lakebed/autopilot/jobs/`` of the warehouse.

A record is written when a job begins and again when it ends, so it outlives the process. A record that still says
``running``, of a lease that no longer holds, belongs to a process that died. The newest records are kept, and for each
table the last success of each kind, however old: it says when a job is due again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

from lakebed.autopilot.needs import JobKind, Need
from lakebed.errors import LakebedError, NotFoundError
from lakebed.storage import Storage, run_all

_KEPT: Final = 2000
_PRUNED_AT_ONCE: Final = 100
_DIGITS: Final = 15


class JobState(StrEnum):
    """What became of a job."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    CONFLICT = "conflict"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job.

    Attributes:
        id: Its name in the journal; later jobs have higher ones.
        kind: What it did.
        table: The table, with its branch.
        why: Why it was needed.
        cost: How many bytes it was expected to read and write.
        gain: How many bytes each later read was expected to save.
        lease: The number of the lease under which it ran.
        started_millis: When it began, in epoch milliseconds.
        state: What became of it.
        finished_millis: When it ended.
        summary: What it did, or why it failed.
    """

    id: str
    kind: JobKind
    table: str
    why: str
    cost: int
    gain: int
    lease: int
    started_millis: int
    state: JobState = JobState.RUNNING
    finished_millis: int | None = None
    summary: str = ""

    @property
    def is_success(self) -> bool:
        return self.state is JobState.SUCCEEDED


class Journal:
    """The jobs of a warehouse, oldest first in memory."""

    def __init__(self, storage: Storage, folder: str, *, now: Callable[[], int] | None = None) -> None:
        self._storage, self._folder = storage, folder
        self._now = now or _millis
        self._records: dict[str, JobRecord] = {}
        self._lock = threading.RLock()

    def load(self, lease: int | None = None) -> None:
        """Reads the records that are new, or that were not final when they were read.

        Args:
            lease: The number of the lease that holds now. Jobs of older leases that seem to run were interrupted.
        """
        with self._lock:
            names = {info.name.removesuffix(".json") for info in self._storage.list(self._folder)}
            self._records = {name: record for name, record in self._records.items() if name in names}
            new = [name for name in sorted(names) if self._is_open(name)]
            for record in run_all(self._storage, [partial(self._read, name) for name in new]):
                if record is None:
                    continue
                is_dead = record.state is JobState.RUNNING and lease is not None and record.lease < lease
                self._records[record.id] = replace(record, state=JobState.INTERRUPTED) if is_dead else record

    def prune(self) -> None:
        """Deletes the oldest records, if there are many more than are kept."""
        with self._lock:
            names = sorted(self._records)
            if len(names) < _KEPT + _PRUNED_AT_ONCE:
                return
            last = {(one.table, one.kind): one.id for name in names if (one := self._records[name]).is_success}
            for name in sorted({*names[:-_KEPT]} - {*last.values()}):
                del self._records[name]
                with contextlib.suppress(LakebedError):
                    self._storage.delete(self._path(name))

    def begin(self, need: Need, lease: int) -> JobRecord:
        """Records that a job begins."""
        self.prune()
        now = self._now()
        name = f"{now:0{_DIGITS}d}-{uuid.uuid4().hex[:8]}"
        record = JobRecord(name, need.kind, need.table, need.why, need.cost, need.gain, lease, now)
        self._write(record)
        return record

    def end(self, record: JobRecord, state: JobState, summary: str) -> JobRecord:
        """Records how a job ended."""
        ended = replace(record, state=state, finished_millis=self._now(), summary=summary)
        self._write(ended)
        return ended

    def records(self) -> list[JobRecord]:
        """Returns all jobs, newest first."""
        with self._lock:
            return [self._records[name] for name in sorted(self._records, reverse=True)]

    def last(self, table: str) -> dict[JobKind, int]:
        """Returns when a job of each kind last succeeded for a table."""
        found: dict[JobKind, int] = {}
        for record in self.records():
            if record.table == table and record.is_success:
                found.setdefault(record.kind, record.started_millis)
        return found

    def bytes_since(self, millis: int) -> int:
        """Returns how many bytes the jobs that began since a time were expected to read and write."""
        return sum(record.cost for record in self.records() if record.started_millis >= millis)

    def _is_open(self, name: str) -> bool:
        known = self._records.get(name)
        return known is None or known.state in {JobState.RUNNING, JobState.INTERRUPTED}

    def _read(self, name: str) -> JobRecord | None:
        try:
            found = json.loads(self._storage.read(self._path(name)))
            kind, state = JobKind(found.pop("kind")), JobState(found.pop("state"))
            return JobRecord(**found, kind=kind, state=state)
        except (NotFoundError, ValueError, TypeError, KeyError, AttributeError):  # gone, or not ours
            return None

    def _write(self, record: JobRecord) -> None:
        with self._lock:
            self._records[record.id] = record
        self._storage.replace(self._path(record.id), json.dumps(asdict(record)).encode())

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}.json"


def _millis() -> int:
    return time.time_ns() // 1_000_000
