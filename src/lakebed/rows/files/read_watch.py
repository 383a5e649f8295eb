"""Somebody who watches what a read takes, and may end it: a service with deadlines and limits.

A read tells how many bytes it has decoded, batch by batch. The watcher raises to end it; no file is then read to its
end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Final

Watcher = Callable[[int], None]

_watcher: Final[ContextVar[Watcher | None]] = ContextVar("lakebed_read_watcher", default=None)


@contextlib.contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Lets ``watcher`` know of the bytes that reads of this thread decode, until the block ends."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def note_read(size: int) -> None:
    """Tells the watcher, if there is one, of bytes that were decoded."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(size)


def current_watcher() -> Watcher | None:
    """Returns who watches the reads of this thread, if anybody does."""
    return _watcher.get()
