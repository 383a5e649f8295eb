"""The methods of a table that maintain its files: compaction, statistics, expiry, clean-up and verification.

All of them work on the branch that the table was opened on, unless they say otherwise. ``dry_run=True`` returns what a
call would do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed.deprecation import stated_dry_run
from lakebed.errors import LakebedError, OptionError
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_text
from lakebed.format.printed import Dropped
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import Length, Time, parse_length
from lakebed.metadata.commit.identity import Identity
from lakebed.metadata.one_look import one_look
from lakebed.metadata.references.removal import Removal
from lakebed.metadata.store import TableStore
from lakebed.operations.analyze import analyze, columns_to_analyze
from lakebed.operations.compact.compact_append import compact_append_table
from lakebed.operations.compact.compact_keyed import compact_keyed_table
from lakebed.operations.compact.compact_manifests import ManifestCompaction, compact_manifests
from lakebed.operations.compact.idle_partitions import idle_partitions
from lakebed.operations.expire.expire_snapshots import Expiry, expire_snapshots
from lakebed.operations.mark_partitions_done import mark_partitions_done
from lakebed.operations.orphans import remove_orphan_files
from lakebed.operations.repair.rebuild_index import IndexRebuild, rebuild_index
from lakebed.operations.repair.remove_missing_files import remove_missing_files
from lakebed.operations.repair.repair_torn import TableRepair, repair_torn
from lakebed.operations.rescale import checked_buckets, rescale, whole_partitions
from lakebed.operations.verify.report import Report
from lakebed.operations.verify.verify import verify
from lakebed.rows.sort_order import SortOrder
from lakebed.rows.where import parse_where
from lakebed.spark.choose_engine import engine_on
from lakebed.table_checks import checked_schema
from lakebed.table_kinds import rules_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class MaintenanceMethods:
    """The part of a table that keeps its files in good order."""

    _store: TableStore
    _spark: SparkSession | None
    _after: Callable[[Callable[[], Snapshot | None]], Snapshot | None]
    _by_the_rules: Callable[..., Snapshot | None]

    # ---------------------------------------------------------------------------------------------- compaction

    @one_look()
    def compact(
        self,
        *,
        full: bool = False,
        where: str | None = None,
        order_by: Sequence[str] = (),
        strategy: str = "order",
        idle_for: Length | None = None,
        report: Callable[[int, int], None] | None = None,
        spark: SparkSession | None = None,
    ) -> Snapshot | None:
        """Merges data files where there are too many of them.

        Primary-key tables merge the sorted runs of each bucket, append tables join small files. With ``order_by`` an
        append table without buckets is rewritten in that order, so that queries with conditions on these columns skip
        files.

        Args:
            full: Merge everything that can be merged.
            where: A SQL expression over the partition columns that selects partitions.
            order_by: The names of the columns to sort by.
            strategy: How to sort: ``order`` by one column after the other, ``zorder`` or ``hilbert`` along a curve.
            idle_for: Only partitions that got no file for this long, such as ``"1 d"``.
            report: Called with the number of finished buckets (or groups of files) and the number of all.
            spark: A Spark session whose tasks do the work; by default the one given to ``connect``, else this process.

        Returns:
            The new snapshot; ``None`` if there was nothing to do.

        Raises:
            CommitConflictError: Another commit removed a file that this one replaces.

        Example:
            >>> snapshot = orders.write([{"id": 4, "customer": "eve", "amount": 5.0, "day": "2025-01-31"}])
            >>> print(orders.compact(full=True).commit_kind)
            COMPACT
        """
        schema = checked_schema(self._store, writing=True)
        node = None if where is None else parse_where(where, schema.partition_fields)
        if idle_for is not None:
            idle = idle_partitions(self._store, schema, parse_length(idle_for, "idle_for"))
            node = idle if node is None else pred.conjunction([node, idle])
        order = SortOrder.of(schema, strategy, order_by, where=f"table {self._store.name}") if order_by else None
        run = compact_keyed_table if schema.primary_keys else partial(compact_append_table, order=order)
        engine = engine_on(spark or self._spark)
        return self._after(lambda: run(self._store, full=full, where=node, report=report, engine=engine))

    @one_look()
    def compact_manifests(self, *, dry_run: bool = False) -> ManifestCompaction:
        """Rewrites the list of data files without the entries that cancel out.

        Args:
            dry_run: Write nothing, and return what would be written.

        Returns:
            The manifests before and after.
        """
        return compact_manifests(self._store, dry_run=dry_run)

    def rescale(
        self, buckets: int | None = None, *, where: str | None = None, spark: SparkSession | None = None
    ) -> Snapshot | None:
        """Distributes the rows of partitions over another number of buckets.

        The option ``bucket`` does not change: change it with :meth:`alter` first, or writes to these partitions are
        refused.

        Args:
            buckets: The number of buckets; by default what the option ``bucket`` says.
            where: A SQL expression over the partition columns that selects partitions.
            spark: A Spark session whose tasks do the work; by default the one given to ``connect``, else this process.

        Returns:
            The new snapshot; ``None`` if there was nothing to do.

        Raises:
            CommitConflictError: Another commit changed a partition that this one rewrites.
            OptionError: The table has no fixed number of buckets.
        """
        schema = checked_schema(self._store, writing=True)
        wanted = checked_buckets(schema, buckets, self._store.name)
        node = None if where is None else parse_where(where, schema.partition_fields)
        latest = self._store.snapshots.latest()
        if latest is None:
            return None
        own = whole_partitions(self._store, schema, latest, node)
        session = spark or self._spark
        rows: Any = pa.RecordBatchReader.from_batches(schema.arrow_schema, own.batches())
        if session is not None:
            from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional

            rows = to_spark(session, [own])
        run = partial(rescale, self._store, latest, rows, wanted, Identity.of(schema), engine=engine_on(session))
        return self._by_the_rules(lambda guard: run(guard=guard), same_rows=True)

    def analyze(
        self, columns: Sequence[str] | str | None = None, *, scan: bool = True, spark: SparkSession | None = None
    ) -> Snapshot | None:
        """Counts the rows and the values of columns, and commits the result as statistics of the table.

        Other engines plan with the statistics; the system table ``$statistics`` shows them.

        Args:
            columns: The names of the columns, or ``"all"`` for all that are not nested; by default none.
            scan: Whether data files may be read; else rows are counted from metadata alone.
            spark: A Spark session whose tasks read the rows; by default the one given to ``connect``, else this
                process.

        Returns:
            The new snapshot of kind ANALYZE; ``None`` for a table without snapshots.

        Raises:
            OptionError: Columns are given with ``scan=False``.
            UnsupportedError: ``scan`` is false and metadata cannot tell the number of rows.

        Example:
            >>> print(orders.analyze("all").commit_kind)
            ANALYZE
        """
        schema = checked_schema(self._store, writing=True)
        rules_of(self._store).check_analyze()
        chosen = columns_to_analyze(schema, columns, where=f"table {self._store.name}")
        if chosen and not scan:
            raise OptionError("columns are analyzed by reading them; leave out columns= or scan=False")
        summarise = None
        if spark is not None or self._spark is not None:
            from lakebed.spark.analyze_on_spark import SummariseOnSpark  # noqa: PLC0415 - Spark is optional

            summarise = SummariseOnSpark(spark or self._spark)
        who = Identity.of(schema)
        return self._after(lambda: analyze(self._store, chosen, who=who, scan=scan, summarise=summarise))

    # -------------------------------------------------------------------------------------------------- expiry

    @one_look()
    def expire_snapshots(
        self,
        *,
        retain_max: int | None = None,
        retain_min: int | None = None,
        older_than: Time | None = None,
        max_deletes: int | None = None,
        dry_run: bool = False,
    ) -> Expiry:
        """Deletes the oldest snapshots, and the files that nothing else needs.

        Tags, branches and consumers protect their snapshots. What is not given comes from the table's ``snapshot.*``
        options.

        Args:
            retain_max: How many snapshots are kept at most.
            retain_min: How many snapshots are kept at least.
            older_than: Snapshots younger than this time are kept, unless there are more than ``retain_max``.
            max_deletes: How many snapshots are deleted at most.
            dry_run: Delete nothing, and return what would be deleted.

        Returns:
            The snapshots and the files.

        Raises:
            OptionError: The arguments contradict each other.

        Example:
            >>> snapshot = orders.truncate()
            >>> expiry = orders.expire_snapshots(retain_max=1, dry_run=True)
            >>> print(expiry)  # doctest: +ELLIPSIS
            would expire snapshot 1 and delete 5 files, ... KiB:
              snapshot        1 file ...
              data           2 files ...
              manifest list  2 files ...
            first files, below ...:
              snapshot/snapshot-1 (...)
            ...
            >>> expiry.snapshots, expiry.removal.by_kind()["data"][0]
            ((1,), 2)
        """
        if not dry_run:
            rules_of(self._store).before_expiry()
        return expire_snapshots(
            self._store,
            retain_max=retain_max,
            retain_min=retain_min,
            older_than=older_than,
            max_deletes=max_deletes,
            dry_run=dry_run,
        )

    @one_look()
    def expire_partitions(
        self,
        *,
        expiration_time: Length | None = None,
        timestamp_formatter: str | None = None,
        timestamp_pattern: str | None = None,
        strategy: str | None = None,
        max_expires: int | None = None,
        dry_run: bool = False,
    ) -> Dropped[dict[str, Any]]:
        """Drops old partitions. A chain table drops a full partition together with the changes that build on it.

        What is not given comes from the table's ``partition.*`` options.

        Args:
            expiration_time: The age from which partitions are dropped, such as ``30 d``.
            timestamp_formatter: How the time of a partition is written, such as ``yyyyMMdd``.
            timestamp_pattern: How the time is made from partition columns, such as ``$dt $hour:00:00``.
            strategy: ``values-time`` takes the time from the values of a partition, ``update-time`` from its newest
                file.
            max_expires: How many partitions are dropped at most.
            dry_run: Drop nothing, and return what would be dropped.

        Returns:
            The partitions, oldest first, as a list.

        Raises:
            OptionError: The table has no partitions, or nothing says when they expire.

        Example:
            >>> print(orders.expire_partitions(expiration_time="365 d", timestamp_formatter="yyyy-MM-dd", dry_run=True))
            would drop 2 partitions:
              day=2025-01-30
              day=2025-01-31
        """
        old = rules_of(self._store).expire_partitions(
            expiration_time=expiration_time,
            timestamp_formatter=timestamp_formatter,
            timestamp_pattern=timestamp_pattern,
            strategy=strategy,
            max_expires=max_expires,
            dry_run=dry_run,
        )
        return Dropped(old, one="partition", dry_run=dry_run, show=partition_text)

    def mark_partitions_done(self, partitions: Sequence[Mapping[str, Any]]) -> list[str]:
        """Writes a file ``_SUCCESS`` into the folder of each partition, for jobs that wait for it.

        Args:
            partitions: The partitions, each with a value of every partition column.

        Returns:
            The paths of the files.

        Raises:
            OptionError: The table has no partitions.
        """
        return mark_partitions_done(self._store, partitions)

    # ---------------------------------------------------------------------------------- clean-up, verification

    def remove_orphan_files(
        self, *, older_than: Time | None = None, dry_run: bool | None = None, force: bool = False
    ) -> Removal:
        """Deletes the files that no snapshot, tag or changelog of any branch needs.

        Args:
            older_than: Only files older than this time; one day ago by default. Younger files may belong to a commit
                that is still running, which then fails. Durations count from the time of the storage.
            dry_run: Delete nothing, and return what would be deleted. Say it explicitly: until version 0.2 a call
                without it deletes nothing and warns, afterwards it deletes.
            force: Also delete files that are younger than one hour. Only if nobody writes to the table.

        Returns:
            The files.

        Raises:
            CorruptError: A snapshot file is missing or damaged, or metadata leads out of the table, so it is unknown
                which files are needed. Nothing was deleted.
            OptionError: ``older_than`` is not a time, or less than one hour ago without ``force``.

        Example:
            >>> print(orders.remove_orphan_files(dry_run=True))
            would delete no files
        """
        return remove_orphan_files(
            self._store, older_than=older_than, dry_run=stated_dry_run("remove_orphan_files", dry_run), force=force
        )

    def remove_missing_files(self, *, dry_run: bool | None = None) -> Dropped[str]:
        """Drops data files that no longer exist from the table, so that the rest can be read. Their rows are lost.

        Args:
            dry_run: Change nothing, and return what would be dropped. Say it explicitly, as for
                :meth:`remove_orphan_files`.

        Returns:
            The paths of the files, as a list.
        """
        shows = stated_dry_run("remove_missing_files", dry_run)
        return Dropped(remove_missing_files(self._store, dry_run=shows), one="file", dry_run=shows)

    def rebuild_index(self, *, dry_run: bool | None = None) -> IndexRebuild:
        """Rewrites the hash index of dynamic buckets from the data files, where it differs, is missing or is damaged.

        Args:
            dry_run: Write nothing, and return what would be written. Say it explicitly, as for
                :meth:`remove_orphan_files`.

        Returns:
            The buckets whose index differed.

        Raises:
            UnsupportedError: The table has no dynamic buckets.
        """
        return rebuild_index(self._store, dry_run=stated_dry_run("rebuild_index", dry_run))

    def repair(self, *, dry_run: bool = False) -> TableRepair:
        """Rolls the branch back to its newest whole snapshot, after a power cut left the last commits torn.

        A snapshot is whole if everything that it refers to exists with the recorded size. Later snapshots are deleted,
        and the rows that they added are lost; also tags and newest schemas that cannot be read. Hints are corrected.
        Commits of tables with ``commit.durable`` (the default) are never torn. Call it with ``dry_run=True`` first.

        Args:
            dry_run: Change nothing, and return which snapshots are whole and what would be lost.

        Returns:
            The snapshots that were checked, and what was deleted.

        Raises:
            CorruptError: No snapshot is whole. Nothing is changed.

        Example:
            >>> print(orders.repair(dry_run=True))  # doctest: +ELLIPSIS
            shop.orders: nothing to repair
            whole: snapshot 1, APPEND at ..., 3 rows in its files (+3)
        """
        return repair_torn(self._store, dry_run=dry_run)

    def verify(
        self,
        *,
        deep: bool = False,
        repair: bool = False,
        dry_run: bool | None = None,
        report: Callable[[str, int, int], None] | None = None,
    ) -> Report:
        """Checks that all metadata and files of the table exist and agree, on every branch.

        Problems are reported, not raised.

        Args:
            deep: Read every row as well.
            repair: Plan or make the repairs that are safe.
            dry_run: With ``repair``, plan the repairs without making them. Say it explicitly, as for
                :meth:`remove_orphan_files`.
            report: Called with what is being checked, how many were checked, and how many there are.

        Returns:
            The problems, and the repairs that were planned or made.

        Example:
            >>> report = orders.verify(deep=True)
            >>> report.ok, report.problems
            (True, ())
        """
        shows = stated_dry_run("verify", dry_run) if repair else True
        found = verify(self._store, deep=deep, repair=repair, dry_run=shows, report=report)
        try:
            rules = rules_of(self._store)
        except LakebedError:  # main has no readable schema, which the report says
            return found
        return found.with_problems(rules.verify())
