"""Compaction of a chain: writes the merged rows of a day as a full partition, so that reads of that day merge nothing.

A partition is built from its anchor and the later changes, merged as a read merges them. The changes are kept. One
round builds one partition of each group in one commit, which also records the lineage of each
(:mod:`lakebed.chain.branch_log`). The partition of the next round uses it as its anchor. A partition that is already
full is skipped, unless it is stale or ``overwrite`` is given. In that case it is rebuilt from its anchor and the
changes, and its old rows are replaced.

If another commit overwrites what was read, this commit fails and its files are deleted. If that happens after the last
check, the new partition is stale as soon as it is visible. A partition whose rows were all deleted has no files, so it
is not built.
"""

from __future__ import annotations

import datetime as dt
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from lakebed.chain.anchors import by_group
from lakebed.chain.layout import ChainTable, Link
from lakebed.chain.reading.gap_days import gap_partitions
from lakebed.chain.reading.plan_views import Chains, View
from lakebed.chain.staleness import ChainState, update_branch_logs
from lakebed.chain.write_rules import ChainWriteGuard, finish_truncations
from lakebed.engine import IN_PROCESS, Engine, NewFiles
from lakebed.errors import CommitConflictError, OptionError
from lakebed.format import predicate as pred
from lakebed.format.commit_facts import Lineage, encode_lineages
from lakebed.format.human_text import count_text, list_lines, names_text, size_text
from lakebed.format.partition_names import partition_text
from lakebed.format.printed import Printed
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.branch_roles import BranchRole
from lakebed.metadata.commit.commit import Change, Commit
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.plan.file_scan import live_entries, partition_mask
from lakebed.operations.overwrite import delete_partitions, lifted
from lakebed.operations.write import write_files
from lakebed.options import parse_duration, parse_size

_SHOWN: Final = 10

ReadViews = Callable[[ChainState, Sequence[View]], Any]
"""Returns the rows of views, with the partition values of each view, in any form that a table can write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPolicy:
    """When a chain gets a full partition: as soon as it reaches one of the limits that are set.

    Attributes:
        depth: The number of partitions of changes that a read merges.
        bytes: Their size.
        age: The time between the full partition that they build on and the day.
        stale: Whether full partitions that are out of date are built again, whatever the limits.
    """

    depth: int | None = None
    bytes: int | None = None
    age: dt.timedelta | None = None
    stale: bool = False

    @staticmethod
    def of(given: ChainPolicy | Mapping[str, Any]) -> ChainPolicy:
        """A policy, or its limits by name; sizes and durations may be text."""
        if isinstance(given, ChainPolicy):
            return _checked(given)
        unknown = [name for name in given if name not in {"depth", "bytes", "age", "stale"}]
        if unknown:
            raise OptionError(
                f"{unknown[0]!r} is not a limit of a chain's policy; there are depth, bytes, age and stale"
            )
        size, age = given.get("bytes"), given.get("age")
        try:
            length = dt.timedelta(seconds=parse_duration(age)) if isinstance(age, str) else age
            limit = parse_size(size) if isinstance(size, str) else size
            return _checked(
                ChainPolicy(depth=given.get("depth"), bytes=limit, age=length, stale=given.get("stale", False))
            )
        except ValueError as error:
            raise OptionError(f"a chain's policy is {dict(given)}: a value must be {error}") from None


def _checked(policy: ChainPolicy) -> ChainPolicy:
    limits = [limit for limit in (policy.depth, policy.bytes) if limit is not None]
    whole = all(isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 for limit in limits)
    aged = policy.age is None or (isinstance(policy.age, dt.timedelta) and policy.age > dt.timedelta(0))
    if not whole or not aged or not (limits or policy.age or policy.stale is True):
        raise OptionError(
            "a chain's policy sets at least one of depth (a whole number from 1 on), bytes (such as '1 gb'), age "
            f"(such as '7 d') and stale (true), not {policy}"
        )
    return policy


def _is_due(policy: ChainPolicy, view: View, sizes: Mapping[bytes, int]) -> bool:
    """Whether a partition has reached a limit of the policy."""
    start = view.anchor.time if view.anchor is not None else view.deltas[0].time
    size = sum(sizes.get(delta.encoded, 0) for delta in view.deltas)
    return (
        (policy.depth is not None and view.depth >= policy.depth)
        or (policy.bytes is not None and size >= policy.bytes)
        or (policy.age is not None and view.partition.time - start >= policy.age)
    )


@dataclass(frozen=True, slots=True)
class Built:
    """A partition that was built, or would be built: from what, at what cost, and what later reads save.

    ``files_read`` and ``bytes_read`` are what building reads. ``depth``, ``delta_files`` and ``delta_bytes`` are what
    reads of this day, and of later days, no longer merge. ``rows``, ``bytes_written`` and ``snapshot`` are ``None`` in
    a dry run.
    """

    partition: Mapping[str, Any]
    anchor: Mapping[str, Any] | None
    depth: int
    files_read: int
    bytes_read: int
    delta_files: int
    delta_bytes: int
    rows: int | None = None
    bytes_written: int | None = None
    snapshot: int | None = None

    def __str__(self) -> str:
        anchor = "nothing" if self.anchor is None else partition_text(self.anchor)
        written = size_text(self.bytes_written or 0)
        done = "" if self.rows is None else f"; wrote {count_text(self.rows, 'row')}, {written}"
        return (
            f"{partition_text(self.partition)} from {anchor} and {count_text(self.depth, 'partition')} of changes: "
            f"reads {size_text(self.bytes_read)} once, saves later reads the merge of "
            f"{count_text(self.delta_files, 'file')} and {size_text(self.delta_bytes)}{done}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class ChainCompaction(Printed):
    """What a compaction of a chain built, or would build in a dry run.

    Attributes:
        built: The full partitions that were built.
        skipped: The partitions that were skipped, each with the reason.
        dry_run: Whether nothing was built.
        seconds: How long it took.
    """

    built: tuple[Built, ...] = ()
    skipped: tuple[tuple[Mapping[str, Any], str], ...] = ()
    dry_run: bool = False
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.built)

    def __str__(self) -> str:
        verb = "would build" if self.dry_run else "built"
        lines = [
            f"{verb} {count_text(len(self.built), 'full partition')}"
            + ("" if self.dry_run else f" in {self.seconds:.2f} s")
        ]
        lines += list_lines([str(one) for one in self.built], "full partition", most=_SHOWN)
        skipped = [f"skipped {partition_text(values)}: {reason}" for values, reason in self.skipped]
        lines += list_lines(skipped, "skipped partition", most=_SHOWN)
        return "\n".join(lines)


# --------------------------------------------------------------------------------------------------------- planning


@dataclass(frozen=True)
class Asked:
    """The request of a compaction: the partitions that satisfy ``node``, or those of them that a policy picks."""

    node: pred.Node
    policy: ChainPolicy | None = None
    overwrite: bool = False

    def wants(self, link: Link, schema: TableSchema) -> bool:
        mask = partition_mask(pa.table({"partition": pa.array([link.encoded], pa.binary())}), self.node, schema)
        return mask is None or bool(mask[0])


@dataclass
class _Plan:
    """What is built, one list for each round, and what is skipped."""

    rounds: list[list[View]] = field(default_factory=list)
    skipped: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)

    def add(self, number: int, view: View) -> None:
        while len(self.rounds) <= number:
            self.rounds.append([])
        self.rounds[number].append(view)


def _plan(state: ChainState, asked: Asked, sizes: Mapping[bytes, int]) -> _Plan:
    plan = _Plan()
    fulls, deltas = by_group(state.fulls), by_group(state.deltas)
    groups = sorted({*fulls, *deltas}, key=repr)
    for group in groups:
        _plan_group(plan, state, asked, fulls.get(group, []), deltas.get(group, []), sizes)
    known = {link.encoded for link in (*state.fulls, *state.deltas)}
    missing = gap_partitions(state.chain.keys, asked.node, groups, known)  # raises if a value is not a time
    if not plan.rounds and not plan.skipped:  # if some groups have such a day, the others need no message
        plan.skipped += [(link.values, "it has no changes of its own to build from") for link in missing]
    return plan


def _plan_group(
    plan: _Plan, state: ChainState, asked: Asked, fulls: list[Link], deltas: list[Link], sizes: Mapping[bytes, int]
) -> None:
    """What is built in one group, oldest day first: each built partition is an anchor for the following ones."""
    existing = {link.encoded for link in fulls} - state.stale
    anchors = [link for link in fulls if link.encoded in existing]
    schema = state.chain.main.schema()
    for link in fulls:
        if (
            asked.wants(link, schema)
            and link.encoded not in {delta.encoded for delta in deltas}
            and asked.policy is None
        ):
            plan.skipped.append((link.values, "it is full, and has no changes of its own to build from"))
    number = 0
    for link in deltas:
        if not asked.wants(link, schema):
            continue
        if link.encoded in existing and not asked.overwrite:
            if asked.policy is None:
                plan.skipped.append((link.values, "it is full already"))
            continue
        others = [one for one in anchors if one.encoded != link.encoded]
        view = Chains.of(others, deltas).view(link)
        if view is None or not _is_wanted(state, asked.policy, view, sizes):
            continue
        if lost := state.lost_by_rebuilding(link, view.anchor):
            days = names_text(partition_text(one.values) for one in lost)
            plan.skipped.append((link.values, f"it holds changes that were dropped: {days}"))
            continue
        plan.add(number, view)
        number += 1
        anchors = [*others, link]


def _is_wanted(state: ChainState, policy: ChainPolicy | None, view: View, sizes: Mapping[bytes, int]) -> bool:
    if policy is None or (policy.stale and view.partition.encoded in state.stale):
        return True
    return _is_due(policy, view, sizes)


# --------------------------------------------------------------------------------------------------------- building


def compact_chain(
    chain: ChainTable,
    asked: Asked,
    read: ReadViews,
    *,
    dry_run: bool = False,
    report: Callable[[int, int], None] | None = None,
    engine: Engine = IN_PROCESS,
) -> ChainCompaction:
    """Build full partitions; ``read`` returns their rows. With ``dry_run`` only say what would be built.

    ``report`` is called with the number of finished partitions and of all; if it raises, those that are finished stay.
    """
    started = time.perf_counter()
    if not dry_run:
        finish_truncations(chain)
    state = ChainState.latest(chain)
    sizes = _Sizes.of(state)
    plan = _plan(state, asked, sizes.delta_bytes)
    built: list[Built] = []
    skipped = list(plan.skipped)
    done, total = 0, sum(map(len, plan.rounds))
    for views in plan.rounds:
        if report is not None and not dry_run:
            report(done, total)
        done += len(views)
        costs = [sizes.cost(view) for view in views]
        if dry_run:
            built += costs
            sizes = sizes.with_built(views)
            continue
        made, files = _build(chain, state, views, read, engine)
        rows = _by_partition(files)
        for view, cost in zip(views, costs, strict=True):
            if view.partition.encoded in rows and made is not None:
                count, size = rows[view.partition.encoded]
                built.append(replace(cost, rows=count, bytes_written=size, snapshot=made.id))
            else:
                skipped.append((view.partition.values, "all its rows were deleted"))
        update_branch_logs(chain)
        state = ChainState(chain, chain.full.snapshots.latest(), state.delta)
        sizes = _Sizes.of(state)
    if report is not None and total and not dry_run:
        report(total, total)
    return ChainCompaction(tuple(built), tuple(skipped), dry_run, time.perf_counter() - started)


def _build(
    chain: ChainTable, state: ChainState, views: Sequence[View], read: ReadViews, engine: Engine
) -> tuple[Snapshot | None, pa.Table]:
    """Write partitions into the full branch in one commit; returns the snapshot and the entries of the new files."""
    schema = chain.full.schema()
    there = {link.encoded for link in state.fulls}
    replaced = pa.array([v.partition.encoded for v in views if v.partition.encoded in there], pa.binary())
    lineages = [_lineage(state, view) for view in views]
    properties = encode_lineages(lineages)
    who = Identity.of(schema)
    written: list[pa.Table] = []

    def make(files: NewFiles) -> Commit:
        entries = lifted(files.data, schema)
        written.append(entries)

        def plan(latest: Snapshot | None) -> Change:
            _check_unchanged(chain, latest, views, lineages, set(replaced.to_pylist()))
            if not len(replaced):
                return Change(entries=entries, index=files.index)
            gone = delete_partitions(chain.full, replaced)(latest)
            return Change(entries=pa.concat_tables([gone.entries, entries]), index=(*gone.index, *files.index))

        kind = CommitKind.OVERWRITE if len(replaced) else CommitKind.APPEND
        return Commit(kind=kind, plan=plan, user=who.user, identifier=who.identifier, properties=properties)

    guard = ChainWriteGuard(chain, BranchRole.FULL).guarded
    made = write_files(chain.full, read(state, views), make, changelog=False, replaces=True, engine=engine, guard=guard)
    return made, pa.concat_tables(written)


def _check_unchanged(
    chain: ChainTable,
    latest: Snapshot | None,
    views: Sequence[View],
    lineages: Iterable[Lineage],
    replaced: set[bytes],
) -> None:
    """Raise if another commit has changed what was read."""
    now = ChainState(chain, latest, chain.delta.snapshots.latest())
    wanted = {view.partition.encoded for view in views}
    if any(link.encoded in wanted - replaced for link in now.fulls):
        raise CommitConflictError(
            f"table {chain.main.name}: another commit wrote a full partition that was being built; nothing was "
            "committed"
        )
    gone = {view.anchor.encoded for view in views if view.anchor is not None} - {link.encoded for link in now.fulls}
    if gone or any(now.is_outdated(lineage) for lineage in lineages):
        raise CommitConflictError(
            f"table {chain.main.name}: another commit overwrote what was being compacted; nothing was committed, "
            "compact again"
        )


def _lineage(state: ChainState, view: View) -> Lineage:
    anchor = None if view.anchor is None else view.anchor.encoded
    known = None if anchor is None else state.lineage(anchor)
    return Lineage(
        build=str(uuid.uuid4()),
        partition=view.partition.encoded,
        anchor=anchor,
        anchor_build=None if known is None else known.build,
        deltas=tuple(delta.encoded for delta in view.deltas),
        full_snapshot=0 if state.full is None else state.full.id,
        delta_snapshot=0 if state.delta is None else state.delta.id,
    )


def _by_partition(entries: pa.Table) -> dict[bytes, tuple[int, int]]:
    """The number of rows and bytes of each partition."""
    sums = entries.group_by("partition").aggregate([("row_count", "sum"), ("file_size", "sum")])
    columns = (sums[name].to_pylist() for name in ("partition", "row_count_sum", "file_size_sum"))
    return {partition: (rows, size) for partition, rows, size in zip(*columns, strict=True)}


# ------------------------------------------------------------------------------------------------------------- costs


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The number of files and bytes of each partition of both branches."""

    full: Mapping[bytes, tuple[int, int]]
    delta: Mapping[bytes, tuple[int, int]]

    @staticmethod
    def of(state: ChainState) -> _Sizes:
        return _Sizes(
            _files_and_bytes(live_entries(state.chain.full, state.full)),
            _files_and_bytes(live_entries(state.chain.delta, state.delta)),
        )

    @property
    def delta_bytes(self) -> dict[bytes, int]:
        return {partition: size for partition, (_, size) in self.delta.items()}

    def cost(self, view: View) -> Built:
        files, size = (0, 0) if view.anchor is None else self.full.get(view.anchor.encoded, (0, 0))
        changed = [self.delta.get(delta.encoded, (0, 0)) for delta in view.deltas]
        delta_files, delta_bytes = sum(count for count, _ in changed), sum(size for _, size in changed)
        return Built(
            partition=dict(view.partition.values),
            anchor=None if view.anchor is None else dict(view.anchor.values),
            depth=view.depth,
            files_read=files + delta_files,
            bytes_read=size + delta_bytes,
            delta_files=delta_files,
            delta_bytes=delta_bytes,
        )

    def with_built(self, views: Sequence[View]) -> _Sizes:
        """Estimated sizes after these are built: a new partition has the size of its anchor and half of the changes."""
        made = dict(self._guesses(views))
        return replace(self, full={**self.full, **made})

    def _guesses(self, views: Sequence[View]) -> Iterator[tuple[bytes, tuple[int, int]]]:
        for view in views:
            anchor = (1, 0) if view.anchor is None else self.full.get(view.anchor.encoded, (1, 0))
            changed = sum(self.delta.get(delta.encoded, (0, 0))[1] for delta in view.deltas)
            yield view.partition.encoded, (anchor[0], anchor[1] + changed // 2)


def _files_and_bytes(entries: pa.Table) -> dict[bytes, tuple[int, int]]:
    sums = entries.group_by("partition").aggregate([("file_size", "count"), ("file_size", "sum")])
    columns = (sums[name].to_pylist() for name in ("partition", "file_size_count", "file_size_sum"))
    return {partition: (count, size) for partition, count, size in zip(*columns, strict=True)}
