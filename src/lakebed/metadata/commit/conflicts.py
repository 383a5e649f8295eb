"""Conflicts of commits: what happens to a commit when others became visible since it was planned.

Rows: this commit. Columns: the commit that became visible first.

| commit    | APPEND | OVERWRITE | COMPACT | ANALYZE |
|-----------|--------|-----------|---------|---------|
| APPEND    | rebase | rebase    | rebase  | rebase  |
| REWRITE   | rebase | check     | check   | rebase  |
| OVERWRITE | replan | replan    | replan  | replan  |
| COMPACT   | rebase | check     | check   | rebase  |
| ANALYZE   | rebase | rebase    | rebase  | rebase  |

* ``rebase``: it is committed unchanged, on top of the other one.
* ``check``: it is committed if every file that it deletes is still live, with the deletion vector that the file had
  when this commit was planned, and if no level gets overlapping files. Otherwise it raises
  :class:`CommitConflictError`. A COMPACT that drops deletes of keys also fails if an APPEND added rows to the same
  bucket that these deletes may hide.
* ``replan``: its deletes are computed again from the new latest snapshot, so it also replaces what the other one added.

REWRITE is an append that also deletes files (kind OVERWRITE on disk).

The checks are pure functions over entries. Each raises :class:`CommitConflictError` with what was found and what to do.
A changed option ``bucket`` raises :class:`OptionError` instead. None of them writes anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import CommitConflictError, CorruptError, OptionError
from lakebed.format.binary_row import decode_rows
from lakebed.format.human_text import count_text
from lakebed.format.manifest.index_manifest import DELETION_VECTORS, IndexEntry
from lakebed.format.manifest.manifest import ADD, DELETE, fold
from lakebed.format.types.data_types import DataType
from lakebed.metadata.plan.key_ranks import ranks_of


def check_delta(delta: pa.Table) -> None:
    """Raises if a commit adds a file twice, or adds and deletes the same file."""
    names = delta["file_name"]
    if pc.count_distinct(names).as_py() == len(names):
        return
    if len(_folded(delta)) != len(delta):
        raise CommitConflictError("this commit adds and deletes the same file; make two commits")


def check_total_buckets(live: pa.Table, delta: pa.Table, option: int | None = None) -> None:
    """Raises if files of one partition would have different numbers of buckets.

    If the new files have what ``option`` says, somebody changed option ``bucket``, and a retry would fail again.
    """
    added = delta.filter(pc.equal(delta["kind"], ADD))
    totals = pa.concat_tables([table.select(["partition", "total_buckets"]) for table in (live, added)])
    ranges = totals.group_by("partition").aggregate([("total_buckets", "min"), ("total_buckets", "max")])
    changed = ranges.filter(pc.not_equal(ranges["total_buckets_min"], ranges["total_buckets_max"]))
    if len(changed):
        first = changed.slice(0, 1).to_pylist()[0]
        old = {first["total_buckets_min"], first["total_buckets_max"]} - {option}
        if len(old) == 1 and option in added["total_buckets"].to_pylist():
            number = old.pop()
            raise OptionError(
                f"option 'bucket' is {option}, but a partition has files of {count_text(number, 'bucket')}. Call "
                f"rescale() to distribute its rows over {count_text(option or 0, 'bucket')}, overwrite the whole "
                f"partition, or set the option to {number}"
            )
        raise CommitConflictError(
            f"a partition has files with {first['total_buckets_min']} and with {first['total_buckets_max']} buckets; "
            "the number of buckets changes only by overwriting the whole partition"
        )


def check_deletes(live: pa.Table, delta: pa.Table) -> None:
    """Raises if a file that the commit deletes is no longer live."""
    left = _folded(pa.concat_tables([live, delta]))
    unmatched = left.filter(pc.equal(left["kind"], DELETE))
    if len(unmatched):
        raise CommitConflictError(
            f"another commit rewrote or deleted {count_text(len(unmatched), 'file')} that this commit replaces, such "
            f"as {unmatched['file_name'][0]}. Nothing was committed; read the table again and retry"
        )


def check_vectors(live: Sequence[IndexEntry], changes: Sequence[IndexEntry], delta: pa.Table) -> None:
    """Raises if a deleted file has a deletion vector that this commit does not remove with it.

    Rows that another commit deleted meanwhile would be live again in the file that replaces it.
    """
    removed = {change.file_name for change in changes if change.kind == DELETE}
    files = delta.select(["kind", "partition", "file_name"])
    names = {
        kind: set(zip(part["partition"].to_pylist(), part["file_name"].to_pylist(), strict=True))
        for kind, part in ((kind, files.filter(pc.equal(files["kind"], kind))) for kind in (ADD, DELETE))
    }
    gone = names[DELETE] - names[ADD]  # a file that only changes its level keeps its vector
    for entry in live:
        for vector in entry.vectors or ():
            if (entry.partition, vector.file_name) in gone and entry.file_name not in removed:
                raise CommitConflictError(
                    f"another commit deleted rows of {vector.file_name}, which this commit replaces. "
                    "Nothing was committed; read the table again and retry"
                )


def check_levels(live: pa.Table, delta: pa.Table, key_types: Sequence[DataType]) -> None:
    """Raises if files of one level above 0 of a bucket would have overlapping keys."""
    after = _folded(pa.concat_tables([live, delta]))
    sorted_levels = after.filter(pc.and_(pc.equal(after["kind"], ADD), pc.greater(after["level"], 0)))
    if len(sorted_levels) < 2 or not key_types:
        return
    for rows in _by_level(sorted_levels):
        files = sorted_levels.take(rows)
        keys = pa.concat_arrays([files["min_key"].combine_chunks(), files["max_key"].combine_chunks()])
        low, high = np.split(ranks_of(decode_rows(keys, key_types)), 2)
        order = np.lexsort((high, low))
        minimum, maximum = low[order], high[order]
        clash = np.flatnonzero(maximum[:-1] >= minimum[1:])
        if len(clash):
            names = files["file_name"].take(order[clash[0] : clash[0] + 2]).to_pylist()
            raise CommitConflictError(
                f"files {names[0]} and {names[1]} of one level would have overlapping keys: another compaction wrote "
                "that level meanwhile. Nothing was committed; compact again"
            )


def check_dropped_deletes(live: pa.Table, delta: pa.Table) -> None:
    """Raises if a compaction drops deletes that apply to rows of a later commit.

    A writer that began earlier may commit rows with lower sequence numbers after the compaction was planned. The
    deletes apply to them; without the deletes these rows would be live.
    """
    where = ["partition", "bucket"]
    gone = delta.filter(pc.equal(delta["kind"], DELETE))
    with_deletes = gone.filter(pc.greater(gone["delete_row_count"], 0))
    if not len(with_deletes):
        return
    added = delta.filter(pc.equal(delta["kind"], ADD))
    kept = added.group_by(where).aggregate([("delete_row_count", "sum")]).rename_columns([*where, "kept"])
    counts = with_deletes.group_by(where).aggregate([("delete_row_count", "sum"), ("max_sequence_number", "max")])
    counts = counts.rename_columns([*where, "had", "last"]).join(kept, where)
    dropped = counts.filter(pc.greater(counts["had"], pc.fill_null(counts["kept"], 0)))
    unseen = live.filter(
        pc.and_(pc.equal(live["level"], 0), pc.invert(pc.is_in(live["file_name"], gone["file_name"].combine_chunks())))
    )
    hidden = unseen.select([*where, "file_name", "min_sequence_number"]).join(dropped, where, join_type="inner")
    hidden = hidden.filter(pc.less_equal(hidden["min_sequence_number"], hidden["last"]))
    if len(hidden):
        raise CommitConflictError(
            f"this compaction drops deletes that may apply to rows of {hidden['file_name'][0]}, which another commit "
            "added meanwhile. Nothing was committed; compact again"
        )


def _folded(entries: pa.Table) -> pa.Table:
    """Returns folded entries.

    A file that is added twice is a conflict here, because the live files are folded already.
    """
    try:
        return fold(entries, partial=True, where="this commit")
    except CorruptError as error:
        raise CommitConflictError(f"{error}; nothing was committed") from None


def check_replaced_vectors(live: Sequence[IndexEntry], changes: Sequence[IndexEntry]) -> None:
    """Raises if the deletion vectors of a bucket are not the ones that this commit read and replaces."""
    removed = {change.file_name for change in changes if change.kind == DELETE}
    written = {(c.partition, c.bucket) for c in changes if c.kind == ADD and c.index_type == DELETION_VECTORS}
    for entry in live:
        unknown = entry.index_type == DELETION_VECTORS and entry.file_name not in removed
        if unknown and (entry.partition, entry.bucket) in written:
            raise CommitConflictError(
                f"the deletion vectors of bucket {entry.bucket} changed meanwhile: another compaction was faster. "
                "Nothing was committed; compact again"
            )


def check_marked_files(live: pa.Table, delta: pa.Table, change: Sequence[IndexEntry]) -> None:
    """Raises if a new deletion vector is for a file that is no longer live."""
    files = set(live["file_name"].to_pylist()) | set(
        delta.filter(pc.equal(delta["kind"], ADD))["file_name"].to_pylist()
    )
    for entry in change:
        for vector in entry.vectors or () if entry.kind == ADD else ():
            if vector.file_name not in files:
                raise CommitConflictError(
                    f"another commit rewrote file {vector.file_name}, of which this commit deletes rows. "
                    "Nothing was committed; try again"
                )


def _by_level(entries: pa.Table) -> list[pa.Array]:
    keyed = entries.select(["partition", "bucket", "level"]).append_column("row", pa.array(np.arange(len(entries))))
    groups = keyed.group_by(["partition", "bucket", "level"]).aggregate([("row", "list")])
    return [rows.values for rows in groups["row_list"] if len(rows) > 1]
