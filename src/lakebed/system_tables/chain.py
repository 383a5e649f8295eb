"""System tables of chain tables: ``$chain``, and ``$files``, ``$buckets`` and ``$partitions`` with their branches."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.metadata.store import TableStore
from lakebed.system_tables.files import buckets as branch_buckets
from lakebed.system_tables.files import files as branch_files
from lakebed.system_tables.files import partitions as branch_partitions
from lakebed.system_tables.pinned import PinnedStore
from lakebed.system_tables.texts import make_table
from lakebed.table_kinds import rules_of


def chain(store: TableStore) -> pa.Table:
    """``$chain``: for each partition its kind, what a read of it merges, and the bytes that a full copy would add."""
    fields = {
        "partition": pa.string(),
        "group": pa.string(),
        "kind": pa.string(),
        "anchor": pa.string(),
        "depth": pa.int32(),
        "files": pa.int64(),
        "bytes": pa.int64(),
        "rows_to_merge": pa.int64(),
        "bytes_saved": pa.int64(),
        "stale": pa.bool_(),
    }
    rows = [
        {
            "partition": status.cost.partition,
            "group": status.group,
            "kind": status.kind,
            "anchor": status.cost.anchor,
            "depth": status.cost.depth,
            "files": status.cost.files,
            "bytes": status.cost.bytes,
            "rows_to_merge": status.cost.rows_to_merge,
            "bytes_saved": status.bytes_saved,
            "stale": status.stale,
        }
        for status in rules_of(store).partition_status()
    ]
    return make_table(fields, rows)


def partitions(store: TableStore) -> pa.Table:
    """``$partitions``: rows, bytes and files by partition; main of a chain table also lists those of its branches.

    A partition that several branches have is listed once, with the values of the first of these: main, the branch of
    full partitions, the branch of changes. An earlier version of main lists its own partitions only.
    """
    return _first_of_each_partition(branch_partitions, store).sort_by("partition")


def buckets(store: TableStore) -> pa.Table:
    """``$buckets``: the same by bucket, of the same partitions."""
    return _first_of_each_partition(branch_buckets, store).sort_by(
        [("partition", "ascending"), ("bucket", "ascending")]
    )


def files(store: TableStore) -> pa.Table:
    """``$files``: the data files of the latest snapshot; main of a chain table lists those of its branches.

    An earlier version of main lists its own files only.
    """
    return pa.concat_tables([branch_files(one) for one in (store, *_other_branches(store))])


def _first_of_each_partition(listed: Callable[[TableStore], pa.Table], store: TableStore) -> pa.Table:
    own = listed(store)
    for branch in _other_branches(store):
        more = listed(branch)
        own = pa.concat_tables([own, more.filter(pc.invert(pc.is_in(more["partition"], value_set=own["partition"])))])
    return own


def _other_branches(store: TableStore) -> tuple[TableStore, ...]:
    return () if isinstance(store, PinnedStore) else rules_of(store).shown_branches()
