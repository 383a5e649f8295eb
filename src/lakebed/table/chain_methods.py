"""The methods of a table that are about chains: build full partitions, expire changes, write views to plain tables.

Two methods convert a table to a chain table and back.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from lakebed.chain.layout import ChainTable
from lakebed.chain.maintenance.compact_chain import Asked, ChainCompaction, ChainPolicy, compact_chain
from lakebed.chain.maintenance.convert import disable_chain, enable_chain, is_half_enabled
from lakebed.chain.maintenance.expire_changes import ChangesExpiry, expire_changes
from lakebed.chain.maintenance.expire_due import expire_due
from lakebed.chain.maintenance.materialization import Materialization
from lakebed.chain.reading.branch_versions import BranchVersions
from lakebed.chain.reading.plan_views import View
from lakebed.chain.reading.read_chain import read_views
from lakebed.chain.staleness import ChainState
from lakebed.errors import OptionError
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_predicate, partition_table, partition_text
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import Time, local_datetime, parse_time
from lakebed.metadata.store import TableStore
from lakebed.operations.after_commit import after_commit
from lakebed.options import TableOptions, normalise
from lakebed.rows.where import parse_where
from lakebed.scan import Scan
from lakebed.spark.choose_engine import engine_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Partition = Mapping[str, Any]


class PlainTable(Protocol):
    """What a table needs so that views of a chain table can be written to it; every :class:`lakebed.Table` has it."""

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def schema(self) -> TableSchema: ...

    def scan(self, columns: Sequence[str] | None = None, where: str | pred.Node | None = None) -> Scan: ...

    def overwrite(self, data: Any, partition: Mapping[str, Any] | None = None) -> Snapshot | None: ...


class ChainMethods:
    """The methods of a table that only chain tables have, or that convert a table into one."""

    _store: TableStore
    _spark: SparkSession | None
    alter: Callable[..., TableSchema]
    scan: Callable[..., Scan]

    def compact_chain(
        self,
        partition: Partition | Sequence[Partition] | None = None,
        *,
        where: str | None = None,
        policy: ChainPolicy | Mapping[str, Any] | None = None,
        overwrite: bool = False,
        dry_run: bool = False,
        report: Callable[[int, int], None] | None = None,
        spark: SparkSession | None = None,
    ) -> ChainCompaction:
        """Builds full partitions of a chain table, so that reads of these days and of later ones merge less.

        Only days with changes of their own are built. The changes are kept. At least one of ``partition``, ``where``
        and ``policy`` is required.

        Args:
            partition: Partition values, or a list of them. Without the columns of the group, the day of every group.
            where: A SQL expression over the partition columns.
            policy: Limits ``depth`` (partitions of changes), ``bytes`` (their size) and ``age`` (time since the last
                full partition). A partition is built as soon as one limit is reached. With ``stale`` full partitions
                that are out of date are built again as well.
            overwrite: Also rebuild partitions that are full and not stale.
            dry_run: Build nothing; the result tells what would be built.
            report: Called with the number of finished partitions and of all.
            spark: The Spark session that does the work; by default the one given to ``connect``, if any.

        Returns:
            The partitions that were built, and those that were skipped with the reason.

        Raises:
            OptionError: The table is not a chain table, or the request is incomplete.
            CommitConflictError: Another commit changed what was read. Nothing was committed.

        Example:
            ``table.compact_chain({"date": "20250729"})`` or ``table.compact_chain(policy={"depth": 7})``
        """
        chain = self._chain()
        schema = chain.main.schema()
        if partition is None and where is None and policy is None:
            raise OptionError("compact_chain() needs at least one of partition=, where= and policy=")
        node = _condition(schema, partition, where)
        asked = Asked(node, None if policy is None else ChainPolicy.of(policy), overwrite)
        session = spark or self._spark
        read, engine = _reader(chain, session), engine_on(session)
        done = compact_chain(chain, asked, read, dry_run=dry_run, report=report, engine=engine)
        if done.built and not dry_run:
            after_commit(chain.full, lambda _: expire_due(chain))
        return done

    def expire_changes(self, before: Time | dt.date | None = None, *, dry_run: bool = False) -> ChangesExpiry:
        """Drops the changes of old days that full partitions hold. No full partition is dropped.

        No view of a full partition, and no view of a day at or after ``before``, changes. An older day that is not full
        has no view any more; the result names these days. Changes that later days are merged from are kept, however old
        they are.

        Args:
            before: Changes of days before this time are dropped: a date, a datetime, ISO text, or a length of time such
                as ``30 d``. The default is the age in the option ``chain-table.changes.time-retained``.
            dry_run: Drop nothing, and return what would be dropped.

        Returns:
            The changes that were dropped, the days that have no view any more, and what was kept for which reason.

        Raises:
            OptionError: The table is not a chain table, ``before`` is not a time, or neither ``before`` nor the option
                is given.
            CommitConflictError: Another commit wrote to these changes meanwhile. Nothing was dropped.

        Example:
            ``table.expire_changes(before="30 d", dry_run=True)`` or ``table.expire_changes(before="2025-07-01")``
        """
        chain = self._chain()
        is_day = isinstance(before, dt.date) and not isinstance(before, dt.datetime)
        given = dt.datetime.combine(before, dt.time()) if is_day else before  # type: ignore[arg-type]
        since = None if given is None else local_datetime(parse_time(given, "before"))
        done = expire_changes(chain, since, dry_run=dry_run)
        if done.snapshot is not None:
            after_commit(chain.delta, lambda _: None)
        return done

    def materialize_chain(
        self,
        into: PlainTable,
        partition: Partition | Sequence[Partition] | None = None,
        *,
        where: str | None = None,
        dry_run: bool = False,
        spark: SparkSession | None = None,
    ) -> Materialization:
        """Writes views of this chain table to a plain table, for readers that do not know chain tables.

        Each partition is written with one commit that replaces its rows in the plain table, so the call can be
        repeated. A partition that has no view is skipped, and the plain table keeps what it has of it.

        Args:
            into: The plain table. It needs the columns and the partition columns of this table. A primary key is not
                needed.
            partition: Partition values, or a list of them. Without the columns of the group, the day of every group.
            where: A SQL expression over the partition columns.
            dry_run: Write nothing; the result tells what would be written.
            spark: The Spark session that does the work; by default the one given to ``connect``, if any.

        Returns:
            The partitions that were written, with their numbers of rows, and those that were skipped.

        Raises:
            OptionError: The table is not a chain table, the plain table does not fit, or neither ``partition`` nor
                ``where`` is given.

        Example:
            ``orders.materialize_chain(lake.table("shop.orders_full"), {"date": "20250729"})``
        """
        self._check_main()
        schema = self._chain().main.schema()
        self._check_plain(into, schema)
        if partition is None and where is None:
            raise OptionError("materialize_chain() needs partition= or where=")
        specs: Sequence[Partition | None] = [None] if partition is None else _specs(partition)
        session, found, skipped = spark or self._spark, dict[str, Partition](), list[Partition]()
        for spec in specs:
            scan = self.scan(where=_condition(schema, spec, where))
            encoded = scan._partitions()  # noqa: SLF001 - table.internals imports this module
            shown = partition_table(encoded, schema.partition_fields).to_pylist()
            found |= {partition_text(values): values for values in shown}
            skipped += [] if shown or spec is None else [dict(spec)]
        written: list[tuple[Partition, int | None]] = []
        for _, values in sorted(found.items()):
            if dry_run:
                written.append((values, None))
                continue
            day = self.scan(where=partition_predicate(schema, values))
            into.overwrite(day.to_batches() if session is None else day.to_spark(session), values)
            written.append((values, into.scan(where=partition_predicate(schema, values)).count()))
        return Materialization(into.name, tuple(written), tuple(skipped), dry_run)

    def _check_plain(self, into: PlainTable, schema: TableSchema) -> None:
        """Raises if a table cannot hold views of this one."""
        if into.path == self._store.paths.root:
            raise OptionError(f"views of chain table {into.name} cannot be written to itself; create a plain table")
        if tuple(into.schema.partition_keys) != tuple(schema.partition_keys):
            raise OptionError(
                f"table {into.name} is partitioned by ({', '.join(into.schema.partition_keys)}), but chain table "
                f"{self._store.name} by ({', '.join(schema.partition_keys)}); create a table with the same partition "
                "columns"
            )

    def enable_chain(
        self,
        *,
        timestamp_pattern: str | None = None,
        timestamp_formatter: str | None = None,
        chain_keys: Sequence[str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Converts this table into a chain table. Its partitions become full partitions; no rows are rewritten.

        Args:
            timestamp_pattern: Option ``partition.timestamp-pattern``, such as ``$date``.
            timestamp_formatter: Option ``partition.timestamp-formatter``, such as ``yyyyMMdd``.
            chain_keys: Option ``chain-table.chain-partition-keys``: the partition columns that form the time.
            options: Further options, such as other names of the branches.

        Raises:
            OptionError: The table is a chain table already, or its options do not allow it.
            CommitConflictError: Another commit wrote to the table meanwhile. The table is unchanged.

        Example:
            ``table.enable_chain(timestamp_pattern="$date", timestamp_formatter="yyyyMMdd")``
        """
        self._check_main()
        known = ChainTable.of(self._store)
        if known is not None and not is_half_enabled(known):
            raise OptionError(f"table {self._store.name} is already a chain table")
        given = {
            TableOptions.partition_timestamp_pattern.name: timestamp_pattern,
            TableOptions.partition_timestamp_formatter.name: timestamp_formatter,
            TableOptions.chain_partition_keys.name: None if chain_keys is None else ",".join(chain_keys),
        }
        wanted = {name: value for name, value in given.items() if value is not None}
        enable_chain(self._store, {**normalise(options or {}), **wanted}, lambda changes: self.alter(*changes))

    def disable_chain(self, *, dry_run: bool = False) -> None:
        """Converts this chain table into an ordinary table that holds its full partitions; no rows are rewritten.

        The branches are kept. Drop them when they are no longer needed.

        Args:
            dry_run: Only check whether it is possible.

        Raises:
            OptionError: The table is not a chain table, or has days that exist only as changes. Build those with
                :meth:`compact_chain` first.
            CommitConflictError: Another commit wrote to the table meanwhile. It is still a chain table.

        Example:
            ``table.disable_chain()``
        """
        self._check_main()
        disable_chain(self._chain(), lambda changes: self.alter(*changes), dry_run=dry_run)

    def _chain(self) -> ChainTable:
        chain = ChainTable.of(self._store.on_branch(MAIN_BRANCH))
        if chain is None:
            raise OptionError(f"table {self._store.name} is not a chain table; enable_chain() makes it one")
        return chain

    def _check_main(self) -> None:
        if self._store.paths.branch != MAIN_BRANCH:
            raise OptionError(
                f"this works on table {self._store.name} itself, not on its branch {self._store.paths.branch!r}"
            )


def _condition(schema: TableSchema, partition: Partition | Sequence[Partition] | None, where: str | None) -> pred.Node:
    """The partitions that a call asks for, as a condition on partition columns."""
    parts: list[pred.Node] = [] if where is None else [parse_where(where, schema.partition_fields)]
    if partition is not None:
        parts.append(pred.disjunction(partition_predicate(schema, spec) for spec in _specs(partition)))
    return pred.conjunction(parts)


def _specs(partition: Partition | Sequence[Partition]) -> list[Partition]:
    specs = [partition] if isinstance(partition, Mapping) else list(partition)
    if not specs or not all(specs):
        raise OptionError("partition= must name values of partition columns, such as {'date': '20250729'}")
    return specs


def _reader(chain: ChainTable, spark: SparkSession | None) -> Callable[[ChainState, Sequence[View]], Any]:
    def read(state: ChainState, views: Sequence[View]) -> Any:
        part = read_views(chain, BranchVersions(state.full, state.delta), views)
        if spark is None:
            return pa.RecordBatchReader.from_batches(part.reader.arrow_schema, part.batches())
        from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional

        return to_spark(spark, (part,))

    return read
