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
    from lakebed.datasource.foreach_batch import stream_to
    from lakebed.format.snapshot import Snapshot
    from lakebed.history import Compaction, CompactionPage, Difference, HistoryPage
    from lakebed.lake import Lake, connect
    from lakebed.scan import Plan, Scan
    from lakebed.spark.session import prepare_workers
    from lakebed.system_tables import SystemTable
    from lakebed.table import Table

__version__ = VERSION

__all__ = [
    "AlreadyExistsError",
    "CommitConflictError",
    "CommitOutcomeUnknownError",
    "Compaction",
    "CompactionPage",
    "CorruptError",
    "DataError",
    "Difference",
    "ExpressionError",
    "HistoryPage",
    "Lake",
    "LakebedError",
    "NotFoundError",
    "OptionError",
    "Plan",
    "Scan",
    "SchemaError",
    "Snapshot",
    "StorageError",
    "SystemTable",
    "Table",
    "UnsupportedError",
    "__version__",
    "changes",
    "connect",
    "prepare_workers",
    "stream_to",
]

_HOMES: Final = {
    "Compaction": "lakebed.history",
    "CompactionPage": "lakebed.history",
    "Difference": "lakebed.history",
    "HistoryPage": "lakebed.history",
    "Lake": "lakebed.lake",
    "Plan": "lakebed.scan",
    "Scan": "lakebed.scan",
    "Snapshot": "lakebed.format.snapshot",
    "SystemTable": "lakebed.system_tables",
    "Table": "lakebed.table",
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
