"""The forms in which the rows of a read are returned: everything that can be made of Arrow.

:class:`ArrowOutputs` is shared by tables, reads of tables and reads of system tables.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa

from lakebed.errors import OptionError
from lakebed.format.html_text import table_html
from lakebed.optional import check_installed

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl

_SHOWN_ROWS: Final = 10
_SHOWN_COLUMNS: Final = 30


class ArrowOutputs:
    """Rows that can be had as Arrow, and therefore in other forms.

    DuckDB, Polars, pyarrow and others read the object itself through Arrow's C stream: ``duckdb.sql("FROM scan")``,
    ``polars.DataFrame(scan)``, ``pyarrow.table(scan)``.
    """

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table."""
        raise NotImplementedError

    def to_batches(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream of Arrow batches, for results larger than memory."""
        return self.to_arrow().to_reader()

    def to_pandas(self) -> pd.DataFrame:
        """Returns all rows as a pandas frame.

        Raises:
            UnsupportedError: pandas is not installed.
        """
        check_installed("to_pandas()", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Returns all rows as a Polars frame.

        Raises:
            UnsupportedError: Polars is not installed.
        """
        check_installed("to_polars()", "polars")
        import polars as pl  # noqa: PLC0415 - optional

        return cast("pl.DataFrame", pl.from_arrow(self.to_arrow()))

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Returns all rows as a DuckDB relation, for more SQL.

        Args:
            connection: The connection of DuckDB; by default its own default one.

        Raises:
            UnsupportedError: DuckDB is not installed.

        Example:
            >>> orders.scan().to_duckdb().aggregate("sum(amount)").fetchall()
            [(60.0,)]
        """
        check_installed("to_duckdb()", "duckdb")
        import duckdb  # noqa: PLC0415 - optional

        return (duckdb if connection is None else connection).from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the rows as a stream of Arrow's C interface. Each call reads them again."""
        return self.to_batches().__arrow_c_stream__(requested_schema)


def first_rows_html(rows: pa.RecordBatchReader, caption: str) -> str:
    """Returns the first rows of a read as an HTML table, for notebooks; it stops reading when it has them."""
    found: list[dict[str, Any]] = []
    with rows:
        for batch in rows:
            found += batch.slice(0, _SHOWN_ROWS + 1 - len(found)).to_pylist()
            if len(found) > _SHOWN_ROWS:
                break
    names = list(islice(rows.schema.names, _SHOWN_COLUMNS))
    more = ["... and more rows"] * (len(found) > _SHOWN_ROWS)
    more += [f"... and {len(rows.schema.names) - len(names)} more columns"] * (len(names) < len(rows.schema.names))
    shown = [[row[name] for name in names] for row in found[:_SHOWN_ROWS]]
    return table_html(names, shown, caption=caption, more=" ".join(more))


def checked_limit(limit: int | None) -> int | None:
    """Returns a limit on the number of rows, or raises OptionError if it is not a whole number from 0 on."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise OptionError(f"limit is {limit!r}; it must be a whole number from 0 on")
    return limit


def limited(rows: pa.RecordBatchReader, limit: int) -> pa.RecordBatchReader:
    """Returns the first rows of a stream; it reads no more batches than needed."""

    def batches() -> Any:
        missing = limit
        with rows:
            while missing > 0 and (batch := next(rows, None)) is not None:
                part = batch.slice(0, missing)
                missing -= len(part)
                yield part

    return pa.RecordBatchReader.from_batches(rows.schema, batches())
