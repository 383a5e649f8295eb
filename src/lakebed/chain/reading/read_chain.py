"""Reads of main of a chain table: parts of three branches that together show every partition completely.

Partitions of main come first, then full partitions. Both are read like those of an ordinary table. All other partitions
are merged of an anchor and changes by a :class:`ChainRead`; :mod:`lakebed.chain.reading.plan_views` decides which.
Planning only reads manifests. The merge engine and the sequence field of a merge are those of the delta branch, as in
Paimon.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.buckets.bucket_pruning import buckets_of
from lakebed.chain.layout import ChainKeys, ChainTable, Link
from lakebed.chain.reading.branch_schemas import DELTA, FULL, ChainStore, check_same_rows, schema_number
from lakebed.chain.reading.branch_versions import BranchVersions
from lakebed.chain.reading.chain_reader import ANCHOR, ASKED, POSITION, ChainReader
from lakebed.chain.reading.gap_days import gap_partitions
from lakebed.chain.reading.plan_views import Group, Kind, View, plan_views
from lakebed.chain.staleness import ChainState
from lakebed.errors import DataError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.index_files.deletion_vector import VectorRange
from lakebed.format.manifest.manifest import ENTRY_SCHEMA, NO_ENTRIES
from lakebed.format.partition_names import partition_table
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field
from lakebed.metadata.plan.file_scan import (
    PruneStep,
    ScanRequest,
    ScanResult,
    partition_mask,
    partition_part,
    scan,
    stats_mask,
)
from lakebed.metadata.store import TableStore
from lakebed.operations.read import BranchRead
from lakebed.options import TableOptions, check_existing
from lakebed.rows.files.file_reader import DeletedRows
from lakebed.rows.merge_engines.merge_rows import MergeSpec
from lakebed.table_rules.read_metrics import ReadMetrics

_LOG: Final = logging.getLogger("lakebed")
_ENGINES: Final = ("deduplicate", "partial-update")


@dataclass(frozen=True)
class Branch:
    """One data branch at a snapshot: its live files, and its partitions as links of their chains."""

    store: TableStore
    snapshot: Snapshot | None
    files: pa.Table
    links: tuple[Link, ...]

    @staticmethod
    def of(keys: ChainKeys, store: TableStore, snapshot: Snapshot | None, groups: pred.Node | None = None) -> Branch:
        """A branch at a snapshot; with ``groups`` only the groups that satisfy this condition."""
        files = _live_files(store, snapshot, groups)
        try:
            links = keys.links(pc.unique(files["partition"].combine_chunks()))
        except DataError as error:
            raise DataError(
                f"branch {store.paths.branch!r} of chain table {store.name}: {error}. Drop that partition, or "
                "correct the options partition.timestamp-pattern and partition.timestamp-formatter"
            ) from None
        return Branch(store, snapshot, files, tuple(links))


def _live_files(store: TableStore, snapshot: Snapshot | None, groups: pred.Node | None = None) -> pa.Table:
    if snapshot is None:
        return NO_ENTRIES
    return scan(store, ScanRequest(snapshot=snapshot, schema=store.schema(), predicate=groups)).entries


@dataclass(frozen=True)
class ChainPlan:
    """The plan of a read of main: which partitions main has, and what each of the others is read from."""

    keys: ChainKeys
    main: pa.Array
    full: Branch
    delta: Branch
    views: tuple[View, ...]
    stale: frozenset[bytes]

    @property
    def partitions(self) -> pa.Array:
        """The encoded partitions that the read shows."""
        others = pa.array([view.partition.encoded for view in self.views], pa.binary())
        return pa.concat_arrays([self.main, others])

    def of_kind(self, *kinds: Kind) -> tuple[View, ...]:
        return tuple(view for view in self.views if view.kind in kinds)


@dataclass(frozen=True)
class ChainParts:
    """A planned read of main, with what it has cost so far in this process."""

    plan: ChainPlan
    parts: tuple[BranchRead, ...]
    metrics: ReadMetrics


def read_chain(main: BranchRead, chain: ChainTable, versions: BranchVersions) -> ChainParts:
    """Plan a read of main."""
    _check_branches(chain)
    plan = plan_chain(main, chain, versions)
    metrics = ReadMetrics()
    parts: list[BranchRead] = [main]
    if direct := [view.partition.encoded for view in plan.of_kind(Kind.FULL)]:
        schema = chain.full.schema()
        columns = schema.select([column.name for column in main.columns])
        only = pa.array(direct, pa.binary())
        parts.append(BranchRead(chain.full, schema, versions.full, columns, main.predicate, only=only))
    if merged := plan.of_kind(Kind.CHAIN, Kind.CARRIED):
        parts.append(_merged_read(chain, (plan.full, plan.delta), merged, main.columns, main.predicate, metrics))
    return ChainParts(plan, tuple(parts), metrics)


def read_views(chain: ChainTable, versions: BranchVersions, views: Sequence[View]) -> ChainRead:
    """A read of all columns of these views, as a compaction needs it."""
    _check_branches(chain)
    branches = (Branch.of(chain.keys, chain.full, versions.full), Branch.of(chain.keys, chain.delta, versions.delta))
    return _merged_read(chain, branches, tuple(views), chain.main.schema().fields, None, ReadMetrics())


def plan_chain(main: BranchRead, chain: ChainTable, versions: BranchVersions) -> ChainPlan:
    """What each partition that a read of main asks for is read from."""
    keys = chain.keys
    condition = partition_part(main.predicate, main.schema)
    # Anchors and changes have the same group as the asked partition, so other groups are skipped.
    of_group = pred.TRUE if condition is None else pred.implied(condition, keys.group)
    groups = None if of_group == pred.TRUE else of_group
    full = Branch.of(keys, chain.full, versions.full, groups)
    delta = Branch.of(keys, chain.delta, versions.delta, groups)
    state = ChainState(chain, versions.full, versions.delta)
    stale = state.stale
    hidden = main.partitions()
    existing = {link.encoded for link in (*full.links, *delta.links)}
    gaps: list[Link] = []
    if TableOptions(main.schema.options).chain_gap_read == "carry":
        known = {link.group for link in (*full.links, *delta.links)}
        named = gap_partitions(keys, condition, known, existing.union(hidden.to_pylist()))
        gaps = _with_view(named, state, [link for link in full.links if link.encoded not in stale])
    views = plan_views(
        full.links,
        delta.links,
        skipped=stale,
        hidden=frozenset(hidden.to_pylist()),
        asked=_satisfying(existing, condition, main),
        gaps=gaps,
    )
    return ChainPlan(keys, hidden, full, delta, tuple(views), stale)


def _with_view(gaps: Sequence[Link], state: ChainState, usable: Sequence[Link]) -> list[Link]:
    """The gap days whose state is known. Most are after the last full partition, where no log needs to be read."""
    last: dict[Group, dt.datetime] = {}
    for link in usable:
        last[link.group] = max(link.time, last.get(link.group, link.time))
    return [
        day
        for day in gaps
        if day.group not in last or day.time > last[day.group] or state.dropped.has_view(day, usable)
    ]


def _satisfying(existing: set[bytes], condition: pred.Node | None, main: BranchRead) -> frozenset[bytes] | None:
    """The partitions that satisfy a condition on partition columns; ``None``: all."""
    if condition is None:
        return None
    codes = pa.table({"partition": pa.array(sorted(existing), pa.binary())})
    mask = partition_mask(codes, condition, main.schema)
    return frozenset(codes["partition"].filter(pa.array(mask)).to_pylist())


def _check_branches(chain: ChainTable) -> None:
    """Raise if the schemas of the branches differ, or if Lakebed cannot read one of them."""
    check_same_rows(chain)
    for store in (chain.full, chain.delta):
        check_existing(store.schema().options, where=f"branch {store.paths.branch!r} of {store.name}", writing=False)


def _merged_read(
    chain: ChainTable,
    branches: tuple[Branch, Branch],
    views: tuple[View, ...],
    columns: tuple[Field, ...],
    predicate: pred.Node | None,
    metrics: ReadMetrics,
) -> ChainRead:
    schema = chain.main.schema().with_options(chain.delta.schema().options)
    engine = MergeSpec.of(schema).engine
    if engine not in _ENGINES:
        raise UnsupportedError(
            f"chain table {chain.main.name}: the merge engine {engine} of branch {chain.delta.paths.branch!r} cannot "
            f"merge partitions; it must be {' or '.join(_ENGINES)}"
        )
    snapshot = branches[1].snapshot or branches[0].snapshot
    store = ChainStore.of(chain)
    return ChainRead(store, schema, snapshot, columns, predicate, views=views, branches=branches, metrics=metrics)


@dataclass(frozen=True)
class ChainRead(BranchRead):
    """The merged partitions, as one part of a read.

    ``store`` has the schemas of both branches. A file is listed once for each partition that it is read for.
    """

    views: tuple[View, ...] = field(kw_only=True)
    branches: tuple[Branch, Branch] = field(kw_only=True)
    metrics: ReadMetrics = field(default_factory=ReadMetrics, compare=False, kw_only=True)

    def _plan(self) -> ScanResult:
        full, delta = (branch.files for branch in self.branches)
        anchors = [(view.partition, ANCHOR, view.anchor) for view in self.views if view.anchor is not None]
        changes = [(view.partition, place, link) for view in self.views for place, link in enumerate(view.deltas, 1)]
        entries = pa.concat_tables([_read_for(full, anchors, FULL), _read_for(delta, changes, DELTA)])
        self._check_buckets(entries)
        steps = [PruneStep("files of both branches by chain", len(full) + len(delta), len(entries))]
        for name, mask in (("bucket", self._bucket_mask), ("key statistics", self._key_mask)):
            keep = mask(entries)
            if keep is not None:
                kept = entries.filter(pa.array(keep))
                steps.append(PruneStep(f"files of chains by {name}", len(entries), len(kept)))
                entries = kept
        return ScanResult(entries, tuple(steps))

    def _bucket_mask(self, entries: pa.Table) -> npt.NDArray[np.bool_] | None:
        """Which files belong to a bucket that the condition asks for. A chain has one number of buckets."""
        function = TableOptions(self.schema.options).bucket_function
        wanted = buckets_of(self._key_condition, self.schema, function)
        totals = np.unique(entries["total_buckets"].to_numpy()).tolist()
        if wanted is None or not totals:
            return None
        mask = np.ones(len(entries), np.bool_)
        for total in totals:
            buckets = wanted(total)
            if buckets is not None:
                mask &= (entries["total_buckets"].to_numpy() != total) | np.isin(entries["bucket"].to_numpy(), buckets)
        return mask

    def _key_mask(self, entries: pa.Table) -> npt.NDArray[np.bool_] | None:
        """Which files may contain a key that the condition asks for. Other columns may be newer in other files."""
        if self._key_condition is None:
            return None
        return stats_mask(self.store, entries, self._key_condition, self.schema)

    @cached_property
    def _key_condition(self) -> pred.Node | None:
        """The part of the predicate that is about keys without partition columns."""
        if self.predicate is None:
            return None
        implied = pred.implied(self.predicate, self.schema.trimmed_primary_key)
        return None if implied == pred.TRUE else implied

    def _check_buckets(self, entries: pa.Table) -> None:
        totals = entries.group_by(ASKED, use_threads=False).aggregate(
            [("total_buckets", "min"), ("total_buckets", "max")]
        )
        differ = totals.filter(pc.not_equal(totals["total_buckets_min"], totals["total_buckets_max"]))
        if len(differ):
            partition = partition_table(differ[ASKED].combine_chunks(), self.schema.partition_fields).to_pylist()[0]
            raise UnsupportedError(
                f"chain table {self.store.name}: inconsistent bucket num; partition {partition} is made of files with "
                f"{differ['total_buckets_min'][0]} and with {differ['total_buckets_max'][0]} buckets. Rescale the "
                "partitions of both branches to one number of buckets"
            )

    @cached_property
    def deleted(self) -> DeletedRows:
        """The rows of both branches that deletion vectors mark as deleted."""
        found: dict[tuple[bytes, str], tuple[str, VectorRange]] = {}
        for branch in self.branches:
            index = [] if branch.snapshot is None else branch.store.manifests.read_index(branch.snapshot.index_manifest)
            found.update(DeletedRows.of(branch.store, index).by_file)
        return DeletedRows(found)

    def to_arrow(self) -> pa.Table:
        rows = super().to_arrow()
        _LOG.info("table %s: %s", self.store.name, self.metrics)
        return rows

    @cached_property
    def reader(self) -> ChainReader:
        return ChainReader(self.store, self.schema, self.columns, self.predicate, self.deleted, metrics=self.metrics)


def _read_for(files: pa.Table, reads: Sequence[tuple[Link, int, Link]], branch: int) -> pa.Table:
    """The files of partitions, each with the partition that it is read for and its position in the chain."""
    encoded = files["partition"].combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(encoded.dictionary)))
    number = {code: i for i, code in enumerate(encoded.dictionary.to_pylist())}
    picked = [order[(ends[i - 1] if i else 0) : ends[i]] for i in (number[link.encoded] for _, _, link in reads)]
    counts = [len(rows) for rows in picked]
    taken = files.take(pa.array(np.concatenate(picked) if picked else np.zeros(0, np.int64)))
    schema_id = ENTRY_SCHEMA.get_field_index("schema_id")
    numbers = schema_number(taken["schema_id"].combine_chunks(), branch)
    taken = taken.set_column(schema_id, ENTRY_SCHEMA.field(schema_id), numbers)
    asked = pa.array([link.encoded for link, _, _ in reads], pa.binary())
    places = np.array([place for _, place, _ in reads], np.int32)
    taken = taken.append_column(ASKED, asked.take(pa.array(np.repeat(np.arange(len(reads)), counts))))
    return taken.append_column(POSITION, pa.array(np.repeat(places, counts)))
