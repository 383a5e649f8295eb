"""A read of a table, described first and run when asked: columns, rows, version.

``plan`` and ``explain`` show what will be opened, and open no data file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.chain.layout import ChainTable, Role, branch_names, role_of
from lakebed.chain.reading.branch_versions import Moment, latest_moment, moment_at
from lakebed.chain.reading.chain_reader import ASKED
from lakebed.chain.reading.explain import ViewCost, costs, explained
from lakebed.chain.reading.read_chain import ChainParts, read_chain
from lakebed.chain.reading.read_metrics import ChainMetrics
from lakebed.errors import NotFoundError, OptionError, UnsupportedError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.snapshot import Snapshot
from lakebed.format.types.data_types import Field, field_to_arrow
from lakebed.metadata.data_paths import path_array
from lakebed.metadata.plan.file_scan import PruneStep
from lakebed.metadata.plan.interval import Interval
from lakebed.metadata.store import TableStore
from lakebed.operations.read import BranchRead, parts_of
from lakebed.operations.read_changes import IncrementalRead, Part
from lakebed.options import TableOptions
from lakebed.rows.aggregates import count, min_max
from lakebed.rows.where import parse_where

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import DataFrame, SparkSession


_WATERMARK: Final = "watermark-"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan will open: the snapshot, the files, and what each step of planning kept.

    ``files`` has a row per data file: path, partition, bucket, level, rows and bytes. In a chain table a file is there once
    for each partition that it is read for, and ``views`` tells how each partition is put together.
    """

    table: str
    snapshot: Snapshot | None
    columns: tuple[str, ...]
    where: str | None
    files: pa.Table
    steps: tuple[PruneStep, ...]
    interval: Interval | None = None
    views: tuple[ViewCost, ...] = ()
    moment: Moment | None = None

    @property
    def file_count(self) -> int:
        return len(self.files)

    @property
    def byte_count(self) -> int:
        return int(pc.sum(self.files["file_size_in_bytes"]).as_py() or 0)

    @property
    def record_count(self) -> int:
        """Rows in the files left; the result has at most as many."""
        return int(pc.sum(self.files["record_count"]).as_py() or 0)

    def __str__(self) -> str:
        at = "no snapshot yet" if self.snapshot is None else f"snapshot {self.snapshot.id}"
        if self.moment is not None:
            at = f"{at} of main, {self.moment}"
        head = f"scan of {self.table} at {at}" if self.interval is None else f"scan of {self.table}: {self.interval}"
        lines = [head, f"  columns: {', '.join(self.columns)}"]
        if self.where is not None:
            lines.append(f"  where: {self.where}")
        lines += [f"  {step}" for step in self.steps]
        lines += [f"  {line}" for line in explained(self.views)]
        lines.append(
            f"  to read: {self.file_count} files, {self.byte_count:,} bytes, {self.record_count:,} rows at most"
        )
        return "\n".join(lines)


class Scan:
    """One read of one version of a table, or of what changed between two. Make it with :meth:`lakebed.Table.scan`."""

    def __init__(
        self,
        store: TableStore,
        *,
        columns: Sequence[str] | None,
        where: str | pred.Node | None,
        snapshot: Snapshot | None,
        schema: TableSchema,
        time_travel: bool = False,
        interval: Interval | None = None,
        chain: tuple[ChainTable, Moment] | None = None,
    ) -> None:
        self._store = store
        self._chain = chain
        self._interval = interval
        self._time_travel = time_travel
        self._snapshot = snapshot
        self._schema = schema
        names = schema.field_names if columns is None else _names(columns)
        for name in names:
            if name not in schema.field_names:
                raise NotFoundError(unknown_name("column", name, schema.field_names, where=f"table {store.name}"))
        if len(set(names)) < len(names):
            raise OptionError(f"a column is asked for more than once: {', '.join(names)}")
        self._columns = schema.select(names)
        self._predicate = _condition(where, schema)

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that is read, ``None`` for a table without one."""
        return self._snapshot

    @property
    def columns(self) -> tuple[Field, ...]:
        """The columns of the result, with their types in the table."""
        return self._columns

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return pa.schema([field_to_arrow(column) for column in self._columns])

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is read of which branch; mostly one part."""
        if self._interval is not None:
            return (IncrementalRead(self._store, self._schema, self._interval, self._columns, self._predicate),)
        if self._chained is not None:
            return self._chained.parts
        return parts_of(self._whole, time_travel=self._time_travel)

    @property
    def _whole(self) -> BranchRead:
        return BranchRead(self._store, self._schema, self._snapshot, self._columns, self._predicate)

    @cached_property
    def _chained(self) -> ChainParts | None:
        """The planned read of a chain table; ``None`` for any other."""
        return None if self._chain is None else read_chain(self._whole, *self._chain)

    @property
    def metrics(self) -> ChainMetrics | None:
        """What putting partitions of a chain table together has cost in this process so far; ``None`` for other tables."""
        return None if self._chained is None else self._chained.metrics

    def plan(self) -> Plan:
        """What will be read, without reading it."""
        files = pa.concat_tables([_files_of(part) for part in self.parts])
        text = None if self._predicate is None else pred.to_text(self._predicate)
        names = tuple(column.name for column in self._columns)
        steps = tuple(step for part in self.parts for step in part.result.steps)
        views = () if self._chained is None else costs(self._chained)
        moment = None if self._chain is None else self._chain[1]
        return Plan(self._store.name, self._snapshot, names, text, files, steps, self._interval, views, moment)

    def partitions(self) -> pa.Array:
        """The partitions that have files to read, as encoded rows."""
        if self._chained is not None:
            return self._chained.plan.partitions
        return pc.unique(pa.chunked_array([part.result.entries["partition"].combine_chunks() for part in self.parts]))

    def explain(self) -> str:
        """The plan as text: what each step kept, and what is left to read."""
        return str(self.plan())

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return pa.concat_tables([self._as_declared(part.to_arrow()) for part in self.parts])

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches, for results larger than memory."""
        batches = (batch for part in self.parts for batch in part.batches())
        if len(self.parts) > 1:
            batches = (pa.RecordBatch.from_arrays(batch.columns, schema=self.schema) for batch in batches)
        return pa.RecordBatchReader.from_batches(self.schema, batches)

    def _as_declared(self, table: pa.Table) -> pa.Table:
        """Branches may differ in what may be null; the table's own schema says what is promised."""
        return table if table.schema == self.schema else pa.Table.from_arrays(table.columns, schema=self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas frame (needs pandas)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a Polars frame (needs polars)."""
        try:
            import polars as pl  # noqa: PLC0415 - optional
        except ImportError:
            raise UnsupportedError("to_polars() needs Polars: pip install 'lakebed[polars]'") from None
        return cast("pl.DataFrame", pl.from_arrow(self.to_arrow()))

    def to_spark(self, spark: SparkSession | None = None) -> DataFrame:
        """The rows as a Spark DataFrame (needs Spark), in the given session, the active one, or a new local one.

        Ask for columns and rows here rather than of the DataFrame: what has to be merged is then read in part only.
        """
        from lakebed.spark.read.read_frame import to_spark  # noqa: PLC0415 - Spark is optional
        from lakebed.spark.session import get_session  # noqa: PLC0415 - Spark is optional

        return to_spark(get_session(spark), self.parts)

    def count(self) -> int:
        """The number of rows, from metadata as far as that is exact: files are read only where it is not."""
        return sum(count(part.reader, part.result.entries) for part in self.parts)

    def min_max(self, column: str) -> tuple[Any, Any]:
        """The least and the greatest value of a column, from metadata where that is exact; ``None`` if there is none."""
        if column not in self._schema.field_names:
            where = f"table {self._store.name}"
            raise NotFoundError(unknown_name("column", column, self._schema.field_names, where=where))
        least, greatest = min_max([(part.reader, part.result.entries) for part in self.parts], column)
        return least.as_py(), greatest.as_py()


def _files_of(part: Part) -> pa.Table:
    entries = part.result.entries
    return pa.table(
        {
            "file_path": path_array(part.store, part.schema, entries),
            "partition": entries[ASKED if ASKED in entries.column_names else "partition"],
            "bucket": entries["bucket"],
            "level": entries["level"],
            "record_count": entries["row_count"],
            "file_size_in_bytes": entries["file_size"],
        }
    )


def _condition(where: str | pred.Node | None, schema: TableSchema) -> pred.Node | None:
    if where is None or isinstance(where, pred.Node):
        return where
    return parse_where(where, schema.fields)


def _names(columns: Sequence[str]) -> tuple[str, ...]:
    if isinstance(columns, str) or not columns:
        raise OptionError(f"columns must be a list of at least one column name, not {columns!r}")
    return tuple(columns)


def scan_at(
    store: TableStore,
    columns: Sequence[str] | None,
    where: str | pred.Node | None,
    *,
    version: int | str | None,
    timestamp: Any,
    tag: str | None,
) -> Scan:
    """A read of a table at the version asked for, with the columns it had then; of a chain table, all its branches.

    The branches of a chain table have schemas of their own, so it is read with today's columns at any time.
    """
    travelled = version is not None or timestamp is not None or tag is not None
    if role_of(store) is Role.MAIN and (chain := ChainTable.of(store)) is not None:
        snapshot, moment = _chain_state(chain, version=version, timestamp=timestamp, tag=tag)
        return Scan(
            store,
            columns=columns,
            where=where,
            snapshot=snapshot,
            schema=store.schema(),
            time_travel=travelled,
            chain=(chain, moment),
        )
    snapshot = find_snapshot(store, version=version, timestamp=timestamp, tag=tag)
    schema = store.schema_of(snapshot) if snapshot is not None and travelled else store.schema()
    return Scan(store, columns=columns, where=where, snapshot=snapshot, schema=schema, time_travel=travelled)


def _chain_state(
    chain: ChainTable, *, version: int | str | None, timestamp: Any, tag: str | None
) -> tuple[Snapshot | None, Moment]:
    """The snapshots of main and of both branches that a read of a chain table asks for."""
    if version is None and timestamp is None and tag is None:
        return chain.main.snapshots.latest(), latest_moment(chain)
    if timestamp is None or version is not None or tag is not None:
        try:
            snapshot = find_snapshot(chain.main, version=version, timestamp=timestamp, tag=tag)
        except NotFoundError as error:
            raise NotFoundError(
                f"{error}. {chain.main.name} is a chain table, whose branches count their snapshots each for itself: read it by "
                f"timestamp=, or a branch by its name ({chain.main.name}$branch_{chain.full.paths.branch})"
            ) from None
        millis = 0 if snapshot is None else snapshot.time_millis
        return snapshot, moment_at(chain, millis)
    millis = _as_millis(timestamp)
    snapshot, moment = chain.main.snapshots.at(millis), moment_at(chain, millis)
    if snapshot is None and moment.full is None and moment.delta is None:
        raise NotFoundError(
            f"chain table {chain.main.name} has no snapshot in any branch at or before {_as_text(millis)}"
        )
    return snapshot, moment


def check_has_changes(store: TableStore) -> None:
    """Refuse to read what changed in a chain table's main branch, which is put together from others."""
    if role_of(store) is Role.MAIN:
        names = branch_names(store.schema())
        delta = "" if names is None else names[1]
        raise UnsupportedError(
            f"table {store.name} is a chain table: its changes are written to branch {delta!r}, and main has no history of "
            f"them. Read {store.name}$branch_{delta} instead"
        )


def find_snapshot(store: TableStore, *, version: int | str | None, timestamp: Any, tag: str | None) -> Snapshot | None:
    """The snapshot that a read asks for; the latest (or ``None`` without one) if it does not say."""
    if sum(given is not None for given in (version, timestamp, tag)) > 1:
        raise OptionError("give at most one of version=, timestamp= and tag=")
    if any(isinstance(name, str) and ("\0" in name or "/" in name) for name in (version, tag)):
        raise NotFoundError(f"table {store.name} has no tag {tag or version!r}: that is not the name of a tag")
    if tag is not None:
        return store.snapshots.tag(tag)
    if version is not None:
        return _by_version(store, version)
    if timestamp is None:
        return store.snapshots.latest()
    millis = _as_millis(timestamp)
    found = store.snapshots.at(millis)
    if found is None:
        earliest = store.snapshots.earliest()
        first = "there are no snapshots" if earliest is None else f"the earliest is of {_as_text(earliest.time_millis)}"
        raise NotFoundError(f"table {store.name} has no snapshot at or before {_as_text(millis)}; {first}")
    return found


def version_of_options(given: Mapping[str, str]) -> tuple[Any, Any, Any]:
    """The version, timestamp and tag that options ``scan.*`` ask for."""
    options = TableOptions(given)
    watermark = options.get("scan.watermark")
    version = options.get("scan.snapshot-id") or options.get("scan.version")
    if version is None and watermark is not None:
        version = f"{_WATERMARK}{watermark}"
    timestamp = options.get("scan.timestamp-millis") or options.get("scan.timestamp")
    return version, timestamp, options.get("scan.tag-name")


def _by_version(store: TableStore, version: int | str) -> Snapshot:
    """A snapshot id, ``watermark-<n>``, or a tag; a tag of such a name wins, as in Spark's ``VERSION AS OF``."""
    if isinstance(version, str):
        tagged = store.snapshots.find_tag(version)
        if tagged is not None:
            return tagged
        if re.fullmatch(rf"{_WATERMARK}-?\d+", version):
            return _by_watermark(store, int(version.removeprefix(_WATERMARK)))
        if not (version.isascii() and version.isdigit()):
            return store.snapshots.tag(version)
    elif isinstance(version, bool) or not isinstance(version, int):
        raise OptionError(f"version must be a snapshot id or the name of a tag, not {version!r}")
    return store.snapshots.get(int(version))


def _by_watermark(store: TableStore, watermark: int) -> Snapshot:
    """The first snapshot whose watermark is as high: all rows up to it are there."""
    found = store.snapshots.since_watermark(watermark)
    if found is None:
        raise NotFoundError(f"table {store.name} has no snapshot with a watermark of at least {watermark}")
    return found


def _as_millis(timestamp: Any) -> int:
    """Epoch milliseconds of a number, a datetime, or ISO text; times without a zone are local, as in Spark."""
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | str | dt.datetime):
        raise OptionError(f"timestamp must be epoch milliseconds, a datetime or ISO text, not {timestamp!r}")
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, str):
        try:
            timestamp = dt.datetime.fromisoformat(timestamp)
        except ValueError:
            raise OptionError(f"timestamp {timestamp!r} is not of the form 2025-01-31 12:00:00") from None
    try:
        millis: int = round(timestamp.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise OptionError(f"timestamp {timestamp} is out of range") from None
    return millis


def _as_text(millis: int) -> str:
    try:
        moment = dt.datetime.fromtimestamp(millis / 1000)  # noqa: DTZ006 - local
    except (ValueError, OverflowError, OSError):
        return f"{millis} ms"
    return moment.isoformat(sep=" ", timespec="milliseconds")
