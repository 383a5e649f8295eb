"""What a table does that only chain tables do: build full partitions, become a chain table, and become a plain one again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed.chain.compact_chain import Asked, ChainCompaction, ChainPolicy, compact_chain
from lakebed.chain.convert import disable_chain, enable_chain, is_half_way
from lakebed.chain.layout import ChainTable
from lakebed.chain.reading.branch_versions import BranchVersions
from lakebed.chain.reading.plan_views import View
from lakebed.chain.reading.read_chain import read_views
from lakebed.chain.staleness import ChainState
from lakebed.errors import OptionError
from lakebed.format import predicate as pred
from lakebed.format.partition_names import partition_predicate
from lakebed.format.paths import MAIN_BRANCH
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.store import TableStore
from lakebed.operations.after_commit import after_commit
from lakebed.options import TableOptions, normalise
from lakebed.rows.where import parse_where
from lakebed.spark.choose_engine import engine_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Partition = Mapping[str, Any]


class ChainVerbs:
    """The part of a table that is about its chain."""

    _store: TableStore
    _spark: SparkSession | None
    alter: Callable[..., TableSchema]

    def compact_chain(
        self,
        partition: Partition | Sequence[Partition] | None = None,
        *,
        where: str | None = None,
        policy: ChainPolicy | Mapping[str, Any] | None = None,
        overwrite: bool = False,
        dry_run: bool = False,
        spark: SparkSession | None = None,
    ) -> ChainCompaction:
        """Build full partitions of a chain table, so that reads of them, and of the days after them, merge less.

        Which: those that ``partition`` names (one or several; without the columns of the group, in every group), those that
        satisfy ``where``, a SQL expression over the partition columns, or what ``policy`` picks: as soon as a chain is
        ``depth`` partitions deep, its changes weigh ``bytes``, or its anchor is ``age`` old. Only days with changes of their
        own are built. One that is full already is left alone, unless it is stale or ``overwrite`` says to build it anew.
        Changes stay. With ``dry_run`` nothing is built, and the result says what it would cost and gain. With a Spark
        session, given here or to ``connect``, tasks do the work.
        """
        chain = self._chain()
        schema = chain.main.schema()
        if partition is None and where is None and policy is None:
            raise OptionError("say which partitions are to be built: partition=, where= or policy=")
        node = _condition(schema, partition, where)
        asked = Asked(node, None if policy is None else ChainPolicy.of(policy), overwrite)
        session = spark or self._spark
        done = compact_chain(chain, asked, _reader(chain, session), dry_run=dry_run, engine=engine_on(session))
        if done.built and not dry_run:
            after_commit(chain.full, lambda _: None)
        return done

    def enable_chain(
        self,
        *,
        timestamp_pattern: str | None = None,
        timestamp_formatter: str | None = None,
        chain_keys: Sequence[str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Make this plain table a chain table whose full partitions are what it holds; no row is written anew.

        What is given goes to the options ``partition.timestamp-pattern``, ``partition.timestamp-formatter`` and
        ``chain-table.chain-partition-keys``; ``options`` are more of them, such as other names of the branches.
        """
        self._check_main()
        known = ChainTable.of(self._store)
        if known is not None and not is_half_way(known):
            raise OptionError(f"table {self._store.name} is a chain table already")
        given = {
            TableOptions.partition_timestamp_pattern.name: timestamp_pattern,
            TableOptions.partition_timestamp_formatter.name: timestamp_formatter,
            TableOptions.chain_partition_keys.name: None if chain_keys is None else ",".join(chain_keys),
        }
        wanted = {name: value for name, value in given.items() if value is not None}
        enable_chain(self._store, {**normalise(options or {}), **wanted}, lambda changes: self.alter(*changes))

    def disable_chain(self, *, dry_run: bool = False) -> None:
        """Make this chain table a plain one that holds its full partitions; no row is written anew.

        Days that exist only as changes are an error: :meth:`compact_chain` them first. The branches stay; drop them when
        they are not needed any more. With ``dry_run`` it is only looked at whether that is possible.
        """
        self._check_main()
        disable_chain(self._chain(), lambda changes: self.alter(*changes), dry_run=dry_run)

    def _chain(self) -> ChainTable:
        chain = ChainTable.of(self._store.on_branch(MAIN_BRANCH))
        if chain is None:
            raise OptionError(f"table {self._store.name} is no chain table; enable_chain() makes it one")
        return chain

    def _check_main(self) -> None:
        if self._store.paths.branch != MAIN_BRANCH:
            raise OptionError(
                f"open table {self._store.name} itself for that, not its branch {self._store.paths.branch!r}"
            )


def _condition(schema: TableSchema, partition: Partition | Sequence[Partition] | None, where: str | None) -> pred.Node:
    """What partitions a call asks for, as a condition on partition columns."""
    parts: list[pred.Node] = [] if where is None else [parse_where(where, schema.partition_fields)]
    if partition is not None:
        specs = [partition] if isinstance(partition, Mapping) else list(partition)
        if not specs or not all(specs):
            raise OptionError("partition= must name values of partition columns, such as {'date': '20250729'}")
        parts.append(pred.disjunction(partition_predicate(schema, spec) for spec in specs))
    return pred.conjunction(parts)


def _reader(chain: ChainTable, spark: SparkSession | None) -> Callable[[ChainState, Sequence[View]], Any]:
    def read(state: ChainState, views: Sequence[View]) -> Any:
        part = read_views(chain, BranchVersions(state.full, state.delta), views)
        if spark is None:
            return pa.RecordBatchReader.from_batches(part.reader.arrow_schema, part.batches())
        from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional

        return to_spark(spark, (part,))

    return read
