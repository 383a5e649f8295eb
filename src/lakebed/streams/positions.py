"""The position of a stream in the history of a table, and the limits of a batch.

A :class:`Position` is the whole state of a stream. Checkpoints store it as JSON, so positions of older versions must
stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lakebed.errors import CorruptError


@dataclass(frozen=True, slots=True)
class Position:
    """A position: ``done`` groups of files of a snapshot have been read, either of its state or of its changes.

    For the state of a chain table, ``full`` is the snapshot of the branch of full partitions. ``in_updates`` says that
    the groups are those of a stream of ``$binlog``, which reads more files together.

    ``seen`` is the name of the delta manifest list of the last snapshot that was read. It changes if the table is
    rolled back and another snapshot gets the same id. It is empty if unknown.
    """

    snapshot: int
    done: int = 0
    in_state: bool = False
    full: int = 0
    in_updates: bool = False
    seen: str = field(default="", compare=False)

    @property
    def last(self) -> int:
        """The id of the last snapshot that was read."""
        return self.snapshot if self.in_state or self.done else self.snapshot - 1

    def to_json(self) -> dict[str, Any]:
        place = "state" if self.in_state else "updates" if self.in_updates else "changes"
        raw: dict[str, Any] = {"snapshot": self.snapshot, "done": self.done, "in": place}
        return raw | ({"full": self.full} if self.full else {}) | ({"seen": self.seen} if self.seen else {})

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Position:
        numbers = raw.get("snapshot"), raw.get("done"), raw.get("full", 0)
        place, seen = raw.get("in"), raw.get("seen", "")
        is_ours = place in {"state", "changes", "updates"} and isinstance(seen, str)
        if not is_ours or any(type(number) is not int for number in numbers):
            raise CorruptError(f"{dict(raw)} is not a position of a Lakebed stream; start with a new checkpoint folder")
        return Position(raw["snapshot"], raw["done"], place == "state", raw.get("full", 0), place == "updates", seen)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a batch.

    A group of files is never divided, so a batch has at least one group, whatever its size.
    """

    files: int | None = None
    size: int | None = None
    rows: int | None = None
    snapshots: int | None = None

    @property
    def any(self) -> bool:
        return any(limit is not None for limit in (self.files, self.size, self.rows, self.snapshots))


NO_LIMITS: Final = Limits()


class Budget:
    """What a batch may still read."""

    def __init__(self, limits: Limits) -> None:
        self._limits = np.array(
            [np.iinfo(np.int64).max if limit is None else limit for limit in (limits.files, limits.size, limits.rows)]
        )
        self._used = np.zeros(3, np.int64)
        self._snapshots = limits.snapshots

    def take(self, weights: npt.NDArray[np.int64]) -> int:
        """Returns how many of the next groups of a snapshot fit; empty groups always fit."""
        weighty = np.flatnonzero(weights[:, 0])
        if not len(weighty):
            return len(weights)
        if self._snapshots == 0:
            return int(weighty[0])
        totals = self._used + np.cumsum(weights, axis=0)
        exceeding = np.flatnonzero(np.any(totals > self._limits, axis=1))
        if not self._used.any():  # a batch has at least one group
            exceeding = exceeding[exceeding > weighty[0]]
        taken = int(exceeding[0]) if len(exceeding) else len(weights)
        if taken > weighty[0]:
            self._used = totals[taken - 1]
            self._snapshots = None if self._snapshots is None else self._snapshots - 1
        return taken
