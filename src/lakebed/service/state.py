"""The state of a running service, which all requests share."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from fastapi import Request

from lakebed.errors import LakebedError
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.service.autopilots import Autopilots
from lakebed.service.error_answers import RefusedError
from lakebed.service.jobs import Jobs
from lakebed.service.metrics import Metrics
from lakebed.service.models.tables import Health
from lakebed.service.numbers.live_files import LiveFiles
from lakebed.service.numbers.snapshot_changes import TagNames
from lakebed.service.numbers.table_contents import Contents
from lakebed.service.numbers.table_health import Examined, Patient, examine
from lakebed.service.settings import Settings
from lakebed.service.warehouses import OpenTable, Warehouses
from lakebed.table_kinds import rules_of


@dataclass(frozen=True, slots=True)
class Totals:
    """The size of a table, and the time of its last commit."""

    record_count: int
    file_count: int
    byte_count: int
    last_commit_millis: int | None


@dataclass(frozen=True)
class Service:
    """The parts of a service, shared by all requests; each part is thread-safe."""

    settings: Settings
    warehouses: Warehouses
    metrics: Metrics
    jobs: Jobs
    autopilots: Autopilots
    files: LiveFiles = field(default_factory=LiveFiles)
    tags: TagNames = field(default_factory=TagNames)
    examined: Examined = field(default_factory=Examined)

    @cached_property
    def _readers(self) -> threading.BoundedSemaphore:
        return threading.BoundedSemaphore(self.settings.limits.readers)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Limit how many requests read rows at once, and record the duration."""
        if not self._readers.acquire(timeout=self.settings.limits.reader_wait):
            raise RefusedError(503, "too many requests are reading rows; try again soon", {"Retry-After": "2"})
        started = time.perf_counter()
        try:
            yield
        finally:
            self._readers.release()
            self.metrics.observe_step("read", time.perf_counter() - started)

    @staticmethod
    def of(settings: Settings) -> Service:
        """Returns a service that has not started yet."""
        warehouses = Warehouses(settings)
        # Lakes share one cache of manifests unless their options say otherwise, so the first one has the statistics.
        metrics = Metrics(lambda: [next(iter(warehouses)).lake.cache_statistics()])
        pilots = Autopilots(settings, warehouses, metrics)
        return Service(settings, warehouses, metrics, Jobs(settings.limits, metrics), pilots)

    def contents(self, opened: OpenTable, version: str | None = None) -> Contents:
        """Returns what a version of a table consists of; the latest by default."""
        snapshot = find_snapshot(opened.store, version=version, timestamp=None, tag=None)
        return self.contents_of(opened, snapshot, travelled=version is not None)

    def contents_of(self, opened: OpenTable, snapshot: Snapshot | None, *, travelled: bool = False) -> Contents:
        """Returns what a snapshot consists of; with ``travelled``, under the schema that it was written with."""
        schema = opened.store.schema_of(snapshot) if snapshot is not None and travelled else opened.store.schema()
        return Contents(opened.warehouse, opened.store, snapshot, schema, self.files.of(opened.store, snapshot))

    @staticmethod
    def totals(found: Sequence[Contents]) -> Totals:
        """Returns the size of a branch together with the other branches that it shows."""
        snapshots = [one.snapshot for one in found if one.snapshot is not None]
        return Totals(
            record_count=sum(snapshot.total_record_count for snapshot in snapshots),
            file_count=sum(len(one.entries) for one in found),
            byte_count=sum(one.byte_count for one in found),
            last_commit_millis=max((snapshot.time_millis for snapshot in snapshots), default=None),
        )

    def shown(self, opened: OpenTable, contents: Contents) -> list[Contents]:
        """Returns the contents of a branch.

        For main of a chain table also those of its branches, full partitions first.
        """
        return [contents, *(self.contents(opened.on_branch(name)) for name in opened.table.data_branches())]

    def shown_contents(self, opened: OpenTable, version: str | None) -> Contents:
        """Returns what a version of a branch consists of; the latest one of main of a chain table has its branches."""
        contents = self.contents(opened, version)
        if version is not None:
            return contents
        _, *others = self.shown(opened, contents)
        return contents.joined(others) if others else contents

    def snapshot_count(self, opened: OpenTable) -> int:
        """Returns the number of snapshots of a branch."""
        page = opened.table.history(limit=1)
        return page.total or 0

    def health(self, opened: OpenTable, contents: Contents, snapshot_count: int, *, orphans: bool) -> Health:
        """Returns the health of a table; checks that read only metadata are cached for each state of the table."""

        def look() -> Health:
            return examine(Patient(opened, contents, snapshot_count, self._branch_patients(opened)), orphans=orphans)

        if orphans:
            return look()
        snapshot = contents.snapshot
        state = None if snapshot is None else (snapshot.id, snapshot.delta_manifest_list)
        # Commits to the branches of a chain table do not change this state.
        if rules_of(opened.store).chain_branches() is not None:
            return look()
        paths = opened.store.paths
        key = (paths.root, paths.branch, state, contents.schema.id, contents.schema.time_millis, snapshot_count)
        return self.examined.of(key, look)

    def _branch_patients(self, opened: OpenTable) -> tuple[Patient, ...]:
        """Returns the branches that hold the rows of main of a chain table."""
        branches = [opened.on_branch(name) for name in opened.table.data_branches()]
        return tuple(Patient(one, self.contents(one), self.snapshot_count(one)) for one in branches)


def service_of(request: Request) -> Service:
    """Returns the service that handles a request."""
    return cast("Service", request.app.state.service)


def warnings_of(opened: OpenTable) -> list[str]:
    """Returns the warnings about a table; if Lakebed cannot read the table, the error is the warning."""
    try:
        return opened.table.warnings
    except LakebedError as error:
        return [str(error)]
