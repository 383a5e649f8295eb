"""What operations cost on an object store: how many requests each makes, and how many of them wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.storage.remote import open_remote

from lakebed import Lake, Table, changes
from lakebed.metadata.history.history_index import forget_indexes


def rows(first: int = 0, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "v": ["x"] * count})


@dataclass
class World:
    """A warehouse, as one process sees it."""

    folder: Path
    lake: Lake

    def restarted(self) -> World:
        """The same warehouse in a new process."""
        forget_indexes()
        return replace(self, lake=open_remote(self.folder))

    def table(self, name: str = "plain") -> Table:
        return self.lake.table(f"db.{name}")

    def warm(self, name: str = "plain") -> Table:
        """A table that this process has read before."""
        table = self.table(name)
        table.scan().plan()
        return table


def changed(world: World) -> World:
    """A table with files of two schemas."""
    table = world.table()
    table.alter(changes.AddColumn("w", "STRING"))
    table.write(rows(100).append_column("w", pa.nulls(10, pa.string())))
    return world.restarted()


def known(world: World) -> World:
    """A process that has read every table, so that manifests are cached."""
    for name in ("plain", "keyed", "vectors", "dynamic"):
        world.warm(name)
    return world


def tagged(world: World) -> Table:
    table = world.warm()
    table.create_tag("t")
    return table


def branched(world: World) -> Table:
    table = world.warm()
    table.create_branch("b", snapshot=3).write(rows())
    return table


def with_history(world: World, count: int) -> Table:
    table = world.lake.create_table("db.long", "id BIGINT, v STRING", options={"snapshot.num-retained.min": 1000})
    for _ in range(count):
        table.write(rows(count=1))
    return world.restarted().table("long")


def written_and_kept(world: World, name: str = "plain") -> Table:
    table = world.warm(name)
    table.write(rows())
    return table


def many_written(world: World) -> Table:
    """More snapshots than are kept at least, but none is old."""
    table = world.warm()
    for _ in range(14):
        table.write(rows())
    return table


@dataclass(frozen=True)
class Cost:
    """What is done with what; the number of requests, and of those in the longest chain."""

    prepare: Callable[[World], Any]
    act: Callable[[Any], object]
    requests: int
    chain: int


def opened_and_planned(name: str, **asked: Any) -> Callable[[World], object]:
    return lambda world: world.table(name).scan(**asked).plan()


def as_it_is(world: World) -> World:
    return world


def warm(name: str) -> Callable[[World], Table]:
    return lambda world: world.warm(name)


def written(name: str) -> Callable[[World], Table]:
    return lambda world: written_and_kept(world, name)


COSTS = {
    "open a table": Cost(as_it_is, lambda world: world.table(), 3, 1),
    "open and plan a read, new process": Cost(as_it_is, opened_and_planned("plain"), 17, 4),
    "open and plan with deletion vectors, new process": Cost(as_it_is, opened_and_planned("vectors"), 13, 4),
    "open and plan with two schemas, new process": Cost(changed, opened_and_planned("plain", where="id = 3"), 21, 5),
    "open and plan a read, cached": Cost(known, opened_and_planned("plain"), 9, 2),
    "plan again": Cost(warm("plain"), lambda table: table.scan().plan(), 6, 1),
    "plan again with deletion vectors": Cost(warm("vectors"), lambda table: table.scan().plan(), 6, 1),
    "plan a lookup by key": Cost(warm("keyed"), lambda table: table.scan(where="id = 3").plan(), 6, 1),
    "plan a lookup by key in dynamic buckets": Cost(
        warm("dynamic"), lambda table: table.scan(where="id = 3").plan(), 7, 2
    ),
    "plan a read of a tag": Cost(tagged, lambda table: table.scan(tag="t").plan(), 3, 2),
    "page of history": Cost(World.table, lambda table: table.history(limit=3), 7, 3),
    "page of history by kind (70 snapshots)": Cost(
        lambda world: with_history(world, 70), lambda table: table.history(limit=3, kind="APPEND", offset=30), 17, 3
    ),
    "append": Cost(written("plain"), lambda table: table.write(rows()), 23, 5),
    "append with many snapshots": Cost(many_written, lambda table: table.write(rows()), 24, 5),
    "upsert": Cost(written("keyed"), lambda table: table.write(rows()), 34, 7),
    "upsert in dynamic buckets": Cost(written("dynamic"), lambda table: table.write(rows()), 37, 8),
    "upsert with deletion vectors": Cost(written("vectors"), lambda table: table.write(rows()), 47, 11),
    "delete rows": Cost(written("plain"), lambda table: table.delete("id = 3"), 29, 7),
    "overwrite": Cost(written("plain"), lambda table: table.overwrite(rows()), 23, 5),
    "compact": Cost(written("plain"), lambda table: table.compact(), 29, 7),
    "create a tag": Cost(warm("plain"), lambda table: table.create_tag("t"), 9, 3),
    "drop a tag": Cost(tagged, lambda table: table.drop_tag("t"), 33, 11),
    "expire 4 snapshots": Cost(
        warm("plain"), lambda table: table.expire_snapshots(retain_max=2, retain_min=1, older_than="0 s"), 54, 20
    ),
    "create a table": Cost(as_it_is, lambda world: world.lake.create_table("db.new", "id BIGINT"), 12, 12),
    "drop a table (38 files)": Cost(as_it_is, lambda world: world.lake.drop_table("db.plain"), 20, 18),
    "rename a table (38 files)": Cost(as_it_is, lambda world: world.lake.rename_table("db.plain", "db.new"), 86, 54),
    "list the tables": Cost(as_it_is, lambda world: world.lake.tables("db"), 6, 3),
    "alter a table": Cost(warm("plain"), lambda table: table.alter(changes.AddColumn("w", "STRING")), 11, 6),
    "create a branch": Cost(warm("plain"), lambda table: table.create_branch("b"), 15, 14),
    "create a branch of a tag": Cost(tagged, lambda table: table.create_branch("b", tag="t"), 21, 20),
    "fast-forward": Cost(branched, lambda table: table.fast_forward("b"), 45, 35),
    "drop a branch": Cost(branched, lambda table: table.drop_branch("b"), 19, 19),
    "list the branches": Cost(branched, lambda table: table.branches(), 2, 2),
    "roll back": Cost(warm("plain"), lambda table: table.rollback_to(snapshot=4), 18, 16),
    "analyze (6 data files)": Cost(warm("plain"), lambda table: table.analyze(), 46, 19),
    "verify (6 snapshots)": Cost(warm("plain"), lambda table: table.verify(), 85, 55),
    "look for orphans": Cost(warm("plain"), lambda table: table.remove_orphan_files(dry_run=True), 15, 6),
    "compact manifests": Cost(warm("plain"), lambda table: table.compact_manifests(), 23, 7),
}
