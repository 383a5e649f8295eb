"""How many requests each client may send: a bucket of requests for each client that fills at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final

_CLIENTS: Final = 10_000
_BURST_SECONDS: Final = 4.0


class Rates:
    """The requests that clients sent lately.

    >>> clock = iter([0.0, 0.0, 0.0, 0.25])
    >>> rates = Rates(0.5, now=lambda: next(clock))
    >>> [rates.wait("a"), rates.wait("a"), rates.wait("a"), rates.wait("b")]
    [0.0, 0.0, 2.0, 0.0]
    """

    def __init__(self, per_second: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._now = per_second, now
        self._most = max(1.0, per_second * _BURST_SECONDS)
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait(self, client: Hashable) -> float:
        """Counts a request; returns 0, or after how many seconds the client may send it again."""
        now = self._now()
        left, since = self._left.pop(client, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        may = left >= 1
        self._left[client] = (left - 1 if may else left, now)
        while len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if may else (1 - left) / self._rate
