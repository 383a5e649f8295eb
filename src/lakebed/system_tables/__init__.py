"""System tables: ``db.t$snapshots`` and the like, with Paimon's columns.

Each is a function from a table's store to an Arrow table, made when it is read. ``SYSTEM_TABLES`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lakebed.errors import NotFoundError, UnsupportedError, unknown_name
from lakebed.format import predicate as pred
from lakebed.format.types import field_from_arrow
from lakebed.metadata.store import TableStore
from lakebed.operations.interval import INCREMENTAL_OPTIONS
from lakebed.rows.where import parse_where
from lakebed.scan import find_snapshot, version_of_options
from lakebed.system_tables.files import buckets, file_key_ranges, files, manifests, partitions, table_indexes
from lakebed.system_tables.history import (
    aggregation_fields,
    branches,
    consumers,
    options,
    schemas,
    snapshots,
    statistics,
    tags,
)
from lakebed.system_tables.pinned import pinned
from lakebed.system_tables.rows import audit_log, read_optimised

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
    "ro": read_optimised,
}
"""Every system table by its name after the ``$``."""

VERSIONED: Final = frozenset(
    {"files", "file_key_ranges", "manifests", "partitions", "buckets", "statistics", "table_indexes", "audit_log", "ro"}
)
"""Those that tell of one version of the table, the latest unless another is asked for."""


class SystemTable:
    """A read-only table about a table."""

    def __init__(self, store: TableStore, kind: str) -> None:
        if kind not in SYSTEM_TABLES:
            raise NotFoundError(unknown_name("system table", kind, SYSTEM_TABLES, where=f"table {store.name}"))
        for option in INCREMENTAL_OPTIONS:
            if option in store.overlay:
                raise UnsupportedError(
                    f"option {option!r} is for table {store.name} itself, not for ${kind}; leave it out"
                )
        self._store = store
        self._kind = kind
        store.schema()

    @property
    def name(self) -> str:
        return f"{self._store.name}${self._kind}"

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        version: int | str | None = None,
        timestamp: Any = None,
        tag: str | None = None,
    ) -> SystemScan:
        """Describe a read; nothing is read until the scan is asked for rows.

        Tables about the files and rows of a version (``VERSIONED``) can be read as of an earlier one: ``version`` is a
        snapshot id or a tag, ``timestamp`` epoch milliseconds, a datetime or ISO text.
        """
        asked = version is not None or timestamp is not None or tag is not None
        if asked and self._kind not in VERSIONED:
            raise UnsupportedError(
                f"{self.name} tells of the whole history, so it has no versions; read it without one. "
                f"Versions have ${', $'.join(sorted(VERSIONED))}"
            )
        if not asked and self._kind in VERSIONED:
            version, timestamp, tag = version_of_options(self._store.schema().options)
        if version is None and timestamp is None and tag is None:
            return SystemScan(self._store, self._kind, columns, where)
        snapshot = find_snapshot(self._store, version=version, timestamp=timestamp, tag=tag)
        return SystemScan(pinned(self._store, snapshot), self._kind, columns, where)

    def __repr__(self) -> str:
        return f"<SystemTable {self.name}>"


class SystemScan:
    """One read of a system table."""

    def __init__(self, store: TableStore, kind: str, columns: Sequence[str] | None, where: str | None) -> None:
        self._store, self._kind, self._columns, self._where = store, kind, columns, where

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        table = SYSTEM_TABLES[self._kind](self._store)
        if self._where is not None:
            fields = [field_from_arrow(column) for column in table.schema]
            table = table.filter(pa.array(pred.matches_rows(parse_where(self._where, fields), table)))
        if self._columns is not None:
            for name in self._columns:
                if name not in table.column_names:
                    where = f"table {self._store.name}${self._kind}"
                    raise NotFoundError(unknown_name("column", name, table.column_names, where=where))
            table = table.select(list(self._columns))
        return table

    def to_pandas(self) -> Any:
        """All rows as a pandas frame (needs pandas)."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows as a Polars frame (needs polars)."""
        import polars as pl  # noqa: PLC0415 - optional

        return pl.from_arrow(self.to_arrow())
