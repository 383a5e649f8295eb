"""Rules for writes to a data branch of a chain table, in addition to those of every write.

* The chain columns of new rows must form a time, in both branches.
* The full branch must not lose a partition that changes need (:mod:`lakebed.chain.anchors`).
* A commit that overwrites changes (kind OVERWRITE on the delta branch) empties the full partitions of the same days, by
  a second commit. It is refused if one of those is needed. If the process dies between the two commits, reads treat
  these partitions as stale, and the next write empties them.

Main is written like an ordinary table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.anchors import check_droppable, known_links, live_partitions
from lakebed.chain.layout import ChainTable
from lakebed.chain.staleness import ChainState, update_branch_logs
from lakebed.errors import DataError, LakebedError
from lakebed.format.commit_facts import CHAIN_SAME_ROWS, encode_facts
from lakebed.format.manifest.manifest import ADD
from lakebed.format.partition_names import partition_table, partition_text
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.metadata.branch_roles import BranchRole
from lakebed.metadata.commit.commit import Change, Commit, commit
from lakebed.operations.overwrite import delete_partitions
from lakebed.table_rules.write_guard import WriteGuard

_LOG: Final = logging.getLogger("lakebed")


class ChainWriteGuard(WriteGuard):
    """Guards one write to a data branch of a chain table.

    ``same_rows``: the write changes files but not rows. Its commit is marked, so that no full partition becomes stale
    by it.
    """

    def __init__(self, chain: ChainTable, role: BranchRole, *, same_rows: bool = False) -> None:
        self.chain = chain
        self.role = role
        self.same_rows = same_rows
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
            self._check(latest, change, request.kind)
            return change

        return replace(request, plan=plan)

    def finish(self, made: Snapshot | None) -> None:
        """Empty full partitions whose changes the commit overwrote, and record the commit in the branch logs."""
        if made is None or self.same_rows:
            return
        if self.role is BranchRole.DELTA and made.commit_kind is CommitKind.OVERWRITE:
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

    def _check(self, latest: Snapshot | None, change: Change, kind: CommitKind) -> None:
        entries = change.entries
        is_add = pc.equal(entries["kind"], ADD)
        added = pc.unique(entries.filter(is_add)["partition"].combine_chunks())
        self._check_times(added)
        if kind is not CommitKind.OVERWRITE:
            return
        removed = pc.unique(entries.filter(pc.invert(is_add))["partition"].combine_chunks())
        if self.role is BranchRole.FULL:
            self._check_full(latest, removed, added)
        else:
            self._check_delta(latest, removed, added)

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
                "compact a later partition and drop these changes first, or call expire_partitions() on the "
                "table itself"
            ),
        )

    def _check_delta(self, latest: Snapshot | None, removed: pa.Array, added: pa.Array) -> None:
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
    check_droppable(
        chain.main.name,
        state.usable,
        known_links(chain.keys, live_partitions(chain.full, target))[0],
        state.deltas,
        doing="rolled back",
        instead="roll back to a snapshot that has it",
    )
