"""The rules of chain tables: what a table asks when it is main of a chain table, or one of its branches.

Each question is answered by the module of its subject: reads by :mod:`lakebed.chain.reading`, writes by
:mod:`lakebed.chain.write_rules`, expiry by :mod:`lakebed.chain.maintenance.expire_chain`, verify by
:mod:`lakebed.chain.maintenance.verify_chain`. Rules about schemas are :class:`lakebed.chain.alter.ChainSchemaRules`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import pyarrow as pa

from lakebed.chain.anchors import live_partitions
from lakebed.chain.chain_stream import chain_stream
from lakebed.chain.layout import ChainTable
from lakebed.chain.maintenance.expire_chain import expire_main_partitions
from lakebed.chain.maintenance.expire_due import expire_due
from lakebed.chain.maintenance.verify_chain import check_chain_table
from lakebed.chain.partition_status import chain_status
from lakebed.chain.reading.branch_versions import BranchVersions, latest_versions, versions_at
from lakebed.chain.reading.chain_reader import ASKED
from lakebed.chain.reading.read_chain import ChainParts, read_chain
from lakebed.chain.reading.read_costs import costs
from lakebed.chain.staleness import update_branch_logs
from lakebed.chain.write_rules import ChainWriteGuard, check_rollback
from lakebed.errors import NotFoundError, OptionError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import exact_time_text, parse_time
from lakebed.metadata.branch_roles import BranchRole, ChainBranches, chain_branches
from lakebed.metadata.history.by_time import snapshot_at
from lakebed.metadata.plan.file_scan import partition_mask
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.metadata.store import TableStore
from lakebed.operations.read import BranchRead
from lakebed.operations.read_changes import Part
from lakebed.operations.verify.report import Problem
from lakebed.streams.table_stream import TableStream
from lakebed.table_rules.interface import ChainColumns
from lakebed.table_rules.partition_costs import PartitionCost, PartitionStatus
from lakebed.table_rules.plain import PlainRules
from lakebed.table_rules.planned_read import PlannedRead, ReadVersion
from lakebed.table_rules.read_metrics import ReadMetrics
from lakebed.table_rules.write_guard import Drop, WriteGuard


@dataclass(frozen=True)
class ChainRules(PlainRules):
    """The rules that all branches of a chain table share. Branches that are not main or data branches have no more."""

    @cached_property
    def main(self) -> TableStore:
        """The main branch."""
        return self.store if self.store.paths.branch == MAIN_BRANCH else self.store.on_branch(MAIN_BRANCH)

    @cached_property
    def branches(self) -> ChainBranches:
        """The names of the data branches."""
        found = chain_branches(self.main.schema().options)
        if found is None:
            raise OptionError(f"table {self.store.name} is no longer a chain table; open it again")
        return found

    @cached_property
    def chain(self) -> ChainTable:
        """The three branches; raises if a data branch does not exist."""
        found = ChainTable.of(self.main)
        if found is None:
            raise OptionError(f"table {self.store.name} is no longer a chain table; open it again")
        return found

    def check_fast_forward(self, branch: str) -> None:
        """Raise if main would become one of its data branches, which would hide what both show together."""
        if branch in self.branches:
            raise OptionError(
                f"branch {branch!r} of chain table {self.store.name} cannot become main: main shows it already, and "
                "would then hide what both branches show together. disable_chain() gives main the full partitions; "
                "nothing was changed"
            )

    def verify(self) -> list[Problem]:
        """How the branches fit together."""
        return check_chain_table(self.main)

    def chain_branches(self) -> ChainBranches | None:
        return self.branches

    def chain_columns(self) -> ChainColumns | None:
        return ChainColumns(self.chain.keys.group, self.chain.keys.chain)


@dataclass(frozen=True)
class MainRules(ChainRules):
    """The rules of main. Main shows what the data branches hold, and is written like an ordinary table."""

    def read_version(self, *, version: int | str | None, timestamp: Any, tag: str | None) -> ReadVersion:
        """The snapshots of main and of both data branches that a read asks for, with the columns of today.

        The branches have schemas of their own, so main has no earlier columns in common with them.
        """
        travels = version is not None or timestamp is not None or tag is not None
        snapshot, versions = self._versions(version, timestamp, tag) if travels else self._latest()
        return ChainReadVersion(snapshot, self.store.schema(), travels, versions=versions)

    def _latest(self) -> tuple[Snapshot | None, BranchVersions]:
        return self.store.snapshots.latest(), latest_versions(self.chain)

    def _versions(
        self, version: int | str | None, timestamp: Any, tag: str | None
    ) -> tuple[Snapshot | None, BranchVersions]:
        if timestamp is None or version is not None or tag is not None:
            try:
                snapshot = find_snapshot(self.store, version=version, timestamp=timestamp, tag=tag)
            except NotFoundError as error:
                name = self.store.name
                raise NotFoundError(
                    f"{error}. {name} is a chain table, and each of its branches numbers its own snapshots: read it by "
                    f"timestamp=, or read a branch by its name ({name}$branch_{self.branches.full})"
                ) from None
            return snapshot, versions_at(self.chain, 0 if snapshot is None else snapshot.time_millis)
        millis = parse_time(timestamp, "timestamp")
        snapshot, versions = snapshot_at(self.store, millis), versions_at(self.chain, millis)
        if snapshot is None and versions.full is None and versions.delta is None:
            raise NotFoundError(
                f"chain table {self.store.name} has no snapshot in any branch at or before {exact_time_text(millis)}"
            )
        return snapshot, versions

    def plan_read(self, read: BranchRead, version: ReadVersion) -> PlannedRead:
        """Partitions of main, full partitions, and partitions that are merged of both data branches."""
        planned = read_chain(read, self.chain, cast("ChainReadVersion", version).versions)
        return ChainPlannedRead(planned.parts, planned)

    def check_has_changes(self) -> None:
        """Raise: the history of main is not the history of what it shows."""
        delta = self.branches.delta
        raise UnsupportedError(
            f"table {self.store.name} is a chain table: its changes are written to branch {delta!r}, and main has no "
            f"history of them. Read {self.store.name}$branch_{delta} instead"
        )

    def check_streamable(self, schema: TableSchema) -> None:
        """Nothing here: the stream checks the delta branch when it starts."""

    def stream(self, wanted: TableStream) -> TableStream:
        return chain_stream(self.chain, wanted)

    def check_row_changes(self) -> None:
        """Raise: a few rows of a partition, written to main, would hide all other rows of that partition."""
        name = self.store.name
        raise UnsupportedError(
            f"table {name} is a chain table, and main only shows what its branches hold: write changes and deletes "
            f"of rows to {name}$branch_{self.branches.delta}, or overwrite a whole partition"
        )

    def check_drop(self, node: pred.Node) -> None:
        """Raise if a data branch has such a partition: main would go on showing it."""
        name = self.store.name
        for branch in (branch for branch in self.branches if branch in self.store.branch_names()):
            store = self.store.on_branch(branch)
            found = pa.table({"partition": live_partitions(store, store.snapshots.latest())})
            mask = partition_mask(found, node, store.schema())
            if len(found) and (mask is None or mask.any()):
                raise UnsupportedError(
                    f"table {name} is a chain table, and main only shows what its branches hold: drop partitions of "
                    f"{name}$branch_{self.branches.delta} or of {name}$branch_{self.branches.full}"
                )

    def check_analyze(self) -> None:
        raise UnsupportedError(
            f"table {self.store.name} is a chain table, and statistics of main would leave out what its branches "
            "hold; analyze those by their own names"
        )

    def expire_after_commit(self) -> None:
        expire_due(self.chain)

    def expire_partitions(self, **given: Any) -> list[dict[str, Any]]:
        return expire_main_partitions(self.chain, **given)

    def shown_branches(self) -> tuple[TableStore, ...]:
        return self.chain.full, self.chain.delta

    def partition_status(self) -> list[PartitionStatus]:
        return chain_status(self.chain)


@dataclass(frozen=True)
class DataBranchRules(ChainRules):
    """The rules of a data branch. It is read like an ordinary table, but its writes must fit the other branch."""

    @property
    def role(self) -> BranchRole:
        return BranchRole.FULL if self.store.paths.branch == self.branches.full else BranchRole.DELTA

    def guard_write(self, *, same_rows: bool = False, drop: Drop | None = None) -> WriteGuard:
        return ChainWriteGuard(self.chain, self.role, same_rows=same_rows, drop=drop)

    def expire_after_commit(self) -> None:
        """Partitions and changes expire after a commit to any of the branches."""
        expire_due(self.chain)

    def expire_partitions(self, **given: Any) -> list[dict[str, Any]]:  # noqa: ARG002 - refused whatever is given
        raise OptionError(
            f"partitions of a chain table expire in both branches together; expire those of table {self.store.name}, "
            f"not of its branch {self.store.paths.branch!r}"
        )

    def before_expiry(self) -> None:
        """Add commits to the branch logs, also those of other engines."""
        update_branch_logs(self.chain)

    def check_rollback(self, target: Snapshot) -> None:
        """Raise if the full branch would lose a partition that changes need."""
        if self.role is BranchRole.FULL:
            check_rollback(self.chain, target)

    def partition_status(self) -> list[PartitionStatus]:
        return chain_status(self.chain)


@dataclass(frozen=True)
class ChainReadVersion(ReadVersion):
    """The version of main that a read shows, with those of both data branches."""

    versions: BranchVersions = field(kw_only=True)

    def __str__(self) -> str:
        return f"{super().__str__()} of main, {self.versions}"


@dataclass(frozen=True)
class ChainPlannedRead(PlannedRead):
    """A planned read of main."""

    chained: ChainParts

    @property
    def metrics(self) -> ReadMetrics | None:
        return self.chained.metrics

    def partitions(self) -> pa.Array:
        return self.chained.plan.partitions

    def partition_column(self, part: Part) -> pa.ChunkedArray:
        entries = part.result.entries
        return entries[ASKED if ASKED in entries.column_names else "partition"]

    def costs(self) -> tuple[PartitionCost, ...]:
        return costs(self.chained)
