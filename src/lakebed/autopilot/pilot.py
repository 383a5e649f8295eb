"""The autopilot of a warehouse: looks at its tables again and again, and does what they need.

Jobs run one after the other, or a few at a time, never two for one table. Each is an ordinary commit, so writers go on
meanwhile, and a job that loses to a writer is tried again later, after a pause that grows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Final

from lakebed.autopilot.budget import Budget
from lakebed.autopilot.journal import JobRecord, JobState, Journal
from lakebed.autopilot.lease import Lease, LostError, Owner, holder, newest_lease
from lakebed.autopilot.needs import JobKind, Need, Patient, in_order, needs_of
from lakebed.autopilot.policy import Policy, policy_of
from lakebed.errors import CommitConflictError, LakebedError, NotFoundError
from lakebed.format.human_text import count_text, size_text, table_lines
from lakebed.format.printed import Printed
from lakebed.lake import Lake
from lakebed.lake_internals import storage_of
from lakebed.table import Table

_FOLDER: Final = ".lakebed/autopilot"
_KINDS: Final = tuple(JobKind)
_HOUR: Final = 3_600_000
_FIRST_PAUSE: Final = 60.0
_LONGEST_PAUSE: Final = 3600.0
_LOOK_AGAIN: Final = 600.0  # a table that nobody changed may still have files that became too old
_LOG: Final = logging.getLogger("lakebed.autopilot")


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that the autopilot would run.

    Attributes:
        kind: What it does.
        table: The table, with its branch.
        why: Why it is needed.
        cost: How many bytes it reads and writes.
        gain: How many bytes each later read saves.
    """

    kind: JobKind
    table: str
    why: str
    cost: int
    gain: int


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Printed):
    """What the tables of a warehouse need now, in the order in which it would be done.

    Attributes:
        jobs: The jobs.
        left_alone: The tables that the autopilot does not look after, each with the reason.
    """

    jobs: tuple[PlannedJob, ...]
    left_alone: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        rows = [["table", "job", "cost", "why"]]
        rows += [[job.table, str(job.kind), size_text(job.cost), job.why] for job in self.jobs]
        lines = [f"{count_text(len(self.jobs), 'job')} to do:", *(f"  {line}" for line in table_lines(rows, right=[2]))]
        lines = lines if self.jobs else ["nothing to do"]
        return "\n".join([*lines, *(f"left alone: {table}, because {why}" for table, why in self.left_alone)])


@dataclass(frozen=True, slots=True)
class Status:
    """What the autopilot of a warehouse is doing.

    Attributes:
        owner: The process that works; ``None`` if none does.
        is_paused: Whether it starts no new jobs.
        records: The jobs, newest first.
    """

    owner: Owner | None
    is_paused: bool
    records: tuple[JobRecord, ...]


class Autopilot:
    """Looks after the tables of a warehouse.

    Example:
        >>> pilot = Autopilot(lake)
        >>> print(pilot.plan())  # doctest: +ELLIPSIS
        1 job to do:
        ...
        >>> for record in pilot.run_once():
        ...     print(record.table, record.kind, record.state)
        shop.orders orphans succeeded
    """

    def __init__(
        self,
        lake: Lake,
        *,
        tables: Sequence[str] | None = None,
        budget: Budget | None = None,
        interval: float = 60,
        lease_seconds: float = 60,
    ) -> None:
        """Makes an autopilot; it does nothing yet.

        Args:
            lake: The warehouse. Jobs run on its Spark session if it was given one, else in this process.
            tables: The tables to look after; by default all.
            budget: How much it may do.
            interval: How many seconds pass between two looks at the tables.
            lease_seconds: After how many seconds without a sign of life another autopilot takes over.
        """
        self._lake = lake
        self._tables = tables
        self._budget = budget or Budget()
        self._interval = interval
        self._lease_seconds = lease_seconds
        self._storage = storage_of(lake)
        self._folder = f"{lake.warehouse}/{_FOLDER}"
        self._journal = Journal(self._storage, f"{self._folder}/jobs")
        self._pauses: dict[tuple[str, JobKind], tuple[int, float]] = {}
        self._quiet: dict[str, tuple[tuple[int | None, ...], float]] = {}

    # --------------------------------------------------------------------------------------------------- planning

    def plan(self) -> Plan:
        """Returns what the tables need now; nothing is changed."""
        self._journal.load()
        left_alone: list[tuple[str, str]] = []
        needs = in_order(self._needs(left_alone, look_at_all=True))
        jobs = tuple(PlannedJob(need.kind, need.table, need.why, need.cost, need.gain) for need in needs)
        return Plan(jobs, tuple(left_alone))

    def _needs(self, left_alone: list[tuple[str, str]], *, look_at_all: bool = False) -> list[Need]:
        found: list[Need] = []
        names = self._lake.tables() if self._tables is None else self._tables
        properties: dict[str, Mapping[str, str]] = {}
        for name in names:
            try:
                database = name.partition(".")[0]
                if database not in properties:
                    properties[database] = self._lake.database_properties(database)
                table = self._lake.table(name)
                policy = policy_of(self._lake, table, properties[database], _KINDS)
                if policy.why_not is None:
                    found.extend(self._needs_of_table(name, table, policy, look_at_all=look_at_all))
                else:
                    left_alone.append((name, policy.why_not))
            except NotFoundError as error:
                if name in self._lake:  # else it was dropped meanwhile
                    left_alone.append((name, str(error)))
            except LakebedError as error:
                left_alone.append((name, str(error)))
            except Exception as error:  # noqa: BLE001 - the autopilot goes on with other tables
                _LOG.exception("looking at table %s failed", name)
                left_alone.append((name, f"{type(error).__name__}: {error}"))
        return found

    def _needs_of_table(self, name: str, table: Table, policy: Policy, *, look_at_all: bool) -> list[Need]:
        branches = [table, *map(table.branch, table.data_branches())]
        latest = [one.latest_snapshot() for one in branches]
        state = tuple(None if snapshot is None else snapshot.id for snapshot in latest)
        quiet, since = self._quiet.get(name, ((), 0.0))
        if not look_at_all and quiet == state and time.monotonic() - since < _LOOK_AGAIN:
            return []
        found = []
        for branch in branches:
            patient = Patient(branch, policy, time.time_ns() // 1_000_000, self._journal.last(_name(branch)))
            found += [replace(need, table=_name(branch)) for need in needs_of(patient)]
        self._quiet.pop(name, None)
        if not found:
            self._quiet[name] = state, time.monotonic()
        return found

    # ---------------------------------------------------------------------------------------------------- working

    def run_once(self, on_job: Callable[[JobRecord], None] | None = None) -> list[JobRecord]:
        """Looks at all tables once and does what they need, as far as the budget allows.

        Args:
            on_job: Called with each job when it begins and when it ends.

        Returns:
            The jobs that ran, in the order in which they ended.

        Raises:
            LakebedError: Another autopilot works in this warehouse.
        """
        with Lease.take(self._storage, self._folder, seconds=self._lease_seconds) as lease:
            self._journal.load(lease.number)
            return self._round(lease, on_job or _ignore, threading.Event())

    def run(self, stop: threading.Event, on_job: Callable[[JobRecord], None] | None = None) -> None:
        """Looks after the tables until ``stop`` is set; running jobs are finished first.

        While another autopilot works in this warehouse, this one waits for its turn.

        Args:
            stop: Set it from another thread to end.
            on_job: Called with each job when it begins and when it ends.
        """
        while not stop.is_set():
            try:
                with Lease.take(self._storage, self._folder, seconds=self._lease_seconds) as lease:
                    self._journal.load(lease.number)
                    while not stop.is_set():
                        self._round(lease, on_job or _ignore, stop)
                        stop.wait(self._interval)
                        lease.check()
            except LakebedError as error:
                _LOG.info("the autopilot of %s waits: %s", self._lake.warehouse, error)
                stop.wait(self._interval)
            except Exception:  # noqa: BLE001 - an autopilot that ends unnoticed would help nobody
                _LOG.exception("the autopilot of %s failed, and begins again", self._lake.warehouse)
                stop.wait(self._interval)

    def _round(self, lease: Lease, on_job: Callable[[JobRecord], None], stop: threading.Event) -> list[JobRecord]:
        """Does what the tables need now, each job at most once."""
        left_alone: list[tuple[str, str]] = []
        waiting = in_order(need for need in self._needs(left_alone) if self._may_try(need))
        done: list[JobRecord] = []
        with ThreadPoolExecutor(self._budget.parallel, thread_name_prefix="lakebed-autopilot") as pool:
            running: dict[Future[JobRecord], str] = {}
            while (waiting or running) and not (stop.is_set() and not running):
                free = [need for need in waiting if _table(need.table) not in running.values()]
                need = free[0] if free and len(running) < self._budget.parallel and not stop.is_set() else None
                if need is not None and self._may_begin(lease, need):
                    waiting.remove(need)
                    running[pool.submit(self._run, lease, need, on_job)] = _table(need.table)
                    continue
                if need is not None:
                    waiting.remove(need)
                    continue
                if not running:
                    break
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    del running[future]
                    done.append(future.result())
        return done

    def _may_try(self, need: Need) -> bool:
        return time.monotonic() >= self._pauses.get((need.table, need.kind), (0, 0.0))[1]

    def _may_begin(self, lease: Lease, need: Need) -> bool:
        lease.check()
        used = self._journal.bytes_since(time.time_ns() // 1_000_000 - _HOUR)
        return not self.is_paused and self._budget.allows(need.cost, used=used)

    def _run(self, lease: Lease, need: Need, on_job: Callable[[JobRecord], None]) -> JobRecord:
        record = self._journal.begin(need, lease.number)
        on_job(record)
        try:
            state, summary = JobState.SUCCEEDED, need.run(lambda _done, _of: lease.check())
        except CommitConflictError as error:
            state, summary = JobState.CONFLICT, str(error)
        except LostError as error:
            state, summary = JobState.INTERRUPTED, str(error)
        except LakebedError as error:
            state, summary = JobState.FAILED, str(error)
        except Exception as error:  # noqa: BLE001 - the autopilot goes on with other tables
            _LOG.exception("the job %s of table %s failed", need.kind, need.table)
            state, summary = JobState.FAILED, f"{type(error).__name__}: {error}"
        self._pause_after(need, failed=state is not JobState.SUCCEEDED)
        record = self._journal.end(record, state, summary)
        on_job(record)
        return record

    def _pause_after(self, need: Need, *, failed: bool) -> None:
        """After a failure the same job waits for a minute, after the next one for two, and so on."""
        key = need.table, need.kind
        if not failed:
            self._pauses.pop(key, None)
            return
        failures = self._pauses.get(key, (0, 0.0))[0] + 1
        pause = min(_FIRST_PAUSE * 2 ** (failures - 1), _LONGEST_PAUSE)
        self._pauses[key] = failures, time.monotonic() + pause

    # -------------------------------------------------------------------------------------------------- from outside

    @property
    def is_paused(self) -> bool:
        """Whether the autopilot of this warehouse starts no new jobs."""
        return self._storage.exists(f"{self._folder}/paused")

    def pause(self) -> None:
        """Lets the autopilot of this warehouse start no new jobs, in whatever process it works."""
        self._storage.make_folder(self._folder)
        self._storage.replace(f"{self._folder}/paused", b"")

    def resume(self) -> None:
        """Lets it start jobs again."""
        self._storage.delete(f"{self._folder}/paused")

    def status(self) -> Status:
        """Returns who works in this warehouse, and the jobs of all processes, newest first."""
        owner = holder(self._storage, self._folder, seconds=self._lease_seconds)
        newest = newest_lease(self._storage, self._folder)
        self._journal.load(newest if owner is not None else newest + 1)
        return Status(owner, self.is_paused, tuple(self._journal.records()))


def _name(table: Table) -> str:
    return (
        table.name if table.branch_name == "main" or "$" in table.name else f"{table.name}$branch_{table.branch_name}"
    )


def _table(name: str) -> str:
    """Returns the name of the table that a branch belongs to: jobs of its branches do not run at once."""
    return name.partition("$")[0]


def _ignore(_: JobRecord) -> None:
    pass
