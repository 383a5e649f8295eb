"""Assigns buckets to keys in a table with dynamic buckets (``bucket`` = -1), a batch of key hashes at a time. No I/O.

A known hash stays in its bucket. A new hash gets the first bucket with room (fewer than ``target_rows`` hashes), else a
new bucket if the maximum allows it, else the bucket with the fewest hashes. New hashes of a batch are assigned in
ascending order, so the result is deterministic.

Assigners may work in parallel: each gets the keys that :func:`assigner_of` sends to it and fills the buckets ``b`` with
``b % assigners == id % assigners``. A single process fills the same buckets in the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lakebed.buckets.known_hashes import UNKNOWN, Buckets, Hashes, KnownHashes, find_each
from lakebed.format.index_files.hash_index import ascending
from lakebed.format.schema.table_schema import TableSchema
from lakebed.options import TableOptions

MOST_BUCKETS: Final = 32767
"""Paimon counts buckets in 16 bits."""

_Numbers: TypeAlias = npt.NDArray[np.int32]


def has_dynamic_buckets(schema: TableSchema) -> bool:
    """Whether a table has dynamic buckets: a primary key and ``bucket`` = -1."""
    return bool(schema.primary_keys) and TableOptions(schema.options).bucket == -1


@dataclass(frozen=True, slots=True)
class Spread:
    """How keys are spread: target rows of a bucket, maximum buckets of a partition, and the parallelism.

    ``channels`` is the number of tasks that keys are sent to, ``assigners`` how many of them serve one partition.
    """

    target_rows: int = 2_000_000
    max_buckets: int = MOST_BUCKETS
    channels: int = 1
    assigners: int = 1

    @staticmethod
    def of(options: TableOptions, *, parallelism: int | None = None, bytes_per_row: float | None = None) -> Spread:
        """Returns what the options of a table say; ``parallelism`` of the engine is the default.

        A partition starts with as many buckets as there are assigners. ``dynamic-bucket.target-size`` is converted to a
        number of rows.
        """
        limit = options.dynamic_bucket_max_buckets
        most = MOST_BUCKETS if limit == -1 else min(limit, MOST_BUCKETS)
        initial = options.dynamic_bucket_initial_buckets
        wanted = options.dynamic_bucket_assigner_parallelism or parallelism or initial or 1
        channels = min(wanted, most)
        return Spread(target_rows(options, bytes_per_row), most, channels, min(initial or channels, channels))


def target_rows(options: TableOptions, bytes_per_row: float | None) -> int:
    """Returns the target number of rows of a bucket, given the size of a row."""
    target, size = options.dynamic_bucket_target_row_num, options.dynamic_bucket_target_size
    if size is not None and bytes_per_row:
        return min(target, max(1, int(size / bytes_per_row)))
    return target


def assigner_of(partition_hashes: npt.ArrayLike, key_hashes: npt.ArrayLike, channels: int, assigners: int) -> _Numbers:
    """Returns the assigner of each key, given the hashes of its partition and of its key.

    >>> assigner_of([7, 7, 7, -9], [0, 1, -6, 5], 4, 2).tolist()
    [3, 0, 3, 2]
    """
    # fmod is the remainder with the sign of the dividend, as in Java
    start = np.abs(np.fmod(np.asarray(partition_hashes, np.int32), np.int32(channels)))
    own = np.abs(np.fmod(np.asarray(key_hashes, np.int32), np.int32(assigners)))
    result: _Numbers = (start + own) % np.int32(channels)
    return result


class Assigner:
    """Assigns the keys of one partition. ``indexes`` are the known hashes of its buckets, ascending and each once.

    With ``only`` it is one of several assigners: it stores only the hashes that :func:`assigner_of` sends to that
    number, but counts all rows of its buckets.
    """

    def __init__(
        self,
        spread: Spread,
        indexes: Mapping[int, Hashes] | None = None,
        *,
        partition_hash: int = 0,
        only: int | None = None,
    ) -> None:
        self._spread = spread
        self._partition_hash = partition_hash
        given = indexes or {}
        self._counts = {bucket: len(hashes) for bucket, hashes in given.items()}
        if only is not None:
            given = {bucket: hashes[self._assigners(hashes) == only] for bucket, hashes in given.items()}
        self._known = KnownHashes(given)
        self._loaded = dict(self._counts)

    @property
    def counts(self) -> dict[int, int]:
        """The number of hashes of each bucket."""
        return dict(self._counts)

    @property
    def nbytes(self) -> int:
        """The memory of the known hashes in bytes."""
        return self._known.nbytes

    def changed(self) -> dict[int, Hashes]:
        """Returns all hashes of the buckets that got new ones, ascending."""
        grown = [bucket for bucket, count in sorted(self._counts.items()) if count > self._loaded.get(bucket, 0)]
        return {bucket: self._known.of_bucket(bucket) for bucket in grown}

    def assign(self, hashes: Hashes, wishes: npt.ArrayLike | None = None) -> _Numbers:
        """Returns the bucket of each hash. ``wishes`` are the preferred buckets of new hashes, if there is room."""
        found = self._known.find(hashes).astype(np.int32)
        missing = np.flatnonzero(found == UNKNOWN)
        if missing.size:
            wanted = None if wishes is None else np.asarray(wishes, np.int32)[missing]
            found[missing] = self._assign_new(hashes[missing], wanted)
        return found

    def _assign_new(self, hashes: Hashes, wishes: _Numbers | None) -> _Numbers:
        if wishes is None:
            new = ascending(hashes)
            buckets = np.full(len(new), UNKNOWN, np.int16)
        else:
            new, first = np.unique(hashes, return_index=True)
            buckets = self._by_wish(wishes[first])
        family = self._assigners(new) % self._spread.assigners
        for number in np.unique(family).tolist():
            open_ones = np.flatnonzero((family == number) & (buckets == UNKNOWN))
            buckets[open_ones] = self._fill(number, open_ones.size)
        self._known.add(new, buckets)
        return find_each(new, buckets, hashes).astype(np.int32)

    def _assigners(self, hashes: Hashes) -> _Numbers:
        if self._spread.channels == 1:
            return np.zeros(len(hashes), np.int32)
        return assigner_of(self._partition_hash, hashes, self._spread.channels, self._spread.assigners)

    def _by_wish(self, wishes: _Numbers) -> Buckets:
        """Assign the preferred bucket of each hash, as far as there is room."""
        buckets = np.full(len(wishes), UNKNOWN, np.int16)
        for bucket in np.unique(wishes).tolist():
            room = self._spread.target_rows - self._counts.get(bucket, 0)
            taken = np.flatnonzero(wishes == bucket)[: max(0, room)]
            buckets[taken] = bucket
            if taken.size:
                self._take(bucket, taken.size)
        return buckets

    def _fill(self, family: int, count: int) -> Buckets:
        """Returns buckets for a number of new hashes, in order.

        ``family`` are the assigners that share their buckets.
        """
        step, target = self._spread.assigners, self._spread.target_rows
        with_room = sorted(b for b, rows in self._counts.items() if b % step == family and rows < target)
        free = (b for b in range(family, self._spread.max_buckets, step) if b not in self._counts)
        parts = [np.zeros(0, np.int16)]
        for bucket in itertools.chain(with_room, free):
            if not count:
                break
            taken = min(count, target - self._counts.get(bucket, 0))
            parts.append(self._take(bucket, taken))
            count -= taken
        if count:
            own = sorted(bucket for bucket in self._counts if bucket % step == family)
            more = poured([self._counts[bucket] for bucket in own], count)
            parts += [self._take(bucket, taken) for bucket, taken in zip(own, more, strict=True)]
        return np.concatenate(parts)

    def _take(self, bucket: int, count: int) -> Buckets:
        self._counts[bucket] = self._counts.get(bucket, 0) + count
        return np.full(count, bucket, np.int16)


def poured(levels: Sequence[int], amount: int) -> list[int]:
    """Returns how much each level gets if every unit is added to the lowest level, the first of equal ones.

    >>> poured([5, 1, 2], 4)
    [0, 3, 1]
    """
    heights = np.asarray(levels, np.int64)
    order = np.argsort(heights, kind="stable")
    ascending = heights[order]
    sums = np.cumsum(ascending)
    reached = (
        ascending * np.arange(1, len(ascending) + 1) - sums
    )  # the amount that raises all lower levels to each level
    members = int(np.searchsorted(reached, amount, side="right"))
    level, rest = divmod(int(amount + sums[members - 1]), members)
    added = np.zeros(len(heights), np.int64)
    wet = np.sort(order[:members])
    added[wet] = level - heights[wet]
    added[wet[:rest]] += 1
    return [int(count) for count in added]
