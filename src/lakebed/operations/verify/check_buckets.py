"""Checks the live files of each bucket at every snapshot: levels, numbers of buckets, sequence numbers.

Only buckets that a commit added files to are checked again, so that a walk over many snapshots is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.format.manifest.manifest import SOURCE_COMPACT
from lakebed.format.schema.table_schema import TableSchema
from lakebed.operations.verify.key_ranges import KeyRanges
from lakebed.operations.verify.load_manifests import ranges
from lakebed.operations.verify.replay_history import State
from lakebed.operations.verify.report import Findings, some
from lakebed.options import TableOptions

I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Groups:
    """Files sorted by group; the members of a group are adjacent."""

    of_file: I64
    members: I64
    starts: I64

    @staticmethod
    def of(codes: I64) -> _Groups:
        _, dense = np.unique(codes, return_inverse=True)
        members = np.argsort(dense, kind="stable")
        count = int(dense.max()) + 1 if len(dense) else 0
        starts = np.concatenate(([0], np.cumsum(np.bincount(dense, minlength=count)))).astype(np.int64)
        return _Groups(dense.astype(np.int64), members, starts)

    def live_members(self, files: I64, live: Bools) -> I64:
        """Returns all live files of the groups that some files belong to."""
        groups = np.unique(self.of_file[files])
        found = self.members[ranges(self.starts[groups], self.starts[groups + 1])]
        return found[live[found]]


@dataclass
class BucketCheck:
    """Checks each state of a walk over one branch."""

    files: pa.Table
    keys: KeyRanges
    schema: TableSchema | None
    found: Findings
    paths: npt.NDArray[Any]
    _overlapping: dict[tuple[int, int], tuple[int, int, str]] = field(default_factory=dict)
    _mixed: dict[int, tuple[int, str]] = field(default_factory=dict)
    _behind: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        partitions = self.files["partition"].combine_chunks().dictionary_encode().indices
        self._partition = partitions.to_numpy(zero_copy_only=False).astype(np.int64)
        self._bucket = self.files["bucket"].to_numpy().astype(np.int64)
        self._level = self.files["level"].to_numpy().astype(np.int64)
        self._total = self.files["total_buckets"].to_numpy().astype(np.int64)
        self._sequence = self.files["max_sequence_number"].to_numpy()
        _, places = np.unique(np.stack([self._partition, self._bucket], 1), axis=0, return_inverse=True)
        self._place = places.reshape(-1).astype(np.int64)
        self._in_bucket = _Groups.of(self._place)
        self._in_partition = _Groups.of(self._partition)
        self._is_new = self.files["file_source"].fill_null(0).to_numpy() != SOURCE_COMPACT
        self._rescaled = self._partitions_with_several_totals()
        options = TableOptions(self.schema.options) if self.schema is not None else None
        self._is_keyed = self.schema is not None and bool(self.schema.primary_keys)
        self._counts_up = self._is_keyed and options is not None and not options.sequence_snapshot_ordering

    def _partitions_with_several_totals(self) -> Bools:
        """Returns which files belong to a partition that had several numbers of buckets over time."""
        pairs = np.unique(np.stack([self._partition, self._total], 1), axis=0)[:, 0]
        values, counts = np.unique(pairs, return_counts=True)
        return np.isin(self._partition, values[counts > 1])

    def look(self, state: State) -> None:
        if self._is_keyed:
            self._look_at_levels(state)
            if self._counts_up and not state.is_first:
                self._look_at_sequences(state)
        mixed = state.added[self._rescaled[state.added]]
        if len(mixed):
            self._look_at_totals(state, mixed)

    # ------------------------------------------------------------------------------------------------------- looks

    def _look_at_levels(self, state: State) -> None:
        raised = state.added[self._level[state.added] > 0]
        files = self._in_bucket.live_members(raised, state.live) if len(raised) else raised
        files = files[(self._level[files] > 0) & (self.keys.low[files] >= 0)]
        if len(files) < 2:
            return
        order = np.lexsort((self.keys.high[files], self.keys.low[files], self._level[files], self._place[files]))
        files = files[order]
        one, next_one = files[:-1], files[1:]
        clash = (
            (self._place[one] == self._place[next_one])
            & (self._level[one] == self._level[next_one])
            & (self.keys.high[one] >= self.keys.low[next_one])
        )
        for at in np.flatnonzero(clash).tolist():
            place = (int(self._place[one[at]]), int(self._level[one[at]]))
            self._overlapping.setdefault(place, (int(one[at]), int(next_one[at]), state.holder.label))

    def _look_at_totals(self, state: State, added: I64) -> None:
        files = self._in_partition.live_members(added, state.live)
        low, high = np.full(len(self.files), 2**62), np.full(len(self.files), -(2**62))
        np.minimum.at(low, self._partition[files], self._total[files])
        np.maximum.at(high, self._partition[files], self._total[files])
        for at in np.unique(
            self._partition[files[low[self._partition[files]] < high[self._partition[files]]]]
        ).tolist():
            member = int(files[self._partition[files] == at][0])
            self._mixed.setdefault(at, (member, f"{low[at]} and {high[at]} buckets, since {state.holder.label}"))

    def _look_at_sequences(self, state: State) -> None:
        fresh = state.added[(self._level[state.added] == 0) & self._is_new[state.added]]
        if not len(fresh):
            return
        files = self._in_bucket.live_members(fresh, state.live)
        older = files[~np.isin(files, state.added)]
        if not len(older):
            return
        places, codes = np.unique(np.concatenate([self._place[older], self._place[fresh]]), return_inverse=True)
        reached = np.full(len(places), -1, np.int64)
        np.maximum.at(reached, codes[: len(older)], self._sequence[older])
        behind = fresh[self._sequence[fresh] < reached[codes[len(older) :]]]
        self._behind += [(file, state.holder.label) for file in behind.tolist()]

    # ----------------------------------------------------------------------------------------------------- telling

    def tell(self) -> None:
        """Add the problems that were found, each once."""
        for one, other, label in self._overlapping.values():
            names = self.files["file_name"].take([one, other]).to_pylist()
            self.found.error(
                "overlapping-levels",
                f"{names[0]} and {names[1]} of level {self._level[one]} overlap in key, since {label}; "
                "readers take a level for sorted and may return a key twice, and Apache Paimon refuses to commit",
                self._folder(one),
                "compact the bucket fully, or roll back to the snapshot before",
            )
        for member, text in self._mixed.values():
            self.found.error(
                "wrong-total-buckets",
                f"a partition has files of {text}; rows of one key may lie in two buckets",
                self._folder(member).rsplit("/", 1)[0],
                "overwrite the partition, so that all of it has one number of buckets",
            )
        if self._behind:
            rows = [row for row, _ in self._behind]
            names = self.files["file_name"].take(rows).to_pylist()
            self.found.info(
                "overlapping-sequences",
                f"{len(rows)} new files ({some(names)}) have lower sequence numbers than files that were there, first "
                "in "
                f"{self._behind[0][1]}: two writers began on the same snapshot, and the higher number wins, not the "
                "later commit",
                self._folder(rows[0]),
                "nothing; where the order of writers matters, use one writer, or set 'sequence.field'",
            )

    def _folder(self, row: int) -> str:
        path: str | None = self.paths[row]
        return f"bucket {self._bucket[row]}" if path is None else path.rsplit("/", 1)[0]
