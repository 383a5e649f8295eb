"""The small files of an append table that a compaction rewrites together.

Small files of one bucket are packed in the order in which they were written; each pack has about the target size of one
file. Tables with fixed buckets keep the order of their rows, so a pack never spans a file that is not rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.options import TableOptions

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SmallFilePolicy:
    """When files are packed. With ``full`` two small files are enough, and ``min_files`` is ignored."""

    target_size: int
    small_size: int
    min_files: int
    deleted_share: float
    full: bool = False

    @staticmethod
    def of(options: TableOptions, *, full: bool) -> SmallFilePolicy:
        target = options.target_file_size(is_primary_key=False)
        if full and options.compaction_force_rewrite_all_files:
            return SmallFilePolicy(target, 2**62, 1, 0.0, full=True)
        return SmallFilePolicy(
            target_size=target,
            small_size=int(target * options.compaction_small_file_ratio),
            min_files=2 if full else options.compaction_min_file_num,
            deleted_share=options.compaction_delete_ratio_threshold,
            full=full,
        )


def pick_small_files(
    entries: pa.Table, policy: SmallFilePolicy, *, deleted_rows: npt.NDArray[np.int64], ordered: bool
) -> list[Rows]:
    """Returns the packs of files to be rewritten together, as row numbers of the entries, oldest first.

    ``deleted_rows`` is the number of deleted rows of each file; large files with many of them are rewritten too.
    """
    if not len(entries):
        return []
    size = entries["file_size"].to_numpy()
    rows = np.maximum(entries["row_count"].to_numpy(), 1)
    hollow = deleted_rows > rows * policy.deleted_share
    wanted = (size < policy.small_size) | hollow
    bucket = _bucket_codes(entries)
    order = (
        np.lexsort((entries["min_sequence_number"].to_numpy(), bucket))
        if ordered
        else np.argsort(bucket, kind="stable")
    )
    # A run ends with its bucket and, if the order matters, at a file that is not rewritten.
    starts = np.ones(len(order), np.bool_)
    starts[1:] = bucket[order][1:] != bucket[order][:-1]
    if ordered:
        starts[1:] |= ~wanted[order][:-1]
    run = np.cumsum(starts)[wanted[order]]
    chosen = order[wanted[order]]
    if not len(chosen):
        return []
    packs = np.split(chosen, np.flatnonzero(_new_pack(run, size[chosen], policy.target_size)))
    return [pack for pack in packs if _is_worth_it(pack, size, hollow, policy)]


def by_bucket(entries: pa.Table) -> list[Rows]:
    """Returns all files of each bucket, as row numbers of the entries."""
    if not len(entries):
        return []
    codes = _bucket_codes(entries)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _bucket_codes(entries: pa.Table) -> Rows:
    partition = entries["partition"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    bucket = entries["bucket"].to_numpy()
    return np.asarray(partition.astype(np.int64) * (int(bucket.max()) + 1) + bucket, np.int64)


def _new_pack(run: Rows, size: Rows, target: int) -> npt.NDArray[np.bool_]:
    """Returns where a pack starts: with a run, and whenever the bytes before it fill another file."""
    before = np.cumsum(size) - size
    first = np.ones(len(run), np.bool_)
    first[1:] = run[1:] != run[:-1]
    in_run = before - np.maximum.accumulate(np.where(first, before, 0))
    number = in_run // target
    first[1:] |= number[1:] != number[:-1]
    first[0] = False  # np.split starts there anyway
    return first


def _is_worth_it(pack: Rows, size: Rows, hollow: npt.NDArray[np.bool_], policy: SmallFilePolicy) -> bool:
    enough = len(pack) >= policy.min_files or (len(pack) > 1 and size[pack].sum() >= policy.target_size)
    return bool(enough or hollow[pack].any())
