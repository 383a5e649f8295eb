"""Jobs: actions that run on threads, one at a time for each table.

A job is queued, runs, and ends as ``succeeded``, ``failed`` or ``cancelled``. It can be queried until enough newer jobs
have ended. A queued job can be cancelled. A running job that reports progress stops at its next report and deletes the
files that it wrote; other jobs run to their end. A service that stops waits for running jobs. A service that is killed
leaves valid tables, and possibly orphan files.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, get_args

from lakebed.errors import LakebedError, NotFoundError
from lakebed.service.error_answers import RefusedError
from lakebed.service.metrics import Metrics
from lakebed.service.models.jobs import ActionName, Job, JobState, Progress
from lakebed.service.settings import Limits

STATES: Final[tuple[JobState, ...]] = get_args(JobState)
_LOG: Final = logging.getLogger("lakebed.service")


class StoppedError(Exception):
    """The job was cancelled while it ran."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job: values for programs, one sentence for people."""

    result: dict[str, Any]
    summary: str


Report: TypeAlias = Callable[[int, int], None]
Work: TypeAlias = Callable[[Report], Outcome]


@dataclass(frozen=True, slots=True)
class Task:
    """What a job does, to which table, and whether it can be stopped while it runs."""

    action: ActionName
    warehouse: str
    database: str
    table: str
    branch: str
    dry_run: bool
    arguments: Mapping[str, Any]
    work: Work
    can_stop: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        return self.warehouse, self.database, self.table


@dataclass(slots=True)
class _Entry:
    """A job and its state; changed only under the lock of :class:`Jobs`."""

    id: str
    task: Task
    created: int
    state: JobState = "queued"
    started: int | None = None
    finished: int | None = None
    progress: tuple[int, int] | None = None
    outcome: Outcome | None = None
    error: str | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    future: Future[None] | None = None

    @property
    def is_over(self) -> bool:
        return self.finished is not None

    @property
    def can_cancel(self) -> bool:
        return not self.stop.is_set() and (self.state == "queued" or (self.state == "running" and self.task.can_stop))


class Jobs:
    """All jobs of a service."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._most = limits.jobs
        self._metrics = metrics
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="lakebed-job")
        self._jobs: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    def start(self, task: Task) -> Job:
        """Start a job; raises if another job on the same table has not ended."""
        with self._lock:
            if self._closed:
                raise RefusedError(503, "the service is about to end and accepts no more jobs")
            for other in self._jobs.values():
                if not other.is_over and other.task.place == task.place:
                    raise RefusedError(
                        409,
                        f"job {other.id} ({other.task.action}) on table {task.database}.{task.table} has not ended "
                        "yet; "
                        "wait for it or cancel it",
                    )
            entry = _Entry(uuid.uuid4().hex[:16], task, _now())
            self._jobs[entry.id] = entry
            self._metrics.jobs_active.inc()
            shown = _shown(entry)
            entry.future = self._pool.submit(self._run, entry)
            return shown

    def get(self, job_id: str) -> Job:
        """Returns a job by its id."""
        with self._lock:
            return _shown(self._entry(job_id))

    def list(self, wanted: Callable[[Job], bool]) -> list[Job]:
        """Returns the jobs that match, newest first."""
        with self._lock:
            found = [_shown(entry) for entry in reversed(self._jobs.values())]
        return [job for job in found if wanted(job)]

    def cancel(self, job_id: str) -> Job:
        """Cancel a job; a running one stops at its next report."""
        with self._lock:
            entry = self._entry(job_id)
            if not entry.can_cancel:
                why = "has already ended" if entry.is_over else "cannot be stopped any more"
                raise RefusedError(409, f"job {job_id} {why}")
            entry.stop.set()
            if entry.future is not None and entry.future.cancel():
                self._end(entry, "cancelled")
            return _shown(entry)

    def close(self) -> None:
        """Accept no more jobs; cancel those that are queued or can be stopped, and wait for the others."""
        with self._lock:
            self._closed = True
            for entry in self._jobs.values():
                if not entry.is_over:
                    entry.stop.set()
                    if entry.future is not None and entry.future.cancel():
                        self._end(entry, "cancelled")
        self._pool.shutdown(wait=True)

    # ------------------------------------------------------------------------------------------------------ inside

    def _entry(self, job_id: str) -> _Entry:
        entry = self._jobs.get(job_id)
        if entry is None:
            raise NotFoundError(f"there is no job {job_id!r}; only the last {self._most} are kept")
        return entry

    def _run(self, entry: _Entry) -> None:
        def report(done: int, total: int) -> None:
            with self._lock:
                entry.progress = (done, total)
            if entry.task.can_stop and entry.stop.is_set():
                raise StoppedError

        with self._lock:
            entry.state, entry.started = "running", _now()
        state: JobState = "failed"
        try:
            entry.outcome = entry.task.work(report)
            state = "succeeded"
        except StoppedError:
            state = "cancelled"
        except LakebedError as error:
            entry.error = " ".join(str(error).split())
        except Exception:  # noqa: BLE001 - the error becomes the state of the job
            _LOG.exception("job %s (%s) failed", entry.id, entry.task.action)
            entry.error = "the job failed; see the log of the service"
        with self._lock:
            self._end(entry, state)

    def _end(self, entry: _Entry, state: JobState) -> None:
        entry.state, entry.finished = state, _now()
        self._metrics.jobs_active.dec()
        self._metrics.jobs.labels(entry.task.action, state).inc()
        over = [job_id for job_id, job in self._jobs.items() if job.is_over]
        for job_id in over[: max(0, len(over) - self._most)]:
            del self._jobs[job_id]


def _shown(entry: _Entry) -> Job:
    task = entry.task
    return Job(
        id=entry.id,
        action=task.action,
        warehouse=task.warehouse,
        database=task.database,
        table=task.table,
        branch=task.branch,
        dry_run=task.dry_run,
        arguments=dict(task.arguments),
        state=entry.state,
        created_millis=entry.created,
        started_millis=entry.started,
        finished_millis=entry.finished,
        progress=None if entry.progress is None else Progress(done=entry.progress[0], total=entry.progress[1]),
        can_cancel=entry.can_cancel,
        summary=None if entry.outcome is None else entry.outcome.summary,
        result=None if entry.outcome is None else entry.outcome.result,
        error=entry.error,
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
