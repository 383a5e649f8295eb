"""Tables of the catalog: columns, partitions, properties, and how Spark reads and changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import DataError, UnsupportedError
from lakebed.format import predicate as pred
from lakebed.format.types.data_types import Field, field_from_arrow
from lakebed.metadata.plan.interval import INCREMENTAL_OPTIONS
from lakebed.operations.read_changes import Part
from lakebed.options import TableOptions
from lakebed.rows.row_origins import origin_fields
from lakebed.spark.write.write_mode import WriteMode
from lakebed.sql.analyze_table import analyze_table, is_analysis
from lakebed.sql.catalog_partitions import Partitions
from lakebed.sql.catalog_scans import RowsScanBuilder, TableScanBuilder
from lakebed.sql.catalog_streams import STREAM_ONLY, micro_batch_stream, streaming_write
from lakebed.sql.catalog_writes import TableWrite, TableWriteBuilder
from lakebed.sql.ddl import PATH
from lakebed.sql.evolve_on_write import evolved, merges_schema
from lakebed.sql.jvm.jvm_values import Jvm, struct_type
from lakebed.sql.jvm.proxy import Proxy
from lakebed.sql.options_in_names import as_table_options, passes_options
from lakebed.sql.pushed_filters import nodes
from lakebed.sql.row_changes import change_rows
from lakebed.sql.sys_tables import GlobalTable
from lakebed.system_tables import SystemTable
from lakebed.table import Table
from lakebed.table.internals import partitions_of, parts_of, store_of

_CATALOG: Final = "org.apache.spark.sql.connector.catalog."
_READ_AND_WRITE: Final = (
    *("BATCH_READ", "BATCH_WRITE", "V1_BATCH_WRITE", "MICRO_BATCH_READ", "STREAMING_WRITE"),
    *("TRUNCATE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "AUTOMATIC_SCHEMA_EVOLUTION"),
)
SCAN_OPTIONS: Final = ("snapshot-id", "tag-name", "timestamp-millis", "timestamp", "version", "watermark")
"""Options ``scan.*`` that select an earlier version of a table, which may have other columns."""
_SPARKS_OWN_OPTIONS: Final = "__"  # options that Spark sets itself, such as the privileges of a write
_TIME_TRAVEL: Final = frozenset({"versionasof", "timestampasof"})
"""Options of a reader that Spark itself reads: it loads the table at that version."""
PRIMARY_KEY: Final = "primary-key"
PROVIDER: Final = "paimon"

OpenTable = Callable[[Mapping[str, str]], Table]
"""Opens the same table with further options."""

_TABLE: Final = (
    _CATALOG + "SupportsRead",
    _CATALOG + "SupportsWrite",
    _CATALOG + "SupportsDeleteV2",
    _CATALOG + "SupportsAtomicPartitionManagement",
    _CATALOG + "SupportsMetadataColumns",
    "java.util.function.Function",
)


class _Table(Proxy):
    """What tables and system tables have in common."""

    def __init__(self, jvm: Jvm, name: str, fields: Sequence[Field]) -> None:
        super().__init__(jvm)
        self._name, self._fields = name, fields

    def name(self) -> str:
        return self._name

    def id(self) -> None:
        """Returns none: tables are identified by name."""

    def version(self) -> None:
        """Returns none: the version is pinned when a scan is built, not when Spark loads the table."""

    def schema(self) -> Any:
        return self._jvm.struct(self._fields)

    def columns(self) -> Any:
        return self._jvm.columns(self._fields)

    def constraints(self) -> Any:
        return self._jvm.array(self._jvm.connector.catalog.constraints.Constraint, [])

    def _capabilities(self, names: Sequence[str]) -> Any:
        known = self._jvm.connector.catalog.TableCapability
        return self._jvm.set(getattr(known, name) for name in names)

    def __repr__(self) -> str:
        return self._name


class TableProxy(_Table, implements=_TABLE):
    """A table, or a branch of one, at its latest snapshot or at an earlier one (``travel``)."""

    def __init__(self, jvm: Jvm, name: str, table: Table, open_with: OpenTable, travel: Mapping[str, Any]) -> None:
        self._table, self._open_with, self._travel = table, open_with, travel
        asked = any(f"scan.{option}" in table.options for option in SCAN_OPTIONS)
        # A table whose options select a version may have no snapshot yet. It must be possible to write it.
        travels = bool(travel) or (asked and table.latest_snapshot() is not None)
        super().__init__(jvm, name, table.scan(**travel).columns if travels else table.schema.fields)
        self._partitions = Partitions(jvm, table)
        self._origins = origin_fields(table.schema)

    def metadataColumns(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.bridge.metadataColumns(self._jvm.struct(self._origins))

    def canRenameConflictingMetadataColumns(self) -> bool:  # noqa: N802 - Java's name
        return False

    def properties(self) -> Any:
        schema = self._table.schema
        shown = {"provider": PROVIDER, "location": self._table.path, PATH: self._table.path}
        if schema.comment is not None:
            shown["comment"] = schema.comment
        if schema.primary_keys:
            shown[PRIMARY_KEY] = ",".join(schema.primary_keys)
        return self._jvm.map({**shown, **schema.options})

    def partitioning(self) -> Any:
        expressions = self._jvm.connector.expressions
        keys = [expressions.Expressions.identity(_quoted(name)) for name in self._table.schema.partition_keys]
        return self._jvm.array(expressions.Transform, keys)

    def capabilities(self) -> Any:
        more = ("ACCEPT_ANY_SCHEMA",) if merges_schema(self._table) else ()
        return self._capabilities((*_READ_AND_WRITE, *more))

    # ----------------------------------------------------------------------------------------- reading, writing

    def newScanBuilder(self, options: Any) -> TableScanBuilder:  # noqa: N802 - Java's name
        table = self._opened_with(options, _TIME_TRAVEL)

        def parts(columns: Sequence[str], node: pred.Node | None) -> Sequence[Part]:
            if table is not self._table:
                self._check_columns(table, columns)
            return parts_of(table.scan(columns, node, **self._travel))

        def stream(checkpoint: str) -> Any:
            return micro_batch_stream(self._jvm, store_of(table), self._fields, _stream_options(options), checkpoint)

        def check(node: pred.Node | None) -> None:
            if not TableOptions(table.options).read_allow_full_scan:
                self._check_partitions(table, node)

        return TableScanBuilder(self._jvm, f"lakebed {self._name}", self._fields, parts, stream, self._origins, check)

    def _check_partitions(self, table: Table, node: pred.Node | None) -> None:
        """Raises UnsupportedError if a query with this condition reads all partitions."""
        if not table.schema.partition_keys or any(name in table.options for name in INCREMENTAL_OPTIONS):
            return
        read = len(partitions_of(table.scan(None, node, **self._travel)))
        if read and read == len(partitions_of(table.scan(**self._travel))):
            raise UnsupportedError(
                f"table {self._name}: the query would read all {read} partitions. Full scan is not supported. Name some in "
                f"WHERE ({', '.join(table.schema.partition_keys)}), or set 'read.allow.fullScan' to true"
            )

    def _check_columns(self, table: Table, columns: Sequence[str]) -> None:
        """Raises UnsupportedError if the version lacks a column: Spark before 4.3 reads columns before options."""
        known = {column.name for column in table.scan(**self._travel).columns}
        missing = [name for name in columns if name not in known]
        if missing:
            raise UnsupportedError(
                f"table {self._name}: the version that the options ask for has no column {missing[0]!r}, but "
                f"Spark {self._jvm.spark.version} uses the columns of the latest one; write VERSION AS OF instead, or name the columns"
            )

    def newWriteBuilder(self, info: Any) -> TableWriteBuilder:  # noqa: N802 - Java's name
        if self._travel:
            raise UnsupportedError(f"{self._name} is read at an earlier version, which cannot be written")
        table = self._opened_with(info.options())

        def stream(mode: WriteMode) -> Any:
            given = _stream_options(info.options())
            return streaming_write(self._jvm, store_of(table), info, given, overwrite=mode.overwrite)

        return TableWriteBuilder(self._jvm, table, stream)

    def _opened_with(self, options: Any, others: frozenset[str] = frozenset()) -> Table:
        """Returns the table with the options of a statement, except for ``others``."""
        own = _own_options(options, others)
        return self._open_with(own) if own else self._table

    def canDeleteWhere(self, predicates: Any) -> bool:  # noqa: N802 - Java's name
        return None not in nodes(self._jvm.bridge.describe(predicates), self._fields)

    def deleteWhere(self, predicates: Any, _options: Any = None) -> None:  # noqa: N802 - Java's name
        found = nodes(self._jvm.bridge.describe(predicates), self._fields)
        given = [node for node in found if node is not None]
        if len(given) < len(found):
            raise DataError(f"table {self._name}: rows cannot be deleted by this condition")
        node = pred.conjunction(given)
        if node == pred.TRUE:
            self._table.truncate()
        else:
            self._table.delete(node)

    def apply(self, plan: Any) -> TableWrite | EvolvedTableProxy:
        """Returns the write that runs an UPDATE, a MERGE, a DELETE or an ANALYZE.

        Given columns instead of a plan, returns the table with these columns.
        """
        if self._travel:
            raise UnsupportedError(f"{self._name} is read at an earlier version, which cannot be changed")
        if plan.getClass().getSimpleName() == "StructType":
            columns = struct_type(plan)
            return EvolvedTableProxy(self._jvm, self._name, lambda more: evolved(self._open_with(more), columns))
        run = analyze_table if is_analysis(plan) else change_rows
        return TableWrite(self._jvm, self._name, lambda _: run(self._jvm, self._table, plan))

    def truncateTable(self, _options: Any = None) -> bool:  # noqa: N802 - Java's name
        self._table.truncate()
        return True

    def supportedCustomMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomMetric")

    def reportDriverMetrics(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.no_metrics("CustomTaskMetric")

    # ----------------------------------------------------------------------------------------------- partitions

    def partitionSchema(self) -> Any:  # noqa: N802 - Java's name
        return self._jvm.struct(self._table.schema.partition_fields)

    def listPartitionIdentifiers(self, names: Any, row: Any) -> Any:  # noqa: N802 - Java's name
        return self._partitions.matching(list(names), row)

    def loadPartitionMetadata(self, _row: Any) -> Any:  # noqa: N802 - Java's name
        return self._jvm.map({})

    def partitionExists(self, row: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.exists(row)

    def dropPartition(self, row: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.drop(row)

    def dropPartitions(self, rows: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.drop(*rows)

    def purgePartitions(self, rows: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.drop(*rows)

    def truncatePartitions(self, rows: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.drop(*rows)

    def createPartitions(self, _rows: Any, _properties: Any) -> None:  # noqa: N802 - Java's name
        raise self._no_partition_of_its_own()

    def purgePartition(self, row: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.drop(row)

    def truncatePartition(self, row: Any) -> bool:  # noqa: N802 - Java's name
        return self._partitions.drop(row)

    def createPartition(self, _row: Any, _properties: Any) -> None:  # noqa: N802 - Java's name
        raise self._no_partition_of_its_own()

    def renamePartition(self, _from: Any, _to: Any) -> bool:  # noqa: N802 - Java's name
        raise self._no_partition_of_its_own()

    def replacePartitionMetadata(self, _row: Any, _properties: Any) -> None:  # noqa: N802 - Java's name
        raise self._no_partition_of_its_own()

    def _no_partition_of_its_own(self) -> UnsupportedError:
        return UnsupportedError(
            f"table {self._name}: partitions cannot be created, renamed or given properties; a partition exists if "
            "it has rows, so insert rows instead"
        )


class EvolvedTableProxy(TableProxy, implements=_TABLE):
    """A table with columns that it gets when rows are written."""

    def __init__(self, jvm: Jvm, name: str, open_with: OpenTable) -> None:
        super().__init__(jvm, name, open_with({}), open_with, {})

    def capabilities(self) -> Any:
        return self._capabilities(_READ_AND_WRITE)


class StagedTableProxy(TableProxy, implements=(*_TABLE, _CATALOG + "StagedTable")):
    """A new table that a query fills; Spark calls one of ``commit`` and ``abort`` afterwards."""

    def __init__(
        self, jvm: Jvm, name: str, open_with: OpenTable, commit: Callable[[], None], abort: Callable[[], None]
    ) -> None:
        super().__init__(jvm, name, open_with({}), open_with, {})
        self._commit, self._abort = commit, abort

    def commitStagedChanges(self) -> None:  # noqa: N802 - Java's name
        self._commit()

    def abortStagedChanges(self) -> None:  # noqa: N802 - Java's name
        self._abort()


def _own_options(options: Any, others: frozenset[str] = frozenset()) -> dict[str, str]:
    """Returns the options of a statement that are options of the table; ``others`` are not."""
    given = {str(key): str(value) for key, value in dict(options.asCaseSensitiveMap()).items()}
    return {
        key: value
        for key, value in as_table_options(given).items()
        if not key.startswith(_SPARKS_OWN_OPTIONS) and key.lower() not in STREAM_ONLY | others
    }


def _stream_options(options: Any) -> dict[str, str]:
    """Returns the options of a stream that are not options of the table."""
    given = dict(options.asCaseSensitiveMap())
    return {str(key): str(value) for key, value in given.items() if key.lower() in STREAM_ONLY}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class SystemTableProxy(_Table, implements=(_CATALOG + "SupportsRead",)):
    """A system table, which can only be read."""

    def __init__(
        self,
        jvm: Jvm,
        name: str,
        table: SystemTable | GlobalTable,
        travel: Mapping[str, Any],
        open_with: Callable[[Mapping[str, str]], object] | None = None,
    ) -> None:
        self._table, self._travel, self._open_with = table, travel, open_with
        scan, self._columns = table.scan(**travel), table.known_columns
        self._rows: pa.Table | None = scan.to_arrow() if self._columns is None else None
        known = self._columns if self._rows is None else [field_from_arrow(column) for column in self._rows.schema]
        super().__init__(jvm, name, known or [])

    def properties(self) -> Any:
        return self._jvm.map({})

    def partitioning(self) -> Any:
        return self._jvm.array(self._jvm.connector.expressions.Transform, [])

    def capabilities(self) -> Any:
        return self._capabilities(("BATCH_READ",))

    def newScanBuilder(self, options: Any) -> RowsScanBuilder:  # noqa: N802 - Java's name
        version, given = self._jvm.spark.version, _own_options(options, _TIME_TRAVEL)
        if given and not passes_options(version):
            raise UnsupportedError(
                f"{self._name}: Spark {version} does not tell system tables the options of a query; write VERSION AS OF "
                "instead, or name the branch in the table's name"
            )
        if given and self._open_with is not None:
            self._open_with(
                given
            )  # opened only to check them: options that change the rows were passed when the table was loaded
        return RowsScanBuilder(self._jvm, f"lakebed {self._name}", self._fields, self._taken)

    def _taken(self, condition: pred.Node | None) -> pa.Table:
        """Returns the rows that were computed for the columns; a later query computes them again."""
        rows, self._rows = self._rows, None
        if rows is not None:
            return rows
        asked: dict[str, Any] = {} if self._columns is None or condition is None else {"where": condition}
        return self._table.scan(**self._travel, **asked).to_arrow()
