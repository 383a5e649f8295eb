"""What a table needs now: one function for each kind of job. They read metadata only.

A need says why it is one, what meeting it costs (bytes to read and write) and what it gains (bytes that later reads do
not open or merge), and holds the call that meets it. What costs least for its gain comes first (:func:`in_order`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.autopilot.policy import Policy
from lakebed.buckets.choose_dynamic import has_dynamic_buckets
from lakebed.format.human_text import count_text, ids_text, names_text, size_text
from lakebed.format.manifest.index_manifest import HASH
from lakebed.format.partition_names import partition_text
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.consumers import expire_consumers
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.metadata.plan.marked_rows import marked_rows
from lakebed.metadata.store import TableStore
from lakebed.metadata.tags import expire_tags
from lakebed.operations.compact.compact_manifests import ManifestShape
from lakebed.operations.compact.plan_compaction import plan_compaction
from lakebed.operations.expire.nothing_due import is_nothing_due
from lakebed.options import TableOptions
from lakebed.table import Table
from lakebed.table.internals import store_of
from lakebed.table_kinds import rules_of

Report = Callable[[int, int], None]
Run = Callable[[Report], str]

_OPEN: Final = 4 * 1024**2  # what opening a file costs a reader, in bytes that it could read instead
_MANY_MANIFESTS: Final = 50
_SMALL_MANIFEST: Final = 256 * 1024
_FEW_ENTRIES: Final = 1000
_DEAD_SHARE: Final = 0.5


class JobKind(StrEnum):
    """The kinds of jobs, by what they do."""

    COMPACT = "compact"
    FULL_COMPACTION = "full-compaction"
    CHAIN = "chain"
    MANIFESTS = "manifests"
    INDEX = "index"
    PARTITIONS = "partitions"
    CHANGES = "changes"
    HISTORY = "history"
    STATISTICS = "statistics"
    ORPHANS = "orphans"


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a branch of a table needs.

    Attributes:
        kind: The kind of the job that meets it.
        table: The name of the table, with its branch: ``db.t`` or ``db.t$branch_b``.
        why: Why it is needed, as a sentence.
        cost: How many bytes the job reads and writes.
        gain: How many bytes later reads save, each of them.
        run: Meets the need and returns what was done, as a sentence.
    """

    kind: JobKind
    table: str
    why: str
    cost: int
    gain: int
    run: Run


@dataclass(frozen=True, slots=True)
class Patient:
    """A branch of a table at one moment.

    Attributes:
        table: The table, opened on the branch.
        policy: What the autopilot may do for it.
        now: The time in epoch milliseconds.
        last: When a job of a kind last succeeded for it, in epoch milliseconds.
    """

    table: Table
    policy: Policy
    now: int
    last: Mapping[JobKind, int]

    @property
    def store(self) -> TableStore:
        return store_of(self.table)

    @property
    def options(self) -> TableOptions:
        return self.policy.options

    def is_due(self, kind: JobKind, interval: float | None) -> bool:
        """Returns whether the last job of a kind is that many seconds ago; never without an interval."""
        return interval is not None and self.now - self.last.get(kind, 0) >= interval * 1000

    def need(self, kind: JobKind, why: str, run: Run, *, cost: int = 0, gain: int = 0) -> Need:
        return Need(kind, self.table.name, why, cost, gain, run)


def needs_of(patient: Patient) -> list[Need]:
    """Returns what a branch needs, at most one need of each kind."""
    latest = patient.store.snapshots.latest()
    found: list[Need] = []
    if latest is not None:
        entries = live_entries(patient.store, latest)
        for look in _BRANCH_LOOKS:
            found.extend(look(patient, latest, entries))
    if patient.table.branch_name == MAIN_BRANCH:
        for look_at_table in _TABLE_LOOKS:
            found.extend(look_at_table(patient))
    return [need for need in found if patient.policy.allows(need.kind)]


def in_order(needs: Iterable[Need]) -> list[Need]:
    """Returns needs in the order in which they are met: those that gain most for what they cost come first."""
    return sorted(needs, key=lambda need: (-need.gain / (need.cost + _OPEN), need.cost, need.table, need.kind))


# ------------------------------------------------------------------------------------------------- of each branch


def _compaction(patient: Patient, latest: Snapshot, entries: pa.Table) -> Iterator[Need]:
    is_keyed = bool(patient.table.schema.primary_keys)
    packs = plan_compaction(patient.store)
    files, size = sum(map(len, packs)), sum(_bytes(pack) for pack in packs)
    kind = JobKind.COMPACT
    full = False
    if packs:
        places = count_text(len(packs), "bucket") if is_keyed else f"about {count_text(len(packs), 'file')}"
        verb = "are due to be merged in" if is_keyed else "can be merged into"
        why = f"{count_text(files, 'file')} ({size_text(size)}) {verb} {places}"
        gain = max(files - len(packs), 0) * _OPEN + (size if is_keyed else 0)
    else:
        rows = int(pc.sum(entries["row_count"]).as_py() or 0)
        marked = marked_rows(patient.store, latest)
        overlap = is_keyed and int(pc.max(entries["level"]).as_py() or 0) != int(pc.min(entries["level"]).as_py() or 0)
        size, full = _bytes(entries), True
        if marked and marked >= patient.options.autopilot_deleted_rows * rows:
            why = f"{count_text(marked, 'row')} of {rows:,} in data files are marked as deleted"
            gain = size * marked // max(rows, 1)
        elif overlap and patient.is_due(JobKind.FULL_COMPACTION, patient.options.autopilot_full_compaction_interval):
            kind, gain = JobKind.FULL_COMPACTION, size // 2
            why = "the table was not merged as a whole for 'autopilot.full-compaction.interval'"
        else:
            return

    def run(report: Report) -> str:
        made = patient.table.compact(full=full, report=report)
        return "nothing to do any more" if made is None else f"merged {size_text(size)} as snapshot {made.id}"

    yield patient.need(kind, why, run, cost=2 * size, gain=gain)


def _manifests(patient: Patient, latest: Snapshot, entries: pa.Table) -> Iterator[Need]:
    shape = ManifestShape.of(patient.store.manifests.base_and_delta(latest))
    dead = 1 - len(entries) / max(shape.entries, 1)
    if shape.entries > _FEW_ENTRIES and dead > _DEAD_SHARE:
        why = f"{dead:.0%} of {shape.entries:,} entries refer to deleted files"
    elif shape.manifests > _MANY_MANIFESTS and shape.bytes < shape.manifests * _SMALL_MANIFEST:
        why = f"{count_text(shape.manifests, 'small manifest')} with {size_text(shape.bytes)}"
    else:
        return
    gain = (shape.manifests - 1) * _OPEN // 4 + round(dead * shape.bytes)
    run = lambda _: str(patient.table.compact_manifests())  # noqa: E731
    yield patient.need(JobKind.MANIFESTS, why, run, cost=2 * shape.bytes, gain=gain)


def _index(patient: Patient, latest: Snapshot, entries: pa.Table) -> Iterator[Need]:
    if not has_dynamic_buckets(patient.table.schema):
        return
    known = {
        (entry.partition, entry.bucket)
        for entry in patient.store.manifests.read_index(latest.index_manifest)
        if entry.index_type == HASH
    }
    buckets = entries.group_by(["partition", "bucket"], use_threads=False).aggregate([("file_size", "sum")]).to_pylist()
    without = [one for one in buckets if (one["partition"], one["bucket"]) not in known]
    if without:
        why = f"{count_text(len(without), 'bucket')} without a hash index, so that writes look up keys in data files"
        run = lambda _: str(patient.table.rebuild_index(dry_run=False))  # noqa: E731
        yield patient.need(JobKind.INDEX, why, run, cost=sum(one["file_size_sum"] for one in without), gain=_OPEN)


def _history(patient: Patient, latest: Snapshot, entries: pa.Table) -> Iterator[Need]:  # noqa: ARG001 - as the others
    store = patient.store
    expires_tags = patient.options.tag_time_expire_enabled
    parts = []
    if names := expire_consumers(store, dry_run=True):
        parts.append(f"consumers {names_text(names)}")
    if expires_tags and (names := expire_tags(store, dry_run=True)):
        parts.append(f"tags {names_text(names)}")
    gone = () if is_nothing_due(store) else patient.table.expire_snapshots(dry_run=True).snapshots
    if gone:
        parts.append(ids_text(gone, "snapshot"))

    def run(_: Report) -> str:
        expire_consumers(store)
        if expires_tags:
            expire_tags(store)
        return str(patient.table.expire_snapshots()).partition("\n")[0]

    if parts:
        yield patient.need(JobKind.HISTORY, f"{' and '.join(parts)} are past their retention", run, gain=_OPEN)


def _statistics(patient: Patient, latest: Snapshot, entries: pa.Table) -> Iterator[Need]:
    interval = patient.options.autopilot_statistics_interval
    last = patient.last.get(JobKind.STATISTICS, 0)
    if latest.time_millis <= last or not patient.is_due(JobKind.STATISTICS, interval):
        return
    run = lambda _: f"analyzed as snapshot {getattr(patient.table.analyze('all'), 'id', None)}"  # noqa: E731
    why = "the table changed since it was analyzed"
    yield patient.need(JobKind.STATISTICS, why, run, cost=_bytes(entries))


# --------------------------------------------------------------------------------------------- of the whole table


def _chain(patient: Patient) -> Iterator[Need]:
    rules = rules_of(patient.store)
    if rules.chain_branches() is None:
        return
    limits = _limits(patient.options)
    plan = patient.table.compact_chain(policy=limits, dry_run=True).built
    if not plan:
        return
    files, merged = sum(one.delta_files for one in plan), sum(one.delta_bytes for one in plan)
    which = names_text(partition_text(one.partition) for one in plan)
    why = f"reads of {which} merge {count_text(files, 'file')} of changes ({size_text(merged)})"
    run = lambda report: str(patient.table.compact_chain(policy=limits, report=report)).partition("\n")[0]  # noqa: E731
    cost = 2 * sum(one.bytes_read for one in plan)
    yield patient.need(JobKind.CHAIN, why, run, cost=cost, gain=merged + files * _OPEN)


def _limits(options: TableOptions) -> dict[str, Any]:
    age = options.autopilot_chain_age
    limits = {"depth": options.autopilot_chain_depth, "bytes": options.autopilot_chain_bytes}
    given = {name: limit for name, limit in limits.items() if limit is not None} | {"stale": True}
    return given if age is None else {**given, "age": dt.timedelta(seconds=age)}


def _partitions(patient: Patient) -> Iterator[Need]:
    if patient.options.partition_expiration_time is None:
        return
    old = patient.table.expire_partitions(dry_run=True)
    if old:
        which = names_text(partition_text(one) for one in old)
        run = lambda _: str(patient.table.expire_partitions()).partition("\n")[0]  # noqa: E731
        yield patient.need(JobKind.PARTITIONS, f"partitions past their expiration time: {which}", run, gain=_OPEN)


def _changes(patient: Patient) -> Iterator[Need]:
    is_chain = rules_of(patient.store).chain_branches() is not None
    if not is_chain or patient.options.chain_changes_time_retained is None:
        return
    old = patient.table.expire_changes(dry_run=True).partitions
    if old:
        why = f"old changes that full partitions hold: {names_text(partition_text(one) for one in old)}"
        run = lambda _: str(patient.table.expire_changes()).partition("\n")[0]  # noqa: E731
        yield patient.need(JobKind.CHANGES, why, run, gain=_OPEN)


def _orphans(patient: Patient) -> Iterator[Need]:
    if patient.is_due(JobKind.ORPHANS, patient.options.autopilot_orphans_interval):
        run = lambda _: str(patient.table.remove_orphan_files(dry_run=False)).partition("\n")[0]  # noqa: E731
        yield patient.need(JobKind.ORPHANS, "files that nothing needs were not looked for lately", run)


_BRANCH_LOOKS: Final = (_compaction, _manifests, _index, _history, _statistics)
_TABLE_LOOKS: Final = (_chain, _partitions, _changes, _orphans)


def _bytes(entries: pa.Table) -> int:
    return int(pc.sum(entries["file_size"]).as_py() or 0)
