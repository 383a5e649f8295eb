"""Expiry of changes: drops the changes of old days that full partitions hold, and nothing that a later view needs.

In each group the last full partition at or before a time is kept, and so are all other full partitions. Changes up to
that full partition are dropped, if they are older than the time. Changes after it are kept, because later days are
merged from them. So no view of a full partition, and no view of a day at or after the time, changes. An older day that
is not full has no view any more, and the result names it.

The changes between two full partitions are dropped together or kept together. They are kept if a full partition among
them is stale, because it is rebuilt from them. They are also kept, with all later ones, if rows were appended to them
after the later full partition was built: it lacks these rows, and so do the full partitions that are built on it.

The commit records that it is clean-up. It fails if others wrote to these changes meanwhile.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.anchors import by_group
from lakebed.chain.layout import ChainTable, Link
from lakebed.chain.staleness import ChainState
from lakebed.chain.write_rules import ChainWriteGuard, changed_views
from lakebed.errors import CommitConflictError, OptionError
from lakebed.format.commit_facts import CHAIN_EXPIRED, encode_facts
from lakebed.format.human_text import count_text, list_lines, names_text, size_text
from lakebed.format.partition_names import partition_text
from lakebed.format.printed import Printed
from lakebed.format.snapshot import CommitKind
from lakebed.metadata.branch_roles import BranchRole
from lakebed.metadata.commit.commit import Commit, commit
from lakebed.metadata.plan.file_scan import live_entries
from lakebed.operations.overwrite import delete_partitions
from lakebed.options import TableOptions
from lakebed.table_rules.write_guard import Drop

_SHOWN: Final = 10
_EVER: Final = dt.datetime(1, 1, 1)  # noqa: DTZ001 - times of partitions have no zone


@dataclass(frozen=True, slots=True, repr=False)
class ChangesExpiry(Printed):
    """What an expiry of changes dropped, or would drop in a dry run.

    Attributes:
        partitions: The partitions of changes that were dropped, oldest first.
        without_view: Those of them that have no view any more, because no full partition of that day exists.
        kept: Older changes that were kept, each with the reason.
        files: The number of data files that the branch no longer has. Snapshots keep them until they expire.
        bytes: Their size.
        dry_run: Whether nothing was dropped.
        snapshot: The snapshot of the delta branch that dropped them; ``None`` if nothing was dropped.
    """

    partitions: tuple[Mapping[str, Any], ...] = ()
    without_view: tuple[Mapping[str, Any], ...] = ()
    kept: tuple[tuple[Mapping[str, Any], str], ...] = ()
    files: int = 0
    bytes: int = 0
    dry_run: bool = False
    snapshot: int | None = None

    def __bool__(self) -> bool:
        return bool(self.partitions)

    def __str__(self) -> str:
        did = "would drop" if self.dry_run else "dropped"
        if not self.partitions:
            lines = [f"{did} no changes"]
        else:
            size = f"{count_text(self.files, 'file')}, {size_text(self.bytes)}"
            lines = [f"{did} the changes of {count_text(len(self.partitions), 'partition')} ({size}):"]
            lines += list_lines([partition_text(one) for one in self.partitions], "partition", most=_SHOWN)
        if self.without_view:
            lines.append("without a view from now on:")
            lines += list_lines([partition_text(one) for one in self.without_view], "partition", most=_SHOWN)
        kept = [f"kept {partition_text(values)}: {reason}" for values, reason in self.kept]
        return "\n".join([*lines, *list_lines(kept, "partition", most=_SHOWN)])


@dataclass
class _Plan:
    """What is dropped, and what is kept for which reason."""

    dropped: list[Link] = field(default_factory=list)
    kept: list[tuple[Link, str]] = field(default_factory=list)


def old_changes(
    fulls: Sequence[Link], deltas: Sequence[Link], stale: frozenset[bytes], late: set[bytes], before: dt.datetime
) -> _Plan:
    """The changes of days before a time that full partitions hold; ``late`` are those that they lack rows of."""
    plan, full_by_group = _Plan(), by_group(fulls)
    for group, changes in by_group(link for link in deltas if link.time < before).items():
        fulls_of_group = [link for link in full_by_group.get(group, ()) if link.time <= before]
        rest, unread = changes, [link for link in fulls_of_group if link.encoded in stale]
        lacking: str | None = None
        for full in (link for link in fulls_of_group if link.encoded not in stale):
            segment = [link for link in rest if link.time <= full.time]
            rest = rest[len(segment) :]
            lacking = lacking or _lacking(segment, full, late)
            reason = lacking or _stale_inside([one for one in unread if one.time < full.time])
            unread = [one for one in unread if one.time > full.time]
            if reason is None:
                plan.dropped += segment
            else:
                plan.kept += [(link, reason) for link in segment]
        plan.kept += [(link, "later days are merged from it") for link in rest]
    return plan


def _lacking(segment: Sequence[Link], full: Link, late: set[bytes]) -> str | None:
    missing = [partition_text(link.values) for link in segment if link.encoded in late]
    if not missing:
        return None
    return (
        f"full partition {partition_text(full.values)} lacks rows that were appended to {names_text(missing)}; "
        "compact_chain(..., overwrite=True) adds them"
    )


def _stale_inside(stale: Sequence[Link]) -> str | None:
    if not stale:
        return None
    return f"full partition {partition_text(stale[0].values)} is stale; compact_chain() rebuilds it from these changes"


def retained_since(chain: ChainTable, now: dt.datetime | None = None) -> dt.datetime:
    """Returns the time from which the option of the table keeps changes; raises if it is not set.

    ``now`` is a local time, like the times of partitions.
    """
    option = TableOptions.chain_changes_time_retained
    seconds = option.read(TableOptions(chain.main.schema().options))
    if seconds is None:
        raise OptionError(
            f"table {chain.main.name} has no retention time for changes; give before, such as '30 d', or set option "
            f"{option.name}"
        )
    try:
        return (now or dt.datetime.now()) - dt.timedelta(seconds=seconds)  # noqa: DTZ005 - local, see above
    except OverflowError:
        return _EVER


def expire_changes(chain: ChainTable, before: dt.datetime | None = None, *, dry_run: bool = False) -> ChangesExpiry:
    """Drop the changes of days before a time that full partitions hold.

    ``before`` has no zone, as partitions. Without it, the option of the table says how long changes are kept.
    """
    before = retained_since(chain) if before is None else before
    guard = ChainWriteGuard(chain, BranchRole.DELTA, drop=Drop())
    if not dry_run:
        guard.begin()
    state = ChainState.latest(chain)
    plan = old_changes(state.fulls, state.deltas, state.stale, state.late_changes(), before)
    going = frozenset(link.encoded for link in plan.dropped)
    changed = [link for link in changed_views(state, going) if link.encoded in going]
    entries = live_entries(chain.delta, state.delta, pa.array(sorted(going), pa.binary()))
    snapshot = None
    if going and not dry_run:
        guard.drop = Drop(may_change=frozenset(link.encoded for link in changed))
        made = commit(chain.delta, guard.guarded(_drop(chain, going, entries)))
        guard.finish(made)
        snapshot = None if made is None else made.id
    return ChangesExpiry(
        partitions=tuple(dict(link.values) for link in plan.dropped),
        without_view=tuple(dict(link.values) for link in changed),
        kept=tuple((dict(link.values), reason) for link, reason in plan.kept),
        files=len(entries),
        bytes=pc.sum(entries["file_size"]).as_py() or 0,
        dry_run=dry_run,
        snapshot=snapshot,
    )


def _drop(chain: ChainTable, partitions: frozenset[bytes], planned: pa.Table) -> Commit:
    codes = pa.array(sorted(partitions), pa.binary())
    return Commit(
        kind=CommitKind.OVERWRITE,
        plan=delete_partitions(chain.delta, codes, _unchanged(chain, codes, planned)),
        operation="TRUNCATE",
        properties=encode_facts({CHAIN_EXPIRED: True}),
    )


def _unchanged(chain: ChainTable, partitions: pa.Array, planned: pa.Table) -> Callable[[pa.Table], pa.Array]:
    names = set(planned["file_name"].to_pylist())

    def check(live: pa.Table) -> pa.Array:
        if set(live["file_name"].to_pylist()) != names:
            raise CommitConflictError(
                f"table {chain.main.name}: another commit wrote to changes that were to be dropped; nothing was dropped, "
                "call expire_changes() again"
            )
        return partitions

    return check
