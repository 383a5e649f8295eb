"""What must hold between a commit's changes and the table it lands on. Pure checks over entries.

Each check raises :class:`CommitConflictError` with what was found and what to do; none of them writes anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CommitConflictError
from lakebed.format.binary_row import decode_rows
from lakebed.format.manifest import ADD, DELETE, fold
from lakebed.format.types import DataType


def check_delta(delta: pa.Table) -> None:
    """A commit may not add a file twice, nor add and delete the same file."""
    names = delta["file_name"]
    if pc.count_distinct(names).as_py() == len(names):
        return
    if len(fold(delta, partial=True, where="this commit")) != len(delta):
        raise CommitConflictError("this commit adds and deletes the same file; commit the two in turn")


def check_total_buckets(live: pa.Table, delta: pa.Table) -> None:
    """Within a partition the number of buckets changes only by overwriting the partition."""
    added = delta.filter(pc.equal(delta["kind"], ADD))
    totals = pa.concat_tables([table.select(["partition", "total_buckets"]) for table in (live, added)])
    ranges = totals.group_by("partition").aggregate([("total_buckets", "min"), ("total_buckets", "max")])
    changed = ranges.filter(pc.not_equal(ranges["total_buckets_min"], ranges["total_buckets_max"]))
    if len(changed):
        first = changed.slice(0, 1).to_pylist()[0]
        raise CommitConflictError(
            f"a partition has files with {first['total_buckets_min']} and with {first['total_buckets_max']} buckets; "
            "the number of buckets changes only by overwriting the whole partition"
        )


def check_deletes(live: pa.Table, delta: pa.Table) -> None:
    """Every file that a commit deletes must still be live."""
    left = fold(pa.concat_tables([live, delta]), partial=True, where="this commit")
    unmatched = left.filter(pc.equal(left["kind"], DELETE))
    if len(unmatched):
        raise CommitConflictError(
            f"{len(unmatched)} file(s) that this commit replaces are gone, {unmatched['file_name'][0]} among them: "
            "another commit rewrote or deleted them meanwhile. Nothing was committed; read the table again and retry"
        )


def check_levels(live: pa.Table, delta: pa.Table, key_types: Sequence[DataType]) -> None:
    """After the commit, the files of one level above 0 of a bucket must not overlap in key."""
    after = fold(pa.concat_tables([live, delta]), partial=True, where="this commit")
    sorted_levels = after.filter(pc.and_(pc.equal(after["kind"], ADD), pc.greater(after["level"], 0)))
    if len(sorted_levels) < 2 or not key_types:
        return
    for rows in _by_level(sorted_levels):
        files = sorted_levels.take(rows)
        low = _ranks(files["min_key"], files["max_key"], key_types)
        order = np.lexsort((low[1], low[0]))
        minimum, maximum = low[0][order], low[1][order]
        clash = np.flatnonzero(maximum[:-1] >= minimum[1:])
        if len(clash):
            names = files["file_name"].take(order[clash[0] : clash[0] + 2]).to_pylist()
            raise CommitConflictError(
                f"files {names[0]} and {names[1]} of one level would overlap in key: another compaction wrote that level "
                "meanwhile. Nothing was committed; compact again"
            )


def _by_level(entries: pa.Table) -> list[pa.Array]:
    keyed = entries.select(["partition", "bucket", "level"]).append_column("row", pa.array(np.arange(len(entries))))
    groups = keyed.group_by(["partition", "bucket", "level"]).aggregate([("row", "list")])
    return [rows.values for rows in groups["row_list"] if len(rows) > 1]


def _ranks(low: pa.ChunkedArray, high: pa.ChunkedArray, key_types: Sequence[DataType]) -> tuple[np.ndarray, np.ndarray]:
    """Encoded keys as numbers that sort like the keys: each key's rank among all of them."""
    columns = decode_rows(pa.concat_arrays([low.combine_chunks(), high.combine_chunks()]), key_types)
    names = [str(i) for i in range(len(columns))]
    table = pa.table(columns, names)
    order = pc.sort_indices(
        table, sort_keys=[(name, "ascending") for name in names], null_placement="at_start"
    ).to_numpy()
    ordered = table.take(order)
    changed = np.zeros(len(order), np.int64)
    for name in names:
        column = ordered[name].combine_chunks()
        same = pc.fill_null(pc.equal(column[1:], column[:-1]), False)
        both_null = pc.and_(pc.is_null(column[1:]), pc.is_null(column[:-1]))
        changed[1:] |= ~pc.or_(same, both_null).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(changed)
    return ranks[: len(low)], ranks[len(low) :]
