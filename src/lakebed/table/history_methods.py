"""The methods of a table that look back: pages of its snapshots and compactions, and differences of two versions.

All of them work on the branch that the table was opened on. A page reads about as many snapshot files as it shows
(:mod:`lakebed.metadata.history.pages`).
"""

from __future__ import annotations

from lakebed.deprecation import warn_renamed
from lakebed.errors import NotFoundError, OptionError
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.time_text import Time
from lakebed.metadata.history.compactions import CompactionKind, CompactionPage, find_compactions
from lakebed.metadata.history.pages import HistoryPage, find_page
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.metadata.store import TableStore
from lakebed.operations.diff import MAX_BYTES, Difference, diff
from lakebed.table_checks import checked_schema


class HistoryMethods:
    """The part of a table that looks back."""

    _store: TableStore

    def history(
        self,
        kind: CommitKind | str | None = None,
        limit: int = 25,
        cursor: str | int | None = None,
        offset: int = 0,
        user: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        *,
        from_time: Time | None = None,
        to_time: Time | None = None,
        from_snapshot: int | None = None,
        to_snapshot: int | None = None,
    ) -> HistoryPage:
        """Returns one page of snapshots, newest first.

        The next page has ``cursor=page.next_cursor`` and the same filters. Pages by cursor repeat and skip nothing
        while other processes commit and expire. A page with a next one can be shorter than ``limit``, or empty: without
        an index, a page ends once it opened 1,024 snapshots.

        Args:
            kind: Only commits of this kind, such as ``COMPACT``.
            limit: How many snapshots a page has at most.
            cursor: Where the page begins: ``next_cursor`` of the page before, or the id of its last snapshot.
            offset: How many snapshots to skip, instead of a cursor.
            user: Only commits of this user.
            since: Deprecated since 0.1, the old name of ``from_time``.
            until: Deprecated since 0.1, the old name of ``to_time``.
            from_time: Only commits of this time or later: epoch milliseconds, a datetime, ISO text, or a length of time
                ago such as ``3 d``.
            to_time: Only commits of this time or earlier.
            from_snapshot: Only snapshots from this id on.
            to_snapshot: Only snapshots up to this id.

        Returns:
            The page.

        Raises:
            OptionError: An argument has a wrong value, or the cursor belongs to other filters.

        Example:
            >>> page = orders.history(kind="APPEND", from_time="1 d")
            >>> [snapshot.id for snapshot in page], page.next_cursor
            ([1], None)
        """
        from_time = _renamed("history", "since", since, "from_time", from_time)
        to_time = _renamed("history", "until", until, "to_time", to_time)
        return find_page(
            self._store,
            kind=kind,
            limit=limit,
            cursor=cursor,
            offset=offset,
            user=user,
            from_time=from_time,
            to_time=to_time,
            from_snapshot=from_snapshot,
            to_snapshot=to_snapshot,
        )

    def compactions(
        self,
        limit: int = 25,
        cursor: str | int | None = None,
        offset: int = 0,
        user: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        *,
        from_time: Time | None = None,
        to_time: Time | None = None,
        kind: CompactionKind | str | None = None,
        from_snapshot: int | None = None,
        to_snapshot: int | None = None,
    ) -> CompactionPage:
        """Returns one page of compactions, newest first: what each read and wrote, when it began, how long it took.

        Args:
            limit: How many compactions a page has at most.
            cursor: Where the page begins, as for :meth:`history`.
            offset: How many compactions to skip, instead of a cursor.
            user: Only compactions of this commit user.
            since: Deprecated since 0.1, the old name of ``from_time``.
            until: Deprecated since 0.1, the old name of ``to_time``.
            from_time: Only compactions that were committed at this time or later.
            to_time: Only compactions that were committed at this time or earlier.
            kind: Only compactions of this kind: ``FULL``, ``MINOR`` or ``MANIFESTS``. The total is then ``None`` unless
                all compactions had to be looked at.
            from_snapshot: Only snapshots from this id on.
            to_snapshot: Only snapshots up to this id.

        Returns:
            The page.

        Raises:
            OptionError: An argument has a wrong value, or the cursor belongs to other filters.
        """
        from_time = _renamed("compactions", "since", since, "from_time", from_time)
        to_time = _renamed("compactions", "until", until, "to_time", to_time)
        return find_compactions(
            self._store,
            kind=kind,
            limit=limit,
            cursor=cursor,
            offset=offset,
            user=user,
            from_time=from_time,
            to_time=to_time,
            from_snapshot=from_snapshot,
            to_snapshot=to_snapshot,
        )

    def diff(
        self, before: int | str, after: int | str | None = None, *, sample: int = 20, max_bytes: int = MAX_BYTES
    ) -> Difference:
        """Compares two versions: their schemas, their files, and a sample of the rows that differ.

        Args:
            before: The first version: a snapshot id or the name of a tag.
            after: The second version; the latest by default.
            sample: How many added and how many removed rows are shown at most; 0 compares no rows.
            max_bytes: Rows are compared only if the files that differ are no larger than this.

        Returns:
            The differences.

        Raises:
            NotFoundError: There is no such snapshot or tag.
            OptionError: ``sample`` or ``max_bytes`` is not a whole number from 0 on.

        Example:
            >>> snapshot = orders.delete("id = 1")
            >>> difference = orders.diff(1)
            >>> difference.rows_removed.to_pylist()
            [{'id': 1, 'customer': 'ann', 'amount': 10.0, 'day': '2025-01-30'}]
            >>> difference.rows_added.num_rows
            0
        """
        for name, value in (("sample", sample), ("max_bytes", max_bytes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise OptionError(f"{name} is {value!r}; it must be a whole number from 0 on")
        checked_schema(self._store, writing=False)
        return diff(self._store, self._state(before), self._state(after), sample=sample, max_bytes=max_bytes)

    def _state(self, version: int | str | None) -> Snapshot:
        found = find_snapshot(self._store, version=version, timestamp=None, tag=None)
        if found is None:
            raise NotFoundError(f"table {self._store.name} has no snapshot yet, so there is nothing to compare")
        return found


def _renamed(call: str, old: str, old_value: Time | None, new: str, value: Time | None) -> Time | None:
    """Returns the value of a parameter that may be given by its old name."""
    if old_value is None:
        return value
    if value is not None:
        raise OptionError(f"{call}() takes {new}= or its old name {old}=, not both")
    warn_renamed(f"{old}= of {call}()", f"{new}=", depth=2)
    return old_value
