"""Lakebed: Apache Paimon tables in Python.

``lakebed.connect(folder)`` opens a warehouse; everything else hangs from there.
"""

from lakebed import changes
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
from lakebed.format.snapshot import Snapshot
from lakebed.lake import Lake, connect
from lakebed.scan import Plan, Scan
from lakebed.system_tables import SystemTable
from lakebed.table import Table
from lakebed.version import VERSION

__version__ = VERSION

__all__ = [
    "AlreadyExistsError",
    "CommitConflictError",
    "CommitOutcomeUnknownError",
    "CorruptError",
    "DataError",
    "ExpressionError",
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
]
