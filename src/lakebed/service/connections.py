"""Connections that do not wait for ever for a request: a client that sends nothing, or a byte now and then, is cut off.

``lakebed serve`` runs its server with :func:`timed_connections`. Requests whose headers arrived are limited by
:class:`~lakebed.service.guard.Guard` (bodies) and :mod:`lakebed.service.patience` (reads).
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def timed_connections(seconds: float) -> type[H11Protocol]:
    """Returns the class of connections that end unless the headers of a request arrive within some seconds."""

    class TimedConnection(H11Protocol):
        """A connection with a clock for the headers of each request."""

        _clock: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start_clock()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            is_waiting = self.conn.their_state is h11.IDLE
            if not is_waiting:
                self._stop_clock()
            elif self._clock is None and not self.transport.is_closing():
                self._start_clock()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)

        def _start_clock(self) -> None:
            self._clock = self.loop.call_later(seconds, self.transport.abort)

        def _stop_clock(self) -> None:
            if self._clock is not None:
                self._clock.cancel()
                self._clock = None

    return TimedConnection
