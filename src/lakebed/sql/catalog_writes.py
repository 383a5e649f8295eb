"""Writes through the catalog: Spark checks and casts the rows, a job of Lakebed writes and commits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakebed.errors import UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.spark.write.write_mode import WriteMode
from lakebed.sql.evolve_on_write import evolved, merged, merges_schema
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import Proxy
from lakebed.sql.pushed_filters import nodes
from lakebed.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WRITE: Final = "org.apache.spark.sql.connector.write."


MakeStream = Callable[[WriteMode], Any]
"""Returns what writes the batches of a stream."""


def write_rows(jvm: Jvm, table: Table, mode: WriteMode, frame: DataFrame) -> None:
    """Writes the rows of a frame."""
    if merges_schema(table):
        table = evolved(table, frame.schema)
        frame = merged(jvm, table, frame)
    if not mode.overwrite:
        table.write(frame)
    else:
        table.overwrite(frame, mode.partition, dynamic=mode.dynamic)


class TableWriteBuilder(
    Proxy,
    implements=(
        _WRITE + "SupportsOverwriteV2",
        _WRITE + "SupportsDynamicOverwrite",
    ),
):
    """Takes the rows to replace, and builds the write."""

    def __init__(self, jvm: Jvm, table: Table, make_stream: MakeStream) -> None:
        super().__init__(jvm)
        self._table, self._make_stream = table, make_stream
        self._mode = WriteMode()

    def truncate(self) -> TableWriteBuilder:
        self._mode = WriteMode(overwrite=True, dynamic=False)
        return self

    def canOverwrite(self, _predicates: Any) -> bool:  # noqa: N802 - Java's name
        return True  # overwrite() raises an error that gives the reason

    def overwrite(self, predicates: Any) -> TableWriteBuilder:
        partition = partition_of(self._nodes(predicates), self._table.schema)
        if partition is None:
            raise UnsupportedError(
                f"table {self._table.name}: rows are replaced by partition; name values of partition columns "
                f"({', '.join(self._table.schema.partition_keys) or 'it has none'}), or delete and insert"
            )
        self._mode = WriteMode(overwrite=True, partition=partition or None, dynamic=False)
        return self

    def overwriteDynamicPartitions(self) -> TableWriteBuilder:  # noqa: N802 - Java's name
        self._mode = WriteMode(overwrite=True, dynamic=True)
        return self

    def build(self) -> TableWrite:
        run = partial(write_rows, self._jvm, self._table, self._mode)
        return TableWrite(self._jvm, self._table.name, run, partial(self._make_stream, self._mode))

    def buildForBatch(self) -> Any:  # noqa: N802 - Java's name
        return self.build().toBatch()

    def buildForStreaming(self) -> Any:  # noqa: N802 - Java's name
        return self.build().toStreaming()

    def _nodes(self, predicates: Any) -> list[pred.Node | None]:
        return nodes(self._jvm.bridge.describe(predicates), self._table.schema.fields)


def partition_of(conditions: Sequence[pred.Node | None], schema: TableSchema) -> dict[str, Any] | None:
    """Returns the partition that conditions describe, empty for all rows.

    ``None`` if they do not describe a partition.
    """
    found: dict[str, Any] = {}
    for node in conditions:
        for part in () if node is None else pred.conjuncts(node):
            match part:
                case pred.Literal(True):
                    continue
                case pred.Compare(column, "=" | "<=>", value) if column in schema.partition_keys:
                    found[column] = value.as_py()
                case pred.IsNull(column, False) if column in schema.partition_keys:
                    found[column] = None
                case _:
                    return None
        if node is None:
            return None
    return found


class TableWrite(Proxy, implements=(_WRITE + "V1Write",)):
    """A write that Spark runs by passing the query as a DataFrame."""

    def __init__(
        self, jvm: Jvm, name: str, run: Callable[[DataFrame], None], make_stream: Callable[[], Any] | None = None
    ) -> None:
        super().__init__(jvm)
        self._name, self._run, self._make_stream = name, run, make_stream

    def toInsertableRelation(self) -> Insertion:  # noqa: N802 - Java's name
        return Insertion(self._jvm, self._run)

    def description(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"write to {self._name}"

    def toBatch(self) -> Any:  # noqa: N802 - Java's name
        raise UnsupportedError(
            f"table {self._name} cannot be written by Spark's batch writer; Lakebed writes the rows of a whole query"
        )

    def toStreaming(self) -> Any:  # noqa: N802 - Java's name
        if self._make_stream is None:
            raise UnsupportedError(f"{self!r}: an UPDATE, a MERGE, a DELETE or an ANALYZE cannot run as a stream")
        return self._make_stream()

    def supportedCustomMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomMetric")

    def reportDriverMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomTaskMetric")


class Insertion(Proxy, implements=("org.apache.spark.sql.sources.InsertableRelation",)):
    """Runs the write."""

    def __init__(self, jvm: Jvm, run: Callable[[DataFrame], None]) -> None:
        super().__init__(jvm)
        self._run = run

    def insert(self, dataset: Any, _overwrite: bool) -> None:
        self._run(self._jvm.frame(dataset))
