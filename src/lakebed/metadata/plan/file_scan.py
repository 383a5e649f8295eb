"""The files of a snapshot that a query has to open.

Planning is a list of steps. Each step only removes files that cannot contain a matching row:

1. manifests whose partition range, bucket range or level range cannot match are not opened;
2. entries of other partitions, buckets and levels are dropped;
3. DELETE entries cancel their ADDs;
4. files whose column statistics exclude every match are dropped.

The result records what each step kept, for ``explain``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format import predicate as pred
from lakebed.format.manifest.manifest import DELETE, ManifestMeta, fold
from lakebed.format.partition_names import partition_table
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.statistics.file_stats import decode_stats
from lakebed.format.types.data_types import (
    BINARY_ROOTS,
    STRING_ROOTS,
    TIMESTAMP_ROOTS,
    Atomic,
    DataType,
    Field,
    nullable,
    to_arrow,
)
from lakebed.metadata.step_timings import timed
from lakebed.metadata.store import TableStore
from lakebed.storage import run_both

Mask = npt.NDArray[np.bool_]
_STATS_COLUMNS: Final = ["schema_id", "row_count", "value_stats_cols", "value_min", "value_max", "value_null_counts"]


class ScanMode(StrEnum):
    """The part of a snapshot that a scan reads."""

    ALL = "all"
    DELTA = "delta"
    CHANGELOG = "changelog"


@dataclass(frozen=True, slots=True)
class PruneStep:
    """How many files one step of planning examined and kept."""

    name: str
    total: int
    kept: int

    def __str__(self) -> str:
        return f"{self.name}: {self.kept} of {self.total} kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """The query on a snapshot. The predicate is bound to the columns of ``schema``.

    ``buckets_of`` returns, for a total number of buckets, those that can contain a match (``None``: any). ``places``
    does the same for dynamic buckets: it returns which entries are in a partition and bucket that can.
    """

    snapshot: Snapshot
    schema: TableSchema
    mode: ScanMode = ScanMode.ALL
    predicate: pred.Node | None = None
    buckets_of: Callable[[int], Sequence[int] | None] | None = None
    places: Callable[[pa.Table], Mask] | None = None
    levels: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The files to read, as entries, and the steps of planning."""

    entries: pa.Table
    steps: tuple[PruneStep, ...] = ()

    @property
    def file_count(self) -> int:
        return len(self.entries)

    @property
    def byte_count(self) -> int:
        return int(pc.sum(self.entries["file_size"]).as_py() or 0)


ReadManifests = Callable[[TableStore, ScanRequest, Sequence[ManifestMeta]], pa.Table]
"""Returns the entries of manifests, in order; it may drop what :func:`without_misses` drops."""


@timed("plan")
def scan(store: TableStore, request: ScanRequest, read: ReadManifests | None = None) -> ScanResult:
    """Plans one read: returns the live files of the snapshot that can contain a matching row."""
    steps: list[PruneStep] = []
    in_partition = partition_part(request.predicate, request.schema)

    metas = _manifests(store, request)
    kept = [meta for meta, keep in zip(metas, _manifest_mask(metas, in_partition, request), strict=True) if keep]
    steps.append(PruneStep("manifests by partition, bucket and level", len(metas), len(kept)))

    entries = _read_entries(store, request, kept, read)
    entries = _filtered(entries, partition_mask(entries, in_partition, request.schema), "files by partition", steps)
    entries = _filtered(entries, _bucket_mask(entries, request), "files by bucket", steps)
    entries = _filtered(entries, _place_mask(entries, request), "files by hash index", steps)
    entries = _filtered(entries, _level_mask(entries, request), "files by level", steps)

    if request.mode is ScanMode.ALL:
        entries = fold(entries, where=f"snapshot {request.snapshot.id} of {store.name}")
    if request.predicate is not None:
        mask = stats_mask(store, entries, request.predicate, request.schema)
        entries = _filtered(entries, mask, "files by column statistics", steps)
    return ScanResult(entries, tuple(steps))


def _read_entries(
    store: TableStore, request: ScanRequest, kept: Sequence[ManifestMeta], read: ReadManifests | None
) -> pa.Table:
    """Returns the entries of manifests. The schemas of their statistics are read at the same time, if that pays off."""

    def entries() -> pa.Table:
        return store.manifests.read_entries(kept) if read is None else read(store, request, kept)

    if request.predicate is None or not store.storage.is_remote:
        return entries()
    schemas = partial(store.schemas.read_ahead, {meta.schema_id for meta in kept})
    return run_both(store.storage, entries, schemas)[0]


def without_misses(store: TableStore, request: ScanRequest, entries: pa.Table) -> pa.Table:
    """Returns entries of some manifests without those that a scan of all manifests would not keep.

    Of files that statistics exclude only the ADD is dropped. A DELETE without its ADD does no harm, but without the
    DELETE a deleted file would be live again.
    """
    steps: list[PruneStep] = []
    in_partition = partition_part(request.predicate, request.schema)
    entries = _filtered(entries, partition_mask(entries, in_partition, request.schema), "partition", steps)
    entries = _filtered(entries, _bucket_mask(entries, request), "bucket", steps)
    entries = _filtered(entries, _place_mask(entries, request), "hash index", steps)
    entries = _filtered(entries, _level_mask(entries, request), "level", steps)
    if request.mode is ScanMode.ALL and request.predicate is not None and len(entries):
        is_delete = entries["kind"].to_numpy() == DELETE
        mask = stats_mask(store, entries, request.predicate, request.schema)
        entries = _filtered(entries, mask | is_delete, "statistics", steps)
    return entries


def live_entries(store: TableStore, snapshot: Snapshot | None, partitions: pa.Array | None = None) -> pa.Table:
    """Returns the live files of a snapshot, all of them or those of some partitions (as encoded rows)."""
    metas = [] if snapshot is None else store.manifests.base_and_delta(snapshot)
    if partitions is not None and metas:
        metas = [m for m, keep in zip(metas, may_hold(metas, partitions, store.schema()), strict=True) if keep]
    entries = store.manifests.read_entries(metas)
    if partitions is not None:
        entries = entries.filter(pc.is_in(entries["partition"], value_set=partitions))
    return fold(entries, where=f"snapshot {snapshot.id if snapshot else 0} of {store.name}")


def _manifests(store: TableStore, request: ScanRequest) -> list[ManifestMeta]:
    snapshot = request.snapshot
    if request.mode is ScanMode.ALL:
        return store.manifests.base_and_delta(snapshot)
    if request.mode is ScanMode.DELTA:
        return store.manifests.read_list(snapshot.delta_manifest_list)
    if snapshot.changelog_manifest_list is None:
        return []
    return store.manifests.read_list(snapshot.changelog_manifest_list)


def _filtered(entries: pa.Table, mask: Mask | None, name: str, steps: list[PruneStep]) -> pa.Table:
    if mask is None:
        return entries
    kept = entries if mask.all() else entries.filter(pa.array(mask))
    steps.append(PruneStep(name, len(entries), len(kept)))
    return kept


# ---------------------------------------------------------------------------------------------- by partition


def partition_part(node: pred.Node | None, schema: TableSchema) -> pred.Node | None:
    """Returns the part of a predicate that partition values alone decide."""
    if node is None or not schema.partition_keys:
        return None
    part = pred.implied(node, schema.partition_keys)
    return None if part == pred.TRUE else part


def partition_mask(entries: pa.Table, node: pred.Node | None, schema: TableSchema) -> Mask | None:
    """Returns which entries are of a partition that satisfies the predicate; each distinct partition is tested once."""
    if node is None:
        return None
    encoded = entries["partition"].combine_chunks().dictionary_encode()
    if len(encoded) == 0:
        return np.zeros(0, np.bool_)
    good = pred.matches_rows(node, partition_table(encoded.dictionary, schema.partition_fields))
    return np.asarray(good[encoded.indices.to_numpy(zero_copy_only=False)], np.bool_)


def _partition_view(metas: Sequence[ManifestMeta], fields: Sequence[Field]) -> pred.StatsView:
    types = [nullable(field.type) for field in fields]
    decoded = decode_stats(
        pa.array([meta.partition_min for meta in metas], pa.binary()),
        pa.array([meta.partition_max for meta in metas], pa.binary()),
        pa.array([list(meta.partition_null_counts) for meta in metas], pa.list_(pa.int64())),
        types,
    )
    counts = np.array([meta.num_added_files + meta.num_deleted_files for meta in metas], np.int64)
    bounds = {
        field.name: pred.ColumnBounds(decoded.mins[i], decoded.maxs[i], decoded.null_counts[i])
        for i, field in enumerate(fields)
    }
    return pred.StatsView(counts, bounds)


def _manifest_mask(metas: Sequence[ManifestMeta], node: pred.Node | None, request: ScanRequest) -> Mask:
    mask = np.ones(len(metas), np.bool_)
    if node is not None and metas:
        mask &= pred.may_match(node, _partition_view(metas, request.schema.partition_fields))
    if request.levels is not None:
        low, high = request.levels
        mask &= np.array([_overlaps(meta.min_level, meta.max_level, low, high) for meta in metas], np.bool_)
    if request.buckets_of is not None:
        mask &= np.array([_meta_may_hold_buckets(meta, request.buckets_of) for meta in metas], np.bool_)
    return mask


def may_hold(metas: Sequence[ManifestMeta], partitions: pa.Array, schema: TableSchema) -> Mask:
    """Returns which manifests may contain an entry of one of these partitions (as encoded rows)."""
    fields = schema.partition_fields
    if not fields:
        return np.ones(len(metas), np.bool_)
    table = partition_table(partitions, fields)
    view = _partition_view(metas, fields)
    parts = [_among(field, table[field.name].combine_chunks()) for field in fields]
    mask = np.ones(len(metas), np.bool_)
    for part in parts:
        mask &= pred.may_match(part, view)
    return mask


def _among(field: Field, values: pa.Array) -> pred.Node:
    node: pred.Node = pred.In(field.name, values.drop_null().unique(), negated=False)
    return pred.Or((node, pred.IsNull(field.name, negated=False))) if values.null_count else node


def _overlaps(low: int | None, high: int | None, wanted_low: int, wanted_high: int) -> bool:
    return low is None or high is None or (low <= wanted_high and high >= wanted_low)


def _meta_may_hold_buckets(meta: ManifestMeta, buckets_of: Callable[[int], Sequence[int] | None]) -> bool:
    if meta.total_buckets is None or meta.min_bucket is None or meta.max_bucket is None:
        return True
    buckets = buckets_of(meta.total_buckets)
    return buckets is None or any(meta.min_bucket <= bucket <= meta.max_bucket for bucket in buckets)


# ------------------------------------------------------------------------------------- by bucket and by level


def _bucket_mask(entries: pa.Table, request: ScanRequest) -> Mask | None:
    if request.buckets_of is None:
        return None
    totals = entries["total_buckets"].to_numpy()
    buckets = entries["bucket"].to_numpy()
    mask = np.ones(len(entries), np.bool_)
    for total in np.unique(totals).tolist():
        wanted = request.buckets_of(total)
        if wanted is not None:
            mask &= (totals != total) | np.isin(buckets, np.asarray(wanted))
    return mask


def _place_mask(entries: pa.Table, request: ScanRequest) -> Mask | None:
    return None if request.places is None else request.places(entries)


def _level_mask(entries: pa.Table, request: ScanRequest) -> Mask | None:
    if request.levels is None:
        return None
    levels = entries["level"].to_numpy()
    return np.asarray((levels >= request.levels[0]) & (levels <= request.levels[1]))


# ------------------------------------------------------------------------------------------------ by statistics


def stats_mask(store: TableStore, entries: pa.Table, node: pred.Node, schema: TableSchema) -> Mask:
    """Returns which files may contain a row that satisfies the predicate, by their column statistics."""
    mask = np.ones(len(entries), np.bool_)
    for rows, view in stats_views(store, entries, schema, pred.columns(node)):
        mask[rows] = pred.may_match(node, view)
    return mask


def stats_views(
    store: TableStore, entries: pa.Table, schema: TableSchema, names: frozenset[str]
) -> list[tuple[npt.NDArray[np.int64], pred.StatsView]]:
    """Yields the statistics of files, mapped to the columns of the query, by groups of files with the same layout."""
    if not len(entries):
        return []
    entries = entries.select(_STATS_COLUMNS)
    ids = entries["schema_id"].combine_chunks().dictionary_encode()
    cols = pc.binary_join(entries["value_stats_cols"], "\x00").combine_chunks()  # null differs from the empty list
    cols = cols.dictionary_encode(null_encoding="encode")
    layouts = ids.indices.to_numpy() * len(cols.dictionary) + cols.indices.to_numpy()
    views = []
    for layout in np.flatnonzero(np.bincount(layouts)).tolist():
        rows = np.flatnonzero(layouts == layout)
        part = entries if len(rows) == len(entries) else entries.take(pa.array(rows))
        file_schema = store.schemas.get(ids.dictionary[layout // len(cols.dictionary)].as_py())
        views.append((rows, _stats_view(part, file_schema, schema, names)))
    return views


def _stats_view(
    entries: pa.Table, file_schema: TableSchema, schema: TableSchema, names: frozenset[str]
) -> pred.StatsView:
    listed = entries["value_stats_cols"][0].as_py()
    covered = file_schema.fields if listed is None else file_schema.select(listed)
    wanted_ids = {field.id for field in schema.fields if field.name in names}
    numbers = [i for i, field in enumerate(covered) if field.id in wanted_ids]
    decoded = decode_stats(
        entries["value_min"].combine_chunks(),
        entries["value_max"].combine_chunks(),
        entries["value_null_counts"].combine_chunks(),
        [nullable(field.type) for field in covered],
        only=numbers,
    )
    position = {covered[number].id: i for i, number in enumerate(numbers)}
    row_count = entries["row_count"].to_numpy()
    bounds: dict[str, pred.ColumnBounds] = {}
    for field in schema.fields:
        if field.name not in names:
            continue
        if field.id in position:
            i = position[field.id]
            if keeps_order(covered[numbers[i]].type, field.type):
                wanted = to_arrow(field.type)
                bounds[field.name] = pred.ColumnBounds(
                    decoded.mins[i].cast(wanted), decoded.maxs[i].cast(wanted), decoded.null_counts[i]
                )
        elif field.id not in file_schema.fields_by_id:  # added later: every row of the file is null there
            nothing = pa.nulls(len(entries), to_arrow(field.type))
            bounds[field.name] = pred.ColumnBounds(nothing, nothing, pa.array(row_count, pa.int64()))
    return pred.StatsView(row_count, bounds)


def keeps_order(old: DataType, new: DataType) -> bool:
    """Returns whether values sort the same after a cast from ``old`` to ``new``, so that bounds stay valid."""
    if not isinstance(old, Atomic) or not isinstance(new, Atomic):
        return False
    if old.root == new.root and old.params == new.params:
        return True
    numbers = {"TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL"}
    families = (STRING_ROOTS, BINARY_ROOTS, numbers, frozenset({"FLOAT", "DOUBLE"}), TIMESTAMP_ROOTS)
    return any(old.root in family and new.root in family for family in families) and (
        old.root == new.root or old.root not in TIMESTAMP_ROOTS
    )
