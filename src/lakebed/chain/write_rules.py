"""Rules for writes to a data branch of a chain table, in addition to those of every write.

* The chain columns of new rows must form a time, in both branches.
* The full branch must not lose a partition that changes need (:mod:`lakebed.chain.anchors`), or that holds changes
  which were dropped (:mod:`lakebed.chain.dropped_changes`).
* A commit that overwrites changes (kind OVERWRITE on the delta branch) empties the full partitions of the same days, by
  a second commit. It is refused if one of those is needed. If the process dies between the two commits, reads treat
  these partitions as stale, and the next write empties them.
* Dropping changes empties no full partition and makes none stale. It is refused if the view of a day would change,
  unless it is forced.
* A static overwrite must name a day. One that names none is refused if it would remove days that it does not write.

Main is written like an ordinary table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.anchors import by_group, check_droppable, known_links, live_partitions
from lakebed.chain.layout import ChainTable, Link
from lakebed.chain.reading.plan_views import plan_views
from lakebed.chain.staleness import ChainState, update_branch_logs
from lakebed.errors import DataError, LakebedError, OptionError
from lakebed.format.commit_facts import CHAIN_REPLACED, CHAIN_SAME_ROWS, encode_facts
from lakebed.format.human_text import names_text
from lakebed.format.manifest.manifest import ADD
from lakebed.format.partition_names import partition_table, partition_text
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.branch_roles import BranchRole
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.operations.overwrite import delete_partitions
from lakebed.table_rules.write_guard import Drop, WriteGuard

_LOG: Final = logging.getLogger("lakebed")
_NAMED: Final = 10
"""How many days an error names."""


class ChainWriteGuard(WriteGuard):
    """Guards one write to a data branch of a chain table.

    ``same_rows``: the write changes files but not rows. Its commit is marked, so that no full partition becomes stale
    by it. ``drop``: the write drops partitions. Every other OVERWRITE of changes is marked, because without the mark it
    would count as a drop where it leaves no rows.
    """

    def __init__(
        self, chain: ChainTable, role: BranchRole, *, same_rows: bool = False, drop: Drop | None = None
    ) -> None:
        self.chain = chain
        self.role = role
        self.same_rows = same_rows
        self.drop = drop
        self._parsed: set[bytes] = set()
        self._full_seen = 0
        self._overwritten: pa.Array = pa.array([], pa.binary())

    def begin(self) -> None:
        """Finish what a process left undone that died after it had overwritten changes."""
        finish_truncations(self.chain)

    def guarded(self, request: Commit) -> Commit:
        """The same commit, which fails where it would break a rule."""
        if self.same_rows:
            return replace(request, properties={**request.properties, **encode_facts({CHAIN_SAME_ROWS: True})})

        def plan(latest: Snapshot | None) -> Change:
            change = request.plan(latest)
            self._check(latest, change, request)
            return change

        replaces = self.drop is None and self.role is BranchRole.DELTA and request.kind is CommitKind.OVERWRITE
        facts = encode_facts({CHAIN_REPLACED: replaces})
        return replace(request, plan=plan, properties={**request.properties, **facts})

    def finish(self, made: Snapshot | None) -> None:
        """Empty full partitions whose changes the commit overwrote, and record the commit in the branch logs."""
        if made is None or self.same_rows:
            return
        if self.role is BranchRole.DELTA and made.commit_kind is CommitKind.OVERWRITE and self.drop is None:
            self._empty_full_partitions(made)
        update_branch_logs(self.chain)

    def _empty_full_partitions(self, made: Snapshot) -> None:
        seen, partitions = self._full_seen, set(self._overwritten.to_pylist())

        def is_older(state: ChainState, partition: bytes) -> bool:
            last = state.full_log.last(partition, 2**63)
            lineage = state.lineage(partition)
            if lineage is not None:
                return lineage.delta_snapshot < made.id
            return last is None or last.last <= seen

        try:
            truncate(self.chain, partitions, is_older)
        except LakebedError as problem:
            _LOG.warning(
                "table %s: changes were overwritten, but full partitions of the same days were not emptied: %s. "
                "Reads skip them, and the next write empties them",
                self.chain.main.name,
                problem,
            )

    # ------------------------------------------------------------------------------------------------ the checks

    def _check(self, latest: Snapshot | None, change: Change, request: Commit) -> None:
        entries = change.entries
        is_add = pc.equal(entries["kind"], ADD)
        added = pc.unique(entries.filter(is_add)["partition"].combine_chunks())
        self._check_times(added)
        if request.kind is not CommitKind.OVERWRITE:
            return
        removed = pc.unique(entries.filter(pc.invert(is_add))["partition"].combine_chunks())
        if self.role is BranchRole.FULL:
            self._check_full(latest, removed, added)
            self._check_static(request.static_keys, removed, added)
        elif self.drop is not None:
            self._check_drop(latest, removed, self.drop)
        else:
            self._check_static(request.static_keys, removed, added)
            self._check_overwrite(latest, removed, added)

    def _check_times(self, partitions: pa.Array) -> None:
        fresh = [code for code in partitions.to_pylist() if code not in self._parsed]
        if not fresh:
            return
        keys = self.chain.keys
        rows = partition_table(pa.array(fresh, pa.binary()), keys.schema.partition_fields).to_pylist()
        for encoded, values in zip(fresh, rows, strict=True):
            try:
                keys.link(encoded, values)
            except DataError as problem:
                raise DataError(
                    f"table {self.chain.main.name}: rows of partition {partition_text(values)} cannot be written to "
                    f"a branch of a chain table: {problem}. Nothing was written"
                ) from None
        self._parsed.update(fresh)

    def _check_full(self, latest: Snapshot | None, removed: pa.Array, added: pa.Array) -> None:
        dropped = set(removed.to_pylist()) - set(added.to_pylist())
        if not dropped:
            return
        state = ChainState(self.chain, latest, self.chain.delta.snapshots.latest())
        new = known_links(self.chain.keys, added)[0]
        check_droppable(
            self.chain.main.name,
            state.usable,
            [link for link in state.usable if link.encoded not in dropped] + new,
            state.deltas,
            doing="dropped",
            instead=(
                "compact a later partition and remove these changes with expire_changes() first, or call "
                "expire_partitions() on the table itself"
            ),
        )
        _check_holders(
            self.chain,
            state.dropped.sole_holders(dropped, state.usable, state.deltas, added=new),
            doing="dropped",
            instead="overwrite it instead, or compact a later partition first",
        )

    def _check_static(self, keys: tuple[str, ...] | None, removed: pa.Array, added: pa.Array) -> None:
        """Raise if a static overwrite that names no day removes days that it does not write."""
        if keys is None or not set(keys).isdisjoint(self.chain.keys.chain):
            return
        gone = set(removed.to_pylist()) - set(added.to_pylist())
        if not gone:
            return
        name, chain_keys = self.chain.main.name, self.chain.keys
        branch = (self.chain.full if self.role is BranchRole.FULL else self.chain.delta).paths.branch
        days = partition_table(pa.array(sorted(gone), pa.binary()), chain_keys.schema.partition_fields).to_pylist()
        values = ", ".join(f"{key} = '...'" for key in chain_keys.schema.partition_keys)
        raise OptionError(
            f"table {name}: this overwrite of branch {branch!r} names no day, so it would also remove "
            f"{names_text(map(partition_text, days), most=_NAMED)}. Nothing was written; name the day: INSERT OVERWRITE "
            f"`{name}$branch_{branch}` PARTITION ({values}) ..., in Python "
            "overwrite(data, partition). Or replace only the partitions that the rows belong to: SET "
            "spark.sql.sources.partitionOverwriteMode = dynamic, in Python overwrite(data, dynamic=True)"
        )

    def _check_drop(self, latest: Snapshot | None, removed: pa.Array, drop: Drop) -> None:
        """Raise if the view of a day would change that may not."""
        if drop.force:
            return
        state = ChainState(self.chain, self.chain.full.snapshots.latest(), latest)
        changed = [
            link for link in changed_views(state, frozenset(removed.to_pylist())) if link.encoded not in drop.may_change
        ]
        if not changed:
            return
        last = {group: links[-1].time for group, links in by_group(state.usable).items()}
        open_end = any(link.group not in last or link.time > last[link.group] for link in changed)
        views = names_text((partition_text(link.values) for link in changed), most=_NAMED)
        raise OptionError(
            f"table {self.chain.main.name}: these changes cannot be dropped, because the view of {views}"
            f"{' and of later days' if open_end else ''} would change. Nothing was changed; expire_changes(before=...) on "
            "the table removes changes that full partitions hold, an overwrite of the partition with no rows undoes "
            "changes in full partitions too, and drop_partition(..., force=True) drops them anyway"
        )

    def _check_overwrite(self, latest: Snapshot | None, removed: pa.Array, added: pa.Array) -> None:
        """Raise if a full partition of the same days is needed, because it will be emptied."""
        state = ChainState.latest(self.chain)
        self._full_seen = 0 if state.full is None else state.full.id
        self._overwritten = pc.unique(pa.concat_arrays([removed, added]))
        touched, emptied = set(self._overwritten.to_pylist()), set(removed.to_pylist()) - set(added.to_pylist())
        if not any(link.encoded in touched for link in state.fulls):
            return
        keys = self.chain.keys
        now = known_links(keys, live_partitions(self.chain.delta, latest))[0]
        deltas = [link for link in now if link.encoded not in emptied]
        check_droppable(
            self.chain.main.name,
            state.usable,
            [link for link in state.usable if link.encoded not in touched],
            deltas,
            doing="emptied, which overwriting the changes of its day would do",
            instead="overwrite that full partition instead, or write the corrections as further changes",
        )
        new = [link for link in known_links(keys, added)[0] if link.encoded not in {one.encoded for one in deltas}]
        _check_holders(
            self.chain,
            state.dropped.sole_holders(touched, state.usable, [*deltas, *new], overwritten=touched),
            doing="emptied, which overwriting the changes of its day would do",
            instead="overwrite that full partition instead, or write the corrections as further changes",
        )


def changed_views(state: ChainState, removed: frozenset[bytes]) -> list[Link]:
    """The days whose view reads changes that are to be removed, by group and time."""
    main = state.chain.main
    hidden = frozenset(live_partitions(main, main.snapshots.latest()).to_pylist())
    views = plan_views(state.fulls, state.deltas, skipped=state.stale, hidden=hidden)
    return [view.partition for view in views if any(link.encoded in removed for link in view.deltas)]


def _check_holders(chain: ChainTable, found: Sequence[tuple[Link, Link]], *, doing: str, instead: str) -> None:
    """Raise if full partitions are to go that alone hold changes which were dropped."""
    for full, change in found:
        raise OptionError(
            f"table {chain.main.name}: full partition {partition_text(full.values)} cannot be {doing}: it holds the "
            f"changes of {partition_text(change.values)}, which were dropped. Nothing was changed; {instead}"
        )


def truncate(
    chain: ChainTable, partitions: set[bytes], is_older: Callable[[ChainState, bytes], bool]
) -> Snapshot | None:
    """Empty those of these full partitions that are older than the new changes, except those that changes need."""

    def plan(latest: Snapshot | None) -> Change:
        state = ChainState(chain, latest, chain.delta.snapshots.latest())
        outdated = {
            link.encoded for link in state.fulls if link.encoded in partitions and is_older(state, link.encoded)
        }
        kept = {code for code in outdated if not state.may_be_dropped({code})}
        if kept:
            _LOG.warning(
                "table %s: full partitions of days whose changes were overwritten are kept, because later changes "
                "need them: %d",
                chain.main.name,
                len(kept),
            )
        chosen = pa.array(sorted(outdated - kept), pa.binary())
        return delete_partitions(chain.full, chosen)(latest) if len(chosen) else Change()

    return commit(chain.full, Commit(kind=CommitKind.OVERWRITE, plan=plan, operation="TRUNCATE"))


def finish_truncations(chain: ChainTable) -> Snapshot | None:
    """Empty the full partitions that an interrupted write did not empty; ``None`` if there are none."""
    lost = ChainState.latest(chain).lost_truncations
    if not lost:
        return None
    return truncate(chain, set(lost), lambda state, partition: partition in state.lost_truncations)


def check_rollback(chain: ChainTable, target: Snapshot) -> None:
    """Raise if the full branch, rolled back to a snapshot, would lack a partition that changes need."""
    state = ChainState.latest(chain)
    left = known_links(chain.keys, live_partitions(chain.full, target))[0]
    instead = "roll back to a snapshot that has it"
    check_droppable(chain.main.name, state.usable, left, state.deltas, doing="rolled back", instead=instead)
    gone = {link.encoded for link in state.usable} - {link.encoded for link in left}
    holders = state.dropped.sole_holders(gone, state.usable, state.deltas, added=left)
    _check_holders(chain, holders, doing="rolled back", instead=instead)
