"""``lakebed.stream_to``: a function for ``foreachBatch`` that writes each batch of a stream exactly once.

The commit records the id of the query as its user and the number of the batch as its identifier. A batch that runs
again finds its snapshot and writes nothing. Rows are written by ``table.write``: one shuffle and one file per bucket,
dynamic buckets included; or on the driver, for small batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lakebed.errors import OptionError
from lakebed.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY_ID: Final = "sql.streaming.queryId"
"""The local property in which Spark tells threads and tasks the id of their streaming query."""


def commit_user(query_id: str, prefix: str | None = None) -> str:
    """Returns the user under which a query commits."""
    return f"{prefix}_stream-{query_id}" if prefix else f"stream-{query_id}"


def stream_to(
    table: Table,
    *,
    row_kind: str | None = None,
    complete: bool = False,
    on_driver: bool = False,
    commit_user: str | None = None,
) -> Callable[[DataFrame, int], None]:
    """Returns a function for ``foreachBatch`` that writes each batch of a stream to a table exactly once.

    Args:
        table: The table to write to.
        row_kind: The column that holds the kind of each row, see :meth:`lakebed.Table.write`.
        complete: Each batch replaces all rows of the table, as output mode "complete" needs.
        on_driver: The driver collects the rows of a batch and writes them itself. This is faster than tasks for batches
            that fit into the driver's memory.
        commit_user: The name of the stream, the default is the id of the query. Spark Connect does not tell that id, so
        a
            name is needed there. Streams into the same table need different names.

    Returns:
        A function of a DataFrame and the number of its batch.

    Raises:
        OptionError: ``row_kind`` is combined with ``complete``.

    Example:
        >>> query = frame.writeStream.foreachBatch(lakebed.stream_to(table))  # doctest: +SKIP
    """
    if complete and row_kind is not None:
        raise OptionError(
            "with complete=True the rows of a batch replace all others and have no row kind; leave row_kind out"
        )

    def write_batch(frame: DataFrame, batch_id: int) -> None:
        user = commit_user or _user_of(frame, table.name)
        rows = frame.toArrow() if on_driver else frame
        if complete:
            table.overwrite(rows, dynamic=False, commit_user=user, commit_identifier=batch_id)
        else:
            table.write(rows, row_kind=row_kind, commit_user=user, commit_identifier=batch_id)

    return write_batch


def _user_of(frame: DataFrame, name: str) -> str:
    """The commit user of the query that runs this batch."""
    session = frame.sparkSession
    query_id = session.sparkContext.getLocalProperty(QUERY_ID) if hasattr(session, "_jsparkSession") else None
    if not query_id:
        raise OptionError(
            f"Spark does not tell which query writes to table {name}; pass a name that stays the same for the same "
            "checkpoint folder: stream_to(table, commit_user='...')"
        )
    return commit_user(str(query_id))
