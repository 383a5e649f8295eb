"""Batches of a stream into a table by ``foreachBatch``: a function that writes each of them once.

The commit bears the id of the query as its user and the number of the batch as its identifier, so a batch that runs again finds
its own snapshot and writes nothing. Rows go the way of ``table.write``: one shuffle, one file per bucket, dynamic buckets too; or
through the driver, where batches are small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from lakebed.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY_ID: Final = "sql.streaming.queryId"
"""Where Spark tells, in the threads and tasks of a query, which it is."""


def commit_user(query_id: str, prefix: str | None = None) -> str:
    """Under which name the commits of a query are made."""
    return f"{prefix}_stream-{query_id}" if prefix else f"stream-{query_id}"


class _Writable(Protocol):
    """The part of a table that is needed here."""

    @property
    def name(self) -> str: ...

    def write(self, data: Any, *, row_kind: str | None, commit_user: str, commit_identifier: int) -> object: ...

    def overwrite(self, data: Any, *, dynamic: bool, commit_user: str, commit_identifier: int) -> object: ...


def stream_to(
    table: _Writable,
    *,
    row_kind: str | None = None,
    complete: bool = False,
    on_driver: bool = False,
    commit_user: str | None = None,
) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch`` that writes each batch of a stream to a table, exactly once.

    ``row_kind`` names a column that says what each row is, see :meth:`lakebed.Table.write`. With ``complete`` every batch
    replaces all rows of the table, as output mode "complete" wants. With ``on_driver`` the rows of a batch come to the driver,
    which writes them itself: for batches that fit into its memory, sooner than tasks could. ``commit_user`` names the
    stream; without it the id of the query does, which Spark Connect does not tell. Several streams into one table must have
    different names.
    """
    if complete and row_kind is not None:
        raise OptionError("rows that replace all others have no row kind; leave row_kind out")

    def write_batch(frame: DataFrame, batch_id: int) -> None:
        user = commit_user or _user_of(frame, table.name)
        rows = frame.toArrow() if on_driver else frame
        if complete:
            table.overwrite(rows, dynamic=False, commit_user=user, commit_identifier=batch_id)
        else:
            table.write(rows, row_kind=row_kind, commit_user=user, commit_identifier=batch_id)

    return write_batch


def _user_of(frame: DataFrame, name: str) -> str:
    """The name of the query that runs this batch."""
    session = frame.sparkSession
    query_id = session.sparkContext.getLocalProperty(QUERY_ID) if hasattr(session, "_jsparkSession") else None
    if not query_id:
        raise OptionError(
            f"Spark does not tell which query writes to table {name}; name it: stream_to(table, commit_user='...'), always the "
            "same for the same checkpoint folder"
        )
    return commit_user(str(query_id))
