"""System tables, such as ``db.t$snapshots``, with Paimon's columns.

Each system table is a function that takes a table's store and returns an Arrow table. It runs when the system table is
read. ``SYSTEM_TABLES`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import NotFoundError, OptionError, UnsupportedError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.types.data_types import Field, field_from_arrow
from lakebed.metadata.plan.interval import INCREMENTAL_OPTIONS, Interval, find_interval, interval_of_options
from lakebed.metadata.plan.time_travel import find_snapshot, version_of_options
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.outputs import ArrowOutputs, checked_limit, first_rows_html
from lakebed.rows.where import Where, condition_of
from lakebed.system_tables.chain import buckets, chain, files, partitions
from lakebed.system_tables.change_logs import audit_log, binlog
from lakebed.system_tables.files import file_key_ranges, manifests, table_indexes
from lakebed.system_tables.history import (
    aggregation_fields,
    branches,
    consumers,
    options,
    schemas,
    snapshot_fields,
    snapshots,
    statistics,
    tags,
)
from lakebed.system_tables.pinned import pinned
from lakebed.system_tables.rows import read_optimised

SYSTEM_TABLES: Final[Mapping[str, Callable[[TableStore], pa.Table]]] = {
    "snapshots": snapshots,
    "schemas": schemas,
    "options": options,
    "files": files,
    "file_key_ranges": file_key_ranges,
    "manifests": manifests,
    "partitions": partitions,
    "buckets": buckets,
    "tags": tags,
    "branches": branches,
    "consumers": consumers,
    "statistics": statistics,
    "table_indexes": table_indexes,
    "aggregation_fields": aggregation_fields,
    "audit_log": audit_log,
    "binlog": binlog,
    "ro": read_optimised,
    "chain": chain,
}
"""Every system table by its name after the ``$``."""

VERSIONED: Final = frozenset(
    {
        "files",
        "file_key_ranges",
        "manifests",
        "partitions",
        "buckets",
        "statistics",
        "table_indexes",
        "audit_log",
        "binlog",
        "ro",
    }
)
"""The system tables that describe one version of the table, by default the latest one."""


CHANGES: Final[Mapping[str, Callable[[TableStore, Interval | None], pa.Table]]] = {
    "audit_log": audit_log,
    "binlog": binlog,
}
"""The system tables that can also return the changes between two versions."""


class SystemTable:
    """A read-only table with the metadata of another table. Open one with :meth:`lakebed.Lake.system_table`.

    Example:
        >>> table = lake.system_table("shop.orders$partitions")
        >>> table.scan(["partition", "record_count"]).to_arrow().sort_by("partition").to_pylist()
        [{'partition': 'day=2025-01-30', 'record_count': 2}, {'partition': 'day=2025-01-31', 'record_count': 1}]
    """

    def __init__(self, store: TableStore, kind: str) -> None:
        kind = kind.lower()
        if kind not in SYSTEM_TABLES:
            raise NotFoundError(unknown_name("system table", kind, SYSTEM_TABLES, where=f"table {store.name}"))
        for option in () if kind in CHANGES else INCREMENTAL_OPTIONS:
            if option in store.overlay:
                raise UnsupportedError(
                    f"option {option!r} is for table {store.name} itself, not for ${kind}; leave it out"
                )
        self._store = store
        self._kind = kind
        store.schema()

    @property
    def name(self) -> str:
        """The name of the system table, as ``database.table$kind``."""
        return f"{self._store.name}${self._kind}"

    @property
    def known_columns(self) -> list[Field] | None:
        """The columns, if they are known without reading; only then conditions may save reads."""
        return snapshot_fields() if self._kind == "snapshots" else None

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        *,
        limit: int | None = None,
        version: int | str | None = None,
        timestamp: Any = None,
        tag: str | None = None,
        since: Any = None,
        until: Any = None,
        mode: str = "auto",
    ) -> SystemScan:
        """Describes a read. Nothing is read until the scan is asked for rows.

        Only tables that describe one version, such as ``$files``, take ``version``, ``timestamp`` or ``tag``. Only
        ``$audit_log`` and ``$binlog`` take ``since``, ``until`` and ``mode``.

        Args:
            columns: The columns of the result; all of them by default.
            where: What rows have to satisfy, in the forms of :meth:`lakebed.Table.scan`. ``$snapshots`` only opens
                snapshots whose ``snapshot_id``, ``commit_kind`` and ``commit_time`` can satisfy it.
            limit: How many rows at most.
            version: A snapshot id or the name of a tag, as in :meth:`lakebed.Table.scan`.
            timestamp: A time, as in :meth:`lakebed.Table.scan`.
            tag: The name of a tag.
            since: Where the changes begin, as in :meth:`lakebed.Table.scan`.
            until: Where the changes end, as in :meth:`lakebed.Table.scan`.
            mode: Which changes, as in :meth:`lakebed.Table.scan`.

        Returns:
            The scan, with ``to_arrow()``, ``to_pandas()`` and ``to_polars()``.

        Raises:
            NotFoundError: There is no such snapshot or tag.
            OptionError: The arguments contradict each other.
            UnsupportedError: The table takes no versions or no changes.
        """
        asked = version is not None or timestamp is not None or tag is not None
        interval = self._interval(since, until, mode, asked=asked)
        if interval is not None:
            return SystemScan(self._store, self._kind, columns, where, interval, limit)
        if asked and self._kind not in VERSIONED:
            raise UnsupportedError(
                f"{self.name} describes the whole history, so it has no versions; read it without one. "
                f"These system tables have versions: ${', $'.join(sorted(VERSIONED))}"
            )
        if not asked and self._kind in VERSIONED:
            version, timestamp, tag = version_of_options(self._store.schema().options)
        if version is None and timestamp is None and tag is None:
            return SystemScan(self._store, self._kind, columns, where, limit=limit)
        snapshot = find_snapshot(self._store, version=version, timestamp=timestamp, tag=tag)
        return SystemScan(pinned(self._store, snapshot), self._kind, columns, where, limit=limit)

    def _interval(self, since: Any, until: Any, mode: str, *, asked: bool) -> Interval | None:
        """Returns the interval that the arguments name, otherwise the one that the table's options name."""
        if since is None and until is None:
            return None if asked or self._kind not in CHANGES else self._interval_of_options()
        if self._kind not in CHANGES:
            raise UnsupportedError(
                f"{self.name} does not contain changes; read ${' or $'.join(CHANGES)} with since= and until="
            )
        if asked:
            raise OptionError("give either a version or since= and until=")
        return find_interval(self._store, since, until, mode)

    def _interval_of_options(self) -> Interval | None:
        return interval_of_options(self._store, TableOptions(self._store.schema().options))

    def __repr__(self) -> str:
        return f"<SystemTable {self.name}>"


class SystemScan(ArrowOutputs):
    """One read of a system table."""

    def __init__(
        self,
        store: TableStore,
        kind: str,
        columns: Sequence[str] | None,
        where: Where | None,
        interval: Interval | None = None,
        limit: int | None = None,
    ) -> None:
        self._store, self._kind, self._columns, self._where = store, kind, columns, where
        self._interval = interval
        self._limit = checked_limit(limit)

    def __repr__(self) -> str:
        return f"<SystemScan of {self._store.name}${self._kind}>"

    def _repr_html_(self) -> str:
        """Returns the first rows as a table, for notebooks."""
        return first_rows_html(self.to_batches(), repr(self)[1:-1])

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table."""
        table = self._rows() if self._interval is None else CHANGES[self._kind](self._store, self._interval)
        condition = self._condition([field_from_arrow(column) for column in table.schema])
        if condition is not None:
            table = table.filter(pa.array(pred.matches_rows(condition, table)))
        if self._columns is not None:
            for name in self._columns:
                if name not in table.column_names:
                    where = f"table {self._store.name}${self._kind}"
                    raise NotFoundError(unknown_name("column", name, table.column_names, where=where))
            table = table.select(list(self._columns))
        return table if self._limit is None else table.slice(0, self._limit)

    def _rows(self) -> pa.Table:
        """Returns the rows, perhaps without some that do not satisfy the condition."""
        condition = self._condition(snapshot_fields()) if self._kind == "snapshots" else None
        if condition is not None:
            return snapshots(self._store, condition)
        return SYSTEM_TABLES[self._kind](self._store)

    def _condition(self, fields: list[Field]) -> pred.Node | None:
        return condition_of(self._where, fields)
