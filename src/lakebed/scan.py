"""A read of a table: first described by columns, rows and version, then run by ``to_arrow`` and other methods.

``plan`` and ``explain`` show which files a read opens, and open no data file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import NotFoundError, OptionError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.human_text import count_text, size_text
from lakebed.format.printed import Printed
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.data_file_paths import path_array
from lakebed.metadata.one_look import one_look
from lakebed.metadata.plan.file_scan import PruneStep
from lakebed.metadata.plan.interval import Interval
from lakebed.operations.read import BranchRead
from lakebed.operations.read_changes import IncrementalRead, Part
from lakebed.outputs import ArrowOutputs, checked_limit, first_rows_html, limited
from lakebed.rows.aggregates import count, min_max
from lakebed.rows.where import Where, condition_of
from lakebed.table_rules.interface import TableRules
from lakebed.table_rules.partition_costs import PartitionCost, cost_lines
from lakebed.table_rules.planned_read import PlannedRead, ReadVersion
from lakebed.table_rules.read_metrics import ReadMetrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Printed):
    """The files that a scan reads, and how planning selected them.

    Attributes:
        table: The name of the table.
        snapshot: The snapshot that is read.
        columns: The names of the columns of the result.
        where: The condition as text.
        files: A row for each data file: path, partition, bucket, level, rows and bytes. A file of a chain table is
            listed once for each partition that it is read for.
        steps: How many files each step of planning kept.
        interval: The changes that are read; ``None`` for a read of a version.
        views: How each partition of a chain table is read.
        version: The version as text.
    """

    table: str
    snapshot: Snapshot | None
    columns: tuple[str, ...]
    where: str | None
    files: pa.Table
    steps: tuple[PruneStep, ...]
    interval: Interval | None = None
    views: tuple[PartitionCost, ...] = ()
    version: str = ""

    @property
    def file_count(self) -> int:
        """The number of files to read."""
        return len(self.files)

    @property
    def byte_count(self) -> int:
        """The size of the files to read."""
        return int(pc.sum(self.files["file_size_in_bytes"]).as_py() or 0)

    @property
    def record_count(self) -> int:
        """The number of rows in the files to read; the result has at most as many."""
        return int(pc.sum(self.files["record_count"]).as_py() or 0)

    def __str__(self) -> str:
        what = f" at {self.version}" if self.interval is None else f": {self.interval}"
        head = f"scan of {self.table}{what}"
        lines = [head, f"  columns: {', '.join(self.columns)}"]
        if self.where is not None:
            lines.append(f"  where: {self.where}")
        lines += [f"  {step}" for step in self.steps]
        lines += [f"  {line}" for line in cost_lines(self.views)]
        files, rows = count_text(self.file_count, "file"), count_text(self.record_count, "row")
        lines.append(f"  to read: {files}, {size_text(self.byte_count)}, {rows} at most")
        return "\n".join(lines)


class Scan(ArrowOutputs):
    """One read of a version of a table, or of the changes between two. Make one with :meth:`lakebed.Table.scan`.

    Example:
        >>> scan = orders.scan(["id"], where="day = '2025-01-31'")
        >>> scan.to_arrow().to_pylist()
        [{'id': 3}]
        >>> scan.count()
        1
    """

    def __init__(
        self,
        rules: TableRules,
        version: ReadVersion,
        *,
        columns: Sequence[str] | None,
        where: Where | None,
        interval: Interval | None = None,
        limit: int | None = None,
    ) -> None:
        store, schema = rules.store, version.schema
        with one_look() as look:
            self._look = look
        self._rules = rules
        self._version = version
        self._interval = interval
        self._store = store
        self._schema = schema
        names = schema.field_names if columns is None else _names(columns)
        for name in names:
            if name not in schema.field_names:
                raise NotFoundError(unknown_name("column", name, schema.field_names, where=f"table {store.name}"))
        if len(set(names)) < len(names):
            raise OptionError(f"a column is asked for more than once: {', '.join(names)}")
        self._columns = schema.select(names)
        self._predicate = condition_of(where, schema.fields)
        self._limit = checked_limit(limit)

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that is read; ``None`` for a table without snapshots."""
        return self._version.snapshot

    @property
    def columns(self) -> tuple[Field, ...]:
        """The columns of the result, with their types in the table."""
        return self._columns

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([field_to_arrow(column) for column in self._columns])

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self._columns)
        where = "" if self._predicate is None else f", where {pred.to_text(self._predicate)}"
        limit = "" if self._limit is None else f", limit {self._limit}"
        version = str(self._version) if self._interval is None else str(self._interval)
        return f"<Scan of {self._store.name} at {version}: {names}{where}{limit}>"

    def _repr_html_(self) -> str:
        """Returns the first rows as a table, for notebooks."""
        return first_rows_html(self.to_batches(), repr(self)[1:-1])

    @property
    def _parts(self) -> tuple[Part, ...]:
        """What is read of each branch; for most tables one part."""
        return self._planned.parts

    @cached_property
    def _planned(self) -> PlannedRead:
        with one_look(self._look):
            return self._plan_parts()

    def _plan_parts(self) -> PlannedRead:
        if self._interval is not None:
            changes = IncrementalRead(self._store, self._schema, self._interval, self._columns, self._predicate)
            return PlannedRead((changes,))
        whole = BranchRead(self._store, self._schema, self.snapshot, self._columns, self._predicate)
        return self._rules.plan_read(whole, self._version)

    @property
    def metrics(self) -> ReadMetrics | None:
        """What merging partitions of a chain table has cost in this process so far; ``None`` for other tables."""
        return self._planned.metrics

    def plan(self) -> Plan:
        """Returns the files that the scan reads, without reading them.

        Example:
            >>> plan = orders.scan(where="day = '2025-01-31'").plan()
            >>> plan.file_count, plan.record_count
            (1, 1)
        """
        files = pa.concat_tables([_files_of(part, self._planned.partition_column(part)) for part in self._parts])
        text = None if self._predicate is None else pred.to_text(self._predicate)
        names = tuple(column.name for column in self._columns)
        steps = tuple(step for part in self._parts for step in part.result.steps)
        views, version = self._planned.costs(), str(self._version)
        return Plan(self._store.name, self.snapshot, names, text, files, steps, self._interval, views, version)

    def _partitions(self) -> pa.Array:
        """The partitions that have files to read, as encoded rows."""
        return self._planned.partitions()

    def explain(self) -> str:
        """Returns the plan as text: how many files each step of planning kept, and what is left to read.

        Example:
            >>> print(orders.scan(["id"], where="day = '2025-01-31'").explain())  # doctest: +ELLIPSIS
            scan of shop.orders at snapshot 1
              columns: id
              where: day = '2025-01-31'
            ...
              to read: 1 file, ..., 1 row at most
        """
        return str(self.plan())

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table.

        Raises:
            NotFoundError: A data file does not exist, because its snapshot expired while it was read.
        """
        if self._limit is not None:
            return self.to_batches().read_all()
        return pa.concat_tables([self._as_declared(part.to_arrow()) for part in self._parts])

    def to_batches(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream of Arrow batches, for results larger than memory."""
        batches = (batch for part in self._parts for batch in part.batches())
        if len(self._parts) > 1:
            batches = (pa.RecordBatch.from_arrays(batch.columns, schema=self.schema) for batch in batches)
        rows = pa.RecordBatchReader.from_batches(self.schema, batches)
        return rows if self._limit is None else limited(rows, self._limit)

    def _as_declared(self, table: pa.Table) -> pa.Table:
        """Returns the rows under the schema of the table; branches may differ in which columns are nullable."""
        return table if table.schema == self.schema else pa.Table.from_arrays(table.columns, schema=self.schema)

    def to_spark(self, spark: SparkSession | None = None) -> DataFrame:
        """Returns the rows as a Spark DataFrame.

        Select columns and rows in the scan rather than in the DataFrame: then fewer of the rows that have to be merged
        are read.

        Args:
            spark: The session; by default the active one, else a new local one.

        Raises:
            UnsupportedError: Spark is not installed.
        """
        from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional
        from lakebed.spark.session import get_session  # noqa: PLC0415 - Spark is optional

        frame = to_spark(get_session(spark), self._parts)
        return frame if self._limit is None else frame.limit(self._limit)

    def count(self) -> int:
        """Returns the number of rows. It reads data files only where metadata does not tell the exact number."""
        rows = sum(count(part.reader, part.result.entries) for part in self._parts)
        return rows if self._limit is None else min(rows, self._limit)

    def min_max(self, column: str) -> tuple[Any, Any]:
        """Returns the least and the greatest value of a column, both ``None`` if there is no value.

        It reads data files only where metadata does not tell the exact values.

        Args:
            column: The name of the column.

        Raises:
            NotFoundError: There is no such column.
            OptionError: The scan has a limit.

        Example:
            >>> orders.scan().min_max("amount")
            (10.0, 30.0)
        """
        if column not in self._schema.field_names:
            where = f"table {self._store.name}"
            raise NotFoundError(unknown_name("column", column, self._schema.field_names, where=where))
        if self._limit is not None:
            raise OptionError("min_max() looks at all rows of a scan; leave limit= out")
        least, greatest = min_max([(part.reader, part.result.entries) for part in self._parts], column)
        return least.as_py(), greatest.as_py()


def _files_of(part: Part, partitions: pa.ChunkedArray) -> pa.Table:
    entries = part.result.entries
    return pa.table(
        {
            "file_path": path_array(part.store, part.schema, entries),
            "partition": partitions,
            "bucket": entries["bucket"],
            "level": entries["level"],
            "record_count": entries["row_count"],
            "file_size_in_bytes": entries["file_size"],
        }
    )


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not columns:
        raise OptionError(f"columns must be a list of at least one column name, not {columns!r}")
    return tuple(columns)
