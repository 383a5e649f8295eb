"""Reports to observers how long steps take (commits, planning of scans, merges), and how much they did.

There is no overhead unless an observer is registered. Errors of an observer are ignored.

>>> seen = []
>>> stop = observe(lambda name, amount: seen.append(name))
>>> @timed("plan")
... def plan() -> str:
...     report("files_planned", 3)
...     return "planned"
>>> plan(), seen
('planned', ['files_planned', 'plan'])
>>> stop()
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Observer: TypeAlias = Callable[[str, float], None]

_lock = threading.Lock()
_observers: tuple[Observer, ...] = ()


def observe(observer: Observer) -> Callable[[], None]:
    """Calls a function from now on with each name and amount that is reported; returns a function that stops it.

    The amount of a step is its seconds.
    """
    global _observers  # noqa: PLW0603 - the list of observers is the state of this module
    with _lock:
        _observers = (*_observers, observer)

    def stop() -> None:
        global _observers  # noqa: PLW0603 - as above
        with _lock:
            _observers = tuple(one for one in _observers if one is not observer)

    return stop


def report(name: str, amount: float) -> None:
    """Tells the observers an amount: the seconds of a step, or what it did in numbers."""
    for observer in _observers:
        with contextlib.suppress(Exception):
            observer(name, amount)


def timed(step: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Returns a decorator that reports how long a function takes, whether it succeeds or not."""

    def around(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            if not _observers:
                return function(*args, **kwargs)
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                report(step, time.perf_counter() - started)

        return run

    return around
