"""The methods of a table that read it: scans, shortcuts for whole tables, and its snapshots."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lakebed.errors import OptionError, UnsupportedError
from lakebed.format.snapshot import Snapshot
from lakebed.format.time_text import Time
from lakebed.metadata.one_look import one_look
from lakebed.metadata.plan.interval import Interval, find_interval, interval_of_options
from lakebed.metadata.plan.time_travel import version_of_options
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.outputs import ArrowOutputs
from lakebed.rows.where import Where
from lakebed.scan import Scan
from lakebed.table_checks import checked_schema
from lakebed.table_kinds import rules_of
from lakebed.table_rules.interface import TableRules
from lakebed.table_rules.planned_read import ReadVersion


class ReadMethods(ArrowOutputs):
    """The part of a table that reads."""

    _store: TableStore

    @one_look()
    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        *,
        limit: int | None = None,
        version: int | str | None = None,
        timestamp: Time | None = None,
        tag: str | None = None,
        since: int | str | dt.datetime | None = None,
        until: int | str | dt.datetime | None = None,
        mode: str = "auto",
    ) -> Scan:
        """Describes a read: some columns, some rows, at some version. No row is read until the scan is asked for them.

        At most one of ``version``, ``timestamp`` and ``tag`` selects a version; without one the latest is read. With
        ``since`` the scan reads changes instead: those after that point, up to and including ``until``.

        Args:
            columns: The columns of the result; all of them by default.
            where: What rows have to satisfy: SQL text, tuples such as ``[("id", ">", 3)]``, which must all hold (of a
                list of such lists, one), or a pyarrow expression.
            limit: How many rows at most, in no particular order. Reading stops when there are as many.
            version: A snapshot id, the name of a tag, or ``watermark-<n>``.
            timestamp: A time: the latest snapshot that was committed then. Epoch milliseconds, a datetime, ISO text, or
                a length of time ago such as ``3 d``.
            tag: The name of a tag.
            since: Where the changes begin, not included: a snapshot id (0 for the beginning), the name of a tag, or a
                datetime.
            until: Where the changes end, included, in the same forms; the latest snapshot by default.
            mode: Which changes: ``delta`` are the rows that writes added, ``changelog`` the rows of the table's
                changelog, ``diff`` the rows of the later version that the earlier one did not have. ``auto`` is
                ``diff`` between two tags, else ``changelog`` if the table writes one, else ``delta``.

        Returns:
            The scan. ``to_arrow()``, ``to_pandas()``, ``to_spark()`` and others read it; ``explain()`` shows its plan.

        Raises:
            ExpressionError: ``where`` cannot be parsed or does not fit the columns.
            NotFoundError: There is no such column, snapshot or tag, or nothing is left of that time.
            OptionError: The arguments contradict each other.

        Example:
            >>> orders.scan(["id", "amount"], where="customer = 'ann' AND amount > 10").to_arrow().to_pylist()
            [{'id': 3, 'amount': 30.0}]
            >>> orders.scan(version=1).count(), orders.scan(since=0).count()
            (3, 3)
            >>> orders.scan(["id"], where=[("day", "=", "2025-01-31"), ("id", ">", 1)], limit=5).to_arrow().to_pylist()
            [{'id': 3}]
        """
        if all(given is None for given in (version, timestamp, tag, since, until)):
            self._store.look()
        schema = checked_schema(self._store, writing=False)
        rules = rules_of(self._store)
        interval = self._changes(rules, version, timestamp, tag, since, until, mode)
        if interval is not None:
            return Scan(
                rules, ReadVersion(interval.end, schema), columns=columns, where=where, interval=interval, limit=limit
            )
        if version is None and timestamp is None and tag is None:
            version, timestamp, tag = version_of_options(schema.options)
        at = rules.read_version(version=version, timestamp=timestamp, tag=tag)
        return Scan(rules, at, columns=columns, where=where, limit=limit)

    def _changes(
        self, rules: TableRules, version: Any, timestamp: Any, tag: Any, since: Any, until: Any, mode: str
    ) -> Interval | None:
        """Returns the changes that the call or the table's options ask for; ``None`` if they ask for a version."""
        options = self._store.schema().options
        travels = version is not None or timestamp is not None or tag is not None
        if since is not None or until is not None or mode != "auto":
            if travels:
                raise OptionError("since=, until= and mode= read changes; leave out version=, timestamp= and tag=")
            rules.check_has_changes()
            interval: Interval | None = find_interval(self._store, since, until, mode)
        else:
            interval = None if travels else interval_of_options(self._store, TableOptions(options))
            if interval is not None and any(part is not None for part in version_of_options(options)):
                raise OptionError(
                    f"table {self._store.name}: options ask for changes and for a version; unset one of them"
                )
        if interval is not None:
            rules.check_has_changes()
            self._check_one_branch()
        return interval

    def _check_one_branch(self) -> None:
        branch = self._store.paths.branch
        joined = TableOptions(self._store.schema().options).joined_branch(branch)
        if joined is not None:
            name, _ = joined
            raise UnsupportedError(
                f"table {self._store.name} is read together with another branch (option {name!r}), which has a history "
                f"of its own; to read changes open the table with options={{{name!r}: {branch!r}}}"
            )

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table, as ``scan().to_arrow()`` does."""
        return self.scan().to_arrow()

    def to_batches(self) -> pa.RecordBatchReader:
        """Returns all rows as a stream of Arrow batches, as ``scan().to_batches()`` does."""
        return self.scan().to_batches()

    def count(self) -> int:
        """Returns the number of rows, as ``scan().count()`` does.

        Example:
            >>> orders.count()
            3
        """
        return self.scan().count()

    def head(self, limit: int = 10) -> pa.Table:
        """Returns some rows as an Arrow table, in no particular order, and stops reading when it has them.

        Args:
            limit: How many rows at most.

        Raises:
            OptionError: ``limit`` is not a whole number from 0 on.

        Example:
            >>> orders.head(2).num_rows
            2
        """
        return self.scan(limit=limit).to_arrow()

    def latest_snapshot(self) -> Snapshot | None:
        """Returns the newest snapshot; ``None`` if nothing was committed yet.

        Example:
            >>> orders.latest_snapshot().id
            1
        """
        return self._store.snapshots.latest()

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """Returns one snapshot.

        Args:
            snapshot_id: Its id.

        Raises:
            NotFoundError: There is no such snapshot, or it has expired.
        """
        return self._store.snapshots.get(snapshot_id)

    def snapshots(self) -> list[Snapshot]:
        """Returns every snapshot that has not expired, oldest first. For long histories use :meth:`history`."""
        return self._store.snapshots.read_many(self._store.snapshots.ids())
