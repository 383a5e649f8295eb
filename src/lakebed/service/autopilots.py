"""The autopilots of a service: one for each warehouse, to look at; with ``Settings.autopilot`` they also work.

An autopilot that works has a thread and a lake of its own. Requests look through the confined storage of the service.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from lakebed.autopilot import Autopilot, JobRecord
from lakebed.catalogs.named_warehouses import NamedWarehouse
from lakebed.lake import connect
from lakebed.service.metrics import Metrics
from lakebed.service.settings import Settings
from lakebed.service.warehouses import Warehouse, Warehouses


class Autopilots:
    """All autopilots of a service."""

    def __init__(self, settings: Settings, warehouses: Warehouses, metrics: Metrics) -> None:
        self._settings, self._warehouses, self._metrics = settings, warehouses, metrics
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._looking = {one.name: Autopilot(one.lake) for one in warehouses}  # each reads a record of a job once

    def of(self, warehouse: str) -> Autopilot:
        """Returns the autopilot of a warehouse, to look at its plan and jobs, to pause and to resume it."""
        return self._looking[self._warehouses.get(warehouse).name]

    def start(self) -> None:
        """Lets one autopilot for each warehouse work, if the settings say so."""
        if not self._settings.autopilot:
            return
        for warehouse in self._warehouses:
            given = self._settings.warehouses[warehouse.name]
            options = given.options if isinstance(given, NamedWarehouse) else {}
            pilot = Autopilot(connect(warehouse.path, options=options), budget=self._settings.budget)
            work = (pilot.run, (self._stop, self._noted(warehouse)))
            self._threads.append(threading.Thread(target=work[0], args=work[1], name="lakebed-autopilot"))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Ends the autopilots after the jobs that run."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _noted(self, warehouse: Warehouse) -> Callable[[JobRecord], None]:
        def note(record: JobRecord) -> None:
            if record.finished_millis is not None:
                self._metrics.autopilot_jobs.labels(warehouse.name, record.kind, record.state).inc()
                self._metrics.autopilot_bytes.labels(warehouse.name).inc(record.cost)

        return note
