"""Checks what manifest lists say about manifests against their entries: counts, sizes and ranges.

Readers skip manifests by these numbers, so a wrong number hides files. All manifests are checked at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakebed.errors import CorruptError
from lakebed.format.binary_row import decode_rows
from lakebed.format.paths import TablePaths
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.statistics.file_stats import decode_stats
from lakebed.format.types.data_types import DataType, nullable
from lakebed.metadata.plan.key_ranks import ranks_of
from lakebed.operations.verify.load_manifests import AllManifests
from lakebed.operations.verify.report import Findings, some

I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_ADVICE = "restore the lists that name it, or compact the table's manifests with Apache Paimon, which rewrites them"


def check_metas(
    manifests: AllManifests,
    differing: dict[int, list[str]],
    schema: TableSchema | None,
    paths: TablePaths,
    found: Findings,
) -> None:
    """Compare every manifest with its entry in the lists."""
    for number, lists in differing.items():
        found.error(
            "wrong-manifest-meta",
            f"{some(path.rsplit('/', 1)[-1] for path in lists)} describe the manifest {manifests.names[number]} "
            "otherwise than other lists do",
            paths.manifest(manifests.names[number]),
            _ADVICE,
        )
    filled = manifests.readable & (np.diff(manifests.starts) > 0)
    for number in np.flatnonzero(_wrong_counts(manifests)).tolist():
        meta = manifests.metas[number]
        held = slice(manifests.starts[number], manifests.starts[number + 1])
        added = int(manifests.is_add[held].sum())
        found.error(
            "wrong-manifest-counts",
            f"manifest {meta.file_name} holds {added} added and {int(held.stop - held.start) - added} deleted files, "
            f"its list says {meta.num_added_files} and {meta.num_deleted_files}",
            paths.manifest(meta.file_name),
            _ADVICE,
        )
    wrong = _wrong_ranges(manifests, filled)
    if schema is not None and schema.partition_keys:
        wrong |= _wrong_partitions(manifests, filled, [field.type for field in schema.partition_fields])
    for number in np.flatnonzero(wrong).tolist():
        name = manifests.names[number]
        found.error(
            "wrong-manifest-ranges",
            f"manifest {name} holds files outside of the partitions, buckets, levels or schemas that its list says; "
            "readers may skip them",
            paths.manifest(name),
            _ADVICE,
        )


def _wrong_counts(manifests: AllManifests) -> Bools:
    sums = np.concatenate(([0], np.cumsum(manifests.is_add)))
    added = sums[manifests.starts[1:]] - sums[manifests.starts[:-1]]
    deleted = np.diff(manifests.starts) - added
    told = np.array([(meta.num_added_files, meta.num_deleted_files) for meta in manifests.metas], np.int64)
    told = told.reshape(-1, 2)
    return np.asarray(manifests.readable & ((told[:, 0] != added) | (told[:, 1] != deleted)))


def _extremes(values: I64, manifests: AllManifests, filled: Bools) -> tuple[I64, I64]:
    """Returns the smallest and largest value of each manifest with entries."""
    starts = manifests.starts[:-1][filled]
    return np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)


def _wrong_ranges(manifests: AllManifests, filled: Bools) -> Bools:
    wrong = np.zeros(len(manifests.metas), np.bool_)
    if not filled.any():
        return wrong
    metas = [manifests.metas[number] for number in np.flatnonzero(filled).tolist()]
    bad = np.zeros(len(metas), np.bool_)
    for column, lows, highs in (
        ("bucket", [meta.min_bucket for meta in metas], [meta.max_bucket for meta in metas]),
        ("level", [meta.min_level for meta in metas], [meta.max_level for meta in metas]),
        ("schema_id", [None] * len(metas), [meta.schema_id for meta in metas]),
    ):
        low, high = _extremes(manifests.entries[column].to_numpy().astype(np.int64), manifests, filled)
        bad |= low < np.array([-(2**62) if bound is None else bound for bound in lows], np.int64)
        bad |= high > np.array([2**62 if bound is None else bound for bound in highs], np.int64)
    wrong[filled] = bad
    return wrong


def _wrong_partitions(manifests: AllManifests, filled: Bools, types: Sequence[DataType]) -> Bools:
    """Returns whether partition bounds exclude a partition; rows that do not decode are reported elsewhere."""
    wrong = np.zeros(len(manifests.metas), np.bool_)
    if not filled.any():
        return wrong
    metas = [manifests.metas[number] for number in np.flatnonzero(filled).tolist()]
    encoded = manifests.entries["partition"].combine_chunks().dictionary_encode()
    places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    try:
        values = decode_rows(encoded.dictionary, types)
        bounds = decode_stats(
            pa.array([meta.partition_min for meta in metas], pa.binary()),
            pa.array([meta.partition_max for meta in metas], pa.binary()),
            pa.array([list(meta.partition_null_counts) for meta in metas], pa.list_(pa.int64())),
            [nullable(kind) for kind in types],
        )
    except CorruptError:
        return wrong
    bad = np.zeros(len(metas), np.bool_)
    for column, low, high in zip(values, bounds.mins, bounds.maxs, strict=True):
        ranks = ranks_of([pa.concat_arrays([column, low.cast(column.type), high.cast(column.type)])])
        of_values, of_low, of_high = np.split(ranks, [len(column), len(column) + len(low)])
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        # nulls are not part of the bounds
        smallest, _ = _extremes(np.where(is_null, 2**62, of_values)[places], manifests, filled)
        _, largest = _extremes(np.where(is_null, -1, of_values)[places], manifests, filled)
        known = low.is_valid().to_numpy(zero_copy_only=False) & high.is_valid().to_numpy(zero_copy_only=False)
        bad |= known & ((smallest < of_low) | (largest > of_high))
    wrong[filled] = bad
    return wrong
