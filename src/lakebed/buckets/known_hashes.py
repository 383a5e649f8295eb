"""Maps the known hashes of a partition to their buckets: sorted arrays with at most 8 bytes per key.

The hashes are stored as sorted runs: one per index file, and one for each batch of new hashes. Small runs are merged,
so a new hash is copied a logarithmic number of times. The runs of index files are merged only after many searches, so
that a few rows for a large partition do not pay for sorting it. A run that is searched often gets a directory by the
upper bits of the hash. Hashes are evenly distributed, so a cell has few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.int32]
Buckets: TypeAlias = npt.NDArray[np.int16]
_Unsigned: TypeAlias = npt.NDArray[np.uint32]

UNKNOWN: Final = -1
_SIGN: Final = np.uint32(0x8000_0000)
_CHUNK: Final = 16 * 1024
"""The number of hashes that are searched at once, so that intermediate results fit into the CPU cache."""
_STEPS: Final = 3
_DIRECTORY_FROM: Final = 4096
_SEARCHES_FOR_DIRECTORY: Final = 1 / 8
_SLICE: Final = 1024 * 1024


@dataclass
class _Run:
    """Ascending unique hashes with their buckets; ``buckets`` is one number if all are in the same bucket."""

    hashes: Hashes
    buckets: Buckets | int
    _searched: int = 0
    _directory: npt.NDArray[np.int32] | None = field(default=None, repr=False)
    _shift: int = 0

    @property
    def nbytes(self) -> int:
        own = 0 if isinstance(self.buckets, int) else self.buckets.nbytes
        return self.hashes.nbytes + own + (0 if self._directory is None else self._directory.nbytes)

    def find(self, wanted: Hashes) -> Buckets:
        """Returns the bucket of each hash, or :data:`UNKNOWN`; fastest if the hashes are roughly sorted."""
        found = np.full(len(wanted), UNKNOWN, np.int16)
        if not len(self.hashes):
            return found
        self._searched += len(wanted)
        if self._directory is None and self._is_worth_it():
            self._make_directory()
        for start in range(0, len(wanted), _CHUNK):
            part = wanted[start : start + _CHUNK]
            directory = self._directory
            places = np.searchsorted(self.hashes, part) if directory is None else self._walk(part, directory)
            hit = self.hashes.take(places, mode="clip") == part
            if isinstance(self.buckets, int):
                found[start : start + _CHUNK][hit] = self.buckets
            else:
                np.copyto(found[start : start + _CHUNK], self.buckets.take(places, mode="clip"), where=hit)
        return found

    def of_bucket(self, bucket: int) -> Hashes:
        if isinstance(self.buckets, int):
            return self.hashes if self.buckets == bucket else self.hashes[:0]
        own: Hashes = self.hashes[self.buckets == bucket]
        return own

    def _is_worth_it(self) -> bool:
        return len(self.hashes) >= _DIRECTORY_FROM and self._searched >= _SEARCHES_FOR_DIRECTORY * len(self.hashes)

    def _make_directory(self) -> None:
        """Compute where each range of hashes starts: two to four hashes per range, so at most two bytes per hash."""
        bits = (len(self.hashes) // 2).bit_length() - 1
        self._shift = 32 - bits
        counts = np.zeros(2**bits, np.int32)
        for start in range(0, len(self.hashes), _SLICE):
            cells = _unsigned(self.hashes[start : start + _SLICE]) >> np.uint32(self._shift)
            first = int(cells[0])
            some = np.bincount(cells - cells[0])
            counts[first : first + len(some)] += some.astype(np.int32)
        directory = np.cumsum(counts, dtype=np.int32)
        directory -= counts
        self._directory = directory

    def _walk(self, wanted: Hashes, directory: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
        """Returns for each hash the position of the first one that is not smaller, or the last position."""
        last = len(self.hashes) - 1
        places = directory.take(_unsigned(wanted) >> np.uint32(self._shift)).astype(np.intp)
        for _ in range(_STEPS):  # a step for all is cheaper than to find out which of them need it
            places += self.hashes.take(places, mode="clip") < wanted
        np.minimum(places, last, out=places)
        below = np.flatnonzero(self.hashes.take(places) < wanted)
        while below.size:
            further = places[below] + 1
            below = below[further <= last]
            further = further[further <= last]
            places[below] = further
            below = below[self.hashes.take(further) < wanted[below]]
        return places


class KnownHashes:
    """The known hashes of one partition. ``indexes`` are those of each bucket, ascending and unique.

    A hash in two buckets, which only a damaged table has, belongs to the lower one.
    """

    def __init__(self, indexes: Mapping[int, Hashes] | None = None) -> None:
        self._runs = [_Run(hashes, bucket) for bucket, hashes in sorted((indexes or {}).items()) if len(hashes)]
        self._extra_searches = 0

    def __len__(self) -> int:
        return sum(len(run.hashes) for run in self._runs)

    @property
    def nbytes(self) -> int:
        """The memory of all runs in bytes."""
        return sum(run.nbytes for run in self._runs)

    def find(self, wanted: Hashes) -> Buckets:
        """Returns the bucket of each hash, :data:`UNKNOWN` for new ones."""
        if not self._runs:
            return np.full(len(wanted), UNKNOWN, np.int16)
        self._extra_searches += len(wanted) * (len(self._runs) - 1)
        if self._extra_searches > len(self):
            self._runs = [_merged(self._runs)]
            self._extra_searches = 0
        order = _rough_order(wanted)
        ordered = wanted[order]
        found = np.full(len(wanted), UNKNOWN, np.int16)
        left: npt.NDArray[np.intp] | None = None
        for run in self._runs:
            some = run.find(ordered if left is None else ordered[left])
            if left is None:
                found = some
            else:
                found[left] = some
            left = np.flatnonzero(found == UNKNOWN)
            if not left.size:
                break
        result = np.empty_like(found)
        result[order] = found
        return result

    def of_bucket(self, bucket: int) -> Hashes:
        """Returns all hashes of one bucket, ascending."""
        parts = [part for run in self._runs if len(part := run.of_bucket(bucket))]
        if len(parts) == 1:
            return parts[0]
        return np.sort(np.concatenate([np.zeros(0, np.int32), *parts]), kind="stable")

    def add(self, hashes: Hashes, buckets: Buckets) -> None:
        """Add new hashes, which are ascending, unique and not known yet."""
        if not len(hashes):
            return
        self._runs.append(_Run(hashes, buckets))
        while len(self._runs) > 1 and len(self._runs[-2].hashes) <= 2 * len(self._runs[-1].hashes):
            self._runs[-2:] = [_merged(self._runs[-2:])]


def find_each(known: Hashes, buckets: Buckets, wanted: Hashes) -> Buckets:
    """Returns the buckets of hashes, all of which are among ``ascending`` ones."""
    order = _rough_order(wanted)
    result = np.empty(len(wanted), np.int16)
    result[order] = _Run(known, buckets).find(wanted[order])
    return result


def _unsigned(hashes: Hashes) -> _Unsigned:
    """Returns unsigned numbers in the same order."""
    return hashes.view(np.uint32) ^ _SIGN


def _rough_order(hashes: Hashes) -> npt.NDArray[np.intp]:
    """Returns the order of hashes by their upper half: numpy sorts 16-bit numbers by radix, faster than a full sort."""
    return np.argsort((_unsigned(hashes) >> np.uint32(16)).astype(np.uint16), kind="stable")


def _merged(runs: Iterable[_Run]) -> _Run:
    """Merge runs into one, slice by slice of the range of hashes, to use little more memory than the result."""
    runs = list(runs)
    total = sum(len(run.hashes) for run in runs)
    hashes, buckets = np.empty(total, np.int32), np.empty(total, np.int16)
    slices = -(-total // _SLICE)
    cuts = (np.arange(1, slices, dtype=np.int64) * 2**32 // slices - 2**31).astype(np.int32)
    bounds = [[0, *np.searchsorted(run.hashes, cuts).tolist(), len(run.hashes)] for run in runs]
    done = 0
    for number in range(slices):
        packed = np.concatenate(
            [_packed(run, slice(ends[number], ends[number + 1])) for run, ends in zip(runs, bounds, strict=True)]
        )
        packed.sort(kind="stable")  # merges sorted pieces
        hashes[done : done + len(packed)] = packed >> 16
        buckets[done : done + len(packed)] = packed & 0xFFFF
        done += len(packed)
    return _Run(hashes, buckets)


def _packed(run: _Run, part: slice) -> npt.NDArray[np.int64]:
    packed = run.hashes[part].astype(np.int64) << 16
    packed |= run.buckets if isinstance(run.buckets, int) else run.buckets[part]
    return packed
