"""The rules of ordinary tables: a branch is read, written and cleaned up on its own."""

from __future__ import annotations

from typing import Any

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.metadata.branch_roles import ChainBranches
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.metadata.store import TableStore
from lakebed.operations.expire.expire_partitions import expire_partitions
from lakebed.operations.read import BranchRead, parts_of
from lakebed.operations.verify.report import Problem
from lakebed.options import TableOptions
from lakebed.streams.table_stream import TableStream, check_streamable
from lakebed.table_rules.interface import ChainColumns, TableRules
from lakebed.table_rules.partition_costs import PartitionStatus
from lakebed.table_rules.planned_read import PlannedRead, ReadVersion
from lakebed.table_rules.write_guard import Drop, WriteGuard


class PlainRules(TableRules):
    """Allows everything; each method does what :class:`TableRules` says for one branch alone."""

    def read_version(self, *, version: int | str | None, timestamp: Any, tag: str | None) -> ReadVersion:
        """The version that a read asks for, with the columns that the table had then."""
        travels = version is not None or timestamp is not None or tag is not None
        snapshot = find_snapshot(self.store, version=version, timestamp=timestamp, tag=tag)
        schema = self.store.schema_of(snapshot) if snapshot is not None and travels else self.store.schema()
        return ReadVersion(snapshot, schema, travels)

    def plan_read(self, read: BranchRead, version: ReadVersion) -> PlannedRead:
        """This branch, and the one that ``scan.fallback-branch`` or ``scan.primary-branch`` names."""
        return PlannedRead(parts_of(read, time_travel=version.time_travel))

    def check_has_changes(self) -> None:
        pass

    def check_streamable(self, schema: TableSchema) -> None:
        check_streamable(self.store, schema)

    def stream(self, wanted: TableStream) -> TableStream:
        return wanted

    def guard_write(self, *, same_rows: bool = False, drop: Drop | None = None) -> WriteGuard:  # noqa: ARG002 - all may
        return WriteGuard()

    def check_row_changes(self) -> None:
        pass

    def check_drop(self, node: pred.Node) -> None:
        pass

    def check_analyze(self) -> None:
        pass

    def expire_after_commit(self) -> None:
        if TableOptions(self.store.schema().options).partition_expiration_time is not None:
            self.expire_partitions()

    def expire_partitions(self, **given: Any) -> list[dict[str, Any]]:
        return expire_partitions(self.store, **given)

    def before_expiry(self) -> None:
        pass

    def check_rollback(self, target: Snapshot) -> None:
        pass

    def check_fast_forward(self, branch: str) -> None:
        pass

    def verify(self) -> list[Problem]:
        return []

    def chain_branches(self) -> ChainBranches | None:
        return None

    def chain_columns(self) -> ChainColumns | None:
        return None

    def shown_branches(self) -> tuple[TableStore, ...]:
        return ()

    def partition_status(self) -> list[PartitionStatus]:
        raise UnsupportedError(
            f"table {self.store.name} is not a chain table, so it has no $chain; see option chain-table.enabled"
        )
