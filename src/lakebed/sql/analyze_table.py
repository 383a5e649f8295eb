"""Runs ``ANALYZE TABLE t COMPUTE STATISTICS [NOSCAN | FOR COLUMNS a, b | FOR ALL COLUMNS]`` as Spark planned it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lakebed.errors import UnsupportedError
from lakebed.operations.analyze import ALL_COLUMNS
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.table import Table

_COLUMNS: Final = "AnalyzeColumn"
_PLANS: Final = (_COLUMNS, "AnalyzeTable")


def is_analysis(plan: Any) -> bool:
    """Whether a plan is one for :func:`analyze_table`."""
    return plan.getClass().getSimpleName() in _PLANS


def analyze_table(jvm: Jvm, table: Table, plan: Any) -> None:
    """Runs a plan: an ``AnalyzeTable`` or an ``AnalyzeColumn``."""
    if plan.getClass().getSimpleName() == _COLUMNS:
        table.analyze(_columns(jvm, table, plan), spark=jvm.spark)
        return
    if not plan.partitionSpec().isEmpty():
        raise UnsupportedError(
            f"table {table.name}: statistics are of the whole table; write ANALYZE TABLE ... without PARTITION"
        )
    table.analyze(scan=not plan.noScan(), spark=jvm.spark)


def _columns(jvm: Jvm, table: Table, plan: Any) -> Sequence[str] | str:
    """Returns the table's names of the columns; SQL ignores their case by default."""
    if plan.allColumns():
        return ALL_COLUMNS
    given = plan.columnNames().get()
    asked = [str(given.apply(i)) for i in range(given.size())]
    if jvm.session_state.conf().caseSensitiveAnalysis():
        return asked
    known = {name.lower(): name for name in table.schema.field_names}
    return [known.get(name.lower(), name) for name in asked]
