"""One table as its user sees it. Delegates to the layers below and decides little itself."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakebed.chain_table import ChainVerbs
from lakebed.errors import (
    OptionError,
    SchemaError,
    UnsupportedError,
)
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_predicate
from lakebed.format.schema.evolution import AddColumn, SetOption, UpdateColumnType, apply_changes
from lakebed.format.schema.evolution import Change as SchemaChange
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import DataType
from lakebed.history import History
from lakebed.maintenance import Maintenance
from lakebed.metadata.branches import create_branch
from lakebed.metadata.plan.interval import Interval, find_interval, interval_of_options
from lakebed.metadata.plan.time_travel import version_of_options
from lakebed.metadata.store import TableStore
from lakebed.operations.analyze import analyze, columns_to_analyze
from lakebed.operations.compact.compact_append import compact_append_table
from lakebed.operations.compact.compact_keyed import compact_keyed_table
from lakebed.operations.delete import check_removes, delete_from_append_table, delete_from_keyed_table
from lakebed.operations.overwrite import drop as drop_rows
from lakebed.operations.overwrite import overwrite as overwrite_rows
from lakebed.operations.read import BranchRead
from lakebed.operations.rescale import checked_buckets, rescale
from lakebed.operations.rewrite import rewrite_files
from lakebed.operations.write import Guard, Identity
from lakebed.operations.write import write as write_rows
from lakebed.options import TableOptions, check_existing, check_new, normalise
from lakebed.rows.merge_engines.merge_rows import MergeSpec
from lakebed.rows.sort_order import SortOrder
from lakebed.rows.where import parse_where
from lakebed.scan import Scan
from lakebed.spark.choose_engine import engine_for, engine_on
from lakebed.table_checks import check_buckets, check_keyed, check_new_keyed
from lakebed.table_kinds import alter_rules, rules_of
from lakebed.table_rules.interface import TableRules
from lakebed.table_rules.planned_read import ReadVersion

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import SparkSession

_BRANCH_OPTIONS: Final = (TableOptions.scan_fallback_branch.name, TableOptions.scan_primary_branch.name)


class Table(History, Maintenance, ChainVerbs):
    """A Paimon table, or one branch of it. Get one with ``lake.table("db.t")``."""

    def __init__(self, store: TableStore, spark: SparkSession | None = None) -> None:
        self._store = store
        self._spark = spark
        store.schema()  # a table that is not there fails here, not later

    # ---------------------------------------------------------------------------------------------- what it is

    @property
    def name(self) -> str:
        """The name it was opened by."""
        return self._store.name

    @property
    def path(self) -> str:
        """The folder of the table."""
        return self._store.paths.root

    @property
    def branch_name(self) -> str:
        """The branch that is read and written."""
        return self._store.paths.branch

    @property
    def schema(self) -> TableSchema:
        """The latest schema: columns, keys, options, comment."""
        return self._store.schema()

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as an Arrow schema."""
        return self.schema.arrow_schema

    @property
    def options(self) -> Mapping[str, str]:
        """The options as they are stored."""
        return self.schema.options

    @property
    def warnings(self) -> list[str]:
        """What Lakebed does not know about this table's options; somebody else may."""
        return check_existing(self.options, where=f"table {self.name}", writing=False)

    def __repr__(self) -> str:
        columns = ", ".join(f"{column.name} {column.type}" for column in self.schema.fields)
        branch = "" if self.branch_name == "main" else f" branch={self.branch_name}"
        return f"<Table {self.name}{branch}: {columns}>"

    # ----------------------------------------------------------------------------------------------- reading

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | pred.Node | None = None,
        *,
        version: int | str | None = None,
        timestamp: Any = None,
        tag: str | None = None,
        since: int | str | dt.datetime | None = None,
        until: int | str | dt.datetime | None = None,
        mode: str = "auto",
    ) -> Scan:
        """Describe a read: some columns, the rows that satisfy a SQL expression, at some version.

        ``version`` is a snapshot id or a tag, ``timestamp`` epoch milliseconds, a datetime or ISO text. Nothing is read
        until the scan is asked for rows.

        With ``since`` only what changed is read: after that snapshot (0: from the beginning), tag or moment, up to and
        including ``until`` (else the latest). ``mode`` says how: "delta" gives the rows that appends and upserts wrote,
        "changelog" the rows of the table's changelog, "diff" the rows of the later state that the earlier one did not have;
        "auto" takes "diff" between two tags, else the changelog if the table writes one, else "delta".
        """
        self._checked_schema(writing=False)
        rules = rules_of(self._store)
        interval = self._changes(rules, version, timestamp, tag, since, until, mode)
        if interval is not None:
            at = ReadVersion(interval.end, self.schema)
            return Scan(rules, at, columns=columns, where=where, interval=interval)
        version, timestamp, tag = self._travel(version, timestamp, tag)
        at = rules.read_version(version=version, timestamp=timestamp, tag=tag)
        return Scan(rules, at, columns=columns, where=where)

    def _travel(self, version: int | str | None, timestamp: Any, tag: str | None) -> tuple[Any, Any, Any]:
        """The version asked for in the call, else the one that the table's own ``scan.*`` options ask for."""
        if version is not None or timestamp is not None or tag is not None:
            return version, timestamp, tag
        return version_of_options(self.options)

    def _changes(
        self, rules: TableRules, version: Any, timestamp: Any, tag: Any, since: Any, until: Any, mode: str
    ) -> Interval | None:
        """What changes are asked for, in the call or by the table's own options; ``None``: none, but a state."""
        travels = version is not None or timestamp is not None or tag is not None
        if since is not None or until is not None or mode != "auto":
            if travels:
                raise OptionError("since=, until= and mode= read changes; leave out version=, timestamp= and tag=")
            rules.check_has_changes()
            interval: Interval | None = find_interval(self._store, since, until, mode)
        else:
            interval = None if travels else interval_of_options(self._store, TableOptions(self.options))
            if interval is not None and any(part is not None for part in self._travel(None, None, None)):
                raise OptionError(f"table {self.name}: options ask for changes and for a version; unset one of them")
        if interval is not None:
            rules.check_has_changes()
            self._check_one_branch()
        return interval

    def _check_one_branch(self) -> None:
        joined = TableOptions(self.options).joined_branch(self.branch_name)
        if joined is not None:
            name, _ = joined
            raise UnsupportedError(
                f"table {self.name} is read together with another branch (option {name!r}), which has a history of its "
                f"own; to read changes open the table with options={{{name!r}: {self.branch_name!r}}}"
            )

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table: ``scan().to_arrow()``."""
        return self.scan().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """Returns all rows as a pandas frame: ``scan().to_pandas()``."""
        return self.scan().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Returns all rows as a Polars frame: ``scan().to_polars()``."""
        return self.scan().to_polars()

    def count(self) -> int:
        """Returns the number of rows: ``scan().count()``."""
        return self.scan().count()

    def head(self, limit: int = 10) -> pa.Table:
        """Returns the first rows as an Arrow table, in no particular order, and reads no more than it needs.

        Args:
            limit: How many rows at most.

        Example:
            >>> orders.head(2).num_rows
            2
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise OptionError(f"limit is {limit!r}; it must be a whole number from 0 on")
        batches: list[pa.RecordBatch] = []
        missing = limit
        with self.scan().to_batches() as reader:
            while missing > 0 and (batch := next(reader, None)) is not None:
                batches.append(batch.slice(0, missing))
                missing -= len(batches[-1])
            return pa.Table.from_batches(batches, reader.schema)

    def latest_snapshot(self) -> Snapshot | None:
        """The newest snapshot, ``None`` if nothing was committed yet."""
        return self._store.snapshots.latest()

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """One snapshot by its id."""
        return self._store.snapshots.get(snapshot_id)

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot that still exists, oldest first."""
        return self._store.snapshots.read_many(self._store.snapshots.ids())

    # ------------------------------------------------------------------------------------------------ writing

    def write(
        self,
        data: Any,
        *,
        row_kind: str | None = None,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> Snapshot | None:
        """Append rows, or upsert them where there is a primary key; gives the new snapshot, ``None`` for no rows.

        ``row_kind`` names a column of the data that says what each row is: ``+I``, ``+U`` (it is so now), ``-D`` or ``-U``
        (it is no more). With ``commit_user`` and ``commit_identifier`` a repeated call with the same two commits once.
        """
        schema = self._checked_schema(writing=True)
        who = Identity.of(schema, commit_user, commit_identifier)
        run = partial(write_rows, self._store, data, row_kind=row_kind, who=who, engine=engine_for(data))
        return self._by_the_rules(lambda guard: run(guard=guard))

    def overwrite(
        self,
        data: Any,
        partition: Mapping[str, Any] | None = None,
        *,
        dynamic: bool | None = None,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> Snapshot | None:
        """Replace rows by others.

        With ``partition`` (all or some of the partition columns) exactly what lies there is replaced, and all rows must
        belong there. Without it, a partitioned table has just those partitions replaced that the data has rows of (unless
        ``dynamic``, or the option ``dynamic-partition-overwrite``, is false), any other table is replaced whole. With
        ``commit_user`` and ``commit_identifier`` a repeated call with the same two commits once.
        """
        schema = self._checked_schema(writing=True)
        who, engine = Identity.of(schema, commit_user, commit_identifier), engine_for(data)
        run = partial(overwrite_rows, self._store, data, partition, who, dynamic=dynamic, engine=engine)
        return self._by_the_rules(lambda guard: run(guard=guard))

    def delete(self, where: str | pred.Node) -> Snapshot | None:
        """Delete the rows that satisfy a SQL expression; ``None`` if none does.

        Append tables rewrite the files that hold such rows, primary-key tables write deletes for their keys.
        """
        schema = self._checked_schema(writing=True)
        self.check_changeable()
        who = Identity.of(schema)
        node = where if isinstance(where, pred.Node) else parse_where(where, schema.fields)
        if not schema.primary_keys:
            return self._tidied(delete_from_append_table(self._store, node, who))
        matching = BranchRead(self._store, schema, self.latest_snapshot(), schema.fields, node)
        return self._by_the_rules(lambda guard: delete_from_keyed_table(self._store, matching.to_arrow(), who, guard))

    def replace_rows(self, scan: Scan, data: Any, *, operation: str) -> Snapshot | None:
        """Put rows in the place of all rows of the files that a scan of this append table reads; fails if a file is gone.

        For statements that change some rows of a table, and read it to know what becomes of each.
        """
        schema = self._checked_schema(writing=True)
        if schema.primary_keys or scan.snapshot is None:
            raise UnsupportedError(f"table {self.name} has no files to rewrite: write() the rows instead")
        if len(scan.parts) > 1:
            raise UnsupportedError(
                f"table {self.name} is read together with another branch; change each by its own name"
            )
        entries = scan.parts[0].result.entries
        who, engine = Identity.of(schema), engine_for(data)
        made = rewrite_files(self._store, scan.snapshot, entries, data, who, operation=operation, engine=engine)
        return self._tidied(made)

    def check_changeable(self) -> None:
        """Raise if single rows cannot be changed, as in main of a chain table."""
        rules_of(self._store).check_row_changes()

    def check_deletable(self) -> None:
        """Refuse a primary-key table whose merge engine cannot delete single rows."""
        if self.schema.primary_keys:
            check_removes(MergeSpec.of(self.schema), self.name)

    def truncate(self) -> Snapshot | None:
        """Delete all rows; earlier snapshots keep theirs. ``None`` if there was nothing to delete."""
        who = Identity.of(self._checked_schema(writing=True))
        rules_of(self._store).check_drop(pred.TRUE)
        return self._by_the_rules(lambda guard: drop_rows(self._store, None, who, guard))

    def drop_partition(self, partition: Mapping[str, Any]) -> Snapshot | None:
        """Delete a partition, or all partitions that a part of the partition columns names."""
        if not partition:
            raise OptionError("name at least one partition column, or use truncate() to delete everything")
        who = Identity.of(self._checked_schema(writing=True))
        made = self._by_the_rules(lambda guard: drop_rows(self._store, partition, who, guard))
        if made is None:
            rules_of(self._store).check_drop(partition_predicate(self.schema, partition))
        return made

    def compact(
        self,
        *,
        full: bool = False,
        where: str | None = None,
        order_by: Sequence[str] = (),
        strategy: str = "order",
        report: Callable[[int, int], None] | None = None,
        spark: SparkSession | None = None,
    ) -> Snapshot | None:
        """Merge files where there are too many, or all that can be merged if ``full``.

        Primary-key tables merge the sorted runs of a bucket, append tables pack small files. ``where`` is a SQL expression
        over the partition columns. With ``order_by`` all rows of an append table without buckets are written anew, sorted by
        these columns in turn, or along a curve through them (``strategy`` "zorder" or "hilbert"), so that queries with
        conditions on them skip files. ``report`` is called with the number of buckets (or packs) done and of all. With a
        Spark session, given here or to ``connect``, tasks do the work. Gives the new snapshot, ``None`` if there was
        nothing to do.
        """
        schema = self._checked_schema(writing=True)
        node = None if where is None else parse_where(where, schema.partition_fields)
        order = SortOrder.of(schema, strategy, order_by, where=f"table {self.name}") if order_by else None
        run = compact_keyed_table if schema.primary_keys else partial(compact_append_table, order=order)
        engine = engine_on(spark or self._spark)
        return self._tidied(run(self._store, full=full, where=node, report=report, engine=engine))

    def analyze(
        self, columns: Sequence[str] | str | None = None, *, scan: bool = True, spark: SparkSession | None = None
    ) -> Snapshot | None:
        """Count the rows, look at how the values of columns are spread, and write it down as statistics of the table.

        ``columns`` are names, or ``"all"`` for all that are not nested. Other engines plan with the statistics; the system
        table ``$statistics`` shows them. With ``scan=False`` rows are counted from metadata alone, or the table is refused.
        With a Spark session, given here or to ``connect``, tasks read the rows. Gives the new snapshot of kind ANALYZE,
        ``None`` for a table without snapshots.
        """
        schema = self._checked_schema(writing=True)
        rules_of(self._store).check_analyze()
        chosen = columns_to_analyze(schema, columns, where=f"table {self.name}")
        if chosen and not scan:
            raise OptionError("columns are analyzed by reading them; leave out columns= or scan=False")
        summarise = None
        if spark is not None or self._spark is not None:
            from lakebed.spark.analyze_on_spark import SummariseOnSpark  # noqa: PLC0415 - Spark is optional

            summarise = SummariseOnSpark(spark or self._spark)
        who = Identity.of(schema)
        return self._tidied(analyze(self._store, chosen, who=who, scan=scan, summarise=summarise))

    def rescale(
        self, buckets: int | None = None, *, where: str | None = None, spark: SparkSession | None = None
    ) -> Snapshot | None:
        """Spread the rows of partitions over another number of buckets; without one over as many as option ``bucket`` says.

        ``where`` is a SQL expression over the partition columns. The option ``bucket`` itself stays: change it with
        :meth:`alter` first, or writes to these partitions will be refused. With a Spark session, given here or to
        ``connect``, tasks do the work. ``None`` if there was nothing to do.
        """
        schema = self._checked_schema(writing=True)
        wanted = checked_buckets(schema, buckets, self.name)
        node = None if where is None else parse_where(where, schema.partition_fields)
        latest = self.latest_snapshot()
        if latest is None:
            return None
        own = BranchRead(self._store, schema, latest, schema.fields, node)
        session = spark or self._spark
        rows: Any = pa.RecordBatchReader.from_batches(schema.arrow_schema, own.batches())
        if session is not None:
            from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional

            rows = to_spark(session, [own])
        run = partial(rescale, self._store, latest, rows, wanted, Identity.of(schema), engine=engine_on(session))
        return self._by_the_rules(lambda guard: run(guard=guard), same_rows=True)

    # ----------------------------------------------------------------------------------------------- changing

    def alter(self, *changes: SchemaChange) -> TableSchema:
        """Change columns, options or the comment; gives the new schema. All changes are made, or none.

        See :mod:`lakebed.changes` for what there is. Types may be given as text.
        """
        where = f"table {self.name}"
        rules = alter_rules(self._store, [_checked(change) for change in changes])
        check_new({c.key: c.value for c in rules.changes if isinstance(c, SetOption)}, where=where)
        for change in rules.changes:
            if isinstance(change, SetOption) and change.key in _BRANCH_OPTIONS and change.value:
                self._store.on_branch(change.value)
        has_snapshots = self.latest_snapshot() is not None

        def derive(current: TableSchema, own: Sequence[SchemaChange], old: bool) -> TableSchema:
            now = time.time_ns() // 1_000_000
            changed = apply_changes(current, own, time_millis=now, has_snapshots=old)
            if changed.options != current.options:
                check_buckets(changed, where)
            check_new_keyed(changed, where)
            rules.check(changed, where)
            return changed

        rules.change_branches(self._store, derive)
        made = self._store.schemas.change(lambda current: derive(current, rules.changes, has_snapshots))
        rules.finish(self._store)
        return made

    # ------------------------------------------------------------------------------------------------ branches

    def branch(self, name: str) -> Table:
        """The same table on another branch."""
        return Table(self._store.on_branch(name), self._spark)

    def create_branch(
        self, name: str, *, tag: str | None = None, snapshot: int | None = None, ignore_if_exists: bool = False
    ) -> Table:
        """Make a branch, empty or with what a tag or a snapshot holds; gives the table on that branch."""
        create_branch(self._store, name, tag=tag, snapshot=snapshot, ignore_if_exists=ignore_if_exists)
        return self.branch(name)

    # ------------------------------------------------------------------------------------------------- inside

    def _by_the_rules(self, run: Callable[[Guard], Snapshot | None], *, same_rows: bool = False) -> Snapshot | None:
        """Write to this branch under the rules of the table."""
        rules = rules_of(self._store)
        made = rules.write(run, same_rows=same_rows)
        if made is not None:
            rules.after_commit()
        return made

    def _tidied(self, made: Snapshot | None) -> Snapshot | None:
        """Expire what is too old after a commit, as the options of the table say."""
        if made is not None:
            rules_of(self._store).after_commit()
        return made

    def _checked_schema(self, *, writing: bool) -> TableSchema:
        """The latest schema of a table that Lakebed can read, or write."""
        schema = self.schema
        check_existing(schema.options, where=f"table {self.name}", writing=writing)
        check_keyed(schema, f"table {self.name}")
        return schema


def _checked(change: object) -> SchemaChange:
    """A change of schema as the layers below want it, or an error for what is none."""
    if not isinstance(change, SchemaChange):
        raise SchemaError(f"{change!r} is not a change of schema; lakebed.changes has those that there are")
    if isinstance(change, SetOption):
        return replace(change, value=normalise({change.key: change.value})[change.key])
    if isinstance(change, AddColumn | UpdateColumnType) and not isinstance(change.type, str | DataType):
        raise SchemaError(f"{change.type!r} is not a column type; give it as text, like 'DECIMAL(10, 2)'")
    return change
