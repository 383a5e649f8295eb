"""Everything that can be done to a table, once each, on tables as small as they can be."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pyarrow as pa
from tests.places import IS_LOCAL, stored_path

from lakebed import Lake, Table
from lakebed.buckets import index_writer as dynamic_buckets
from lakebed.changes import AddColumn
from lakebed.metadata.hash_indexes import indexes_of, read_partition
from lakebed.metadata.store import TableStore


def append_table(lake: Lake) -> None:
    """Partitions 1 and 2, three snapshots."""
    table = lake.create_table("db.t", "p INT, id BIGINT, v STRING", partition_by=["p"])
    table.write(_rows([(1, 1), (1, 2), (2, 3)]))
    table.write(_rows([(1, 4), (2, 5)]))
    table.write(_rows([(1, 6)]))


def keyed_table(lake: Lake) -> None:
    """Two runs and a compacted one in one bucket."""
    options = {"bucket": "1", "write-only": "true"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    table.write(_pairs({1: 1, 2: 1, 3: 1}))
    table.compact(full=True)
    table.write(_pairs({2: 2, 4: 2}))
    table.write(_pairs({3: 3}))


def compacting_table(lake: Lake) -> None:
    """The next write is followed by a compaction."""
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    table.write(_pairs({1: 1, 2: 1, 3: 1}))


def marking_table(lake: Lake) -> None:
    """Rows that were replaced are marked in deletion vectors."""
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    table.write(_pairs({1: 1, 2: 1, 3: 1}))
    table.write(_pairs({2: 2}))


def logging_table(lake: Lake) -> None:
    """Compactions find out what changed."""
    options = {"bucket": "1", "changelog-producer": "lookup"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    table.write(_pairs({1: 1, 2: 1, 3: 1}))
    table.write(_pairs({2: 2}))


def long_logging_table(lake: Lake) -> None:
    """Changelogs outlive their snapshots, and some are old enough to go as well."""
    options = {"bucket": "1", "changelog-producer": "input", "write-only": "true"}
    options |= {"changelog.num-retained.min": "3", "changelog.num-retained.max": "3", "snapshot.num-retained.min": "1"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    for number in range(6):
        table.write(_pairs({number % 3: number}))


def dynamic_table(lake: Lake) -> None:
    """Two dynamic buckets, one of them full; the index knows a key that is gone."""
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "2", "write-only": "true"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    table.write(_pairs({1: 1, 2: 1, 3: 1}))
    table.delete("k = 3")
    table.compact(full=True)


def remapped_table(lake: Lake) -> None:
    """The keys of dynamic buckets lie elsewhere than in the first snapshot."""
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "2", "write-only": "true"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    table.write(_pairs({1: 1, 2: 1, 3: 1}))
    table.overwrite(_pairs({3: 2, 4: 2, 1: 2}))


def _write_overtaken(table: Table) -> Any:
    """An upsert that chose its buckets when there was only the first snapshot."""

    def load(store: TableStore, partition: bytes) -> Any:
        index = indexes_of(store, store.snapshots.get(1))[partition]
        return index, read_partition(store, index)

    with mock.patch.object(dynamic_buckets, "load_latest", load):
        return table.write(_pairs({1: 9, 2: 9, 5: 9}))


def history_table(lake: Lake) -> None:
    """Snapshots 1 to 4, 3 replaces the rows of 1; tags on 1 and 2, a branch from 2 with commits, a consumer."""
    append_table(lake)
    table = lake.table("db.t")
    table.create_tag("first", snapshot=1)
    table.create_tag("second", snapshot=2)
    table.create_branch("dev", tag="second").write(_rows([(2, 20), (3, 30)]))
    table.overwrite(_rows([(1, 10)]), partition={"p": 1})
    table.reset_consumer("reader", 2)


def branched_table(lake: Lake) -> None:
    """A branch that was appended to, and so was main."""
    append_table(lake)
    table = lake.table("db.t")
    table.create_branch("dev", snapshot=2).write(_rows([(2, 20), (3, 30)]))


def tagged_table(lake: Lake) -> None:
    """A tag alone holds the first snapshot."""
    append_table(lake)
    table = lake.table("db.t")
    table.create_tag("first", snapshot=1)
    table.truncate()
    table.write(_rows([(4, 4)]))
    table.expire_snapshots(retain_max=2, retain_min=1)
    assert [snapshot.id for snapshot in table.snapshots()] == [4, 5]


def keyed_history_table(lake: Lake) -> None:
    """Snapshots of a table with changelog files and deletion vectors, some of which will expire."""
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "changelog-producer": "input"}
    table = lake.create_table("db.t", "k INT, v INT", primary_key=["k"], options=options)
    for number in range(2):
        table.write(_pairs({1: number, 2: number, 3 + number: number}))
    table.create_tag("held", snapshot=2)


def dated_table(lake: Lake) -> None:
    """Two partitions of long ago and one of a time to come."""
    table = lake.create_table("db.t", "dt STRING, id INT", partition_by=["dt"])
    days = ["2001-01-01", "2001-01-02", "2999-01-01"]
    table.write(pa.table({"dt": days, "id": pa.array([1, 2, 3], pa.int32())}))


def littered_table(lake: Lake) -> None:
    """Files that nobody refers to, in every folder, and hints that are wrong."""
    history_table(lake)
    root = stored_path(lake.table("db.t").path)
    for name in (
        "manifest/manifest-x-0",
        "p=1/bucket-0/data-x-0.parquet",
        "manifest/manifest-list-x-0",
        "index/index-x-0",
    ):
        root.joinpath(name).parent.mkdir(exist_ok=True)
        root.joinpath(name).write_bytes(b"x")
        if IS_LOCAL:
            os.utime(root.joinpath(name), (0, 0))
    root.joinpath("snapshot/LATEST").write_text("2")
    root.joinpath("snapshot/EARLIEST").write_text("x")


def _rows(pairs: list[tuple[int, int]]) -> pa.Table:
    return pa.table(
        {
            "p": pa.array([p for p, _ in pairs], pa.int32()),
            "id": pa.array([number for _, number in pairs], pa.int64()),
            "v": [f"v{number}" for _, number in pairs],
        }
    )


def _pairs(values: dict[int, int]) -> pa.Table:
    return pa.table({"k": pa.array(values.keys(), pa.int32()), "v": pa.array(values.values(), pa.int32())})


@dataclass(frozen=True)
class Operation:
    """One operation and the tables it starts from.

    ``commits``: it becomes visible through a snapshot alone, so an error means that nothing happened, unless the error
    is that the outcome is unknown. ``settle`` is what makes an acknowledged change visible, if more is needed for that.
    ``between``: what verify may say where it ended halfway; doing it again puts that right.
    """

    prepare: Callable[[Lake], None]
    run: Callable[[Lake, Table], Any]
    commits: bool = False
    settle: Callable[[Table], Any] | None = None
    between: frozenset[str] = frozenset()


def _commit(
    prepare: Callable[[Lake], None], run: Callable[[Table], Any], settle: Callable[[Table], Any] | None = None
) -> Operation:
    return Operation(prepare, lambda _, table: run(table), commits=True, settle=settle)


def _change(prepare: Callable[[Lake], None], run: Callable[[Table], Any], *between: str) -> Operation:
    return Operation(prepare, lambda _, table: run(table), between=frozenset(between))


def _expire_all(table: Table) -> None:
    """Everything but the latest snapshot, whatever its age; consumers do not count here."""
    for consumer in table.consumers():
        table.drop_consumer(consumer)
    table.expire_snapshots(retain_max=1, retain_min=1)


OPERATIONS: dict[str, Operation] = {
    "append": _commit(append_table, lambda t: t.write(_rows([(1, 7), (3, 8)]))),
    "append once": _commit(
        append_table, lambda t: t.write(_rows([(1, 7), (3, 8)]), commit_user="u", commit_identifier=1)
    ),
    "upsert": _commit(keyed_table, lambda t: t.write(_pairs({1: 9, 5: 9}))),
    "upsert and compact": _commit(compacting_table, lambda t: t.write(_pairs({1: 9, 5: 9}))),
    # Readers skip level 0 here; if the compaction after the write fails, the next one shows the rows.
    "upsert with vectors": _commit(
        marking_table, lambda t: t.write(_pairs({1: 9, 5: 9})), settle=lambda t: t.compact()
    ),
    "upsert with a changelog": _commit(
        logging_table, lambda t: t.write(_pairs({1: 9, 5: 9})), settle=lambda t: t.compact()
    ),
    "upsert into dynamic buckets": _commit(dynamic_table, lambda t: t.write(_pairs({1: 9, 5: 9, 6: 9}))),
    "upsert that was overtaken": _commit(remapped_table, _write_overtaken),
    "overwrite dynamic buckets": _commit(dynamic_table, lambda t: t.overwrite(_pairs({2: 7, 5: 7, 6: 7}))),
    "rebuild an index": _commit(dynamic_table, lambda t: t.rebuild_index(dry_run=False)),
    "overwrite a partition": _commit(append_table, lambda t: t.overwrite(_rows([(1, 9)]), partition={"p": 1})),
    "overwrite partitions": _commit(append_table, lambda t: t.overwrite(_rows([(2, 9), (3, 9)]))),
    "overwrite a keyed table": _commit(keyed_table, lambda t: t.overwrite(_pairs({7: 7}))),
    "delete": _commit(append_table, lambda t: t.delete("id IN (1, 3, 6)")),
    "delete keys": _commit(keyed_table, lambda t: t.delete("v = 1")),
    "compact": _commit(keyed_table, lambda t: t.compact(full=True)),
    "compact with vectors": _commit(marking_table, lambda t: t.compact(full=True)),
    "pack small files": _commit(append_table, lambda t: t.compact(full=True)),
    "truncate": _commit(append_table, lambda t: t.truncate()),
    "drop a partition": _commit(append_table, lambda t: t.drop_partition({"p": 1})),
    "expire partitions": _commit(dated_table, lambda t: t.expire_partitions(expiration_time="30 d")),
    "merge a branch": _commit(branched_table, lambda t: t.merge_branch("dev")),
    "compact manifests": _commit(append_table, lambda t: t.compact_manifests()),
    "analyze": _commit(keyed_table, lambda t: t.analyze("all")),
    "alter": _change(append_table, lambda t: t.alter(AddColumn("c", "INT"))),
    "create a branch": _change(history_table, lambda t: t.create_branch("new")),
    "create a branch of a tag": _change(history_table, lambda t: t.create_branch("new", tag="first")),
    "create a branch of a snapshot": _change(history_table, lambda t: t.create_branch("new", snapshot=3)),
    "rename a branch": _change(history_table, lambda t: t.rename_branch("dev", "new")),
    "drop a branch": _change(history_table, lambda t: t.drop_branch("dev")),
    "fast-forward": _change(history_table, lambda t: t.fast_forward("dev"), "broken-chain"),
    "create a tag": _change(history_table, lambda t: t.create_tag("new", snapshot=3, time_retained="1 d")),
    "replace a tag": _change(history_table, lambda t: t.replace_tag("first", snapshot=3)),
    "rename a tag": _change(history_table, lambda t: t.rename_tag("first", "new")),
    "delete a tag": _change(tagged_table, lambda t: t.drop_tag("first")),
    "expire tags": _change(tagged_table, lambda t: t.expire_tags(older_than="2999-01-01")),
    "roll back": _change(history_table, lambda t: t.rollback_to(snapshot=1)),
    "roll back to a tag": _change(tagged_table, lambda t: t.rollback_to(tag="first"), "missing-snapshot"),
    "expire snapshots": _change(history_table, _expire_all),
    "expire snapshots with changelogs": _change(keyed_history_table, _expire_all),
    "expire long-lived changelogs": _change(long_logging_table, _expire_all),
    "remove orphans": _change(
        littered_table, lambda t: t.remove_orphan_files(older_than="2999-01-01", dry_run=False, force=True), "bad-hint"
    ),
    "repair": _change(littered_table, lambda t: t.verify(repair=True, dry_run=False), "bad-hint"),
    "reset a consumer": _change(history_table, lambda t: t.reset_consumer("reader", 3)),
    "delete a consumer": _change(history_table, lambda t: t.drop_consumer("reader")),
    "create a table": Operation(append_table, lambda lake, _: lake.create_table("db.u", "id INT")),
    "rename a table": Operation(append_table, lambda lake, _: lake.rename_table("db.t", "db.u")),
    "drop a table": Operation(append_table, lambda lake, _: lake.drop_table("db.t")),
}
