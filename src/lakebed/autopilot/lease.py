"""A lease on a warehouse: of several autopilots one works at a time.

The files are in ``.lakebed/autopilot/`` of the warehouse. A lease is a file ``lease-<number>``, made by an exclusive
create, and the highest number holds. Its holder writes ``alive-<number>`` again and again. If that file is older than
the lease lasts, the holder is gone, and another autopilot makes the file with the next number. Ages are differences of
times that the storage itself gave to files, so clocks of machines do not matter.

The number is a fence: a holder that was stopped for a while finds the higher number before its next job, and stops. A
job that it is just running ends like any commit beside other writers, so two holders at once waste work and harm
nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from lakebed.errors import LakebedError, NotFoundError
from lakebed.metadata.numbered_files import numbered_files
from lakebed.storage import Storage

_LEASE: Final = "lease-"
_ALIVE: Final = "alive-"
_CLOCK: Final = "clock-"
_RELEASED: Final = b"released"
_BEATS: Final = 4  # how often a holder writes during the time that a lease lasts


class HeldError(LakebedError):
    """Another autopilot holds the lease."""


class LostError(LakebedError):
    """Another autopilot took the lease over."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease."""

    host: str
    process: int

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"

    @staticmethod
    def me() -> Owner:
        return Owner(socket.gethostname(), os.getpid())


class Lease:
    """The lease that this process holds; :meth:`take` it, and use it as a context that gives it back.

    Attributes:
        number: The number of the lease, higher than that of all before it.
    """

    def __init__(self, storage: Storage, folder: str, number: int, seconds: float) -> None:
        self.number = number
        self._storage, self._folder, self._seconds = storage, folder, seconds
        self._lost = threading.Event()
        self._over = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="lakebed-autopilot-lease", daemon=True)

    @staticmethod
    def take(storage: Storage, folder: str, *, seconds: float = 60) -> Lease:
        """Takes the lease.

        Args:
            storage: The storage of the warehouse.
            folder: Where the files of the lease are.
            seconds: How long it lasts after its holder was seen last.

        Raises:
            HeldError: Another process holds it.
        """
        storage.make_folder(folder)
        held = numbered_files(storage, folder, _LEASE)
        newest = max(held, default=0)
        times = _times(storage, folder)
        if newest and (owner := _holder(storage, folder, newest, seconds, times, times[""])) is not None:
            raise HeldError(
                f"another autopilot looks after this warehouse: {owner}; it is replaced {seconds:g} seconds after it ends"
            )
        text = json.dumps({"host": Owner.me().host, "process": Owner.me().process}).encode()
        if not storage.create_exclusive(f"{folder}/{_LEASE}{newest + 1}", text):
            raise HeldError("another autopilot has just begun to look after this warehouse")
        for number in held:
            for prefix in (_LEASE, _ALIVE):
                with contextlib.suppress(LakebedError):
                    storage.delete(f"{folder}/{prefix}{number}")
        lease = Lease(storage, folder, newest + 1, seconds)
        lease._beating.start()
        return lease

    def check(self) -> None:
        """Raises LostError if another process holds the lease now."""
        if not self._lost.is_set() and newest_lease(self._storage, self._folder) > self.number:
            self._lost.set()
        if self._lost.is_set():
            raise LostError("another autopilot took over, because this one did not answer for a while")

    def release(self) -> None:
        """Gives the lease back, so that another process can take it at once."""
        self._over.set()
        if self._beating.is_alive():
            self._beating.join()
        if not self._lost.is_set():
            with contextlib.suppress(LakebedError):
                self._storage.replace(self._alive, _RELEASED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def _alive(self) -> str:
        return f"{self._folder}/{_ALIVE}{self.number}"

    def _beat(self) -> None:
        while not self._over.wait(self._seconds / _BEATS):
            try:
                self.check()
                self._storage.replace(self._alive, b"alive")
            except LostError:
                return
            except LakebedError:  # the storage does not answer; the next beat tries again
                continue


def newest_lease(storage: Storage, folder: str) -> int:
    """Returns the number of the newest lease, whether somebody holds it or not; 0 if there was none."""
    return max(numbered_files(storage, folder, _LEASE), default=0)


def holder(storage: Storage, folder: str, *, seconds: float = 60) -> Owner | None:
    """Returns who holds the lease, or ``None``. It writes nothing, so it goes by the clock of this machine."""
    newest = newest_lease(storage, folder)
    return _holder(storage, folder, newest, seconds, _listed(storage, folder), time.time() * 1000) if newest else None


def _holder(
    storage: Storage, folder: str, number: int, seconds: float, times: Mapping[str, float], now: float
) -> Owner | None:
    """Returns who holds a lease, or ``None`` if nobody was seen for as long as it lasts."""
    try:
        if storage.read(f"{folder}/{_ALIVE}{number}") == _RELEASED:
            return None
    except NotFoundError:
        pass  # it was just taken
    seen = max(times.get(f"{_ALIVE}{number}", 0), times.get(f"{_LEASE}{number}", 0))
    if now - seen > seconds * 1000:
        return None
    try:
        found = json.loads(storage.read(f"{folder}/{_LEASE}{number}"))
        return Owner(str(found["host"]), int(found["process"]))
    except (NotFoundError, ValueError, KeyError, TypeError):
        return Owner("an unknown machine", 0)


def _times(storage: Storage, folder: str) -> dict[str, float]:
    """Returns the times of the files of the lease in milliseconds; under the name ``""`` the time of the storage."""
    mark = f"{_CLOCK}{uuid.uuid4()}"
    storage.write(f"{folder}/{mark}", b"")
    try:
        found = _listed(storage, folder)
    finally:
        storage.delete(f"{folder}/{mark}")
    return {**found, "": found.get(mark, 0.0)}


def _listed(storage: Storage, folder: str) -> dict[str, float]:
    return {info.name: float(info.modified_millis) for info in storage.list(folder)}
