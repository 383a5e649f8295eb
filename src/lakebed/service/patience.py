"""How long and how far the service reads rows for one request.

A read ends between two batches when its time is over, when it has decoded too many bytes, or when the client is gone.
So its slot is free for others soon, and the memory of the service stays bounded.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from lakebed.format.human_text import size_text
from lakebed.rows.files.read_watch import watched
from lakebed.service.error_answers import RefusedError
from lakebed.service.settings import Limits

T = TypeVar("T")

_LOOK_SECONDS: Final = 0.25


class Patience:
    """The limits of one read of rows."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._end = time.monotonic() + limits.read_seconds
        self._decoded = 0
        self.gone = threading.Event()

    def note(self, size: int) -> None:
        """Counts decoded bytes; raises RefusedError if the read has to end."""
        self._decoded += size
        if self.gone.is_set():
            raise RefusedError(503, "the client closed the connection")
        advice = "narrow it with columns, or with a condition on partition or key columns"
        if time.monotonic() > self._end:
            raise RefusedError(504, f"this took longer than {self._limits.read_seconds:g} seconds; {advice}")
        if self._decoded > self._limits.decoded_bytes:
            most = size_text(self._limits.decoded_bytes)
            raise RefusedError(413, f"this would decode more than the limit of {most}; {advice}")


async def read_patiently(request: Request, limits: Limits, read: Callable[[Patience], T]) -> T:
    """Returns what a read on a thread returns; it ends soon after the client is gone."""
    patience = Patience(limits)

    def work() -> T:
        with watched(patience.note):
            return read(patience)

    async def look() -> None:
        while not await request.is_disconnected():  # noqa: ASYNC110 - Starlette has no event for it
            await asyncio.sleep(_LOOK_SECONDS)
        patience.gone.set()

    looking = asyncio.create_task(look())
    try:
        return await run_in_threadpool(work)
    finally:
        looking.cancel()
