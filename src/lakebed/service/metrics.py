"""Metrics for Prometheus: requests, pages, snapshots, caches, commits, plans, reads, merges, jobs, autopilot, process.

The library does not know this module: it reports steps and amounts to observers (:mod:`lakebed.metadata.step_timings`),
and :meth:`Metrics.watch` registers one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lakebed.metadata.hash_indexes import HASH_CACHE
from lakebed.metadata.manifest_cache import CacheStatistics
from lakebed.metadata.step_timings import observe
from lakebed.service.guard import App, Message, Receive, Scope, Send

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
OTHER_ROUTE: Final = "other"
PROCESS_IO: Final = Path("/proc/self/io")
"""What Linux counts of the reads and writes of this process."""


class Metrics:
    """The metrics of one service."""

    def __init__(self, cache_statistics: Callable[[], Iterable[CacheStatistics]]) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, namespace="lakebed", registry=self._registry)
        histogram = partial(Histogram, buckets=_SECONDS, namespace="lakebed", registry=self._registry)
        self.requests = counter("requests", "Requests answered.", ["method", "route", "status"])
        self.request_seconds = histogram("request_seconds", "Duration of requests.", ["route"])
        self.pages = counter("pages", "Pages served.", ["of"])
        self.snapshots_scanned = counter("snapshots_scanned", "Snapshot files read for pages of history.")
        self.rows_previewed = counter("rows_previewed", "Rows shown.")
        self.jobs = counter("jobs", "Jobs that ended.", ["action", "state"])
        self.jobs_active = Gauge(
            "jobs_active", "Jobs that are queued or running.", namespace="lakebed", registry=self._registry
        )
        self.autopilot_jobs = counter(
            "autopilot_jobs", "Jobs of the autopilot that ended.", ["warehouse", "kind", "state"]
        )
        self.autopilot_bytes = counter(
            "autopilot_bytes", "Bytes that these jobs were expected to read and write.", ["warehouse"]
        )
        self._steps = {
            step: histogram(f"{step}_seconds", meaning)
            for step, meaning in (
                ("commit", "Duration of commits of this process."),
                ("plan", "Duration of scan planning: finding the files to read."),
                ("read", "Duration of reads of rows."),
                ("manifest_merge", "Duration of merges of manifests by commits."),
                ("chain_merge", "Duration of merges of full partitions and changes of chain tables in reads."),
            )
        }
        manifests = counter("manifest_merge_manifests", "Manifests that merges read and wrote.", ["of"])
        manifest_bytes = counter("manifest_merge_bytes", "Bytes of these manifests.", ["of"])
        self._amounts = {
            "manifest_merge_manifests_read": manifests.labels("read"),
            "manifest_merge_manifests_written": manifests.labels("written"),
            "manifest_merge_bytes_read": manifest_bytes.labels("read"),
            "manifest_merge_bytes_written": manifest_bytes.labels("written"),
            "chain_merge_bytes": counter("chain_merge_bytes", "Bytes of files that reads of chain tables merged."),
            "chain_merge_rows": counter("chain_merge_rows", "Rows that these merges returned."),
        }
        self._registry.register(_Caches(cache_statistics))
        self._registry.register(_IndexCache())
        self._registry.register(_ProcessIo())
        ProcessCollector(registry=self._registry)

    def observe_step(self, name: str, amount: float) -> None:
        """Record the seconds of a step, or an amount of what it did."""
        if name in self._steps:
            self._steps[name].observe(amount)
        elif name in self._amounts:
            self._amounts[name].inc(amount)

    def watch(self) -> Callable[[], None]:
        """Record what the library reports about commits, plans and merges; returns a function that ends it."""
        return observe(self.observe_step)

    def text(self) -> bytes:
        """Returns all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _Caches(Collector):
    """Collects the statistics of manifest caches when metrics are read."""

    def __init__(self, statistics: Callable[[], Iterable[CacheStatistics]]) -> None:
        self._statistics = statistics

    def collect(self) -> Iterator[Metric]:
        found = list(self._statistics())
        asked = CounterMetricFamily(
            "lakebed_manifest_cache_requests", "Requests for manifests, by where they were found.", labels=["found"]
        )
        for where, name in (("memory", "hits"), ("disk", "disk_hits"), ("file", "misses")):
            asked.add_metric([where], sum(getattr(one, name) for one in found))
        yield asked
        held = GaugeMetricFamily("lakebed_manifest_cache_bytes", "Bytes of decoded manifests in memory.")
        held.add_metric([], sum(one.bytes for one in found))
        yield held


class _IndexCache(Collector):
    """Collects the statistics of the cache of hash indexes when metrics are read."""

    def collect(self) -> Iterator[Metric]:
        found = HASH_CACHE.statistics()
        asked = CounterMetricFamily(
            "lakebed_index_cache_requests", "Requests for hash indexes of dynamic buckets, by where.", labels=["found"]
        )
        asked.add_metric(["memory"], found.hits)
        asked.add_metric(["file"], found.misses)
        yield asked
        yield GaugeMetricFamily("lakebed_index_cache_bytes", "Bytes of decoded hash indexes in memory.", found.bytes)
        yield GaugeMetricFamily("lakebed_index_cache_indexes", "Decoded hash indexes in memory.", found.manifests)


class _ProcessIo(Collector):
    """Collects how many bytes this process read and wrote; nothing where the system does not count them.

    ``calls`` are the bytes of all system calls, also those that the page cache answered; ``disk`` are those that
    reached a disk.
    """

    def collect(self) -> Iterator[Metric]:
        try:
            lines = PROCESS_IO.read_text(encoding="ascii").splitlines()
        except OSError:
            return
        found = dict(line.split(": ", 1) for line in lines)
        made = CounterMetricFamily("process_io_bytes", "Bytes that the process read and wrote.", labels=["of", "at"])
        for of, at, name in (
            ("read", "calls", "rchar"),
            ("written", "calls", "wchar"),
            ("read", "disk", "read_bytes"),
            ("written", "disk", "write_bytes"),
        ):
            made.add_metric([of, at], float(found[name]))
        yield made


class Measured:
    """Wraps an application and counts its requests by route."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            route = getattr(scope.get("route"), "path", OTHER_ROUTE)
            method = scope["method"] if scope["method"] in {"GET", "HEAD", "POST"} else "OTHER"
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.request_seconds.labels(route).observe(time.perf_counter() - started)
