"""Metrics for Prometheus: requests, pages, snapshots read, caches, commits, scan plans, reads, jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lakebed.metadata.manifest_cache import CacheStatistics
from lakebed.metadata.step_timings import observe
from lakebed.service.guard import App, Message, Receive, Scope, Send

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
OTHER_ROUTE: Final = "other"


class Metrics:
    """The metrics of one service."""

    def __init__(self, cache_statistics: Callable[[], Iterable[CacheStatistics]]) -> None:
        self._registry = CollectorRegistry()
        given = {"namespace": "lakebed", "registry": self._registry}
        self.requests = Counter(
            "requests",
            "Requests answered.",
            ["method", "route", "status"],
            namespace="lakebed",
            registry=self._registry,
        )
        self.request_seconds = Histogram(
            "request_seconds",
            "Duration of requests.",
            ["route"],
            buckets=_SECONDS,
            namespace="lakebed",
            registry=self._registry,
        )
        self.pages = Counter("pages", "Pages served.", ["of"], **given)  # type: ignore[arg-type]
        self.snapshots_scanned = Counter("snapshots_scanned", "Snapshot files read for pages of history.", **given)  # type: ignore[arg-type]
        self.rows_previewed = Counter("rows_previewed", "Rows shown.", **given)  # type: ignore[arg-type]
        self.jobs = Counter("jobs", "Jobs that ended.", ["action", "state"], **given)  # type: ignore[arg-type]
        self.jobs_active = Gauge("jobs_active", "Jobs that are queued or running.", **given)  # type: ignore[arg-type]
        self._steps = {
            step: Histogram(f"{step}_seconds", meaning, buckets=_SECONDS, namespace="lakebed", registry=self._registry)
            for step, meaning in (
                ("commit", "Duration of commits of this process."),
                ("plan", "Duration of scan planning: finding the files to read."),
                ("read", "Duration of reads of rows."),
            )
        }
        self._registry.register(_Caches(cache_statistics))

    def observe_step(self, step: str, seconds: float) -> None:
        """Record the duration of a step."""
        if step in self._steps:
            self._steps[step].observe(seconds)

    def watch(self) -> Callable[[], None]:
        """Record the durations of commits and plans of the library; returns a function that ends it."""
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
