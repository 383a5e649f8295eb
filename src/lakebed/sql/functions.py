"""The functions of the catalog: ``sys.max_pt('t')``, the largest value of the first partition column, as text.

Spark computes a call with a literal once, in the driver, before it plans the scans. So
``WHERE dt = sys.max_pt('t')`` reads one partition only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow.compute as pc

from lakebed.errors import NotFoundError, OptionError, UnsupportedError
from lakebed.format.partition_names import partition_table, partition_values
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import Proxy
from lakebed.table import Table
from lakebed.table.internals import partitions_of

MAX_PT: Final = "max_pt"
FUNCTIONS: Final = (MAX_PT,)
"""The names of all functions, which are in ``sys``."""

_FUNCTIONS: Final = "org.apache.spark.sql.connector.catalog.functions."
_TEXT: Final = "string"


class MaxPartition(Proxy, implements=(_FUNCTIONS + "UnboundFunction",)):
    """The function ``max_pt`` before Spark knows its arguments."""

    def __init__(self, jvm: Jvm, opened: Callable[[str], Table]) -> None:
        super().__init__(jvm)
        self._opened = opened

    def name(self) -> str:
        return MAX_PT

    def description(self) -> str:
        return "max_pt('table'): the largest value of the first partition column, as text"

    def bind(self, given: Any) -> BoundMaxPartition:
        types = [field.dataType().typeName() for field in given.fields()]
        if types != [_TEXT]:
            raise UnsupportedError(f"function {MAX_PT} takes the name of a table: sys.{MAX_PT}('db.t')")
        return BoundMaxPartition(self._jvm, self._opened)

    def __repr__(self) -> str:
        return MAX_PT


class BoundMaxPartition(Proxy, implements=(_FUNCTIONS + "ScalarFunction",)):
    """The function ``max_pt`` of a text."""

    def __init__(self, jvm: Jvm, opened: Callable[[str], Table]) -> None:
        super().__init__(jvm)
        self._opened = opened

    def name(self) -> str:
        return MAX_PT

    def canonicalName(self) -> str:  # noqa: N802 - Java's name
        return f"lakebed.{MAX_PT}"

    def inputTypes(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.array(self._jvm.sql.types.DataType, [self.resultType()])

    def resultType(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.sql.types.DataType.fromDDL(_TEXT)

    def isResultNullable(self) -> bool:  # noqa: N802 - Java's name
        return False

    def isDeterministic(self) -> bool:  # noqa: N802 - Java's name
        return True

    def produceResult(self, row: Any) -> Any:  # noqa: N802 - Java's name
        if row.isNullAt(0):
            raise OptionError(f"function {MAX_PT} takes the name of a table, not NULL")
        found = max_partition(self._opened(row.getUTF8String(0).toString()))
        return self._jvm.java.org.apache.spark.unsafe.types.UTF8String.fromString(found)

    def __repr__(self) -> str:
        return MAX_PT


def max_partition(table: Table) -> str:
    """Returns the largest value of the first partition column among the partitions that have files.

    Raises:
        NotFoundError: No partition has files, or the column is NULL in all of them.
        OptionError: The table has no partitions.
    """
    if not table.schema.partition_keys:
        raise OptionError(f"table {table.name} is not partitioned, so it has no largest partition")
    first = table.schema.partition_keys[0]
    encoded = partitions_of(table.scan())
    values = partition_table(encoded, table.schema.partition_fields)[first].combine_chunks()
    known = values.is_valid()
    order = pc.array_sort_indices(values.filter(known), order="descending")
    if not len(order):
        raise NotFoundError(f"table {table.name} has no rows in a partition, so it has no largest partition")
    return str(partition_values(table.schema, encoded.filter(known).take(order[:1]))[first][0].as_py())
