"""Scans that Spark plans: Spark pushes columns, conditions and a limit down, and gets the plan of a DataFrame.

A scan is pinned to its snapshot when Spark builds it. Conditions that :mod:`lakebed.sql.pushed_filters` can convert are
evaluated by the scan, Spark evaluates the others. The plan replaces the scan in the query, so Spark optimizes the read
of files that need no merge like a read of Parquet files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LakebedError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.types.data_types import Atomic, Field, field_from_arrow
from lakebed.operations.read_changes import Part
from lakebed.spark.columns import spark_arrow_schema, spark_batches, spark_schema
from lakebed.spark.predicates import named
from lakebed.spark.read.read_frame import planned_on, to_spark
from lakebed.spark.session import without_pandas_note
from lakebed.sql.jvm.jvm_values import Jvm
from lakebed.sql.jvm.proxy import Proxy
from lakebed.sql.pushed_filters import nodes

_READ: Final = "org.apache.spark.sql.connector.read."
_SMALL_ROOTS: Final = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "DATE", "BIGINT", "FLOAT", "DOUBLE")

MakeParts = Callable[[Sequence[str], pred.Node | None], Sequence[Part]]
Check = Callable[[pred.Node | None], None]
"""Raises an error for a query with this condition that may not run."""
"""Returns the parts of a scan of these columns with this condition, at the version that the table was opened at."""
MakeStream = Callable[[str], Any]
"""Returns the stream of a table, given a checkpoint folder."""


class _Scan(Proxy):
    """A scan for Spark: its columns, its size, and (as a ``Supplier``) its DataFrame."""

    def __init__(self, jvm: Jvm, fields: Sequence[Field], title: str) -> None:
        super().__init__(jvm)
        self._fields = fields
        self._title = title

    def readSchema(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.struct(self._fields)

    def description(self) -> str:
        return self._title

    def toBatch(self) -> Any:  # noqa: N802 - Java's name
        raise LakebedError(
            f"{self._title}: this Spark session does not have Lakebed's optimizer rule; call lake.attach(spark) for it"
        )

    def toMicroBatchStream(self, _location: str) -> Any:  # noqa: N802 - Java's name
        return self.toBatch()

    def toContinuousStream(self, _location: str) -> Any:  # noqa: N802 - Java's name
        return self.toBatch()

    def columnarSupportMode(self) -> Any:  # noqa: N802 - Java's name
        modes = getattr(self._jvm.connector.read, "Scan$ColumnarSupportMode")
        return modes.UNSUPPORTED

    def supportedCustomMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomMetric")

    def reportDriverMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomTaskMetric")

    def reflectsFullyPushedDownFilters(self) -> bool:  # noqa: N802 - Java's name
        return True

    def __repr__(self) -> str:
        return self._title


class TableScan(
    _Scan,
    implements=(
        _READ + "SupportsReportStatistics",
        "java.util.function.Supplier",
    ),
):
    """A scan of a table."""

    def __init__(
        self,
        jvm: Jvm,
        fields: Sequence[Field],
        title: str,
        parts: Sequence[Part],
        make_stream: MakeStream,
        limit: int | None,
        origins: Sequence[Field],
        check: Callable[[], None],
    ) -> None:
        super().__init__(jvm, [*fields, *origins], title)
        self._check = check
        self._origins = origins
        self._parts = [planned_on(jvm.spark, part) for part in parts]
        self._make_stream = make_stream
        self._limit = limit

    def toMicroBatchStream(self, location: str) -> Any:  # noqa: N802 - Java's name
        if self._origins:
            raise UnsupportedError(f"{self._title}: a stream has no metadata columns such as {self._origins[0].name!r}")
        return self._make_stream(location)

    def get(self) -> Any:
        """Returns the Java object of the DataFrame."""
        return self._frame._jdf  # noqa: SLF001 - no public way

    @cached_property
    def _frame(self) -> Any:
        self._check()
        rows = to_spark(self._jvm.spark, self._parts, limit=self._limit, origins=self._origins)
        # Without other columns the parts read one, which does not belong to the scan.
        return rows.select(*(named(field.name) for field in self._fields)) if self._origins else rows

    def _total(self, column: str) -> int:
        return sum(int(pc.sum(part.result.entries[column]).as_py() or 0) for part in self._parts)

    def estimateStatistics(self) -> Any:  # noqa: N802 - Java's name
        return Size(self._jvm, self._total("file_size"), self._total("row_count"))

    def estimateSizeInBytes(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.java.java.util.OptionalLong.of(self._total("file_size"))


class RowsScan(
    _Scan,
    implements=(
        _READ + "SupportsReportStatistics",
        "java.util.function.Supplier",
    ),
):
    """A scan of rows that are computed in this process: those of a system table."""

    def __init__(self, jvm: Jvm, title: str, rows: pa.Table, names: Sequence[str]) -> None:
        fields = [field_from_arrow(column) for column in rows.schema]
        super().__init__(jvm, [field for name in names for field in fields if field.name == name], title)
        self._read = self._fields or fields[:1]  # count(*) needs no column
        self._rows = rows.select([field.name for field in self._read])

    def get(self) -> Any:
        """Returns the Java object of the DataFrame."""
        return self._frame._jdf  # noqa: SLF001 - no public way

    @cached_property
    def _frame(self) -> Any:
        if not len(self._rows):
            return self._jvm.spark.createDataFrame([], spark_schema(self._read))
        schema = spark_arrow_schema(self._rows.schema)
        batches = [part for batch in self._rows.to_batches() for part in spark_batches(batch, schema)]
        with without_pandas_note():
            return self._jvm.spark.createDataFrame(pa.Table.from_batches(batches, schema), spark_schema(self._read))

    def estimateStatistics(self) -> Any:  # noqa: N802 - Java's name
        return Size(self._jvm, self._rows.nbytes, len(self._rows))

    def estimateSizeInBytes(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.java.java.util.OptionalLong.of(self._rows.nbytes)


class Size(Proxy, implements=(_READ + "Statistics",)):
    """The maximal number of bytes and rows of a scan."""

    def __init__(self, jvm: Jvm, size: int, rows: int) -> None:
        super().__init__(jvm)
        self._size, self._rows = size, rows

    def sizeInBytes(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.java.java.util.OptionalLong.of(self._size)

    def numRows(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.java.java.util.OptionalLong.of(self._rows)

    def columnStats(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.map({})


class TableScanBuilder(
    Proxy,
    implements=(
        _READ + "SupportsPushDownRequiredColumns",
        _READ + "SupportsPushDownV2Filters",
        _READ + "SupportsPushDownLimit",
    ),
):
    """Takes the columns, conditions and limit that Spark pushes down, and builds the scan."""

    def __init__(
        self,
        jvm: Jvm,
        title: str,
        fields: Sequence[Field],
        make_parts: MakeParts,
        make_stream: MakeStream,
        origins: Sequence[Field],
        check: Check,
    ) -> None:
        super().__init__(jvm)
        self._title = title
        self._check = check
        self._all = fields
        self._fields = fields
        self._all_origins = origins
        self._origins: list[Field] = []
        self._make_parts = make_parts
        self._make_stream = make_stream
        self._pushed: list[Any] = []
        self._nodes: list[pred.Node] = []
        self._limit: int | None = None

    def pruneColumns(self, schema: Any) -> None:  # noqa: N802 - Java's name
        names = set(schema.fieldNames())
        self._fields = [field for field in self._all if field.name in names]
        self._origins = [field for field in self._all_origins if field.name in names]

    def pushPredicates(self, predicates: Any) -> Any:  # noqa: N802 - Java's name
        found = nodes(self._jvm.bridge.describe(predicates), self._all)
        pairs = list(zip(predicates, found, strict=True))
        self._pushed = [predicate for predicate, node in pairs if node is not None]
        self._nodes = [node for node in found if node is not None]
        return self._predicates([predicate for predicate, node in pairs if node is None])

    def pushedPredicates(self) -> Any:  # noqa: N802 - Java's name
        return self._predicates(self._pushed)

    def supportsIterativePushdown(self) -> bool:  # noqa: N802 - Java's name
        return False

    def pushLimit(self, limit: int) -> bool:  # noqa: N802 - Java's name
        self._limit = limit
        return True

    def isPartiallyPushed(self) -> bool:  # noqa: N802 - Java's name
        return True  # the scan may return more rows; Spark applies the limit again

    def build(self) -> TableScan:
        node = pred.conjunction(self._nodes) if self._nodes else None
        read = self._fields or [_smallest(self._all)]  # count(*) needs no column
        parts = self._make_parts([field.name for field in read], node)
        check = partial(self._check, node)
        return TableScan(
            self._jvm, self._fields, self._title, parts, self._make_stream, self._limit, self._origins, check
        )

    def _predicates(self, items: Sequence[Any]) -> Any:
        return self._jvm.array(self._jvm.connector.expressions.filter.Predicate, items)


def _smallest(fields: Sequence[Field]) -> Field:
    """Returns a column that is cheap to read."""
    for root in _SMALL_ROOTS:
        for field in fields:
            if isinstance(field.type, Atomic) and field.type.root == root:
                return field
    return fields[0]


class RowsScanBuilder(
    Proxy,
    implements=(_READ + "SupportsPushDownRequiredColumns", _READ + "SupportsPushDownV2Filters"),
):
    """Takes the columns and conditions that Spark pushes down, and builds the scan.

    Rows that do not satisfy the conditions may be left out; Spark tests all conditions again.
    """

    def __init__(
        self, jvm: Jvm, title: str, fields: Sequence[Field], rows: Callable[[pred.Node | None], pa.Table]
    ) -> None:
        super().__init__(jvm)
        self._title, self._all, self._rows = title, fields, rows
        self._names: list[str] | None = None
        self._nodes: list[pred.Node] = []

    def pruneColumns(self, schema: Any) -> None:  # noqa: N802 - Java's name
        self._names = list(schema.fieldNames())

    def pushPredicates(self, predicates: Any) -> Any:  # noqa: N802 - Java's name
        self._nodes = [node for node in nodes(self._jvm.bridge.describe(predicates), self._all) if node is not None]
        return predicates

    def pushedPredicates(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.array(self._jvm.connector.expressions.filter.Predicate, [])

    def supportsIterativePushdown(self) -> bool:  # noqa: N802 - Java's name
        return False

    def build(self) -> RowsScan:
        rows = self._rows(pred.conjunction(self._nodes) if self._nodes else None)
        return RowsScan(self._jvm, self._title, rows, rows.column_names if self._names is None else self._names)
