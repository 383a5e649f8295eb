"""When and how manifests are merged, so that manifest lists stay short and a commit costs what it changes.

Manifests are merged in tiers. A commit merges the newest manifests once there are enough of about the same size, so
every entry is rewritten once per tier and not at every merge. Only adjacent manifests are merged, because a DELETE must
stay after its ADD. Within a merge each DELETE cancels its ADD; a DELETE whose ADD is in an older manifest is kept.
Merged entries are sorted by partition and bucket.

A full merge folds all manifests and leaves no DELETE. Manifests without deletes that are large enough, and whose
partitions have no deleted files, are not rewritten. An ordinary commit never makes a full merge.

All decisions depend on the manifest lists only, not on the state of the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.manifest.manifest import DELETE, ManifestMeta, fold
from lakebed.metadata.manifests import Manifests, ManifestWriter
from lakebed.metadata.plan.file_scan import may_hold
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions

_SMALLEST_TIER: Final = 16 * 1024
"""Manifests up to this size are all in the first tier."""
_NEXT_TIER: Final = 4
"""The largest ratio between the size of a manifest and the size of what is merged into its tier."""


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """When a commit merges manifests; ``work`` limits the bytes that one commit rewrites."""

    target_size: int
    count: int
    least_count: int
    interval: int
    work: int

    @staticmethod
    def of(options: TableOptions) -> MergePolicy:
        target = options.manifest_target_file_size
        count = min(options.manifest_merge_min_count, options.manifest_compaction_max_delta_count)
        return MergePolicy(
            target_size=target,
            count=max(2, count),
            least_count=max(2, options.manifest_compaction_min_delta_count),
            interval=options.manifest_compaction_interval_commits,
            work=target,
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge: the new metas, which manifests were rewritten, and how many entries cancelled out."""

    metas: list[ManifestMeta]
    rewritten: tuple[ManifestMeta, ...] = ()
    written: tuple[ManifestMeta, ...] = ()
    cancelled: int = 0

    @property
    def changed(self) -> bool:
        return bool(self.rewritten)


def tail_to_merge(sizes: Sequence[int], policy: MergePolicy, *, commits_since_merge: int = 0) -> int:
    """Returns how many of the newest manifests a commit merges into one; 0 for none.

    >>> policy = MergePolicy(target_size=8_000_000, count=3, least_count=2, interval=100, work=8_000_000)
    >>> tail_to_merge([2000, 2000], policy), tail_to_merge([2000, 2000, 2000], policy)
    (0, 3)
    >>> tail_to_merge([90_000, 90_000, 30_000, 30_000, 30_000], policy)
    5
    """
    wanted = policy.least_count if commits_since_merge >= policy.interval else policy.count
    merge = held = total = position = 0
    while position < len(sizes):
        size = sizes[-1 - position]
        reach = max(total * (_NEXT_TIER if held == 1 and merge else 1), _SMALLEST_TIER)
        if (held and size > reach) or total + size > policy.work or size >= policy.target_size:
            break
        position += 1
        total += size
        held += 1
        if held >= wanted:
            merge, held = position, 1
    return merge


def merge_tail(
    manifests: Manifests, writer: ManifestWriter, metas: list[ManifestMeta], policy: MergePolicy, *, since: int = 0
) -> Merged:
    """Returns the metas with the newest ones merged, if there are enough of them."""
    count = tail_to_merge([meta.file_size for meta in metas], policy, commits_since_merge=since)
    if not count:
        return Merged(metas)
    kept, tail = metas[:-count], metas[-count:]
    entries = manifests.read_entries(tail)
    folded = fold(entries, partial=True, where="manifests to be merged")
    written = writer.write_entries(by_place(folded))
    return Merged([*kept, *written], tuple(tail), tuple(written), (len(entries) - len(folded)) // 2)


def merge_all(store: TableStore, writer: ManifestWriter, metas: list[ManifestMeta], policy: MergePolicy) -> Merged:
    """Returns the metas after a full merge: manifests that a delete may apply to are folded, small ones are joined."""
    deletes = _deleted_partitions(store, metas)
    touched = [False] * len(metas) if deletes is None else may_hold(metas, deletes, store.schema()).tolist()
    rewrite = [
        meta
        for meta, hit in zip(metas, touched, strict=True)
        if hit or meta.num_deleted_files or meta.file_size < policy.target_size // 2
    ]
    if len(rewrite) <= 1 and not any(meta.num_deleted_files for meta in rewrite):
        return Merged(metas)
    chosen = {meta.file_name for meta in rewrite}
    kept = [meta for meta in metas if meta.file_name not in chosen]
    entries = store.manifests.read_entries(rewrite)
    folded = fold(entries, where=f"manifests of {store.name}")
    written = writer.write_entries(by_place(folded))
    return Merged([*kept, *written], tuple(rewrite), tuple(written), (len(entries) - len(folded)) // 2)


def _deleted_partitions(store: TableStore, metas: Sequence[ManifestMeta]) -> pa.Array | None:
    """Returns the partitions of deleted files, ``None`` if no manifest deletes any."""
    with_deletes = [meta for meta in metas if meta.num_deleted_files]
    if not with_deletes:
        return None
    entries = store.manifests.read_entries(with_deletes)
    return pc.unique(entries.filter(pc.equal(entries["kind"], DELETE))["partition"].combine_chunks())


def by_place(entries: pa.Table) -> pa.Table:
    """Returns entries sorted by partition and bucket (stable), so that a filtered read opens few manifests."""
    if len(entries) < 2:
        return entries
    partition = entries["partition"].combine_chunks().dictionary_encode()
    rank = np.empty(len(partition.dictionary), np.int64)
    rank[pc.sort_indices(partition.dictionary).to_numpy()] = np.arange(len(rank))
    order = np.lexsort((entries["bucket"].to_numpy(), rank[partition.indices.to_numpy(zero_copy_only=False)]))
    return entries.take(pa.array(order))


def replaced(metas: list[ManifestMeta], before: Merged) -> list[ManifestMeta] | None:
    """Returns the metas with the merge of an earlier attempt applied; ``None`` if its input is no longer listed."""
    if not before.changed:
        return metas
    gone = [meta.file_name for meta in before.rewritten]
    names = [meta.file_name for meta in metas]
    if not set(gone) <= set(names):
        return None
    first = names.index(gone[0])
    if names[first : first + len(gone)] == gone:
        return [*metas[:first], *before.written, *metas[first + len(gone) :]]
    left = [meta for meta in metas if meta.file_name not in set(gone)]
    position = sum(name not in set(gone) for name in names[: names.index(gone[-1])])
    return [*left[:position], *before.written, *left[position:]]
