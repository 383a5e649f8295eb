"""What happened to a table: pages of its snapshots and compactions, and what differs between two of its states.

Everything works on the branch that the table was opened on. A page costs about as many opened snapshots as it shows
(:mod:`lakebed.metadata.history.pages`).
"""

from __future__ import annotations

from lakebed.errors import NotFoundError, OptionError
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.times import Time
from lakebed.metadata.history.compactions import Compaction, CompactionPage, find_compactions
from lakebed.metadata.history.pages import HistoryPage, find_page
from lakebed.metadata.plan.time_travel import find_snapshot
from lakebed.metadata.store import TableStore
from lakebed.operations.diff import MAX_BYTES, Difference, SchemaDifference, diff
from lakebed.options import check_existing
from lakebed.table_checks import check_keyed

__all__ = ["Compaction", "CompactionPage", "Difference", "History", "HistoryPage", "SchemaDifference"]


class History:
    """The part of a table that looks back."""

    _store: TableStore

    def history(
        self,
        kind: CommitKind | str | None = None,
        limit: int = 25,
        cursor: str | None = None,
        offset: int = 0,
        user: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
    ) -> HistoryPage:
        """One page of snapshots, newest first: of one kind of commit, one commit user, from and up to some moment.

        The next page is asked for with ``cursor=page.next_cursor`` and the same filters, and then repeats and skips nothing
        while others commit and expire; or with ``offset``, the number of snapshots to leave out. Moments are epoch
        milliseconds, datetimes, ISO text, or a time ago such as ``3 d``.
        """
        return find_page(
            self._store, kind=kind, limit=limit, cursor=cursor, offset=offset, user=user, since=since, until=until
        )

    def compactions(
        self,
        limit: int = 25,
        cursor: str | None = None,
        offset: int = 0,
        user: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
    ) -> CompactionPage:
        """One page of compactions, newest first: what each read and wrote, when it began, how long it took."""
        return find_compactions(
            self._store, limit=limit, cursor=cursor, offset=offset, user=user, since=since, until=until
        )

    def diff(
        self, before: int | str, after: int | str | None = None, *, sample: int = 20, max_bytes: int = MAX_BYTES
    ) -> Difference:
        """What differs from one snapshot or tag to another (the latest, if none is given): schema, files, some rows.

        At most ``sample`` rows that came, and as many that went, are shown; they are looked for only if the files that
        differ have no more than ``max_bytes``.
        """
        for name, value in (("sample", sample), ("max_bytes", max_bytes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise OptionError(f"{name} is {value!r}; it must be a whole number from 0 on")
        where = f"table {self._store.name}"
        schema = self._store.schema()
        check_existing(schema.options, where=where, writing=False)
        check_keyed(schema, where)
        return diff(self._store, self._state(before), self._state(after), sample=sample, max_bytes=max_bytes)

    def _state(self, version: int | str | None) -> Snapshot:
        found = find_snapshot(self._store, version=version, timestamp=None, tag=None)
        if found is None:
            raise NotFoundError(f"table {self._store.name} has no snapshot yet, so there is nothing to compare")
        return found
