"""What a table asks about its kind. Everything that differs between ordinary tables and chain tables is a method here.

A method named ``check_...`` raises if the table does not allow an operation, and does nothing otherwise.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.branch_roles import ChainBranches
from lakebed.metadata.store import TableStore
from lakebed.operations.after_commit import after_commit, before_commit
from lakebed.operations.read import BranchRead
from lakebed.operations.verify.report import Problem
from lakebed.operations.write import Guard
from lakebed.streams.table_stream import TableStream
from lakebed.table_rules.partition_costs import PartitionStatus
from lakebed.table_rules.planned_read import PlannedRead, ReadVersion
from lakebed.table_rules.write_guard import Drop, WriteGuard


class ChainColumns(NamedTuple):
    """The partition columns of a chain table: those of the group, and those that form the time of a partition."""

    group: tuple[str, ...]
    chain: tuple[str, ...]


@dataclass(frozen=True)
class TableRules(ABC):
    """The rules of one branch of a table. Cheap to make; reads what a method needs when it is called."""

    store: TableStore

    # ------------------------------------------------------------------------------------------------- reading

    @abstractmethod
    def read_version(self, *, version: int | str | None, timestamp: Any, tag: str | None) -> ReadVersion:
        """The version that a read asks for: the latest one if all arguments are ``None``."""

    @abstractmethod
    def plan_read(self, read: BranchRead, version: ReadVersion) -> PlannedRead:
        """The parts of a read, given the read of this branch alone and the result of :meth:`read_version`."""

    @abstractmethod
    def check_has_changes(self) -> None:
        """Raise if the changes between two versions of this branch cannot be read."""

    @abstractmethod
    def check_streamable(self, schema: TableSchema) -> None:
        """Raise if a stream cannot read this branch."""

    @abstractmethod
    def stream(self, wanted: TableStream) -> TableStream:
        """The stream that a query reads, given a stream of this branch alone."""

    # ------------------------------------------------------------------------------------------------- writing

    @abstractmethod
    def guard_write(self, *, same_rows: bool = False, drop: Drop | None = None) -> WriteGuard:
        """The guard of one write.

        ``same_rows``: the write changes files but not rows, like a compaction. ``drop``: it drops partitions.
        """

    def write(
        self, run: Callable[[Guard], Snapshot | None], *, same_rows: bool = False, drop: Drop | None = None
    ) -> Snapshot | None:
        """Run a write under the rules; ``run`` passes its commit through the function that it gets."""
        guard = self.guard_write(same_rows=same_rows, drop=drop)
        guard.begin()
        made = run(guard.guarded)
        guard.finish(made)
        return made

    @abstractmethod
    def check_row_changes(self) -> None:
        """Raise if single rows of this branch cannot be deleted or updated."""

    @abstractmethod
    def check_drop(self, node: pred.Node) -> None:
        """Raise if dropping the partitions that satisfy a condition would not remove all rows that a read shows."""

    @abstractmethod
    def check_analyze(self) -> None:
        """Raise if statistics of this branch would not describe what a read shows."""

    # --------------------------------------------------------------------------------------------- maintenance

    def before_commit(self) -> None:
        """Prepare what follows the coming commit to this branch."""
        before_commit(self.store)

    def after_commit(self) -> None:
        """Do what follows a commit to this branch, as the options say. Never raises."""
        after_commit(self.store, lambda _: self.expire_after_commit())

    @abstractmethod
    def expire_after_commit(self) -> None:
        """Drop what the options say is too old, after a commit to this branch: partitions, and changes of a chain."""

    @abstractmethod
    def expire_partitions(
        self,
        *,
        expiration_time: str | dt.timedelta | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
        now: dt.datetime | None = None,
    ) -> list[dict[str, Any]]:
        """Drop the partitions that are too old and return them; see :meth:`lakebed.Table.expire_partitions`."""

    @abstractmethod
    def before_expiry(self) -> None:
        """Record what must outlive the snapshots of this branch, because some are about to expire. Never raises."""

    @abstractmethod
    def check_rollback(self, target: Snapshot) -> None:
        """Raise if this branch must not return to an earlier snapshot."""

    @abstractmethod
    def check_fast_forward(self, branch: str) -> None:
        """Raise if main must not become what a branch is."""

    @abstractmethod
    def verify(self) -> list[Problem]:
        """Problems of the branches as a whole, beyond those of each branch. Never raises because of damage."""

    # -------------------------------------------------------------------------------------- what others display

    @abstractmethod
    def chain_branches(self) -> ChainBranches | None:
        """The data branches of a chain table; ``None`` for other tables."""

    @abstractmethod
    def chain_columns(self) -> ChainColumns | None:
        """The partition columns of a chain table; ``None`` for other tables."""

    @abstractmethod
    def shown_branches(self) -> tuple[TableStore, ...]:
        """Other branches whose partitions a read of this branch shows, in the order in which they are looked up."""

    @abstractmethod
    def partition_status(self) -> list[PartitionStatus]:
        """How each partition of a chain table is read; raises for other tables."""
