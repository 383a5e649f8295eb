"""Which commits wrote to which partition of a branch. Read from its snapshots once and kept in a sidecar file.

Each partition has a list of :class:`Write`: the kind of commit, its snapshots and its time. Compactions of a branch
change no rows, so they are skipped. Of the delta branch only commits of kind OVERWRITE are recorded, because appends
make no full partition stale. Of the full branch all commits are recorded.

A commit that removes all files of a partition and adds none is one of three kinds. The facts of its snapshot tell
which (:mod:`lakebed.format.commit_facts`), not the name of its operation. ``delete``: an overwrite replaced the changes
by nothing. ``expire``: Lakebed dropped old partitions. ``drop``: everything else, such as ``drop_partition()`` and all
drops by other engines, which record no fact. Only ``delete`` makes full partitions stale.

The log is kept in ``.lakebed/chain.json`` beside the branch, because snapshots expire. The file is a cache. Any process
that needs more of the log extends it, also by commits of other engines. A file that cannot be read or written is
ignored. After a rollback the check of the last snapshot does not match, and the log is read again. If the file is
deleted, commits whose snapshots have expired are unknown and treated as if they had not happened.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LakebedError
from lakebed.format.commit_facts import (
    CHAIN_EXPIRED,
    CHAIN_REPLACED,
    CHAIN_SAME_ROWS,
    Lineage,
    read_flag,
    read_lineages,
)
from lakebed.format.history_sidecar import check_of
from lakebed.format.manifest.manifest import ADD
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.store import TableStore

APPENDED: Final = "append"
OVERWRITTEN: Final = "overwrite"
DELETED: Final = "delete"
DROPPED: Final = "drop"
DROPPED_BY_EXPIRY: Final = "expire"

_VERSION: Final = 1
_SAVED_EVERY: Final = 32
_BRANCHES: Final = 256


@dataclass(frozen=True, slots=True)
class Write:
    """Commits that wrote to a partition, from snapshot ``first`` to ``last``; ``kind`` is one of the constants above.

    Consecutive appends are one write; every other commit is one of its own. ``build`` is the id of the build, if it was
    one.
    """

    kind: str
    first: int
    last: int
    time_millis: int
    build: str | None = None


@dataclass(frozen=True, slots=True)
class BranchLog:
    """The writes to each encoded partition of a branch, up to snapshot ``upto``, whose check is ``check``."""

    upto: int = 0
    check: int = 0
    writes: Mapping[bytes, tuple[Write, ...]] = field(default_factory=dict)
    builds: Mapping[str, Lineage] = field(default_factory=dict)

    def last(self, partition: bytes, upto: int) -> Write | None:
        """The last write to a partition up to a snapshot; ``None`` if no write is known."""
        return next((one for one in reversed(self.writes.get(partition, ())) if one.first <= upto), None)

    def after(self, partition: bytes, snapshot_id: int, upto: int) -> Iterator[Write]:
        """The writes to a partition after one snapshot, up to another."""
        return (one for one in self.writes.get(partition, ()) if snapshot_id < one.last and one.first <= upto)

    def lineage(self, partition: bytes, upto: int) -> Lineage | None:
        """What a partition was built from; ``None`` if it was not built, or written to after that."""
        last = self.last(partition, upto)
        return None if last is None or last.build is None else self.builds.get(last.build)

    def before(self, snapshot_id: int) -> BranchLog:
        """The log without everything from a snapshot on."""
        kept = {
            partition: tuple(one for one in writes if one.last < snapshot_id)
            for partition, writes in self.writes.items()
        }
        return BranchLog(snapshot_id - 1, 0, {name: writes for name, writes in kept.items() if writes}, self.builds)

    def extended(self, store: TableStore, snapshots: list[Snapshot], *, appends: bool) -> BranchLog:
        """The log extended by these snapshots, which follow the last known one."""
        writes, builds = dict(self.writes), dict(self.builds)
        for snapshot in snapshots:
            made = {lineage.partition: lineage for lineage in read_lineages(snapshot.properties)}
            builds |= {lineage.build: lineage for lineage in made.values()}
            for partition, kind in touched(store, snapshot, appends=appends).items():
                build = made[partition].build if partition in made and kind in {APPENDED, OVERWRITTEN} else None
                write = Write(kind, snapshot.id, snapshot.id, snapshot.time_millis, build)
                writes[partition] = _joined(writes.get(partition, ()), write)
        last = snapshots[-1]
        return BranchLog(last.id, check_of(last), writes, _reachable(writes, builds))


def _joined(known: tuple[Write, ...], write: Write) -> tuple[Write, ...]:
    plain = write.kind == APPENDED and write.build is None
    if plain and known and known[-1].kind == APPENDED and known[-1].build is None:
        return (*known[:-1], replace(known[-1], last=write.last, time_millis=write.time_millis))
    return (*known, write)


def _reachable(writes: Mapping[bytes, tuple[Write, ...]], builds: Mapping[str, Lineage]) -> dict[str, Lineage]:
    """The builds that may still be looked up: those of writes in the log, and those of their anchors."""
    wanted = [one.build for of_partition in writes.values() for one in of_partition if one.build is not None]
    kept: dict[str, Lineage] = {}
    while wanted:
        found = builds.get(wanted.pop())
        if found is not None and found.build not in kept:
            kept[found.build] = found
            wanted += [] if found.anchor_build is None else [found.anchor_build]
    return kept


def touched(store: TableStore, snapshot: Snapshot, *, appends: bool) -> dict[bytes, str]:
    """The partitions that a commit wrote to, each with the kind of write."""
    overwrites = snapshot.commit_kind is CommitKind.OVERWRITE
    removes_lost_files = overwrites and snapshot.operation == "DELETE"  # a repair, which replaces no rows
    if read_flag(snapshot.properties, CHAIN_SAME_ROWS) or removes_lost_files:
        return {}
    if not overwrites and not (appends and snapshot.commit_kind is CommitKind.APPEND):
        return {}
    entries = store.manifests.read_entries(store.manifests.read_list(snapshot.delta_manifest_list))
    flags = pa.table({"partition": entries["partition"], "adds": pc.equal(entries["kind"], ADD)})
    found = flags.group_by("partition").aggregate([("adds", "any")])
    without = _kind_of_removal(snapshot)
    with_rows = OVERWRITTEN if overwrites else APPENDED
    return {
        partition: with_rows if adds else without
        for partition, adds in zip(found["partition"].to_pylist(), found["adds_any"].to_pylist(), strict=True)
    }


def _kind_of_removal(snapshot: Snapshot) -> str:
    """What a commit did to a partition from which it only removed files."""
    if read_flag(snapshot.properties, CHAIN_EXPIRED):
        return DROPPED_BY_EXPIRY
    return DELETED if read_flag(snapshot.properties, CHAIN_REPLACED) else DROPPED


# ------------------------------------------------------------------------------------------------ on disk, in memory


_lock: Final = threading.Lock()
_known: Final[dict[str, BranchLog]] = {}


def sidecar_path(store: TableStore) -> str:
    """The path of the sidecar file of a branch."""
    return f"{store.paths.history_index}/chain.json"


def branch_log(store: TableStore, upto: Snapshot | None, *, appends: bool) -> BranchLog:
    """The log of a branch up to a snapshot, or further. Reads only the snapshots that the log does not have yet."""
    if upto is None:
        return BranchLog()
    place = store.paths.branch_root
    with _lock:
        held = _known.get(place)
    log = _still_true(store, held or _load(store))
    if log.upto < upto.id:
        ids = [number for number in store.snapshots.ids() if log.upto < number <= upto.id]
        fresh = store.snapshots.read_many(ids)
        if fresh:
            before, log = log, log.extended(store, fresh, appends=appends)
            if log.writes != before.writes or len(fresh) >= _SAVED_EVERY:
                _save(store, log)
    with _lock:
        while len(_known) >= _BRANCHES and place not in _known:
            del _known[next(iter(_known))]
        _known[place] = log
    return log


def forget_logs() -> None:
    """Clear the logs that this process holds in memory; the next call reads the sidecar file again."""
    with _lock:
        _known.clear()


def _still_true(store: TableStore, log: BranchLog) -> BranchLog:
    """A log without snapshots that were rolled back; the snapshots that exist now are then read again."""
    if log.upto == 0:
        return log
    found = store.snapshots.find(log.upto)
    if found is not None and check_of(found) == log.check:
        return log
    earliest, latest = store.snapshots.earliest_id(), store.snapshots.latest_id()
    if earliest is None or latest is None:
        return BranchLog()
    expired = found is None and log.upto < earliest
    return log if expired else log.before(earliest)


def _load(store: TableStore) -> BranchLog:
    try:
        raw = json.loads(store.storage.read(sidecar_path(store)))
        if raw["version"] != _VERSION:
            return BranchLog()
        writes = {
            bytes.fromhex(partition): tuple(Write(*one) for one in of_partition)
            for partition, of_partition in raw["writes"].items()
        }
        builds = [Lineage.from_dict(one) for one in raw["builds"]]
        return BranchLog(int(raw["upto"]), int(raw["check"]), writes, {one.build: one for one in builds})
    except (LakebedError, ValueError, KeyError, TypeError, AttributeError):
        return BranchLog()


def _save(store: TableStore, log: BranchLog) -> None:
    raw = {
        "version": _VERSION,
        "upto": log.upto,
        "check": log.check,
        "writes": {
            partition.hex(): [[one.kind, one.first, one.last, one.time_millis, one.build] for one in of_partition]
            for partition, of_partition in log.writes.items()
        },
        "builds": [lineage.to_dict() for lineage in log.builds.values()],
    }
    try:
        store.storage.replace(sidecar_path(store), json.dumps(raw).encode(), sync=store.syncing())
    except LakebedError:
        return  # the file is a cache, and the warehouse may be read-only
