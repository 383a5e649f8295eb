"""Lakebed: Apache Paimon tables in Python.

``lakebed.connect(folder)`` opens a warehouse; everything else hangs from there.

What needs Arrow is imported when it is first asked for, so that ``lakebed --help`` need not wait for it.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import (
    AlreadyExistsError,
    CommitConflictError,
    CommitOutcomeUnknownError,
    CorruptError,
    DataError,
    ExpressionError,
    LakebedError,
    NotFoundError,
    OptionError,
    SchemaError,
    StorageError,
    UnsupportedError,
)
from lakebed.version import VERSION

if TYPE_CHECKING:
    from lakebed import changes
    from lakebed.chain.maintenance.compact_chain import ChainCompaction, ChainPolicy
    from lakebed.chain.maintenance.expire_changes import ChangesExpiry
    from lakebed.chain.maintenance.materialization import Materialization
    from lakebed.datasource.foreach_batch import stream_to
    from lakebed.format.printed import Dropped
    from lakebed.format.schema.table_schema import TableSchema
    from lakebed.format.snapshot import CommitKind, Snapshot
    from lakebed.format.tag import Tag
    from lakebed.format.types.data_types import Field
    from lakebed.lake import Lake, connect
    from lakebed.metadata.history.compactions import Compaction, CompactionKind, CompactionPage
    from lakebed.metadata.history.pages import HistoryPage
    from lakebed.metadata.manifest_cache import CacheStatistics
    from lakebed.metadata.references.removal import DoomedFile, Removal
    from lakebed.operations.compact.compact_manifests import ManifestCompaction
    from lakebed.operations.diff import Difference, SchemaDifference
    from lakebed.operations.expire.expire_snapshots import Expiry
    from lakebed.operations.fast_forward import FastForward
    from lakebed.operations.repair.rebuild_index import IndexRebuild
    from lakebed.operations.repair.repair_torn import SnapshotState, TableRepair
    from lakebed.operations.rollback import RollbackPlan
    from lakebed.operations.verify.report import Problem, Repair, Report
    from lakebed.scan import Plan, Scan
    from lakebed.spark.session import prepare_workers
    from lakebed.system_tables import SystemTable
    from lakebed.table import Table

__version__ = VERSION

__all__ = [
    "AlreadyExistsError",
    "CacheStatistics",
    "ChainCompaction",
    "ChainPolicy",
    "ChangesExpiry",
    "CommitConflictError",
    "CommitKind",
    "CommitOutcomeUnknownError",
    "Compaction",
    "CompactionKind",
    "CompactionPage",
    "CorruptError",
    "DataError",
    "Difference",
    "DoomedFile",
    "Dropped",
    "Expiry",
    "ExpressionError",
    "FastForward",
    "Field",
    "HistoryPage",
    "IndexRebuild",
    "Lake",
    "LakebedError",
    "ManifestCompaction",
    "Materialization",
    "NotFoundError",
    "OptionError",
    "Plan",
    "Problem",
    "Removal",
    "Repair",
    "Report",
    "RollbackPlan",
    "Scan",
    "SchemaDifference",
    "SchemaError",
    "Snapshot",
    "SnapshotState",
    "StorageError",
    "SystemTable",
    "Table",
    "TableRepair",
    "TableSchema",
    "Tag",
    "UnsupportedError",
    "__version__",
    "changes",
    "connect",
    "prepare_workers",
    "stream_to",
]

_HOMES: Final = {
    "CacheStatistics": "lakebed.metadata.manifest_cache",
    "ChainCompaction": "lakebed.chain.maintenance.compact_chain",
    "ChainPolicy": "lakebed.chain.maintenance.compact_chain",
    "ChangesExpiry": "lakebed.chain.maintenance.expire_changes",
    "CommitKind": "lakebed.format.snapshot",
    "Compaction": "lakebed.metadata.history.compactions",
    "CompactionKind": "lakebed.metadata.history.compactions",
    "CompactionPage": "lakebed.metadata.history.compactions",
    "Difference": "lakebed.operations.diff",
    "DoomedFile": "lakebed.metadata.references.removal",
    "Dropped": "lakebed.format.printed",
    "Expiry": "lakebed.operations.expire.expire_snapshots",
    "FastForward": "lakebed.operations.fast_forward",
    "Field": "lakebed.format.types.data_types",
    "HistoryPage": "lakebed.metadata.history.pages",
    "IndexRebuild": "lakebed.operations.repair.rebuild_index",
    "Lake": "lakebed.lake",
    "ManifestCompaction": "lakebed.operations.compact.compact_manifests",
    "Materialization": "lakebed.chain.maintenance.materialization",
    "Plan": "lakebed.scan",
    "Problem": "lakebed.operations.verify.report",
    "Removal": "lakebed.metadata.references.removal",
    "Repair": "lakebed.operations.verify.report",
    "Report": "lakebed.operations.verify.report",
    "RollbackPlan": "lakebed.operations.rollback",
    "Scan": "lakebed.scan",
    "SchemaDifference": "lakebed.operations.diff",
    "Snapshot": "lakebed.format.snapshot",
    "SnapshotState": "lakebed.operations.repair.repair_torn",
    "SystemTable": "lakebed.system_tables",
    "Table": "lakebed.table",
    "TableRepair": "lakebed.operations.repair.repair_torn",
    "TableSchema": "lakebed.format.schema.table_schema",
    "Tag": "lakebed.format.tag",
    "connect": "lakebed.lake",
    "prepare_workers": "lakebed.spark.session",
    "stream_to": "lakebed.datasource.foreach_batch",
}
"""Where the names live that are imported late; the imports above tell type checkers the same."""

if not TYPE_CHECKING:  # a type checker would take every name of a module with a __getattr__ for good

    def __getattr__(name: str) -> Any:
        """A public name that was not asked for before."""
        if name == "changes":
            return importlib.import_module("lakebed.changes")
        if name not in _HOMES:
            raise AttributeError(f"module 'lakebed' has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
