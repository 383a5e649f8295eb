"""Counts the requests to a remote storage, and how many of them had to wait for each other.

A request to an object store takes milliseconds, so an operation takes as long as its longest chain of requests of
which each needs the answer of the one before. Calls that :func:`run_all` runs at the same time count as one in that
chain. A storage reports each request with :func:`note_request`; there is no overhead unless somebody counts.

Example:
    >>> with counting() as trips:
    ...     note_request("get", "s3://b/snapshot-1")
    ...     _ = run_together([lambda name=name: note_request("get", name) for name in ("s3://b/x", "s3://b/y")])
    >>> trips.total, trips.longest_chain, dict(trips.by_kind)
    (3, 2, {'get': 3})
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from lakebed.storage.base import Storage

_Result = TypeVar("_Result")
_Other = TypeVar("_Other")
_MOST_THREADS: Final = 32
_MOST_IDLE: Final = 128
"""So many threads are kept at most. If all are busy, each caller works alone."""


@dataclass
class RoundTrips:
    """The requests that were made while they were counted.

    Attributes:
        requests: The kind, the path and the position in its chain of each request, in the order in which they started.
    """

    requests: list[tuple[str, str, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, kind: str, path: str, position: int) -> None:
        with self._lock:
            self.requests.append((kind, path, position))

    @property
    def total(self) -> int:
        """How many requests there were."""
        return len(self.requests)

    @property
    def longest_chain(self) -> int:
        """How many requests the longest chain has."""
        return max((position for _, _, position in self.requests), default=0)

    @property
    def by_kind(self) -> Counter[str]:
        """How many requests of each kind there were: get, head, put, list, delete, copy."""
        return Counter(kind for kind, _, _ in self.requests)

    def __str__(self) -> str:
        """Returns one line for each request: its position in its chain, its kind and its path."""
        return "\n".join(f"{position:3} {kind:6} {path}" for kind, path, position in self.requests)


_counted: ContextVar[RoundTrips | None] = ContextVar("lakebed_counted", default=None)
_position: ContextVar[int] = ContextVar("lakebed_position", default=0)


@contextlib.contextmanager
def counting() -> Iterator[RoundTrips]:
    """Counts the requests of this thread, and of the calls that it runs with :func:`run_all`."""
    trips = RoundTrips()
    before, at = _counted.set(trips), _position.set(0)
    try:
        yield trips
    finally:
        _position.reset(at)
        _counted.reset(before)


def note_request(kind: str, path: str) -> None:
    """Records that a request is made, if somebody counts."""
    trips = _counted.get()
    if trips is not None:
        position = _position.get() + 1
        _position.set(position)
        trips.add(kind, path, position)


def run_all(storage: Storage, calls: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """Runs calls that do not need each other's results: at the same time if the storage is remote.

    On a local disk a thread costs more than the call, so they run one after the other there.

    Returns:
        Their results, in order. If calls raise, all of them still run, and the first error is raised.
    """
    if storage.is_remote:
        return run_together(calls)
    return [call() for call in calls]


def run_both(storage: Storage, first: Callable[[], _Result], second: Callable[[], _Other]) -> tuple[_Result, _Other]:
    """Runs two calls as :func:`run_all` does, which may return results of different types."""
    if not storage.is_remote:
        return first(), second()
    calls: list[Callable[[], Any]] = [first, second]
    one, other = run_together(calls)
    return one, other


def run_together(calls: Sequence[Callable[[], _Result]], threads: int = _MOST_THREADS) -> list[_Result]:
    """Runs calls at the same time, in any storage, as :func:`run_all` does for a remote one.

    The calling thread takes part, and the other threads are those of earlier calls: starting a thread takes longer than
    many a request. It never waits for a thread that has not begun, so calls may call this function, too.
    """
    if len(calls) < 2:
        return [call() for call in calls]
    work = _Work(calls)
    helpers = _THREADS.start(work.run, min(threads, len(calls)) - 1)
    try:
        work.run()
    finally:
        work.stop()
        for helper in helpers:
            helper.cancel()
        wait([helper for helper in helpers if not helper.cancelled()])
    return work.results()


class _Work(Generic[_Result]):
    """Calls that several threads take one after the other, and their results."""

    def __init__(self, calls: Sequence[Callable[[], _Result]]) -> None:
        self._left: deque[tuple[int, Callable[[], _Result]]] = deque(enumerate(calls))
        self._context = copy_context()
        self._results: dict[int, _Result] = {}
        self._errors: dict[int, BaseException] = {}
        self._position = 0
        self._lock = threading.Lock()

    def run(self) -> None:
        """Runs calls until none is left."""
        while True:
            try:
                index, call = self._left.popleft()
            except IndexError:
                return
            try:
                result, position = self._context.copy().run(self._counted, call)
            except BaseException as error:  # noqa: BLE001 - raised by results()
                self._errors[index] = error
                if not isinstance(error, Exception):  # an interrupt
                    self.stop()
                continue
            self._results[index] = result
            with self._lock:
                self._position = max(self._position, position)

    @staticmethod
    def _counted(call: Callable[[], _Result]) -> tuple[_Result, int]:
        return call(), _position.get()

    def stop(self) -> None:
        """Lets no other call begin."""
        self._left.clear()

    def results(self) -> list[_Result]:
        """Returns the results in the order of the calls. Raises an interrupt, or the error of the first failed call."""
        if self._errors:
            first = min(self._errors, key=lambda index: (isinstance(self._errors[index], Exception), index))
            raise self._errors[first]
        _position.set(self._position)
        return [self._results[index] for index in range(len(self._results))]


class _Threads:
    """Threads that wait for work; new ones are started as long as none is idle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def start(self, run: Callable[[], None], count: int) -> list[Future[None]]:
        """Runs a function in several threads; in none when Python is shutting down."""
        with self._lock, contextlib.suppress(RuntimeError):
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_MOST_IDLE, thread_name_prefix="lakebed-requests")
            return [self._pool.submit(run) for _ in range(count)]
        return []

    def forget(self) -> None:
        """Begins anew in a process that was forked, because threads do not come along."""
        self._lock = threading.Lock()
        self._pool = None


_THREADS: Final = _Threads()
os.register_at_fork(after_in_child=_THREADS.forget)
